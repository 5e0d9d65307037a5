// Partitions: a table splits while it is written and read, and clients do not notice.

import assert from "node:assert/strict";

import { newProfile, openPage, reload, startBrowser } from "../support/browser.mjs";
import { test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

const ROWS = 6000;

/** Writes and reads rows at once. Returns each call's beginning and time, and the errors, if there were any. */
async function work({ instance, partitions, rows }) {
  const db = await T.open(instance, { memtableBytes: 200_000, partitions });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const took = [];
  const wrong = [];
  const timed = async (call) => {
    const from = performance.now();
    try {
      return await call();
    } catch (error) {
      wrong.push(String(error));
      return undefined;
    } finally {
      took.push([from, performance.now() - from]);
    }
  };
  const of = (n) => (n * 7919) % rows;
  let written = 0;
  const writer = async () => {
    while (written < rows) {
      const from = written;
      written += 20;
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => of(from + i)).map((id) =>
          timed(() => db.putRow({ tableName: "t", primaryKey: { id }, attributes: { text: H.noise(id, 300), n: id } })),
        ),
      );
    }
  };
  const reader = async (seed) => {
    for (let n = seed; written < rows; n++) {
      const from = Math.max(0, written - 400);
      const id = of(Math.floor(from * (((n * 7907) % 1000) / 1000)));
      const got = await timed(() => db.getRow({ tableName: "t", primaryKey: { id } }));
      if (from > 0 && got?.row?.get("n") !== id) wrong.push(`row ${id}: ${got?.row?.get("n")}`);
      if (n % 20 === 0) {
        const { rows: some } = await timed(() => db.getRange({ tableName: "t", start: { id: id - 200 }, end: { id: id + 200 }, limit: 100 }));
        if (from > 0 && !some.some((row) => row.primaryKey.id === id) && some.length < 100) wrong.push(`range around ${id}`);
      }
    }
  };
  await Promise.all([writer(), reader(1), reader(2)]);
  const description = await db.describeTable("t");
  await db.close();
  return { took, slowest: Math.max(...took.map(([, time]) => time)), wrong: wrong.slice(0, 5), partitions: description.partitions };
}

/** At how many moments calls took longer than `limit`. Calls that wait at the same time wait for the same thing. */
function stops({ took }, limit) {
  let [moments, end] = [0, -Infinity];
  for (const [from, time] of took.filter(([, time]) => time > limit).sort(([a], [b]) => a - b)) {
    if (from > end) moments += 1;
    end = Math.max(end, from + time);
  }
  return moments;
}

test(
  "P1, P2: a table splits while it is written and read; no request fails or waits for it; describeTable tells, also after a reload",
  async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t, { profile: newProfile(t) });
    const page = await openPage(t, context, server);
    const small = { splitBytes: 150_000 };
    let [delays, splits] = [Infinity, 0];
    let last;
    // The machine may be slow now and then. If splits delayed calls, there would be about a moment for each of them.
    for (let attempt = 0; attempt < 4 && delays > splits / 2; attempt++) {
      const whole = await page.evaluate(work, { instance: `whole${attempt}`, partitions: { splitBytes: 1e9, splitOperations: 0 }, rows: ROWS });
      last = await page.evaluate(work, { instance: `split${attempt}`, partitions: small, rows: ROWS });
      for (const run of [whole, last]) assert.deepEqual(run.wrong, []);
      assert.equal(whole.partitions.length, 1);
      assert.ok(last.partitions.length >= 5, JSON.stringify(last.partitions));
      splits = last.partitions.length - 1;
      delays = stops(last, whole.slowest + 100);
      t.note(
        `${last.took.length} calls, ${last.partitions.length} partitions: the slowest took ${last.slowest.toFixed(0)} ms, without splits ${whole.slowest.toFixed(0)} ms`,
      );
      last.instance = `split${attempt}`;
    }
    assert.ok(delays <= splits / 2, `${splits} splits delay calls by more than 100 ms at ${delays} moments`);

    await reload(page);
    const seen = await page.evaluate(
      async ([instance, partitions]) => {
        const db = await H.openSoon(instance, { memtableBytes: 200_000, partitions });
        const description = await db.describeTable("t");
        const rows = await H.all(db, { tableName: "t" });
        const backward = await H.all(db, { tableName: "t", direction: "BACKWARD" });
        const metrics = await db.metrics();
        await db.close();
        return {
          partitions: description.partitions,
          counted: metrics.trees.find(({ tableName }) => tableName === "t").partitions.length,
          ids: rows.map((row) => row.primaryKey.id),
          backward: backward.map((row) => row.primaryKey.id),
        };
      },
      [last.instance, small],
    );
    const all = Array.from({ length: ROWS }, (_, id) => id);
    assert.deepEqual(seen.ids, all);
    assert.deepEqual(seen.backward, all.reverse());
    // Splits may still go on.
    assert.ok(seen.counted >= seen.partitions.length);
    const bounds = (partitions) => partitions.map(({ partitionId, lowerBound }) => [partitionId, lowerBound]);
    const before = new Map(bounds(last.partitions));
    const kept = bounds(seen.partitions).filter(([id, bound]) => before.has(id) && before.get(id) === bound);
    assert.equal(kept.length, before.size, "partitions are as they were, or split further");
    assert.deepEqual([seen.partitions[0].lowerBound, seen.partitions.at(-1).upperBound], [null, null]);
    for (let n = 1; n < seen.partitions.length; n++) assert.equal(seen.partitions[n].lowerBound, seen.partitions[n - 1].upperBound);
  },
  { alone: true },
);
