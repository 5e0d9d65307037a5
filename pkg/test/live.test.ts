/** Live queries: `watch()`. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { col, type Database, type LiveQuery, type LiveRows, type PrimaryKey, type Row } from "../src/index.js";
import { code, open, skip } from "./support/package.js";
import { until } from "./support/turn.js";

const tableName = "t";
const put = (id: number, v: unknown = id) => ({ tableName, primaryKey: { id }, attributes: { v } }) as never;
const ids = (rows: readonly Row[] | undefined): unknown[] | undefined => rows?.map(({ primaryKey }) => primaryKey.id);
const keys = (changed: readonly PrimaryKey[]): unknown[] => changed.map(({ id }) => id);

async function filled(count = 10): Promise<Database> {
  const db = await open();
  await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }] });
  for (let id = 0; id < count; id++) await db.putRow(put(id));
  return db;
}

/** Takes the next rows of a live query as ids, and the changed ones. */
async function next(rows: AsyncIterator<LiveRows>): Promise<unknown> {
  const { done, value } = await rows.next();
  return done ? "end" : [ids(value.rows), keys(value.changed)];
}

/** Whether nothing comes for a while. The answer that is waited for stays asked. */
async function isQuiet(answer: Promise<unknown>): Promise<boolean> {
  return (await Promise.race([answer.then(() => "told"), new Promise((resolve) => setTimeout(resolve, 100, "quiet"))])) === "quiet";
}

test("a live query gives its rows, and again after each commit that changes them, and nothing for other commits", { skip }, async () => {
  const db = await filled();
  const rows = db.watch({ tableName, start: { id: 3 }, end: { id: 7 } })[Symbol.asyncIterator]();
  const first = await rows.next();
  assert.deepEqual([ids(first.value.rows), first.value.changed], [[3, 4, 5, 6], []]);
  const asked = rows.next();
  await db.putRow(put(2));
  await db.putRow(put(7));
  await db.deleteRow({ tableName, primaryKey: { id: 9 } });
  await db.updateRow({ tableName, primaryKey: { id: 30 }, put: { v: 1 } });
  assert.ok(await isQuiet(asked), "those are not among them");
  await db.updateRow({ tableName, primaryKey: { id: 5 }, put: { v: "new" } });
  const { value } = await asked;
  assert.deepEqual([ids(value.rows), keys(value.changed)], [[3, 4, 5, 6], [5]]);
  assert.equal(value.rows[2].get("v"), "new");
  assert.ok(
    [0, 1, 3].every((at) => value.rows[at] === first.value.rows[at]),
    "rows that did not change are the same objects",
  );
  assert.notEqual(value.rows, first.value.rows, "what was given stays as it was");
  await db.deleteRow({ tableName, primaryKey: { id: 3 } });
  assert.deepEqual(await next(rows), [[4, 5, 6], [3]]);
  await rows.return!();
  await db.close();
});

test("one atomic commit is one notification, and one that is refused or changes nothing is none", { skip }, async () => {
  const db = await filled();
  await db.createTable({
    tableName: "u",
    primaryKey: [
      { name: "p", type: "STRING" },
      { name: "id", type: "INTEGER" },
    ],
    enableLocalTransaction: true,
  });
  const rows = db.watch({ tableName: "u" })[Symbol.asyncIterator]();
  assert.deepEqual(await next(rows), [[], []]);
  const tx = await db.startLocalTransaction({ tableName: "u", partitionKey: { p: "a" } });
  const asked = next(rows);
  for (const id of [3, 1, 2]) await tx.putRow({ tableName: "u", primaryKey: { p: "a", id }, attributes: { v: id } });
  assert.ok(await isQuiet(asked), "what is not committed is not shown");
  await tx.commit();
  assert.deepEqual(await asked, [
    [1, 2, 3],
    [1, 2, 3],
  ]);
  const refused = next(rows);
  await assert.rejects(db.putRow({ tableName: "u", primaryKey: { p: "a", id: 1 }, attributes: { v: 9 }, condition: { rowExistence: "EXPECT_NOT_EXIST" } }));
  await db.deleteRow({ tableName: "u", primaryKey: { p: "b", id: 1 } });
  assert.ok(await isQuiet(refused));
  await db.close();
  await assert.rejects(refused, code("Closed"));
});

