/** The files of an instance, as a host gives them to the engine. Rust reads them in `src/wasm/files.rs`, and waits for promises. */

import type { EngineOptions } from "./host.js";

/** An open file. A call returns when the operating system has done it, and throws `QuotaExceeded` or `Unavailable`. */
export interface HostFile {
  /** Reads bytes from `at` on. Returns their number; 0 at the end of the file. */
  read(at: number, into: Uint8Array): number;
  /** Writes bytes from `at` on. Returns their number. */
  write(at: number, bytes: Uint8Array): number;
  /** Its bytes. */
  length(): number;
  /** Cuts it off, or makes it longer with zeros. */
  setLength(length: number): void;
  /** Waits until the device has it. */
  flush(): void;
  close(): void;
}

/** The folder of an instance. Nobody else has it until it is released. */
export interface HostFolder {
  /** The kind of the instance, which only a new one takes from the options. */
  readonly kind: string;
  /** Whether an engine has opened the instance before. */
  readonly isUsed: boolean;
  /** Opens a file. Creates it if it is missing. */
  open(name: string): HostFile | Promise<HostFile>;
  /** Deletes a file, which may be missing. */
  remove(name: string): void | Promise<void>;
  /** The names of its files. */
  list(): string[] | Promise<string[]>;
  /** Waits until the device has the names of its files. */
  flush(): void;
  /** Remembers that an engine has opened the instance. */
  use(): void | Promise<void>;
  /** Whether the instance was deleted although it is open, where that can happen. */
  readonly isGone?: () => Promise<boolean>;
  /** Closes all files, and gives the folder back. Later calls do nothing. */
  release(): void | Promise<void>;
}

/** The folder of an instance's log beside IndexedDB. Each file is open in one thread at a time. */
export interface HostLogFolder {
  /** Whether this thread can open files. Elsewhere it only looks at them. */
  readonly canOpen: boolean;
  /** Opens a file. Creates it if it is missing. Throws the browser's `NoModificationAllowedError` while another thread has it. */
  open(name: string): Promise<HostFile>;
  /** The bytes of a file that another thread may have. Throws the browser's `NotFoundError` if it is missing. */
  peek(name: string): Promise<Uint8Array>;
  /** Deletes a file that nobody has open. */
  remove(name: string): Promise<void>;
  /** The names of its files. */
  list(): Promise<string[]>;
  flush(): void;
  /** Closes all files. */
  release(): void;
}

/** Gives folders of instances. */
export interface HostFolders {
  /** A path that no longer depends on the current folder of the process. */
  absolute(path: string): string;
  /** A name for the place of an instance, the same for all absolute paths of that place. It has no upper case. */
  placeOf(path: string, name: string): string;
  /**
   * Opens the folder of an instance. `isOurs` tells whether the caller still has the instance's lock, where the folder has none of
   * its own. `onGone` gets the error that ends the engine when the instance is deleted while it is open.
   *
   * @throws `Busy` if another process or thread has it, `OTSObjectNotExist` with `create: false`, `QuotaExceeded`,
   * `Unavailable`.
   */
  open(options: EngineOptions, isOurs: () => Promise<boolean>, onGone: (error: unknown) => void): HostFolder | Promise<HostFolder>;
}
