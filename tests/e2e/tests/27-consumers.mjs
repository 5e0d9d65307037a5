// Consumer groups in the browser: consumers in several tabs share the work, also when tabs end, crash and freeze.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { freeze, openFreezable, OWN_RENDERER } from "../support/frozen.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";
import { led, open, WAYS } from "../support/tabs.mjs";

const OPTIONS = { partitions: { splitBytes: 40_000, mergeBytes: 0 } };

/**
 * Reads as a consumer of the group, and tells the tab that hears what it got before each checkpoint. It waits until that one has
 * it: a checkpoint may be stored before a message leaves the process, which may crash in between.
 */
const consume = (tab) => {
  Object.assign(globalThis, { batches: 0, errors: [], refused: 0 });
  const control = new AbortController();
  const others = new BroadcastChannel("got");
  const untold = new Map();
  others.onmessage = ({ data }) => untold.get(data.told)?.();
  const tell = (batch) =>
    new Promise((told) => {
      if (globalThis.heard !== undefined) return told(heard.push(batch));
      const id = crypto.randomUUID();
      untold.set(id, told);
      others.postMessage({ id, batch });
    });
  globalThis.consuming = (async () => {
    try {
      for await (const { records, phase, channelId, checkpoint } of db.consumer({
        tableName: "t",
        group: "g",
        type: "BaseAndStream",
        heartbeatTimeout: 2000,
        signal: control.signal,
      })) {
        const at = performance.timeOrigin + performance.now();
        const got = records.map(({ type, primaryKey, cells }) => [type, primaryKey.k, primaryKey.n, cells.find(({ name }) => name === "v")?.value]);
        await tell({ tab, at, phase, channelId, got });
        batches += 1;
        await checkpoint().catch((error) => {
          if (error.code !== "OTSSequenceNumberNotMatch") throw error;
          refused += 1;
        });
      }
    } catch (error) {
      if (error.message !== "enough") errors.push(`${error.code}: ${error.message}`);
    }
  })();
  globalThis.enough = () => {
    control.abort(new Error("enough"));
    return consuming;
  };
};

/** Hears what all tabs got. */
const hear = () => {
  globalThis.heard = [];
  const tabs = new BroadcastChannel("got");
  tabs.onmessage = ({ data: { id, batch } }) => {
    if (batch === undefined) return;
    heard.push(batch);
    tabs.postMessage({ told: id });
  };
};

/** Writes without a pause: rows of its own, and counters of all tabs. */
const write = (tab) => {
  Object.assign(globalThis, { stopped: false, failures: [] });
  globalThis.writing = (async () => {
    for (let n = 0; !stopped; n++) {
      try {
        await db.putRow({ tableName: "t", primaryKey: { k: `${"adgjmpsv"[n % 8]}${tab}`, n }, attributes: { v: n, text: H.noise(n, 60) } });
        await db.updateRow({ tableName: "t", primaryKey: { k: `count ${n % 5}`, n: 0 }, increment: { v: 1 } });
      } catch (error) {
        failures.push(`${error.code}: ${error.message}`);
        stopped = true;
      }
    }
  })();
};

const describe = (page) => page.evaluate(() => db.consumer({ tableName: "t", group: "g" }).describe());

