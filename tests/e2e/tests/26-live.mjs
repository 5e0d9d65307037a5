// Live queries in the browser: in the tab that leads, in others, and when the tab that leads ends.

import assert from "node:assert/strict";

import { openPage } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { singles, test } from "../support/harness.mjs";
import { grown, led, open, tabs, WAYS } from "../support/tabs.mjs";

/** Watches all rows by an iterator, and a part of them by a subscription. */
const watch = async () => {
  const { INF_MIN } = T;
  Object.assign(globalThis, { errors: [], rows: 0, told: 0 });
  globalThis.part = db.watch({ tableName: "t", start: { k: "tab", n: INF_MIN }, end: { k: "u", n: INF_MIN }, direction: "FORWARD", limit: 20 });
  part.subscribe(() => {
    told += 1;
    if (part.getSnapshot().error !== undefined) errors.push(String(part.getSnapshot().error));
  });
  globalThis.all = undefined;
  (async () => {
    for await (const { rows, changed } of db.watch({ tableName: "t" })) {
      // Each of the keys is there, or is gone.
      if (changed.some(({ k, n }) => typeof k !== "string" || typeof n !== "number")) errors.push("a changed key is none");
      all = rows;
    }
  })().catch((error) => errors.push(`${error.code}: ${error.message}`));
};

/** Writes rows. */
const write = async (tab) => {
  globalThis.stopped = false;
  globalThis.writing = (async () => {
    for (let n = rows; !stopped; n++) {
      try {
        await db.putRow({ tableName: "t", primaryKey: { k: `tab${tab}`, n }, attributes: { v: n } });
        if (n % 5 === 4) await db.deleteRow({ tableName: "t", primaryKey: { k: `tab${tab}`, n: n - 3 } });
        rows += 1;
        // Time for those who watch.
        await new Promise((resolve) => setTimeout(resolve, 5));
      } catch (error) {
        errors.push(`${error.code}: ${error.message}`);
        stopped = true;
      }
    }
  })();
};

/** Whether the live queries show what reads show; they have some time to come to that. */
const compare = async () => {
  const { INF_MIN } = T;
  const shown = (rows) => JSON.stringify(rows.map((row) => [row.primaryKey.k, row.primaryKey.n, row.columns]));
  const read = async (request) => {
    const rows = [];
    for await (const row of db.scan({ tableName: "t", ...request })) rows.push(row);
    return shown(rows);
  };
  const wanted = [await read({}), await read({ start: { k: "tab", n: INF_MIN }, end: { k: "u", n: INF_MIN }, limit: 20 })];
  const end = performance.now() + 20_000;
  for (;;) {
    const found = [all, part.getSnapshot().rows].map((rows) => (rows === undefined ? "nothing" : shown(rows)));
    if (found.every((one, i) => one === wanted[i])) return { errors, rows, told, length: all.length };
    if (performance.now() > end)
      return { errors: [...errors, `it shows ${found.map((one) => one.slice(-200))} instead of ${wanted.map((one) => one.slice(-200))}`], rows, told };
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

for (const [[way, prepare], ends] of singles(WAYS, ["closes", "crashes"])) {
  test(
    `live queries in other tabs go on while the leader ${ends} again and again (${way})`,
    async (t) => {
      const { context, server, one, two } = await tabs(t, { prepare });
      const last = await openPage(t, context, server);
      await last.evaluate(open, { name: "shared", options: {} });
      for (const [tab, page] of [one, two, last].entries()) {
        await page.evaluate(watch);
        await page.evaluate(write, tab);
      }
      const end = async (page) => {
        if (ends === "closes") await page.close();
        else await engine.crash(context, page);
      };
      const more = (pages) => Promise.all(pages.map((page) => grown(page, "rows", 21)));
      const stop = (page) =>
        page.evaluate(() => {
          stopped = true;
          return writing;
        });
      await more([one, two, last]);
      await end(one);
      await led([two, last]);
      await more([two, last]);
      for (const page of [two, last]) await stop(page);
      for (const page of [two, last]) {
        assert.deepEqual((await page.evaluate(compare)).errors, []);
      }
      await last.evaluate(write, 2);
      await end(two);
      await led([last]);
      await more([last]);
      await stop(last);
      const after = await last.evaluate(compare);
      assert.deepEqual(after.errors, []);
      assert.ok(after.told > 0, `told ${after.told} times`);
      t.note(`${after.length} rows, told ${after.told} times`);
    },
    { needs: ends === "crashes" ? ["crash"] : [] },
  );
}