test("with a limit it shows the first rows of the range, in either direction, and fills up what goes", { skip }, async () => {
  for (const [direction, seen] of [
    ["FORWARD", (id: number) => id],
    ["BACKWARD", (id: number) => -id],
  ] as const) {
    const db = await open();
    await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }] });
    const at = seen;
    for (const id of [10, 20, 30, 40, 50]) await db.putRow(put(at(id)));
    const rows = db.watch({ tableName, direction, limit: 3 })[Symbol.asyncIterator]();
    const told = async (): Promise<unknown> => {
      const { value } = (await rows.next()) as { value: LiveRows };
      return [value.rows, value.changed.map((primaryKey) => ({ primaryKey }))].map((list) => list.map(({ primaryKey }) => at(primaryKey.id as number) + 0));
    };
    assert.deepEqual(await told(), [[10, 20, 30], []]);
    await db.putRow(put(at(45)));
    await db.putRow(put(at(15)));
    assert.deepEqual(await told(), [
      [10, 15, 20],
      [15, 30],
    ]);
    await db.deleteRow({ tableName, primaryKey: { id: at(10) } });
    assert.deepEqual(await told(), [
      [15, 20, 30],
      [10, 30],
    ]);
    for (const id of [15, 20, 30, 40]) await db.deleteRow({ tableName, primaryKey: { id: at(id) } });
    await db.putRow(put(at(60)));
    let last: unknown[];
    do last = (await told()) as unknown[];
    while (JSON.stringify(last[0]) !== "[45,50,60]");
    await rows.return!();
    await db.close();
  }
});

test("rows come and go with the filter; columns that are not selected change nothing", { skip }, async () => {
  const db = await filled(5);
  const rows = db.watch({ tableName, filter: col("v").gt(2), columnsToGet: ["v"] })[Symbol.asyncIterator]();
  assert.deepEqual(await next(rows), [[3, 4], []]);
  await db.updateRow({ tableName, primaryKey: { id: 1 }, put: { v: 8 } });
  assert.deepEqual(await next(rows), [[1, 3, 4], [1]]);
  await db.updateRow({ tableName, primaryKey: { id: 3 }, put: { v: 0 } });
  assert.deepEqual(await next(rows), [[1, 4], [3]]);
  const asked = next(rows);
  await db.updateRow({ tableName, primaryKey: { id: 4 }, put: { other: 1 } });
  await db.updateRow({ tableName, primaryKey: { id: 0 }, put: { v: 1 } });
  assert.ok(await isQuiet(asked));
  await db.deleteTable(tableName);
  await assert.rejects(asked, code("OTSObjectNotExist"));
  await db.close();
});

test("one row is watched by its key, of any type", { skip }, async () => {
  const db = await open({ integers: "bigint" } as never);
  await db.createTable({
    tableName,
    primaryKey: [
      { name: "a", type: "STRING" },
      { name: "b", type: "BINARY" },
      { name: "c", type: "INTEGER" },
    ],
  });
  const primaryKey = { a: "é\u{1f600}", b: new Uint8Array([0, 255]), c: 2n ** 62n };
  const rows = db.watch({ tableName, primaryKey })[Symbol.asyncIterator]();
  assert.deepEqual((await rows.next()).value.rows, []);
  await db.putRow({ tableName, primaryKey, attributes: { v: 1n } });
  const { value } = (await rows.next()) as { value: LiveRows };
  assert.deepEqual([value.rows.map((row) => row.get("v")), value.changed.map((key) => ({ ...key }))], [[1n], [primaryKey]]);
  await db.deleteRow({ tableName, primaryKey });
  assert.deepEqual((await rows.next()).value.rows, []);
  await rows.return!();
  await db.close();
});

test("subscribers are called after each change; one that throws harms nobody; the snapshot is the same object until then", { skip }, async () => {
  const db = await filled(3);
  const live = db.watch({ tableName });
  assert.deepEqual(live.getSnapshot(), { rows: undefined, changed: [], error: undefined });
  const reported: unknown[] = [];
  const runners = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) => reported.push(error));
  let calls = 0;
  const wrong = live.subscribe(() => {
    throw new Error("mine");
  });
  const end = live.subscribe(() => (calls += 1));
  await until(
    () => live.getSnapshot().rows !== undefined,
    () => "no rows",
  );
  const before = live.getSnapshot();
  assert.deepEqual([ids(before.rows), calls], [[0, 1, 2], 1]);
  await db.putRow(put(3));
  await until(
    () => calls === 2,
    () => `${calls} calls`,
  );
  assert.deepEqual(ids(live.getSnapshot().rows), [0, 1, 2, 3]);
  assert.notEqual(live.getSnapshot(), before);
  assert.equal(live.getSnapshot(), live.getSnapshot());
  await until(
    () => reported.length === 2,
    () => `${reported.length} errors were reported`,
  );
  assert.ok(reported.every((error) => (error as Error).message === "mine"));
  end();
  wrong();
  process.removeAllListeners("uncaughtException");
  runners.forEach((runner) => process.on("uncaughtException", runner));
  // Who ends and begins in one step, as React's StrictMode does, begins nothing anew.
  const again = live.subscribe(() => (calls += 1));
  again();
  const third = live.subscribe(() => (calls += 1));
  await db.putRow(put(3, "new"));
  await until(
    () => calls === 3,
    () => `${calls} calls`,
  );
  third();
  await new Promise((resolve) => setTimeout(resolve, 20));
  await db.putRow(put(4));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual([ids(live.getSnapshot().rows)?.length, calls], [4, 3], "nobody is subscribed: nothing is read");
  for await (const { rows } of live) {
    assert.deepEqual(ids(rows), [0, 1, 2, 3, 4], "who comes later gets the rows of then");
    break;
  }
  await db.close();
});

