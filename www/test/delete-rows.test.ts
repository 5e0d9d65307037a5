import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Database, open, type Row } from "tabstore";

import { deleteRows } from "../src/browse/delete-rows.ts";

let db: Database;
const table = { tableName: "t" };

before(async () => {
  db = await open("deletions", { storage: "memory", integers: "bigint" });
  await db.createTable({ ...table, primaryKey: [{ name: "id", type: "INTEGER" }] });
});
after(() => db.close());

async function fill(count: number): Promise<readonly Row[]> {
  for (let id = 0; id < count; id++) await db.putRow({ ...table, primaryKey: { id }, attributes: { n: id } });
  return (await db.getRange(table)).rows;
}
const count = async () => (await db.count(table)).count;

test("R2, W1: chosen rows are deleted a hundred at a time, and the units are told", async () => {
  const rows = await fill(230);
  assert.deepEqual(await deleteRows(db, table, rows), { deleted: 230, changed: [], failed: [], consumed: { read: 230, write: 230 } });
  assert.equal(await count(), 0);
});

test("R6, W1: of chosen rows those that were changed meanwhile stay, and come back as they are now", async () => {
  const rows = await fill(4);
  await db.updateRow({ ...table, primaryKey: { id: 1 }, put: { n: 7 } });
  await db.updateRow({ ...table, primaryKey: { id: 2 }, put: { more: true } });
  await db.deleteRow({ ...table, primaryKey: { id: 3 } });
  const { deleted, changed, failed } = await deleteRows(db, table, rows);
  assert.deepEqual(
    [deleted, failed, changed.map((row) => row.toObject())],
    [
      2,
      [],
      [
        { id: 1n, n: 7n },
        { id: 2n, n: 2n, more: true },
      ],
    ],
  );
  // As they are now they can be deleted.
  assert.equal((await deleteRows(db, table, changed)).deleted, 2);
  assert.equal(await count(), 0);
});

test("R6, W1: a row that is changed between the look and the deletion stays too", async () => {
  const rows = await fill(2);
  const late: Pick<Database, "batchGetRow" | "batchWriteRow"> = {
    batchGetRow: async (...asked) => {
      const looked = await db.batchGetRow(...asked);
      await db.updateRow({ ...table, primaryKey: { id: 0 }, put: { n: 9 } });
      return looked;
    },
    batchWriteRow: (...asked) => db.batchWriteRow(...asked),
  };
  const { deleted, changed } = await deleteRows(late, table, rows);
  assert.deepEqual([deleted, changed.length, await count()], [1, 1, 1]);
});
