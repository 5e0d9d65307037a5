/** Opening: options, the worker's port, the lock, the module's loading, and the error of each. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { Client } from "../src/client/client.js";
import { putRow } from "../src/codec/requests.js";
import { writeResult } from "../src/codec/response.js";
import { TabStoreError } from "../src/types/errors.js";
import { type EngineHost, type EngineOptions, type FromWorker, OPENING, TRANSFER_FROM } from "../src/host/host.js";
import { openWorker } from "../src/host/port.js";
import { onTrap, trapped, watch } from "../src/host/traps.js";
import { createOn, deleteOn, describeOn, listOn } from "../src/open/instances.js";
import { init, loadModule, moduleSource } from "../src/platform/loader.js";
import { lockInstance, lockName } from "../src/tabs/lock.js";
import { openOn } from "../src/open/open.js";
import { once } from "../src/client/code.js";
import type { Platform } from "../src/platform/platform.js";
import type { OpenOptions } from "../src/types/rows.js";
import { OPTIONS as DEFAULTS } from "./support/options.js";
import { FakeWorker, NO_MODULES } from "./support/worker.js";
import { turn } from "./support/turn.js";

/** The smallest module there is. */
const EMPTY = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);

const code =
  (wanted: string, message: RegExp) =>
  (error: unknown): boolean =>
    error instanceof TabStoreError && error.code === wanted && message.test(error.message);

const OPTIONS: EngineOptions = { ...DEFAULTS, storage: "memory", client: 5 };
const OPENED: FromWorker = { kind: "result", id: OPENING, value: undefined };
const module = (): Promise<WebAssembly.Module> => WebAssembly.compile(EMPTY);
const events = () => {
  const seen = { heard: [] as string[], failures: [] as unknown[], deaths: [] as unknown[], troubles: [] as unknown[] };
  return {
    ...seen,
    module,
    onFailure: (error: unknown) => void seen.failures.push(error),
    onDeath: (error: unknown) => void seen.deaths.push(error),
    onTrouble: (error: unknown) => void seen.troubles.push(error),
    onClock: (now: number) => void seen.heard.push(`clock ${now}`),
    onYield: () => assert.fail("nobody has other options"),
    onWaiting: () => assert.fail("another tab has it"),
    onLost: () => void seen.heard.push("lost"),
    onReplaced: () => void seen.heard.push("replaced"),
  };
};
const alone = (): Promise<undefined> => Promise.resolve(undefined);
/** The session of the client that opens the engine in this worker, and the engine. */
const opened = async (worker: FakeWorker, heard = events(), onResponses = (_: Uint8Array): void => {}): Promise<EngineHost & { end(): Promise<void> }> => {
  const engine = await openWorker(() => worker, module(), OPTIONS, heard, alone).engine;
  return Object.assign(await engine.session(OPTIONS.client, onResponses, false), { end: () => engine.close() });
};

test("a worker's troubles are told, and it goes on", async () => {
  const trouble = { code: "ClockJumped", status: 503, retryable: true, message: "back" };
  const told = [trouble, null].map((error): FromWorker => ({ kind: "trouble", error }));
  const worker = new FakeWorker((_, reply) => [OPENED, ...told].forEach(reply));
  const seen = events();
  await openWorker(() => worker, module(), OPTIONS, seen, alone).engine;
  assert.deepEqual([seen.troubles, seen.failures, worker.terminated], [[trouble, null], [], false]);
});