test("wrong arguments, a signal and the end of the database are told to iterators and subscribers", { skip }, async () => {
  const db = await filled(3);
  for (const [wrong, refused] of [
    [{ tableName, primaryKey: { id: 1 }, limit: 1 }, "OTSParameterInvalid"],
    [{ tableName, limit: 0 }, "OTSParameterInvalid"],
    [{ tableName, nothing: 1 }, "OTSParameterInvalid"],
    [{ tableName, primaryKey: { other: 1 } }, "OTSInvalidPK"],
    [{ tableName, start: { id: 5 }, end: { id: 5 } }, "OTSParameterInvalid"],
  ] as const) {
    const live: LiveQuery = db.watch(wrong as never);
    await assert.rejects(live[Symbol.asyncIterator]().next(), code(refused), JSON.stringify(wrong));
    let told = 0;
    const end = live.subscribe(() => (told += 1));
    await until(
      () => told > 0,
      () => "not told",
    );
    assert.equal((live.getSnapshot().error as { code: string }).code, refused);
    end();
  }
  await assert.rejects(db.watch({ tableName: "unknown" })[Symbol.asyncIterator]().next(), code("OTSObjectNotExist"));
  const control = new AbortController();
  const live = db.watch({ tableName, signal: control.signal });
  const rows = live[Symbol.asyncIterator]();
  await rows.next();
  const waiting = rows.next();
  control.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  assert.equal((await rows.next()).done, true);
  const broken = db.watch({ tableName })[Symbol.asyncIterator]();
  await broken.next();
  const none = broken.next();
  assert.equal((await broken.return!()).done, true);
  assert.equal((await none).done, true, "a reader that waits ends at once when it is broken off");
  const closed = db.watch({ tableName });
  let error: unknown;
  closed.subscribe(() => ({ error } = closed.getSnapshot()));
  await until(
    () => closed.getSnapshot().rows !== undefined,
    () => "no rows",
  );
  await db.close();
  await until(
    () => error !== undefined,
    () => "not told of the end",
  );
  assert.equal((error as { code: string }).code, "Closed");
});

test("live queries of all kinds show what a read shows, through random writes of all kinds", { skip }, async () => {
  const db = await open({ memtableBytes: 65_536 } as never);
  await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 2 });
  let seed = 7;
  const below = (most: number): number => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * most);
  };
  const requests = [
    { tableName },
    { tableName, limit: 5 },
    { tableName, direction: "BACKWARD", limit: 4 },
    { tableName, start: { id: 10 }, end: { id: 30 }, filter: col("v").gt(50) },
    { tableName, start: { id: 30 }, end: { id: 5 }, direction: "BACKWARD", limit: 7, filter: col("v").lt(70) },
    { tableName, columnsToGet: ["w"], maxVersions: 2 },
  ] as const;
  const queries = requests.map((request) => {
    const live = db.watch(request as never);
    return { request, live, end: live.subscribe(() => {}) };
  });
  const shown = (rows: readonly Row[] | undefined): string => JSON.stringify(rows?.map((row) => [row.primaryKey, row.columns]));
  for (let round = 0; round < 40; round++) {
    for (let step = below(12); step >= 0; step--) {
      const primaryKey = { id: below(40) };
      const kind = below(12);
      if (kind === 0) await db.flush();
      else if (kind < 3) await db.deleteRow({ tableName, primaryKey });
      else if (kind < 6) await db.updateRow({ tableName, primaryKey, put: { v: below(100) }, deleteColumns: ["w"] });
      else if (kind === 6) await db.updateRow({ tableName, primaryKey, increment: { n: 1 } });
      else if (kind === 7)
        await db.importRows(tableName, [
          { id: below(40), v: below(100) },
          { id: 40 + below(5), v: 1 },
        ] as never);
      else await db.putRow({ tableName, primaryKey, attributes: { v: below(100), w: "w" } });
    }
    const wanted = await Promise.all(
      requests.map(async (request) => {
        const rows: Row[] = [];
        for await (const row of db.scan(request as never)) rows.push(row);
        return shown(rows);
      }),
    );
    for (const [i, { live }] of queries.entries()) {
      await until(
        () => shown(live.getSnapshot().rows) === wanted[i],
        () => `round ${round}, query ${i}: ${shown(live.getSnapshot().rows)} instead of ${wanted[i]}; ${String(live.getSnapshot().error)}`,
      );
    }
  }
  queries.forEach(({ end }) => end());
  await db.close();
});
