/**
 * The built package on the real engine, in memory. Skipped where the package has not been built.
 *
 * These tests cover the boundary: values, keys, pages, errors. The Rust tests cover the meaning of operations.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import type { Metrics, Row } from "../src/index.js";
import type { InputValue, Value } from "../src/types/rows.js";
import { code, entry, load, open, type Package, random, skip } from "./support/package.js";

const ALPHABETS = ["abc xyz", "äöüéß", "日本語漢字", "😀🎉👩‍👩‍👧", '\u0000\u0001\n\t"\\', "\ufeff\uffff"];

test("D1, D2: random rows of every type come back exactly, through every way in and out", { skip }, async () => {
  const { double } = await load();
  const below = random(7);
  const text = (length: number): string => Array.from({ length: below(length) }, () => [...ALPHABETS[below(ALPHABETS.length)]][below(4)] ?? "x").join("");
  const value = (): [InputValue, Value] => {
    switch (below(6)) {
      case 0: {
        const wide = BigInt.asIntN(64, (BigInt(below(2 ** 32)) << 32n) | BigInt(below(2 ** 32)));
        const exact = wide >> BigInt(below(64));
        return [exact, Number.isSafeInteger(Number(exact)) ? Number(exact) : exact];
      }
      case 1: {
        const number = (below(2 ** 32) - 2 ** 31) / 2 ** below(40);
        return [double(number), number];
      }
      case 2: {
        const flag = below(2) === 1;
        return [flag, flag];
      }
      case 3: {
        const bytes = Uint8Array.from({ length: below(300) }, () => below(256));
        return [bytes, bytes];
      }
      default: {
        const some = text(below(20) === 0 ? 3000 : 40);
        return [some, some];
      }
    }
  };
  const db = await open({ clock: { now: 1_700_000_000_000 } });
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "s", type: "STRING" },
      { name: "i", type: "INTEGER" },
      { name: "b", type: "BINARY" },
    ],
    maxVersions: 3,
  });
  const expected: { primaryKey: Record<string, Value>; columns: Record<string, unknown> }[] = [];
  const writer = db.writer("t");
  for (let n = 0; n < 1200; n++) {
    const primaryKey = {
      s: `k${String(n).padStart(5, "0")}${text(20)}`,
      i: BigInt.asIntN(64, BigInt(below(2 ** 32)) << BigInt(below(33))),
      b: Uint8Array.from({ length: below(10) }, () => below(256)),
    };
    const attributes: Record<string, InputValue | { value: InputValue; version: number }[]> = {};
    const columns: Record<string, unknown> = {};
    for (const name of ["__proto__", "a", "B", "c_1", "zz"].filter(() => below(3) > 0)) {
      const cells = Array.from({ length: 1 + below(3) }, (_, age) => ({
        version: 1_700_000_000_000 - age * ((1 + below(50_000_000) / 10) | 0),
        pair: value(),
      }));
      const unique = [...new Map(cells.map((cell) => [cell.version, cell])).values()].sort((a, b) => b.version - a.version);
      Object.defineProperty(attributes, name, { enumerable: true, value: unique.map(({ version, pair }) => ({ version, value: pair[0] })) });
      Object.defineProperty(columns, name, { enumerable: true, value: unique.map(({ version, pair }) => ({ value: pair[1], version })) });
    }
    expected.push({ primaryKey: { ...primaryKey, i: Number.isSafeInteger(Number(primaryKey.i)) ? Number(primaryKey.i) : primaryKey.i }, columns });
    if (n % 3 === 0) {
      await db.putRow({ tableName: "t", primaryKey, attributes });
    } else if (n % 3 === 1) {
      const [result] = await db.batchWriteRow([{ tableName: "t", put: { primaryKey, attributes, returnContent: "PRIMARY_KEY" } }]);
      assert.deepEqual(result.row?.primaryKey, expected.at(-1)!.primaryKey);
    } else {
      const wait = writer.put({ primaryKey, attributes });
      if (wait) await wait;
    }
  }
  await writer.close();
  const plain = (columns: Record<string, unknown>): [string, unknown][] => Object.entries(columns).sort(([a], [b]) => (a < b ? -1 : 1));
  const check = (row: Row, n: number): void => {
    assert.deepEqual(row.primaryKey, expected[n].primaryKey);
    assert.deepEqual(plain(row.columns), plain(expected[n].columns));
    for (const [name, cells] of plain(expected[n].columns)) assert.deepEqual(row.get(name), (cells as { value: Value }[])[0].value);
  };
  for (const stage of ["in memory", "in segments"]) {
    let n = 0;
    for await (const row of db.scan({ tableName: "t", maxVersions: 3, pageRows: 500 })) check(row, n++);
    assert.equal(n, expected.length, stage);
    for await (const row of db.scan({ tableName: "t", maxVersions: 3, direction: "BACKWARD" })) check(row, --n);
    for (let tries = 0; tries < 200; tries++) {
      const pick = below(expected.length);
      const { row } = await db.getRow({ tableName: "t", primaryKey: expected[pick].primaryKey as never, maxVersions: 3 });
      check(row!, pick);
    }
    const picks = Array.from({ length: 100 }, () => below(expected.length));
    const [results] = await db.batchGetRow([{ tableName: "t", primaryKeys: picks.map((pick) => expected[pick].primaryKey as never), maxVersions: 3 }]);
    for (const [place, { row }] of results.entries()) check(row!, picks[place]);
    await db.flush();
  }
  await db.close();
});

test("D4: the product introduction's example, word for word", { skip }, async () => {
  const db = await open({ clock: { now: 1_466_762_754_000 } });
  await db.createTable({ tableName: "product", primaryKey: [{ name: "ID", type: "STRING" }], maxVersions: 2 });
  const version = 1_466_676_354_000;
  await db.putRow({
    tableName: "product",
    primaryKey: { ID: "4776" },
    attributes: { Type: [{ value: "Book", version }], ISBN: [{ value: "123*45678912345", version }], PageCount: [{ value: 666, version }] },
  });
  await db.putRow({
    tableName: "product",
    primaryKey: { ID: "6555" },
    attributes: {
      Type: [{ value: "Music", version }],
      Length: [
        { value: 400, version },
        { value: 500, version: 1_466_762_754_000 },
      ],
    },
  });
  const { rows } = await db.getRange({ tableName: "product", maxVersions: 2 });
  assert.deepEqual(
    rows.map(({ primaryKey, columns }) => ({ primaryKey, columns: { ...columns } })),
    [
      {
        primaryKey: { ID: "4776" },
        columns: { ISBN: [{ value: "123*45678912345", version }], PageCount: [{ value: 666, version }], Type: [{ value: "Book", version }] },
      },
      {
        primaryKey: { ID: "6555" },
        columns: {
          Length: [
            { value: 500, version: 1_466_762_754_000 },
            { value: 400, version },
          ],
          Type: [{ value: "Music", version }],
        },
      },
    ],
  );
  await db.close();
});

test("R3: a long range comes in pages of 5000 rows, with a next key of the right types", { skip }, async () => {
  const db = await open();
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "a", type: "INTEGER" },
      { name: "b", type: "BINARY" },
    ],
  });
  await db.importRows(
    "t",
    Array.from({ length: 12_000 }, (_, i) => ({ a: BigInt(i) - 6000n, b: Uint8Array.of(1) })),
  );
  const page = await db.getRange({ tableName: "t" });
  assert.equal(page.rows.length, 5000);
  assert.deepEqual(page.nextStartPrimaryKey, { a: -1000, b: Uint8Array.of(1) });
  const sizes: number[] = [];
  for await (const rows of db.scanPages({ tableName: "t" })) sizes.push(rows.length);
  assert.deepEqual(sizes, [5000, 5000, 2000]);
  let count = 0;
  for await (const rows of db.scanPages({ tableName: "t", limit: 7001, pageRows: 3000 })) count += rows.length;
  assert.equal(count, 7001);
  for await (const _ of db.scan({ tableName: "t" })) if (++count > 7003) break;
  assert.deepEqual((await db.getRange({ tableName: "t", start: { a: 5_000_000, b: Uint8Array.of() } })).rows, []);
  await db.close();
});

test("R1, R2, C1: updates, counters, returned rows and batches of several tables cross the boundary", { skip }, async () => {
  const db = await open();
  for (const [tableName, name] of [
    ["t", "id"],
    ["u", "name"],
  ])
    await db.createTable({ tableName, primaryKey: [{ name, type: "STRING" }] });
  const primaryKey = { id: "x" };
  await db.updateRow({ tableName: "t", primaryKey, put: { a: 1, b: "old" } });
  const { row, consumed } = await db.updateRow({
    tableName: "t",
    primaryKey,
    increment: { a: 2n ** 60n },
    deleteColumns: ["b"],
    returnContent: { afterModify: ["a"] },
  });
  assert.deepEqual([row?.get("a"), row?.primaryKey, consumed], [2n ** 60n + 1n, {}, { read: 0, write: 1 }]);
  const results = await db.batchWriteRow([
    { tableName: "t", put: { primaryKey: { id: "y" }, returnContent: "PRIMARY_KEY" } },
    { tableName: "missing", put: { primaryKey: { id: "y" } } },
    { tableName: "u", update: { primaryKey: { name: "z" }, put: { c: true }, returnContent: "PRIMARY_KEY" } },
    { tableName: "t", delete: { primaryKey, condition: { rowExistence: "EXPECT_NOT_EXIST" } } },
    { tableName: "t", delete: { primaryKey: { id: "y" }, returnContent: "PRIMARY_KEY" } },
  ]);
  assert.deepEqual(
    results.map((result) => (result.ok ? result.row?.primaryKey : result.error.code)),
    [{ id: "y" }, "OTSObjectNotExist", { name: "z" }, "OTSConditionCheckFail", { id: "y" }],
  );
  const [t, u] = await db.batchGetRow([
    { tableName: "t", primaryKeys: [{ id: "x" }, { id: "y" }] },
    { tableName: "u", primaryKeys: [{ name: "z" }], columnsToGet: ["c"] },
  ]);
  assert.deepEqual([t.map((result) => result.row?.columnNames ?? null), u.map((result) => result.row?.get("c"))], [[["a"], null], [true]]);
  await db.close();
});

test("errors of the engine name the culprit and store nothing", { skip }, async () => {
  const db = await open();
  await assert.rejects(db.createTable({ tableName: "3t", primaryKey: [{ name: "id", type: "STRING" }] }), code("OTSParameterInvalid", /'3t'/));
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] });
  await assert.rejects(db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] }), code("OTSObjectAlreadyExist", /exist/));
  await assert.rejects(db.putRow({ tableName: "nope", primaryKey: { id: "1" } }), code("OTSObjectNotExist", /exist/));
  await assert.rejects(db.putRow({ tableName: "t", primaryKey: { id: 1 } }), code("OTSInvalidPK", /./));
  await assert.rejects(db.putRow({ tableName: "t", primaryKey: { id: "1" }, attributes: { "no name": 1 } }), code("OTSParameterInvalid", /no name/));
  await assert.rejects(db.getRow({ tableName: "t", primaryKey: { id: "1" }, maxVersions: 1, timeRange: { version: 5 } }), code("OTSParameterInvalid", /./));
  await assert.rejects(db.updateRow({ tableName: "t", primaryKey: { id: "1" } }), code("OTSParameterInvalid", /Attribute column is missing/));
  await assert.rejects(db.setClock(5), code("OTSParameterInvalid", /clock/));
  await assert.rejects(
    db.putRow({ tableName: "t", primaryKey: { id: "1" }, attributes: { big: "x".repeat(2 * 1024 * 1024 + 1) } }),
    code("OTSParameterInvalid", /big/),
  );
  assert.deepEqual((await db.getRange({ tableName: "t" })).rows, []);
  await db.close();
  await assert.rejects(db.listTable(), code("Closed", /closed/));
});

test("V10: a clock of the caller is asked before every call, or set by hand", { skip }, async () => {
  let now = 1_469_030_400_000;
  const db = await open({ worker: false, clock: () => now });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], timeToLive: 86400 });
  await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { a: 1 } });
  const read = async (): Promise<number | undefined> => (await db.getRow({ tableName: "t", primaryKey: { id: 1 } })).row?.version("a");
  assert.equal(await read(), now);
  now += 86_400_000;
  assert.equal(await read(), now - 86_400_000);
  now += 1000;
  assert.equal(await read(), undefined);
  await db.close();
  const other = await open({ clock: { now: 1000 } });
  await other.setClock(5000);
  assert.equal((await other.metrics()).now, 5000);
  await other.close();
});

test("metrics give what their types declare, no less and no more", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
  await db.flush();
  const metrics = await db.metrics();
  // TypeScript sees to it that these are the declared names, all of them.
  const group = <T>(names: Record<keyof T, unknown>): string[] => Object.keys(names).sort();
  const same = <T extends object>(value: T, names: Record<keyof T, unknown>): void => assert.deepEqual(Object.keys(value).sort(), group<T>(names));
  same<Metrics>(metrics, {
    kind: 0,
    memtable: 0,
    log: 0,
    segments: 0,
    trees: 0,
    cache: 0,
    reserve: 0,
    work: 0,
    manifest: 0,
    epoch: 0,
    now: 0,
    sessions: 0,
    operations: 0,
    capacity: 0,
    wasmMemoryBytes: 0,
  });
  same<Metrics["memtable"]>(metrics.memtable, { bytes: 0, entries: 0, frozen: 0, budget: 0 });
  same<Metrics["log"]>(metrics.log, { bytes: 0, records: 0, inFiles: 0 });
  same<Metrics["reserve"]>(metrics.reserve, { bytes: 0, capacity: 0 });
  same<Metrics["segments"]>(metrics.segments, { count: 0, bytes: 0, garbage: 0 });
  same<Metrics["cache"]>(metrics.cache, { bytes: 0, capacity: 0, hits: 0, misses: 0 });
  same<Metrics["work"]>(metrics.work, {
    commits: 0,
    writes: 0,
    flushes: 0,
    bytesFlushed: 0,
    compactions: 0,
    bytesCompactedIn: 0,
    bytesCompacted: 0,
    failedCompactions: 0,
    passedPartitions: 0,
    longestSliceUs: 0,
  });
  same<Metrics["capacity"]>(metrics.capacity, { read: 0, write: 0, readPerSecond: 0, writePerSecond: 0 });
  same<Metrics["operations"]>(metrics.operations, {
    PutRow: 0,
    UpdateRow: 0,
    DeleteRow: 0,
    GetRow: 0,
    BatchGetRow: 0,
    GetRange: 0,
    CountRows: 0,
    BatchWriteRow: 0,
    StartLocalTransaction: 0,
    CommitTransaction: 0,
    AbortTransaction: 0,
    AzureTable: 0,
    TableStore: 0,
    Atomic: 0,
    DeleteRange: 0,
  });
  same<Metrics["operations"]["PutRow"]>(metrics.operations.PutRow, {
    requests: 0,
    errors: 0,
    requestsPerSecond: 0,
    meanLatencyMs: 0,
    p50LatencyMs: 0,
    p99LatencyMs: 0,
  });
  assert.deepEqual([metrics.operations.PutRow.requests, metrics.operations.PutRow.errors, metrics.capacity.write], [1, 0, 1]);
  const tree = metrics.trees.find(({ tableName }) => tableName === "t")!;
  same<Metrics["trees"][number]>(tree, { tree: 0, tableName: 0, levels: 0, partitions: 0 });
  same<Metrics["trees"][number]["levels"][number]>(tree.levels[0], { level: 0, segments: 0, bytes: 0, entries: 0 });
  same<Metrics["trees"][number]["partitions"][number]>(tree.partitions[0], { partitionId: 0, bytes: 0, entries: 0, operationsPerSecond: 0 });
  await db.close();
});

test("an administrative call under way at close settles", { skip }, async () => {
  const db = await open();
  const settled = Promise.allSettled([db.compact(), db.metrics()]);
  await db.close();
  await settled;
});

test("an error of another WebAssembly module of the page leaves the engine alone", { skip }, async () => {
  const listeners: ((event: { error: unknown }) => void)[] = [];
  const scope = globalThis as { addEventListener?: unknown };
  const before = Object.getOwnPropertyDescriptor(scope, "addEventListener");
  Object.defineProperty(scope, "addEventListener", {
    configurable: true,
    value: (_type: string, listener: (event: { error: unknown }) => void) => listeners.push(listener),
  });
  try {
    const db = await open();
    for (const listener of listeners) listener({ error: new WebAssembly.RuntimeError("unreachable") });
    assert.deepEqual(await db.listTable(), []);
    await db.close();
    await (await open()).close();
  } finally {
    if (before === undefined) Reflect.deleteProperty(scope, "addEventListener");
    else Object.defineProperty(scope, "addEventListener", before);
  }
});

/**
 * Runs a body with a package of its own, whose engine traps from some moment on: after a trap the module cannot be used in this thread.
 * The module is not made to trap. Its exports, called by its own glue, stand in for those that do: once it is `broken`, or after its
 * `last` call.
 */
