// Ends of an open instance from outside: its data deleted, its worker gone, its frame removed. No call may wait for ever.

import assert from "node:assert/strict";

import { BACKENDS, load, openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { singles, test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { noteWorkers } from "../support/workers.mjs";

/** Opens an instance as `db`; `health` gets what its listener hears, with the moment. */
const create = async ({ name, worker, storage }) => {
  globalThis.db = await T.open(name, { worker, storage });
  globalThis.health = [];
  db.addEventListener("health", ({ healthy, error }) =>
    health.push({
      at: performance.timeOrigin + performance.now(),
      healthy,
      code: error?.code,
      message: error?.message,
      known: error instanceof T.TabStoreError,
    }),
  );
  await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
  await db.putRow({ tableName: "t", primaryKey: { k: "a" }, attributes: { v: 1 } });
};

/** Waits for the health event without making any call; gives what it said and how long after `since` it came. */
async function heard(page, since) {
  await page.waitForFunction(() => health.length > 0, undefined, { timeout: 5000, polling: 10 });
  const [one, ...more] = await page.evaluate(() => health);
  assert.deepEqual([more, one.healthy, one.known], [[], false, true]);
  return { ...one, took: one.at - since };
}

/**
 * Every later call rejects with what the event said, closing succeeds, and then the instance can be opened again. `lost`: its
 * data is gone, and the next opening says so.
 */
async function over(page, name, { code, message }, lost = false) {
  const { refusals, close, next, tables } = await page.evaluate(
    async ({ name, lost }) => {
      const key = { tableName: "t", primaryKey: { k: "b" } };
      const refusals = await Promise.all(
        [() => db.putRow(key), () => db.getRow(key), () => db.getRange({ tableName: "t" }), () => db.listTable(), () => db.compact(), () => db.metrics()].map(
          H.refusal,
        ),
      );
      const close = await H.refusal(() => db.close());
      const next = lost ? (await H.refusal(() => T.open(name))).code : "DataLost";
      const again = await T.open(name, lost ? { lost: "recreate" } : {});
      const tables = await again.listTable();
      await again.close();
      return { refusals, close, next, tables };
    },
    { name, lost },
  );
  assert.equal(next, "DataLost");
  for (const refusal of refusals) assert.deepEqual([refusal.code, refusal.message], [code, message]);
  assert.equal(close.refused, false, close.message);
  return tables;
}

for (const [backend, worker] of singles(BACKENDS, [true, false])) {
  const place = `${worker ? "worker" : "in the page"}, ${backend}`;

  test(
    `health: when the site's data is cleared, the event says so within a second, without any call (${place})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { backend });
      const page = await openPage(t, context, server);
      await page.evaluate(create, { name: "cleared", worker });
      await engine.clear(context, page, server);
      const since = Date.now();
      const said = await heard(page, since);
      assert.equal(said.code, "Closed", said.message);
      assert.match(said.message, /'tabstore\/cleared' was deleted while it was open: the site's data was cleared/);
      assert.ok(said.took < 1000, `after ${said.took} ms`);
      assert.deepEqual(await over(page, "cleared", said, true), []);
      t.note(`after ${said.took.toFixed(0)} ms: ${said.message}`);
    },
    { needs: ["clear"] },
  );

  test(`health: when the database is deleted, the event says so within a second, without any call (${place})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t, { backend }), server);
    await page.evaluate(create, { name: "deleted", worker });
    const since = await page.evaluate(async () => {
      await new Promise((resolve, reject) => {
        const request = indexedDB.deleteDatabase("tabstore/deleted");
        request.onsuccess = resolve;
        request.onerror = reject;
      });
      return performance.timeOrigin + performance.now();
    });
    const said = await heard(page, since);
    assert.equal(said.code, "Closed", said.message);
    assert.match(said.message, /'tabstore\/deleted' was deleted while it was open$/);
    assert.ok(said.took < 1000, `after ${said.took} ms`);
    assert.deepEqual(await over(page, "deleted", said, true), []);
    t.note(`after ${said.took.toFixed(0)} ms: ${said.message}`);
  });
}

