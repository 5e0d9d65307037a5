/** Handles of one page on one instance: they share an engine, and the last one closes it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { TabStoreError } from "../src/types/errors.js";
import { OPENING } from "../src/host/host.js";
import type { Database } from "../src/types/database.js";
import { openOn } from "../src/open/open.js";
import type { Platform } from "../src/platform/platform.js";
import type { OpenOptions } from "../src/types/rows.js";
import { FakeWorker, NO_MODULES, servingWorker } from "./support/worker.js";
import { turn } from "./support/turn.js";

/** The smallest module there is. */
const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

const code =
  (wanted: string, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof TabStoreError && error.code === wanted && message.test(error.message);

/** A page whose workers these are, one after another. */
function page(...workers: FakeWorker[]): { open(name?: string, options?: OpenOptions): Promise<Database>; started(): number } {
  let started = 0;
  const worker = (): FakeWorker => workers[started++] ?? assert.fail("one worker too many");
  const platform: Platform = { modules: NO_MODULES, tabs: undefined, wasm: () => EMPTY, worker, thread: () => assert.fail("loaded") };
  return { open: (name = "demo", options = {}) => openOn(platform, name, options), started: () => started };
}

test("handles on one instance share a worker, also while it is being opened; the last one closes it", async () => {
  const heard: [number, string][] = [];
  const worker = servingWorker(heard);
  const { open, started } = page(worker);
  const [one, two] = await Promise.all([open("Demo"), open("demo")]);
  const three = await open();
  assert.equal(started(), 1);
  const [other, another] = heard.filter(([, kind]) => kind === "join").length === 2 ? [1, 2] : assert.fail("two sessions more");
  assert.equal(other + another, 3);
  await one.close();
  assert.deepEqual([worker.terminated, worker.kinds], [false, ["open", "join", "join", "leave"]]);
  await assert.rejects(one.listTable(), code("Closed", /closed/));
  await two.listTable();
  await two.close();
  await three.listTable();
  assert.equal(worker.terminated, false);
  await three.close();
  assert.deepEqual([worker.terminated, worker.kinds.at(-1)], [true, "close"]);
});

test("mount, unmount and mount: an opening that one caller gives up goes on for the other", async () => {
  const worker = servingWorker();
  const { open, started } = page(worker);
  const control = new AbortController();
  const given = open("demo", { signal: control.signal });
  control.abort(new Error("unmounted"));
  given.then(
    (db) => db.close(),
    () => {},
  );
  const db = await open();
  await assert.rejects(given, /unmounted/);
  await db.listTable();
  assert.equal(started(), 1);
  await db.close();
});

test("open, close, open without waiting: each opening succeeds", async () => {
  const workers = [servingWorker(), servingWorker()];
  const { open } = page(...workers);
  const first = open();
  const closed = first.then((db) => db.close());
  const second = await open();
  await closed;
  await second.listTable();
  await second.close();
  const third = await open();
  await third.close();
  assert.deepEqual(
    workers.map(({ terminated }) => terminated),
    [true, true],
  );
});

/** What the health listeners of handles hear. */
function health(handles: readonly Database[]): string[][] {
  return handles.map((db) => {
    const heard: string[] = [];
    db.addEventListener("health", ({ healthy, error }) => heard.push(`${healthy} ${error?.code}`));
    return heard;
  });
}

const die = (worker: FakeWorker): void => worker.onerror!({ message: "unreachable" } as ErrorEvent);

test("an engine that dies is replaced by a fresh one: handles go on, calls that it may have done are refused by name, others are done", async () => {
  const kinds: [number, string][] = [];
  const workers = [servingWorker([], {}, "createTable"), servingWorker(kinds)];
  const { open, started } = page(...workers);
  const handles = await Promise.all([open(), open()]);
  const heard = health(handles);
  await turn();
  const put = assert.rejects(handles[1].putRow({ tableName: "t", primaryKey: { id: 1 } }), code("LeaderChanged", /engine of the instance 'demo' has ended/));
  const create = assert.rejects(handles[0].createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] }), code("LeaderChanged", /has ended/));
  const list = handles[0].listTable();
  await Promise.resolve();
  die(workers[0]);
  await Promise.all([put, create, list]);
  const later = handles.map((db) => db.flush());
  // A range, so that closing does not wait for its answer.
  handles[1].getRange({ tableName: "t" }).catch(() => {});
  await Promise.all(later);
  assert.ok(workers[0].terminated && !workers[1].terminated);
  assert.deepEqual(
    [started(), handles.map(({ closed }) => closed), heard],
    [
      2,
      [false, false],
      [
        ["true OTSInternalServerError", "true undefined"],
        ["true OTSInternalServerError", "true undefined"],
      ],
    ],
  );
  assert.ok(
    kinds.some(([, kind]) => kind === "frame"),
    "the read was asked",
  );
  for (const db of handles) await db.close().catch(() => {});
});

test("engines that die one after another fail all handles, and the next opening starts another one", async () => {
  const workers = Array.from({ length: 4 }, () => servingWorker());
  const { open, started } = page(...workers);
  const handles = await Promise.all([open(), open()]);
  const heard = health(handles);
  await turn();
  for (const worker of workers.slice(0, 3)) {
    die(worker);
    await handles[0].listTable().catch(() => {});
  }
  assert.deepEqual(
    heard.map((one) => one.at(-1)),
    ["false OTSInternalServerError", "false OTSInternalServerError"],
  );
  const again = await open();
  for (const db of handles) await assert.rejects(db.listTable(), code("OTSInternalServerError", /unreachable/));
  await again.listTable();
  for (const db of handles) await db.close();
  await again.listTable();
  assert.equal(started(), 4);
  await again.close();
});

