// Secondary indexes, split points and capacity units through the package, in Chromium.

import assert from "node:assert/strict";

import { BACKENDS, newProfile, openPage, reload, startBrowser } from "../support/browser.mjs";
import { engine } from "../support/engine.mjs";
import { test, turns } from "../support/harness.mjs";
import { servePackage } from "../support/server.mjs";

for (const backend of turns(BACKENDS)) {
  test(
    `R6, T8: an index is built over what is there, goes on after a reload, and equals its table (${backend})`,
    async (t) => {
      const server = await servePackage(t);
      const page = await openPage(t, await startBrowser(t, { backend }), server);
      const begun = await page.evaluate(async () => {
        const db = await T.open("shop");
        await db.createTable({
          tableName: "order",
          primaryKey: [
            { name: "shop", type: "INTEGER" },
            { name: "id", type: "INTEGER" },
          ],
          definedColumns: [
            { name: "city", type: "STRING" },
            { name: "price", type: "INTEGER" },
          ],
          indexes: [{ indexName: "by_price", type: "LOCAL", primaryKey: ["shop", "price"], columns: ["city"] }],
        });
        const writer = db.writer("order");
        for (let id = 0; id < 20_000; id += 1) {
          const wait = writer.put({
            primaryKey: { shop: id % 7, id },
            attributes: { city: `city ${id % 100}`, price: (id * 7919) % 1000, note: "x".repeat(50) },
          });
          if (wait) await wait;
        }
        await writer.close();
        await db.createIndex({
          tableName: "order",
          index: { indexName: "by_city", type: "GLOBAL", primaryKey: ["city"], columns: ["price"] },
          includeBaseData: true,
        });
        const { indexes } = await db.describeTable("order");
        const early = await H.refusal(() => db.getRange({ tableName: "by_city" }));
        return {
          phase: indexes.find(({ indexName }) => indexName === "by_city").phase,
          early: early.message,
          direct: (await H.refusal(() => db.putRow({ tableName: "by_price", primaryKey: { shop: 1, price: 1, id: 1 }, attributes: {} }))).message,
        };
      });
      assert.equal(begun.phase, "FULL");
      assert.match(begun.early, /^Disallow read index table in building base state/);
      assert.equal(begun.direct, "Can't write index table directly");
      await reload(page);
      const seen = await page.evaluate(async () => {
        const db = await H.openSoon("shop");
        const key = (id) => ({ tableName: "order", primaryKey: { shop: id % 7, id } });
        await db.updateRow({ ...key(19_999), put: { city: "elsewhere" } });
        await db.deleteRow(key(0));
        const until = performance.now() + 30_000;
        let index;
        do {
          index = (await db.describeTable("order")).indexes.find(({ indexName }) => indexName === "by_city");
          await new Promise((resolve) => setTimeout(resolve, 20));
        } while (index.phase === "FULL" && performance.now() < until);
        const derived = [];
        for (const row of await H.all(db, { tableName: "order" })) {
          derived.push(JSON.stringify([row.get("city"), row.primaryKey.shop, row.primaryKey.id, row.get("price")]));
        }
        const indexed = (await H.all(db, { tableName: "by_city" })).map((row) =>
          JSON.stringify([row.primaryKey.city, row.primaryKey.shop, row.primaryKey.id, row.get("price")]),
        );
        const local = (await H.all(db, { tableName: "by_price" })).length;
        const moved = (
          await H.all(db, {
            tableName: "by_city",
            start: { city: "elsewhere", shop: T.INF_MIN, id: T.INF_MIN },
            end: { city: "elsewhere", shop: T.INF_MAX, id: T.INF_MAX },
          })
        ).length;
        const ttl = await H.refusal(() => db.updateTable({ tableName: "order", timeToLive: 86400, allowUpdate: false }));
        await db.close();
        return { index, same: derived.sort().join() === indexed.sort().join(), count: indexed.length, local, moved, ttl };
      });
      assert.equal(seen.index.phase, "INCR");
      assert.equal(seen.index.lagMs, 0);
      assert.ok(seen.same, "the index is what a scan of the table derives");
      assert.equal(seen.count, 19_999);
      assert.equal(seen.local, 19_999);
      assert.equal(seen.moved, 1);
      assert.equal(seen.ttl.code, "OTSParameterInvalid");
      assert.equal(seen.ttl.message, "[table ttl] must be bigger than or equal search index ttl");
    },
    { seconds: 120 },
  );
}

