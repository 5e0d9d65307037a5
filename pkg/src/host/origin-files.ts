/**
 * Instances in files of the origin's private file system: a folder for each, with its name in lower case.
 *
 * ```text
 * instance.<kind>.<creation time>.<name>   empty. The instance exists; the newest counts
 * <creation time>.opened                   empty. An engine has opened it, so there is data
 * <creation time>.<file>                   the files that the engine asks for
 * ```
 *
 * A name is there or not, whatever happens to the browser. The content of a file may be half of it. A deletion takes the first name
 * away. What is left is nobody's, and is deleted too, now or later. No instance has names of an earlier one. So a tab that was frozen
 * in a deletion cannot hit the next instance. And if the site's data is cleared, Chromium keeps the names of open files from others
 * until it ends.
 *
 * The files of an open instance are held by its worker, and no other one can open them. So nobody has to fence off a tab that is
 * frozen: as long as it holds them, it is the one that writes.
 */

import { invalid, local, TabStoreError } from "../types/errors.js";
import { busy } from "../tabs/lock.js";
import type { InstanceDescription } from "../types/rows.js";
import type { HostFolder, HostFolders } from "./folder.js";
import type { InstanceCalls } from "./glue.js";
import { kept, nameIn, originFolder } from "./origin-folder.js";

type Folder = FileSystemDirectoryHandle;

/** The folder of the folders of instances. */
const FILES = "tabstore-files";
/** The name that tells of an instance, and its parts. */
const DESCRIPTION = /^instance\.(high-performance|capacity)\.(\d+)\.(.+)$/;
const OPENED = "opened";
const JOURNAL = "journal-0";
/** The names of instances. The engine knows this rule too, but is not asked here. */
const NAME = /^[a-z][a-z0-9-]{1,14}[a-z0-9]$/i;

/** The files of a worker that has just ended come free a little after its lock, and are asked for again so often (ms). */
const PATIENCE = 1000;
const PAUSE = 20;
/** An instance that is used is looked for so often (ms): the site's data may have been cleared. */
const LOOK = 1000;

const prefixOf = (time: number | string): string => `${time}.`;

const notThere = (name: string): TabStoreError =>
  new TabStoreError({ code: "OTSObjectNotExist", status: 404, retryable: false, message: `Requested instance '${name}' does not exist.`, hint: undefined });

const isNamed = (error: unknown, name: string): boolean => error instanceof DOMException && error.name === name;

/** The result of a call on something that may be missing. */
async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isNamed(error, "NotFoundError")) return undefined;
    throw error;
  }
}

/** Asks again for what another thread has, for a while. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + PATIENCE; ; await new Promise((resolve) => setTimeout(resolve, PAUSE))) {
    try {
      return await ask();
    } catch (error) {
      if (!isNamed(error, "NoModificationAllowedError") || performance.now() > end) throw error;
    }
  }
}

/** The folder of all instances; `undefined` if there is none yet. */
async function instancesFolder(create: boolean): Promise<Folder | undefined> {
  let root: Folder | undefined;
  try {
    root = await (globalThis.navigator as Navigator | undefined)?.storage?.getDirectory?.();
  } catch (error) {
    if (!isNamed(error, "SecurityError")) throw error;
  }
  if (root === undefined) {
    throw local(
      "Unavailable",
      "The argument 'storage' is \"files\", but this host has no files of an origin, or does not allow them: WebKitGTK has none, some browsers have none in private windows, and Node and Deno have none: there an instance is a folder in the one that 'path' of 'open' names.",
    );
  }
  return unlessMissing(kept(root, (root) => root.getDirectoryHandle(FILES, { create })));
}

const entriesOf = (folder: Folder): AsyncIterable<[string, FileSystemHandle]> =>
  (folder as unknown as { entries(): AsyncIterable<[string, FileSystemHandle]> }).entries();

/** What the names in a folder tell. */
interface Known {
  readonly names: ReadonlySet<string>;
  /** The name that tells of the instance, and what it tells. */
  readonly description: string | undefined;
  readonly instance: InstanceDescription | undefined;
}

