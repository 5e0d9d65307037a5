// Rows by the thousand, and the memory of engines that come and go.

import assert from "node:assert/strict";

import { BACKENDS, openPage, reload, startBrowser } from "../support/browser.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

for (const backend of turns(BACKENDS)) {
  test(`R2: sorted rows of a writer go into segments without the log, other calls see them in call order, and they stay (${backend})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t, { backend }), server);
    const ROWS = 60_000;
    const loaded = await page.evaluate(async (ROWS) => {
      const db = await T.open("loaded");
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      const writer = db.writer("t");
      let seen;
      for (let id = 0; id < ROWS; id++) {
        const wait = writer.put({ primaryKey: { id }, attributes: { v: id, noise: H.noise(id, 60) } });
        if (wait) await wait;
        if (id === 40_000) seen = db.getRow({ tableName: "t", primaryKey: { id } });
      }
      const { rows, consumed } = await writer.close();
      const { row } = await seen;
      const { log } = await db.metrics();
      return { rows, consumed, seen: row?.get("v"), log: log.bytes };
    }, ROWS);
    assert.deepEqual([loaded.rows, loaded.consumed, loaded.seen], [ROWS, { read: 0, write: ROWS }, 40_000]);
    assert.ok(loaded.log < 1_000_000, `${loaded.log} bytes are in the log`);
    await reload(page);
    const { found, wrong } = await page.evaluate(async () => {
      const db = await H.openSoon("loaded");
      let found = 0;
      let wrong = 0;
      for await (const rows of db.scanPages({ tableName: "t" })) {
        for (const row of rows) {
          if (row.primaryKey.id !== found || row.get("v") !== found || row.get("noise") !== H.noise(found, 60)) wrong += 1;
          found += 1;
        }
      }
      await db.close();
      return { found, wrong };
    });
    assert.deepEqual([found, wrong], [ROWS, 0]);
  });

  test(`Q: rows far larger than cache and memtable are found at random and scanned, right after a reload (${backend})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t, { backend }), server);
    const options = { cacheBytes: 1024 * 1024, memtableBytes: 512 * 1024 };
    const ROWS = 100_000;
    const stored = await page.evaluate(
      async ({ options, ROWS }) => {
        const { noise } = H;
        const started = performance.now();
        const db = await T.open("large", options);
        await db.createTable({
          tableName: "t",
          primaryKey: [
            { name: "p", type: "STRING" },
            { name: "n", type: "INTEGER" },
          ],
        });
        const writer = db.writer("t");
        for (let i = 0; i < ROWS; i++) {
          // In an order that is not that of the keys.
          const n = (i * 7919) % ROWS;
          const wait = writer.put({ primaryKey: { p: `part-${n % 10}`, n }, attributes: { a: n, b: n / 3, text: noise(n), even: n % 2 === 0 } });
          if (wait) await wait;
        }
        const { rows } = await writer.close();
        const metrics = await db.metrics();
        return { rows, seconds: (performance.now() - started) / 1000, metrics };
      },
      { options, ROWS },
    );
    assert.equal(stored.rows, ROWS);
    await reload(page);
    const read = await page.evaluate(
      async ({ options, ROWS }) => {
        const { noise } = H;
        const db = await H.openSoon("large", options);
        const right = (row, n) =>
          row !== null &&
          row.primaryKey.n === n &&
          row.primaryKey.p === `part-${n % 10}` &&
          row.get("a") === n &&
          row.get("b") === n / 3 &&
          row.get("text") === noise(n) &&
          row.get("even") === (n % 2 === 0);
        let state = 12345;
        const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) % ROWS;
        let wrongGets = 0;
        let started = performance.now();
        for (let i = 0; i < 40; i++) {
          const asked = Array.from({ length: 25 }, random);
          const got = await Promise.all(asked.map((n) => db.getRow({ tableName: "t", primaryKey: { p: `part-${n % 10}`, n } })));
          wrongGets += got.filter(({ row }, j) => !right(row, asked[j])).length;
        }
        const gets = (performance.now() - started) / 1000;
        started = performance.now();
        let scanned = 0;
        let wrongRows = 0;
        let at = { p: "", n: -1 };
        for await (const page of db.scanPages({ tableName: "t" })) {
          for (const row of page) {
            scanned += 1;
            const { p, n } = row.primaryKey;
            if (!right(row, n) || p < at.p || (p === at.p && n <= at.n)) wrongRows += 1;
            at = { p, n };
          }
        }
        const scan = (performance.now() - started) / 1000;
        const metrics = await db.metrics();
        await db.close();
        return { wrongGets, scanned, wrongRows, gets, scan, metrics };
      },
      { options, ROWS },
    );
    assert.deepEqual([read.wrongGets, read.scanned, read.wrongRows], [0, ROWS, 0]);
    assert.ok(read.metrics.cache.bytes <= options.cacheBytes, `the cache holds ${read.metrics.cache.bytes}`);
    assert.ok(read.metrics.segments.bytes > 4 * options.cacheBytes, `the data is only ${read.metrics.segments.bytes} bytes`);
    assert.ok(stored.metrics.memtable.bytes <= 4 * options.memtableBytes, `the memtable holds ${stored.metrics.memtable.bytes}`);
    assert.ok(read.metrics.wasmMemoryBytes < 64 * 1024 * 1024, `wasm memory is ${read.metrics.wasmMemoryBytes}`);
    t.note(
      `${ROWS} rows in ${stored.seconds.toFixed(1)} s, ${(read.metrics.segments.bytes / 1e6).toFixed(1)} MB stored; after reload 1000 gets ${read.gets.toFixed(2)} s, scan ${read.scan.toFixed(2)} s, wasm memory ${(read.metrics.wasmMemoryBytes / 1e6).toFixed(0)} MB`,
    );
  });
}

test("Q: a closed engine gives its memory back: opening again and again in one thread takes no more", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const memory = await page.evaluate(async () => {
    const filler = "x".repeat(1000);
    const taken = [];
    for (let round = 0; round < 8; round++) {
      const db = await T.open(`again-${round}`, { worker: false });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
      // Each text is another one: a text that compresses well would take no memory.
      await db.importRows(
        "t",
        Array.from({ length: 6000 }, (_, id) => ({ primaryKey: { id }, attributes: { text: `${Math.random()}${filler}` } })),
      );
      for await (const rows of db.scanPages({ tableName: "t" })) void rows.length;
      taken.push((await db.metrics()).wasmMemoryBytes);
      await db.close();
    }
    return taken;
  });
  assert.ok(memory[7] < memory[1] + 4e6, `megabytes by round: ${memory.map((bytes) => (bytes / 1e6).toFixed(1))}`);
});
