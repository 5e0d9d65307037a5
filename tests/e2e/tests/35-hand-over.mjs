// Hand-over: the leading tab ends in any way, another one leads, and the handles go on.

import assert from "node:assert/strict";

import { openPage } from "../support/browser.mjs";
import { tier } from "../../report.mjs";
import { engine } from "../support/engine.mjs";
import { ENDS, handOvers, inWords } from "../support/hand-over.mjs";
import { pairs, singles, test, times, turns } from "../support/harness.mjs";
import { led, open, tabs, WAYS } from "../support/tabs.mjs";

const needs = (ends) => (ends === "crashes" ? ["crash"] : []);

/** As often as {@link times}. At the gate other browsers than Chromium, which are slower, do half of it. */
const rounds = (usual) => times(usual, Math.ceil(usual / (engine.name === "Chromium" ? 4 : 8)));

/** At the gate other browsers than Chromium, which are slower, take fewer cases: each choice once, and of the long tests one. */
const isBrief = tier !== "full" && engine.name !== "Chromium";
const some = isBrief ? singles : pairs;
const long = isBrief ? [engine.lacks.crash === undefined ? [WAYS[1], "crashes"] : [WAYS[0], "closes"]] : singles(WAYS, ["closes", "crashes"]);

for (const [[way, prepare], worker, [ends, end]] of some(WAYS, [true, false], Object.entries(ENDS))) {
  test(
    `hand-over: the leader ${ends}, and a follower's calls, scans and counts go on (${worker ? "worker" : "in the page"}, ${way})`,
    async (t) => {
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
      const seen = await Promise.all(
        [two, three].map((page) =>
          page.evaluate(async () => {
            const since = performance.now();
            const { count } = await db.count({ tableName: "t" });
            const took = performance.now() - since;
            await db.putRow({ tableName: "t", primaryKey: { k: "after", n: Math.floor(Math.random() * 1e9) } });
            return { count, took };
          }),
        ),
      );
      for (const { count } of seen) assert.ok(count === 3000 || count === 3001, `${count} rows`);
      assert.deepEqual((await led([two, three])).sort(), ["follower", "leader"]);
      for (const page of [two, three]) assert.deepEqual(await page.evaluate(() => health), []);
      const rest = await two.evaluate(async () => {
        const numbers = [first];
        for await (const row of scan) numbers.push(row.primaryKey.n);
        const gone = await H.refusal(() => tx.putRow({ tableName: "t", primaryKey: { k: "tx", n: 2 } }));
        return {
          inOrder: numbers.length === 3000 && numbers.every((n, i) => n === i),
          gone: gone.code,
          state: tx.state,
          tx: (await db.getRow({ tableName: "t", primaryKey: { k: "tx", n: 1 } })).row,
        };
      });
      assert.deepEqual(rest, { inOrder: true, gone: "OTSSessionNotExist", state: "ABORTED", tx: null });
      for (const page of [two, three]) assert.deepEqual(await page.evaluate(() => roles), [await page.evaluate(() => db.role)]);
      t.note(`the first answers came ${seen.map(({ took }) => took.toFixed(0)).join(" and ")} ms after the leader's end was known`);
      await two.evaluate(() => db.close());
      // If rows are missing: which stretches of them, in which of the parts that were written apart, and whether they are there later.
      const last = await three.evaluate(async () => {
        const count = async (range) => (await db.count({ tableName: "t", ...range })).count;
        const first = await count();
        const { role } = db;
        if (first === 3002) return { count: first, role };
        const parts = {
          batches: await count({ start: { k: "r", n: 0 }, end: { k: "r", n: 2000 } }),
          load: await count({ start: { k: "r", n: 2000 }, end: { k: "r", n: 3000 } }),
          after: await count({ end: { k: "r", n: 0 } }),
        };
        const all = await H.all(db, { tableName: "t", start: { k: "r", n: 0 }, end: { k: "r", n: 3000 } });
        const numbers = new Set(all.map((row) => row.primaryKey.n));
        const isMissing = (n) => n >= 0 && n < 3000 && !numbers.has(n);
        const ends = Array.from({ length: 3001 }, (_, n) => n).filter((n) => isMissing(n) !== isMissing(n - 1));
        return { count: first, role, parts, scanned: all.length, ends, again: await count(), health, metrics: await db.metrics() };
      });
      assert.deepEqual(last, { count: 3002, role: "leader" });
    },
    { needs: needs(ends) },
  );
}

