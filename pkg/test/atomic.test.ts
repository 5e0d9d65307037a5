/** Steps over several tables: `db.atomic` stores all rows or none. On the real engine. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { col, type Database, type TabStoreError } from "../src/index.js";
import { open, skip } from "./support/package.js";

const rejection = (call: Promise<unknown>): Promise<TabStoreError> =>
  call.then(
    () => assert.fail("it resolved"),
    (error: TabStoreError) => error,
  );

/** A database with the tables `order`, with an index, and `item`, where 7 has one left. */
async function shop(): Promise<Database> {
  const db = await open();
  await db.createTable({
    tableName: "order",
    primaryKey: [{ name: "id", type: "STRING" }],
    definedColumns: [{ name: "customer", type: "STRING" }],
    indexes: [{ indexName: "order_by_customer", primaryKey: ["customer"] }],
  });
  await db.createTable({ tableName: "item", primaryKey: [{ name: "id", type: "INTEGER" }], enableLocalTransaction: true });
  await db.putRow({ tableName: "item", primaryKey: { id: 7 }, attributes: { stock: 1 } });
  return db;
}

const buy = (db: Database, id: string): Promise<unknown> =>
  db.atomic([
    { tableName: "order", put: { primaryKey: { id }, attributes: { customer: "ann" }, condition: { rowExistence: "EXPECT_NOT_EXIST" } } },
    {
      tableName: "item",
      update: {
        primaryKey: { id: 7 },
        increment: { stock: -1 },
        condition: { rowExistence: "EXPECT_EXIST", column: col("stock").gt(0, { passIfMissing: false }) },
      },
    },
  ]);

const stored = async (db: Database): Promise<unknown[]> => [
  (await db.count({ tableName: "order" })).count,
  (await db.count({ tableName: "order_by_customer" })).count,
  (await db.getRow({ tableName: "item", primaryKey: { id: 7 } })).row?.get("stock"),
];

test("R4: a step over two tables is stored wholly, or refused with the row's error and nothing stored", { skip }, async () => {
  const db = await shop();
  const results = (await buy(db, "1")) as { ok: boolean; consumed: unknown }[];
  assert.equal(results.length, 2);
  assert.deepEqual(await stored(db), [1, 1, 0]);
  const sold = await rejection(buy(db, "2"));
  assert.equal(sold.code, "OTSConditionCheckFail");
  assert.match(sold.message, /^Row 1 of the atomic batch failed: /);
  const twice = await rejection(buy(db, "1"));
  assert.equal(twice.code, "OTSConditionCheckFail");
  assert.deepEqual(await stored(db), [1, 1, 0]);
  await db.close();
});

test("R5: of callers that buy the last piece at once, one has it", { skip }, async () => {
  const db = await shop();
  const all = await Promise.allSettled(Array.from({ length: 50 }, (_, i) => buy(db, String(i))));
  assert.equal(all.filter(({ status }) => status === "fulfilled").length, 1);
  assert.deepEqual(await stored(db), [1, 1, 0]);
  await db.close();
});

test("R7: a step waits for a transaction that holds one of its rows, wherever in it the row is", { skip }, async () => {
  const db = await shop();
  const tx = await db.startLocalTransaction({ tableName: "item", partitionKey: { id: 7 } });
  await tx.updateRow({ tableName: "item", primaryKey: { id: 7 }, put: { stock: 5 } });
  const bought = buy(db, "1");
  assert.equal((await db.count({ tableName: "order" })).count, 0);
  await tx.commit();
  await bought;
  assert.deepEqual(await stored(db), [1, 1, 4]);
  await db.close();
});

test("a live query is told once of a step that changes two of its rows", { skip }, async () => {
  const db = await shop();
  const seen: string[] = [];
  for await (const { rows } of db.watch({ tableName: "order" })) {
    seen.push(rows.map(({ primaryKey }) => String(primaryKey.id)).join());
    if (rows.length > 0) break;
    await db.atomic(["a", "b"].map((id) => ({ tableName: "order", put: { primaryKey: { id } } })));
  }
  assert.deepEqual(seen, ["", "a,b"]);
  await db.close();
});

test("what is no list of rows is refused by name, and so are options that a step has not", { skip }, async () => {
  const db = await shop();
  assert.equal((await rejection(db.atomic([]))).code, "OTSParameterInvalid");
  for (const wrong of [
    [undefined, undefined],
    [[{ tableName: "item" }], undefined],
    [[{ tableName: "item", delete: { primaryKey: { id: 1 } } }], { atomic: true }],
  ]) {
    const error = await rejection((db.atomic as (...given: unknown[]) => Promise<unknown>)(...wrong));
    assert.equal(error.code, "OTSParameterInvalid", error.message);
  }
  assert.deepEqual(await stored(db), [0, 0, 1]);
  await db.close();
});
