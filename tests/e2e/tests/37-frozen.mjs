// A leader that is frozen, by stopping its renderer: another tab takes over, and what it does when it wakes is refused.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { freeze, openFreezable, OWN_RENDERER } from "../support/frozen.mjs";
import { freezes, inWords } from "../support/hand-over.mjs";
import { singles, test, times } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { open, WAYS } from "../support/tabs.mjs";

const ROUNDS = times(3, 1);

/** Writes rows of its own and counts up a row of all tabs, without a pause, and notes what became of each. */
const work = (tab) => {
  Object.assign(globalThis, { acknowledged: [], answers: 0, slowest: 0, unknown: 0, counted: 0, perhaps: 0, errors: [], stopped: false });
  const done = async (call) => {
    try {
      await call();
      return true;
    } catch (error) {
      if (error.code !== "LeaderChanged") errors.push(`${error.code}: ${error.message}`);
      return false;
    }
  };
  globalThis.working = (async () => {
    for (let n = 0; !stopped; n++) {
      const key = { k: `${tab}`, n };
      const since = performance.now();
      const [put, count] = await Promise.all([
        done(() => db.updateRow({ tableName: "t", primaryKey: key, increment: { v: 1 } })),
        done(() => db.updateRow({ tableName: "t", primaryKey: { k: "all", n: 0 }, increment: { v: 1 } })),
        done(() => db.getRow({ tableName: "t", primaryKey: key })),
        n % 10 === 0 && done(() => db.listTable()),
      ]);
      slowest = Math.max(slowest, performance.now() - since);
      if (put) {
        acknowledged.push(n);
        answers += 1;
      } else {
        unknown += 1;
      }
      if (count) counted += 1;
      else perhaps += 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  })();
};

const turns = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

for (const [[way, prepare], worker] of singles(WAYS, [true, false])) {
  test(
    `frozen: ${ROUNDS} times the leader's renderer is stopped among tabs that write and count; nothing is lost or done twice, and it goes on when it wakes (${worker ? "worker" : "in the page"}, ${way})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t, { args: OWN_RENDERER });
      await prepare(context);
      const pages = [];
      for (let i = 0; i < 4; i++) {
        pages.push(await openFreezable(t, context, server));
        await pages[i].evaluate(open, { name: "Shared", options: { worker } });
        if (i === 0)
          await pages[0].evaluate(() =>
            db.createTable({
              tableName: "t",
              primaryKey: [
                { name: "k", type: "STRING" },
                { name: "n", type: "INTEGER" },
              ],
            }),
          );
      }
      for (const [tab, page] of pages.entries()) await page.evaluate(work, tab);
      const waits = await freezes(pages, ROUNDS);
      let [counted, perhaps, unknown, acknowledged] = [0, 0, 0, []];
      for (const [tab, page] of pages.entries()) {
        const seen = await page.evaluate(async () => {
          stopped = true;
          await working;
          return { acknowledged, unknown, counted, perhaps, errors, health };
        });
        assert.deepEqual([seen.errors, seen.health], [[], []]);
        acknowledged.push(...seen.acknowledged.map((n) => `${tab}/${n}`));
        [counted, perhaps, unknown] = [counted + seen.counted, perhaps + seen.perhaps, unknown + seen.unknown];
      }
      const stored = new Map(
        await pages[0].evaluate(async () => (await H.all(db, { tableName: "t" })).map((row) => [`${row.primaryKey.k}/${row.primaryKey.n}`, row.get("v")])),
      );
      const sum = stored.get("all/0");
      stored.delete("all/0");
      assert.deepEqual(
        acknowledged.filter((key) => stored.get(key) !== 1).map((key) => [key, stored.get(key)]),
        [],
        "an acknowledged write is stored",
      );
      assert.deepEqual(
        [...stored].filter(([, v]) => v !== 1),
        [],
        "nothing was done twice",
      );
      assert.ok(sum >= counted && sum <= counted + perhaps, `${sum} of ${counted} and perhaps ${perhaps}`);
      t.note(`${inWords(waits)}; ${acknowledged.length} acknowledged, ${unknown} unknown`);
    },
    { seconds: 60 + 10 * ROUNDS, needs: ["freezing"], repeats: true },
  );
}

/** Pages with the instance open, the first one leading. */
async function opened(t, count, options = {}) {
  const server = await servePackage(t);
  const context = await startBrowser(t, { args: OWN_RENDERER });
  const pages = [];
  for (let i = 0; i < count; i++) {
    pages.push(await openFreezable(t, context, server));
    await pages[i].evaluate(open, { name: "Shared", options });
    if (i === 0) await pages[0].evaluate(() => db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] }));
  }
  return { server, context, pages };
}

/** Writes a row once somebody leads, because a write in flight may be refused. */
const put = async (k) => {
  await db.getRow({ tableName: "t", primaryKey: { k } });
  await db.putRow({ tableName: "t", primaryKey: { k } });
  return db.role;
};

test(
  "frozen: a tab that opens the instance takes over too, and the one that wakes follows it",
  async (t) => {
    const {
      server,
      context,
      pages: [one],
    } = await opened(t, 1);
    const two = await openFreezable(t, context, server);
    await freeze(one, two, "shared");
    assert.equal(await two.evaluate(open, { name: "shared", options: {} }), "leader");
    assert.equal(await two.evaluate(put, "two"), "leader");
    one.thaw();
    await one.waitForFunction(() => db.role === "follower");
    assert.equal(await one.evaluate(put, "one"), "follower");
    assert.deepEqual(await one.evaluate(async () => [(await db.count({ tableName: "t" })).count, health]), [2, []]);
  },
  { needs: ["freezing"] },
);

test(
  "frozen: tabs that find it at the same time agree on one of them, and an idle tab takes over from nobody",
  async (t) => {
    const { pages } = await opened(t, 5);
    const [one, ...others] = pages;
    const [idle, ...callers] = others;
    await freeze(one, idle, "shared");
    // Nobody waits for the leader: nobody finds out.
    await turns(3000);
    assert.deepEqual(await Promise.all(others.map((page) => page.evaluate(() => db.role))), ["follower", "follower", "follower", "follower"]);
    const led = await Promise.all(callers.map((page, i) => page.evaluate(put, `${i}`)));
    assert.equal(led.filter((role) => role === "leader").length <= 1, true);
    const roles = await Promise.all(
      others.map((page) => page.evaluate(async () => [db.role, roles.filter((role) => role === "leader").length, health.length].join())),
    );
    assert.deepEqual(roles.sort(), ["follower,0,0", "follower,0,0", "follower,0,0", "leader,1,0"]);
    one.thaw();
    assert.equal(await one.evaluate(async () => (await db.count({ tableName: "t" })).count), 3);
  },
  { needs: ["freezing"] },
);

test(
  "frozen: a worker that hangs while its page runs is replaced, and the page's handle goes on",
  async (t) => {
    const {
      pages: [one, two],
    } = await opened(t, 2);
    await one.workers()[0].evaluate(
      () =>
        void setTimeout(() => {
          for (;;);
        }),
    );
    assert.equal(await two.evaluate(put, "two"), "leader");
    assert.equal(await one.evaluate(put, "one"), "follower");
    assert.deepEqual(await one.evaluate(async () => [(await db.count({ tableName: "t" })).count, health]), [2, []]);
  },
  { needs: ["freezing", "workers"] },
);

test(
  "frozen: a page whose engine was taken over while it hung reads nothing outdated, in the very task in which it goes on",
  async (t) => {
    const {
      server,
      pages: [one, two],
    } = await opened(t, 2, { worker: false });
    const key = { tableName: "t", primaryKey: { k: "a" } };
    await one.evaluate((key) => db.putRow({ ...key, attributes: { v: 1 } }), key);
    let isOver = false;
    server.listen("/over", () => isOver);
    // It asks without letting any event in, or hangs for long enough where asking lets some in.
    const asks = !("asking" in engine.lacks);
    const hang = async ({ key, asks }) => {
      for (const end = performance.now() + 15_000; !asks && performance.now() < end; );
      for (let over = !asks; !over; ) {
        const request = new XMLHttpRequest();
        request.open("POST", "/over", false);
        request.send("0");
        over = JSON.parse(request.responseText);
        for (const end = performance.now() + 50; performance.now() < end; );
      }
      return (await db.getRow(key)).row.get("v");
    };
    const late = one.evaluate(hang, { key, asks });
    late.catch(() => {});
    // A write that was under way at the last leader may be refused.
    await two.evaluate(async (key) => {
      await db.getRow(key);
      await db.putRow({ ...key, attributes: { v: 2 } });
    }, key);
    isOver = true;
    assert.equal(await late, 2);
  },
  { needs: ["freezing"] },
);

test(
  "frozen: a page that hangs while its worker runs still leads, also for tabs that come now",
  async (t) => {
    const {
      server,
      context,
      pages: [one, two],
    } = await opened(t, 2);
    const three = await openFreezable(t, context, server);
    const hangs = one.evaluate(() => {
      const until = performance.now() + 6000;
      while (performance.now() < until);
    });
    // A failure before it is awaited is the test's own.
    hangs.catch(() => {});
    assert.equal(await two.evaluate(put, "two"), "follower");
    assert.equal(await three.evaluate(open, { name: "shared", options: {} }), "follower");
    assert.equal(await three.evaluate(put, "three"), "follower");
    await hangs;
    assert.deepEqual(await one.evaluate(async () => [db.role, (await db.count({ tableName: "t" })).count]), ["leader", 2]);
  },
  { needs: ["freezing", "apart"] },
);

test(
  "frozen: a leader that is busy with an import and a compaction is taken over by nobody",
  async (t) => {
    const {
      pages: [one, two],
    } = await opened(t, 2);
    const load = one.evaluate(async () => {
      const writer = db.writer("t");
      for (let n = 0; n < 60_000; n++) await writer.put({ primaryKey: { k: `r${n % 20_000}` }, attributes: { text: H.noise(n, 300) } });
      await writer.close();
      await db.compact();
    });
    const done = two.evaluate(async () => {
      await Promise.all([db.compact(), db.flush()]);
      for (let n = 0; n < 50; n++) await db.putRow({ tableName: "t", primaryKey: { k: `p${n}` } });
      return [db.role, roles.length, health.length];
    });
    await load;
    assert.deepEqual(await done, ["follower", 0, 0]);
  },
  { needs: ["freezing"] },
);

test(
  "frozen: the browser is told at once that a transaction has no more requests: a page that freezes then blocks nobody",
  async (t) => {
    const server = await servePackage(t);
    const page = await openPage(t, await startBrowser(t), server);
    const seen = await page.evaluate(async () => {
      const db = await T.open("told", { worker: false });
      await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
      const [{ transaction }, { commit }] = [IDBDatabase.prototype, IDBTransaction.prototype];
      const seen = { begun: 0, inTime: 0 };
      const open = new Set();
      IDBDatabase.prototype.transaction = function (...given) {
        const made = transaction.apply(this, given);
        seen.begun += 1;
        open.add(made);
        // The page may freeze behind this task.
        setTimeout(() => open.delete(made));
        return made;
      };
      IDBTransaction.prototype.commit = function () {
        if (open.delete(this)) seen.inTime += 1;
        return commit.call(this);
      };
      for (let n = 0; n < 5; n++) await db.putRow({ tableName: "t", primaryKey: { k: `${n}` } });
      await db.close();
      return seen;
    });
    assert.ok(seen.begun >= 5 && seen.inTime >= 5, JSON.stringify(seen));
    t.note(`${seen.begun} transactions, ${seen.inTime} told`);
  },
  { needs: ["levelDB"] },
);
