/** Dexie: the usual library on IndexedDB. */

import { Dexie } from "dexie";
import type { BenchRow } from "../data.js";
import { type Engine, SCAN_PAGE } from "../engine.js";

/** Its tables are object stores; relaxed durability as with the others. */
export async function start(): Promise<Engine> {
  let db: Dexie;
  return {
    async open(name) {
      db = new Dexie(name, { chromeTransactionDurability: "relaxed" });
      db.version(1).stores({ bulk: "id", single: "id", indexed: "id, [city+count]" });
      await db.open();
    },
    async close() {
      db.close();
    },
    remove: (name) => Dexie.delete(name),
    put: (table, row) => db.table(table).put(row) as Promise<unknown>,
    async bulk(table, rows) {
      await db.table(table).bulkPut(rows as BenchRow[]);
    },
    get: (table, id) => db.table(table).get(id) as Promise<BenchRow | undefined>,
    getMany: (table, ids) => db.table(table).bulkGet(ids as number[]) as Promise<BenchRow[]>,
    async scan(table, visit) {
      for (let last = -Infinity; ; ) {
        const rows = (await db.table(table).where(":id").above(last).limit(SCAN_PAGE).toArray()) as BenchRow[];
        visit(rows);
        if (rows.length < SCAN_PAGE) return;
        last = rows[rows.length - 1].id;
      }
    },
  };
}
