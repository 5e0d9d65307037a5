// The wide-column model through the package, in Chromium: tables and their options, conditions, filters, counters,
// assigned keys. One page, one instance in memory or on disk, a clock that the test moves.

import assert from "node:assert/strict";

import { newProfile, openPage, reload, startBrowser } from "../support/browser.mjs";
import { test, times, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

/** Runs `script` in a page with the package. */
async function inPage(t, script, argument) {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  return page.evaluate(script, argument);
}

// 100 callers all read one count and all try to replace it: 10,000 successes take a million tries.
for (const [worker, rounds] of turns([
  [true, times(100, 6)],
  [false, times(20, 5)],
])) {
  test(
    `R6, R5: compare-and-set by 100 callers, ${rounds} rounds each, loses no update; so do increments (${worker ? "worker" : "in the page"})`,
    async (t) => {
      const seen = await inPage(
        t,
        async ([worker, rounds]) => {
          const db = await T.open("counters", { worker });
          await db.createTable({ tableName: "n", primaryKey: [{ name: "id", type: "STRING" }] });
          const key = { tableName: "n", primaryKey: { id: "cas" } };
          await db.putRow({ ...key, attributes: { count: 0 } });
          let refused = 0;
          const caller = async () => {
            for (let round = 0; round < rounds; round += 1) {
              for (;;) {
                const count = (await db.getRow(key)).row.get("count");
                try {
                  await db.updateRow({ ...key, put: { count: count + 1 }, condition: { rowExistence: "EXPECT_EXIST", column: T.col("count").eq(count) } });
                  break;
                } catch (error) {
                  if (error.code !== "OTSConditionCheckFail") throw error;
                  refused += 1;
                }
              }
            }
          };
          const begin = performance.now();
          await Promise.all(Array.from({ length: 100 }, caller));
          const took = performance.now() - begin;
          const cas = (await db.getRow(key)).row.get("count");

          const counter = { tableName: "n", primaryKey: { id: "add" } };
          const values = [];
          await Promise.all(
            Array.from({ length: 100 }, async () => {
              for (let round = 0; round < 100; round += 1) {
                const { row } = await db.updateRow({ ...counter, increment: { count: 1 }, returnContent: { afterModify: ["count"] } });
                values.push(row.get("count"));
              }
            }),
          );
          const added = (await db.getRow(counter)).row.get("count");
          await db.close();
          return { cas, refused, took, added, different: new Set(values).size };
        },
        [worker, rounds],
      );
      assert.equal(seen.cas, 100 * rounds);
      assert.equal(seen.added, 10_000);
      assert.equal(seen.different, 10_000, "every increment has told another value");
      t.note(`${100 * rounds} compare-and-sets in ${(seen.took / 1000).toFixed(1)} s, ${seen.refused} were refused and tried again`);
    },
    { seconds: 300 },
  );
}

test("R6: filters, pagination by columns and conditions, in both notations", async (t) => {
  const seen = await inPage(t, async () => {
    const db = await T.open("filters", { storage: "memory" });
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 3 });
    for (let id = 0; id < 20; id += 1) {
      await db.putRow({ tableName: "t", primaryKey: { id }, attributes: { n: id, text: `item ${id * 3} of many`, ...(id % 2 ? { odd: true } : {}) } });
    }
    const ids = async (filter, more = {}) => (await H.all(db, { tableName: "t", filter, ...more })).map((row) => row.primaryKey.id);
    const { col } = T;
    const found = {
      and: await ids(col("n").gt(5).and(col("n").le(8))),
      plain: await ids({
        operator: "AND",
        filters: [
          { column: "n", comparator: "GREATER_THAN", value: 5 },
          { column: "n", comparator: "LESS_EQUAL", value: 8 },
        ],
      }),
      not: await ids(col("n").ge(3).not()),
      or: await ids(col("n").eq(1).or(col("n").eq(19))),
      missing: (await ids(col("odd").eq(true))).length,
      present: (await ids(col("odd").eq(true, { passIfMissing: false }))).length,
      type: await ids(col("n").eq("5")),
      key: await ids(col("id").lt(2)),
      regex: await ids(col("text").transfer("item ([0-9]+)", "INTEGER").eq(30)),
      limited: await ids(col("n").ge(10), { limit: 3 }),
    };
    const page = await db.getRow({ tableName: "t", primaryKey: { id: 3 }, filter: { offset: 1, limit: 1 } });
    found.page = Object.keys(page.row.columns);
    let deep = col("n").eq(1);
    for (let i = 0; i < 31; i += 1) deep = deep.or(col("n").eq(i));
    found.many = await H.refusal(() =>
      db.getRow({ tableName: "t", primaryKey: { id: 3 }, filter: { operator: "OR", filters: Array.from({ length: 32 }, (_, i) => col("n").eq(i)) } }),
    );
    const conditional = (condition) => H.refusal(() => db.updateRow({ tableName: "t", primaryKey: { id: 3 }, put: { n: 100 }, condition }));
    found.conditions = [
      (await conditional({ column: col("n").eq(4) })).message,
      (await conditional({ rowExistence: "EXPECT_NOT_EXIST" })).message,
      (await conditional({ rowExistence: "EXPECT_EXIST", column: col("n").eq(3).and(col("odd").eq(true)) })).refused,
    ];
    found.cost = (await db.putRow({ tableName: "t", primaryKey: { id: 3 }, attributes: {}, condition: { column: col("n").eq(100) } })).consumed;
    await db.close();
    return found;
  });
  assert.deepEqual(seen.and, [6, 7, 8]);
  assert.deepEqual(seen.plain, seen.and);
  assert.deepEqual(seen.not, [0, 1, 2]);
  assert.deepEqual(seen.or, [1, 19]);
  assert.equal(seen.missing, 20);
  assert.equal(seen.present, 10);
  assert.deepEqual(seen.type, [], "a filter value of another type matches nothing");
  assert.deepEqual(seen.key, [0, 1]);
  assert.deepEqual(seen.regex, [10]);
  assert.deepEqual(seen.limited, [10, 11, 12]);
  assert.deepEqual(seen.page, ["odd"]);
  assert.match(seen.many.message, /The count of filter exceeds the max: 32\./);
  assert.deepEqual(seen.conditions, ["Condition check failed.", "Condition check failed.", false]);
  assert.deepEqual(seen.cost, { read: 1, write: 1 });
});

