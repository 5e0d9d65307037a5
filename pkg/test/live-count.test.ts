/** Live counts: `watchCount()`. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { col, type Database } from "../src/index.js";
import { between, define, t } from "../src/schema/index.js";
import { code, load, open, random, skip } from "./support/package.js";
import { until } from "./support/turn.js";

const tableName = "t";
const put = (id: number, v: number = id) => ({ tableName, primaryKey: { id }, attributes: { v } });

async function filled(count = 10): Promise<Database> {
  const db = await open();
  await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }] });
  for (let id = 0; id < count; id++) await db.putRow(put(id));
  return db;
}

async function isQuiet(answer: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([answer.then(() => "told"), new Promise((resolve) => setTimeout(resolve, 100, "quiet"))])) === "quiet";
}

test("a live count gives the number of rows, and again when it has changed, and nothing for other commits", { skip }, async () => {
  const db = await filled();
  const counts = db.watchCount({ tableName, start: { id: 3 }, end: { id: 100 }, filter: col("v").lt(50) })[Symbol.asyncIterator]();
  assert.deepEqual(await counts.next(), { done: false, value: 7 });
  const asked = counts.next();
  await db.putRow(put(2, 1));
  await db.putRow(put(5, 6));
  await db.putRow(put(50, 70));
  assert.ok(await isQuiet(asked), "the number stays");
  await db.putRow(put(50, 20));
  assert.deepEqual(await asked, { done: false, value: 8 });
  await db.deleteRange({ tableName });
  assert.deepEqual(await counts.next(), { done: false, value: 0 });
  assert.deepEqual(await counts.return!(), { done: true, value: undefined });
  await db.close();
});

test("readers share a count; it rests while nobody reads, ends by its signal and with its database, and begins again", { skip }, async () => {
  const db = await filled();
  const control = new AbortController();
  const live = db.watchCount({ tableName, signal: control.signal });
  assert.deepEqual(live.getSnapshot(), { count: undefined, error: undefined });
  const told: (number | undefined)[] = [];
  const [one, other] = [live.subscribe(() => told.push(live.getSnapshot().count)), live.subscribe(() => {})];
  await until(() => told.at(-1) === 10);
  assert.equal(live.getSnapshot(), live.getSnapshot(), "the same until something changes");
  await db.putRow(put(100));
  await until(() => told.at(-1) === 11);
  one();
  other();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const { requests } = (await db.metrics()).operations.CountRows;
  await db.putRow(put(101));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal((await db.metrics()).operations.CountRows.requests, requests);
  const again = live.subscribe(() => told.push(live.getSnapshot().count));
  await until(() => told.at(-1) === 12);
  control.abort(new Error("enough"));
  await until(() => (live.getSnapshot().error as Error | undefined)?.message === "enough");
  again();
  const late = db.watchCount({ tableName })[Symbol.asyncIterator]();
  await late.next();
  const waiting = late.next();
  await db.close();
  await assert.rejects(waiting, code("Closed"));
});

test("wrong arguments are refused by name, and a count of a table that is deleted ends", { skip }, async () => {
  const db = await filled();
  const first = (request: object): Promise<unknown> =>
    db
      .watchCount(request as never)
      [Symbol.asyncIterator]()
      .next();
  await assert.rejects(first({ tableName: "none" }), code("OTSObjectNotExist"));
  await assert.rejects(first({ tableName, limit: 5 }), code("OTSParameterInvalid", /Unknown argument 'limit' in 'watchCount'/));
  await assert.rejects(first({ tableName, start: { id: "x" } }), code("OTSInvalidPK"));
  assert.throws(() => (db.watchCount as (...given: unknown[]) => unknown)({ tableName }, { signal: AbortSignal.timeout(1000) }), /takes one argument/);
  const counts = db.watchCount({ tableName })[Symbol.asyncIterator]();
  await counts.next();
  const next = counts.next();
  await db.deleteTable(tableName);
  await assert.rejects(next, code("OTSObjectNotExist"));
  await db.close();
});

test("whatever is written, the last number is the right one", { skip }, async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const db = await filled(0);
    const below = random(seed);
    const live = db.watchCount({ tableName, filter: col("v").lt(5) });
    const end = live.subscribe(() => {});
    for (let step = 0; step < 60; step++) {
      const id = below(20);
      await (below(3) === 0 ? db.deleteRow({ tableName, primaryKey: { id } }) : db.putRow(put(id, below(10))));
      if (below(10) === 0) await new Promise((resolve) => setTimeout(resolve, 3));
    }
    const { count } = await db.count({ tableName, filter: col("v").lt(5) });
    await until(() => live.getSnapshot().count === count);
    end();
    await db.close();
  }
});

test("a query of a schema is counted live, an index and an empty range too, and not with a limit", { skip }, async () => {
  const schema = define({ note: { key: "id", columns: { id: t.integer, kind: t.text }, indexes: { byKind: ["kind"] } } });
  const db = await (await load()).open("demo", { storage: "memory", schema });
  const all = db.note.watchCount()[Symbol.asyncIterator]();
  const some = db.note.by.byKind.range({ kind: "a" }).watchCount()[Symbol.asyncIterator]();
  assert.deepEqual([(await all.next()).value, (await some.next()).value], [0, 0]);
  await db.note.put({ id: 1, kind: "b" });
  assert.equal((await all.next()).value, 1);
  await db.note.put({ id: 2, kind: "a" });
  assert.deepEqual([(await all.next()).value, (await some.next()).value], [2, 1]);
  assert.throws(() => db.note.limit(1).watchCount(), code("OTSParameterInvalid", /no limit/));
  await db.close();
});

test("an iterator that is ended while it waits ends at once: of a count, of rows of a schema, and of an empty range", { skip }, async () => {
  const schema = define({ note: { key: "id", columns: { id: t.integer, kind: t.text } } });
  const db = await (await load()).open("demo", { storage: "memory", schema });
  const none = db.note.range({ id: between(5, 5) });
  for (const live of [db.note.watchCount(), db.note.watch(), none.watch(), none.watchCount()]) {
    const values = live[Symbol.asyncIterator]();
    assert.equal((await values.next()).done, false);
    const waiting = values.next();
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(await values.return!(), { done: true, value: undefined });
    assert.equal((await waiting).done, true);
  }
  await db.close();
});
