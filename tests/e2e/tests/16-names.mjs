// The names of the product documents: operations, options, errors.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

test("W3: operations, options and errors carry the names of the product documents", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const { missing, told, errors } = await page.evaluate(async () => {
    const db = await T.open("names");
    const operations = [
      "createTable",
      "listTable",
      "describeTable",
      "updateTable",
      "deleteTable",
      "computeSplitPointsBySize",
      "createIndex",
      "dropIndex",
      "addDefinedColumn",
      "deleteDefinedColumn",
      "getRow",
      "putRow",
      "updateRow",
      "deleteRow",
      "batchGetRow",
      "batchWriteRow",
      "getRange",
      "startLocalTransaction",
    ];
    const missing = operations.filter((name) => typeof db[name] !== "function");
    const options = { timeToLive: -1, maxVersions: 3, maxVersionOffset: 7200, allowUpdate: true };
    const key = [
      { name: "k", type: "STRING" },
      { name: "n", type: "INTEGER" },
    ];
    await db.createTable({ tableName: "t", primaryKey: key, ...options, reservedThroughput: { read: 1, write: 2 } });
    const { timeToLive, maxVersions, maxVersionOffset, allowUpdate, primaryKey, reservedThroughput } = await db.describeTable("t");
    const told = {
      options: { timeToLive, maxVersions, maxVersionOffset, allowUpdate },
      key: primaryKey.map(({ name, type }) => ({ name, type })),
      reserved: [reservedThroughput.read, reservedThroughput.write],
    };
    const row = { tableName: "t", primaryKey: { k: "a", n: 1 } };
    const refused = {
      OTSParameterInvalid: () => db.getRow({ ...row, maxVersions: 0 }),
      OTSInvalidPK: () => db.getRow({ tableName: "t", primaryKey: { k: "a" } }),
      OTSObjectNotExist: () => db.describeTable("u"),
      OTSObjectAlreadyExist: () => db.createTable({ tableName: "t", primaryKey: key }),
      OTSConditionCheckFail: () => db.putRow({ ...row, condition: { rowExistence: "EXPECT_EXIST" } }),
      OTSTooFrequentReservedThroughputAdjustment: async () => {
        await db.updateTable({ tableName: "t", reservedThroughput: { read: 2 } });
        await db.updateTable({ tableName: "t", reservedThroughput: { read: 3 } });
      },
    };
    const errors = {};
    for (const [code, call] of Object.entries(refused)) errors[code] = await H.refusal(call);
    await db.close();
    return { missing, told, errors };
  });
  assert.deepEqual(missing, []);
  assert.deepEqual(told, {
    options: { timeToLive: -1, maxVersions: 3, maxVersionOffset: 7200, allowUpdate: true },
    key: [
      { name: "k", type: "STRING" },
      { name: "n", type: "INTEGER" },
    ],
    reserved: [1, 2],
  });
  for (const [code, error] of Object.entries(errors)) {
    assert.deepEqual([error.refused, error.known, error.code], [true, true, code]);
  }
});