test("R6: a counted key column is given by the store, in order, also after a reload", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const add = async () => {
    const db = await H.openSoon("counted");
    if (!(await db.listTable()).includes("m")) {
      await db.createTable({
        tableName: "m",
        primaryKey: [
          { name: "box", type: "STRING" },
          { name: "seq", type: "INTEGER", autoIncrement: true },
        ],
      });
    }
    const put = (text) => db.putRow({ tableName: "m", primaryKey: { box: "a", seq: T.AUTO_INCREMENT }, attributes: { text }, returnContent: "PRIMARY_KEY" });
    const rows = await Promise.all(Array.from({ length: 50 }, (_, i) => put(`message ${i}`)));
    const seqs = rows.map(({ row }) => row.primaryKey.seq);
    const refused = await H.refusal(() =>
      db.putRow({ tableName: "m", primaryKey: { box: "a", seq: T.AUTO_INCREMENT }, attributes: {}, condition: { rowExistence: "EXPECT_NOT_EXIST" } }),
    );
    const stored = (await H.all(db, { tableName: "m" })).map((row) => row.primaryKey.seq);
    return { seqs, refused: refused.message, stored };
  };
  const first = await page.evaluate(add);
  await reload(page);
  const second = await page.evaluate(add);
  const all = [...first.seqs, ...second.seqs];
  assert.ok(
    all.every((seq, i) => i === 0 || seq > all[i - 1]),
    "in call order",
  );
  assert.deepEqual(second.stored, all);
  assert.equal(first.refused, "Invalid expect:EXPECT_NOT_EXIST when modify row with pk auto increment");
});

