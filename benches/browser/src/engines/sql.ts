/** The tables and statements of SQLite, for each of its builds. */

import type { Table } from "../engine.js";

/** The number of keys of the statement `many`. */
export const MANY = 100;

const TABLES = ["bulk", "single", "indexed"] as const;
const COLUMNS = "id, name, city, note, score, count";

/** Makes what is missing. */
export const SCHEMA = [
  ...TABLES.map((table) => `CREATE TABLE IF NOT EXISTS ${table} (id INTEGER PRIMARY KEY, name TEXT, city TEXT, note TEXT, score REAL, count INTEGER)`),
  "CREATE INDEX IF NOT EXISTS place ON indexed (city, count)",
].join("; ");

export type Statements<S> = Record<"put" | "get" | "many" | "few" | "scan" | "filtered" | "column", S>;

/** The statements of each table. */
export function prepareAll<S>(prepare: (sql: string) => S): Record<Table, Statements<S>> {
  const of = (table: Table): Statements<S> => ({
    put: prepare(`INSERT OR REPLACE INTO ${table} (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`),
    get: prepare(`SELECT ${COLUMNS} FROM ${table} WHERE id = ?`),
    many: prepare(`SELECT ${COLUMNS} FROM ${table} WHERE id IN (${"?, ".repeat(MANY - 1)}?)`),
    few: prepare(`SELECT ${COLUMNS} FROM ${table} WHERE id >= ? ORDER BY id LIMIT ?`),
    scan: prepare(`SELECT ${COLUMNS} FROM ${table} ORDER BY id`),
    filtered: prepare(`SELECT ${COLUMNS} FROM ${table} WHERE count < ? ORDER BY id`),
    column: prepare(`SELECT id, count FROM ${table} ORDER BY id`),
  });
  return { bulk: of("bulk"), single: of("single"), indexed: of("indexed") };
}