for (const worker of turns([true, false])) {
  test(`hand-over: a clock that was moved goes along, also to a tab that comes later (${worker ? "worker" : "in the page"})`, async (t) => {
    const START = 1_700_000_000_000;
    const DAY = 86_400_000;
    const { context, server, one, two } = await tabs(t, { options: { worker, clock: { now: START } } });
    const stamp = async (page) =>
      page.evaluate(async () => {
        await db.putRow({ tableName: "t", primaryKey: { k: "clock", n: 1 }, attributes: { v: 1 } });
        return (await db.getRow({ tableName: "t", primaryKey: { k: "clock", n: 1 } })).row.version("v");
      });
    const at = (time, first) => assert.ok(time >= first && time < first + 1000, `${time - START} ms after the start`);
    await one.evaluate((now) => db.setClock(now), START + DAY);
    at(await stamp(two), START + DAY);
    await one.evaluate(() => db.close());
    await led([two]);
    at(await stamp(two), START + DAY);
    // Moved by a follower, before another one comes.
    const three = await openPage(t, context, server);
    assert.equal(await three.evaluate(open, { name: "shared", options: { worker } }), "follower");
    await three.evaluate((now) => db.setClock(now), START + 2 * DAY);
    const four = await openPage(t, context, server);
    assert.equal(await four.evaluate(open, { name: "shared", options: { worker } }), "follower");
    await Promise.all([two, three].map((page) => page.close()));
    await led([four]);
    at(await stamp(four), START + 2 * DAY);
  });
}

/** Ends the writing of a tab, and gives what it has `seen`. No call of it may have failed. */
async function written(page) {
  const { seen, errors } = await page.evaluate(async () => {
    stopped = true;
    await writing;
    return { seen, errors };
  });
  assert.deepEqual(errors.slice(0, 3), []);
  return seen;
}

/** Writes without a pause, in all ways, alone and together, by two handles, and notes what was acknowledged. */
const write = async (tab) => {
  globalThis.second = await T.open("shared");
  const first = db;
  globalThis.seen = { counted: 0, rows: 0, given: [], unknown: [], robbed: false };
  db.addEventListener(
    "leader",
    (() => {
      let before = db.role;
      return ({ role }) => {
        seen.robbed ||= before === "leader" && role === "follower";
        before = role;
      };
    })(),
  );
  globalThis.errors = [];
  globalThis.stopped = false;
  const key = (n, part) => ({ k: `${tab}/${part}`, n });
  const fresh = (n, part) => ({ primaryKey: key(n, part), condition: { rowExistence: "EXPECT_NOT_EXIST" }, attributes: { v: 1 } });
  // All tabs count in the same row.
  const count = { tableName: "t", primaryKey: { k: "count", n: 0 }, increment: { v: 1 } };
  const ways = [
    async (n, db) => {
      await db.putRow({ tableName: "t", ...fresh(n, 0) });
      seen.rows += 1;
    },
    async (n, db) => {
      await db.updateRow(count);
      seen.counted += 1;
    },
    async (n, db) => {
      const results = await db.batchWriteRow([
        { tableName: "t", update: { primaryKey: count.primaryKey, increment: count.increment } },
        { tableName: "t", put: fresh(n, 1) },
      ]);
      for (const { ok, error } of results) if (!ok) throw error;
      seen.counted += 1;
      seen.rows += 1;
    },
    async (n, db) => {
      const { row: put } = await db.putRow({
        tableName: "given",
        primaryKey: { k: `${tab}`, n: T.AUTO_INCREMENT },
        attributes: { v: 1 },
        returnContent: "PRIMARY_KEY",
      });
      seen.given.push(put.primaryKey.n);
    },
    async (n, db) => {
      const { row: after } = await db.updateRow({ tableName: "t", primaryKey: key(n, 2), increment: { v: 1 }, returnContent: { afterModify: ["v"] } });
      if (after.get("v") !== 1) throw new Error(`incremented to ${after.get("v")}`);
      seen.rows += 1;
    },
    async (n, db) => {
      const results = await db.batchWriteRow(
        [0, 1].map((i) => ({ tableName: "t", put: fresh(2 * n + i, 3) })),
        { atomic: true },
      );
      for (const { ok, error } of results) if (!ok) throw error;
      seen.rows += 2;
    },
  ];
  Object.assign(globalThis, { answers: 0, slowest: 0 });
  globalThis.writing = (async () => {
    for (let n = 0; !stopped; n++) {
      const since = performance.now();
      await Promise.all(
        Array.from({ length: n % 7 === 0 ? 20 : 1 }, async (_, i) => {
          const number = n * 100 + i;
          try {
            await ways[number % ways.length](number, number % 4 < 2 ? first : second);
          } catch (error) {
            if (error.code === "LeaderChanged") seen.unknown.push(number);
            else errors.push(`way ${number % ways.length}: ${error.code}: ${error.message}`);
          }
        }),
      );
      slowest = Math.max(slowest, performance.now() - since);
      answers += 1;
    }
  })();
};

