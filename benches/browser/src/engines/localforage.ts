/** localForage: the simple key-value library on IndexedDB. It has no calls for many keys at once. */

import localforage from "localforage";
import type { BenchRow } from "../data.js";
import { type Engine, SCAN_PAGE, type Table } from "../engine.js";

/** Rows on their way in a bulk load: each is a transaction, and the more wait, the slower the browser gets. */
const AT_ONCE = 1000;

/** Keys are texts, and sort as such. */
const key = (id: number) => String(id).padStart(10, "0");

/** A store a table, in a database each: a second store in one database would cost the first an upgrade. */
export async function start(): Promise<Engine> {
  let name = "";
  let stores: Partial<Record<Table, LocalForage>> = {};
  const store = (table: Table) => (stores[table] ??= localforage.createInstance({ name: `${name}-${table}`, storeName: table, driver: localforage.INDEXEDDB }));
  return {
    async open(database) {
      name = database;
      stores = {};
      // The others are opened when they are used.
      await store("bulk").ready();
    },
    // It has no way to close a database.
    async close() {},
    async remove(database) {
      for (const table of ["bulk", "single", "indexed"]) await localforage.dropInstance({ name: `${database}-${table}` });
    },
    put: (table, row) => store(table).setItem(key(row.id), row),
    async bulk(table, rows) {
      const to = store(table);
      for (let from = 0; from < rows.length; from += AT_ONCE) await Promise.all(rows.slice(from, from + AT_ONCE).map((row) => to.setItem(key(row.id), row)));
    },
    async get(table, id) {
      return (await store(table).getItem<BenchRow>(key(id))) ?? undefined;
    },
    getMany(table, ids) {
      const from = store(table);
      return Promise.all(ids.map((id) => from.getItem(key(id)) as Promise<BenchRow>));
    },
    async scan(table, visit) {
      let rows: BenchRow[] = [];
      await store(table).iterate<BenchRow, void>((row) => {
        rows.push(row);
        if (rows.length < SCAN_PAGE) return;
        visit(rows);
        rows = [];
      });
      visit(rows);
    },
  };
}