for (const worker of turns([true, false])) {
  const place = worker ? "worker" : "in the page";

  test(`health: a program that opens the database with a higher version is told as that, not as a deletion (${place})`, async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    await page.evaluate(create, { name: "newer", worker });
    const seen = await page.evaluate(async () => {
      const since = performance.timeOrigin + performance.now();
      await new Promise((resolve, reject) => {
        const request = indexedDB.open("tabstore/newer", 2);
        request.onsuccess = () => resolve(request.result.close());
        request.onerror = reject;
        request.onblocked = () => reject(new Error("blocked"));
      });
      return since;
    });
    const said = await heard(page, seen);
    assert.equal(said.code, "Closed", said.message);
    assert.match(said.message, /'tabstore\/newer' was opened by another program, which gave it a version/);
    assert.doesNotMatch(said.message, /deleted/);
    const { put, close, next } = await page.evaluate(async () => ({
      put: await H.refusal(() => db.putRow({ tableName: "t", primaryKey: { k: "b" } })),
      close: await H.refusal(() => db.close()),
      next: await H.refusal(() => T.open("newer")),
    }));
    assert.deepEqual([put.code, put.message, close.refused], [said.code, said.message, false]);
    assert.equal(next.code, "Unavailable", next.message);
    assert.match(next.message, /newer version/);
    t.note(`after ${said.took.toFixed(0)} ms: ${said.message}`);
  });
}

test("a connection that the browser closed is opened again by itself while the data is there: no health event, nothing lost", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  // No switch makes Chromium do it, so the test does what the browser would, to every connection that is open.
  await page.evaluate(() => {
    globalThis.connections = [];
    const real = IDBFactory.prototype.open;
    IDBFactory.prototype.open = function (...args) {
      const request = real.apply(this, args);
      request.addEventListener("success", () => connections.push(request.result));
      return request;
    };
  });
  await page.evaluate(create, { name: "lost", worker: false });
  const seen = await page.evaluate(async () => {
    for (const connection of connections.splice(0)) {
      connection.close();
      connection.dispatchEvent(new Event("close"));
    }
    await new Promise((resolve) => setTimeout(resolve, 700));
    const again = connections.map(({ name }) => name);
    const put = await H.refusal(() => db.putRow({ tableName: "t", primaryKey: { k: "b" } }));
    const rows = (await H.all(db, { tableName: "t" })).length;
    await db.close();
    return { again, put: put.message, rows, health };
  });
  assert.deepEqual(seen, { again: ["tabstore/lost"], put: undefined, rows: 2, health: [] });
});

for (const end of ["closes itself", "is ended behind the client's back"]) {
  test(
    `in memory, a worker that ${end} leaves no call hanging: all reject with Closed, and the next opening succeeds`,
    async (t) => {
      const server = await servePackage(t);
      const page = await openPage(t, await startBrowser(t), server);
      await page.evaluate(noteWorkers);
      await page.evaluate(create, { name: "gone", worker: true, storage: "memory" });
      const [worker] = page.workers();
      const closed = end === "closes itself" ? worker.evaluate(() => self.close()).catch(() => {}) : page.evaluate(() => last.terminate());
      const seen = await page.evaluate(async () => {
        const started = performance.now();
        const timed = async (call) => ({ ...(await H.refusal(call)), took: performance.now() - started });
        const calls = Array.from({ length: 20 }, (_, i) => timed(() => db.putRow({ tableName: "t", primaryKey: { k: String(i) } })));
        calls.push(
          timed(() => db.compact()),
          timed(() => db.metrics()),
          timed(async () => (await db.scan({ tableName: "t" }).next()).value),
        );
        await new Promise((resolve) => setTimeout(resolve, 300));
        calls.push(timed(() => db.listTable()));
        const refusals = await Promise.all(calls);
        const close = await H.refusal(() => db.close());
        const next = await H.refusal(async () => (await T.open("gone", { storage: "memory" })).close());
        return { refusals: refusals.filter(({ refused }) => refused), last: refusals.at(-1), close, next, health };
      });
      await closed;
      for (const { known, code, message, took } of seen.refusals) {
        assert.ok(known && code === "Closed", `${code}: ${message}`);
        assert.match(message, /worker has ended/);
        assert.ok(took < 10_000, `after ${took} ms`);
      }
      assert.ok(seen.last.refused);
      assert.deepEqual(
        seen.health.map(({ code }) => code),
        ["Closed"],
      );
      assert.deepEqual([seen.close.message, seen.next.message], [undefined, undefined]);
      const waited = seen.refusals.map(({ took }) => took).filter((took) => took < 300);
      t.note(`${waited.length} calls were under way, rejected after at most ${Math.max(0, ...waited).toFixed(0)} ms: ${seen.last.message}`);
    },
    { needs: end === "closes itself" ? ["workers"] : [] },
  );
}

