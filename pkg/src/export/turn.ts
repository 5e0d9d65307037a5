/**
 * Lets imports into one instance run one after another, those of other tabs too. Two at once would spoil each other: the one that ends
 * first takes back what it has allowed a table, and one that fails deletes the tables that it has made, with the rows of the other.
 */

import type { Database } from "../types/database.js";

/** Ends a turn. */
export type Release = () => void;

/** The turns of this page, by instance. */
const queues = new Map<unknown, Promise<unknown>>();

function queued(instance: unknown): Promise<Release> {
  const before = queues.get(instance);
  let release: Release = () => {};
  const ended = new Promise<void>((resolve) => {
    release = resolve;
  });
  const last = Promise.all([before, ended]);
  queues.set(instance, last);
  void last.then(() => {
    if (queues.get(instance) === last) queues.delete(instance);
  });
  return Promise.resolve(before).then(() => release);
}

function locked(locks: LockManager, name: string): Promise<Release> {
  return new Promise((resolve, reject) => {
    locks.request(name, () => new Promise<void>((release) => resolve(release))).catch(reject);
  });
}

/** Waits for the turn of an import. One that nobody waits for any more must be ended too. */
export function turnOf(db: Pick<Database, "name" | "persistence">): Promise<Release> {
  const { name, persistence } = db;
  // In memory no other handle sees the instance, whatever its name.
  if (persistence === "memory") return queued(db);
  const { locks } = (globalThis.navigator ?? {}) as { readonly locks?: LockManager };
  // Where there are none, no other tab shares the instance.
  return locks === undefined ? queued(name.toLowerCase()) : locked(locks, `tabstore/import/${name.toLowerCase()}`);
}