test("a worker is opened, asked and closed; its errors keep their code", async () => {
  const worker = new FakeWorker((message, reply) => {
    if (message.kind === "open") reply(OPENED);
    else if (message.kind === "call")
      reply(
        message.id === 1
          ? { kind: "result", id: 1, value: ["t"] }
          : { kind: "error", id: message.id!, error: { code: "OTSObjectNotExist", status: 404, retryable: false, message: "no t" } },
      );
    else if (message.kind === "close") reply({ kind: "result", id: message.id!, value: undefined });
    else reply(Uint8Array.of(1, 2, 3));
  });
  const responses: Uint8Array[] = [];
  const host = await opened(worker, events(), (frame) => void responses.push(frame));
  assert.deepEqual(await host.call("listTable", {}), ["t"]);
  await assert.rejects(host.call("describeTable", {}), code("OTSObjectNotExist", /no t/));
  host.submit(Uint8Array.of(9));
  await Promise.resolve();
  assert.deepEqual(responses, [Uint8Array.of(1, 2, 3)]);
  await host.end();
  assert.ok(worker.terminated);
});

test("a small frame is cloned without the buffer it lies in, a large one is transferred", async () => {
  const worker = new FakeWorker((message, reply) => {
    if (message.kind === "open") reply(OPENED);
  });
  const host = await opened(worker);
  const buffer = new Uint8Array(10 * TRANSFER_FROM);
  host.submit(buffer.subarray(0, 100));
  host.submit(buffer.subarray(0, TRANSFER_FROM));
  const [, small, large] = worker.sent as { message: Uint8Array; transferred: number }[];
  assert.deepEqual([small.message.length, small.message.buffer.byteLength, small.transferred], [100, 100, 0]);
  assert.deepEqual([large.message.length, large.message.buffer.byteLength, large.transferred], [TRANSFER_FROM, TRANSFER_FROM, 1]);
  assert.equal(buffer.length, 10 * TRANSFER_FROM);
});

test("a frame that fills its writer's buffer is sent as a copy: the calls after it leave too", async () => {
  const worker = new FakeWorker((message, reply) => {
    if (message.kind === "open") reply(OPENED);
  });
  const host = await opened(worker);
  const buffer = new Uint8Array(TRANSFER_FROM);
  host.submit(buffer);
  assert.equal(buffer.length, TRANSFER_FROM);
  // The same through the client, whose buffer grows by doubling: a frame of exactly one of its sizes covers all of it.
  const client = new Client(1, false);
  client.attach(host);
  const sent = async (bytes: number): Promise<number> => {
    void client.request(putRow, { tableName: "t", primaryKey: { id: 1 }, attributes: { a: new Uint8Array(bytes) } }, writeResult);
    await Promise.resolve();
    return (worker.sent.at(-1)!.message as Uint8Array).length;
  };
  const around = (await sent(100_000)) - 100_000;
  assert.equal(await sent((1 << 17) - around), 1 << 17);
  for (let i = 0; i < 3; i++) assert.ok((await sent(5)) < 100);
});

test("an administrative call under way when the worker is closed rejects with Closed", async () => {
  const worker = new FakeWorker((message, reply) => {
    if (message.kind === "open") reply(OPENED);
    else if (message.kind === "close") reply({ kind: "result", id: message.id!, value: undefined });
  });
  const host = await opened(worker);
  const compacted = assert.rejects(host.call("compact", {}), code("Closed", /while this call was under way/));
  await host.end();
  await compacted;
});

test("only our own module's traps are noticed, wherever they end up", async () => {
  // (func (export "trap") unreachable), (func (export "fine"))
  const bytes = Uint8Array.of(
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    1,
    4,
    1,
    0x60,
    0,
    0,
    3,
    3,
    2,
    0,
    0,
    7,
    15,
    2,
    4,
    0x74,
    0x72,
    0x61,
    0x70,
    0,
    0,
    4,
    0x66,
    0x69,
    0x6e,
    0x65,
    0,
    1,
    10,
    8,
    2,
    3,
    0,
    0,
    0x0b,
    2,
    0,
    0x0b,
  );
  const { exports } = (await WebAssembly.instantiate(bytes)).instance;
  const seen: unknown[] = [];
  const end = onTrap((error) => seen.push(error));
  const theirs = exports as { trap(): void };
  assert.throws(() => theirs.trap(), WebAssembly.RuntimeError);
  assert.deepEqual([seen, trapped()], [[], undefined]);
  const ours = watch(exports) as { trap(): void; fine(): void };
  ours.fine();
  let thrown: unknown;
  await Promise.resolve()
    .then(() => ours.trap())
    .catch((error: unknown) => (thrown = error));
  assert.ok(thrown instanceof WebAssembly.RuntimeError);
  assert.deepEqual([seen, trapped()], [[thrown], thrown]);
  end();
  assert.throws(() => ours.trap());
  assert.equal(seen.length, 1);
});

