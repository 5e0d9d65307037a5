/** Tables that are made unless they are there. */

import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import type { CreateTableRequest, IndexSpec } from "../src/index.js";
import { code, open, skip } from "./support/package.js";

const ORDER: CreateTableRequest = {
  tableName: "order",
  primaryKey: [
    { name: "id", type: "STRING" },
    { name: "n", type: "INTEGER" },
  ],
  maxVersions: 1,
  definedColumns: [{ name: "total", type: "INTEGER" }],
  indexes: [{ indexName: "by_total", primaryKey: ["total"] }],
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
    [
      {
        primaryKey: [
          { name: "id", type: "INTEGER" },
          { name: "n", type: "INTEGER" },
        ],
      },
      /not \(id INTEGER, n INTEGER\)/,
    ],
    [{ definedColumns: [{ name: "total", type: "STRING" }] }, /defines the column 'total' as INTEGER, not STRING/],
    [{ definedColumns: [...ORDER.definedColumns!, { name: "state", type: "STRING" }] }, /defines no column 'state'/],
    [{ indexes: [{ indexName: "other", primaryKey: ["total"] }] }, /has no index 'other'/],
    [{ indexes: [{ indexName: "by_total", primaryKey: ["total", "n"] }] }, /of its index 'by_total' the key is \(total\), not \(total, n\)/],
    [{ reservedThroughput: { read: 5, write: 0 } }, /its read is 0, not 5/],
    [{ timeToLive: 86_400, allowUpdate: false }, /its timeToLive is -1, not 86400/],
    [{ indexes: [], maxVersions: 3 }, /its maxVersions is 1, not 3/],
    [{ stream: { enabled: true, expirationHours: 24 } }, /it has no stream/],
  ] satisfies [Partial<CreateTableRequest>, RegExp][]) {
    await assert.rejects(db.createTable({ ...ORDER, ...change, ifNotExists: true }), code("OTSObjectAlreadyExist", message));
  }
  await db.createTable({ tableName: "streamed", primaryKey: ORDER.primaryKey, stream: { enabled: true, expirationHours: 24 } });
  for (const [stream, message] of [
    [{ enabled: false }, /it has a stream/],
    [{ enabled: true, expirationHours: 100 }, /its expirationHours is 24, not 100/],
    [{ enabled: true, expirationHours: 24, originColumns: ["a"] }, /its stream keeps no old values of 'a'/],
  ] satisfies [CreateTableRequest["stream"], RegExp][]) {
    await assert.rejects(
      db.createTable({ tableName: "streamed", primaryKey: ORDER.primaryKey, stream, ifNotExists: true }),
      code("OTSObjectAlreadyExist", message),
    );
  }
  await db.createTable({ tableName: "streamed", primaryKey: ORDER.primaryKey, stream: { enabled: true, expirationHours: 24 }, ifNotExists: true });
  const columns = [
    { name: "total", type: "INTEGER" as const },
    { name: "state", type: "STRING" as const },
  ];
  const local = { indexName: "near", type: "LOCAL" as const, primaryKey: ["id", "total"] };
  await db.createTable({ ...ORDER, tableName: "indexed", definedColumns: columns, indexes: [local] });
  for (const [change, message] of [
    [{ type: "GLOBAL" }, /of its index 'near' its type is LOCAL, not GLOBAL/],
    [{ columns: ["state"] }, /of its index 'near' the columns lack 'state'/],
  ] satisfies [Partial<IndexSpec>, RegExp][]) {
    const wanted = { ...ORDER, tableName: "indexed", definedColumns: columns, indexes: [{ ...local, ...change }], ifNotExists: true };
    await assert.rejects(db.createTable(wanted), code("OTSObjectAlreadyExist", message));
  }
  // An index has a table's name, and a table an index's.
  const index = {
    tableName: "by_total",
    primaryKey: [{ name: "total", type: "INTEGER" }, ...ORDER.primaryKey],
    ifNotExists: true,
  } satisfies CreateTableRequest;
  await assert.rejects(db.createTable(index), code("OTSObjectAlreadyExist", /it is an index of the table 'order'/));
  await assert.rejects(db.createTable({ ...ORDER, tableName: "fresh", ifNotExists: true }), code("OTSObjectAlreadyExist", /already exist/));
  await assert.rejects(
    db.createTable({ ...ORDER, ifNotExists: 1 as never }),
    code("OTSParameterInvalid", /'ifNotExists' is a number; it must be true or false/),
  );
  await assert.rejects(db.createTable({ ...ORDER, tableName: "9", ifNotExists: true }), code("OTSParameterInvalid"));
  await db.close();
});

test("R6: a table that does not take chosen keys is not the one that was asked for; one that does may be there for one that need not", { skip }, async () => {
  const db = await open();
  const request = (tableName: string, allowChosen: boolean) =>
    ({
      tableName,
      primaryKey: [
        { name: "p", type: "STRING" },
        { name: "id", type: "INTEGER", autoIncrement: true, allowChosen },
      ],
      ifNotExists: true,
    }) as const;
  await db.createTable(request("strict", false));
  await db.createTable(request("open", true));
  await assert.rejects(db.createTable(request("strict", true)), /key column 'id' has no allowChosen/);
  await db.createTable(request("open", false));
  await assert.rejects(
    db.createTable({ tableName: "x", primaryKey: [{ name: "p", type: "STRING", allowChosen: true }] }),
    /'p' has allowChosen without autoIncrement/,
  );
  const { timelines } = (await import(pathToFileURL(path.resolve("dist/timeline.js")).href)) as typeof import("../src/timeline/index.js");
  const store = (allowChosen: boolean) => timelines(db).createTimelineStore({ tableName: "chat", identifier: [{ name: "room", type: "STRING" }], allowChosen });
  await store(false).prepareTables();
  await assert.rejects(store(true).prepareTables(), (error: Error & { hint?: string }) => /without allowChosen/.test(error.hint ?? ""));
  await db.close();
});

test("R6: an import goes on behind given ids of rows that are not there, and says what onDuplicate needs", { skip }, async () => {
  const db = await open();
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "p", type: "STRING" },
      { name: "id", type: "INTEGER", autoIncrement: true },
    ],
  });
  const rows = [{ p: "a", id: 77 }, ...Array.from({ length: 500 }, (_, n) => ({ p: "a", n }))];
  const { rows: stored, skipped, failures } = await db.importRows("t", rows, { onError: "skip" });
  assert.deepEqual([stored, skipped, failures.map(({ row, error }) => [row, error.code])], [500, 1, [[1, "OTSConditionCheckFail"]]]);
  assert.match(String(failures[0].error), /only the store gives new rows their 'id', unless allowChosen is set/);
  await assert.rejects(db.importRows("t", [{ p: "a", id: 1 }], { onDuplicate: "skip" }), /unless allowChosen is set/);
  // A deleted row is told as one that was never there.
  await db.deleteRow({ tableName: "t", primaryKey: { p: "a", id: 3 } });
  await assert.rejects(db.updateRow({ tableName: "t", primaryKey: { p: "a", id: 3 }, put: { n: 1 } }), /only the store gives new rows their 'id'/);
  await db.close();
});
