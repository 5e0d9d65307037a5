/**
 * Instances in files of the origin's private file system: a folder for each, with its name in lower case.
 *
 * ```text
 * instance.<kind>.<creation time>.<name>   empty. The instance exists
 * opened                                   empty. An engine has opened it, so there is data
 * deleted                                  empty. Its deletion has begun, and goes on with the next call
 * journal-0, journal-1, segment-<number>   as in FORMAT.md
 * ```
 *
 * A name is there or not, whatever happens to the browser. The content of a file may be half of it.
 *
 * The files of an open instance are held by its worker, and no other one can open them. So nobody has to fence off a tab that is
 * frozen: as long as it holds them, it is the one that writes.
 */

import { local, TabStoreError } from "../errors.js";
import type { InstanceDescription } from "../types.js";
import type { HostFolder, HostFolders } from "./folder.js";
import type { InstanceCalls } from "./glue.js";
import { canOpen, FILES, folderIn, kept, nameIn, originFolder } from "./origin-folder.js";

/** The name that tells of an instance, and its parts. */
const DESCRIPTION = /^instance\.(high-performance|capacity)\.(\d+)\.(.+)$/;
const OPENED = "opened";
const DELETED = "deleted";

/** The files of a worker that has just ended come free a little after its lock, and are asked for again so often (ms). */
const PATIENCE = 1000;
const PAUSE = 20;

const notThere = (name: string): TabStoreError =>
  new TabStoreError({ code: "OTSObjectNotExist", status: 404, retryable: false, message: `Requested instance '${name}' does not exist.`, hint: undefined });

/** The folder of all instances. */
async function instancesFolder(): Promise<FileSystemDirectoryHandle> {
  const folder = await folderIn(FILES);
  if (folder !== undefined) return folder;
  throw local("Unavailable", "The argument 'storage' is \"files\", but this host has no files of an origin, or does not allow them: WebKitGTK has none, and some browsers have none in private windows.");
}

const entriesOf = (folder: FileSystemDirectoryHandle): AsyncIterable<[string, FileSystemHandle]> => (folder as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries();

/** The names in a folder, and the instance that they tell of. */
async function look(folder: FileSystemDirectoryHandle): Promise<{ readonly names: ReadonlySet<string>; readonly instance: InstanceDescription | undefined }> {
  const names = new Set<string>();
  let instance: InstanceDescription | undefined;
  for await (const [name] of entriesOf(folder)) {
    names.add(name);
    const [, kind, time, shown] = DESCRIPTION.exec(name) ?? [];
    if (shown !== undefined) instance = { name: shown, kind: kind as InstanceDescription["kind"], creationTime: Number(time) };
  }
  return { names, instance: names.has(DELETED) ? undefined : instance };
}

/** A call on a folder that may be missing. */
async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotFoundError") return undefined;
    throw error;
  }
}

const find = async (name: string): Promise<FileSystemDirectoryHandle | undefined> => unlessMissing((await instancesFolder()).getDirectoryHandle(nameIn(name)));

/** Deletes a folder with all that it has. Whoever dies in between has begun it. */
async function erase(name: string, folder: FileSystemDirectoryHandle): Promise<void> {
  await folder.getFileHandle(DELETED, { create: true });
  await kept(await instancesFolder(), (all) => all.removeEntry(nameIn(name), { recursive: true }));
}

/** The folder of an instance, and what its names tell. Makes what is missing. */
async function make(name: string, kind: string | undefined): Promise<{ readonly folder: FileSystemDirectoryHandle; readonly kind: string; readonly isUsed: boolean }> {
  const create = async (): Promise<FileSystemDirectoryHandle> => (await instancesFolder()).getDirectoryHandle(nameIn(name), { create: true });
  let folder = await create();
  let { names, instance } = await look(folder);
  if (names.has(DELETED)) {
    await erase(name, folder);
    folder = await create();
    ({ names, instance } = await look(folder));
  }
  if (instance !== undefined) return { folder, kind: instance.kind, isUsed: names.has(OPENED) };
  const own = kind ?? "high-performance";
  await folder.getFileHandle(`instance.${own}.${Date.now()}.${name}`, { create: true });
  return { folder, kind: own, isUsed: false };
}

/** Asks again for what another thread has, for a while. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + PATIENCE; ; await new Promise((resolve) => setTimeout(resolve, PAUSE))) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof DOMException && error.name === "NoModificationAllowedError") || performance.now() > end) throw error;
    }
  }
}

/** Opens folders of instances, as {@link HostFolders.open} does. The caller has the lock of the instance. */
export const folders: Pick<HostFolders, "open"> = {
  async open({ name, kind, create }) {
    if (!canOpen()) {
      await instancesFolder();
      throw local("Unavailable", "The argument 'storage' is \"files\", which only a dedicated worker can open: open in a page, with worker: true, which is the default.");
    }
    if (!create && (await find(name).then((folder) => folder && look(folder)))?.instance === undefined) throw notThere(name);
    const { folder, ...known } = await make(name, kind);
    const files = originFolder(async () => folder);
    return {
      ...files,
      ...known,
      open: (file) => patiently(() => files.open(file)),
      remove: (file) => unlessMissing(files.remove(file)),
      use() {
        // If this fails, the next opening tries again.
        if (!known.isUsed) kept(folder, (folder) => folder.getFileHandle(OPENED, { create: true })).catch(() => {});
      },
    } satisfies HostFolder;
  },
};

/** The calls on instances, as the engine has them for those in IndexedDB. */
export const instances: InstanceCalls = {
  async listInstances() {
    const found: InstanceDescription[] = [];
    for await (const [, folder] of entriesOf(await instancesFolder())) {
      if (folder.kind !== "directory") continue;
      const { instance } = await look(folder as FileSystemDirectoryHandle);
      if (instance !== undefined) found.push(instance);
    }
    return found.sort((a, b) => (nameIn(a.name) < nameIn(b.name) ? -1 : 1));
  },
  async describeInstance(name) {
    const folder = await find(name);
    const instance = folder && (await look(folder)).instance;
    if (instance === undefined) throw notThere(name);
    return instance;
  },
  async deleteInstance(name) {
    const folder = await find(name);
    if (folder === undefined) throw notThere(name);
    const { instance } = await look(folder);
    await erase(name, folder);
    if (instance === undefined) throw notThere(name);
  },
};
