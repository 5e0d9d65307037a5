/**
 * The lock that limits an instance to one engine: a Web Lock, taken in the thread that runs the engine. The browser
 * releases it whatever happens to that thread. Tabs that follow wait for it.
 */

import { local, type TabStoreError } from "../types/errors.js";

/** The longest wait of a cancelled call for an orderly release, in milliseconds. */
export const PATIENCE = 2000;

/** Whether work ends within a time, successfully or not. */
export function within(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds, false);
    const end = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(end, end);
  });
}

/** This page's current work that holds an instance's lock, by the name of the lock. */
const underWay = new Map<string, Set<{ readonly work: Promise<unknown>; readonly opens: boolean }>>();

/** Registers work that holds the lock of an instance until it ends: an opening, or its end. Returns its entry. */
export function registerWork(instance: string, work: Promise<unknown>, opens: boolean): object {
  const name = lockName(instance);
  const works = underWay.get(name) ?? new Set();
  underWay.set(name, works);
  const one = { work, opens };
  works.add(one);
  const end = (): void => {
    works.delete(one);
    if (works.size === 0 && underWay.get(name) === works) underWay.delete(name);
  };
  work.then(end, end);
  return one;
}

/**
 * Waits, at most {@link PATIENCE}, for this page's work with an instance. So a caller who cancels an opening, or closes,
 * and opens again at once is not refused by its own lock. Openings that began after `own` wait for that one.
 */
export async function settled(instance: string, own: () => object): Promise<void> {
  // A caller that closes a fresh opening does so in the microtask that comes now.
  await Promise.resolve();
  const works = underWay.get(lockName(instance));
  if (works === undefined) return;
  const earlier: Promise<unknown>[] = [];
  let before = true;
  for (const one of works) {
    if (one === own()) before = false;
    else if (before || !one.opens) earlier.push(one.work);
  }
  if (earlier.length > 0) await within(Promise.allSettled(earlier), PATIENCE);
}

function locksOf(): LockManager | undefined {
  return (globalThis.navigator as Navigator | undefined)?.locks;
}

/** Releases a lock; resolves when another may have it. */
export type Release = () => Promise<void>;

/** Where the instances in files of the origin are. */
export const IN_FILES = "files/";

/** The name of the instance at a place. */
export const nameAt = (place: string): string => place.replace(IN_FILES, "");

/** The name of the lock of the instance at a place. Names of instances are compared without case. */
export function lockName(instance: string): string {
  return `tabstore/${instance.toLowerCase()}`;
}

/** The name of the channel between a follower and its session, if there is no shared worker. `number` is that of its seek. */
export function privateChannel(instance: string, { client, number }: { readonly client: number; readonly number: number }): string {
  return `${lockName(instance)}/${client}/${number}`;
}

/** Whether tabs can share an instance here. */
export function canFollow(): boolean {
  return locksOf() !== undefined && typeof BroadcastChannel !== "undefined";
}

/** The client that holds the lock of an instance, by the browser's name for it. */
export async function holderOf(instance: string): Promise<string | undefined> {
  const name = lockName(instance);
  return (await locksOf()?.query())?.held?.find((lock) => lock.name === name)?.clientId;
}

/**
 * Runs a takeover of an instance's lock after those of other clients: each theft succeeds, so a second one would take the
 * lock from the first. It does not wait for a client that freezes in the middle of its own.
 */
export async function takeTurn(instance: string, takeOver: () => Promise<void>): Promise<void> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE / 2);
  let begun: Promise<void> | undefined;
  const begin = (): Promise<void> => (begun ??= takeOver());
  // It gets its turn, or the wait has ended.
  await locksOf()
    ?.request(`tabstore/takeover/${instance.toLowerCase()}`, { signal: patience.signal }, begin)
    .catch(() => {});
  clearTimeout(timer);
  await begin();
}

/** The end of an engine whose instance another tab has taken, and does not share. */
export const taken = (instance: string): TabStoreError =>
  local("LeaderChanged", `Another tab or worker has taken the instance '${instance}' over. Open it again to use it here.`, {
    hint: canFollow() ? undefined : "Tabs share an instance only in a secure context, which has Web Locks: serve the page by https, or from localhost.",
  });

/** The refusal of an instance that another tab has. */
export function busy(place: string): TabStoreError {
  return local("Busy", `The instance '${nameAt(place)}' is open already, in another tab or worker of this origin. Close it there first.`, {
    hint: "The other tab does not share it: it may be frozen, or its library is too old for that. Try again later.",
  });
}

