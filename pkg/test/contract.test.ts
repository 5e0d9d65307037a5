/**
 * The bytes of every request and response that the contract declares. The engine's own code writes and reads the same ones
 * (tests/behaviour/contract.rs), so both sides lay them out alike.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Client } from "../src/client/client.js";
import { OP } from "../src/codec/contract.js";
import { FrameWriter } from "../src/codec/frame.js";
import type { DecodeContext } from "../src/codec/parts.js";
import { Reader } from "../src/codec/reader.js";
import * as requests from "../src/codec/requests.js";
import * as responses from "../src/codec/responses.js";
import { OpenDatabase } from "../src/open/database.js";
import type { Row } from "../src/types/row.js";
import type { TabStoreError } from "../src/types/errors.js";
import { AUTO_INCREMENT, INF_MAX, INF_MIN } from "../src/types/values.js";
import { FakeEngine } from "./support/engine.js";
import { ROW_OF_EACH_TYPE } from "./support/rows.js";
import { turn } from "./support/turn.js";

/** The lines of a file, `name: bytes`. */
function lines(file: string): ReadonlyMap<string, string> {
  const text = readFileSync(`../tests/behaviour/contract/${file}.txt`, "utf8");
  return new Map(text.split("\n").flatMap((line) => (line === "" || line.startsWith("#") ? [] : [line.split(": ") as [string, string]])));
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

const t = "t";
const key = ROW_OF_EACH_TYPE.primaryKey;
const range = { tableName: t, start: { id: "a", at: INF_MIN }, end: { id: "z", at: INF_MAX } };
const equal = { column: "a", comparator: "EQUAL", value: 1 } as const;
const comparators = ["EQUAL", "NOT_EQUAL", "GREATER_THAN", "GREATER_EQUAL", "LESS_THAN", "LESS_EQUAL", "EXIST", "NOT_EXIST"] as const;
const update = {
  primaryKey: { id: Uint8Array.of(7) },
  put: { a: 1, b: [{ value: "x", version: 5 }] },
  deleteVersions: { c: [6] },
  deleteColumns: ["d"],
  increment: { e: -2 },
} as const;
const batch = [
  { tableName: t, put: { primaryKey: { id: 1, at: AUTO_INCREMENT }, attributes: {} } },
  { tableName: "u", update: { primaryKey: { id: 2 }, put: { a: 1 } } },
  { tableName: t, delete: { primaryKey: { id: 3 }, condition: { rowExistence: "EXPECT_EXIST" } } },
] as const;

/** The requests by their lines. Each is number 7 of its client. */
const REQUESTS: Readonly<Record<string, (w: FrameWriter) => void>> = {
  "PUT_ROW of each type": (w) => requests.putRow(w, { tableName: t, ...ROW_OF_EACH_TYPE }),
  "PUT_ROW with conditions": (w) =>
    requests.putRow(w, {
      tableName: t,
      primaryKey: key,
      condition: { rowExistence: "EXPECT_NOT_EXIST", column: equal },
      returnContent: "PRIMARY_KEY",
    }),
  "UPDATE_ROW with each change": (w) => requests.updateRow(w, { tableName: t, ...update, returnContent: { afterModify: ["e"] } }),
  "UPDATE_ROW in a transaction": (w) => requests.updateRow(w, { tableName: t, primaryKey: { id: 1 }, deleteColumns: ["a"] }, "tx"),
  DELETE_ROW: (w) => requests.deleteRow(w, { tableName: t, primaryKey: key, condition: { rowExistence: "EXPECT_EXIST" } }),
  "GET_ROW with each option": (w) =>
    requests.getRow(w, {
      tableName: t,
      primaryKey: key,
      maxVersions: 3,
      timeRange: { start: 5, end: 9 },
      columnsToGet: ["a", "b"],
      startColumn: "a",
      endColumn: "c",
      filter: equal,
    }),
  "GET_ROW of a version": (w) => requests.getRow(w, { tableName: t, primaryKey: key, timeRange: { version: 5 } }),
  "GET_ROW with each comparator": (w) =>
    requests.getRow(w, {
      tableName: t,
      primaryKey: key,
      maxVersions: 1,
      filter: {
        operator: "AND",
        filters: comparators.map((comparator) => ({ column: "a", comparator, ...(comparator.endsWith("EXIST") ? {} : { value: 1 }) }) as never),
      },
    }),
  "GET_ROW with each kind of filter": (w) =>
    requests.getRow(w, {
      tableName: t,
      primaryKey: key,
      maxVersions: 1,
      filter: {
        operator: "OR",
        filters: [
          { operator: "NOT", filters: [{ ...equal, passIfMissing: false }] },
          { ...equal, latestVersionOnly: false },
          { offset: 2, limit: 3 },
          { ...equal, valueTransferRule: { regex: "a(.)", castType: "INTEGER" } },
          { ...equal, valueTransferRule: { regex: "b", castType: "DOUBLE" } },
          { ...equal, value: "x", valueTransferRule: { regex: "c", castType: "STRING" } },
        ],
      } as never,
    }),
  BATCH_GET_ROW: (w) =>
    requests.batchGetRow(w, [
      { tableName: t, primaryKeys: [key, { id: "l", at: 2 }], maxVersions: 2 },
      { tableName: "u", primaryKeys: [{ id: 1 }], columnsToGet: ["a"] },
    ]),
  "GET_RANGE forward": (w) => requests.getRange(w, { ...range, direction: "FORWARD", limit: 10, maxVersions: 1 }),
  "GET_RANGE backward, in a transaction": (w) => requests.getRange(w, { tableName: t, direction: "BACKWARD", maxVersions: 1 }, "tx"),
  BATCH_WRITE_ROW: (w) => requests.batchWriteRow(w, batch),
  "BATCH_WRITE_ROW in a transaction": (w) => requests.batchWriteRow(w, batch.slice(0, 1), "tx"),
  START_LOCAL_TRANSACTION: (w) => requests.startLocalTransaction(w, { tableName: t, partitionKey: { id: "k" } }),
  COMMIT_TRANSACTION: (w) => requests.commitTransaction(w, "tx"),
  ABORT_TRANSACTION: (w) => requests.abortTransaction(w, "tx"),
  BATCH_WRITE_ROW_ATOMIC: (w) => requests.batchWriteRowAtomic(w, batch),
  STORE_ROWS: (w) => requests.storeRows(w, 300),
  COUNT_ROWS: (w) => requests.countRows(w, range),
  "COUNT_ROWS with a filter": (w) => requests.countRows(w, { ...range, filter: equal }),
  ACKNOWLEDGE: (w) => requests.acknowledge(w, 300),
  AZURE: (w) => requests.azure(w, Uint8Array.of(1, 2, 3)),
  TABLE_STORE: (w) => requests.tableStore(w, Uint8Array.of(1, 2, 3)),
  ATOMIC: (w) => requests.atomic(w, batch),
  DELETE_RANGE: (w) => requests.deleteRange(w, { ...range, filter: equal }),
};

/** The frame in which a writer puts rows by the thousand. */
async function loaded(): Promise<Uint8Array> {
  const client = new Client(1, false);
  const engine = new FakeEngine(client.receive);
  const frames: Uint8Array[] = [];
  engine.submit = (frame) => void frames.push(frame.slice());
  client.attach(engine);
  for (let id = 1; id < 7; id++) client.nextId();
  // So it is once it has had many rows.
  const writer = Object.assign(new OpenDatabase("demo", "memory", client).writer(t), { loadFrom: 0 });
  writer.put({ primaryKey: { id: 1 }, attributes: { a: 1 } });
  writer.put({ primaryKey: { id: 2 }, attributes: {} });
  await turn();
  client.fail(new Error("enough") as TabStoreError);
  await writer.close().catch(() => {});
  return frames[0];
}

test("each request is written as the engine's own code writes it", async () => {
  const found: [string, string][] = Object.entries(REQUESTS).map(([name, write]) => {
    const writer = new FrameWriter();
    writer.uv(7);
    write(writer);
    return [name, hex(writer.finish())];
  });
  found.push(["PUT_ROWS", hex(await loaded())]);
  const known = lines("requests");
  for (const [name, bytes] of found) assert.equal(bytes, known.get(name), `${name}: ${bytes}`);
  assert.deepEqual([...known.keys()].toSorted(), found.map(([name]) => name).toSorted());
});

test("each operation has its request among them", () => {
  const names = Object.keys(REQUESTS).map((name) => name.split(" ")[0]);
  const operations = Object.keys(requests).filter((name) => !name.startsWith("write"));
  const constant = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  assert.deepEqual([...new Set(names)].toSorted(), operations.map(constant).toSorted());
  assert.equal(operations.length, OP.TABLE_STORE - 1, "and PUT_ROWS, which a writer writes");
});

const context: DecodeContext = { bigints: false, requestId: (id) => `request ${id}` };

/** What was read, as plain objects. */
function plain(value: unknown): unknown {
  if (value instanceof Error) {
    const { code, status, retryable, message, hint, requestId } = value as TabStoreError;
    return { code, status, retryable, message, hint, requestId };
  }
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  if ("primaryKey" in value && "columns" in value) return row(value as Row);
  if ("rows" in value && typeof value.rows === "function") return (value as { rows(count: number): Row[] }).rows(1).map(row);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

const row = (one: Row): unknown => [one.primaryKey, Object.fromEntries(one.columnNames.map((name) => [name, one.get(name)]))];

const units = { read: 1, write: 300 };
const error = { code: "OTSParameterInvalid", status: 400, retryable: false, message: "Wrong.", hint: "Mend it.", requestId: "request 7" };
const shown = [[{ id: "k", at: -1 }, { a: 5 }]];

/** What is read of each line of responses, and how. */
const RESPONSES: Readonly<Record<string, readonly [read: (reader: Reader, context: DecodeContext, request: number) => unknown, found: unknown]>> = {
  Written: [responses.readWritten, { consumed: units, row: null }],
  "Written with a row": [responses.readWritten, { consumed: units, row: [{ id: "k", at: -1 }, {}] }],
  "Written with columns": [responses.readWritten, { consumed: units, row: [{}, { e: 7 }] }],
  Found: [responses.readFound, { consumed: units, page: shown }],
  Range: [responses.readRange, { consumed: units, next: null, page: shown }],
  "Range that goes on": [responses.readRange, { consumed: units, next: ["k", -1, [1, 2]], page: shown }],
  Counted: [responses.readCounted, { consumed: units, rows: 1000, next: null }],
  "Counted that goes on": [responses.readCounted, { consumed: units, rows: 1000, next: { id: "k", at: -1 } }],
  BatchFound: [
    responses.readBatchFound,
    {
      tables: [
        {
          rows: [
            { kind: "Absent", read: 1 },
            { kind: "Present", read: 2 },
            { kind: "Failed", error },
          ],
          page: shown,
        },
      ],
    },
  ],
  BatchWritten: [
    responses.readBatchWritten,
    {
      rows: [
        { kind: "Failed", error },
        { kind: "Done", consumed: units, returns: true },
      ],
      pages: [[{ id: "k", at: -1 }, {}]],
    },
  ],
  Started: [responses.readStarted, { consumed: units, id: "tx" }],
  Ended: [responses.readEnded, { consumed: units }],
  "RowsPut, taken": [responses.readRowsPut, { kind: "Taken", load: 1, bytes: 300, rows: 2, refused: [{ number: 1, error }] }],
  "RowsPut, written": [
    responses.readRowsPut,
    { kind: "Written", batch: { rows: [{ kind: "Done", consumed: units, returns: true }], pages: [[{ id: "k", at: -1 }, {}]] } },
  ],
  RowsStored: [responses.readRowsStored, { consumed: units, until: 300, failed: [{ number: 2, error }] }],
  Passed: [responses.readPassed, { response: [1, 2, 3] }],
};

test("each response is read as the engine's own code has written it", () => {
  const known = lines("responses");
  assert.deepEqual([...known.keys()].toSorted(), Object.keys(RESPONSES).toSorted());
  for (const [name, [read, found]] of Object.entries(RESPONSES)) {
    const reader = new Reader(Buffer.from(known.get(name)!, "hex"));
    assert.deepEqual(plain(read(reader, context, 7)), found, name);
    assert.equal(reader.at, reader.end, name);
  }
});

test("each reader of a response has read some of them", () => {
  const source = Object.values(RESPONSES).map(([read]) => read as unknown);
  for (const [name, read] of Object.entries(responses)) assert.equal(source.includes(read), true, name);
});
