/**
 * The lock that keeps an instance to one engine: a Web Lock, taken in the thread that runs the engine, given back by the
 * browser whatever happens to that thread.
 */

import { local } from "./errors.js";

/** Gives a lock back; resolves when another may have it. */
export type Release = () => Promise<void>;

/** The name of an instance's lock. Names of instances are compared without case. */
export function lockName(instance: string): string {
  return `tabstore/${instance.toLowerCase()}`;
}

/**
 * Takes the lock of an instance, or fails with `Busy` at once when somebody has it.
 *
 * Where a host has no Web Locks, the engine's own fencing still keeps two writers apart: the older one is cut off.
 *
 * `onLost` is called when somebody has stolen the lock, which pages of the same origin can.
 */
export async function lockInstance(instance: string, onLost: () => void = () => {}): Promise<Release> {
  const locks = (globalThis.navigator as Navigator | undefined)?.locks as LockManager | undefined;
  if (locks === undefined) return async () => {};
  let release: () => void = () => {};
  let released = false;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let ended: Promise<unknown> = Promise.resolve();
  const granted = await new Promise<boolean>((resolve, reject) => {
    ended = locks.request(lockName(instance), { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : held;
    });
    // Where the browser forbids storage, as in a sandboxed frame, it forbids locks too.
    ended.catch((error: unknown) => reject(local("Unavailable", `This page may use neither locks nor IndexedDB (${String(error)}).`, { cause: error })));
  });
  if (!granted) {
    throw local("Busy", `The instance '${instance}' is open already, in this or another tab or worker of this origin. Close it there first.`);
  }
  // Only a lock that is stolen ends by itself.
  ended.catch(() => {
    if (!released) onLost();
  });
  return async () => {
    released = true;
    release();
    await ended.catch(() => {});
  };
}
