/** What a copy must not take away: values that one side alone has, rows of other clocks, and the place of another job. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { KEY } from "./support/consumer.js";
import { skip } from "./support/package.js";
import { dump, during, onTwo } from "./support/sync.js";

const START = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;
const tableName = "t";
const CLOCK = { clock: { now: START } };

test(
  "V4: a job whose clock is ahead deletes nothing that the stores still show",
  { skip },
  onTwo(async (from, to) => {
    for (const db of [from, to]) await db.createTable({ tableName, primaryKey: KEY, timeToLive: 86_400, maxVersions: 3 });
    for (const [db, id] of [
      [from, 1],
      [to, 2],
      [from, 3],
      [to, 3],
    ] as const)
      await db.putRow({ tableName, primaryKey: { id }, attributes: { v: [{ value: id, version: START }] } });
    const before = [await dump(from, tableName), await dump(to, tableName)];
    await during({ from, to, direction: "both", clock: () => START + 2 * DAY }, async (job) => {
      await job.ready;
      await job.caughtUp();
      assert.deepEqual([await dump(from, tableName), await dump(to, tableName)], before);
      assert.deepEqual(job.status().notKept, { maxVersions: 0, timeToLive: 2, maxVersionOffset: 0 }, "those that the other side has not");
    });
  }, CLOCK),
);
