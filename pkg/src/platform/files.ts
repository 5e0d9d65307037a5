/**
 * Instances in files of Node and Deno: a folder for each, with the name of the instance in lower case.
 *
 * ```text
 * instance.json           its name, its kind, when it was created, and whether an engine has opened it
 * lock-…, held-…          the process that has it: see `takeLock`
 * journal-0, journal-1    the log and the manifests
 * segment-<number>        a segment
 * ```
 */

import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

import { TabStoreError } from "../types/errors.js";
import type { HostFile, HostFolder, HostFolders } from "../host/folder.js";
import type { EngineOptions } from "../host/host.js";

/** What `instance.json` has. */
interface Instance {
  readonly name: string;
  readonly kind: string;
  readonly creationTime: number;
  readonly opened: boolean;
}

const INSTANCE = "instance.json";
/** A file that each instance has. */
const JOURNAL = "journal-0";
/** A process that has the instance, or asks for it: this, its number, when it started, and a random text, with "-" between. */
const LOCK = "lock-";
/** This and the random text: that process has it. */
const HELD = "held-";
/** Windows opens no folder, and writes names at once. */
const flushesFolders = (): boolean => process.platform !== "win32";
/** So often a lock is asked for while others ask too. */
const ATTEMPTS = 50;

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | null)?.code;
}

/** An error that the engine reports by its code; the engine knows the rest of it. */
function failure(code: "Busy" | "Corrupt" | "OTSObjectNotExist" | "QuotaExceeded" | "Unavailable", message: string, cause?: unknown): TabStoreError {
  return new TabStoreError({ code, status: 503, retryable: false, message, hint: undefined }, { cause });
}

/** Runs a call on files; its error has a code of ours. */
function tried<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof TabStoreError) throw error;
    const isFull = ["ENOSPC", "EDQUOT", "EFBIG"].includes(codeOf(error) ?? "");
    throw failure(isFull ? "QuotaExceeded" : "Unavailable", `${what}: ${error instanceof Error ? error.message : String(error)}`, error);
  }
}