test("handles that are closed while a fresh engine starts leave nothing behind; in memory a death ends them", async () => {
  const workers = [servingWorker(), servingWorker()];
  const { open, started } = page(...workers);
  const db = await open();
  die(workers[0]);
  await db.close();
  await turn();
  assert.deepEqual([started(), workers[0].terminated], [1, true]);
  const memory = await open("demo", { storage: "memory" });
  die(workers[1]);
  await assert.rejects(memory.listTable(), code("OTSInternalServerError", /unreachable/));
  assert.deepEqual([memory.closed, started()], [true, 2]);
  await memory.close();
});

test("a trouble is told to all handles, to those that come later too, until it is over", async () => {
  const worker = servingWorker();
  const { open } = page(worker);
  const told: string[] = [];
  const listen = (db: Database, name: string): void => db.addEventListener("health", ({ healthy, error }) => told.push(`${name} ${healthy} ${error?.code}`));
  const one = await open();
  listen(one, "one");
  await turn();
  worker.onmessage!({ data: { kind: "trouble", error: { code: "QuotaExceeded", status: 507, retryable: false, message: "full" } } } as MessageEvent);
  const two = await open();
  listen(two, "two");
  await turn();
  worker.onmessage!({ data: { kind: "trouble", error: null } } as MessageEvent);
  assert.deepEqual(told, ["one true QuotaExceeded", "two true QuotaExceeded", "one true undefined", "two true undefined"]);
  await one.close();
  await two.close();
});

test("options of the engine: left out or equal, they join; others are refused, with both values", async () => {
  const figures = { kind: "capacity", cache: { capacity: 1000 }, memtable: { budget: 2000 }, reserve: { capacity: 3000 } };
  const { open } = page(servingWorker([], figures));
  const given: OpenOptions = { durability: "strict", cacheBytes: 1000, clock: { now: 5 }, quotas: { tables: 9, instances: 3 }, partitions: { splitBytes: 7 } };
  const one = await open("demo", given);
  const same: OpenOptions[] = [
    {},
    { ...given },
    { worker: true, memtableBytes: 2000, kind: "capacity", limits: "document", salvage: false, quotas: { instances: 99 } },
    { integers: "bigint", retry: false, create: false },
  ];
  for (const options of same) await (await open("demo", options)).close();
  const wrong: [OpenOptions, RegExp][] = [
    [{ durability: "relaxed" }, /'durability' is 'relaxed', but the instance 'demo' is open already, with 'strict'\.$/],
    [{ cacheBytes: 1001 }, /'cacheBytes' is 1001, .* with 1000\./],
    [{ memtableBytes: 1 }, /'memtableBytes' is 1, .* with 2000\./],
    [{ reserveBytes: 0 }, /'reserveBytes' is 0, .* with 3000\./],
    [{ kind: "high-performance" }, /'kind' is 'high-performance', .* with 'capacity'/],
    [{ clock: { now: 6 } }, /'clock\.now' is 6, .* with 5\./],
    [{ clock: () => 5, worker: false }, /'(worker|clock)' is (false|a function), /],
    [{ quotas: { tables: 10 } }, /'quotas\.tables' is 10, .* with 9/],
    [{ throttle: { unitsPerSecond: 4 } }, /'throttle\.unitsPerSecond' is 4, .* with the default/],
    [{ partitions: { splitBytes: 8 } }, /'partitions\.splitBytes' is 8, .* with 7/],
    [{ prices: { reserved: { read: 1 } } }, /'prices\.reserved\.read' is 1, .* with the default/],
    [{ salvage: true }, /'salvage' is true, .* with false/],
    [{ worker: false }, /'worker' is false, .* with true/],
    [{ limits: "sdk" }, /'limits' is 'sdk', .* with 'document'/],
  ];
  for (const [options, message] of wrong) await assert.rejects(open("demo", options), code("OTSParameterInvalid", message));
  await one.listTable();
  await one.close();
});

test("an opening that must not create fails alone: another one that waits for it creates", async () => {
  const missing = new FakeWorker((message, reply) =>
    reply({ kind: "error", id: message.id ?? OPENING, error: { code: "OTSObjectNotExist", status: 404, retryable: false, message: "no demo" } }),
  );
  const { open, started } = page(missing, servingWorker());
  const must = open("demo", { create: false });
  const may = open();
  await assert.rejects(must, code("OTSObjectNotExist", /no demo/));
  await (await may).close();
  assert.equal(started(), 2);
});

test("when an opening fails, all who wait for it hear why", async () => {
  const wrong = new FakeWorker((_, reply) =>
    reply({ kind: "error", id: OPENING, error: { code: "Corrupt", status: 500, retryable: false, message: "damaged" } }),
  );
  const { open, started } = page(wrong);
  for (const outcome of await Promise.allSettled([open(), open()])) assert.ok(outcome.status === "rejected" && code("Corrupt", /damaged/)(outcome.reason));
  assert.deepEqual([started(), wrong.terminated], [1, true]);
});