/** What may become of an engine that lives in a worker, and how the page's listeners are told. */
const DEATHS = {
  "a worker that closes itself": {
    kill: (page) =>
      page
        .workers()[0]
        .evaluate(() => self.close())
        .catch(() => {}),
    code: "Closed",
    needs: ["workers"],
  },
  "a worker that is ended behind the client's back": { kill: (page) => page.evaluate(() => last.terminate()), code: "Closed" },
  "an engine that traps": { kill: (page) => page.evaluate(() => last.postMessage("trap")), code: "OTSInternalServerError", path: "/trapping/" },
};

/** Until a fresh engine answers: many calls at once, some of them before the death. Gives what became of them. */
const during = async () => {
  const made = {};
  const outcome = (name, call) =>
    (made[name] = call.then(
      () => "done",
      ({ code, message }) => `${code}: ${message}`,
    ));
  for (let i = 0; i < 20; i++) outcome(`put ${i}`, db.putRow({ tableName: "t", primaryKey: { k: `p${i}` }, attributes: { v: 1 } }));
  outcome("get", db.getRow({ tableName: "t", primaryKey: { k: "a" } }));
  outcome("list", db.listTable());
  outcome("flush", db.flush());
  const all = async () => Object.fromEntries(await Promise.all(Object.entries(made).map(async ([name, call]) => [name, await call])));
  return all();
};

