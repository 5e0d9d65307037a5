/** The rows of the show: made up, but always the same, so that after a kill it is known what has to be there. Plain functions. */

import type { BatchWriteItem, KeyValue, Value } from "tabstore";

/** The table. */
export const TABLE = "flight";
/** How many keys there are: fewer than writes, so that old versions pile up and are dropped. */
const KEYS = 6000;

/** The key of a write, from 0: without an order, so that segments overlap. */
export function keyAt(write: number): string {
  // Knuth's multiplicative hash scatters the numbers.
  const place = ((Math.imul(write, 2_654_435_761) ^ (write >>> 7)) >>> 0) % KEYS;
  return `F${String(place).padStart(4, "0")}`;
}

/** A key that no write has. */
export const missingKey = (write: number): string => `${keyAt(write)}X`;

/** The write as an item of a batch. `write` is stored in it, so that what is read tells which write it was. */
export function itemAt(write: number): BatchWriteItem {
  const put = { write, delay: (write * 37) % 180, gate: `${"ABCD"[write % 4]}${write % 60}`, plane: (Math.imul(write, 40_503) >>> 0).toString(36) };
  return { tableName: TABLE, update: { primaryKey: { id: keyAt(write) }, put } };
}

/** The newest of the acknowledged writes of each key. */
export function newestWrites(acknowledged: number): ReadonlyMap<string, number> {
  const newest = new Map<string, number>();
  for (let write = 0; write < acknowledged; write++) newest.set(keyAt(write), write);
  return newest;
}

/** What a count after a kill gives. */
export interface Balance {
  /** Writes that were acknowledged before the kill. */
  readonly acknowledged: number;
  /** Rows that they went to. */
  readonly expected: number;
  /** Rows that are there. */
  readonly found: number;
  /** Rows whose newest acknowledged write is not there. */
  readonly lost: number;
}

/** Compares what was acknowledged with what is there. A row may have a newer write: one whose answer was still under way. */
export function balance(acknowledged: number, rows: Iterable<{ readonly id: KeyValue | undefined; readonly write: Value | undefined }>): Balance {
  const newest = newestWrites(acknowledged);
  const stored = new Map<string, number>();
  for (const { id, write } of rows) stored.set(String(id), Number(write));
  const lost = [...newest].filter(([id, write]) => !((stored.get(id) ?? -1) >= write)).length;
  return { acknowledged, expected: newest.size, found: stored.size, lost };
}
