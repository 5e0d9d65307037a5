// Hand-over: the leading tab ends in any way, another one leads, and the handles go on.

import assert from "node:assert/strict";

import { openPage } from "../support/browser.mjs";
import { test } from "../support/harness.mjs";
import { crash, open, tabs, WAYS } from "../support/tabs.mjs";

/** The ways in which a leader ends. In the first it can say goodbye. */
const ENDS = {
  closes: (context, page) => page.evaluate(() => db.close()),
  "is closed": (context, page) => page.close(),
  crashes: crash,
  navigates: (context, page) => page.goto("about:blank"),
};

for (const [way, prepare] of WAYS) {
  for (const worker of [true, false]) {
    for (const [ends, end] of Object.entries(ENDS)) {
      test(`hand-over: the leader ${ends}, and a follower's calls, scans and counts go on (${worker ? "worker" : "in the page"}, ${way})`, async (t) => {
        const { context, server, one, two } = await tabs(t, { options: { worker }, prepare });
        const three = await openPage(t, context, server);
        assert.equal(await three.evaluate(open, { name: "SHARED", options: { worker } }), "follower");
        await two.evaluate(async () => {
          const writer = db.writer("t");
          for (let n = 0; n < 3000; n++) writer.put({ primaryKey: { k: "r", n } });
          await writer.close();
          globalThis.tx = await db.startLocalTransaction({ tableName: "t", partitionKey: { k: "tx" } });
          await tx.putRow({ tableName: "t", primaryKey: { k: "tx", n: 1 } });
          // A scan in the middle.
          globalThis.scan = db.scan({ tableName: "t", start: { k: "r", n: 0 }, end: { k: "r", n: 3000 }, pageRows: 100 });
          globalThis.first = (await scan.next()).value.primaryKey.n;
        });
        await end(context, one);
        const seen = await Promise.all([two, three].map((page) => page.evaluate(async () => {
          const since = performance.now();
          const { count } = await db.count({ tableName: "t" });
          const took = performance.now() - since;
          await db.putRow({ tableName: "t", primaryKey: { k: "after", n: Math.floor(Math.random() * 1e9) } });
          return { count, took, role: db.role, health };
        })));
        for (const { count } of seen) assert.ok(count === 3000 || count === 3001, `${count} rows`);
        assert.deepEqual(seen.map(({ role }) => role).sort(), ["follower", "leader"]);
        assert.deepEqual(seen.map(({ health }) => health), [[], []]);
        const rest = await two.evaluate(async () => {
          const numbers = [first];
          for await (const row of scan) numbers.push(row.primaryKey.n);
          const gone = await H.refusal(() => tx.putRow({ tableName: "t", primaryKey: { k: "tx", n: 2 } }));
          return { inOrder: numbers.length === 3000 && numbers.every((n, i) => n === i), gone: gone.code, state: tx.state, tx: (await db.getRow({ tableName: "t", primaryKey: { k: "tx", n: 1 } })).row };
        });
        assert.deepEqual(rest, { inOrder: true, gone: "OTSSessionNotExist", state: "ABORTED", tx: null });
        for (const page of [two, three]) assert.deepEqual(await page.evaluate(() => roles), [await page.evaluate(() => db.role)]);
        t.note(`the first answers came ${seen.map(({ took }) => took.toFixed(0)).join(" and ")} ms after the leader's end was known`);
        await two.evaluate(() => db.close());
        assert.equal(await three.evaluate(async () => [(await db.count({ tableName: "t" })).count, db.role].join()), "3002,leader");
      });
    }
  }
}

