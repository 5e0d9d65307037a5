/** SQLite in the process, on files, through the module that Node brings. */

import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";

import { DatabaseSync, type StatementSync } from "node:sqlite";

import type { BenchRow } from "../../browser/src/data.js";
import { type Engine, SCAN_PAGE, type Table } from "../../browser/src/engine.js";

const MANY = 100;
const TABLES = ["bulk", "single", "indexed"] as const;
const COLUMNS = "id, name, city, note, score, count";

type Statements = Record<"put" | "get" | "many" | "scan" | "filtered" | "column", StatementSync>;

/** WAL, `synchronous=normal`, and prepared statements throughout. */
export function sqlite(folder: string): Engine {
  let db: DatabaseSync;
  let of: Record<Table, Statements>;
  const fileOf = (name: string) => path.join(folder, `${name}.sqlite`);
  const prepare = (table: Table): Statements => ({
    put: db.prepare(`INSERT OR REPLACE INTO ${table} (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)`),
    get: db.prepare(`SELECT ${COLUMNS} FROM ${table} WHERE id = ?`),
    many: db.prepare(`SELECT ${COLUMNS} FROM ${table} WHERE id IN (${"?, ".repeat(MANY - 1)}?)`),
    scan: db.prepare(`SELECT ${COLUMNS} FROM ${table} ORDER BY id`),
    filtered: db.prepare(`SELECT ${COLUMNS} FROM ${table} WHERE count < ? ORDER BY id`),
    column: db.prepare(`SELECT id, count FROM ${table} ORDER BY id`),
  });
  const put = (table: Table, { id, name, city, note, score, count }: BenchRow) => of[table].put.run(id, name, city, note, score, count);

  return {
    async open(name, { cacheBytes, strict = false } = {}) {
      mkdirSync(folder, { recursive: true });
      db = new DatabaseSync(fileOf(name));
      db.exec("PRAGMA journal_mode = wal");
      // Full: it flushes its log after each transaction.
      db.exec(`PRAGMA synchronous = ${strict ? "full" : "normal"}`);
      if (cacheBytes !== undefined) db.exec(`PRAGMA cache_size = -${cacheBytes >> 10}`);
      for (const table of TABLES) db.exec(`CREATE TABLE IF NOT EXISTS ${table} (id INTEGER PRIMARY KEY, name TEXT, city TEXT, note TEXT, score REAL, count INTEGER)`);
      db.exec("CREATE INDEX IF NOT EXISTS place ON indexed (city, count)");
      of = { bulk: prepare("bulk"), single: prepare("single"), indexed: prepare("indexed") };
    },
    async close() {
      db.close();
    },
    async remove(name) {
      for (const end of ["", "-wal", "-shm"]) rmSync(fileOf(name) + end, { force: true });
    },
    async put(table, row) {
      put(table, row);
    },
    async bulk(table, rows) {
      db.exec("BEGIN");
      for (const row of rows) put(table, row);
      db.exec("COMMIT");
    },
    async get(table, id) {
      return of[table].get.get(id) as BenchRow | undefined;
    },
    async getMany(table, ids) {
      if (ids.length !== MANY) throw new Error(`the statement is prepared for ${MANY} keys`);
      return of[table].many.all(...ids) as unknown as BenchRow[];
    },
    async scan(table, visit) {
      let rows: BenchRow[] = [];
      for (const row of of[table].scan.iterate() as Iterable<unknown> as Iterable<BenchRow>) {
        rows.push(row);
        if (rows.length === SCAN_PAGE) {
          visit(rows);
          rows = [];
        }
      }
      visit(rows);
    },
    async filtered(table, below, visit) {
      visit(of[table].filtered.all(below) as unknown as BenchRow[]);
    },
    async column(table, visit) {
      visit(of[table].column.all() as unknown as BenchRow[]);
    },
  };
}
