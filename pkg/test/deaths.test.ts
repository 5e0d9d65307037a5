/** What becomes of handles, openings and calls when an engine dies at an awkward moment. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { Client } from "../src/client/client.js";
import { PageEngine, type Start } from "../src/open/engines.js";
import { TabStoreError } from "../src/types/errors.js";
import { OPENING } from "../src/host/host.js";
import type { EngineReports, RunningEngine } from "../src/host/host.js";
import { PROTOCOL } from "../src/tabs/channel.js";
import { FakeEngine } from "./support/engine.js";
import type { Database } from "../src/types/database.js";
import { openOn } from "../src/open/open.js";
import type { Platform } from "../src/platform/platform.js";
import type { OpenOptions } from "../src/types/rows.js";
import { lead, leadingEngine } from "./support/leading.js";
import { FakeLocks, giveLocks } from "./support/locks.js";
import { checked, leads, WaitingTab } from "./support/tab.js";
import { OpenDatabase } from "../src/open/database.js";
import { FakeWorker, NO_MODULES, servingWorker } from "./support/worker.js";
import { turn } from "./support/turn.js";
import { undo, undoAll } from "./support/undo.js";

const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
afterEach(undoAll);

let pages = 0;
function page(...workers: FakeWorker[]): { open(name?: string, options?: OpenOptions): Promise<Database>; started(): number } {
  let started = 0;
  const own = `demo${++pages}`;
  const worker = (): FakeWorker => workers[started++] ?? assert.fail("one worker too many");
  const platform: Platform = { modules: NO_MODULES, tabs: undefined, wasm: () => EMPTY, worker, thread: () => assert.fail("loaded") };
  const open = async (name = own, options: OpenOptions = {}): Promise<Database> => {
    const db = await openOn(platform, name, options);
    undo.push(() => void db.close().catch(() => {}));
    return db;
  };
  return { open, started: () => started };
}
const die = (worker: FakeWorker): void => worker.onerror!({ message: "unreachable" } as ErrorEvent);
/** What becomes of some work. A loaded machine takes its time: the limit only ends a test that hangs. */
async function within<T>(work: Promise<T>, ms = 30_000): Promise<string> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<string>((resolve) => (timer = setTimeout(resolve, ms, "nothing")));
  const outcome = await Promise.race([
    work.then(
      () => "done",
      (error: TabStoreError) => `${error.code}: ${error.message}`,
    ),
    limit,
  ]);
  clearTimeout(timer);
  return outcome;
}

/** A worker that opens, and is silent for messages of these kinds. */
const silentFor = (...kinds: string[]): FakeWorker =>
  new FakeWorker((message, reply) => {
    if (kinds.includes(message.kind)) return;
    if (message.kind === "open") reply({ kind: "result", id: OPENING, value: undefined });
    else if (message.id !== undefined) reply({ kind: "result", id: message.id, value: undefined });
  });

test("an open() of another handle at the death of the engine gets a session of the fresh one", async () => {
  const workers = [silentFor("join"), servingWorker()];
  const { open } = page(...workers);
  const one = await open();
  const two = open();
  await turn(5);
  die(workers[0]);
  const outcome = await within(two);
  await one.listTable();
  assert.equal(outcome, "done");
});

/** A worker that never opens. */
const stuck = (): FakeWorker => silentFor("open");

test("a fresh engine that dies while it opens is replaced too: handles go on, and an open() beside it gets a session", async () => {
  const workers = [servingWorker(), stuck(), servingWorker()];
  const { open, started } = page(...workers);
  const one = await open();
  const told: (string | boolean)[] = [];
  one.addEventListener("health", ({ healthy }) => void told.push(healthy));
  die(workers[0]);
  await turn(5);
  const two = open();
  const listed = within(one.listTable());
  await turn(5);
  die(workers[1]);
  assert.equal(await listed, "done");
  assert.equal(await within(two), "done");
  assert.deepEqual([started(), told], [3, [true, true, true]]);
});

test("an engine that dies for the third time in a minute, though it never opened again, ends the handles by the cause", async () => {
  const workers = [servingWorker(), stuck(), stuck()];
  const { open, started } = page(...workers);
  const db = await open();
  const listed = within(db.listTable().then(() => db.listTable()));
  for (const worker of workers) {
    die(worker);
    await turn(5);
  }
  assert.match(await listed, /unreachable/);
  await assert.rejects(db.listTable(), /unreachable/);
  assert.equal(started(), 3);
});