test("P4: split points cut a table into slices of about the asked size, from metadata", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const seen = await page.evaluate(async () => {
    const db = await T.open("slices");
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    const writer = db.writer("t");
    for (let id = 0; id < 60_000; id += 1) {
      const wait = writer.put({ primaryKey: { id }, attributes: { text: H.noise(id, 150) } });
      if (wait) await wait;
    }
    await writer.close();
    await db.flush();
    const { splits, consumed } = await db.computeSplitPointsBySize({ tableName: "t", splitSize: 1, splitSizeUnitBytes: 1 << 20 });
    const sizes = [];
    for (const { lower, upper } of splits) {
      let bytes = 0;
      for await (const rows of db.scanPages({ tableName: "t", start: lower, end: upper })) bytes += rows.length * (2 + 8 + 4 + 150);
      sizes.push(bytes);
    }
    const small = await H.refusal(() => db.computeSplitPointsBySize({ tableName: "t", splitSize: 0 }));
    await db.close();
    return { sizes, consumed, small: small.message };
  });
  assert.equal(
    seen.sizes.reduce((sum, bytes) => sum + bytes, 0),
    60_000 * 164,
  );
  for (const bytes of seen.sizes.slice(0, -1)) assert.ok(Math.abs(bytes / (1 << 20) - 1) <= 0.3, `a slice of ${bytes} bytes`);
  assert.deepEqual(seen.consumed, { read: seen.sizes.length, write: 0 });
  assert.equal(seen.small, "The split_size should be greater than 0.");
});

test("C1, C2, C3, C4: units are metered by the second and the hour, kept across a reload, and priced", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t, { profile: newProfile(t) }), server);
  const HOUR = 1_700_002_800_000;
  await page.evaluate(async (HOUR) => {
    const db = await T.open("meter", { clock: { now: HOUR } });
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], reservedThroughput: { read: 100, write: 0 } });
    await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { text: "x".repeat(3000) } });
    // The documents' three seconds: 120, 95 and 110 reads at 100 reserved.
    for (const [second, reads] of [
      [1, 120],
      [2, 95],
      [3, 110],
    ]) {
      await db.setClock(HOUR + second * 1000);
      await Promise.all(Array.from({ length: reads }, () => db.getRow({ tableName: "t", primaryKey: { id: 1 } })));
    }
    await H.refusal(() => db.getRow({ tableName: "nowhere", primaryKey: { id: 1 } }));
    await db.setClock(HOUR + 4000);
    await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: {} });
    // The units of a second are stored beside the calls of the next one, which do not wait for that.
    await db.flush();
  }, HOUR);
  await reload(page);
  const seen = await page.evaluate(async (HOUR) => {
    const db = await H.openSoon("meter", { clock: { now: HOUR + 5000 } });
    const seconds = await db.computeConsumed({ tableName: "t", period: "second", start: HOUR + 1000, end: HOUR + 4000 });
    await db.setClock(HOUR + 3_600_000);
    const hour = await db.computeConsumed({
      tableName: "t",
      period: "hour",
      start: HOUR,
      end: HOUR + 3_600_000,
      prices: { reserved: { read: 2, write: 2 }, onDemand: { read: 10_000, write: 0 } },
    });
    const all = await db.computeConsumed({ period: "hour", start: HOUR, end: HOUR + 3_600_000 });
    await db.close();
    return { seconds, hour, all };
  }, HOUR);
  assert.deepEqual(
    seen.seconds.periods.map(({ consumed, onDemand, reserved }) => [consumed.read, onDemand.read, reserved.read]),
    [
      [120, 20, 100],
      [95, 0, 100],
      [110, 10, 100],
    ],
  );
  assert.equal(seen.seconds.total.onDemand.read, 30);
  assert.equal(seen.hour.periods.length, 1);
  assert.equal(seen.hour.total.onDemand.read, 30);
  assert.ok(Math.abs(seen.hour.total.reserved.read - 100) < 0.5, `${seen.hour.total.reserved.read} reserved on average`);
  assert.ok(Math.abs(seen.hour.total.cost - (200 + 30)) < 2, `it costs ${seen.hour.total.cost}`);
  assert.equal(seen.all.total.onDemand.read, 31, "what does not exist has nothing reserved");
});

