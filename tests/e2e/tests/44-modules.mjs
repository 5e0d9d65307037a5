// The code that is loaded on first use: by which calls, and what happens where it cannot be loaded.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { led, open } from "../support/tabs.mjs";

/** The modules that the pages of a server have asked for, each as often as it was asked for. */
const modules = ({ asked }) => asked.flatMap((name) => /^\/pkg\/tabstore_(?!bg)(\w+)\.wasm$/.exec(name)?.[1] ?? []);

/** What nearly every page does. */
async function store(options) {
  const db = (globalThis.db = await T.open("pages", options));
  await db.createTable({
    tableName: "t",
    primaryKey: [{ name: "id", type: "INTEGER" }],
    definedColumns: [{ name: "n", type: "INTEGER" }],
    indexes: [{ indexName: "by", primaryKey: ["n"] }],
  });
  const writer = db.writer("t");
  for (let id = 0; id < 2000; id++) await writer.put({ primaryKey: { id }, attributes: { n: -id, s: `took ${id} ms` } });
  await writer.close();
  await db.updateRow({ tableName: "t", primaryKey: { id: 5 }, increment: { n: 1 } });
  await db.batchWriteRow([{ tableName: "t", put: { primaryKey: { id: 2000 }, attributes: { n: 1 } } }]);
  const transaction = await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 7 } });
  await transaction.putRow({ tableName: "t", primaryKey: { id: 7 }, attributes: { n: 7 } });
  await transaction.commit();
  await db.flush();
  let rows = 0;
  for await (const page of db.scanPages({ tableName: "by" })) rows += page.length;
  const { count } = await db.count({ tableName: "t", filter: { column: "n", comparator: "GREATER_THAN", value: 0 } });
  return { rows, count, tables: await db.listTable() };
}

test(
  "what a page downloads before its first row is what the README says, and the module for files comes beside the core",
  async (t) => {
    const server = await servePackage(t);
    const core = "/pkg/tabstore_bg.wasm";
    const beside = "/pkg/tabstore_files.wasm";
    // Who asks for the module only once the core is there waits for ever.
    server.held.set(
      core,
      (async () => {
        while (!server.asked.includes(beside)) await new Promise((resolve) => setTimeout(resolve, 5));
      })(),
    );
    const page = await openPage(t, await startBrowser(t), server);
    await page.evaluate(async () => {
      const db = await T.open("first");
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { a: 1 } });
      await db.getRange({ tableName: "t", start: { id: T.INF_MIN } });
    });
    const files = [...new Set(server.asked)].filter((name) => name.startsWith("/pkg/"));
    const sizes = (pack, of) => of.map((name) => pack(server.files.get(name))).reduce((sum, packed) => sum + packed.length, 0) / 1024;
    const gzip = (of) => sizes((body) => gzipSync(body, { level: 9 }), of);
    const readme = readFileSync(new URL("../../../pkg/README.md", import.meta.url), "utf8").replace(/\s+/g, " ");
    const [, count, all, brotli, first, rest] =
      /downloads (\d+) files before its first row, (\d+) KB gzip \((\d+) KB brotli\) of JavaScript and WebAssembly: the core of (\d+), and (\d+) for the log/
        .exec(readme)
        .map(Number);
    assert.deepEqual(files.length, count, files.join(" "));
    const close = (measured, said, what) => assert.ok(Math.abs(measured - said) <= 2, `${what}: ${measured.toFixed(1)} KB, and the README says ${said}`);
    close(gzip(files), all, "gzip");
    close(
      sizes((body) => brotliCompressSync(body), files),
      brotli,
      "brotli",
    );
    close(gzip(files.filter((name) => name !== beside)), first, "the core");
    close(gzip([beside]), rest, "the module for files");
  },
  { needs: ["files"] },
);

async function slow() {
  const valueTransferRule = { regex: "([0-9]+)", castType: "INTEGER" };
  return (await db.count({ tableName: "t", filter: { column: "s", comparator: "LESS_THAN", value: 10, passIfMissing: false, valueTransferRule } })).count;
}

