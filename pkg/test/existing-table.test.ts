/** Tables that are made unless they are there. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { CreateTableRequest } from "../src/index.js";
import { code, open, skip } from "./support/package.js";

const ORDER: CreateTableRequest = {
  tableName: "order", primaryKey: [{ name: "id", type: "STRING" }, { name: "n", type: "INTEGER" }], maxVersions: 1,
  definedColumns: [{ name: "total", type: "INTEGER" }], indexes: [{ indexName: "by_total", primaryKey: ["total"] }],
};

test("createTable with ifNotExists: true makes a table once, also when it is asked for several times at once", { skip }, async () => {
  const db = await open();
  await Promise.all([1, 2, 3].map(() => db.createTable({ ...ORDER, ifNotExists: true })));
  await db.putRow({ tableName: "order", primaryKey: { id: "a", n: 1 }, attributes: { total: 15 } });
  await db.createTable({ ...ORDER, ifNotExists: true });
  await db.createTable({ tableName: "order", primaryKey: ORDER.primaryKey, ifNotExists: true });
  assert.equal((await db.count({ tableName: "order" })).count, 1);
  await assert.rejects(db.createTable({ ...ORDER, ifNotExists: false }), code("OTSObjectAlreadyExist", /already exist/));
  await assert.rejects(db.createTable({ ...ORDER, ifNotExists: undefined }), code("OTSObjectAlreadyExist", /already exist/));
  await db.close();
});

test("createTable with ifNotExists: true refuses a table of another schema, and says what is different", { skip }, async () => {
  const db = await open();
  await db.createTable(ORDER);
  for (const [change, message] of [
    [{ primaryKey: [{ name: "id", type: "STRING" }] }, /^The table 'order' is there, and its primary key is \(id STRING, n INTEGER\), not \(id STRING\)\.$/],
    [{ primaryKey: [{ name: "id", type: "INTEGER" }, { name: "n", type: "INTEGER" }] }, /not \(id INTEGER, n INTEGER\)/],
    [{ definedColumns: [{ name: "total", type: "STRING" }] }, /defines the column 'total' as INTEGER, not STRING/],
    [{ definedColumns: [...ORDER.definedColumns!, { name: "state", type: "STRING" }] }, /defines no column 'state'/],
    [{ indexes: [{ indexName: "other", primaryKey: ["total"] }] }, /has no index 'other'/],
    [{ indexes: [{ indexName: "by_total", primaryKey: ["total", "n"] }] }, /key of its index 'by_total' is \(total\), not \(total, n\)/],
    [{ timeToLive: 86_400, allowUpdate: false }, /its timeToLive is -1, not 86400/],
    [{ indexes: [], maxVersions: 3 }, /its maxVersions is 1, not 3/],
    [{ stream: { enabled: true, expirationHours: 24 } }, /it has no stream/],
  ] satisfies [Partial<CreateTableRequest>, RegExp][]) {
    await assert.rejects(db.createTable({ ...ORDER, ...change, ifNotExists: true }), code("OTSObjectAlreadyExist", message));
  }
  await assert.rejects(db.createTable({ ...ORDER, ifNotExists: 1 as never }), code("OTSParameterInvalid", /'ifNotExists' is a number; it must be true or false/));
  await assert.rejects(db.createTable({ ...ORDER, tableName: "9", ifNotExists: true }), code("OTSParameterInvalid"));
  await db.close();
});