async function look(folder: Folder): Promise<Known> {
  const names = new Set<string>();
  let description: string | undefined;
  let instance: InstanceDescription | undefined;
  await kept(folder, async (folder) => {
    for await (const [name] of entriesOf(folder)) {
      names.add(name);
      const [, kind, time, shown] = DESCRIPTION.exec(name) ?? [];
      if (shown === undefined || Number(time) < (instance?.creationTime ?? 0)) continue;
      description = name;
      instance = { name: shown, kind: kind as InstanceDescription["kind"], creationTime: Number(time) };
    }
  });
  return { names, description, instance };
}

/** Deletes what is nobody's. What a worker still has open stays for the next time. */
async function sweep(folder: Folder, names: Iterable<string>): Promise<void> {
  for (const name of names) await kept(folder, (folder) => folder.removeEntry(name)).catch(() => {});
}

/** The folder of an instance, and what is known of it. Makes it if it may. Whoever has lost its lock meanwhile changes nothing. */
async function make(
  name: string,
  kind: string | undefined,
  create: boolean,
  isOurs: () => Promise<boolean>,
): Promise<{ readonly folder: Folder; readonly description: string; readonly names: ReadonlySet<string> }> {
  const all = await instancesFolder(create);
  const folder = all && (await unlessMissing(kept(all, (all) => all.getDirectoryHandle(nameIn(name), { create }))));
  const found = folder && (await look(folder));
  if (folder === undefined || found === undefined) throw notThere(name);
  const { names } = found;
  let { description } = found;
  if (description === undefined) {
    if (!create) throw notThere(name);
    let time = Date.now();
    // A clock may be coarse, or was set back.
    while ([...names].some((name) => name.startsWith(prefixOf(time)))) time += 1;
    description = `instance.${kind ?? "high-performance"}.${time}.${name}`;
    if (!(await isOurs())) throw busy(name);
    await kept(folder, (folder) => folder.getFileHandle(description!, { create: true }));
  }
  return { folder, description, names };
}

/** Opens folders of instances. The caller has the lock of the instance. */
export const folders: Pick<HostFolders, "open"> = {
  async open({ name, kind, create }, isOurs, onGone) {
    const { folder, description, names } = await make(name, kind, create, isOurs);
    const [, stored, time] = DESCRIPTION.exec(description)!;
    const prefix = prefixOf(time!);
    const isUsed = names.has(prefix + OPENED);
    if (create)
      void sweep(
        folder,
        [...names].filter((name) => name !== description && !name.startsWith(prefix)),
      );
    const files = originFolder(async () => folder);
    let [isOver, isTouched] = [false, false];
    /** Whether the instance is gone. Chromium stores in its files all the same, and its worker would wait for ever when it closes one. */
    const isGone = async (): Promise<boolean> => {
      const isMissing = kept(folder, (folder) => folder.getFileHandle(description)).then(
        () => false,
        (error: unknown) => isNamed(error, "NotFoundError"),
      );
      if (!(await isMissing)) return false;
      files.abandon();
      return true;
    };
    /** The files that are being closed, by their names. */
    const closing = new Map<string, Promise<void>>();
    const timer = setInterval(() => {
      if (!isTouched) return;
      isTouched = false;
      isGone().then(
        (isGone) => {
          if (isGone && !isOver) onGone(local("Closed", `The instance '${name}' was deleted while it was open: the site's data was cleared.`));
        },
        () => {},
      );
    }, LOOK);
    return {
      ...files,
      kind: stored!,
      isUsed,
      async open(name) {
        await closing.get(name);
        const file = await patiently(() => files.open(prefix + name)).catch((error: unknown) => {
          throw error instanceof TypeError
            ? local("Unavailable", "This browser has files of the origin in an older form: take a newer one.", { cause: error })
            : error;
        });
        return {
          ...file,
          read(at, into) {
            isTouched = true;
            return file.read(at, into);
          },
          write(at, bytes) {
            isTouched = true;
            return file.write(at, bytes);
          },
          close() {
            const end = isGone()
              .then(() => file.close())
              .finally(() => closing.get(name) === end && closing.delete(name));
            closing.set(name, end);
          },
        };
      },
      async remove(name) {
        await closing.get(name);
        if (!isOver) await unlessMissing(files.remove(prefix + name));
      },
      list: async () => (await files.list()).filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length)),
      async use() {
        // If this fails, the next opening tries again.
        if (!isUsed) await kept(folder, (folder) => folder.getFileHandle(prefix + OPENED, { create: true })).catch(() => {});
      },
      isGone,
      async release() {
        isOver = true;
        clearInterval(timer);
        await isGone();
        files.release();
      },
    } satisfies HostFolder;
  },
};