for (const worker of turns([true, false])) {
  test(`a page that stores rows loads the core, and each module at the first call that needs it (worker: ${worker})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    assert.deepEqual(await page.evaluate(store, { worker }), { rows: 2001, count: 2, tables: ["by", "t"] });
    // The log of a worker is in files, where there are any.
    const first = [...(worker && engine.lacks.files === undefined ? ["files"] : []), "transactions"];
    assert.deepEqual(modules(server), first);
    assert.equal(await page.evaluate(slow), 9);
    assert.equal(await page.evaluate(slow), 9);
    assert.deepEqual(modules(server), [...first, "rules"]);
    await page.evaluate(async () => {
      await db.updateTable({ tableName: "t", maxVersionOffset: 3600 });
      await db.metrics();
    });
    assert.deepEqual(modules(server), [...first, "rules", "occasional"]);
    await page.evaluate(async () => {
      await db.compact();
      await db.close();
      globalThis.db = await T.open("dense", { kind: "capacity" });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      for (let id = 0; id < 300; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { s: `row ${id % 7}` } });
      await db.flush();
      await db.close();
    });
    // With worker: true each instance has a worker of its own, which asks again only for what it needs.
    const again = worker || engine.lacks.files !== undefined ? [] : ["files"];
    assert.deepEqual(modules(server), [...first, "rules", "occasional", "compaction", ...again, "dense"]);
  });

  test(`a module that cannot be loaded fails its call by name, and is loaded by the next one (worker: ${worker})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    await page.evaluate(store, { worker });
    for (const name of ["rules", "occasional", "compaction"]) server.failing.add(`/pkg/tabstore_${name}.wasm`);
    const refused = await page.evaluate(async (slow) => {
      globalThis.slow = eval(`(${slow})`);
      const calls = [() => globalThis.slow(), () => db.metrics()];
      const refusals = await Promise.all(calls.map((call) => H.refusal(call)));
      // Rows are written and read all the same.
      await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { s: "took 1 ms" } });
      return { refusals, row: (await db.getRow({ tableName: "t", primaryKey: { id: 1 } })).row.get("s") };
    }, slow.toString());
    assert.equal(refused.row, "took 1 ms");
    // A compaction by hand needs two modules.
    server.failing.delete("/pkg/tabstore_occasional.wasm");
    refused.refusals.push(await page.evaluate(() => H.refusal(() => db.compact())));
    ["rules", "occasional", "compaction"].forEach((name, i) => {
      const { known, code, message } = refused.refusals[i];
      assert.ok(known && code === "Unavailable", `${name}: ${JSON.stringify(refused.refusals[i])}`);
      assert.match(message, new RegExp(`The module '${name}' of TabStore could not be loaded: .*503.*init`));
    });
    server.failing.clear();
    const healed = await page.evaluate(async () => {
      await db.compact();
      return { slow: await globalThis.slow(), kind: (await db.metrics()).kind };
    });
    assert.deepEqual(healed, { slow: 9, kind: "high-performance" });
    await page.evaluate(() => db.close());
  });
}

test("JavaScript that cannot be loaded on first use fails its call by name, with what to do, and the instance goes on", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  await page.evaluate(store, {});
  const parts = [...server.files.keys()].filter((name) => /^\/pkg\/(import|verify|storage)-\w+\.js$/.test(name));
  assert.equal(parts.length, 3, parts.join());
  for (const part of parts) server.failing.add(part);
  const { refusals, rows } = await page.evaluate(async () => {
    const first = async (found) => (await found.next()).value;
    const calls = [
      () => db.importRows("t", [{ id: 1 }]),
      () => T.inspectImport(new Blob(["id\n1\n"])),
      () => first(db.verify({ texts: true })),
      () => db.storage(),
      () => db.persist(),
    ];
    return { refusals: await Promise.all(calls.map((call) => H.refusal(call))), rows: (await db.count({ tableName: "t" })).count };
  });
  for (const { known, code, message } of refusals) {
    assert.deepEqual([known, code], [true, "Unavailable"], message);
    assert.match(message, /^A part of TabStore could not be loaded: .*tabstore\/inline/);
  }
  assert.equal(rows, 2001);
});

