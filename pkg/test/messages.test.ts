/** The texts of errors: the service's message, and beside it a hint that names the culprit, wherever it comes from. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/client/client.js";
import { readError } from "../src/codec/parts.js";
import { Reader } from "../src/codec/reader.js";
import { OpenDatabase } from "../src/open/database.js";
import { TabStoreError, toError, toRecord } from "../src/types/errors.js";
import type { WriterError } from "../src/types/writer-error.js";
import type { Database } from "../src/index.js";
import type { OpenOptions } from "../src/types/rows.js";
import { errorPayload } from "./support/bytes.js";
import { FakeEngine } from "./support/engine.js";
import { load, open, skip } from "./support/package.js";

/** The error of a refused call. */
async function refusal(call: Promise<unknown>): Promise<TabStoreError> {
  try {
    await call;
  } catch (error) {
    return error as TabStoreError;
  }
  return assert.fail("this has to be refused");
}

/** A call that is refused: its message and its hint. */
async function told(call: Promise<unknown>): Promise<[string, string | undefined]> {
  const { message, hint } = await refusal(call);
  return [message, hint];
}

async function readings(options: OpenOptions = {}): Promise<Database> {
  const db = await open(options);
  await db.createTable({
    tableName: "reading",
    primaryKey: [
      { name: "station", type: "STRING" },
      { name: "at", type: "INTEGER" },
    ],
  });
  return db;
}

const KEY = "Table 'reading': the key is (station STRING, at INTEGER)";
const RANGE = "The number of primary key columns must be in range: [1, 4].";

test("W3: an error's hint is read where it follows, and its place is not there where it does not", () => {
  const reader = new Reader(errorPayload("OTSInvalidPK", "no", 400, true, "列 'at' is missing"));
  const { code, message, hint, retryable, requestId } = readError(reader, "r1");
  assert.deepEqual([code, message, hint, retryable, requestId, reader.at], ["OTSInvalidPK", "no", "列 'at' is missing", true, "r1", reader.end]);
  const plain = new Reader(errorPayload("OTSInvalidPK", "no"));
  assert.deepEqual([readError(plain, "r2").hint, plain.at], [undefined, plain.end]);
});

test("W3: a hint passes a message port, and comes as text whatever is sent", () => {
  const error = new TabStoreError({ code: "Busy", status: 503, retryable: true, message: "no", hint: "because" });
  const { hint, message } = toError(structuredClone(toRecord(error)));
  assert.deepEqual([message, hint], ["no", "because"]);
  assert.equal(toError(structuredClone(toRecord(new Error("x")))).hint, undefined);
  assert.equal(toError({ ...toRecord(error), hint: 7 }).hint, "7");
});

test("W3: a wrong argument is told with its path, what was expected and what was given, before the engine is asked", async () => {
  const client = new Client(1, false);
  const engine = new FakeEngine(client.receive, true);
  client.attach(engine);
  const db = new OpenDatabase("demo", "memory", client);
  const given = (key: object): Promise<[string, string | undefined]> => told(db.createTable({ tableName: "t", primaryKey: [key] as never }));
  assert.deepEqual(await given({ name: "a" }), [
    "The argument 'primaryKey[0].type' is undefined; it must be a string.",
    "Argument 'primaryKey[0].type': expected a string, given undefined.",
  ]);
  assert.equal(
    (await given({ name: "a", type: "STRING", autoIncrement: 1 }))[1],
    "Argument 'primaryKey[0].autoIncrement': expected true or false, given a number.",
  );
  assert.equal(
    (await told(db.updateTable({ tableName: "t", reservedThroughput: { read: "x" as never } })))[1],
    "Argument 'reservedThroughput.read': expected an integer, given 'x'.",
  );
  const many = Object.fromEntries(Array.from({ length: 256 }, (_, n) => [`k${n}`, n]));
  for (const [key, count] of [
    [{}, 0],
    [many, 256],
  ] as const) {
    assert.deepEqual(await told(db.getRow({ tableName: "t", primaryKey: key })), [RANGE, `Argument 'primaryKey': ${count} key columns are given`]);
    assert.deepEqual(await told(db.getRange({ tableName: "t", start: key })), [RANGE, `Argument 'start': ${count} key columns are given`]);
  }
  assert.equal(engine.frames.length, 0);
});

test("W3: the real engine's hints come with its messages", { skip }, async () => {
  const db = await readings();
  const missing = ["Requested table does not exist.", "There is no table 'raeding'. Is 'reading' meant? Tables of the instance: 'reading'."];
  assert.deepEqual(await told(db.describeTable({ tableName: "raeding" })), missing);
  assert.deepEqual(await told(db.getRow({ tableName: "raeding", primaryKey: { station: "SEA", at: 1 } })), missing);
  assert.deepEqual(await told(db.putRow({ tableName: "reading", primaryKey: { station: "SEA", at: "1" } })), [
    "Validate PK type fail. Input: VT_STRING, Meta: VT_INTEGER.",
    `${KEY}; 'at': expected INTEGER, given STRING`,
  ]);
  assert.deepEqual(await told(db.putRow({ tableName: "reading", primaryKey: { station: "SEA" } })), [
    "Validate PK size fail. Input: 1, Meta: 2.",
    `${KEY}; 'at' is missing`,
  ]);
  assert.deepEqual(await told(db.getRow({ tableName: "reading", primaryKey: { station: "SEA", when: 1 } })), [
    "Validate PK name fail. Input: when, Meta: at.",
    `${KEY}; 'at' is missing; 'when' is no key column`,
  ]);
  assert.deepEqual(await told(db.getRange({ tableName: "reading", start: { station: "Zürich", at: 5 }, end: { station: "Zürich", at: 1 } })), [
    "Begin key must less than end key in FORWARD",
    "Table 'reading': FORWARD: the start (station: 'Zürich', at: 5) has to be before the end (station: 'Zürich', at: 1)",
  ]);
  const rows = await db.batchWriteRow([
    { tableName: "reading", put: { primaryKey: { station: "SEA", at: 1 } } },
    { tableName: "reading", put: { primaryKey: { station: 1, at: 1 } } },
  ]);
  assert.deepEqual(
    rows.map((row) => row.error?.hint),
    [undefined, `${KEY}; 'station': expected STRING, given INTEGER`],
  );
  await db.close();
});