const ROUNDS = rounds(8);

for (const [[way, prepare], ends] of turns(long)) {
  test(
    `hand-over: ${ROUNDS} times the leader ${ends} among tabs that write in all ways; each write of a follower is done once, and none is refused (${way})`,
    async (t) => {
      const { context, server, one, two } = await tabs(t, { prepare });
      await one.evaluate(() =>
        db.createTable({
          tableName: "given",
          primaryKey: [
            { name: "k", type: "STRING" },
            { name: "n", type: "INTEGER", autoIncrement: true },
          ],
        }),
      );
      const sum = { counted: 0, rows: 0, given: [], unknown: [], robbed: 0 };
      const collect = async (page) => {
        const seen = await written(page);
        sum.counted += seen.counted;
        sum.rows += seen.rows;
        sum.given.push(...seen.given);
        sum.unknown.push(...seen.unknown);
        sum.robbed += seen.robbed;
      };
      let tab = 0;
      const begin = (page) => page.evaluate(write, tab++);
      const third = await openPage(t, context, server);
      await third.evaluate(open, { name: "shared", options: {} });
      const { pages, waits } = await handOvers(t, { server, context, pages: [one, two, third], ends, times: ROUNDS, begin, finish: collect });
      for (const page of pages) await collect(page);
      // A busy machine may keep a leader from answering for two seconds. It loses its lock then, and does not know what became of its own calls.
      const most = sum.unknown.length;
      assert.ok(most === 0 || sum.robbed > 0, `the next leader knows what was done: ${sum.unknown}`);
      const stored = await pages[0].evaluate(async () => {
        const rows = (await H.all(db, { tableName: "t" })).map((row) => [row.primaryKey.k, row.get("v")]);
        return {
          count: rows.find(([k]) => k === "count")[1],
          rows: rows.filter(([k, v]) => k !== "count" && v === 1).length,
          all: rows.length - 1,
          given: (await H.all(db, { tableName: "given" })).map((row) => [row.primaryKey.n, row.primaryKey.k]),
        };
      });
      assert.equal(stored.rows, stored.all);
      assert.ok(stored.count >= sum.counted && stored.count <= sum.counted + most, `counted to ${stored.count}, told ${sum.counted}`);
      assert.ok(stored.rows >= sum.rows && stored.rows <= sum.rows + 2 * most, `${stored.rows} rows, told ${sum.rows}`);
      const told = new Set(sum.given);
      const untold = stored.given.filter(([n]) => !told.has(n));
      assert.ok(
        untold.length <= most && stored.given.length - untold.length === sum.given.length,
        `each given key was told to its caller, and none was given for nobody: ${stored.given.length} stored, ${sum.given.length} told, not told (key, tab): ${JSON.stringify(untold)}; ${sum.robbed} leaders lost their locks`,
      );
      assert.ok(sum.counted > ROUNDS * 4);
      t.note(
        `${sum.counted} increments of one row, ${sum.rows} rows, ${sum.given.length} given keys: each once${most > 0 ? `, but for ${most} of leaders that lost their locks` : ""}`,
      );
      t.note(inWords(waits));
    },
    { seconds: 60 + 5 * ROUNDS, needs: needs(ends), repeats: true, shared: true },
  );
}

