/** The interface of a measured database. */

import type { BenchRow } from "./data.js";

/** The tables: one is loaded in bulk and read, two take single puts, the last of them has an index on city and count. */
export type Table = "bulk" | "single" | "indexed";

/** Rows that a scan asks for at once; large enough that the trip does not count. */
export const SCAN_PAGE = 5000;

/** How a database is opened, for a measurement of its own. */
export interface Conditions {
  /** The most memory for what it reads, if it can be told. */
  cacheBytes?: number;
  /** Whether a write waits until the device has it. */
  strict?: boolean;
}

/** A database. Every write resolves when its transaction has completed, with relaxed durability unless it is strict. */
export interface Engine {
  /** Opens a database; makes it with its tables if there is none. */
  open(name: string, conditions?: Conditions): Promise<void>;
  close(): Promise<void>;
  /** Deletes a database that is closed. */
  remove(name: string): Promise<void>;
  /** One row, in a call and a transaction of its own. */
  put(table: Table, row: BenchRow): Promise<unknown>;
  /** All rows, in whatever way the database likes best. */
  bulk(table: Table, rows: readonly BenchRow[]): Promise<void>;
  get(table: Table, id: number): Promise<BenchRow | undefined>;
  /** Many rows in one call. Their order does not matter. */
  getMany(table: Table, ids: readonly number[]): Promise<BenchRow[]>;
  /** The first `count` rows whose key is not below `from`, in order. Only some databases are asked for that. */
  few?(table: Table, from: number, count: number): Promise<BenchRow[]>;
  /** All rows in order, some at a time, as plain objects. */
  scan(table: Table, visit: (rows: readonly BenchRow[]) => void): Promise<void>;
  /** The rows whose count is below a number, in order. Only some databases are asked for that, as for the next. */
  filtered?(table: Table, below: number, visit: (rows: readonly BenchRow[]) => void): Promise<void>;
  /** Of all rows, in order, the key and the count. */
  column?(table: Table, visit: (rows: readonly Pick<BenchRow, "id" | "count">[]) => void): Promise<void>;
  /** Ends work that still runs in the background, so that the next measurement does not include it. */
  settle?(): Promise<void>;
}

/** The databases. The first two are ours. */
export const ENGINES = ["tabstore", "files", "idb", "dexie", "localforage", "sqlite", "pglite"] as const;
/** The name of one. */
export type EngineName = (typeof ENGINES)[number];

/** Loads a database's code, and WebAssembly if it has any. */
export async function load(name: EngineName): Promise<Engine> {
  const at = `/${name}.js`;
  const { start } = (await import(at)) as { start: () => Promise<Engine> };
  return start();
}