async function trapping(
  what: string,
  trap: () => Error,
  body: (own: Package, engine: { broken: boolean; calls: number; last: number }) => Promise<void>,
): Promise<void> {
  const { Instance } = WebAssembly;
  const engine = { broken: false, calls: 0, last: Infinity };
  const breakable =
    (run: Function) =>
    (...args: unknown[]): unknown => {
      engine.calls += 1;
      if (engine.broken || engine.calls > engine.last) throw trap();
      return run(...args);
    };
  WebAssembly.Instance = class {
    exports: WebAssembly.Exports;
    constructor(module: WebAssembly.Module, imports: WebAssembly.Imports) {
      const entries = Object.entries(new Instance(module, imports).exports);
      this.exports = Object.fromEntries(entries.map(([name, value]) => [name, typeof value === "function" ? breakable(value) : value]));
    }
  } as never;
  // Callbacks of the engine meet the trap too. The test runner would call that a failure of the test.
  const events = ["uncaughtException", "unhandledRejection"] as const;
  const before = events.map((event) => process.listeners(event as "uncaughtException"));
  for (const event of events) process.removeAllListeners(event).on(event, () => {});
  try {
    await body((await import(`${pathToFileURL(entry).href}?${encodeURIComponent(what)}`)) as Package, engine);
  } finally {
    WebAssembly.Instance = Instance;
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (const [i, event] of events.entries()) {
      process.removeAllListeners(event);
      for (const listener of before[i]) process.on(event, listener);
    }
  }
}

