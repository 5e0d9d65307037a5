/** SQLite in the process, on files, through the module that Node brings. */

import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";

import { DatabaseSync, type StatementSync } from "node:sqlite";

import type { BenchRow } from "../../browser/src/data.js";
import { type Engine, SCAN_PAGE, type Table } from "../../browser/src/engine.js";
import { MANY, prepareAll, SCHEMA, type Statements } from "../../browser/src/engines/sql.js";

/** WAL, `synchronous=normal`, and prepared statements throughout. */
export function sqlite(folder: string): Engine {
  let db: DatabaseSync;
  let of: Record<Table, Statements<StatementSync>>;
  const fileOf = (name: string) => path.join(folder, `${name}.sqlite`);
  const put = (table: Table, { id, name, city, note, score, count }: BenchRow) => of[table].put.run(id, name, city, note, score, count);

  return {
    async open(name, { cacheBytes, strict = false } = {}) {
      mkdirSync(folder, { recursive: true });
      db = new DatabaseSync(fileOf(name));
      db.exec("PRAGMA journal_mode = wal");
      // Full: it flushes its log after each transaction.
      db.exec(`PRAGMA synchronous = ${strict ? "full" : "normal"}`);
      if (cacheBytes !== undefined) db.exec(`PRAGMA cache_size = -${cacheBytes >> 10}`);
      db.exec(SCHEMA);
      of = prepareAll((sql) => db.prepare(sql));
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
