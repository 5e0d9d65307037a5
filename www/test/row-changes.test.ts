import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Database, double, open, type Row, type TabStoreError } from "tabstore";

import { columnsOf, conditionOf, isAsRead, rowDifferences } from "../src/lib/row-changes.ts";

let db: Database;
const tableName = "books";
const primaryKey = { id: "a" };

before(async () => {
  db = await open("changes", { storage: "memory", integers: "bigint" });
  await db.createTable({ tableName, primaryKey: [{ name: "id", type: "STRING" }], maxVersions: 2 });
});
after(() => db.close());

const read = async () => (await db.getRow({ tableName, primaryKey, maxVersions: 2 })).row as Row;
const put = async (attributes: Parameters<Database["putRow"]>[0]["attributes"]) => {
  await db.putRow({ tableName, primaryKey, attributes });
  return read();
};

/** Whether a write with the condition that the row is as it was read goes through. */
async function goesThrough(was: Row, names?: readonly string[]): Promise<boolean> {
  try {
    await db.updateRow({ tableName, primaryKey, put: { touched: true }, condition: conditionOf(was, names) });
    return true;
  } catch (error) {
    assert.equal((error as TabStoreError).code, "OTSConditionCheckFail");
    return false;
  }
}

test("W1, R6: a row is as it was read if all its cells are there, with the same values and versions, and no others", async () => {
  const was = await put({ n: 1n, d: double(1), text: "", bytes: new Uint8Array([1, 2]), yes: true });
  assert.ok(isAsRead(was, await read()));
  assert.ok(!isAsRead(was, null));
  await db.updateRow({ tableName, primaryKey, put: { more: 1n } });
  assert.ok(!isAsRead(was, await read()), "a column has come");
  assert.ok(isAsRead(was, await read(), ["n", "d", "text", "bytes", "yes"]), "these columns are as they were");
  await db.updateRow({ tableName, primaryKey, put: { n: 1n } });
  assert.ok(!isAsRead(was, await read(), ["n"]), "the same value, written once more");
  await db.updateRow({ tableName, primaryKey, deleteColumns: ["yes"] });
  assert.ok(!isAsRead(was, await read(), ["yes"]), "a column has gone");
});

test("W1, R6: what is stored stands beside what is wanted, and what was changed elsewhere is told", async () => {
  const was = await put({ kept: "a", changed: 1n, gone: "b" });
  await db.updateRow({ tableName, primaryKey, put: { changed: 2n, come: true }, deleteColumns: ["gone"] });
  const wanted = columnsOf(was).filter(({ name }) => name !== "kept");
  assert.deepEqual(
    rowDifferences(was, await read(), wanted).map(({ name, now, wanted: then, changed }) => [name, now?.text, then?.text, changed]),
    [
      ["changed", "2", "1", true],
      ["come", "true", undefined, true],
      ["gone", undefined, "b", true],
      ["kept", "a", undefined, false],
    ],
  );
  assert.equal(columnsOf(await read()).find(({ name }) => name === "changed")?.cells.length, 2);
  assert.deepEqual(
    rowDifferences(was, null, []).map(({ name, changed }) => [name, changed]),
    [
      ["changed", true],
      ["gone", true],
      ["kept", true],
    ],
  );
});

test("W1, R6: the condition of the write holds for the row as it was read, of any type, and for no other", async () => {
  const was = await put({ n: -5n, d: double(3), text: "Träume", bytes: new Uint8Array([0, 255]), yes: false, long: "x".repeat(5000) });
  assert.ok(await goesThrough(was), "nothing has changed");
  for (const change of [{ n: -6n }, { d: 3n }, { text: "" }, { bytes: new Uint8Array([0]) }, { yes: true }]) {
    const again = await put({ n: -5n, d: double(3), text: "Träume", bytes: new Uint8Array([0, 255]), yes: false });
    await db.updateRow({ tableName, primaryKey, put: change as Record<string, bigint> });
    assert.ok(!(await goesThrough(again)), Object.keys(change).join());
    assert.ok(!(await goesThrough(again, Object.keys(change))));
    assert.ok(
      await goesThrough(
        again,
        Object.keys(again.columns).filter((name) => !(name in change)),
      ),
    );
  }
  const last = await put({ n: 1n });
  await db.updateRow({ tableName, primaryKey, deleteColumns: ["n"], put: { other: 1n } });
  assert.ok(!(await goesThrough(last)), "a column has gone");
  assert.ok(await goesThrough(await put({ n: 1n }), ["come"]));
  const without = await put({ n: 1n });
  await db.updateRow({ tableName, primaryKey, put: { come: 1n } });
  assert.ok(!(await goesThrough(without, ["come"])), "a column has come");
  const empty = await put({});
  assert.ok(await goesThrough(empty));
  await db.deleteRow({ tableName, primaryKey });
  assert.ok(!(await goesThrough(empty)), "the row has gone");
  // A condition has room for 31 comparisons.
  const wide = await put(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`c${i}`, BigInt(i)])));
  assert.ok(await goesThrough(wide));
});
