/** The sandbox of the time machine: rows of a table with all their stored versions, in memory, with a clock of its own. */

import { type Database, double, open, type PrimaryKey, type Row, type StoredVersion, type TableDescription, type Value } from "tabstore";

/** The most rows that are copied. */
export const MOST_ROWS = 50;
/** The table in the sandbox. */
const TABLE = "copy";
/** The most that an offset can be, in seconds: it reaches back to 1970. */
const WIDEST = 4_000_000_000;
const MANY = 1_000_000;

/** A row of the sandbox. */
export interface CopiedRow {
  readonly primaryKey: PrimaryKey;
}

/** The options that can be moved. */
export interface Moved {
  readonly clock: number;
  /** Seconds; -1: never. */
  readonly timeToLive: number;
  readonly maxVersions: number;
  /** Seconds that a given version may lie from the clock. */
  readonly maxVersionOffset: number;
}

/** A sandbox. */
export interface Sandbox {
  readonly db: Database;
  readonly rows: readonly CopiedRow[];
  /** Whether the table has more. */
  readonly hasMore: boolean;
  /** What they were at the copy. */
  readonly begun: Moved;
}

const written = (value: Value) => (typeof value === "number" ? double(value) : value);

async function copyRow(from: Database, tableName: string, to: Database, { primaryKey }: Row): Promise<void> {
  const { versions } = await from.getStoredRow({ tableName, primaryKey });
  const attributes = Object.fromEntries(
    Object.entries(versions).map(([name, all]) => [name, all.map(({ value, version }) => ({ value: written(value), version }))]),
  );
  await to.putRow({ tableName: TABLE, primaryKey, attributes });
}

/** Copies the first rows of a table. The engine of the table is only read. */
export async function copyTable(from: Database, table: TableDescription): Promise<Sandbox> {
  const { now } = await from.metrics();
  const { tableName, timeToLive, maxVersions, maxVersionOffset } = table;
  const db = await open("time-machine", { storage: "memory", integers: "bigint", clock: { now } });
  try {
    await db.createTable({
      tableName: TABLE,
      primaryKey: table.primaryKey.map(({ name, type }) => ({ name, type })),
      timeToLive: -1,
      maxVersions: MANY,
      maxVersionOffset: WIDEST,
    });
    const { rows, nextStartPrimaryKey } = await from.getRange({ tableName, limit: MOST_ROWS });
    for (const row of rows) await copyRow(from, tableName, db, row);
    await db.updateTable({ tableName: TABLE, timeToLive, maxVersions, maxVersionOffset });
    return { db, rows, hasMore: nextStartPrimaryKey !== null, begun: { clock: now, timeToLive, maxVersions, maxVersionOffset } };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** Moves clock and options, and gives what is stored of a row then. */
export async function move({ db }: Sandbox, { primaryKey }: CopiedRow, moved: Moved): Promise<Readonly<Record<string, readonly StoredVersion[]>>> {
  const { clock, ...options } = moved;
  await db.setClock(clock);
  await db.updateTable({ tableName: TABLE, ...options });
  return (await db.getStoredRow({ tableName: TABLE, primaryKey })).versions;
}

/** Puts a text into a row, with a version that the person gives. Fails as the store does. */
export async function tryVersion({ db }: Sandbox, { primaryKey }: CopiedRow, column: string, version: number): Promise<void> {
  await db.updateRow({ tableName: TABLE, primaryKey, put: { [column]: [{ value: "tried", version: BigInt(version) }] } });
}
