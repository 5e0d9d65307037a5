/**
 * A witness of each instance outside IndexedDB: an empty file in the origin's private file system. A browser may lose a
 * database and keep the files, or lose all of it, which nobody can tell. The log of an instance may be in files there too
 * (`log-folder.ts`).
 */

import { PATIENCE, within } from "../tabs/lock.js";
import { folderIn, kept, LOGS, nameIn } from "./origin-folder.js";

const WITNESSES = "tabstore-instances";

/** Without this much space, in bytes, no witness is written: the row in the list of instances has to do. */
const SPACE = 16 << 20;

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
    // What a frozen tab has open stays. The next instance of this name makes another log, and finds that the copies are not its own.
    if (!exists)
      await folderIn(LOGS)
        .then((logs) => kept(logs, (logs) => logs?.removeEntry(nameIn(instance), { recursive: true })))
        .catch(() => {});
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