test("C5: a partition key over the limit is refused within the second, and the client's back-off gets through", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const seen = await page.evaluate(async () => {
    const lesson = await T.open("throttled", { storage: "memory", clock: { now: 1_700_000_000_000 }, throttle: { unitsPerSecond: 10 }, retry: false });
    const primaryKey = [
      { name: "p", type: "STRING" },
      { name: "id", type: "INTEGER" },
    ];
    await lesson.createTable({ tableName: "t", primaryKey });
    const put = (db, p, id) => db.putRow({ tableName: "t", primaryKey: { p, id }, attributes: {} });
    const outcomes = await Promise.all(Array.from({ length: 15 }, (_, id) => H.refusal(() => put(lesson, "hot", id))));
    const other = await H.refusal(() => put(lesson, "cold", 1));
    await lesson.setClock(1_700_000_001_000);
    const stored = (await lesson.getRange({ tableName: "t", start: { p: "hot", id: T.INF_MIN }, end: { p: "hot", id: T.INF_MAX } })).rows.length;
    await lesson.close();
    const real = await T.open("patient", { storage: "memory", throttle: { unitsPerSecond: 10 } });
    await real.createTable({ tableName: "t", primaryKey });
    await Promise.all(Array.from({ length: 25 }, (_, id) => put(real, "hot", id)));
    const got = (await H.all(real, { tableName: "t" })).length;
    await real.close();
    return { refused: outcomes.filter(({ refused }) => refused), other: other.refused, stored, got };
  });
  assert.equal(seen.refused.length, 5);
  assert.deepEqual([seen.refused[0].code, seen.refused[0].status, seen.refused[0].retryable], ["OTSCapacityUnitExhausted", 403, true]);
  assert.equal(seen.other, false);
  assert.equal(seen.stored, 10, "what is refused stores nothing");
  assert.equal(seen.got, 25);
});

test("I5, I6, C6: requests are counted by operation; access keys are data of the instance", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const first = await page.evaluate(async () => {
    const db = await T.open("watched");
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    await Promise.all(Array.from({ length: 30 }, (_, id) => db.putRow({ tableName: "t", primaryKey: { id }, attributes: {} })));
    await H.refusal(() => db.getRow({ tableName: "nowhere", primaryKey: { id: 1 } }));
    const { operations } = await db.metrics();
    const key = await db.createAccessKey({ rights: ["read", "write"] });
    await db.updateAccessKey({ accessKeyId: key.accessKeyId, enabled: false });
    const other = await db.createAccessKey({ rights: ["admin"] });
    await db.deleteAccessKey(other.accessKeyId);
    return { operations, key };
  });
  assert.equal(first.operations.PutRow.requests, 30);
  assert.equal(first.operations.GetRow.errors, 1);
  const { meanLatencyMs, p50LatencyMs, p99LatencyMs } = first.operations.PutRow;
  assert.ok(
    meanLatencyMs >= 0 && (meanLatencyMs > 0 || "fineTimes" in engine.lacks) && p50LatencyMs >= 0 && p99LatencyMs >= p50LatencyMs,
    `${meanLatencyMs}, ${p50LatencyMs}, ${p99LatencyMs} ms`,
  );
  await reload(page);
  const keys = await page.evaluate(async () => (await H.openSoon("watched")).listAccessKeys());
  assert.equal(keys.length, 1);
  assert.equal(keys[0].accessKeyId, first.key.accessKeyId);
  assert.equal(keys[0].enabled, false);
  assert.equal("accessKeySecret" in keys[0], false);
});

test("V9: storage is metered: the documents' example weighs 334 bytes, or 194", async (t) => {
  const server = await servePackage(t);
  const page = await openPage(t, await startBrowser(t), server);
  const weights = await page.evaluate(async () => {
    const db = await T.open("weight");
    await db.createTable({ tableName: "t", primaryKey: [{ name: "ID", type: "INTEGER" }], maxVersions: 2, timeToLive: 2592000 });
    const primaryKey = { ID: 1 };
    await db.putRow({ tableName: "t", primaryKey, attributes: { Name: "zhangsan", Length: 20, Comments: "a".repeat(100) } });
    await db.updateRow({ tableName: "t", primaryKey, put: { Comments: "b".repeat(150) } });
    const both = await db.computeStorage("t");
    await db.updateTable({ tableName: "t", maxVersions: 1, timeToLive: -1 });
    const newest = await db.computeStorage({ tableName: "t" });
    await db.close();
    return [both, newest];
  });
  assert.deepEqual(weights, [
    { rows: 1, bytes: 334 },
    { rows: 1, bytes: 194 },
  ]);
});