test("T1, T5, T6, T7, I4: options change while data stays; throughput once in two minutes; updates can be forbidden", async (t) => {
  const seen = await inPage(t, async () => {
    const db = await T.open("options", { storage: "memory", clock: { now: 1_700_000_000_000 } });
    const tableName = "t";
    await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }], reservedThroughput: { read: 1, write: 1 } });
    await db.putRow({ tableName, primaryKey: { id: 1 }, attributes: { a: 1 } });
    const options = await db.updateTable({ tableName, timeToLive: -1, maxVersions: 5, maxVersionOffset: 86400 });
    const raised = await db.updateTable({ tableName, reservedThroughput: { read: 100, write: 1 } });
    const again = await H.refusal(() => db.updateTable({ tableName, reservedThroughput: { read: 50, write: 1 } }));
    await db.setClock(1_700_000_120_000);
    const later = await db.updateTable({ tableName, reservedThroughput: { read: 50, write: 1 } });
    const much = await H.refusal(() => db.updateTable({ tableName, reservedThroughput: { read: 5001, write: 1 } }));
    await db.updateTable({ tableName, allowUpdate: false });
    const update = await H.refusal(() => db.updateRow({ tableName, primaryKey: { id: 1 }, put: { a: 2 } }));
    await db.putRow({ tableName, primaryKey: { id: 2 }, attributes: { a: 3 } });
    await db.deleteRow({ tableName, primaryKey: { id: 1 } });
    const ids = (await H.all(db, { tableName })).map((row) => row.primaryKey.id);
    await db.close();
    const capacity = await T.open("cheap", { storage: "memory", kind: "capacity" });
    const reserved = await H.refusal(() =>
      capacity.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }], reservedThroughput: { read: 1, write: 0 } }),
    );
    await capacity.close();
    return { options, raised, again, later, much: much.refused, update: update.message, ids, reserved: reserved.message };
  });
  assert.equal(seen.options.maxVersions, 5);
  assert.equal(seen.raised.reservedThroughput.read, 100);
  assert.equal(seen.again.code, "OTSTooFrequentReservedThroughputAdjustment");
  assert.equal(seen.later.reservedThroughput.read, 50);
  assert.ok(seen.much);
  assert.equal(seen.update, "Update operation is not allowed in this table");
  assert.deepEqual(seen.ids, [2]);
  assert.match(seen.reserved, /^Can not reserve read capacity unit on capacity/);
});

test("V1, V2, V3, V4, V5: versions and time to live hide at once, show again, and are gone after compaction", async (t) => {
  const seen = await inPage(t, async () => {
    const NOW = 1_700_000_000_000;
    const DAY = 86400;
    const db = await T.open("hidden", { clock: { now: NOW } });
    const tableName = "t";
    const primaryKey = { id: 1 };
    await db.createTable({ tableName, primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 3, maxVersionOffset: 10 * DAY });
    for (let i = 0; i < 4; i += 1) await db.updateRow({ tableName, primaryKey, put: { a: i } });
    await db.updateRow({ tableName, primaryKey, put: { old: [{ value: "x", version: NOW - 2 * DAY * 1000 }] } });
    const read = async () => {
      const { row } = await db.getRow({ tableName, primaryKey, maxVersions: 10 });
      return row === null ? null : { a: (row.columns.a ?? []).map(({ value }) => value), old: (row.columns.old ?? []).length };
    };
    const stamps = (await db.getRow({ tableName, primaryKey, maxVersions: 10 })).row.columns.a.map(({ version }) => version - NOW);
    const steps = [await read()];
    for (const change of [{ maxVersions: 1 }, { maxVersions: 3 }, { timeToLive: DAY }, { timeToLive: -1 }, { maxVersions: 1, timeToLive: DAY }]) {
      await db.updateTable({ tableName, ...change });
      steps.push(await read());
    }
    await db.compact();
    await db.updateTable({ tableName, maxVersions: 3, timeToLive: -1 });
    steps.push(await read());
    await db.updateTable({ tableName, timeToLive: DAY });
    await db.setClock(NOW + 3 * DAY * 1000);
    steps.push(await read());
    await db.close();
    return { stamps, steps };
  });
  assert.deepEqual(seen.stamps, [3, 2, 1], "one clock millisecond, four versions, the newest three");
  assert.deepEqual(seen.steps, [
    { a: [3, 2, 1], old: 1 },
    { a: [3], old: 1 },
    { a: [3, 2, 1], old: 1 },
    { a: [3, 2, 1], old: 0 },
    { a: [3, 2, 1], old: 1 },
    { a: [3], old: 0 },
    { a: [3], old: 0 },
    null,
  ]);
});

