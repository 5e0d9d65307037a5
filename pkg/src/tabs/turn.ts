/** Turns of work on an instance that must not be done twice at once, also by other tabs. */

import type { Database } from "../types/database.js";

/** Ends a turn. */
export type Release = () => void;

/** The turns of this page: by the instance in memory, or by name. */
const queues = new Map<unknown, Promise<unknown>>();

function queued(key: unknown): Promise<Release> {
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
  if (db.persistence === "memory") return queued(db);
  const { locks } = (globalThis.navigator ?? {}) as { readonly locks?: LockManager };
  const name = `tabstore/${work}/${db.name.toLowerCase()}`;
  // Where there are no locks, no other tab shares the instance.
  return locks === undefined ? queued(name) : locked(locks, name);
}
