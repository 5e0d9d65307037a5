// Several handles of one page on one instance: one engine, with a session for each; closed with the last of them.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

/**
 * The page's workers, and the locks that it asks for or has, once both are gone, or after ten seconds. `terminate` tells the debugger at
 * once. The worker's lock goes with its thread, which may end a little later.
 */
async function left(page) {
  for (let tries = 0; ; tries++) {
    const names = await page.evaluate(async () =>
      Object.values(await navigator.locks.query())
        .flat()
        .map(({ name }) => name),
    );
    const left = [page.workers().length, names];
    if ((left[0] === 0 && names.length === 0) || tries === 1000) return left;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

for (const worker of turns([true, false])) {
  const place = worker ? "worker" : "in the page";

  test(`handles: the same instance opened many times in one page is one engine, until the last handle is closed (${place})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const seen = await page.evaluate(async (worker) => {
      const [one, two] = await Promise.all([T.open("Handles", { worker, integers: "bigint" }), T.open("handles", { worker })]);
      await one.createTable({
        tableName: "t",
        primaryKey: [
          { name: "k", type: "STRING" },
          { name: "n", type: "INTEGER" },
        ],
        enableLocalTransaction: true,
      });
      const three = await T.open("handles");
      const put = (db, n) => db.putRow({ tableName: "t", primaryKey: { k: "a", n }, attributes: { v: n } });
      // R5: a write that has resolved is seen by all.
      await Promise.all([one, two, three].map((db, n) => put(db, n)));
      const counts = await Promise.all([one, two, three].map(async (db) => (await db.count({ tableName: "t" })).count));
      const kinds = await Promise.all([one, two].map(async (db) => typeof (await H.all(db, { tableName: "t" }))[0].primaryKey.n));
      // A transaction is one handle's: others wait for its rows, and it ends with its handle.
      const tx = await three.startLocalTransaction({ tableName: "t", partitionKey: { k: "a" } });
      await tx.putRow({ tableName: "t", primaryKey: { k: "a", n: 9 } });
      const hidden = (await two.getRow({ tableName: "t", primaryKey: { k: "a", n: 9 } })).row === null;
      await three.close();
      await put(two, 4);
      // Rows on their way in one handle's writer are that handle's too.
      const writer = one.writer("t");
      for (let n = 100; n < 5100; n++) {
        const wait = writer.put({ primaryKey: { k: "b", n } });
        if (wait) await wait;
      }
      const { rows } = await writer.close();
      await one.close();
      const after = await H.refusal(() => one.listTable());
      const refused = await H.refusal(() => T.deleteInstance("handles"));
      const count = (await two.count({ tableName: "t" })).count;
      await two.close();
      await T.deleteInstance("handles");
      return { counts, kinds, hidden, rows, after: after.code, refused: [refused.code, refused.message], count };
    }, worker);
    assert.deepEqual(seen, {
      counts: [3, 3, 3],
      kinds: ["bigint", "number"],
      hidden: true,
      rows: 5000,
      after: "Closed",
      refused: ["Busy", "The instance 'handles' is open in this page. Close its handles first: await db.close()."],
      count: 5004,
    });
    assert.deepEqual(await left(page), [0, []]);
  });

  test(`handles: mount, unmount, mount, at any pace and without waiting: never Busy, and one engine at a time (${place})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const failures = await page.evaluate(async (worker) => {
      const failures = [];
      const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const fail = (what) => (error) => void failures.push(`${what}: ${error.code}: ${error.message}`);
      for (let i = 0; i < 30; i++) {
        const first = T.open("mounts", { worker });
        const closed = first.then((db) => db.close());
        if (i % 3 === 1) await pause(Math.random() * 30);
        if (i % 3 === 2) await first;
        const second = await T.open("mounts", { worker }).catch(fail("second"));
        await second?.listTable().catch(fail("list"));
        await closed.catch(fail("close"));
        await second?.listTable().catch(fail("list again"));
        const last = second?.close();
        const third = await T.open("mounts", { worker }).catch(fail("third"));
        await third?.listTable().catch(fail("third list"));
        await Promise.all([last, third?.close()]).catch(fail("third close"));
      }
      return failures;
    }, worker);
    assert.deepEqual(failures, []);
    assert.deepEqual(await left(page), [0, []]);
  });

  test(`handles: an engine that ends from outside ends all its handles by name, and the next opening starts afresh (${place})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const seen = await page.evaluate(async (worker) => {
      const handles = await Promise.all([T.open("ended", { worker }), T.open("ended", { worker })]);
      const heard = handles.map((db) => new Promise((resolve) => db.addEventListener("health", ({ error }) => resolve(error.code))));
      await new Promise((resolve) => setTimeout(resolve, 0));
      indexedDB.deleteDatabase("tabstore/ended");
      const codes = await Promise.all(heard);
      const refused = await Promise.all(handles.map((db) => H.refusal(() => db.listTable())));
      const { code: lost } = await H.refusal(() => T.open("ended", { worker }));
      const again = await T.open("ended", { worker, lost: "recreate" });
      const tables = await again.listTable();
      for (const db of [...handles, again]) await db.close();
      return { codes, refused: refused.map(({ code }) => code), lost, tables };
    }, worker);
    assert.deepEqual(seen, { codes: ["Closed", "Closed"], refused: ["Closed", "Closed"], lost: "DataLost", tables: [] });
  });

  test(`handles: options of the engine that differ are refused by name; those of the caller are its own (${place})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const seen = await page.evaluate(async (worker) => {
      const first = await T.open("options", { worker, durability: "strict", kind: "capacity" });
      const joined = await T.open("options", {
        cacheBytes: 16 * 1024 * 1024,
        memtableBytes: 8 * 1024 * 1024,
        reserveBytes: 2 * 1024 * 1024,
        integers: "bigint",
        create: false,
      });
      const refusals = [];
      for (const options of [
        { durability: "relaxed" },
        { cacheBytes: 1024 },
        { kind: "high-performance" },
        { clock: { now: 5 } },
        { worker: !worker },
        { salvage: true },
      ])
        refusals.push(await H.refusal(() => T.open("options", options)));
      await joined.listTable();
      await first.close();
      await joined.close();
      return refusals.map(({ code, message }) => `${code}: ${message}`);
    }, worker);
    const has = [
      ["durability", "'relaxed'", "'strict'"],
      ["cacheBytes", "1024", "16777216"],
      ["kind", "'high-performance'", "'capacity'"],
      ["clock.now", "5", "the default"],
      ["worker", !worker, worker],
      ["salvage", true, false],
    ];
    assert.deepEqual(
      seen,
      has.map(
        ([option, given, real]) => `OTSParameterInvalid: The argument '${option}' is ${given}, but the instance 'options' is open already, with ${real}.`,
      ),
    );
  });
}
