/**
 * The files of the logs of instances in IndexedDB: a folder for each instance in the origin's private file system. Only
 * dedicated workers can write them; other threads look at them.
 */

import { TabStoreError } from "../errors.js";
import type { HostFile, HostLogFolder } from "./folder.js";
import { folderIn, LOGS, nameIn } from "./witness.js";


/** An open file of the browser. TypeScript knows it in workers only. */
interface AccessHandle {
  read(into: Uint8Array, options: { at: number }): number;
  write(bytes: Uint8Array, options: { at: number }): number;
  getSize(): number;
  truncate(length: number): void;
  flush(): void;
  close(): void;
}

/**
 * Whether this thread keeps logs in files. Chromium writes them from the thread itself. Firefox asks another thread for
 * each call, and waits; WebKitGTK has no such files.
 */
export function keepsLogs(): boolean {
  return canOpen() && navigator.userAgent.includes("Chrome/");
}

function canOpen(): boolean {
  return "DedicatedWorkerGlobalScope" in globalThis && "FileSystemSyncAccessHandle" in globalThis;
}

/** Runs calls on files; their errors have a code that the engine knows. */
function failure(error: unknown): TabStoreError {
  const { name, message } = error as DOMException;
  const code = name === "QuotaExceededError" ? "QuotaExceeded" : name === "NoModificationAllowedError" ? "Busy" : "Unavailable";
  return new TabStoreError({ code, status: 503, retryable: false, message: `The log in a file: ${message}`, hint: undefined }, { cause: error });
}

function tried<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw failure(error);
  }
}

class LogFile implements HostFile {
  /** One object for all calls: a new one for each costs as much as a small write. */
  private readonly place = { at: 0 };

  constructor(private readonly handle: AccessHandle) {}

  read(at: number, into: Uint8Array): number {
    return tried(() => this.handle.read(into, { at }));
  }

  write(at: number, bytes: Uint8Array): number {
    this.place.at = at;
    try {
      return this.handle.write(bytes, this.place);
    } catch (error) {
      throw failure(error);
    }
  }

  length(): number {
    return tried(() => this.handle.getSize());
  }

  setLength(length: number): void {
    tried(() => this.handle.truncate(length));
  }

  flush(): void {
    tried(() => this.handle.flush());
  }

  close(): void {
    this.handle.close();
  }
}

class LogFolder implements HostLogFolder {
  private readonly files = new Set<LogFile>();
  readonly canOpen = canOpen();
  private released = false;

  constructor(private readonly folder: FileSystemDirectoryHandle) {}

  async open(name: string): Promise<HostFile> {
    try {
      const entry = await this.folder.getFileHandle(name, { create: true });
      const file = new LogFile(await (entry as unknown as { createSyncAccessHandle(): Promise<AccessHandle> }).createSyncAccessHandle());
      if (this.released) file.close();
      else this.files.add(file);
      return file;
    } catch (error) {
      throw failure(error);
    }
  }

  async peek(name: string): Promise<Uint8Array | undefined> {
    try {
      const file = await (await this.folder.getFileHandle(name)).getFile();
      return new Uint8Array(await file.arrayBuffer());
    } catch (error) {
      if ((error as DOMException).name === "NotFoundError") return undefined;
      throw failure(error);
    }
  }

  async remove(name: string): Promise<void> {
    await this.folder.removeEntry(name).catch((error: unknown) => {
      throw failure(error);
    });
  }

  async list(): Promise<string[]> {
    const names: string[] = [];
    for await (const name of (this.folder as unknown as { keys(): AsyncIterable<string> }).keys()) names.push(name);
    return names;
  }

  /** The browser keeps names by itself. */
  flush(): void {}

  release(): void {
    this.released = true;
    for (const file of this.files) file.close();
    this.files.clear();
  }
}

/** The folder of an instance's log; `undefined` where there are no files. */
export async function openLogFolder(instance: string): Promise<HostLogFolder | undefined> {
  try {
    const folder = await (await folderIn(LOGS))?.getDirectoryHandle(nameIn(instance), { create: true });
    return folder && new LogFolder(folder);
  } catch {
    return undefined;
  }
}
