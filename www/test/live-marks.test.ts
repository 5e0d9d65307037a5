import assert from "node:assert/strict";
import { test } from "node:test";

import { type Change, open, type Row } from "tabstore";

import { changeLines } from "../src/lib/change-lines.ts";
import { marksOf, marksText, NO_MARKS } from "../src/lib/live-marks.ts";

const idOf = (row: Row) => String(row.primaryKey.id);

test("R5, W1: between two readings rows that came, changed and went are marked, by their columns", async () => {
  const db = await open("marks", { storage: "memory", integers: "bigint" });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] });
  const read = async () => (await db.getRange({ tableName: "t" })).rows;
  for (const id of ["a", "b", "c"]) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { n: 1, m: 1 } });
  const before = await read();
  assert.deepEqual(marksOf(before, await read(), idOf), NO_MARKS, "other objects, the same rows");
  await db.updateRow({ tableName: "t", primaryKey: { id: "a" }, put: { n: 2, k: true }, deleteColumns: ["m"] });
  await db.deleteRow({ tableName: "t", primaryKey: { id: "b" } });
  await db.putRow({ tableName: "t", primaryKey: { id: "d" } });
  const marks = marksOf(before, await read(), idOf);
  assert.deepEqual([...(marks.columns.get("a") ?? [])].sort(), ["k", "m", "n"]);
  assert.deepEqual([...marks.columns.keys()], ["a", "d"]);
  assert.equal(marksText(marks), "Just now: 1 changed, 1 came, 1 went");
  assert.equal(marksText(NO_MARKS), "");
  await db.close();
});

test("ST2, W1: a record tells each column before and after, and columns that went with the row", async () => {
  const db = await open("lines", { storage: "memory", integers: "bigint" });
  const stream = { enabled: true, expirationHours: 1, originColumns: ["n", "m"] } as const;
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }], stream });
  const primaryKey = { id: "a" };
  await db.putRow({ tableName: "t", primaryKey, attributes: { n: 1, m: "x" } });
  await db.updateRow({ tableName: "t", primaryKey, put: { n: 2 }, deleteColumns: ["m"] });
  await db.putRow({ tableName: "t", primaryKey, attributes: { other: true } });
  await db.deleteRow({ tableName: "t", primaryKey });
  const changes: Change[] = [];
  for await (const change of db.changes({ tableName: "t", once: true })) changes.push(change);
  const said = changes.map((change) => [
    change.type,
    ...changeLines(change)
      .map(({ name, op, before, after }) => `${name} ${op} ${before} ${after}`)
      .sort(),
  ]);
  assert.deepEqual(said, [
    ["PUT", "m PUT undefined x", "n PUT undefined 1"],
    ["UPDATE", "m DELETE_ALL x undefined", "n PUT 1 2"],
    ["PUT", "n DELETE_ALL 2 undefined", "other PUT undefined true"],
    ["DELETE"],
  ]);
  await db.close();
});
