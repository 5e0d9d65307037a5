/** Counting rows: exact, in stretches, ended by its signal. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { CountRowsRequest, Database, Filter, RangeKey } from "../src/index.js";
import { code, load, open, random, skip } from "./support/package.js";

const ROWS = 23_000;

async function filled(): Promise<Database> {
  const db = await open();
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "shop", type: "STRING" },
      { name: "id", type: "INTEGER" },
    ],
  });
  const writer = db.writer("t");
  for (let id = 0; id < ROWS; id++) {
    const wait = writer.put({ primaryKey: { shop: id % 3 === 0 ? "a" : "b", id }, attributes: { mark: id % 7, text: `é${id}` } });
    if (wait) await wait;
  }
  await writer.close();
  return db;
}

test("R3: a count is exact over any number of rows, and costs what reading them costs", { skip }, async () => {
  const [{ col, INF_MAX, INF_MIN }, db] = [await load(), await filled()];
  const below = random(7);
  const key = (): RangeKey => ({ shop: "ab"[below(2)], id: [below(ROWS), INF_MIN, INF_MAX][below(3)] });
  const requests: CountRowsRequest[] = [
    { tableName: "t" },
    { tableName: "t", filter: col("mark").eq(3) },
    { tableName: "t", filter: col("mark").gt(10) },
    { tableName: "t", start: { shop: "b", id: INF_MIN } },
    { tableName: "t", end: { shop: "a", id: 5000 } },
  ];
  for (let i = 0; i < 30; i++) requests.push({ tableName: "t", start: key(), filter: col("mark").le(below(7)) });
  for (const request of requests) {
    let [count, read] = [0, 0];
    for (let start: RangeKey | null | undefined = request.start; start !== null; ) {
      const page = await db.getRange({ ...request, start });
      [count, read, start] = [count + page.rows.length, read + page.consumed.read, page.nextStartPrimaryKey];
    }
    assert.deepEqual(await db.count(request), { count, consumed: { read, write: 0 } });
  }
  assert.equal((await db.count({ tableName: "t" })).count, ROWS);
  await db.close();
});

test("R3: a count ends by its signal and with its database, and lets others go first", { skip }, async () => {
  const db = await filled();
  await assert.rejects(db.count({ tableName: "t", signal: AbortSignal.abort(new Error("never")) }), /never/);
  const control = new AbortController();
  const counted = db.count({ tableName: "t", signal: control.signal });
  let others = 0;
  // Each of these takes a turn between two stretches.
  for (let i = 0; i < 2; i++) {
    await db.getRow({ tableName: "t", primaryKey: { shop: "a", id: 0 } });
    others += 1;
  }
  control.abort(new Error("enough"));
  await assert.rejects(counted, /enough/);
  assert.equal(others, 2);
  const last = db.count({ tableName: "t" });
  const closing = db.close();
  await assert.rejects(last, code("Closed"));
  await closing;
  await assert.rejects(db.count({ tableName: "t" }), code("Closed"));
});

test("R8: a count refuses a filter that contains itself, and a filter of a class with a rule counts as in a range", { skip, timeout: 20_000 }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  for (let id = 0; id < 9; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { s: `took ${id} ms` } });
  const endless: { operator: string; filters: unknown[] } = { operator: "AND", filters: [] };
  endless.filters.push(endless, endless, endless);
  await assert.rejects(db.count({ tableName: "t", filter: endless as never }), code("OTSParameterInvalid", /exceeds the max: 32/));
  await assert.rejects(db.count({ tableName: "t", filter: { column: "s", comparator: "EQUAL", valeu: 1 } as never }), code("OTSParameterInvalid", /valeu/));
  class Rule {
    get regex(): string {
      return "([0-9]+)";
    }
    castType = "INTEGER" as const;
  }
  class Longer {
    column = "s";
    comparator = "GREATER_THAN" as const;
    get value(): number {
      return 5;
    }
    valueTransferRule = new Rule();
  }
  const { rows } = await db.getRange({ tableName: "t", filter: new Longer() });
  assert.deepEqual([(await db.count({ tableName: "t", filter: new Longer() })).count, rows.length], [3, 3]);
  await db.close();
});

test("R8: a count refuses what a range refuses, by the names of its arguments", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const wrong = (request: object): Promise<unknown> => db.count(request as CountRowsRequest);
  await assert.rejects(wrong({ tableName: "t", limit: 3 }), code("OTSParameterInvalid", /limit/));
  await assert.rejects(wrong({ tableName: 5 }), code("OTSParameterInvalid", /tableName/));
  await assert.rejects(wrong({ tableName: "t", filter: 5 }), code("OTSParameterInvalid", /'filter'/));
  await assert.rejects(wrong({ tableName: "t", start: { other: 1 } }), code("OTSInvalidPK"));
  await assert.rejects(wrong({ tableName: "nowhere" }), code("OTSObjectNotExist"));
  assert.deepEqual(await db.count({ tableName: "t" }), { count: 0, consumed: { read: 1, write: 0 } });
  await db.close();
});

async function fill(db: Database, tableName: string, key: string, rows: number): Promise<void> {
  await db.createTable({ tableName, primaryKey: [{ name: key, type: "INTEGER" }] });
  const writer = db.writer(tableName);
  for (let id = 0; id < rows; id++) {
    const wait = writer.put({ primaryKey: Object.fromEntries([[key, id]]), attributes: { mark: id % 2, s: id < 12_000 ? 0 : 1 } });
    if (wait) await wait;
  }
  await writer.close();
}

test("R3: a count is what was asked, whatever the caller does with its request afterwards", { skip }, async () => {
  const [{ col }, db] = [await load(), await open()];
  await fill(db, "t", "id", ROWS);
  const request = { tableName: "t", filter: col("s").eq(0) as Filter };
  const first = db.count(request);
  request.filter = col("s").eq(1);
  const second = db.count(request);
  assert.deepEqual([(await first).count, (await second).count], [12_000, 11_000]);
  await db.close();
});

test("R3: a count is what was asked, also where the end is changed later", { skip }, async () => {
  const db = await open();
  await fill(db, "t", "id", ROWS);
  const end = { id: 20_000 };
  const first = db.count({ tableName: "t", end });
  end.id = 6000;
  const second = db.count({ tableName: "t", end });
  assert.deepEqual([(await first).count, (await second).count], [20_000, 6000]);
  await db.close();
});

test("R3: a count and a scan take the request of a class as a range does", { skip }, async () => {
  const [{ col }, db] = [await load(), await open()];
  await fill(db, "t", "id", 100);
  class Request {
    tableName = "t";
    get filter(): Filter {
      return col("mark").eq(1);
    }
  }
  const read = (await db.getRange(new Request())).rows.length;
  let scanned = 0;
  for await (const row of db.scan(new Request())) scanned += row === undefined ? 0 : 1;
  const { count } = await db.count(new Request());
  assert.deepEqual({ read, count, scanned }, { read: 50, count: 50, scanned: 50 });
  await db.close();
});

test("R3: a count goes on behind a key column called __proto__", { skip }, async () => {
  const db = await open();
  await fill(db, "t", "__proto__", 12_000);
  assert.equal((await db.count({ tableName: "t" })).count, 12_000);
  await db.close();
});
