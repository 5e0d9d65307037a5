// Streams in the browser: readers go on after a reload, in other tabs, and when the tab that leads ends.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { singles, test } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { grown, led, open, tabs, WAYS } from "../support/tabs.mjs";

test("ST1, ST3: a page reads changes on behind its token after a reload, and each change once", async (t) => {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  const page = await openPage(t, context, server);
  const begin = async () => {
    globalThis.db = await T.open("streams");
    globalThis.take = async () => {
      const ids = [];
      for await (const { primaryKey, token } of db.changes({ tableName: "t", from: localStorage.place ?? "oldest", once: true })) {
        ids.push(primaryKey.id);
        localStorage.place = token;
      }
      return ids;
    };
  };
  await page.evaluate(begin);
  const first = await page.evaluate(async () => {
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], stream: { enabled: true, expirationHours: 1 } });
    for (let id = 0; id < 5; id++) await db.putRow({ tableName: "t", primaryKey: { id } });
    const ids = await take();
    const writer = db.writer("t");
    for (let id = 100; id < 3100; id++) {
      const wait = writer.put({ primaryKey: { id }, attributes: { text: H.noise(id, 40) } });
      if (wait) await wait;
    }
    await writer.close();
    return ids;
  });
  assert.deepEqual(first, [0, 1, 2, 3, 4]);
  await page.reload();
  await page.waitForFunction(() => globalThis.T !== undefined);
  await page.evaluate(begin);
  const second = await page.evaluate(() => take());
  assert.deepEqual(
    second,
    Array.from({ length: 3000 }, (_, i) => 100 + i),
  );
  assert.deepEqual(await page.evaluate(() => take()), []);
});

/** Writes without a pause: rows of its own, and one counter of all. Reads all changes meanwhile. */
const live = async (tab) => {
  Object.assign(globalThis, { stopped: false, errors: [], rows: 0, counted: 0, seen: [] });
  const control = new AbortController();
  globalThis.reading = (async () => {
    try {
      for await (const { type, primaryKey, cells } of db.changes({ tableName: "t", signal: control.signal })) {
        seen.push([type, primaryKey.k, primaryKey.n, cells.find(({ name }) => name === "v")?.value]);
      }
    } catch (error) {
      if (error.message !== "enough") errors.push(`${error.code}: ${error.message}`);
    }
  })();
  globalThis.enough = () => {
    control.abort(new Error("enough"));
    return reading;
  };
  globalThis.writing = (async () => {
    for (let n = 0; !stopped; n++) {
      try {
        await db.putRow({ tableName: "t", primaryKey: { k: `tab${tab}`, n }, condition: { rowExistence: "EXPECT_NOT_EXIST" }, attributes: { v: n } });
        rows += 1;
        await db.updateRow({ tableName: "t", primaryKey: { k: "count", n: 0 }, increment: { v: 1 } });
        counted += 1;
      } catch (error) {
        errors.push(`${error.code}: ${error.message}`);
        stopped = true;
      }
    }
  })();
};

for (const [[way, prepare], ends] of singles(WAYS, ["closes", "crashes"])) {
  test(
    `ST2: live readers in other tabs get each change once while the leader ${ends} again and again (${way})`,
    async (t) => {
      const { context, server, one, two } = await tabs(t, { prepare });
      const pages = [one, two, await openPage(t, context, server)];
      await pages[2].evaluate(open, { name: "shared", options: {} });
      await one.evaluate(() => db.updateTable({ tableName: "t", stream: { enabled: true, expirationHours: 1 } }));
      // The one that never leads until the end reads all.
      const last = pages[2];
      for (const [tab, page] of pages.entries()) if (page !== one) await page.evaluate(live, tab);
      await one.evaluate(async () => {
        for (let n = 0; n < 50; n++) await db.putRow({ tableName: "t", primaryKey: { k: "one", n } });
        await db.flush();
      });
      const end = async (page) => {
        if (ends === "closes") await page.close();
        else await engine.crash(context, page);
      };
      await end(one);
      await led([two, last]);
      await Promise.all([two, last].map((page) => grown(page, "rows", 21)));
      const done = await two.evaluate(async () => {
        stopped = true;
        await writing;
        return { errors, rows, counted };
      });
      assert.deepEqual(done.errors, []);
      await end(two);
      await led([last]);
      await grown(last, "rows", 21);
      const found = await last.evaluate(async () => {
        stopped = true;
        await writing;
        const stored = [];
        for await (const row of db.scan({ tableName: "t" })) stored.push([row.primaryKey.k, row.primaryKey.n, row.get("v")]);
        const count = stored.find(([k]) => k === "count")[2];
        // It comes by itself.
        while (seen.filter(([, k]) => k === "count").length < count) await new Promise((resolve) => setTimeout(resolve, 10));
        await enough();
        return { errors, seen, stored, rows, counted };
      });
      assert.deepEqual(found.errors, []);
      const counts = found.seen.filter(([, k]) => k === "count").map(([, , , v]) => v);
      assert.deepEqual(
        counts,
        Array.from({ length: counts.length }, (_, i) => i + 1),
        "each increment once, in order",
      );
      assert.equal(counts.length, done.counted + found.counted);
      const puts = found.seen.filter(([type]) => type === "PUT").map(([, k, n]) => `${k}/${n}`);
      assert.equal(new Set(puts).size, puts.length, "no put comes twice");
      assert.deepEqual(
        puts.toSorted(),
        found.stored
          .filter(([k]) => k !== "count")
          .map(([k, n]) => `${k}/${n}`)
          .toSorted(),
      );
      t.note(`${puts.length} puts and ${counts.length} increments`);
    },
    { needs: ends === "crashes" ? ["crash"] : [] },
  );
}
