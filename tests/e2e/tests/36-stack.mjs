// Calls made at the end of the page's stack: those that fail fail alone, also on the package's worker.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

async function onFullStack(worker) {
  const db = await T.open("stack", { worker });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const health = [];
  db.addEventListener("health", ({ error }) => health.push(String(error)));
  const put = (id) => db.putRow({ tableName: "t", primaryKey: { id }, attributes: { text: `é${id}` } });
  const calls = {
    putRow: (level) => db.putRow({ tableName: "t", primaryKey: { id: 100_000 + level }, attributes: { text: "日本".repeat(500) } }),
    getRow: () => db.getRow({ tableName: "t", primaryKey: { id: 1 } }),
    getRange: () => db.getRange({ tableName: "t", limit: 3 }),
    batchGetRow: () => db.batchGetRow([{ tableName: "t", primaryKeys: [{ id: 1 }] }]),
    describeTable: () => db.describeTable("t"),
    // Not on every level: no more than 1000 may be open.
    startLocalTransaction: (level) => (level % 4 > 0 ? undefined : db.startLocalTransaction({ tableName: "t", partitionKey: { id: 200_000 + level } })),
  };
  const LEVELS = 3000;
  const seen = {};
  let others = 0;
  /** Makes a call on the last levels of a recursion that has come to the end of the stack. */
  const onLastLevels = (call) => {
    // Filled without a call: there may be no stack for one.
    const made = new Array(LEVELS + 1);
    let [level, thrown] = [0, 0];
    const descend = () => {
      try {
        descend();
      } catch {
        // The end of the stack is here, or just below.
      }
      if (level++ >= LEVELS) return;
      try {
        made[level] = call(level);
      } catch {
        thrown += 1;
      }
    };
    descend();
    for (const one of made) if (one instanceof Promise) one.catch(() => {});
    return { made, thrown };
  };
  for (const [name, call] of Object.entries(calls)) {
    const before = Array.from({ length: 200 }, (_, id) => put(others + id));
    const { made, thrown } = onLastLevels(call);
    const after = Array.from({ length: 200 }, (_, id) => put(others + 200 + id));
    await Promise.all([...before, ...after]);
    others += 400;
    const settled = await Promise.allSettled(made.filter((one) => one !== undefined));
    for (const { value } of settled) await value?.abort?.();
    const wrong = settled.find(({ reason }) => reason !== undefined && !/Maximum call stack|RangeError|too much recursion/.test(String(reason)));
    seen[name] = {
      fulfilled: settled.filter(({ status }) => status === "fulfilled").length,
      refused: thrown + settled.filter(({ status }) => status === "rejected").length,
      wrong: String(wrong?.reason),
    };
  }
  const writer = db.writer("t");
  let taken = 0;
  onLastLevels((level) => {
    writer.put({ primaryKey: { id: 300_000 + level }, attributes: { text: "é" } });
    // Only what was not refused by a throw.
    taken += 1;
  });
  const { rows } = await writer.close();
  let stored = 0;
  for await (const page of db.scanPages({ tableName: "t", start: { id: 300_000 }, end: { id: 400_000 } })) stored += page.length;
  await db.close();
  const again = await T.open("stack", { worker });
  let found = 0;
  for await (const page of again.scanPages({ tableName: "t", start: { id: 0 }, end: { id: 100_000 } })) found += page.length;
  await again.close();
  return { seen, others, found, health, taken, rows, stored };
}

for (const worker of turns([true, false])) {
  test(
    `R4: calls at the end of the page's stack fail alone, ${worker ? "with a worker" : "in the page"}: others are answered, close ends, the instance opens again`,
    async (t) => {
      const server = await servePackage(t);
      const page = await openPage(t, await startBrowser(t), server);
      const { seen, others, found, health, taken, rows, stored } = await page.evaluate(onFullStack, worker);
      for (const [name, { fulfilled, refused, wrong }] of Object.entries(seen)) {
        t.note(`${name}: ${fulfilled} answered, ${refused} refused`);
        assert.equal(wrong, "undefined", name);
        assert.ok(fulfilled > 0 && refused > 0, name);
      }
      assert.deepEqual([found, health], [others, []]);
      assert.deepEqual([rows, stored], [taken, taken]);
    },
    { seconds: 120, needs: ["stack"] },
  );
}