test("I4: a capacity instance without the code of dense blocks opens, and writes blocks that every opening reads", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  server.failing.add("/pkg/tabstore_dense.wasm");
  const fill = async () => {
    const db = await T.open("frugal", { kind: "capacity" });
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] }).catch(() => {});
    for (let id = 0; id < 3000; id++) await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { s: `row ${(id * 7919) % 1000}`, n: id % 50 } });
    await db.compact();
    const { segments, kind } = await db.metrics();
    const { count } = await db.count({ tableName: "t", filter: { column: "n", comparator: "EQUAL", value: 7 } });
    await db.close();
    return { bytes: segments.bytes, kind, count };
  };
  const fast = await page.evaluate(fill);
  server.failing.clear();
  const dense = await page.evaluate(fill);
  assert.deepEqual([fast.kind, fast.count, dense.kind, dense.count], ["capacity", 60, "capacity", 60]);
  assert.ok(dense.bytes < 0.9 * fast.bytes, `${dense.bytes} of ${fast.bytes}`);
});

test("many rows are written as others are where the module that loads them cannot be had, and loaded when it can", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  server.failing.add("/pkg/tabstore_loads.wasm");
  const write = (first) =>
    page.evaluate(async (first) => {
      globalThis.db ??= await T.open("pages", {});
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] }).catch(() => {});
      const writer = db.writer("t");
      for (let id = first; id < first + 20_000; id++) await writer.put({ primaryKey: { id }, attributes: { s: `row ${id}` } });
      await writer.close();
      const { count } = await db.count({ tableName: "t" });
      return { count, log: (await db.metrics()).log.bytes };
    }, first);
  const asked = () => modules(server).filter((name) => name === "loads").length;
  const [first, refusals] = [await write(0), asked()];
  assert.equal(first.count, 20_000);
  assert.ok(refusals >= 1);
  server.failing.clear();
  // The next rows ask again after ten times as long as those before waited in vain.
  let rows = 20_000;
  let second;
  for (; asked() === refusals; rows += 20_000) {
    assert.ok(rows < 1_000_000, "nobody asks again");
    second = await write(rows);
    assert.equal(second.count, rows + 20_000);
  }
  assert.equal(asked(), refusals + 1);
  const third = await write(rows);
  assert.deepEqual([third.count, asked()], [rows + 20_000, refusals + 1]);
  // What is loaded is not in the log.
  assert.ok(third.log - second.log < first.log / 2, `${first.log}, ${second.log}, ${third.log} bytes in the log`);
  await page.evaluate(() => db.close());
});

test("a module of another build is refused by name, and the engine goes on", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const outcome = await page.evaluate(async () => {
    // The same module under another name of the core's memory: what a page gets from a server that was updated meanwhile.
    const bytes = new Uint8Array(await (await fetch("/pkg/tabstore_rules.wasm")).arrayBuffer());
    const text = new TextDecoder("latin1").decode(bytes);
    const at = /\x04core\x11m[0-9a-f]{16}|\x04core\x10m[0-9a-f]{15}/.exec(text);
    const other = bytes.slice();
    other[at.index + at[0].length - 1] ^= 1;
    T.init(new URL("/pkg/tabstore_bg.wasm", location.href), { rules: other });
    const db = await T.open("pages", {});
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { s: "took 1 ms" } });
    const valueTransferRule = { regex: "([0-9]+)", castType: "INTEGER" };
    const refused = await H.refusal(() => db.count({ tableName: "t", filter: { column: "s", comparator: "EQUAL", value: 1, valueTransferRule } }));
    const { count } = await db.count({ tableName: "t" });
    await db.close();
    return { refused, count };
  });
  assert.equal(outcome.count, 1);
  assert.ok(outcome.refused.known && outcome.refused.code === "Unavailable", outcome.refused.message);
});