test("the first opening that dies is refused, and not tried again", async () => {
  const workers = [stuck()];
  const { open, started } = page(...workers);
  const opened = within(open());
  await turn(5);
  die(workers[0]);
  assert.match(await opened, /unreachable/);
  assert.equal(started(), 1);
});

test("an open() goes on when the page is put aside after a death, and comes back", async () => {
  const window = new EventTarget();
  const globals = globalThis as { window?: unknown; addEventListener?: unknown };
  const before = [globals.window, globals.addEventListener];
  Object.assign(globals, { window, addEventListener: window.addEventListener.bind(window) });
  undo.push(() => Object.assign(globals, { window: before[0], addEventListener: before[1] }));
  const persisted = (type: string): boolean => window.dispatchEvent(Object.assign(new Event(type), { persisted: true }));
  const workers = [servingWorker(), servingWorker()];
  const { open, started } = page(...workers);
  const one = await open();
  die(workers[0]);
  const two = within(open());
  persisted("pagehide");
  await turn(10);
  assert.equal(started(), 1, "no engine is opened in a page that is put aside");
  persisted("pageshow");
  assert.equal(await two, "done");
  await one.listTable();
  assert.equal(started(), 2);
});

test("an open() in a tab that waits, whose worker dies while the code for sharing is loaded, follows the tab that leads", async () => {
  const own = checked();
  const other = leads(own.engine, 1);
  undo.push(() => other.leader.stop());
  const reports: EngineReports[] = [];
  const start: Start = (_options, signal, report) => {
    reports.push(report);
    // The first worker runs, the second one has to start.
    if (reports.length === 1) queueMicrotask(() => report.onWaiting());
    else setTimeout(() => report.onWaiting(), 50);
    const engine = new Promise<RunningEngine>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    return { engine, inherit: () => {}, takeOver: () => {}, cut: async () => {} };
  };
  const tab = new PageEngine(own, start, async () => undefined);
  const client = new Client(own.engine.client, false);
  const joined = within(tab.join(client, own.given, undefined));
  for (let i = 0; i < 6; i++) await Promise.resolve();
  reports[0].onDeath(new TabStoreError({ code: "OTSInternalServerError", status: 500, retryable: false, message: "unreachable" }));
  assert.equal(await joined, "done");
  assert.deepEqual([reports.length, other.sessions.length], [2, 1]);
  await client.close();
});

test("close() while the worker dies is a close", async () => {
  const workers = [silentFor("close"), servingWorker()];
  const { open, started } = page(...workers);
  const db = await open();
  const closed = within(db.close());
  await turn(5);
  die(workers[0]);
  const outcome = await closed;
  assert.equal(started(), 1);
  assert.doesNotMatch(outcome, /LeaderChanged|goes on/);
});

test("a worker whose lock was stolen, and that ends before it says by whom: calls are answered", async () => {
  const locks = new FakeLocks();
  undo.push(giveLocks(locks));
  const workers = [servingWorker(), servingWorker()];
  const { open } = page(...workers);
  // The worker's life.
  let end = (): void => {};
  const life = new Promise<void>((resolve) => (end = resolve));
  const db = await open();
  const client = (workers[0].sent[0].message as { options: { client: number } }).options.client;
  void locks.request(`tabstore/worker/${client}`, () => life);
  await turn(2);
  workers[0].onmessage!({ data: { kind: "alive" } } as MessageEvent);
  await turn(2);
  workers[0].onmessage!({ data: { kind: "lost" } } as MessageEvent);
  const list = within(db.listTable());
  await turn(2);
  end();
  assert.notEqual(await list, "nothing");
});

/** What becomes of a follower's write that the first leader has done, if this tab's engine dies while it takes its followers over. */
async function diesTakingOver(next: (tab: WaitingTab) => FakeEngine[]): Promise<[done: number, outcome: string]> {
  const { engine } = checked();
  const one = leads(engine, 1);
  undo.push(() => one.leader.stop());
  const tab = new WaitingTab();
  const client = await tab.join();
  one.sessions[0].auto = false;
  const db = new OpenDatabase("demo", "indexeddb", client);
  const put = within(db.putRow({ tableName: "t", primaryKey: { id: 1 } }));
  await turn(20);
  assert.equal(one.sessions[0].store.size, 1, "the first leader has done it, and dies");
  one.leader.stop();
  tab.lead(() => new Promise(() => {}));
  await turn(20);
  tab.report.onDeath(new TabStoreError({ code: "OTSInternalServerError", status: 500, retryable: false, message: "unreachable" }));
  await turn(20);
  const sessions = next(tab);
  const outcome = await put;
  void client.close();
  await turn(20);
  // By an engine that does not know the answers: see the report.
  return [1 + sessions.filter(({ store }) => store.size > 0).length, outcome.split(":")[0]];
}

