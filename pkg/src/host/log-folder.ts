/**
 * The files of the logs of instances in IndexedDB: a folder for each instance in the origin's private file system. Only
 * dedicated workers can write them; other threads look at them. Rust reads the names of the browser's errors.
 */

import type { HostFile, HostLogFolder } from "./folder.js";
import { folderIn, kept, LOGS, nameIn } from "./witness.js";

/** An open file of the browser. TypeScript knows it in workers only. */
interface AccessHandle {
  read(into: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  getSize(): number;
  truncate(length: number): void;
  flush(): void;
  close(): void;
}

const canOpen = (): boolean => "DedicatedWorkerGlobalScope" in globalThis && "FileSystemSyncAccessHandle" in globalThis;

/**
 * Whether this thread may keep logs in files; the engine finds out whether they are fast enough. In Firefox a put would take half
 * the time. But there the room of deleted records of IndexedDB is not room for files at once, so deletions on a full origin would
 * be refused. WebKitGTK has no such files.
 */
export const keepsLogs = (): boolean => canOpen() && navigator.userAgent.includes("Chrome/");

function fileOf(handle: AccessHandle): HostFile {
  // One object for all calls: a new one for each costs as much as a small write.
  const place = { at: 0 };
  return {
    read: (at, into) => handle.read(into, { at }),
    write(at, bytes) {
      place.at = at;
      return handle.write(bytes, place);
    },
    length: () => handle.getSize(),
    setLength: (length) => handle.truncate(length),
    flush: () => handle.flush(),
    close: () => handle.close(),
  };
}

/** The folder of all logs, once it was asked for ahead. */
let known: Promise<FileSystemDirectoryHandle | undefined> | undefined;

/** Asks for the folder of all logs while an opening waits for its lock: Chromium takes 25 ms for it while it loads another page. */
export const prepareLogs = (): void => void (known ??= folderIn(LOGS));

/** The folder of an instance's log. The browser is asked for it with the first call. */
export function logFolder(instance: string): HostLogFolder {
  let found: Promise<FileSystemDirectoryHandle> | undefined;
  const find = async (): Promise<FileSystemDirectoryHandle> => {
    const inside = (logs?: FileSystemDirectoryHandle): Promise<FileSystemDirectoryHandle | undefined> =>
      kept(logs, (logs) => logs?.getDirectoryHandle(nameIn(instance), { create: true }).catch(() => undefined));
    // The data of the site may have been cleared since.
    const folder = (await inside(await known)) ?? (await inside(await folderIn(LOGS)));
    if (folder === undefined) throw new Error("The log of the instance is in files of this origin, which cannot be reached here.");
    return folder;
  };
  const folder = (): Promise<FileSystemDirectoryHandle> => (found ??= find());
  const open: AccessHandle[] = [];
  let released = false;
  const release = (): void => {
    released = true;
    for (const handle of open) handle.close();
  };
  return {
    canOpen: canOpen(),
    async open(name) {
      const file = await (await folder()).getFileHandle(name, { create: true });
      const handle = await kept(file as unknown as { createSyncAccessHandle(): Promise<AccessHandle> }, (file) => file.createSyncAccessHandle());
      open.push(handle);
      // Before Chromium 108 it answers later, and the engine does not wait.
      if (released || typeof handle.getSize() !== "number") {
        release();
        throw new TypeError();
      }
      return fileOf(handle);
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
  };
}