/**
 * Takes the lock of an instance, or fails with `Busy` at once if it is taken. Other options of the request: a signal, until
 * which it waits for the lock, or that it steals the lock.
 *
 * On a host without Web Locks the caller that comes last has it.
 *
 * `onLost` is called when the lock was stolen, which pages of the same origin can do, or another caller came.
 */
export async function lockInstance(instance: string, onLost?: () => void, options: LockOptions = { ifAvailable: true }): Promise<Release> {
  const locks = locksOf();
  if (locks === undefined) return onLost === undefined ? async () => {} : takeAlone(instance, onLost);
  let release: () => void = () => {};
  let released = false;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let ended: Promise<unknown> = Promise.resolve();
  const granted = await new Promise<boolean>((resolve, reject) => {
    ended = locks.request(lockName(instance), options, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : held;
    });
    // If the browser forbids storage, as in a sandboxed frame, it forbids locks too.
    ended.catch((error: unknown) =>
      reject(
        local("Unavailable", `This page may use neither locks nor IndexedDB (${String(error)}).`, {
          cause: error,
          hint: "A sandboxed frame needs 'allow-same-origin'. Without it, worker: false and storage: \"memory\" work.",
        }),
      ),
    );
  });
  if (!granted) throw busy(instance);
  // Only a stolen lock ends by itself.
  ended.catch(() => {
    if (!released) onLost?.();
  });
  return async () => {
    released = true;
    release();
    await ended.catch(() => {});
  };
}

/** A worker's lock comes free a little after the worker has said so: the two ways lead through different processes. */
const MOMENT = 300;

/** {@link lockInstance} for one who may come right after this page's own worker, and does not follow. */
export async function lockSoon(instance: string, onLost?: () => void): Promise<Release> {
  return lockInstance(instance, onLost).catch((error: TabStoreError) => {
    if (error.code !== "Busy") throw error;
    const patience = new AbortController();
    setTimeout(() => patience.abort(), MOMENT);
    return lockInstance(instance, onLost, { signal: patience.signal }).catch(() => Promise.reject(error));
  });
}

/**
 * Takes an instance on a host without Web Locks: tells the tab that has it, which ends its engine. The fence keeps apart those that
 * do not hear.
 */
function takeAlone(instance: string, onLost: () => void): Release {
  if (typeof BroadcastChannel === "undefined") return async () => {};
  const channel = new BroadcastChannel(`${lockName(instance)}/taken`);
  channel.onmessage = onLost;
  channel.postMessage(0);
  return async () => channel.close();
}

/** The lock that a worker holds while it lives. No instance's name contains a slash. */
function lifeName(client: number | ""): string {
  return `tabstore/worker/${client}`;
}

/** The clients whose workers or pages live. */
export async function living(): Promise<number[]> {
  const { held = [], pending = [] } = (await locksOf()?.query()) ?? {};
  return [...held, ...pending].flatMap(({ name = "" }) => (name.startsWith(lifeName("")) ? [Number(name.slice(lifeName("").length))] : []));
}

/**
 * Takes the lock of a worker, or of a page that follows, which the browser releases at its end. Returns whether it has it. If
 * the lock is stolen, it takes it again.
 */
export function live(client: number, end: Promise<void> = new Promise(() => {})): Promise<boolean> {
  return new Promise((resolve) => {
    const hold = (): void => {
      let has = false;
      const held = locksOf()?.request(lifeName(client), () => {
        resolve((has = true));
        return end;
      });
      // If locks are missing or forbidden, its end cannot be noticed.
      if (held === undefined) resolve(false);
      // Only a lock that it had was stolen. A page of WebKit that ends is refused each new one, and would ask for ever.
      else held.catch(() => (has ? hold() : resolve(false)));
    };
    hold();
  });
}

/** Tells the page of a worker, which may go on, that the worker leads no more: takes the worker's lock. */
export function endLife(client: number): void {
  void locksOf()
    ?.request(lifeName(client), { steal: true }, () => {})
    .catch(() => {});
}

const ends = new Map<number, Promise<void>>();

/** The end of a worker, or page, that holds its lock. A browser reports it in no other way. */
export function endOf(client: number): Promise<void> {
  let end = ends.get(client);
  if (end === undefined) {
    end = new Promise((resolve) => {
      locksOf()
        ?.request(lifeName(client), () => ends.delete(client))
        .then(
          () => resolve(),
          () => {},
        );
    });
    ends.set(client, end);
  }
  return end;
}
