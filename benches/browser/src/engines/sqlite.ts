/** SQLite compiled to WebAssembly, on OPFS by its pool of access handles: its fastest storage. */

import sqlite3InitModule, { type OpfsSAHPoolDatabase, type PreparedStatement, type SAHPoolUtil } from "@sqlite.org/sqlite-wasm";
import type { BenchRow } from "../data.js";
import { type Engine, SCAN_PAGE, type Table } from "../engine.js";
import { MANY, prepareAll, SCHEMA, type Statements } from "./sql.js";

/** WAL, which the pool allows under an exclusive lock, `synchronous=normal`, and prepared statements throughout. */
export async function start(): Promise<Engine> {
  const sqlite3 = await sqlite3InitModule();
  const pool: SAHPoolUtil = await sqlite3.installOpfsSAHPoolVfs({ name: "bench" });
  let db: OpfsSAHPoolDatabase;
  let of: Record<Table, Statements<PreparedStatement>>;

  const each = (run: (statement: PreparedStatement) => void) => {
    for (const statements of Object.values(of)) for (const statement of Object.values(statements)) run(statement);
  };
  const put = (table: Table, { id, name, city, note, score, count }: BenchRow) => {
    of[table].put.bind([id, name, city, note, score, count]).stepReset();
  };
  // An array is filled faster than an object whose properties are asked for by name.
  const values: unknown[] = [];
  const current = (statement: PreparedStatement): BenchRow => {
    statement.get(values as never);
    const [id, name, city, note, score, count] = values;
    return { id, name, city, note, score, count } as BenchRow;
  };
  const all = (statement: PreparedStatement): BenchRow[] => {
    const rows: BenchRow[] = [];
    while (statement.step()) rows.push(current(statement));
    statement.reset();
    return rows;
  };

  return {
    async open(name, { cacheBytes, strict = false } = {}) {
      db = new pool.OpfsSAHPoolDb(`/${name}`);
      db.exec("PRAGMA locking_mode=exclusive; PRAGMA journal_mode=wal; PRAGMA synchronous=normal");
      if (cacheBytes !== undefined) db.exec(`PRAGMA cache_size=-${cacheBytes >> 10}`);
      const mode = db.selectValue("PRAGMA journal_mode");
      if (mode !== "wal") throw new Error(`SQLite is in journal mode ${String(mode)}, not in wal`);
      // 1 is NORMAL.
      if (db.selectValue("PRAGMA synchronous") !== 1) throw new Error("SQLite is not in synchronous=normal");
      // It flushes its log after each transaction then.
      if (strict) db.exec("PRAGMA synchronous=full");
      db.exec(SCHEMA);
      of = prepareAll((sql) => db.prepare(sql));
    },
    async close() {
      each((statement) => void statement.finalize());
      db.close();
    },
    async remove(name) {
      pool.unlink(`/${name}`);
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
      const { get } = of[table];
      get.bind(1, id);
      const row = get.step() ? current(get) : undefined;
      get.reset();
      return row;
    },
    async getMany(table, ids) {
      if (ids.length !== MANY) throw new Error(`the statement is prepared for ${MANY} keys`);
      return all(of[table].many.bind(ids as number[]));
    },
    async few(table, from, count) {
      return all(of[table].few.bind([from, count]));
    },
    async scan(table, visit) {
      const { scan } = of[table];
      let rows: BenchRow[] = [];
      while (scan.step()) {
        rows.push(current(scan));
        if (rows.length === SCAN_PAGE) {
          visit(rows);
          rows = [];
        }
      }
      visit(rows);
      scan.reset();
    },
    async filtered(table, below, visit) {
      visit(all(of[table].filtered.bind(1, below)));
    },
    async column(table, visit) {
      const { column } = of[table];
      const rows: Pick<BenchRow, "id" | "count">[] = [];
      while (column.step()) {
        column.get(values as never);
        rows.push({ id: values[0] as number, count: values[1] as number });
      }
      column.reset();
      visit(rows);
    },
  };
}