test("an engine that dies while it takes its followers over: the fresh one of this tab, which has waited for nobody, does not do their writes again", async () => {
  assert.deepEqual(await diesTakingOver((tab) => (tab.lead(), tab.own)), [1, "LeaderChanged"]);
});

test("an engine that dies while it takes its followers over: so does a third tab that leads then, which forgets the answers as the worker's life has ended", async () => {
  assert.deepEqual(
    await diesTakingOver(() => {
      const three = leads(checked().engine, 3);
      undo.push(() => three.leader.stop());
      return three.sessions;
    }),
    [1, "LeaderChanged"],
  );
});

test("a client that comes back at once (back/forward cache, worker ended) is not forgotten by the end of its earlier seat", async () => {
  const locks = new FakeLocks();
  undo.push(giveLocks(locks));
  let end = (): void => {};
  void locks.request("tabstore/worker/7", () => new Promise<void>((resolve) => (end = resolve)));
  const events: string[] = [];
  const engine = leadingEngine(
    async (_life, client, onResponses) => {
      events.push(`keep ${client}`);
      return new FakeEngine(onResponses);
    },
    // As in the engine: it waits for the locks, and for earlier requests of any one session.
    async (client) => {
      await turn(50);
      events.push(`forget ${client}`);
    },
  );
  const leader = lead(checked().engine, 1, engine);
  const channel = new BroadcastChannel("tabstore/demo");
  undo.push(
    () => leader.stop(),
    () => channel.close(),
  );
  const seek = (number: number): void => channel.postMessage({ tabstore: PROTOCOL, kind: "seek", client: 7, number, life: 7, hub: false });
  seek(1);
  await turn(100);
  events.length = 0;
  end();
  // The worker is started again, and lives.
  void locks.request("tabstore/worker/7", () => new Promise(() => {}));
  await turn(10);
  seek(2);
  await turn(200);
  assert.ok(events.includes("keep 7"), events.join());
  assert.ok(events.lastIndexOf("forget 7") < events.lastIndexOf("keep 7"), events.join());
});

test("a read with `retry: false` is asked again when the engine dies; a write is refused by name", async () => {
  const kinds: [number, string][] = [];
  const workers = [servingWorker(), servingWorker(kinds)];
  const { open } = page(...workers);
  const db = await open(undefined, { retry: false });
  let refused: unknown;
  void db.getRow({ tableName: "t", primaryKey: { id: 1 } }).catch((error: unknown) => (refused = error));
  const write = within(db.putRow({ tableName: "t", primaryKey: { id: 1 } }));
  await turn();
  die(workers[0]);
  assert.match(await write, /^LeaderChanged/);
  // The second worker is asked, and does not answer rows.
  while (!kinds.some(([, kind]) => kind === "frame")) {
    assert.equal(refused, undefined);
    await turn();
  }
});

for (const [what, code, heals] of [
  ["does not know what is stored", "Closed", true],
  ["traps", "OTSInternalServerError", false],
] as const) {
  test(`an engine in the page that ${what} ${heals ? "is replaced by a fresh one" : "ends its handles by name"}`, async () => {
    const own = checked({ worker: false });
    const reports: EngineReports[] = [];
    const hosts: FakeEngine[] = [];
    const start: Start = (_options, _signal, report) => {
      reports.push(report);
      const session: RunningEngine["session"] = async (_client, onResponses) => {
        hosts.push(new FakeEngine(onResponses));
        return hosts.at(-1)!;
      };
      return { engine: Promise.resolve({ session, close: async () => {} }), inherit: () => {}, takeOver: () => {}, cut: async () => {} };
    };
    const client = new Client(own.engine.client, false);
    await new PageEngine(own, start, async () => undefined).join(client, own.given, undefined);
    const health: unknown[] = [];
    const db = new OpenDatabase("demo", "indexeddb", client);
    db.addEventListener("health", ({ healthy, error }) => void health.push([healthy, error?.code]));
    reports[0].onDeath(new TabStoreError({ code, status: 503, retryable: false, message: "it has ended" }));
    const put = await within(db.putRow({ tableName: "t", primaryKey: { id: 1 } }));
    await turn();
    if (heals)
      assert.deepEqual(
        [put, reports.length, hosts[1].store.size, health],
        [
          "done",
          2,
          1,
          [
            [true, code],
            [true, undefined],
          ],
        ],
      );
    else assert.deepEqual([put, reports.length, health], [`${code}: it has ended`, 1, [[false, code]]]);
    await client.close();
  });
}
