/** The option `salvage` and the missing rows, as far as memory shows it. Damaged records of IndexedDB: tests/e2e. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { code, load, open, skip } from "./support/package.js";

test("Q: nothing is missing in an instance that was opened as ever", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
  assert.deepEqual(await db.missing(), []);
  await db.close();
  await assert.rejects(db.missing(), code("Closed"));
});

test("Q: salvage makes no instance, and is true or false", { skip }, async () => {
  const { open } = await load();
  for (const create of [true, false, undefined]) {
    await assert.rejects(open("demo", { storage: "memory", salvage: true, create }), code("OTSObjectNotExist"));
  }
  await assert.rejects(open("demo", { storage: "memory", salvage: "yes" as unknown as boolean }), /'salvage' is a string; it must be true or false/);
  const db = await open("demo", { storage: "memory", salvage: false });
  assert.deepEqual(await db.listTable(), []);
  await db.close();
});
