/** The time machine: what is copied, what hides, what comes back, and what a compaction takes for good. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { double, open } from "tabstore";

import { lanesOf, placeIn, spanOf, windowOf } from "../src/lib/lanes.ts";
import { copyTable, move, tryVersion } from "../src/time/sandbox.ts";

const NOW = 1_700_000_000_000;
const DAY = 86_400;
const at = (days: number): number => NOW - days * DAY * 1000;

test("V3, V5: a copy has hidden versions too; they come back, until a compaction; the table itself stays as it is", async () => {
  const db = await open("time-origin", { storage: "memory", integers: "bigint", clock: { now: NOW } });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 2, timeToLive: -1, maxVersionOffset: 100 * DAY });
  const temp = [3, 2, 1].map((days) => ({ value: double(days), version: at(days) }));
  await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { temp } });
  const sandbox = await copyTable(db, await db.describeTable("t"));
  assert.deepEqual(
    [sandbox.rows.length, sandbox.hasMore, sandbox.begun],
    [1, false, { clock: NOW, timeToLive: -1, maxVersions: 2, maxVersionOffset: 100 * DAY }],
  );
  const row = sandbox.rows[0]!;
  const hidden = async (change: object) => {
    const { temp = [] } = await move(sandbox, row, { ...sandbox.begun, ...change });
    return temp.map((one) => one.hidden);
  };
  assert.deepEqual(await hidden({}), [null, null, "surplus"]);
  assert.deepEqual(await hidden({ maxVersions: 3 }), [null, null, null]);
  assert.deepEqual(await hidden({ maxVersions: 3, timeToLive: 2 * DAY }), [null, null, "expired"]);
  assert.deepEqual(await hidden({ maxVersions: 3, timeToLive: DAY, clock: NOW + 1000 }), ["expired", "expired", "expired"]);
  assert.deepEqual(await hidden({ maxVersions: 3 }), [null, null, null]);
  assert.deepEqual(await hidden({ maxVersions: 1 }), [null, "surplus", "surplus"]);
  await sandbox.db.compact();
  assert.deepEqual(await hidden({ maxVersions: 3 }), [null]);
  const { versions } = await db.getStoredRow({ tableName: "t", primaryKey: { id: 1 } });
  assert.equal(versions["temp"]?.length, 3);
  await sandbox.db.close();
  await db.close();
});

test("lanes are columns by name, dots lie in the order of time, inside of the span", () => {
  const span = spanOf([at(3), at(1)], NOW, DAY);
  assert.ok(span.from < at(3) && span.to > NOW + DAY * 1000);
  const version = (days: number) => ({ value: days, version: at(days), hidden: null });
  const lanes = lanesOf({ b: [version(1), version(3)], a: [version(2)] }, span);
  assert.deepEqual(
    lanes.map(([name, dots]) => [name, dots.map((dot) => dot.value)]),
    [
      ["a", [2]],
      ["b", [3, 1]],
    ],
  );
  assert.ok(lanes.every(([, dots]) => dots.every((dot) => dot.at > 0 && dot.at < 1)));
  assert.deepEqual([placeIn(span, 0), placeIn(span, span.to + 1)], [0, 1]);
  assert.ok(spanOf([], 5, -1).from === 0, "no time before 1970");
});

test("V6: the window in the picture is that of the store, at both of its ends, with and without a time to live", async () => {
  const db = await open("time-window", { storage: "memory", integers: "bigint", clock: { now: NOW } });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 9 });
  await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { temp: 1n } });
  const sandbox = await copyTable(db, await db.describeTable("t"));
  const row = sandbox.rows[0]!;
  const isTaken = (version: number) =>
    tryVersion(sandbox, row, "temp", version).then(
      () => true,
      () => false,
    );
  for (const clock of [NOW, NOW + 999]) {
    for (const change of [{}, { timeToLive: DAY, maxVersionOffset: 3 * DAY }, { timeToLive: 9 * DAY, maxVersionOffset: 2 * DAY }]) {
      const moved = { ...sandbox.begun, clock, ...change };
      await move(sandbox, row, moved);
      const { from, to } = windowOf(clock, moved);
      const taken = [];
      for (const version of [from - 1, from, to - 1, to]) taken.push(await isTaken(version));
      assert.deepEqual(taken, [false, true, true, false], JSON.stringify(change));
    }
  }
  await Promise.all([sandbox.db.close(), db.close()]);
});