test("an engine that refuses to open says why, and its worker goes", async () => {
  const worker = new FakeWorker((_message, reply) =>
    reply({ kind: "error", id: OPENING, error: { code: "Busy", status: 503, retryable: true, message: "The instance 'demo' is open already." } }),
  );
  await assert.rejects(openWorker(() => worker, module(), OPTIONS, events(), alone).engine, code("Busy", /'demo' is open already/));
  assert.ok(worker.terminated);
});

test("a worker that cannot be loaded or started says which entry to use", async () => {
  const worker = new FakeWorker(() => worker.onerror?.({ message: "" } as ErrorEvent));
  await assert.rejects(
    openWorker(() => worker, module(), OPTIONS, events(), alone).engine,
    code("Unavailable", /worker could not be loaded.*tabstore\/inline/),
  );
  await assert.rejects(
    openWorker(
      () => {
        throw new Error("forbidden");
      },
      module(),
      OPTIONS,
      events(),
      alone,
    ).engine,
    code("Unavailable", /could not be started: Error: forbidden.*tabstore\/inline/),
  );
});

test("a worker that dies refuses what waits, and is terminated so that its lock is given back", async () => {
  const worker = new FakeWorker((message, reply) => {
    if (message.kind === "open") reply(OPENED);
    else worker.onerror?.({ message: "unreachable" } as ErrorEvent);
  });
  const heard = events();
  const host = await opened(worker, heard);
  await assert.rejects(host.call("flush", {}), code("LeaderChanged", /has ended/));
  assert.ok(heard.failures.length === 0 && heard.deaths.length === 1 && code("OTSInternalServerError", /unreachable/)(heard.deaths[0]));
  assert.ok(worker.terminated);
  await host.end();
});

test("the module comes from an address, bytes, a response or a module; it is compiled once", async () => {
  const fallback = (): Promise<Uint8Array> => Promise.resolve(EMPTY);
  const first = loadModule(undefined, fallback);
  assert.equal(loadModule(undefined, fallback), first);
  assert.ok((await first) instanceof WebAssembly.Module);
  const address = `data:application/wasm;base64,${Buffer.from(EMPTY).toString("base64")}`;
  assert.ok((await loadModule(address, fallback)) instanceof WebAssembly.Module);
  assert.ok((await loadModule(new URL(address), fallback)) instanceof WebAssembly.Module);
  assert.ok((await loadModule(new Response(EMPTY), fallback)) instanceof WebAssembly.Module);
  assert.ok((await loadModule(EMPTY.buffer, fallback)) instanceof WebAssembly.Module);
  const compiled = await first;
  assert.equal(await loadModule(compiled, fallback), compiled);
});