test("W3: a hint survives the writer and the import", { skip }, async () => {
  const db = await readings();
  const writer = db.writer("reading");
  writer.put({ primaryKey: { station: "SEA" } });
  const failed = (await refusal(writer.close())) as WriterError;
  assert.deepEqual([failed.name, failed.hint, failed.failures[0].error.hint], ["WriterError", `${KEY}; 'at' is missing`, `${KEY}; 'at' is missing`]);
  const stopped = await refusal(db.importRows("reading", [{ primaryKey: { station: "SEA", when: 2 } }]));
  assert.ok(stopped.message.startsWith("Row "), stopped.message);
  assert.ok(stopped.hint?.includes("at"), String(stopped.hint));
  await db.close();
});

test("I2: a wrong name of an instance is told with the rule and what is wrong with it", { skip }, async () => {
  const { open: openInstance } = await load();
  const rule = "The rule for the name of an instance: 3 to 16 letters (A to Z), digits and '-', first a letter, last not '-'.";
  for (const [name, wrong] of [
    ["ab", "has 2 bytes"],
    ["1abc", "does not begin with a letter"],
    ["abc-", "ends with '-'"],
    ["däta", "has 'ä' in it"],
  ]) {
    assert.deepEqual(await told(openInstance(name, { storage: "memory" })), [`Invalid instance name: '${name}'.`, `${rule} This one ${wrong}.`]);
  }
});

test("R8: keys of no or too many columns and key columns of wrong types are refused in the service's words", { skip }, async () => {
  const db = await open();
  const keys = (count: number): Record<string, number> => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
  for (const count of [0, 5, 255, 300]) {
    const primaryKey = keys(count);
    for (const call of [
      db.putRow({ tableName: "missing", primaryKey }),
      db.updateRow({ tableName: "missing", primaryKey, put: { a: 1 } }),
      db.deleteRow({ tableName: "missing", primaryKey }),
      db.getRow({ tableName: "missing", primaryKey }),
      db.batchGetRow([{ tableName: "missing", primaryKeys: [primaryKey] }]),
      db.batchWriteRow([{ tableName: "missing", delete: { primaryKey } }]),
      db.getRange({ tableName: "missing", start: primaryKey }),
      db.getRange({ tableName: "missing", end: primaryKey }),
      db.startLocalTransaction({ tableName: "missing", partitionKey: primaryKey }),
    ])
      assert.equal((await told(call))[0], RANGE);
  }
  for (const type of ["DOUBLE", "BOOLEAN"] as never[]) {
    assert.deepEqual(await told(db.createTable({ tableName: "t", primaryKey: [{ name: "id", type }] })), [
      `${type} is an invalid type for the primary key.`,
      `Argument 'primaryKey[0].type': expected STRING, INTEGER or BINARY, given '${type}'.`,
    ]);
  }
  assert.equal(
    (await told(db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "FLOAT" as never }] })))[1],
    "Argument 'primaryKey[0].type': expected STRING, INTEGER or BINARY, given 'FLOAT'.",
  );
  assert.deepEqual(await db.listTable(), []);
  await db.close();
});

test("R1: an update that puts and deletes the same is refused by name, and stores nothing", { skip }, async () => {
  const db = await readings({ clock: { now: 1_700_000_000_000 } });
  const row = { tableName: "reading", primaryKey: { station: "SEA", at: 1 } };
  await db.putRow({ ...row, attributes: { a: 1 } });
  const version = 1_700_000_000_000;
  for (const [change, message] of [
    [{ put: { a: 2 }, deleteColumns: ["a"] }, "Column 'a' can not be put and deleted in one request."],
    [{ put: { a: [{ value: 2, version }] }, deleteVersions: { a: [version] } }, `Version ${version} of column 'a' can not be put and deleted in one request.`],
    [{ increment: { a: 2 }, deleteColumns: ["a"] }, "Column 'a' can not be incremented and changed otherwise in one request."],
  ] as const)
    assert.deepEqual(await told(db.updateRow({ ...row, ...change } as never)), [message, "Give the column to one of the two, or send two requests."]);
  assert.deepEqual({ ...(await db.getRow(row)).row?.columns }, { a: [{ value: 1, version }] });
  await db.close();
});

test("R8: a writer's batches of small cells with versions, each of which counts 8 bytes more, are taken", { skip }, async () => {
  const db = await open({ clock: { now: 0 } });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 1_000_000, maxVersionOffset: 1_000_000_000 });
  const versions = (count: number): { value: number; version: number }[] => Array.from({ length: count }, (_, at) => ({ value: 0, version: at % 64 }));
  const writer = db.writer("t");
  // The first row is just too small to leave alone, the second just small enough to be joined to it.
  writer.put({ primaryKey: { id: 1 }, attributes: { a: versions(45_000) } });
  writer.put({ primaryKey: { id: 2 }, attributes: { a: versions(210_000) } });
  assert.equal((await writer.close()).rows, 2);
  await db.close();
});
