/** Arguments of the entry `tabstore/azure` that nobody means. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { odata } from "../src/azure/index.js";
import { caught, settle, things } from "./support/azure.js";
import { skip } from "./support/package.js";

test("Z2: detached bytes are refused, as putRow does", { skip }, async () => {
  const [db, t] = await things();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const b = new Uint8Array([1, 2, 3]);
  structuredClone(b.buffer, { transfer: [b.buffer] });
  const put = await settle(db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { b } }));
  const mine = await settle(t.createEntity({ partitionKey: "p", rowKey: "r", b }));
  await db.close();
  assert.deepEqual([put, mine], ["OTSParameterInvalid", "OTSParameterInvalid"]);
});

test("Z2: a typed value that has no place in JSON is refused, and the message says what it has to be", { skip }, async () => {
  const [db, t] = await things();
  const { code, message } = await caught(t.createEntity({ partitionKey: "p", rowKey: "r", size: { type: "Double", value: [5] } as never }));
  await db.close();
  assert.deepEqual(
    [code, message],
    [
      "OTSParameterInvalid",
      "The argument 'entity.size.value' is an array; it must be a string, a number, a bigint, a boolean, a Date, a Uint8Array, null or { type, value }.",
    ],
  );
});

test("Z2: an etag of null is no wildcard", { skip }, async () => {
  const [db, t] = await things();
  await t.createEntity({ partitionKey: "p", rowKey: "r", v: 1 });
  const r = [
    await settle(t.updateEntity({ partitionKey: "p", rowKey: "r", v: 2 }, "Merge", { etag: null as never })),
    await settle(t.submitTransaction([["delete", { partitionKey: "p", rowKey: "r" }, { etag: null }]] as never)),
  ];
  await db.close();
  assert.deepEqual(r, ["OTSParameterInvalid", "OTSParameterInvalid"]);
});

test("Z2: actions with an etag that is ignored are refused", { skip }, async () => {
  const [db, t] = await things();
  const { etag } = await t.createEntity({ partitionKey: "p", rowKey: "r", v: 1 });
  await t.updateEntity({ partitionKey: "p", rowKey: "r", v: 2 });
  const r = [
    await settle(t.submitTransaction([["upsert", { partitionKey: "p", rowKey: "r", v: 3 }, "Replace", { etag }]] as never)),
    await settle(t.submitTransaction([["delete", { partitionKey: "p", rowKey: "r" }, undefined, { etag }]] as never)),
  ];
  await db.close();
  assert.deepEqual(r, ["OTSParameterInvalid", "OTSParameterInvalid"]);
});

test("Z3: odata takes a string or a date in quotes that are there already, and refuses any other value there", { skip }, () => {
  const [name, when] = ["O'Hara", new Date("2026-11-25T08:00:00Z")];
  assert.equal(odata`PartitionKey eq '${name}' and b eq ${name}`, "PartitionKey eq 'O''Hara' and b eq 'O''Hara'");
  assert.equal(
    odata`a gt datetime'${when}' and b eq '' and c eq ${when}`,
    "a gt datetime'2026-11-25T08:00:00.000Z' and b eq '' and c eq datetime'2026-11-25T08:00:00.000Z'",
  );
  assert.equal(odata`a eq 'it''s ${"'"}${""}' and b eq ${1}`, "a eq 'it''s ''' and b eq 1");
  for (const value of [1, true, null, new Date(NaN), { type: "Guid", value: "0f8fad5b-d9cb-469f-a165-70867728950e" }])
    assert.throws(() => odata`a eq '${value}'`, /inside of quotes: leave them out/);
});

test("Z3: odata refuses an invalid date by a TypeError", { skip }, () => {
  assert.throws(() => odata`a eq ${new Date(NaN)}`, TypeError);
});

test("Z1: a message keeps its lines", { skip }, async () => {
  const [db, t] = await things();
  const odd = await caught(t.createEntity({ partitionKey: "a\nRequestId:x", rowKey: "" }));
  await t.submitTransaction([["create", { partitionKey: "a", rowKey: "7" }]]);
  const action = await caught(t.submitTransaction([["create", { partitionKey: "a", rowKey: "7" }]]));
  const single = await caught(t.getEntity("p", "0"));
  await db.close();
  assert.equal(odd.message, "The 'PartitionKey' parameter of value 'a\nRequestId:x' is out of range.");
  assert.deepEqual([action.index, action.message, "index" in single], [0, "The specified entity already exists.", false]);
});

test("Z2, Z3: names that the service has for other things cannot be selected, and hide nothing", { skip }, async () => {
  const [db, t] = await things();
  await t.createEntity({ partitionKey: "p", rowKey: "r", big: 5n });
  const answers = [];
  for (const select of [["odata.etag"], ["big", "big@odata.type"]])
    answers.push(await settle(t.getEntity("p", "r", { select })), await settle(t.listPage({ select })));
  const odd = await t.getEntity("p", "r", { select: ["big", 'a"b\\', "\u0001", "__proto__", "\u{1F600}"] });
  await db.close();
  assert.deepEqual(answers, ["OTSParameterInvalid", "OTSParameterInvalid", "OTSParameterInvalid", "OTSParameterInvalid"]);
  assert.deepEqual(Object.entries(odd).slice(4), [
    ["big", 5n],
    ['a"b\\', null],
    ["\u0001", null],
    ["__proto__", null],
    ["\u{1F600}", null],
  ]);
});