for (const worker of turns([true, false])) {
  test(`a file that is not this build's core is refused by name, and the right one opens the instance (worker: ${worker})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const { refusals, tables } = await page.evaluate(async (worker) => {
      const core = new Uint8Array(await (await fetch("/pkg/tabstore_bg.wasm")).arrayBuffer());
      const text = new TextDecoder("latin1").decode(core);
      // The core of another build, with the same imports and exports but for its mark.
      const mark = /[\x10\x11]m[0-9a-f]{15,16}\x02/.exec(text);
      const other = core.slice();
      other[mark.index + mark[0].length - 2] ^= 1;
      const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
      const refusals = [];
      for (const wrong of [other, empty, new URL("/pkg/tabstore_rules.wasm", location.href)]) {
        T.init(wrong);
        refusals.push(await H.refusal(() => T.open("pages", { worker })));
      }
      T.init(core);
      const db = await T.open("pages", { worker });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      const tables = await db.listTable();
      await db.close();
      return { refusals, tables };
    }, worker);
    for (const { known, code, message } of refusals) {
      assert.ok(known && code === "Unavailable", `${code}: ${message}`);
      assert.match(message, /not the core of this build of TabStore/);
    }
    assert.deepEqual(tables, ["t"]);
  });
}

test("administrative calls keep their order at the first one that loads a module", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const tables = await page.evaluate(async () => {
    const table = { tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] };
    const db = await T.open("pages", {});
    await db.createTable(table);
    await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
    await Promise.all([db.deleteTable({ tableName: "t" }), db.createTable(table), db.createTable({ ...table, tableName: "u" })]);
    const { count } = await db.count({ tableName: "t" });
    const listed = await db.listTable();
    await db.close();
    return { count, listed };
  });
  assert.deepEqual(tables, { count: 0, listed: ["t", "u"] });
});

test("an opening that was given up while a module was loaded takes nothing from who has the instance now", async (t) => {
  const server = await servePackage(t);
  const browser = await startBrowser(t);
  const [one, other] = [await openPage(t, browser, server), await openPage(t, browser, server)];
  const refused = await one.evaluate(async () => {
    const db = await T.open("dense", { kind: "capacity" });
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    await db.close();
    const control = new AbortController();
    // Given up once it waits for the module.
    const dense = {
      then(give) {
        globalThis.give = give;
        control.abort();
      },
    };
    T.init(new URL("/pkg/tabstore_bg.wasm", location.href), { dense });
    return H.refusal(() => T.open("dense", { worker: false, signal: control.signal }));
  });
  assert.match(refused.message, /aborted/);
  await other.evaluate(async () => {
    globalThis.db = await T.open("dense", {});
    await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
  });
  await one.evaluate(async () => {
    give(new URL("/pkg/tabstore_dense.wasm", location.href));
    await (await T.open("other", { storage: "memory", kind: "capacity", worker: false })).close();
  });
  const count = await other.evaluate(async () => {
    for (let id = 2; id <= 50; id++) await db.putRow({ tableName: "t", primaryKey: { id } });
    return (await db.count({ tableName: "t" })).count;
  });
  assert.equal(count, 50);
});

test("a response serves as a module for every engine", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const kinds = await page.evaluate(async () => {
    T.init(fetch("/pkg/tabstore_bg.wasm"), { occasional: fetch("/pkg/tabstore_occasional.wasm") });
    const kinds = [];
    for (const name of ["one", "two"]) {
      const db = await T.open(name, {});
      kinds.push((await db.metrics()).kind);
      await db.close();
    }
    return kinds;
  });
  assert.deepEqual(kinds, ["high-performance", "high-performance"]);
});

/** Calls that need code that a page which only writes has not loaded. */
async function everything() {
  const steps = {
    import: () => db.importRows("t", new Blob(["id,n\n5000,1\n"]), { format: "csv" }),
    transaction: async () => (await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } })).abort(),
    stream: () => db.updateTable({ tableName: "t", stream: { enabled: true, expirationHours: 1 } }),
    changes: async () => void (await db.putRow({ tableName: "t", primaryKey: { id: 6000 } }), await db.changes({ tableName: "t", from: "oldest" }).next()),
    groups: () => db.listConsumerGroups({ tableName: "t" }),
    metrics: () => db.metrics(),
    storage: () => db.storage(),
    compact: () => db.compact(),
    verify: () => db.verify(),
    keys: () => db.createAccessKey({ rights: ["read"] }),
    rule: () =>
      db.count({
        tableName: "t",
        filter: { column: "n", comparator: "LESS_THAN", value: 10, passIfMissing: false, valueTransferRule: { regex: "([0-9]+)", castType: "INTEGER" } },
      }),
    table: () => db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], ifNotExists: true }),
    instances: () => T.listInstances(),
  };
  const refused = {};
  for (const [name, step] of Object.entries(steps)) {
    const { message } = await H.refusal(step);
    if (message !== undefined) refused[name] = message;
  }
  return refused;
}

for (const worker of turns([true, false])) {
  test(`without a network a page does all that it preloaded; what was not loaded fails by name, with what to do (worker: ${worker})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const begin = async ({ worker, preload }) => {
      globalThis.db = await T.open("offline", { worker });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], enableLocalTransaction: true }).catch(() => {});
      await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
      return preload ? H.refusal(() => db.preload()) : (await H.refusal(() => db.preload(["nothing"]))).message;
    };
    assert.match(await page.evaluate(begin, { worker, preload: false }), /The argument 'modules' is 'nothing'; it must be one of compaction, dense/);
    const { origin } = server;
    await server.stop();
    const refused = await page.evaluate(everything);
    assert.deepEqual(
      ["import", "transaction", "changes", "metrics", "compact", "rule"].filter((name) => refused[name] === undefined),
      [],
      JSON.stringify(refused),
    );
    assert.match(refused.compact, /The module '\w+' of TabStore could not be downloaded: .*db\.preload\(\) loads it in advance/);

    const again = await servePackage(t);
    assert.notEqual(again.origin, origin);
    const fresh = await openPage(t, await startBrowser(t), again);
    assert.equal((await fresh.evaluate(begin, { worker, preload: true })).message, undefined);
    await again.stop();
    assert.deepEqual(await fresh.evaluate(everything), {});
  });
}