/** Waits until so many consumers have all the channels that can be read, each one at least. */
async function divided(page, count) {
  while ((await page.evaluate(() => db.listConsumerGroups({ tableName: "t" }))).length === 0);
  for (;;) {
    const { consumers, channels } = await describe(page);
    const owners = new Set(channels.filter(({ state }) => state === "OPEN").map(({ consumer }) => consumer));
    if (consumers.length === count && owners.size === count) return channels;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Opens three tabs with a table of several partitions. */
async function three(t, context, openOne) {
  const pages = [];
  for (let i = 0; i < 3; i++) {
    pages.push(await openOne());
    await pages[i].evaluate(open, { name: "Shared", options: OPTIONS });
  }
  await pages[0].evaluate(async () => {
    await db.createTable({
      tableName: "t",
      primaryKey: [
        { name: "k", type: "STRING" },
        { name: "n", type: "INTEGER" },
      ],
    });
    for (let at = 0; at < 1600; at += 200) {
      const rows = Array.from({ length: 200 }, (_, i) => at + i);
      await db.batchWriteRow(
        rows.map((n) => ({ tableName: "t", put: { primaryKey: { k: `${"adgjmpsv"[n % 8]}base`, n }, attributes: { v: n, text: H.noise(n, 60) } } })),
      );
    }
    await db.flush();
    await db.compact();
    await db.updateTable({ tableName: "t", stream: { enabled: true, expirationHours: 1 } });
    await db.putRow({ tableName: "t", primaryKey: { k: "abase", n: 0 }, attributes: { v: 0 } });
  });
  return pages;
}

/** Ends all, and checks what the tabs got against what is stored. */
async function check(t, pages, last) {
  for (const page of pages) {
    const failures = await page.evaluate(async () => {
      stopped = true;
      await globalThis.writing;
      return globalThis.failures ?? [];
    });
    assert.deepEqual(failures, []);
  }
  for (;;) {
    const { channels } = await describe(last);
    if (channels.every(({ waitingSince, phase, state }) => state === "TERMINATED" || (waitingSince === null && phase === "Stream"))) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  for (const page of pages) {
    assert.deepEqual(
      await page.evaluate(async () => {
        await enough();
        return errors;
      }),
      [],
    );
  }
  const { consumers } = await describe(last);
  assert.deepEqual(consumers, []);
  const { heard, stored } = await last.evaluate(async () => {
    const stored = [];
    for await (const row of db.scan({ tableName: "t" })) stored.push([row.primaryKey.k, row.primaryKey.n, row.get("v")]);
    return { heard, stored };
  });
  heard.sort((a, b) => a.at - b.at);
  const rows = new Map();
  for (const { got } of heard) for (const [, k, n, v] of got) rows.set(`${k}/${n}`, v);
  assert.deepEqual([...rows].toSorted(), stored.map(([k, n, v]) => [`${k}/${n}`, v]).toSorted(), "the last of each row is what is stored");
  // Each result of a counter comes, those of the full part aside, and none before an earlier one.
  for (const counter of new Set(stored.map(([k]) => k).filter((k) => k.startsWith("count")))) {
    const values = heard.flatMap(({ got }) => got.filter(([, k]) => k === counter).map(([, , , v]) => v));
    const fresh = values.filter((v, i) => values.indexOf(v) === i);
    const first = fresh[0];
    assert.deepEqual(
      fresh,
      Array.from({ length: fresh.length }, (_, i) => first + i),
      counter,
    );
  }
  return { heard, stored };
}

for (const [way, prepare] of turns(WAYS)) {
  test(
    `ST2: consumers in three tabs share the channels, and the group goes on when the leader crashes and the next one closes (${way})`,
    async (t) => {
      const server = await servePackage(t);
      const context = await startBrowser(t);
      await prepare(context);
      const pages = await three(t, context, () => openPage(t, context, server));
      const [one, two, last] = pages;
      await last.evaluate(hear);
      for (const [tab, page] of pages.entries()) await page.evaluate(consume, tab);
      const channels = await divided(last, 3);
      for (const [tab, page] of pages.entries()) if (page !== one) await page.evaluate(write, tab);
      // Each tab has had work before one of them ends.
      for (const page of pages) await page.waitForFunction(() => batches > 0);
      await engine.crash(context, one);
      await led([two, last]);
      await divided(last, 2);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const failures = await two.evaluate(async () => {
        stopped = true;
        await writing;
        return failures;
      });
      assert.deepEqual(failures, []);
      await two.close();
      await led([last]);
      await divided(last, 1);
      const { heard, stored } = await check(t, [last], last);
      assert.equal(new Set(heard.map(({ tab }) => tab)).size, 3, "each tab had a part");
      t.note(`${channels.length} channels, ${stored.length} rows, ${heard.length} batches`);
    },
    { needs: ["crash"] },
  );
}

test("ST3: a page goes on behind its checkpoint after a reload, at once", async (t) => {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  const page = await openPage(t, context, server);
  const begin = async () => {
    globalThis.db = await T.open("consumers");
    globalThis.take = async (most) => {
      const ids = [];
      // Nobody waits so long.
      const group = db.consumer({ tableName: "t", group: "g", type: "Stream", limit: 2, heartbeatTimeout: 300_000 });
      for await (const { records, checkpoint } of group) {
        ids.push(...records.map(({ primaryKey }) => primaryKey.id));
        if (ids.length > most) return ids;
        await checkpoint();
      }
    };
  };
  await page.evaluate(begin);
  await page.evaluate(async () => {
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], stream: { enabled: true, expirationHours: 1 } });
    for (let id = 0; id < 9; id++) await db.putRow({ tableName: "t", primaryKey: { id } });
    // It has the channel when the page ends.
    const consumer = db.consumer({ tableName: "t", group: "g", type: "Stream", limit: 3, heartbeatTimeout: 300_000 })[Symbol.asyncIterator]();
    await (await consumer.next()).value.checkpoint();
    await consumer.next();
  });
  await page.reload();
  await page.waitForFunction(() => globalThis.T !== undefined);
  await page.evaluate(begin);
  assert.deepEqual(await page.evaluate(() => take(4)), [3, 4, 5, 6, 7, 8]);
  assert.deepEqual(await page.evaluate(() => take(1)), [7, 8]);
});

test("ST2: the channels of a frozen tab are read by others, and it is refused when it wakes, and goes on", async (t) => {
  const server = await servePackage(t);
  const context = await startBrowser(t, { args: OWN_RENDERER });
  const pages = await three(t, context, () => openFreezable(t, context, server));
  const [one, two, last] = pages;
  await last.evaluate(hear);
  for (const [tab, page] of pages.entries()) await page.evaluate(consume, tab);
  await divided(last, 3);
  await last.evaluate(write, 2);
  // A batch whose checkpoint comes when the tab has been woken.
  await two.evaluate(() => {
    globalThis.late = (async () => {
      for await (const { checkpoint } of db.consumer({ tableName: "t", group: "late", type: "BaseAndStream", limit: 5, heartbeatTimeout: 1000 })) {
        globalThis.held = true;
        while (!globalThis.go) await new Promise((resolve) => setTimeout(resolve, 10));
        return checkpoint().then(
          () => "stored",
          ({ code }) => code,
        );
      }
    })();
  });
  await two.waitForFunction(() => globalThis.held);
  await freeze(two, last, "shared");
  const taken = await last.evaluate(async () => {
    for await (const { records, phase } of db.consumer({ tableName: "t", group: "late", heartbeatTimeout: 1000 })) return [records.length > 0, phase];
  });
  assert.deepEqual(taken, [true, "BaseData"]);
  await divided(last, 2);
  two.thaw();
  assert.equal(
    await two.evaluate(() => {
      globalThis.go = true;
      return late;
    }),
    "OTSSequenceNumberNotMatch",
  );
  await divided(last, 3);
  await freeze(one, last, "shared");
  await led([last, two]);
  await divided(last, 2);
  one.thaw();
  await divided(last, 3);
  const { heard } = await check(t, pages, last);
  t.note(`${heard.length} batches`);
});