function flushFolder(folder: string): void {
  if (!flushesFolders()) return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a file whole, or not at all. */
function replaceFile(file: string, text: string): void {
  const fresh = `${file}.new`;
  const descriptor = openSync(fresh, "w");
  try {
    writeSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(fresh, file);
  flushFolder(dirname(file));
}

/** When a process started, as far as the host tells: numbers of processes are used again. `undefined` if it is dead. */
function startOf(pid: number): string | undefined {
  try {
    // The third and the 22nd field of the line; the second one is a name in parentheses, which may have spaces.
    const line = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    const ticks = fields[19];
    // Its parent has not asked for its end yet.
    if (fields[0] === "Z" || fields[0] === "X") return undefined;
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim().replaceAll("-", "")}.${ticks}`;
  } catch {
    return "";
  }
}

/** Whether the process that a lock names lives. */
function isHeld(lock: string): boolean {
  const [, number, start] = lock.split("-");
  const pid = Number(number);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // Any other error, such as that of a process of another user, says nothing of its end.
    if (codeOf(error) === "ESRCH") return false;
  }
  const now = startOf(pid);
  return now !== undefined && (now === "" || start === "" || now === start);
}

/** The text of a file; `undefined` if it is missing. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * Takes the lock of a folder, also from a process that is dead. Returns what gives it back.
 *
 * Each attempt makes a file of its own and then looks for others. Of two that overlap, the later one sees the earlier one's, so at
 * most one of them goes on. No name is used twice: a file that names a dead process is nobody's, and whoever sees it deletes it.
 * The files are empty, since a full disk takes names longer than bytes.
 */
function takeLock(folder: string, name: string): () => void {
  const token = randomBytes(8).toString("hex");
  const own = `${LOCK}${process.pid}-${startOf(process.pid) ?? ""}-${token}`;
  const make = (file: string): void => closeSync(openSync(join(folder, file), "wx"));
  const forget = (file: string): void => rmSync(join(folder, file), { force: true });
  const held = (lock: string): string => `${HELD}${lock.slice(lock.lastIndexOf("-") + 1)}`;
  let other = "";
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    make(own);
    try {
      const names = readdirSync(folder);
      const locks = names.filter((file) => file.startsWith(LOCK) && file !== own);
      const live = locks.filter(isHeld);
      if (live.length === 0) {
        for (const dead of locks) [dead, held(dead)].forEach(forget);
        make(held(own));
        return () => [held(own), own].forEach(forget);
      }
      other = live.find((lock) => names.includes(held(lock))) ?? "";
    } catch (error) {
      [held(own), own].forEach(forget);
      throw error;
    }
    forget(own);
    if (other !== "") break;
    // All of them only ask for it: whoever asks alone has it.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1 + randomBytes(1)[0]! / 16);
  }
  const where = other === "" ? "" : ` The file ${other} says so; a thread that was ended leaves one, and its process has to end too.`;
  throw failure("Busy", `The instance '${name}' in ${folder} is open already, in another process or thread. Close it there first.${where}`);
}

/** An open file. After its end, each call fails. */
class NodeFile implements HostFile {
  private descriptor: number;

  constructor(
    private readonly path: string,
    private readonly onClose: (file: NodeFile) => void,
  ) {
    // No mode by name does this: "r+" creates no file, "w+" empties it, and "a+" writes at its end.
    this.descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT);
  }

  private run<T>(call: (descriptor: number) => T): T {
    if (this.descriptor < 0) throw failure("Unavailable", `The file ${this.path} is closed.`);
    return tried(this.path, () => call(this.descriptor));
  }

  read(at: number, into: Uint8Array): number {
    return this.run((descriptor) => readSync(descriptor, into, 0, into.length, at));
  }

  write(at: number, bytes: Uint8Array): number {
    return this.run((descriptor) => writeSync(descriptor, bytes, 0, bytes.length, at));
  }

  length(): number {
    return this.run((descriptor) => fstatSync(descriptor).size);
  }

  setLength(length: number): void {
    this.run((descriptor) => ftruncateSync(descriptor, length));
  }

  flush(): void {
    this.run((descriptor) => fdatasyncSync(descriptor));
  }

  close(): void {
    if (this.descriptor < 0) return;
    const { descriptor } = this;
    this.descriptor = -1;
    closeSync(descriptor);
    this.onClose(this);
  }
}

class NodeFolder implements HostFolder {
  private readonly files = new Set<NodeFile>();
  private unlock: (() => void) | undefined;
  private readonly instance: Instance;
  private readonly isSalvage: boolean;

  constructor(
    private readonly path: string,
    { name, kind, create, salvage }: EngineOptions,
  ) {
    this.isSalvage = salvage;
    const file = join(path, INSTANCE);
    // A salvage needs the journal alone.
    if (!create && !existsSync(file) && !(salvage && existsSync(join(path, JOURNAL))))
      throw failure("OTSObjectNotExist", `The instance '${name}' does not exist in ${dirname(path)}.`);
    const first = mkdirSync(path, { recursive: true });
    // Each new folder is a name in the one above.
    if (first !== undefined) for (let made = path; made.length >= first.length; made = dirname(made)) flushFolder(dirname(made));
    this.unlock = takeLock(path, name);
    try {
      const stored = textOf(file);
      const fresh = { name, kind: kind ?? "high-performance", creationTime: Date.now(), opened: salvage };
      if (salvage) this.instance = salvaged(stored) ?? fresh;
      else if (stored === undefined) {
        this.instance = fresh;
        replaceFile(file, JSON.stringify(fresh));
      } else this.instance = parsed(file, stored);
    } catch (error) {
      this.release();
      throw error;
    }
  }

  get kind(): string {
    return this.instance.kind;
  }

  get isUsed(): boolean {
    return this.instance.opened;
  }

  use(): void {
    if (this.isUsed || this.isSalvage) return;
    try {
      replaceFile(join(this.path, INSTANCE), JSON.stringify({ ...this.instance, opened: true }));
    } catch {
      // The next opening tries again.
    }
  }

  open(name: string): HostFile {
    if (this.unlock === undefined) throw failure("Unavailable", `The folder ${this.path} is closed.`);
    const file = tried(this.path, () => new NodeFile(join(this.path, name), (closed) => this.files.delete(closed)));
    this.files.add(file);
    return file;
  }

  remove(name: string): void {
    if (this.unlock === undefined) throw failure("Unavailable", `The folder ${this.path} is closed.`);
    tried(this.path, () => rmSync(join(this.path, name), { force: true }));
  }

  list(): string[] {
    return tried(this.path, () => readdirSync(this.path));
  }

  flush(): void {
    tried(this.path, () => flushFolder(this.path));
  }

  release(): void {
    for (const file of this.files) file.close();
    this.unlock?.();
    this.unlock = undefined;
  }
}

/** What a file `instance.json` says; `undefined` if it is missing or damaged. */
function salvaged(text: string | undefined): Instance | undefined {
  try {
    const { name, kind, creationTime, opened } = JSON.parse(text ?? "") as Partial<Instance>;
    if (typeof name === "string" && typeof kind === "string" && typeof creationTime === "number" && typeof opened === "boolean") {
      return { name, kind, creationTime, opened };
    }
  } catch {
    // As below.
  }
  return undefined;
}

/** The same. @throws `Corrupt`. */
function parsed(file: string, text: string): Instance {
  const instance = salvaged(text);
  if (instance === undefined)
    throw failure("Corrupt", `The file ${file} is damaged: it is not what TabStore has written. What is left can be read with salvage: true.`);
  return instance;
}

/** The folder of an instance below an absolute path. */
function folderOf(path: string, name: string): string {
  let parent = path;
  // One place may have several names. What does not exist yet has only one.
  for (let above = parent, below = ""; ; below = join(basename(above), below), above = dirname(above)) {
    if (existsSync(above)) {
      parent = join(realpathSync(above), below);
      break;
    }
    if (above === dirname(above)) break;
  }
  return join(parent, name.toLowerCase());
}

/** See {@link HostFolders}. */
export const folders: HostFolders = {
  absolute: (path) => tried(`The folder '${path}'`, () => resolve(path)),
  placeOf: (path, name) => tried(`The instance '${name}'`, () => Buffer.from(folderOf(path, name)).toString("hex")),
  open: (options) => tried(`The instance '${options.name}'`, () => new NodeFolder(folderOf(options.path!, options.name), options)),
};