for (const [what, { kill, code, needs = [], path = "/" }] of Object.entries(DEATHS)) {
  test(
    `${what} is replaced by a fresh one: handles go on, and what was acknowledged is there`,
    async (t) => {
      const server = await servePackage(t);
      const page = await openPage(t, await startBrowser(t), server, path);
      await page.evaluate(noteWorkers);
      await page.evaluate(create, { name: "gone", worker: true });
      await page.evaluate(`globalThis.during = ${during}`);
      const stored = await page.evaluate(async () => {
        globalThis.other = await T.open("gone");
        globalThis.leads = [];
        db.addEventListener("leader", ({ role }) => leads.push(role));
        // More than a page of a scan, so that the iterator is in the middle.
        await Promise.all(Array.from({ length: 6000 }, (_, i) => db.putRow({ tableName: "t", primaryKey: { k: `s${i}` } })));
        globalThis.rows = db.scan({ tableName: "t" });
        globalThis.scanned = [(await rows.next()).value.primaryKey.k];
        globalThis.transaction = await db.startLocalTransaction({ tableName: "t", partitionKey: { k: "tx" } });
        return 6001;
      });
      const calls = page.evaluate(() => during());
      await kill(page);
      const outcomes = await calls;
      for (const [name, outcome] of Object.entries(outcomes)) {
        if (name.startsWith("put")) assert.match(outcome, /^(done$|LeaderChanged: The engine of the instance 'gone' has ended)/, name);
        else assert.equal(outcome, "done", name);
      }
      // Whatever was under way has come to its end, and the death is noticed.
      await page.waitForFunction(() => health.length > 1, undefined, { timeout: 10_000, polling: 10 });
      const seen = await page.evaluate(async () => {
        for await (const row of rows) scanned.push(row.primaryKey.k);
        const commit = await H.refusal(() => transaction.commit());
        const puts = new Set((await H.all(other, { tableName: "t" })).map((row) => row.primaryKey.k));
        await other.putRow({ tableName: "t", primaryKey: { k: "after" } });
        const { row } = await db.getRow({ tableName: "t", primaryKey: { k: "after" } });
        const { role } = db;
        await other.close();
        await db.close();
        const again = await T.open("gone", { worker: false });
        const rest = (await H.all(again, { tableName: "t" })).length;
        await again.close();
        return {
          commit,
          puts: [...puts],
          after: row !== null,
          role,
          health: health.map(({ healthy, code }) => [healthy, code]),
          rest,
          scanned: new Set(scanned).size,
          leads,
        };
      });
      const [first, second, ...more] = seen.health;
      assert.deepEqual([first, second?.[0], more], [[true, code], true, []]);
      for (let i = 0; i < 20; i++) if (outcomes[`put ${i}`] === "done") assert.ok(seen.puts.includes(`p${i}`), `put ${i}`);
      assert.ok(Array.from({ length: 6000 }, (_, i) => `s${i}`).every((k) => seen.puts.includes(k)) && seen.puts.includes("a"));
      assert.ok(seen.scanned >= stored, `${seen.scanned} rows by the iterator`);
      assert.ok(seen.commit.refused && seen.commit.known, seen.commit.message);
      assert.deepEqual([seen.after, seen.role, seen.rest, seen.leads], [true, "leader", seen.puts.length + 1, ["leader"]]);
      const unknown = Object.values(outcomes).filter((outcome) => outcome !== "done").length;
      t.note(`${unknown} of 20 puts are unknown; the transaction: ${seen.commit.code}`);
    },
    { needs },
  );
}

test("an engine that traps in the leading tab: a follower's calls are all done, once", async (t) => {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  // Nobody catches what the callbacks of an engine that is being opened throw, and this page may.
  const page = await context.newPage();
  await load(page, server, "/trapping/");
  await page.evaluate(noteWorkers);
  await page.evaluate(create, { name: "gone", worker: true });
  const other = await openPage(t, context, server);
  await other.evaluate(async () => {
    globalThis.db = await T.open("gone");
    await db.putRow({ tableName: "t", primaryKey: { k: "n" }, attributes: { n: 0 } });
    globalThis.end = false;
    globalThis.done = (async () => {
      let calls = 0;
      while (!end) {
        await Promise.all(Array.from({ length: 10 }, () => db.updateRow({ tableName: "t", primaryKey: { k: "n" }, increment: { n: 1 } })));
        calls += 10;
      }
      return calls;
    })();
  });
  for (let round = 0; round < 2; round++) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    await page.evaluate(() => last.postMessage("trap"));
  }
  await new Promise((resolve) => setTimeout(resolve, 300));
  const [calls, n] = await other.evaluate(async () => {
    end = true;
    const calls = await done;
    const { row } = await db.getRow({ tableName: "t", primaryKey: { k: "n" } });
    return [calls, row.get("n")];
  });
  assert.equal(n, calls);
  // The second trap meets a worker that opens or waits. If its code runs then, its death is told too, maybe before the end of the first
  // trouble was: one end is told for both.
  await page.waitForFunction(() => health.length > 1 && health.at(-1).code === undefined);
  const both = await page.evaluate(async () => {
    const { row } = await db.getRow({ tableName: "t", primaryKey: { k: "n" } });
    return [row.get("n"), db.role, health.every(({ healthy }) => healthy)];
  });
  assert.deepEqual(both, [n, "follower", true]);
  t.note(`${calls} increments`);
});

