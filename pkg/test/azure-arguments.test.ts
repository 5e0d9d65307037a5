/** Arguments of the entry `tabstore/azure` that nobody means. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { azure, odata } from "../src/azure/index.js";
import { open, skip } from "./support/package.js";
type Any = Record<string, any>;
const settle = (work: Promise<unknown>) => work.then(() => "ok", (e: any) => e.code ?? `${e.name}: ${e.message}`);

test("Z2: detached bytes are refused, as putRow does", { skip }, async () => {
  const db = await open();
  const t = await azure(db, "demo").createTable<Any>("things");
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const b = new Uint8Array([1, 2, 3]); structuredClone(b.buffer, { transfer: [b.buffer] });
  const put = await settle(db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { b } }));
  const mine = await settle(t.createEntity({ partitionKey: "p", rowKey: "r", b }));
  await db.close();
  assert.deepEqual([put, mine], ["OTSParameterInvalid", "OTSParameterInvalid"]);
});
test("Z2: an etag of null is no wildcard", { skip }, async () => {
  const db = await open();
  const t = await azure(db, "demo").createTable<Any>("things");
  await t.createEntity({ partitionKey: "p", rowKey: "r", v: 1 });
  const r = [await settle(t.updateEntity({ partitionKey: "p", rowKey: "r", v: 2 }, "Merge", { etag: null as never })), await settle(t.submitTransaction([["delete", { partitionKey: "p", rowKey: "r" }, { etag: null }]] as never))];
  await db.close();
  assert.deepEqual(r, ["OTSParameterInvalid", "OTSParameterInvalid"]);
});
test("Z2: actions with an etag that is ignored are refused", { skip }, async () => {
  const db = await open();
  const t = await azure(db, "demo").createTable<Any>("things");
  const { etag } = await t.createEntity({ partitionKey: "p", rowKey: "r", v: 1 });
  await t.updateEntity({ partitionKey: "p", rowKey: "r", v: 2 });
  const r = [await settle(t.submitTransaction([["upsert", { partitionKey: "p", rowKey: "r", v: 3 }, "Replace", { etag }]] as never)), await settle(t.submitTransaction([["delete", { partitionKey: "p", rowKey: "r" }, undefined, { etag }]] as never))];
  await db.close();
  assert.deepEqual(r, ["OTSParameterInvalid", "OTSParameterInvalid"]);
});
test("Z3: odata refuses an invalid date by a TypeError", { skip }, () => {
  assert.throws(() => odata`a eq ${new Date(NaN)}`, TypeError);
});
test("Z1: a message keeps its lines", { skip }, async () => {
  const db = await open();
  const t = await azure(db, "demo").createTable<Any>("things");
  const e: any = await t.createEntity({ partitionKey: "a\nRequestId:x", rowKey: "" }).catch((e: unknown) => e);
  const f: any = await t.submitTransaction([["create", { partitionKey: "a", rowKey: "7" }]]).then(() => t.submitTransaction([["create", { partitionKey: "a", rowKey: "7" }]])).catch((e: unknown) => e);
  const g: any = await t.getEntity("p", "0").catch((e: unknown) => e);
  await db.close();
  console.log(JSON.stringify(e.message), f.index, f.message, "index" in g);
});
