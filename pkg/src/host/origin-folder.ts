/**
 * Folders in the origin's private file system, with their open files. Only dedicated workers can open files there; other threads look
 * at them. Rust reads the names of the browser's errors.
 */

import type { HostFile, HostLogFolder } from "./folder.js";

/** The folder of the folders of logs. */
export const LOGS = "tabstore-logs";

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

/** An open file of the browser. TypeScript knows it in workers only. */
interface AccessHandle {
  read(into: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  getSize(): number;
  truncate(length: number): void;
  flush(): void;
  close(): void;
}

/** Whether this thread can open files of the origin. */
export const canOpen = (): boolean => "DedicatedWorkerGlobalScope" in globalThis && "FileSystemSyncAccessHandle" in globalThis;

function fileOf(handle: AccessHandle, close: () => void): HostFile {
  // One object for all calls: a new one for each costs as much as a small write.
  const place = { at: 0 };
  return {
    read(at, into) {
      place.at = at;
      return handle.read(into, place);
    },
    write(at, bytes) {
      place.at = at;
      return handle.write(bytes, place);
    },
    length: () => handle.getSize(),
    setLength: (length) => handle.truncate(length),
    flush: () => handle.flush(),
    close,
  };
}

/** A folder that `find` gives. It is asked for once, with the first call. */
export function originFolder(find: () => Promise<FileSystemDirectoryHandle>): HostLogFolder & { abandon(): void } {
  let found: Promise<FileSystemDirectoryHandle> | undefined;
  const folder = (): Promise<FileSystemDirectoryHandle> => (found ??= find());
  const open = new Set<AccessHandle>();
  let released = false;
  const release = (): void => {
    released = true;
    for (const handle of open) handle.close();
    open.clear();
  };
  return {
    canOpen: canOpen(),
    async open(name) {
      const file = await (await folder()).getFileHandle(name, { create: true });
      const handle = await kept(file as unknown as { createSyncAccessHandle(): Promise<AccessHandle> }, (file) => file.createSyncAccessHandle());
      open.add(handle);
      // Before Chromium 108 it answers later, and the engine does not wait.
      if (released || typeof handle.getSize() !== "number") {
        release();
        throw new TypeError();
      }
      return fileOf(handle, () => {
        if (open.delete(handle)) handle.close();
      });
    },
    async peek(name) {
      const file = await kept(await (await folder()).getFileHandle(name), (found) => found.getFile());
      return new Uint8Array(await file.arrayBuffer());
    },
    remove: async (name) => (await folder()).removeEntry(name),
    async list() {
      const names: string[] = [];
      for await (const name of ((await folder()) as unknown as { keys(): AsyncIterable<string> }).keys()) names.push(name);
      return names;
    },
    // The browser keeps names by itself.
    flush() {},
    release,
    /** Lets its files be, without closing them. */
    abandon: () => open.clear(),
  };
}