test("a module that cannot be loaded says which entry to use, and is tried again", async () => {
  const wrong = (source: Response): Promise<unknown> => loadModule(source, () => EMPTY);
  await assert.rejects(
    wrong(new Response("<html>", { headers: { "content-type": "text/html" } })),
    code("Unavailable", /is a web page, not a WebAssembly module.*tabstore\/inline/),
  );
  await assert.rejects(wrong(new Response("", { status: 404 })), code("Unavailable", /status 404.*init\(url/));
  let calls = 0;
  const flaky = (): Uint8Array => {
    if (calls++ === 0) throw new Error("offline");
    return EMPTY;
  };
  await assert.rejects(loadModule(undefined, flaky), code("Unavailable", /offline/));
  assert.ok((await loadModule(undefined, flaky)) instanceof WebAssembly.Module);
});

test("init says where the module comes from", async () => {
  assert.throws(() => init(undefined as never), code("OTSParameterInvalid", /'source'/));
  init(Promise.resolve(EMPTY));
  assert.ok((await loadModule(undefined, () => assert.fail("the fallback was asked"))) instanceof WebAssembly.Module);
});

test("a module of a response serves every engine", async () => {
  init(EMPTY, { rules: new Response(EMPTY) });
  const source = moduleSource(NO_MODULES);
  const modules = await Promise.all([source("rules"), source("rules")]);
  assert.ok(modules[0] instanceof WebAssembly.Module);
  assert.equal(await source("rules"), modules[0]);
});

test("a module that does not come has failed after 30 s, and the next call asks again", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  init(EMPTY);
  let calls = 0;
  const source = moduleSource({ ...NO_MODULES, rules: () => (calls++ === 0 ? new Promise(() => {}) : EMPTY) });
  const asked = source("rules");
  t.mock.timers.tick(30_000);
  await assert.rejects(asked, code("Unavailable", /The module 'rules' .* did not come within 30 s/));
  assert.ok((await source("rules")) instanceof WebAssembly.Module);
});

const navigatorBefore = Object.getOwnPropertyDescriptor(globalThis, "navigator");
afterEach(() => {
  if (navigatorBefore === undefined) Reflect.deleteProperty(globalThis, "navigator");
  else Object.defineProperty(globalThis, "navigator", navigatorBefore);
});

type Run = (lock: object | null) => Promise<void> | undefined;

/** Web Locks as far as they are used; a held lock, by its name, can be stolen, and then goes to who waits for it. */
function fakeLocks(): Map<string, () => void> {
  const held = new Map<string, () => void>();
  const locks = {
    async request(name: string, ...[options, run]: [Run, undefined?] | [{ ifAvailable: boolean }, Run]): Promise<void> {
      if (typeof options === "function") {
        while (held.has(name)) await new Promise((resolve) => setTimeout(resolve, 1));
        return options({ name });
      }
      assert.ok(options.ifAvailable);
      if (held.has(name)) return run!(null);
      const stolen = new Promise<never>((_, reject) =>
        held.set(name, () => {
          held.delete(name);
          reject(new DOMException("The lock was stolen.", "AbortError"));
        }),
      );
      await Promise.race([run!({ name }), stolen]);
      held.delete(name);
    },
  };
  Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
  return held;
}

test("I2: the lock of an instance ignores case; a second holder is told Busy by name", async () => {
  const held = fakeLocks();
  const release = await lockInstance("Demo-1");
  assert.deepEqual([...held.keys()], ["tabstore/demo-1"]);
  assert.equal(lockName("DEMO-1"), "tabstore/demo-1");
  await assert.rejects(lockInstance("demo-1"), (error) => code("Busy", /'demo-1' is open already/)(error) && (error as TabStoreError).retryable);
  await release();
  assert.equal(held.size, 0);
  await (await lockInstance("demo-1"))();
});

test("R5: whoever holds a lock hears that it was stolen, and giving it back then succeeds", async () => {
  const held = fakeLocks();
  let lost = 0;
  const release = await lockInstance("demo", () => (lost += 1));
  held.get("tabstore/demo")!();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(lost, 1);
  await release();
  // Nor is one lost that was given back.
  await (await lockInstance("demo", () => (lost += 1)))();
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal(lost, 1);
});

test("without Web Locks the lock is granted: the engine's own fencing stands behind it", async () => {
  Object.defineProperty(globalThis, "navigator", { value: undefined, configurable: true });
  await (await lockInstance("demo"))();
});

