// A tab that was cut off never writes beside the other. How tabs share an instance is in 33-followers.mjs.

import assert from "node:assert/strict";

import { openPage, startBrowser } from "../support/browser.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

const create = async ({ name, worker }) => {
  globalThis.db = await T.open(name, { worker });
  await db.createTable({ tableName: "t", primaryKey: [{ name: "k", type: "STRING" }] });
  await db.putRow({ tableName: "t", primaryKey: { k: "first" }, attributes: { by: "one" } });
};

/** The calls of the tab that was cut off, and the stored rows in the end. */
async function checkFenced(t, one, two, worker) {
  const beside = await two.evaluate(async (worker) => {
    globalThis.db = await T.open("fenced", { worker });
    await db.putRow({ tableName: "t", primaryKey: { k: "new" }, attributes: { by: "two" } });
    await db.updateRow({ tableName: "t", primaryKey: { k: "first" }, put: { by: "two" } });
    return (await H.all(db, { tableName: "t" })).length;
  }, worker);
  assert.equal(beside, 2);

  const stale = await one.evaluate(async () => {
    const put = (k) => H.refusal(() => db.putRow({ tableName: "t", primaryKey: { k }, attributes: { by: "one" } }));
    const many = await Promise.all(["stale-1", "stale-2", "first"].map(put));
    return {
      many,
      later: await put("stale-3"),
      update: await H.refusal(() => db.updateRow({ tableName: "t", primaryKey: { k: "first" }, increment: { n: 1 } })),
      table: await H.refusal(() => db.createTable({ tableName: "stale", primaryKey: [{ name: "k", type: "STRING" }] })),
      flush: await H.refusal(() => db.flush()),
      compact: await H.refusal(() => db.compact()),
      batch: await H.refusal(async () => {
        const [result] = await db.batchWriteRow([{ tableName: "t", put: { primaryKey: { k: "stale-4" } } }]);
        if (!result.ok) throw result.error;
      }),
      read: await H.refusal(async () => H.plain((await db.getRow({ tableName: "t", primaryKey: { k: "first" } })).row).columns.by[0][0]),
    };
  });
  const { read, flush, compact, many, ...writes } = stale;
  for (const [what, { refused, known, code, message }] of [...Object.entries(writes), ...many.map((one) => ["many", one])]) {
    assert.ok(refused && known, `${what}: the stale tab wrote (${message})`);
    assert.equal(code, "LeaderChanged", `${what}: ${message}`);
  }
  t.note(`the stale tab's flush: ${flush.code ?? "done nothing"}, compact: ${compact.code ?? "done nothing"}, read: ${read.code ?? `gave ${read.value}`}`);
  assert.ok(
    read.refused ? read.code === "LeaderChanged" : read.value === "two",
    `R5: the stale tab reads '${read.value}' though 'two' was acknowledged before`,
  );

  const check = async () => (await H.all(db, { tableName: "t" })).map((row) => [row.primaryKey.k, row.get("by"), Object.keys(row.columns).length]);
  const expected = [
    ["first", "two", 1],
    ["new", "two", 1],
  ];
  assert.deepEqual(await two.evaluate(check), expected);
  const after = await two.evaluate(async () => {
    await db.flush();
    await db.compact();
    const tables = await db.listTable();
    await db.close();
    globalThis.db = await T.open("fenced");
    return tables;
  });
  assert.deepEqual(after, ["t"]);
  assert.deepEqual(await two.evaluate(check), expected, "also after a reopening");
  await two.evaluate(() => db.close());
}

for (const worker of turns([true, false])) {
  test(`R5, fencing: a tab whose lock was stolen gets LeaderChanged and never writes (${worker ? "worker" : "in the page"})`, async (t) => {
    const server = await servePackage(t);
    const context = await startBrowser(t);
    const one = await openPage(t, context, server);
    const two = await openPage(t, context, server);
    await one.evaluate(create, { name: "fenced", worker });
    await one.evaluate(() => {
      globalThis.health = new Promise((resolve) => db.addEventListener("health", resolve));
    });
    await two.evaluate(() => navigator.locks.request("tabstore/fenced", { steal: true }, () => {}));
    // It hears of the theft by itself: its reads end without a write that fails before them.
    const reads = await one.evaluate(async () => {
      const { healthy, error } = await health;
      return {
        health: { refused: !healthy, known: error instanceof T.TabStoreError, code: error.code, message: error.message },
        get: await H.refusal(() => db.getRow({ tableName: "t", primaryKey: { k: "first" } })),
        range: await H.refusal(() => db.getRange({ tableName: "t" })),
        batch: await H.refusal(() => db.batchGetRow([{ tableName: "t", primaryKeys: [{ k: "first" }] }])),
        tables: await H.refusal(() => db.listTable()),
      };
    });
    for (const [what, { refused, known, code, message }] of Object.entries(reads)) {
      assert.ok(refused && known, `${what}: the stale tab reads (${message})`);
      assert.equal(code, "LeaderChanged", `${what}: ${message}`);
      assert.match(message, /'fenced'/, "the message names the instance");
    }
    await checkFenced(t, one, two, worker);
    const { closed } = await one.evaluate(async () => ({ closed: await H.refusal(() => db.close()) }));
    assert.equal(closed.refused, false, `closing is always possible: ${closed.message}`);
  });
}

test("R5, fencing: without Web Locks, the tab that opened first gets LeaderChanged and never writes", async (t) => {
  const server = await servePackage(t);
  const context = await startBrowser(t);
  // Only the page loses its locks by this, so the engines run in the pages.
  await context.addInitScript(() => Object.defineProperty(Navigator.prototype, "locks", { value: undefined }));
  const one = await openPage(t, context, server);
  const two = await openPage(t, context, server);
  await one.evaluate(create, { name: "fenced", worker: false });
  await checkFenced(t, one, two, false);
});
