/**
 * A witness of each instance outside IndexedDB: an empty file in the origin's private file system. A browser may lose a
 * database and keep the files, or lose all of it, which nobody can tell. The log of an instance may be in files there too
 * (`log-folder.ts`).
 */

import { PATIENCE, within } from "../lock.js";

const WITNESSES = "tabstore-instances";

/** The folder of the folders of logs. */
export const LOGS = "tabstore-logs";

/** Without this much space, in bytes, no witness is written: the row in the list of instances has to do. */
const SPACE = 16 << 20;

/** The handles whose calls are under way. */
const inUse = new Set<unknown>();

/** Makes a call of a handle of a file or a folder. If Chromium collects the handle meanwhile, the call gets no answer. */
export async function kept<H, T>(handle: H, call: (handle: H) => T): Promise<Awaited<T>> {
  const use = { handle };
  inUse.add(use);
  try {
    return await call(handle);
  } finally {
    inUse.delete(use);
  }
}

/** A folder of this origin; `undefined` where there is no such file system, or it is forbidden. */
export async function folderIn(name: string): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    const root = await (globalThis.navigator as Navigator | undefined)?.storage?.getDirectory?.();
    return await kept(root, (root) => root?.getDirectoryHandle(name, { create: true }));
  } catch {
    return undefined;
  }
}

/** Names of instances are compared without case. */
export const nameIn = (instance: string): string => instance.toLowerCase();

/** Whether an instance has existed, as far as its witness can tell in good time. */
export async function wasWitnessed(instance: string): Promise<boolean> {
  let file: FileSystemFileHandle | undefined;
  const found = folderIn(WITNESSES).then(async (files) => (file = await kept(files, (files) => files?.getFileHandle(nameIn(instance)))));
  await within(found, PATIENCE);
  return file !== undefined;
}

/** Records that an instance exists, or no longer does; then its log goes too. It is no failure if that cannot be recorded. */
export async function witness(instance: string, exists: boolean): Promise<void> {
  const record = async (): Promise<void> => {
    // On a full origin even a look at the files takes space, which deletions need.
    const { quota = Infinity, usage = 0 } = (await navigator.storage?.estimate?.()) ?? {};
    if (exists && quota - usage < SPACE) return;
    // What a frozen tab has open stays, and the next instance of this name makes other files.
    if (!exists) await folderIn(LOGS).then((logs) => kept(logs, (logs) => logs?.removeEntry(nameIn(instance), { recursive: true }))).catch(() => {});
    await kept(await folderIn(WITNESSES), async (files) => {
      if (exists) await files?.getFileHandle(nameIn(instance), { create: true });
      else await files?.removeEntry(nameIn(instance));
    });
  };
  try {
    // The browser grants a lock in the order of the requests, so no witness outlives a later deletion.
    await (globalThis.navigator as Navigator | undefined)?.locks?.request("tabstore/witnesses/", record);
  } catch {
    // It was not there, or the host forbids it.
  }
}