/** An opening in `worker` that can be given up, on a platform that does nothing else. */
function openIn(worker: FakeWorker, source: OpenOptions["wasm"] = EMPTY): { control: AbortController; opened: Promise<unknown> } {
  const control = new AbortController();
  const platform: Platform = { modules: NO_MODULES, tabs: undefined, wasm: () => EMPTY, worker: () => worker, thread: () => assert.fail("loaded") };
  return { control, opened: openOn(platform, "demo", { signal: control.signal, wasm: source as never }) };
}

test("an opening that is given up before its worker was told anything ends at once, with the worker", async () => {
  const worker = new FakeWorker(() => assert.fail("told"));
  let load!: (bytes: Uint8Array) => void;
  const { control, opened } = openIn(worker, new Promise((resolve) => (load = resolve)) as never);
  await turn();
  control.abort(new Error("enough"));
  await assert.rejects(opened, /enough/);
  assert.ok(worker.terminated);
  load(EMPTY);
  await turn();
  assert.deepEqual(worker.kinds, []);
});

test("an opening that is given up under way comes to its end and is closed before it rejects", async () => {
  const replies: (() => void)[] = [];
  const worker = new FakeWorker((message, reply) => {
    replies.push(() => reply(message.kind === "open" ? OPENED : { kind: "result", id: message.id!, value: undefined }));
  });
  const { control, opened } = openIn(worker);
  let settled = false;
  void opened.catch(() => {}).then(() => (settled = true));
  while (replies.length === 0) await turn();
  control.abort(new Error("enough"));
  await turn();
  replies.shift()!();
  while (replies.length === 0) await turn();
  assert.deepEqual([worker.kinds, settled, worker.terminated], [["open", "close"], false, false]);
  replies.shift()!();
  await assert.rejects(opened, /enough/);
  assert.ok(worker.terminated);
});

test("an opening that hangs when it is given up is cut off after two seconds, and its rejection waits for its locks", async () => {
  const held = fakeLocks();
  let life = "";
  const worker = new FakeWorker((message, reply) => {
    life = `tabstore/worker/${(message as unknown as { options: EngineOptions }).options.client}`;
    held.set(life, () => {});
    reply({ kind: "alive" });
  });
  const { control, opened } = openIn(worker);
  while (life === "") await turn();
  let settled = false;
  void opened.catch(() => {}).then(() => (settled = true));
  const started = performance.now();
  control.abort(new Error("enough"));
  while (!worker.terminated) await turn();
  assert.ok(performance.now() - started > 1900);
  for (let i = 0; i < 20; i++) await turn();
  assert.equal(settled, false);
  held.delete(life);
  await assert.rejects(opened, /enough/);
});

test("a worker that is gone without a word is noticed by the lock that it held", async () => {
  const held = fakeLocks();
  const worker = new FakeWorker((message, reply) => {
    if (message.kind !== "open") return;
    held.set("tabstore/worker/5", () => {});
    reply({ kind: "alive" });
    reply(OPENED);
  });
  const heard = events();
  const host = await opened(worker, heard);
  const asked = host.call("flush", {});
  await turn();
  assert.deepEqual(heard.deaths, []);
  held.delete("tabstore/worker/5");
  await assert.rejects(asked, code("LeaderChanged", /has ended/));
  assert.ok(heard.failures.length === 0 && heard.deaths.length === 1 && code("Closed", /worker has ended/)(heard.deaths[0]));
  await assert.rejects(host.call("flush", {}), code("LeaderChanged", /has ended/));
  await host.end();
});

