/** What a copy must not take away: values that one side alone has, rows of other clocks, and the place of another job. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import { type SyncJob, type SyncStageEvent, syncTable } from "../src/sync/index.js";
import { KEY } from "./support/consumer.js";
import { code, open, skip } from "./support/package.js";
import { ANY_OFFSET, assertSame, dump, during, FAST, onTwo, onWay } from "./support/sync.js";

const START = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;
const tableName = "t";
const CLOCK = { clock: { now: START } };

/** The database, with other methods in place of some. */
function changed(db: Database, methods: { readonly [Name in keyof Database]?: unknown }): Database {
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function" || name === "writer") return value;
      return (methods as Record<PropertyKey, unknown>)[name] ?? value.bind(target);
    },
  });
}

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

test(
  "V6: a value that one side's window refuses stays on the side that has it, also when its column changes on the other",
  { skip },
  onTwo(async (from, to) => {
    await from.createTable({ tableName, primaryKey: KEY, maxVersions: 5, maxVersionOffset: ANY_OFFSET });
    await to.createTable({ tableName, primaryKey: KEY, maxVersions: 5 });
    const old = { value: "old", version: START - 30 * DAY };
    const fresh = { value: "fresh", version: START };
    await from.putRow({ tableName, primaryKey: { id: 1 }, attributes: { v: [old, fresh] } });
    await from.putRow({ tableName, primaryKey: { id: 2 }, attributes: { v: [old] } });
    await during({ from, to, direction: "both", outsideWindow: "skip", clock: () => START }, async (job) => {
      await job.ready;
      await job.caughtUp();
      await job.caughtUp();
      const first = ['["i1"]', `["i1"] v@${START} STRING fresh`];
      const whole = [...first, `["i1"] v@${old.version} STRING old`, '["i2"]'];
      assert.deepEqual(await dump(from, tableName), [...whole, `["i2"] v@${old.version} STRING old`]);
      assert.deepEqual(await dump(to, tableName), first);
      assert.equal(job.status().changesRead, 0, "its own writes are no changes");
      await to.updateRow({ tableName, primaryKey: { id: 2 }, put: { v: [fresh] } });
      await job.caughtUp();
      await job.caughtUp();
      assert.deepEqual(await dump(from, tableName), [...whole, `["i2"] v@${START} STRING fresh`, `["i2"] v@${old.version} STRING old`]);
      // What is deleted there goes on both sides.
      await to.deleteRow({ tableName, primaryKey: { id: 1 } });
      await job.caughtUp();
      assert.deepEqual(await dump(from, tableName), [...whole.slice(3), `["i2"] v@${START} STRING fresh`, `["i2"] v@${old.version} STRING old`]);
    });
  }, CLOCK),
);

test(
  "a place is not taken over by a job from another table, whose rows would come back",
  { skip },
  onTwo(async (from, to) => {
    const device = await open(CLOCK);
    try {
      await from.createTable({ tableName, primaryKey: KEY });
      await device.setClock(START + 1000);
      await device.createTable({ tableName, primaryKey: KEY });
      for (const direction of ["to", "both"] as const) {
        await during({ from, to, direction, name: direction }, async (job) => {
          await job.ready;
          // The same name on a device that shares no lock with the first one.
          const second = syncTable({ from: device, to: changed(to, {}), tableName, direction, name: direction });
          await assert.rejects(second.done, code("OTSObjectAlreadyExist", /The place of the job '(to|both)' is that of another table/));
          await from.putRow({ tableName, primaryKey: { id: 1 } });
          await job.caughtUp();
          await assertSame(from, to);
        });
        await during({ from: device, to, direction, name: `own ${direction}`, replace: true }, (job) => job.ready);
      }
      assert.equal(await assertSame(device, to), 1);
    } finally {
      await device.close();
    }
  }, CLOCK),
);

test(
  "a run whose place was taken over writes nothing more one way",
  { skip },
  onTwo(async (from, to) => {
    await from.createTable({ tableName, primaryKey: KEY });
    await from.putRow({ tableName, primaryKey: { id: 1 }, attributes: { v: 0 } });
    let hold: Promise<void> | undefined;
    let held = (): void => {};
    const way = changed(from, {
      batchGetRow: async (...request: Parameters<Database["batchGetRow"]>) => {
        const rows = await from.batchGetRow(...request);
        held();
        await hold;
        return rows;
      },
    });
    const first = syncTable({ from: way, to, tableName, retry: FAST });
    await first.ready;
    let release!: () => void;
    hold = new Promise((resolve) => (release = resolve));
    const holds = new Promise<void>((resolve) => (held = resolve));
    await from.putRow({ tableName, primaryKey: { id: 1 }, attributes: { v: "older" } });
    await holds;
    await during({ from, to: changed(to, {}) }, async (second) => {
      await second.ready;
      await from.deleteRow({ tableName, primaryKey: { id: 1 } });
      await second.caughtUp();
      release();
      await assert.rejects(first.done, code("OTSSequenceNumberNotMatch"));
      assert.deepEqual(await dump(to, tableName), []);
    });
  }),
);

test(
  "caughtUp resolves also when it is called by a listener just before the job waits",
  { skip },
  onTwo(async (from, to) => {
    await from.createTable({ tableName, primaryKey: KEY });
    await during({ from, to }, async (job) => {
      const caught = new Promise<void>((resolve, reject) => {
        const listen = ({ stage }: SyncStageEvent): void => void (stage === "following" && job.caughtUp().then(resolve, reject));
        job.addEventListener("stage", listen);
      });
      await job.ready;
      const late = new Promise((resolve) => setTimeout(resolve, 2000, "late"));
      assert.equal(await Promise.race([caught, late]), undefined);
    });
  }),
);

test(
  "caughtUp resolves also when it is called while the job waits to try again",
  { skip },
  onTwo(async (from, to) => {
    await from.createTable({ tableName, primaryKey: KEY });
    let isCut = true;
    const { way } = onWay(from, (call) => (call === "changes" && job?.status().stage === "following" && isCut ? "before" : undefined));
    let job: SyncJob | undefined;
    await during({ from: way, to, retry: { minDelay: 300, maxDelay: 300 } }, async (started) => {
      job = started;
      const waits = new Promise<void>((resolve) => started.addEventListener("stage", ({ stage }) => stage === "waiting" && resolve()));
      await waits;
      isCut = false;
      const late = new Promise((resolve) => setTimeout(resolve, 3000, "late"));
      assert.equal(await Promise.race([started.caughtUp(), late]), undefined);
    });
  }),
);

test(
  "both ways a place has no notes of writes that were not done, because it could not be stored",
  { skip },
  onTwo(async (from, to) => {
    for (const db of [from, to]) await db.createTable({ tableName, primaryKey: KEY });
    let cuts = 0;
    const { way } = onWay(to, (call) => (call === "updateRow" && cuts > 0 && cuts-- > 0 ? "before" : undefined));
    await during({ from, to: way, direction: "both" }, async (job) => {
      await job.ready;
      cuts = 3;
      await from.putRow({ tableName, primaryKey: { id: 1 }, attributes: { v: 1 } });
      await job.caughtUp();
      await job.caughtUp();
      assert.equal(cuts, 0);
      const { row } = await to.getRow({ tableName: "__tabstore_sync", primaryKey: { name: `${from.name}/${tableName}` } });
      assert.deepEqual((JSON.parse(String(row?.get("place"))) as { own: unknown }).own, [[], []]);
    });
  }),
);