/** Writes rows of its own without a pause, one after another, and notes what became of each. */
const write = (tab) => {
  globalThis.acknowledged = [];
  globalThis.unknown = [];
  globalThis.errors = [];
  globalThis.stopped = false;
  globalThis.writing = (async () => {
    for (let n = 0; !stopped; n++) {
      try {
        // Some alone, some together.
        await Promise.all(Array.from({ length: n % 7 === 0 ? 20 : 1 }, async (_, i) => {
          const key = { k: `${tab}`, n: n * 100 + i };
          try {
            await db.updateRow({ tableName: "t", primaryKey: key, increment: { v: 1 } });
            acknowledged.push(key.n);
          } catch (error) {
            if (error.code !== "LeaderChanged") throw error;
            unknown.push(key.n);
          }
        }));
        await db.getRow({ tableName: "t", primaryKey: { k: `${tab}`, n: n * 100 } });
      } catch (error) {
        errors.push(`${error.code}: ${error.message}`);
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  })();
};

const ROUNDS = Number(process.env.E2E_HANDOVERS ?? 8);

for (const [way, prepare] of WAYS) {
  for (const ends of ["closes", "crashes"]) {
    test(`hand-over: ${ROUNDS} times the leader ${ends} among tabs that write; what was acknowledged is stored once, and only what cannot be known is refused (${way})`, async (t) => {
      const { context, server, one, two } = await tabs(t, { prepare });
      let pages = [one, two, await openPage(t, context, server)];
      await pages[2].evaluate(open, { name: "shared", options: {} });
      const done = { acknowledged: [], unknown: [] };
      const collect = async (page, tab) => {
        const { acknowledged, unknown, errors } = await page.evaluate(async () => {
          stopped = true;
          await writing;
          return { acknowledged, unknown, errors };
        });
        assert.deepEqual(errors, []);
        done.acknowledged.push(...acknowledged.map((n) => `${tab}/${n}`));
        done.unknown.push(...unknown.map((n) => `${tab}/${n}`));
      };
      const names = new Map();
      let tab = 0;
      const begin = async (page) => {
        names.set(page, tab);
        await page.evaluate(write, tab++);
      };
      for (const page of pages) await begin(page);
      for (let round = 0; round < ROUNDS; round++) {
        await new Promise((resolve) => setTimeout(resolve, 40 + 30 * (round % 3)));
        const roles = await Promise.all(pages.map((page) => page.evaluate(() => db.role)));
        const leader = pages[roles.indexOf("leader")];
        assert.ok(leader, `somebody leads: ${roles}`);
        if (ends === "closes") {
          await collect(leader, names.get(leader));
          await leader.evaluate(() => db.close());
          await leader.evaluate(open, { name: "shared", options: {} });
          await begin(leader);
        } else {
          // What it has acknowledged to itself is lost with it: only the others are asked.
          await ENDS.crashes(context, leader);
          const next = await openPage(t, context, server);
          await next.evaluate(open, { name: "shared", options: {} });
          pages = [...pages.filter((page) => page !== leader), next];
          await begin(next);
        }
      }
      for (const page of pages) await collect(page, names.get(page));
      if (ends === "closes") assert.deepEqual(done.unknown, [], "a leader that closes in order leaves nothing unknown");
      const stored = new Map(await pages[0].evaluate(async () => (await H.all(db, { tableName: "t" })).map((row) => [`${row.primaryKey.k}/${row.primaryKey.n}`, row.get("v")])));
      assert.deepEqual(done.acknowledged.filter((key) => stored.get(key) !== 1), []);
      assert.deepEqual([...stored].filter(([, v]) => v !== 1), [], "nothing was done twice");
      assert.ok(done.acknowledged.length > ROUNDS * 10);
      t.note(`${done.acknowledged.length} acknowledged, ${done.unknown.length} unknown, of which ${done.unknown.filter((key) => stored.has(key)).length} stored`);
    }, { seconds: 60 + 5 * ROUNDS });
  }
}

for (const worker of [true, false]) {
  test(`hand-over: a page in the back/forward cache leads no more, its calls wait, and it goes on when it comes back (${worker ? "worker" : "in the page"})`, async (t) => {
    const { one, two } = await tabs(t, { options: { worker } });
    await one.evaluate(() => db.putRow({ tableName: "t", primaryKey: { k: "a", n: 1 } }));
    // Headless browsers have no such cache: the page gets the events, and goes on running.
    await one.evaluate(() => {
      globalThis.read = db.count({ tableName: "t" });
      dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
      globalThis.late = db.putRow({ tableName: "t", primaryKey: { k: "a", n: 2 } });
    });
    assert.deepEqual(await two.evaluate(async () => [(await db.count({ tableName: "t" })).count, db.role]), [1, "leader"]);
    await one.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
    assert.deepEqual(await one.evaluate(async () => [(await late).consumed.write, (await read).count, db.role, health]), [1, 1, "follower", []]);
    // A follower that is put aside, and comes back to nobody.
    await one.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })));
    await two.evaluate(() => db.close());
    await one.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
    assert.deepEqual(await one.evaluate(async () => [(await db.count({ tableName: "t" })).count, db.role, health]), [2, "leader", []]);
    await one.evaluate(async () => {
      dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true }));
      await db.close();
      await T.deleteInstance("shared");
    });
  });
}

test("hand-over: when the site's data is cleared, followers are told too, and nothing is created anew", async (t) => {
  const { context, server, one, two } = await tabs(t);
  const session = await context.newCDPSession(one);
  await session.send("Storage.clearDataForOrigin", { origin: server.origin, storageTypes: "indexeddb" });
  await two.waitForFunction(() => health.length > 0);
  const seen = await two.evaluate(async () => ({ health, refused: (await H.refusal(() => db.listTable())).code, instances: await T.listInstances() }));
  assert.match(seen.health[0], /^false (Closed|OTSObjectNotExist|DataLost): /);
  assert.deepEqual([seen.health.length, ["Closed", "OTSObjectNotExist", "DataLost"].includes(seen.refused), seen.instances], [1, true, []]);
  t.note(seen.health[0]);
});