test("wrong options are refused by name before anything is loaded", async () => {
  const platform: Platform = {
    modules: NO_MODULES,
    tabs: undefined,
    wasm: () => assert.fail("loaded"),
    worker: () => assert.fail("started"),
    thread: () => assert.fail("loaded"),
  };
  const open = (name: unknown, options?: unknown): Promise<unknown> => openOn(platform, name as string, options as OpenOptions);
  const wrong: [unknown, RegExp][] = [
    [{ storge: "memory" }, /Unknown argument 'storge' in 'open'.*storage/],
    [{ storage: "disk" }, /'storage' is 'disk'.*indexeddb, files, memory/],
    [{ worker: 1 }, /'worker' is a number/],
    [{ create: "no" }, /'create' is a string/],
    [{ durability: "none" }, /'durability' is 'none'/],
    [{ cacheBytes: -1 }, /'cacheBytes' is -1/],
    [{ memtableBytes: 0.5 }, /'memtableBytes' is 0.5/],
    [{ reserveBytes: -1 }, /'reserveBytes' is -1/],
    [{ kind: "fast" }, /'kind' is 'fast'/],
    [{ limits: "none" }, /'limits' is 'none'/],
    [{ integers: "number" }, /'integers' is 'number'/],
    [{ quotas: { rows: 1 } }, /Unknown argument 'rows' in 'quotas'/],
    [{ quotas: { tables: "9" } }, /'quotas.tables' is a string/],
    [{ clock: 5 }, /'clock' is a number/],
    [{ clock: {} }, /'clock' has no 'now'/],
    [{ clock: { now: 1.5 } }, /'clock.now' is 1.5/],
    [{ clock: () => 5 }, /'clock' is a function, which works only with worker: false/],
    [5, /'open' is a number/],
    [{ throttle: { unitsPerSecond: 0 } }, /'throttle.unitsPerSecond' is 0; it must be an integer of at least 1/],
    [{ throttle: { tableOperationsPerSecond: -1 } }, /'throttle.tableOperationsPerSecond' is -1/],
    [{ throttle: { unitsPerSecond: 0.5 } }, /'throttle.unitsPerSecond' is 0.5/],
    [{ throttle: 10_000 }, /'throttle' is a number/],
    [{ cacheBytes: 2 ** 31 + 1 }, /'cacheBytes' is 2147483649; it must be an integer of at least 0 and at most 2147483648\.$/],
    [{ cacheBytes: Infinity }, /'cacheBytes' is Infinity.*at most 2147483648/],
    [{ memtableBytes: 2 ** 28 + 1 }, /'memtableBytes' is 268435457; it must be an integer of at least 1 and at most 268435456\.$/],
    [{ memtableBytes: 2 ** 40 }, /'memtableBytes'.*at most 268435456/],
    [{ partitions: { splitBytes: 0 } }, /'partitions.splitBytes' is 0/],
    [{ partitions: { mergeBytes: "1" } }, /'partitions.mergeBytes' is/],
    [{ partitions: { size: 1 } }, /partitions/],
  ];
  for (const [options, message] of wrong) await assert.rejects(open("demo", options), code("OTSParameterInvalid", message));
  await assert.rejects(open(undefined), code("OTSParameterInvalid", /'name' is undefined/));
  await assert.rejects(openOn({ ...platform, worker: undefined }, "demo", { worker: true }), code("Unavailable", /no workers/));
  await assert.rejects(open("demo", { signal: AbortSignal.abort(new Error("enough")) }), /enough/);
});

test("calls about instances can be given up while they wait", async () => {
  const platform: Platform = { modules: NO_MODULES, tabs: undefined, wasm: () => EMPTY, worker: undefined, thread: () => new Promise(() => {}) };
  const control = new AbortController();
  const { signal } = control;
  const calls = [
    listOn(platform, { signal }),
    createOn(platform, "demo", { signal }),
    describeOn(platform, "demo", { signal }),
    deleteOn(platform, "demo", { signal }),
  ];
  setTimeout(() => control.abort(new Error("enough")), 1);
  for (const call of calls) await assert.rejects(call, /enough/);
});

test("what is loaded once is loaded again only if that failed", async () => {
  const answers = [() => Promise.reject(new Error("offline")), () => Promise.resolve(1), () => Promise.resolve(2)];
  const load = once(() => answers.shift()!());
  await assert.rejects(load(), /offline/);
  assert.deepEqual([await load(), await load(), answers.length], [1, 1, 1]);
});