for (const [what, trap] of [
  ["a trap", () => new WebAssembly.RuntimeError("unreachable")],
  ["the end of the stack in the engine", () => new RangeError("Maximum call stack size exceeded")],
] as const)
  test(`${what} fails the instance, and nothing calls the module again`, { skip }, () =>
    trapping(what, trap, async ({ open: openHere }, engine) => {
      const db = await openHere("demo", { storage: "memory" });
      const health: string[] = [];
      db.addEventListener("health", ({ error }) => health.push(error!.message));
      engine.broken = true;
      const { name, message } = trap();
      const failed = code("OTSInternalServerError", new RegExp(message));
      await Promise.all(
        [db.putRow({ tableName: "t", primaryKey: { id: 1 } }), db.listTable(), db.getRow({ tableName: "t", primaryKey: { id: 1 } })].map((call) =>
          assert.rejects(call, failed),
        ),
      );
      assert.deepEqual([health, db.closed], [[`The engine failed: ${name}: ${message}`], true]);
      engine.calls = 0;
      await assert.rejects(db.listTable(), failed);
      await db.close();
      await assert.rejects(openHere("demo", { storage: "memory" }), code("Unavailable", /failed earlier in this thread/));
      assert.equal(engine.calls, 0);
    }),
  );

test("a trap anywhere while an engine is opened, used and closed is told: nobody waits for ever", { skip, timeout: 60_000 }, async () => {
  const trap = (): Error => new WebAssembly.RuntimeError("unreachable");
  const told: Record<string, number> = {};
  let ended = false;
  for (let last = 0; !ended; last++) {
    await trapping(`after ${last} calls`, trap, async ({ open: openHere, TabStoreError: Refusal }, engine) => {
      engine.last = last;
      let step = "open";
      try {
        const db = await openHere("demo", { storage: "memory" });
        step = "call";
        await db.listTable();
        step = "close";
        await db.close();
        ended = engine.calls <= last;
      } catch (error) {
        assert.ok(
          error instanceof Refusal && error.code === "OTSInternalServerError" && /unreachable/.test(error.message),
          `${step} after ${last} calls: ${String(error)}`,
        );
        told[step] = (told[step] ?? 0) + 1;
      }
    });
  }
  assert.deepEqual(Object.keys(told), ["open", "call", "close"]);
});

test("several instances in memory run side by side and know nothing of each other", { skip }, async () => {
  const [first, second] = await Promise.all([open(), open()]);
  await first.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  assert.deepEqual([await first.listTable(), await second.listTable()], [["t"], []]);
  await Promise.all([first.close(), second.close()]);
});

test("without IndexedDB, opening says so and does not fall back", { skip }, async () => {
  const { listInstances, open: openAny } = await load();
  await assert.rejects(openAny("demo"), code("Unavailable", /IndexedDB/));
  await assert.rejects(listInstances(), code("Unavailable", /IndexedDB/));
  await assert.rejects(openAny("x", { storage: "memory" }), code("OTSParameterInvalid", /'x'/));
});
