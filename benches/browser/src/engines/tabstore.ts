/** This package. */

import { col, type Database, deleteInstance, open, type OpenOptions } from "tabstore";
import type { BenchRow } from "../data.js";
import type { Engine, Table } from "../engine.js";

/** The interface on a database whose engine runs here, or in a worker of its own; in IndexedDB unless told. */
export function tabstore(worker: boolean, place: OpenOptions = { storage: "indexeddb" }): Engine & { database(): Database } {
  let db: Database;
  return {
    database: () => db,
    async open(name, { cacheBytes, strict = false } = {}) {
      const more = cacheBytes === undefined ? {} : { cacheBytes };
      db = await open(name, { worker, ...place, durability: strict ? "strict" : "relaxed", ...more });
      if ((await db.listTable()).length === 0) {
        for (const tableName of ["bulk", "single"]) await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }] });
        await db.createTable({
          tableName: "indexed",
          primaryKey: [
            { name: "city", type: "STRING" },
            { name: "id", type: "INTEGER" },
          ],
          definedColumns: [{ name: "count", type: "INTEGER" }],
          indexes: [{ indexName: "place", type: "LOCAL", primaryKey: ["city", "count"], columns: [] }],
        });
      }
    },
    close: () => db.close(),
    remove: (name) => deleteInstance(name, place.storage === "files" ? { storage: "files" } : {}),
    put: (tableName, { id, name, city, note, score, count }) =>
      tableName === "indexed"
        ? db.putRow({ tableName, primaryKey: { city, id }, attributes: { name, note, score, count } })
        : db.putRow({ tableName, primaryKey: { id }, attributes: { name, city, note, score, count } }),
    async bulk(tableName, rows) {
      const writer = db.writer(tableName);
      for (const { id, name, city, note, score, count } of rows) {
        const wait = writer.put({ primaryKey: { id }, attributes: { name, city, note, score, count } });
        if (wait) await wait;
      }
      await writer.close();
    },
    async get(tableName, id) {
      const { row } = await db.getRow({ tableName, primaryKey: { id } });
      return row?.toObject() as BenchRow | undefined;
    },
    async getMany(tableName, ids) {
      const [found] = await db.batchGetRow([{ tableName, primaryKeys: ids.map((id) => ({ id })) }]);
      return found.map(({ row }) => row!.toObject() as unknown as BenchRow);
    },
    async few(tableName, from, limit) {
      const { rows } = await db.getRange({ tableName, start: { id: from }, limit });
      return rows.map((row) => row.toObject() as unknown as BenchRow);
    },
    async scan(tableName: Table, visit) {
      for await (const rows of db.scanPages({ tableName })) visit(rows.map((row) => row.toObject() as unknown as BenchRow));
    },
    async filtered(tableName: Table, below, visit) {
      for await (const rows of db.scanPages({ tableName, filter: col("count").lt(below) })) visit(rows.map((row) => row.toObject() as unknown as BenchRow));
    },
    async column(tableName: Table, visit) {
      for await (const rows of db.scanPages({ tableName, columnsToGet: ["count"] })) visit(rows.map((row) => row.toObject() as unknown as BenchRow));
    },
    settle: () => db.flush(),
  };
}

/** Loads nothing more: opening does. */
export async function start(): Promise<Engine> {
  return tabstore(false);
}
