/** `deleteRange`: what is left, what it tells and costs, and how it ends. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database } from "../src/types/database.js";
import type { DeleteRangeRequest, RangeKey } from "../src/types/rows.js";
import { code, load, open, random, skip } from "./support/package.js";

const ROWS = 5000;

/** An instance with two shops of rows, whose `mark` is 0 to 6. */
async function filled(): Promise<Database> {
  const db = await open();
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "shop", type: "STRING" },
      { name: "id", type: "INTEGER" },
    ],
    definedColumns: [{ name: "mark", type: "INTEGER" }],
    indexes: [{ indexName: "by_mark", primaryKey: ["mark"] }],
  });
  const writer = db.writer("t");
  for (let id = 0; id < ROWS; id++) {
    const wait = writer.put({ primaryKey: { shop: "ab"[id % 2]!, id }, attributes: { mark: id % 7, text: "x".repeat(id % 50) } });
    if (wait) await wait;
  }
  await writer.close();
  return db;
}

const keysOf = async (db: Database, request: DeleteRangeRequest): Promise<string[]> => {
  const keys: string[] = [];
  for await (const { primaryKey } of db.scan(request)) keys.push(`${primaryKey.shop} ${primaryKey.id}`);
  return keys.sort();
};

test("R1 R3 T8: the rows of any range and filter are deleted, the others stay, and indexes agree", { skip }, async () => {
  const [{ col, INF_MAX, INF_MIN }, db] = [await load(), await filled()];
  const below = random(11);
  let left = await keysOf(db, { tableName: "t" });
  for (let round = 0; round < 25; round++) {
    const id = (): RangeKey["id"] => [below(ROWS), below(ROWS), INF_MIN, INF_MAX][below(4)]!;
    const request: DeleteRangeRequest = {
      tableName: "t",
      ...(below(3) > 0 && { start: { shop: "a", id: id() } }),
      ...(below(3) > 0 && { end: { shop: "b", id: id() } }),
      ...(below(4) > 0 && { filter: col("mark").eq(below(7)) }),
    };
    if (round < 20 && request.filter === undefined) continue;
    const gone = await keysOf(db, request);
    const { count, consumed } = await db.deleteRange(request);
    assert.equal(count, gone.length);
    assert.ok(consumed.write >= count && (count === 0 || consumed.read > 0), JSON.stringify(consumed));
    const set = new Set(gone);
    left = left.filter((key) => !set.has(key));
    assert.deepEqual(await keysOf(db, { tableName: "t" }), left);
    assert.deepEqual(await keysOf(db, { tableName: "by_mark" }), left);
  }
  assert.equal((await db.deleteRange({ tableName: "t" })).count, left.length);
  assert.deepEqual(await db.deleteRange({ tableName: "t" }), { count: 0, consumed: { read: 1, write: 0 } });
  await db.close();
});

test("R3: a deletion ends by its signal and with its database; what is deleted stays so, and others go first", { skip }, async () => {
  const db = await filled();
  await assert.rejects(db.deleteRange({ tableName: "t", signal: AbortSignal.abort(new Error("never")) }), /never/);
  assert.equal((await db.count({ tableName: "t" })).count, ROWS);
  const control = new AbortController();
  const deleting = db.deleteRange({ tableName: "t", signal: control.signal });
  await db.getRow({ tableName: "t", primaryKey: { shop: "a", id: 0 } });
  control.abort(new Error("enough"));
  await assert.rejects(deleting, /enough/);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { count } = await db.count({ tableName: "t" });
  assert.ok(count >= ROWS - 2000 && count < ROWS, `${count} are left`);
  const last = db.deleteRange({ tableName: "t" });
  const closing = db.close();
  await assert.rejects(last, code("Closed"));
  await closing;
});

test("R8: a deletion refuses what a range does, an index, and arguments that it does not know", { skip }, async () => {
  const db = await filled();
  const wrong = (request: object): Promise<unknown> => db.deleteRange(request as DeleteRangeRequest);
  await assert.rejects(wrong({ tableName: "none" }), code("OTSObjectNotExist"));
  await assert.rejects(wrong({ tableName: "by_mark" }), code("OTSParameterInvalid"));
  await assert.rejects(wrong({ tableName: "t", limit: 5 }), code("OTSParameterInvalid", /Unknown argument 'limit' in 'deleteRange'/));
  await assert.rejects(wrong({ tableName: "t", start: { shop: "b" } }), code("OTSInvalidPK"));
  await assert.rejects(db.deleteRange("t" as never), code("OTSParameterInvalid", /'deleteRange'/));
  assert.equal((await db.count({ tableName: "t" })).count, ROWS);
  await db.close();
});

test("I5 ST2: metrics tell it by its name, a live query follows it, and its stream has a record for each row", { skip }, async () => {
  const db = await filled();
  await db.updateTable({ tableName: "t", stream: { enabled: true, expirationHours: 1 } });
  const live = db.watch({ tableName: "t", start: { shop: "a", id: 0 }, end: { shop: "a", id: 20 } });
  const shown: number[] = [];
  const end = live.subscribe(() => shown.push(live.getSnapshot().rows?.length ?? -1));
  const until = async (length: number): Promise<void> => {
    while (shown.at(-1) !== length) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await until(10);
  await db.deleteRange({ tableName: "t", start: { shop: "a", id: 10 }, end: { shop: "a", id: 100 } });
  await until(5);
  end();
  const changes: unknown[] = [];
  for await (const { type, primaryKey } of db.changes({ tableName: "t", once: true })) changes.push(`${type} ${primaryKey.id}`);
  assert.deepEqual(
    changes,
    Array.from({ length: 45 }, (_, at) => `DELETE ${10 + 2 * at}`),
  );
  const { requests, errors } = (await db.metrics()).operations.DeleteRange;
  assert.deepEqual([requests, errors], [1, 0]);
  await db.close();
});

test("R3: bytes of a key that change after the call change nothing, and two deletions at once count each row once", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "b", primaryKey: [{ name: "id", type: "BINARY" }] });
  const writer = db.writer("b");
  for (let i = 0; i < 3000; i++) {
    const wait = writer.put({ primaryKey: { id: Uint8Array.of(i >> 8, i) } });
    if (wait) await wait;
  }
  await writer.close();
  const end = { id: Uint8Array.of(5, 220) };
  const deleting = db.deleteRange({ tableName: "b", end });
  end.id.fill(255);
  assert.equal((await deleting).count, 1500);
  const both = await Promise.all([db.deleteRange({ tableName: "b" }), db.deleteRange({ tableName: "b" })]);
  assert.equal(both[0].count + both[1].count, 1500);
  await db.close();
});