/** Loads so many rows again and again, by a writer and by imports, and counts in rows that other tabs have loaded. */
const load = async ([tab, ROWS]) => {
  globalThis.second = await T.open("shared");
  Object.assign(globalThis, { answers: 0, slowest: 0, stopped: false, errors: [], seen: { rows: 0, loads: 0, counted: {} } });
  const row = (k, n) => ({ primaryKey: { k, n }, attributes: { v: n, text: "a row of a load" } });
  const loads = [
    async (k) => {
      const writer = db.writer("t");
      for (let n = 0; n < ROWS; n++) {
        const full = writer.put(row(k, n));
        if (full) await full;
      }
      return writer.close();
    },
    (k) =>
      second.importRows(
        "t",
        (function* () {
          for (let n = 0; n < ROWS; n++) yield row(k, n);
        })(),
      ),
  ];
  const repeat = async (work) => {
    for (let run = 0; !stopped; run++) {
      try {
        await work(run);
        // Leaders that end every second have no time to compact. Without rests, a count of what long runs store takes minutes.
        await new Promise((resolve) => setTimeout(resolve, 600 * Math.random()));
      } catch (error) {
        errors.push(`${error.code}: ${error.message}`);
        stopped = true;
      }
    }
  };
  // A row that is put a second time loses its count.
  const below = (most) => Math.floor(Math.random() * most);
  const countIn = async (k) => {
    const request = { tableName: "t", primaryKey: { k, n: below(ROWS) } };
    if ((await db.getRow(request)).row === null) return;
    await db.updateRow({ ...request, increment: { count: 1 } });
    const name = JSON.stringify(request.primaryKey);
    seen.counted[name] = (seen.counted[name] ?? 0) + 1;
  };
  const count = async () => {
    const since = performance.now();
    await countIn(`${below(tab + 2)}/${below(2)}/${below(6)}`);
    slowest = Math.max(slowest, performance.now() - since);
    answers += 1;
    // The loads need the processor.
    await new Promise((resolve) => setTimeout(resolve, 5));
  };
  globalThis.writing = Promise.all([
    repeat(count),
    ...loads.map((one, i) =>
      repeat(async (run) => {
        const k = `${tab}/${i}/${run}`;
        const { rows } = await one(k);
        seen.rows += rows;
        seen.loads += 1;
        await countIn(k);
      }),
    ),
  ]);
};

const LOAD_ROUNDS = rounds(3);
/** More than a writer puts one by one. Where everything runs, twice as many: a hand-over meets more of a load. */
const LOADED_ROWS = tier === "full" ? 4000 : 2100;

for (const [[way, prepare], ends] of turns(long)) {
  test(
    `hand-over: ${LOAD_ROUNDS} times the leader ${ends} among tabs that load; each row of a writer or an import is stored once, and none is refused (${way})`,
    async (t) => {
      const { context, server, one, two } = await tabs(t, { prepare });
      const sum = { rows: 0, loads: 0, counted: new Map() };
      const finish = async (page) => {
        const seen = await written(page);
        sum.rows += seen.rows;
        sum.loads += seen.loads;
        for (const [key, times] of Object.entries(seen.counted)) sum.counted.set(key, (sum.counted.get(key) ?? 0) + times);
      };
      let tab = 0;
      const begin = (page) => page.evaluate(load, [tab++, LOADED_ROWS]);
      const three = await openPage(t, context, server);
      await three.evaluate(open, { name: "shared", options: {} });
      const { pages, waits } = await handOvers(t, { server, context, pages: [one, two, three], ends, times: LOAD_ROUNDS, begin, finish });
      for (const page of pages) await finish(page);
      const stored = await pages[0].evaluate(
        async (keys) => ({
          rows: (await db.count({ tableName: "t" })).count,
          counts: await Promise.all(keys.map(async (key) => (await db.getRow({ tableName: "t", primaryKey: JSON.parse(key) })).row.get("count"))),
        }),
        [...sum.counted.keys()],
      );
      assert.equal(stored.rows, sum.rows);
      assert.deepEqual(stored.counts, [...sum.counted.values()], "no row was put a second time");
      assert.ok(sum.loads > LOAD_ROUNDS && sum.counted.size > LOAD_ROUNDS, `${sum.loads} loads, ${sum.counted.size} counts`);
      t.note(`${sum.loads} loads of ${sum.rows} rows, counts in ${sum.counted.size} of them; ${inWords(waits)}`);
    },
    { seconds: 90 + 30 * LOAD_ROUNDS, needs: needs(ends), repeats: true, shared: true },
  );
}

