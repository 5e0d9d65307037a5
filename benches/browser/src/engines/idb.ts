/** idb: IndexedDB with promises, as in a careful application without a database library. */

import { deleteDB, type IDBPDatabase, openDB } from "idb";
import type { BenchRow } from "../data.js";
import { type Engine, SCAN_PAGE } from "../engine.js";

/** One object store a table, rows as objects, keys in them. */
export async function start(): Promise<Engine> {
  let db: IDBPDatabase;
  let options: IDBTransactionOptions = { durability: "relaxed" };
  const engine: Engine = {
    async open(name, { strict = false } = {}) {
      options = { durability: strict ? "strict" : "relaxed" };
      db = await openDB(name, 1, {
        upgrade(fresh) {
          for (const table of ["bulk", "single", "indexed"]) {
            const store = fresh.createObjectStore(table, { keyPath: "id" });
            if (table === "indexed") store.createIndex("place", ["city", "count"]);
          }
        },
      });
    },
    async close() {
      db.close();
    },
    remove: (name) => deleteDB(name),
    async put(table, row) {
      // The same as `db.put`, with explicit durability.
      const transaction = db.transaction(table, "readwrite", options);
      await Promise.all([transaction.store.put(row), transaction.done]);
    },
    async bulk(table, rows) {
      const transaction = db.transaction(table, "readwrite", options);
      for (const row of rows) void transaction.store.put(row);
      await transaction.done;
    },
    get: (table, id) => db.get(table, id) as Promise<BenchRow | undefined>,
    async getMany(table, ids) {
      const { store } = db.transaction(table);
      return Promise.all(ids.map((id) => store.get(id) as Promise<BenchRow>));
    },
    few: (table, from, count) => db.getAll(table, IDBKeyRange.lowerBound(from), count) as Promise<BenchRow[]>,
    async scan(table, visit) {
      for (let range: IDBKeyRange | null = null; ; ) {
        const rows = (await db.getAll(table, range, SCAN_PAGE)) as BenchRow[];
        visit(rows);
        if (rows.length < SCAN_PAGE) return;
        range = IDBKeyRange.lowerBound(rows[rows.length - 1].id, true);
      }
    },
    // There is no other way without an index.
    filtered(table, below, visit) {
      return engine.scan(table, (rows) => visit(rows.filter(({ count }) => count < below)));
    },
    column(table, visit) {
      return engine.scan(table, (rows) => visit(rows.map(({ id, count }) => ({ id, count }))));
    },
  };
  return engine;
}
