/** Calls made where the caller's stack is nearly full: those that fail fail alone, and nothing waits for them. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import { load, open, skip } from "./support/package.js";

/** Levels from the end of the stack at which calls are made: those of some dozens of kilobytes. */
const LEVELS = 5000;

/** Descends to the end of the stack, and makes a call on the last levels of the way back. Gives what was returned. */
function onFullStack(call: (level: number) => unknown): { returned: unknown[]; thrown: unknown[] } {
  // Filled without a call: there may be no stack for one.
  const returned: unknown[] = new Array(LEVELS + 1).fill(undefined);
  const thrown: unknown[] = new Array(LEVELS + 1).fill(undefined);
  let level = 0;
  const descend = (): void => {
    try {
      descend();
    } catch {
      // The end of the stack is here, or just below.
    }
    if (level++ >= LEVELS) return;
    try {
      returned[level] = call(level);
    } catch (error) {
      thrown[level] = error;
    }
  };
  descend();
  for (const one of returned) if (one instanceof Promise) void one.catch(() => {});
  return { returned: returned.filter((one) => one !== undefined), thrown: thrown.filter((one) => one !== undefined) };
}

async function withTable(): Promise<Database> {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], enableLocalTransaction: true });
  return db;
}

const isRangeError = (error: unknown): boolean => error instanceof RangeError || /Maximum call stack|RangeError/.test(String(error));

const CALLS: [string, (db: Database, level: number) => unknown][] = [
  ["putRow", (db, level) => db.putRow({ tableName: "t", primaryKey: { id: 10_000 + level }, attributes: { text: "München", n: level } })],
  [
    "putRow with much in it",
    (db, level) => db.putRow({ tableName: "t", primaryKey: { id: 10_000 + level }, attributes: { text: "日本".repeat(3000), more: "é".repeat(100) } }),
  ],
  ["updateRow", (db, level) => db.updateRow({ tableName: "t", primaryKey: { id: 10_000 + level }, put: { text: "München" }, increment: { n: 1 } })],
  ["getRow", (db) => db.getRow({ tableName: "t", primaryKey: { id: 1 } })],
  ["getRange", (db) => db.getRange({ tableName: "t", limit: 3 })],
  ["batchGetRow", (db) => db.batchGetRow([{ tableName: "t", primaryKeys: [{ id: 1 }, { id: 2 }] }])],
  ["batchWriteRow", (db, level) => db.batchWriteRow([{ tableName: "t", put: { primaryKey: { id: 10_000 + level } } }])],
  ["describeTable", (db) => db.describeTable("t")],
  ["metrics", (db) => db.metrics()],
  // Not on every level: no more than 1000 may be open.
  [
    "startLocalTransaction",
    async (db, level) => level % 8 === 0 && (await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 20_000 + level } })).abort(),
  ],
  ["scan", async (db) => db.scan({ tableName: "t" }).next()],
];

for (const [name, call] of CALLS) {
  test(`${name} at the end of the caller's stack fails alone: calls of others are answered, and close ends`, { skip, timeout: 60_000 }, async () => {
    const db = await withTable();
    const events: unknown[] = [];
    db.addEventListener("health", (event) => events.push(event));
    const put = (id: number) => db.putRow({ tableName: "t", primaryKey: { id }, attributes: { text: `é${id}` } });
    const before = Array.from({ length: 500 }, (_, id) => put(id));
    const { returned, thrown } = onFullStack((level) => call(db, level));
    const after = Array.from({ length: 500 }, (_, id) => put(500 + id));
    for (const error of thrown) assert.ok(isRangeError(error), String(error));
    await Promise.all([...before, ...after]);
    const settled = await Promise.allSettled(returned);
    for (const result of settled) if (result.status === "rejected") assert.ok(isRangeError(result.reason), String((result.reason as Error).stack));
    // Some were too deep, and some were not.
    assert.ok(
      settled.some(({ status }) => status === "fulfilled"),
      "a call succeeded",
    );
    assert.ok(thrown.length > 0 || settled.some(({ status }) => status === "rejected"), "a call was too deep");
    for (let id = 0; id < 1000; id += 37) assert.equal((await db.getRow({ tableName: "t", primaryKey: { id } })).row?.get("text"), `é${id}`);
    assert.deepEqual([db.closed, events], [false, []]);
    await db.close();
    const again = await withTable();
    await again.close();
  });
}

test("a writer's rows put at the end of the caller's stack are taken and stored, or refused by the throw", { skip, timeout: 60_000 }, async () => {
  const db = await withTable();
  const writer = db.writer("t");
  for (let round = 0; round < 10; round++) {
    const taken: number[] = [];
    let id = round * 100_000;
    // So that the end of a batch falls on every level.
    for (let i = 0; i < round * 37; i++) taken.push(id), writer.put({ primaryKey: { id: id++ }, attributes: { a: "é" } });
    const { thrown } = onFullStack(() => {
      const mine = id++;
      writer.put({ primaryKey: { id: mine }, attributes: { a: "é", b: "日本" } });
      taken.push(mine);
    });
    assert.ok(thrown.length > 0 && thrown.every(isRangeError));
    for (let i = 0; i < 300; i++) taken.push(id), writer.put({ primaryKey: { id: id++ }, attributes: { a: "é" } });
    await writer.flush();
    const stored: unknown[] = [];
    for await (const row of db.scan({ tableName: "t", start: { id: round * 100_000 }, end: { id: (round + 1) * 100_000 } })) stored.push(row.get("id"));
    assert.deepEqual(stored, taken);
  }
  const { rows } = await writer.close();
  assert.equal(rows, await count(db));
  await db.close();
});

async function count(db: Database): Promise<number> {
  let rows = 0;
  for await (const page of db.scanPages({ tableName: "t" })) rows += page.length;
  return rows;
}

test("close at the end of the caller's stack can be called again", { skip, timeout: 60_000 }, async () => {
  for (let round = 0; round < 20; round++) {
    const db = await withTable();
    const put = db.putRow({ tableName: "t", primaryKey: { id: 1 } });
    const { returned } = onFullStack((level) => (level < 300 + round * 20 ? undefined : db.close()));
    await put;
    await Promise.allSettled(returned);
    await db.close();
    assert.equal(db.closed, true);
  }
  await (await load()).open("demo", { storage: "memory" }).then((db) => db.close());
});