/** Refuses an opening in a thread that can open no files. */
export async function refuse(): Promise<never> {
  await instancesFolder(false);
  throw local(
    "Unavailable",
    "The argument 'storage' is \"files\", which only a dedicated worker of a secure context can open: open in a page, with worker: true, which is the default.",
  );
}

/** A call of the page on an instance, if it is one. Its error has a code of ours. */
async function told<T>(call: () => Promise<T>, name?: string): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    if (error.name === "QuotaExceededError")
      throw new TabStoreError({ code: "QuotaExceeded", status: 507, retryable: false, message: error.message, hint: undefined }, { cause: error });
    throw name !== undefined && error.name === "NoModificationAllowedError"
      ? busy(name)
      : local("Unavailable", `The files of this origin: ${error.message}`, { cause: error });
  }
}

function checkName(name: string): void {
  if (!NAME.test(name))
    throw invalid(
      `Invalid instance name: '${name}'.`,
      "The rule for the name of an instance: 3 to 16 letters (A to Z), digits and '-', first a letter, last not '-'.",
    );
}

/** Where an instance is, and what is known of it. */
async function find(name: string): Promise<{ readonly all: Folder; readonly folder: Folder; readonly known: Known } | undefined> {
  checkName(name);
  const all = await instancesFolder(false);
  const folder = all && (await unlessMissing(kept(all, (all) => all.getDirectoryHandle(nameIn(name)))));
  const known = folder && (await unlessMissing(look(folder)));
  return known && { all: all!, folder: folder!, known };
}

/** The calls on instances, as the engine has them for those in IndexedDB. */
export const instances: InstanceCalls = {
  listInstances: () =>
    told(async () => {
      const all = await instancesFolder(false);
      const found: InstanceDescription[] = [];
      if (all !== undefined) {
        await kept(all, async (all) => {
          for await (const [, entry] of entriesOf(all)) {
            // Another tab may delete it now.
            const known = entry.kind === "directory" ? await unlessMissing(look(entry as Folder)) : undefined;
            if (known?.instance !== undefined) found.push(known.instance);
          }
        });
      }
      return found.sort((a, b) => (nameIn(a.name) < nameIn(b.name) ? -1 : 1));
    }),
  describeInstance: (name) =>
    told(async () => {
      const { instance } = (await find(name))?.known ?? {};
      if (instance === undefined) throw notThere(name);
      return instance;
    }, name),
  deleteInstance: (name) =>
    told(async () => {
      const found = await find(name);
      if (found === undefined) throw notThere(name);
      const {
        all,
        folder,
        known: { names, description, instance },
      } = found;
      if (description === undefined) {
        await sweep(folder, names);
        throw notThere(name);
      }
      const journal = await unlessMissing(kept(folder, (folder) => folder.getFileHandle(prefixOf(instance!.creationTime) + JOURNAL)));
      // A worker that has it open is told by this, and none can open it meanwhile. Older browsers cannot do that, nor full origins.
      const held =
        journal &&
        (await patiently(() => kept(journal, (journal) => journal.createWritable())).catch((error: unknown) => {
          if (isNamed(error, "NoModificationAllowedError")) throw error;
        }));
      try {
        // The newest one last: an older one must not count again.
        await sweep(
          folder,
          [...names].filter((name) => name !== description && DESCRIPTION.test(name)),
        );
        await unlessMissing(kept(folder, (folder) => folder.removeEntry(description)));
      } finally {
        await held?.abort().catch(() => {});
      }
      await sweep(folder, names);
      // It may have what is still open.
      await kept(all, (all) => all.removeEntry(nameIn(name))).catch(() => {});
    }, name),
};