test("R7, R4: a transaction is seen by itself alone until it commits, and is dropped whole when it aborts", async (t) => {
  const server = await servePackage(t);
  const profile = newProfile(t);
  const page = await openPage(t, await startBrowser(t, { profile }), server);
  const seen = await page.evaluate(async () => {
    const db = await T.open("bank", { retry: false });
    const tableName = "account";
    await db.createTable({
      tableName,
      primaryKey: [
        { name: "bank", type: "STRING" },
        { name: "id", type: "INTEGER" },
      ],
    });
    const key = (id, bank = "a") => ({ tableName, primaryKey: { bank, id } });
    await db.putRow({ ...key(1), attributes: { sum: 100 } });
    await db.putRow({ ...key(2), attributes: { sum: 0 } });
    const sum = async (from, id) => (await from.getRow(key(id))).row.get("sum");
    const tx = await db.startLocalTransaction({ tableName, partitionKey: { bank: "a" } });
    await Promise.all([tx.updateRow({ ...key(1), increment: { sum: -30 } }), tx.updateRow({ ...key(2), increment: { sum: 30 } })]);
    const inside = [await sum(tx, 1), await sum(tx, 2)];
    const outside = [await sum(db, 1), await sum(db, 2)];
    const locked = await H.refusal(() => db.putRow({ ...key(9), attributes: {} }));
    const second = await H.refusal(() => db.startLocalTransaction({ tableName, partitionKey: { bank: "a" } }));
    await db.putRow({ ...key(9, "b"), attributes: {} });
    const elsewhere = await H.refusal(() => tx.putRow({ ...key(9, "b"), attributes: {} }));
    await tx.commit();
    const committed = [await sum(db, 1), await sum(db, 2)];
    const after = await H.refusal(() => tx.commit());
    const dropped = await db.startLocalTransaction({ tableName, partitionKey: { bank: "a" } });
    await dropped.deleteRow(key(1));
    await dropped.abort();
    const atomic = await db.batchWriteRow(
      [
        { tableName, put: { primaryKey: { bank: "a", id: 5 }, attributes: {} } },
        { tableName, put: { primaryKey: { bank: "b", id: 6 }, attributes: {} } },
      ],
      { atomic: true },
    );
    const rows = (await H.all(db, { tableName })).length;
    // A transaction that is never ended is gone with its page.
    const lost = await db.startLocalTransaction({ tableName, partitionKey: { bank: "a" } });
    await lost.deleteRow(key(2));
    return { inside, outside, locked, second, elsewhere, committed, after: after.code, rows, atomic: atomic.map(({ ok, error }) => ok || error.code) };
  });
  assert.deepEqual(seen.inside, [70, 30]);
  assert.deepEqual(seen.outside, [100, 0]);
  assert.equal(seen.locked.code, "OTSRowOperationConflict");
  assert.equal(seen.locked.message, "Data is being modified by the other request.");
  assert.equal(seen.second.code, "OTSRowOperationConflict");
  assert.equal(seen.elsewhere.code, "OTSDataOutOfRange");
  assert.deepEqual(seen.committed, [70, 30]);
  assert.equal(seen.after, "OTSSessionNotExist");
  assert.deepEqual(seen.atomic, ["OTSDataOutOfRange", "OTSDataOutOfRange"]);
  assert.equal(seen.rows, 3);
  await reload(page);
  const left = await page.evaluate(async () => {
    const db = await H.openSoon("bank");
    await db.putRow({ tableName: "account", primaryKey: { bank: "a", id: 7 }, attributes: {} });
    return (await H.all(db, { tableName: "account" })).map((row) => row.primaryKey.id);
  });
  assert.deepEqual(left, [1, 2, 7, 9]);
});