/** Makes, changes and deletes tables, indexes and access keys without a pause, in two rows of calls, and notes what must be there. */
const change = async (tab) => {
  globalThis.second = await T.open("shared");
  Object.assign(globalThis, { answers: 0, slowest: 0, stopped: false, errors: [], seen: { tables: {}, keys: {}, changes: 0 } });
  const { tables, keys } = seen;
  const done = async (work) => {
    const since = performance.now();
    const value = await work;
    slowest = Math.max(slowest, performance.now() - since);
    answers += 1;
    seen.changes += 1;
    return value;
  };
  const round = async (handle, tableName, run) => {
    // The same name again and again: another answer than that of the first try would be a refusal.
    await done(
      handle.createTable({
        tableName,
        primaryKey: [{ name: "k", type: "STRING" }],
        definedColumns: [{ name: "v", type: "INTEGER" }],
        indexes: [{ indexName: `${tableName}_i`, primaryKey: ["v"] }],
        allowUpdate: false,
      }),
    );
    await handle.putRow({ tableName, primaryKey: { k: "a" }, attributes: { v: 1 } });
    await done(handle.createIndex({ tableName, index: { indexName: `${tableName}_j`, primaryKey: ["v"] } }));
    const life = 90_000 + run;
    const updated = await done(handle.updateTable({ tableName: `${tableName}_j`, timeToLive: life }));
    if (updated.timeToLive !== life || updated.indexOf !== tableName) throw new Error(`updated: ${JSON.stringify(updated)}`);
    await done(handle.dropIndex({ tableName, indexName: `${tableName}_i` }));
    await done(handle.addDefinedColumn({ tableName, columns: [{ name: "w", type: "STRING" }] }));
    await done(handle.deleteDefinedColumn({ tableName, columns: ["w"] }));
    const { accessKeyId, accessKeySecret } = await done(handle.createAccessKey({ rights: ["read"] }));
    if (accessKeySecret?.length !== 40) throw new Error("no secret");
    const off = await done(handle.updateAccessKey({ accessKeyId, enabled: false }));
    if (off.enabled || off.accessKeyId !== accessKeyId) throw new Error(`key: ${JSON.stringify(off)}`);
    // Some stay, within the quotas.
    const stays = run === 0 && tab < 6;
    if (stays) keys[accessKeyId] = true;
    else await done(handle.deleteAccessKey(accessKeyId));
    if (stays) {
      await done(handle.createTable({ tableName: `${tableName}_stays`, primaryKey: [{ name: "k", type: "STRING" }] }));
      tables[`${tableName}_stays`] = true;
    }
    await done(handle.deleteTable(tableName));
  };
  globalThis.writing = Promise.all(
    [db, second].map(async (handle, i) => {
      for (let run = 0; !stopped; run++) {
        try {
          await round(handle, `tab${tab}_${i}`, run);
        } catch (error) {
          errors.push(`${error.code}: ${error.message}`);
          stopped = true;
        }
      }
    }),
  );
};

for (const [[way, prepare], ends] of long) {
  test(
    `hand-over: ${ROUNDS} times the leader ${ends} among tabs that make and delete tables, indexes and access keys; each change is done once, and none is refused (${way})`,
    async (t) => {
      const { context, server, one, two } = await tabs(t, { prepare });
      const sum = { tables: ["t"], keys: [], changes: 0 };
      const finish = async (page) => {
        const seen = await written(page);
        sum.tables.push(...Object.keys(seen.tables));
        sum.keys.push(...Object.keys(seen.keys));
        sum.changes += seen.changes;
      };
      let tab = 0;
      const begin = (page) => page.evaluate(change, tab++);
      const three = await openPage(t, context, server);
      await three.evaluate(open, { name: "shared", options: {} });
      const { pages, waits } = await handOvers(t, { server, context, pages: [one, two, three], ends, times: ROUNDS, begin, finish });
      for (const page of pages) await finish(page);
      const stored = await pages[0].evaluate(async () => ({
        tables: await db.listTable(),
        keys: (await db.listAccessKeys()).map(({ accessKeyId }) => accessKeyId),
      }));
      assert.deepEqual(stored.tables, sum.tables.sort());
      assert.deepEqual(stored.keys.sort(), sum.keys.sort());
      assert.ok(sum.changes > ROUNDS * 20, `${sum.changes} changes`);
      t.note(`${sum.changes} changes, ${sum.tables.length} tables and ${sum.keys.length} keys at the end; ${inWords(waits)}`);
    },
    { seconds: 60 + 8 * ROUNDS, needs: needs(ends), repeats: true, shared: true },
  );
}

for (const worker of turns([true, false])) {
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

test(
  "hand-over: when the site's data is cleared, followers are told too, and nothing is created anew",
  async (t) => {
    const { context, server, one, two } = await tabs(t);
    await engine.clear(context, one, server);
    await two.waitForFunction(() => health.length > 0);
    const seen = await two.evaluate(async () => ({ health, refused: (await H.refusal(() => db.listTable())).code, instances: await T.listInstances() }));
    assert.match(seen.health[0], /^false (Closed|OTSObjectNotExist|DataLost): /);
    assert.deepEqual([seen.health.length, ["Closed", "OTSObjectNotExist", "DataLost"].includes(seen.refused), seen.instances], [1, true, []]);
    t.note(seen.health[0]);
  },
  { needs: ["clear"] },
);