test("engines that die one after another: the third death in a minute ends the handles by name", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server, "/trapping/");
  await page.evaluate(noteWorkers);
  await page.evaluate(create, { name: "gone", worker: true });
  const seen = await page.evaluate(async () => {
    const lists = [];
    for (let round = 0; round < 3; round++) {
      last.postMessage("trap");
      lists.push(await H.refusal(() => db.listTable()));
    }
    const close = await H.refusal(() => db.close());
    const again = await T.open("gone");
    const rows = (await H.all(again, { tableName: "t" })).length;
    await again.close();
    return { lists: lists.map(({ code }) => code), healthy: health.map(({ healthy }) => healthy), close: close.message, rows };
  });
  assert.deepEqual(seen, { lists: [undefined, undefined, "OTSInternalServerError"], healthy: [true, true, true, true, false], close: undefined, rows: 1 });
});

for (const how of ["removed", "sent elsewhere"]) {
  for (const worker of turns([true, false])) {
    test(
      `a frame that is ${how} leaves no call of the page around it hanging: all reject with Closed (${worker ? "worker" : "in the frame"})`,
      async (t) => {
        const server = await servePackage(t);
        const page = await openPage(t, await startBrowser(t), server);
        const seen = await page.evaluate(
          async ({ how, worker }) => {
            const frame = document.createElement("iframe");
            frame.src = "/";
            document.body.append(frame);
            const inside = frame.contentWindow;
            const until = performance.now() + 5000;
            while (frame.contentWindow.T === undefined && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10));
            const { open } = frame.contentWindow.T;
            const db = await open("framed", { worker });
            await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
            const closing = await open("closing", { worker });
            const key = { tableName: "t", primaryKey: { k: "b" } };
            const calls = {
              put: db.putRow(key),
              update: db.updateRow({ ...key, increment: { n: 1 } }),
              batch: db.batchWriteRow([{ tableName: "t", put: { primaryKey: { k: "c" } } }]),
              flush: db.flush(),
              compact: db.compact(),
              table: db.createTable({ tableName: "t2", primaryKey: [{ name: "k", type: "STRING" }] }),
              consumed: db.computeConsumed(),
              close: closing.close(),
              open: open("another", { worker }),
              given: open("given", { worker, signal: new AbortController().signal }),
            };
            if (worker)
              Object.assign(calls, {
                get: db.getRow(key),
                metrics: db.metrics(),
                scan: db.scan({ tableName: "t" }).next(),
                transaction: db.startLocalTransaction({ tableName: "t", partitionKey: { k: "z" } }),
              });
            const settled = Object.entries(calls).map(async ([name, call]) => {
              const outcome = await Promise.race([
                call.then(
                  () => "resolved",
                  ({ code, message }) => `${code}: ${message}`,
                ),
                new Promise((resolve) => setTimeout(resolve, 2000, "hangs")),
              ]);
              return [name, outcome];
            });
            if (how === "removed") frame.remove();
            else inside.location.href = "about:blank";
            const outcomes = Object.fromEntries(await Promise.all(settled));
            // The browser gives back what the frame had.
            const again = await H.refusal(async () => (await H.openSoon("framed")).close());
            return { outcomes, again: again.message };
          },
          { how, worker },
        );
        for (const [name, outcome] of Object.entries(seen.outcomes)) {
          if (how === "removed") assert.match(outcome, /^Closed: The frame .* is gone/, `${name}: ${outcome}`);
          // Before a frame goes elsewhere, some calls may end in order, and it may load no more code.
          else
            assert.match(
              outcome,
              /^resolved$|^Closed: The frame .* is gone|^Unavailable: The module 'occasional' .* could not be (?:down)?loaded/,
              `${name}: ${outcome}`,
            );
        }
        assert.equal(seen.again, undefined);
      },
      { needs: how === "removed" ? ["removal"] : [] },
    );
  }
}
