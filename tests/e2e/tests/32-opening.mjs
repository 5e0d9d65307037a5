// Openings that are given up, at any moment; E2E_ABORTS: how often at each (25; 120 is a long run). And `create: false`.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test, times, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

const TIMES = Number(process.env.E2E_ABORTS ?? times(25, 8));

/** Locks of ours that somebody has or waits for, once there are so few, or after ten seconds: then they are those of open instances. */
const locks = (page, left) =>
  page.evaluate(async (left) => {
    const until = performance.now() + 10_000;
    for (;;) {
      const { held, pending } = await navigator.locks.query();
      const names = [...held, ...pending]
        .map(({ name }) => name)
        .filter((name) => name.startsWith("tabstore/"))
        .sort();
      if (names.length <= left || performance.now() > until) return names;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }, left);

/** How many workers a page has. The browser tells of their ends some time later. */
async function workers(page) {
  for (let tries = 0; tries < 1000 && page.workers().length > 0; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  return page.workers().length;
}

for (const worker of turns([true, false])) {
  const place = worker ? "worker" : "in the page";
  test(
    `open: who gives an opening up, closes or deletes, and opens again without waiting, is not refused by himself (${place})`,
    async (t) => {
      const server = await servePackage(t);
      const page = await openPage(t, await startBrowser(t), server);
      const failures = await page.evaluate(
        async ({ worker, times }) => {
          const failures = [];
          const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
          const note = (what) => (error) => void failures.push(`${what}: ${error.code}: ${error.message}`);
          for (let i = 0; i < times; i++) {
            const control = new AbortController();
            const first = T.open("again", { worker, signal: control.signal });
            first.catch(() => {});
            await pause(Math.random() * 40);
            control.abort();
            first.then(
              (db) => db.close(),
              () => {},
            );
            // Another spelling of the same name.
            const db = await T.open("Again", { worker }).catch(note("given up"));
            if (db === undefined) continue;
            if (!(await db.listTable()).includes("t")) await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
            for (let id = 0; id < 5000; id++) void db.putRow({ tableName: "t", primaryKey: { id: i * 5000 + id } });
            const closing = db.close();
            const next = await T.open("again", { worker }).catch(note("closed"));
            if (next === undefined) continue;
            // Calls of two handles have no order, and the handle may share the engine of the one that closes.
            await closing;
            const { rows } = await next.getRange({ tableName: "t", start: { id: i * 5000 }, end: { id: i * 5000 + 5000 } });
            if (rows.length !== 5000) failures.push(`${rows.length} rows`);
            void next.close();
            if (i % 5 !== 4) continue;
            const deleting = T.deleteInstance("again").catch(note("deleted"));
            const fresh = await T.open("again", { worker }).catch(note("opened while it is deleted"));
            await deleting;
            if (fresh !== undefined && (await fresh.listTable()).length > 0) failures.push("what was deleted is there");
            await fresh?.close();
          }
          // What is open is not deleted.
          const held = await T.open("again", { worker });
          const refused = await H.refusal(T.deleteInstance("again"));
          if (refused.code !== "Busy") failures.push(`a deletion: ${refused.code}`);
          await held.close();
          return failures;
        },
        { worker, times: TIMES },
      );
      assert.deepEqual(failures, []);
    },
    { seconds: 120 },
  );

  test(
    `open, signal: whenever an opening is given up, the next one of the same name succeeds at once (${place})`,
    async (t) => {
      const server = await servePackage(t);
      const page = await openPage(t, await startBrowser(t), server);
      const seen = await page.evaluate(
        async ({ worker, times }) => {
          const reason = new Error("enough");
          const moments = {
            before: (control) => control.abort(reason),
            "in the microtask after": (control) => queueMicrotask(() => control.abort(reason)),
            "0 to 10 ms after": (control) => setTimeout(() => control.abort(reason), Math.random() * 10),
            "0 to 80 ms after": (control) => setTimeout(() => control.abort(reason), Math.random() * 80),
            "after success": (control, opening) =>
              opening.then(
                () => control.abort(reason),
                () => {},
              ),
          };
          const failures = [];
          const counts = {};
          let slowest = 0;
          await (await T.open("given-up", { worker })).close();
          for (const [moment, abort] of Object.entries(moments)) {
            counts[moment] = [0, 0];
            for (let i = 0; i < times; i++) {
              const control = new AbortController();
              let aborted = 0;
              control.signal.addEventListener("abort", () => (aborted = performance.now()));
              if (moment === "before") abort(control);
              const opening = T.open("given-up", { worker, signal: control.signal });
              if (moment !== "before") abort(control, opening);
              try {
                const db = await opening;
                counts[moment][0] += 1;
                await db.close();
              } catch (error) {
                counts[moment][1] += 1;
                slowest = Math.max(slowest, performance.now() - aborted);
                if (error !== reason) failures.push(`${moment}: rejected with ${error}`);
              }
              // In turn beside it and in the same place: one lock stands before both.
              const next = await H.refusal(async () => (await T.open("given-up", { worker: i % 2 === 0 ? worker : !worker })).close());
              if (next.refused) {
                failures.push(`${moment}: the next opening: ${next.code}: ${next.message}`);
                await (await H.openSoon("given-up", { worker })).close();
              }
            }
          }
          return { failures: failures.slice(0, 5), failed: failures.length, counts, slowest };
        },
        { worker, times: TIMES },
      );
      assert.deepEqual([seen.failed, seen.failures], [0, []]);
      assert.deepEqual(
        [seen.counts.before, seen.counts["after success"]],
        [
          [0, TIMES],
          [TIMES, 0],
        ],
      );
      assert.ok(seen.counts["0 to 10 ms after"][1] > 0, "some were given up under way");
      assert.deepEqual(await locks(page, 0), [], "no lock is left");
      assert.equal(await workers(page), 0, "no worker is left");
      t.note(`opened, given up: ${JSON.stringify(seen.counts)}; the slowest rejected ${seen.slowest.toFixed(0)} ms after it was given up`);
    },
    { seconds: 60 + 2 * TIMES },
  );

  test(`open, signal: while its code is still being loaded, an opening that is given up rejects at once (${place})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const seen = await page.evaluate(async (worker) => {
      const control = new AbortController();
      let load;
      const wasm = new Promise((resolve) => (load = resolve));
      const opening = H.refusal(() => T.open("loading", { worker, wasm, signal: control.signal }));
      await new Promise((resolve) => setTimeout(resolve, 200));
      control.abort(new Error("enough"));
      // It waits for nothing outside this thread, which has its turn before any timer.
      const { message } = await Promise.race([opening, new Promise((resolve) => setTimeout(resolve, 0, { message: "later" }))]);
      // Nor does it begin when the code comes.
      load(await fetch("pkg/tabstore_bg.wasm"));
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { message, instances: await T.listInstances() };
    }, worker);
    assert.equal(seen.message, "enough");
    assert.deepEqual(seen.instances, []);
    assert.deepEqual([await locks(page, 0), await workers(page)], [[], 0]);
  });

  test(`open, signal: an opening that hangs is cut off after two seconds, and changes nothing when it wakes (${place})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const seen = await page.evaluate(async (worker) => {
      const first = await T.open("hangs", { worker });
      await first.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      await first.close();
      // A stranger's connection that does not make way for a deletion: the browser lets every opening wait behind it.
      const stranger = await new Promise((resolve) => (indexedDB.open("tabstore/hangs").onsuccess = ({ target }) => resolve(target.result)));
      const deletion = new Promise((resolve) => {
        const request = indexedDB.deleteDatabase("tabstore/hangs");
        request.onblocked = resolve;
      });
      await deletion;
      const control = new AbortController();
      const opening = H.refusal(() => T.open("hangs", { worker, signal: control.signal }));
      await new Promise((resolve) => setTimeout(resolve, 200));
      const started = performance.now();
      control.abort(new Error("enough"));
      const { message } = await opening;
      const took = performance.now() - started;
      const { held } = await navigator.locks.query();
      const next = T.open("hangs", { worker, lost: "recreate" });
      await new Promise((resolve) => setTimeout(resolve, 100));
      stranger.close();
      const db = await next;
      await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      const writes = [];
      for (let k = 0; k < 20; k++) {
        writes.push((await H.refusal(() => db.putRow({ tableName: "t", primaryKey: { k: String(k) } }))).message);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await db.close();
      return { message, took, held: held.map(({ name }) => name), writes };
    }, worker);
    assert.equal(seen.message, "enough");
    assert.ok(seen.took > 1000 && seen.took < 10_000, `it took ${seen.took} ms`);
    assert.deepEqual(seen.held, []);
    assert.deepEqual(seen.writes, Array.from({ length: 20 }), "nobody comes between");
    assert.deepEqual([await locks(page, 0), await workers(page)], [[], 0]);
  });
}

test("deleteInstance, signal: whenever a deletion is given up, an opening of the same name succeeds at once", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const seen = await page.evaluate(async (times) => {
    const failures = [];
    let given = 0;
    for (let i = 0; i < times; i++) {
      const first = await H.refusal(async () => (await T.open("deleted", { worker: false })).close());
      if (first.refused) failures.push(first.message);
      const control = new AbortController();
      const deletion = H.refusal(() => T.deleteInstance("deleted", { signal: control.signal }));
      setTimeout(() => control.abort(new Error("enough")), Math.random() * 8);
      if ((await deletion).refused) given += 1;
    }
    return { failures, given };
  }, TIMES);
  assert.deepEqual(seen.failures, []);
  assert.ok(seen.given > 0);
  t.note(`${seen.given} of ${TIMES} were given up under way`);
});

for (const worker of turns([true, false])) {
  test(`storage: "memory": each opening of one name has a store of its own, which is gone when closed (${worker ? "worker" : "in the page"})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const seen = await page.evaluate(async (worker) => {
      const options = { worker, storage: "memory" };
      const [one, two] = await Promise.all([T.open("apart", options), T.open("apart", options)]);
      await one.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      const tables = [await one.listTable(), await two.listTable()];
      await one.close();
      const three = await T.open("apart", options);
      tables.push(await three.listTable(), await T.listInstances());
      const persistence = [two.persistence, three.persistence];
      await two.close();
      await three.close();
      return { tables, persistence };
    }, worker);
    assert.deepEqual(seen, { tables: [["t"], [], [], []], persistence: ["memory", "memory"] });
  });

  test(`create: false refuses what is not there, also in memory, where nothing ever is before its opening (${worker ? "worker" : "in the page"})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const [stored, memory, wrong] = await page.evaluate(
      async (worker) =>
        Promise.all([
          H.refusal(() => T.open("nowhere", { worker, create: false })),
          H.refusal(() => T.open("nowhere", { worker, create: false, storage: "memory" })),
          H.refusal(() => T.open("no where", { worker, create: false, storage: "memory" })),
        ]),
      worker,
    );
    assert.equal(stored.code, "OTSObjectNotExist", stored.message);
    assert.deepEqual(memory, stored);
    assert.equal(wrong.code, "OTSParameterInvalid", wrong.message);
    assert.deepEqual([await locks(page, 0), await workers(page)], [[], 0]);
  });
}