// A worker that starts needs the network, or a cache. In the page all is there.
test("without a network a page that has preloaded follows another tab, and leads when that one closes", async (t) => {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  const [one, two] = [await openPage(t, context, server), await openPage(t, context, server)];
  for (const page of [one, two]) {
    await page.evaluate(async () => {
      const db = await T.open("offline", { worker: false });
      await db.preload();
      await db.close();
    });
  }
  await server.stop();
  assert.equal(await one.evaluate(open, { name: "offline", options: { worker: false } }), "leader");
  await one.evaluate(() => db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] }));
  assert.equal(await two.evaluate(open, { name: "offline", options: { worker: false } }), "follower");
  await two.evaluate(() => db.putRow({ tableName: "t", primaryKey: { id: 1 } }));
  await one.evaluate(() => db.close());
  await led([two]);
  assert.equal(await two.evaluate(async () => (await db.count({ tableName: "t" })).count), 1);
});

test("the list of files for a service worker names all that a page may ask for", async (t) => {
  const server = await servePackage(t);
  const listed = JSON.parse(server.files.get("/pkg/files.json"));
  assert.deepEqual(
    listed.filter((name) => !server.files.has(`/pkg/${name}`)),
    [],
  );
  const page = await openPage(t, await startBrowser(t), server);
  await page.evaluate(async () => {
    globalThis.db = await T.open("listed");
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], enableLocalTransaction: true });
    await db.preload();
  });
  assert.deepEqual(await page.evaluate(everything), {});
  const asked = new Set(server.asked.flatMap((name) => /^\/pkg\/(.+)$/.exec(name)?.[1] ?? []));
  assert.deepEqual(
    [...asked].filter((name) => !listed.includes(name)),
    [],
  );
  // All of it but what no page of this kind needs.
  assert.ok(asked.size >= listed.length - 3, `${listed.filter((name) => !asked.has(name))}`);
});
