/** Turns of work on an instance that must not be done twice at once, also by other tabs. */

import type { Database } from "../types/database.js";

/** Ends a turn. */
export type Release = () => void;

/** The turns of this page, by name. */
const shared = new Map<string, Promise<unknown>>();
/** The turns of instances in memory, by the work. */
const inMemory = new WeakMap<object, Map<string, Promise<unknown>>>();

function queued(queues: Map<string, Promise<unknown>>, key: string): Promise<Release> {
  const before = queues.get(key);
  let release: Release = () => {};
  const ended = new Promise<void>((resolve) => {
    release = resolve;
  });
  const last = Promise.all([before, ended]);
  queues.set(key, last);
  void last.then(() => {
    if (queues.get(key) === last) queues.delete(key);
  });
  return Promise.resolve(before).then(() => release);
}

function locked(locks: LockManager, name: string): Promise<Release> {
  return new Promise((resolve, reject) => {
    locks.request(name, () => new Promise<void>((release) => resolve(release))).catch(reject);
  });
}

/** Waits for a turn of such work. One that nobody waits for any more must be ended too. */
export function turnOf(db: Pick<Database, "name" | "persistence">, work: string): Promise<Release> {
  // In memory no other handle sees the instance, whatever its name.
  if (db.persistence === "memory") {
    let queues = inMemory.get(db);
    if (queues === undefined) inMemory.set(db, (queues = new Map()));
    return queued(queues, work);
  }
  const { locks } = (globalThis.navigator ?? {}) as { readonly locks?: LockManager };
  const name = `tabstore/${work}/${db.name.toLowerCase()}`;
  // Where there are no locks, no other tab shares the instance.
  return locks === undefined ? queued(shared, name) : locked(locks, name);
}
