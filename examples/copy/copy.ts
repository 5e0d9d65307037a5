/** Copies a table into a plain IndexedDB database, and keeps the copy equal to the table. */

import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Database, PrimaryKey, Value } from "tabstore";

import { follow, type Place } from "../follow.ts";

interface Schema extends DBSchema {
  /** The rows: columns and newest values, by key. */
  rows: { key: IDBValidKey[]; value: Record<string, Value> };
  /** How far the copy has come, by table. */
  places: { key: string; value: Place };
}

/** The other store. */
export type Copy = IDBPDatabase<Schema>;

/** What a step has done. */
export interface Copied {
  /** Rows that were copied. */
  readonly put: number;
  /** Rows that were deleted. */
  readonly deleted: number;
}

/** Opens the database of the copy. */
export const openCopy = (name: string): Promise<Copy> =>
  openDB<Schema>(name, 1, {
    upgrade(copy) {
      copy.createObjectStore("rows");
      copy.createObjectStore("places");
    },
  });

/** The key of IndexedDB for a key of TabStore. IndexedDB has no 64-bit integers as keys. */
export const keyOf = (primaryKey: PrimaryKey): IDBValidKey[] =>
  Object.values(primaryKey).map((value) => (typeof value === "bigint" ? String(value) : value) as IDBValidKey);

/**
 * Copies what there is, then what changes, until `signal` or a `break` ends it. Call it again to go on, also after a reload.
 *
 * Rows and place change in one transaction. So the place is never ahead of the copy, and never behind it, whenever the page ends.
 * Only one of them may run at a time, so take a Web Lock if there may be several tabs.
 */
export async function* copyTable(db: Database, tableName: string, copy: Copy, signal?: AbortSignal): AsyncGenerator<Copied, void> {
  const from = await copy.get("places", tableName);
  for await (const { anew, rows, gone, place } of follow(db, tableName, from, signal)) {
    const transaction = copy.transaction(["rows", "places"], "readwrite");
    const store = transaction.objectStore("rows");
    await Promise.all([
      anew && store.clear(),
      ...rows.map((row) => store.put(row.toObject(), keyOf(row.primaryKey))),
      ...gone.map((primaryKey) => store.delete(keyOf(primaryKey))),
      transaction.objectStore("places").put(place, tableName),
      transaction.done,
    ]);
    yield { put: rows.length, deleted: gone.length };
  }
}
