/** Copies both ways: an application writes just before, or just behind, a write of the job to the same row. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import { type SyncJob, syncTable } from "../src/sync/index.js";
import { KEY } from "./support/consumer.js";
import { code, skip } from "./support/package.js";
import { ALL, ANY_OFFSET, assertSame, during, FAST, onTwo, onWay } from "./support/sync.js";

const START = Date.UTC(2026, 0, 1);
const tableName = "t";
const primaryKey = { id: 1 };

/** A database whose next batch has steps of an application before it, or behind it. */
function hooked(db: Database): { readonly way: Database; before?: (() => Promise<unknown>) | undefined; behind?: (() => Promise<unknown>) | undefined } {
  const hooks: ReturnType<typeof hooked> = {
    way: new Proxy(db, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        const call = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
        if (name !== "batchWriteRow") return call;
        return async (...args: unknown[]) => {
          const { before, behind } = hooks;
          hooks.before = hooks.behind = undefined;
          await before?.();
          const done = await call(...args);
          await behind?.();
          return done;
        };
      },
    }),
  };
  return hooks;
}

async function prepared(from: Database, to: Database): Promise<void> {
  for (const db of [from, to]) await db.createTable({ tableName, primaryKey: KEY, maxVersions: 5, maxVersionOffset: ANY_OFFSET });
  await from.putRow({ tableName, primaryKey, attributes: { x: [{ value: 1, version: 50 }] } });
}

const versions = async (db: Database): Promise<unknown> => {
  const { row } = await db.getRow({ tableName, primaryKey, maxVersions: ALL });
  return row && Object.fromEntries(Object.entries(row.columns).map(([name, cells]) => [name, cells.map(({ value }) => value)]));
};

/** The clock of the second side is two seconds ahead: what the job does there looks later than it was. */
const CLOCKS = [{ clock: { now: START } }, { clock: { now: START + 2000 } }] as const;

/** Two sides that are the same, and the job that copies both ways. */
interface Race {
  readonly from: Database;
  readonly to: Database;
  /** The steps of an application around the next write of the job on `to`. */
  readonly hooks: ReturnType<typeof hooked>;
  readonly job: SyncJob;
  /** Waits until all is carried over, also what the job has carried over itself. */
  settle(): Promise<void>;
}

const racing = (run: (race: Race) => Promise<void>): (() => Promise<void>) =>
  onTwo(
    async (from, to) => {
      await prepared(from, to);
      const hooks = hooked(to);
      await during({ from, to: hooks.way, direction: "both" }, async (job) => {
        await job.ready;
        const settle = async (): Promise<void> => {
          await job.caughtUp();
          await job.caughtUp();
        };
        await run({ from, to, hooks, job, settle });
      });
    },
    ...CLOCKS,
  );

test(
  "a row that was put again behind its deletion stays, though the deletion is carried over later",
  { skip },
  racing(async ({ from, to, hooks, job, settle }) => {
    await from.deleteRow({ tableName, primaryKey });
    hooks.behind = () => from.putRow({ tableName, primaryKey, attributes: { again: 1 } });
    await settle();
    assert.deepEqual(await versions(to), { again: [1] });
    await assertSame(from, to);
    assert.equal(job.status().changesRead, 2, "its own writes are no changes");
  }),
);

test(
  "the same, though the job dies behind the deletion that it has carried over",
  { skip },
  onTwo(
    async (from, to) => {
      await prepared(from, to);
      await during({ from, to, direction: "both" }, (job) => job.ready);
      await from.deleteRow({ tableName, primaryKey });
      let isDone = false;
      const { way } = onWay(to, (call) => {
        if (isDone) return "dead";
        isDone = call === "batchWriteRow";
        return isDone ? "after" : undefined;
      });
      const job = syncTable({ from, to: way, tableName, direction: "both", retry: FAST });
      await assert.rejects(job.done, code("Closed"));
      assert.equal(await versions(to), null, "the deletion was carried over");
      await from.putRow({ tableName, primaryKey, attributes: { again: 1 } });
      await during({ from, to, direction: "both" }, async (next) => {
        await next.ready;
        assert.deepEqual(await versions(from), { again: [1] });
        await assertSame(from, to);
      });
    },
    ...CLOCKS,
  ),
);

test(
  "a value that is put just before the job deletes its row stays",
  { skip },
  racing(async ({ from, to, hooks, settle }) => {
    await from.deleteRow({ tableName, primaryKey });
    hooks.before = () => to.updateRow({ tableName, primaryKey, put: { mine: 7 } });
    await settle();
    assert.deepEqual(await versions(from), { mine: [7] });
    await assertSame(from, to);
    // The row without cells, too.
    await from.deleteRow({ tableName, primaryKey });
    hooks.before = () => to.putRow({ tableName, primaryKey });
    await settle();
    assert.deepEqual(await versions(from), {});
    await assertSame(from, to);
  }),
);

test(
  "a version that is deleted just before the job writes it goes, and one that is overwritten keeps the application's value",
  { skip },
  racing(async ({ from, to, hooks, settle }) => {
    const put = (db: Database, value: number): Promise<unknown> => db.updateRow({ tableName, primaryKey, put: { x: [{ value, version: 50 }], y: 1 } });
    await put(from, 2);
    hooks.before = () => put(to, 3);
    await settle();
    assert.deepEqual(((await versions(from)) as { x: unknown }).x, [3]);
    await assertSame(from, to);
    await put(from, 4);
    hooks.before = () => to.updateRow({ tableName, primaryKey, deleteVersions: { x: [50] } });
    await settle();
    assert.equal(((await versions(from)) as { x?: unknown }).x, undefined);
    await assertSame(from, to);
  }),
);
