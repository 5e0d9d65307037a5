/** Capacity units, limits, prices and access keys, on the real engine. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { AccessKey, NewAccessKey } from "../src/index.js";
import { code, load, open, skip } from "./support/package.js";

const NOW = 1_700_000_000_000;
const primaryKey = [
  { name: "id", type: "INTEGER" },
  { name: "at", type: "INTEGER" },
] as const;

test("C5: what goes over a partition key's limit is refused, stores nothing, and succeeds in a later second", { skip }, async () => {
  const db = await open({ clock: { now: NOW }, retry: false, throttle: { unitsPerSecond: 5 } });
  await db.createTable({ tableName: "t", primaryKey });
  const put = (at: number, id = 1) => db.putRow({ tableName: "t", primaryKey: { id, at } });
  for (let at = 0; at < 5; at++) await put(at);
  await assert.rejects(
    put(5),
    (error: Error & { retryable: boolean }) => code("OTSCapacityUnitExhausted", /Capacity unit is not enough/)(error) && error.retryable,
  );
  await put(0, 2);
  await db.setClock(NOW + 1000);
  assert.equal((await db.getRow({ tableName: "t", primaryKey: { id: 1, at: 5 } })).row, null);
  await put(5);
  await db.close();
});

test("C5: the client's back-off does that by itself, for calls, batches and writers", { skip }, async () => {
  const db = await open({ throttle: { unitsPerSecond: 40 }, retry: { attempts: 30, minDelay: 20, maxDelay: 200 } });
  await db.createTable({ tableName: "t", primaryKey });
  await Promise.all(Array.from({ length: 30 }, (_, at) => db.putRow({ tableName: "t", primaryKey: { id: 1, at }, attributes: { at2: at } })));
  const results = await db.batchWriteRow(
    Array.from({ length: 30 }, (_, at) => ({ tableName: "t", put: { primaryKey: { id: 1, at: 100 + at }, returnContent: "PRIMARY_KEY" } })),
  );
  assert.deepEqual(
    results.map((result) => result.row?.primaryKey.at),
    Array.from({ length: 30 }, (_, at) => 100 + at),
  );
  const writer = db.writer("t");
  for (let at = 0; at < 50; at++) writer.put({ primaryKey: { id: 2, at } });
  assert.equal((await writer.close()).rows, 50);
  await Promise.all(Array.from({ length: 45 }, () => db.updateRow({ tableName: "t", primaryKey: { id: 3, at: 0 }, increment: { n: 1 } })));
  assert.equal((await db.getRow({ tableName: "t", primaryKey: { id: 3, at: 0 } })).row?.get("n"), 45);
  const asked = [
    { tableName: "t", primaryKeys: Array.from({ length: 30 }, (_, at) => ({ id: 1, at })), columnsToGet: ["at2"] },
    { tableName: "t", primaryKeys: Array.from({ length: 30 }, (_, at) => ({ id: 1, at: 100 + at })) },
  ];
  const reading = db.batchGetRow(asked);
  asked[0].primaryKeys[29].at = 3;
  const [found, more] = await reading;
  assert.deepEqual(
    found.map(({ row }) => row?.get("at2")),
    Array.from({ length: 30 }, (_, at) => at),
  );
  assert.deepEqual(
    more.map(({ row }) => row?.get("at")),
    Array.from({ length: 30 }, (_, at) => 100 + at),
  );
  await db.close();
});

test("table operations over their limit are refused, and made again by themselves", { skip }, async () => {
  const refused = await open({ clock: { now: NOW }, retry: false, throttle: { tableOperationsPerSecond: 2 } });
  await refused.createTable({ tableName: "a", primaryKey });
  await refused.createTable({ tableName: "b", primaryKey });
  await assert.rejects(refused.createTable({ tableName: "c", primaryKey }), code("OTSQuotaExhausted", /^Too frequent table operations\./));
  await refused.close();
  const db = await open({ throttle: { tableOperationsPerSecond: 2 } });
  await Promise.all(["a", "b", "c", "d"].map((tableName) => db.createTable({ tableName, primaryKey })));
  assert.deepEqual(await db.listTable(), ["a", "b", "c", "d"]);
  await db.close();
});

test("C2, C3: what is used above the reserved units is on demand, by second and by hour, at the given prices", { skip }, async () => {
  const db = await open({ clock: { now: NOW }, prices: { reserved: { read: 1, write: 2 }, onDemand: { read: 10_000, write: 20_000 } } });
  await db.createTable({ tableName: "t", primaryKey, reservedThroughput: { read: 100, write: 0 } });
  const read = async (times: number): Promise<void> =>
    void (await Promise.all(Array.from({ length: times }, () => db.getRow({ tableName: "t", primaryKey: { id: 1, at: 1 } }))));
  for (const times of [120, 95, 110]) {
    await read(times);
    await db.setClock((await db.metrics()).now + 1000);
  }
  const seconds = await db.computeConsumed({ tableName: "t", period: "second", start: NOW, end: NOW + 3000 });
  assert.deepEqual(
    seconds.periods.map(({ start, reserved, onDemand, consumed }) => [start, reserved.read, onDemand.read, consumed.read]),
    [
      [NOW, 100, 20, 120],
      [NOW + 1000, 100, 0, 95],
      [NOW + 2000, 100, 10, 110],
    ],
  );
  assert.equal(seconds.total.onDemand.read, 30);
  const hour = await db.computeConsumed({ tableName: "t" });
  assert.deepEqual([hour.periods.length, hour.total.onDemand.read, hour.total.consumed.read], [1, 30, 325]);
  assert.ok(hour.total.cost >= 30);
  assert.ok((await db.computeConsumed({ prices: { onDemand: { read: 0 } } })).total.cost < hour.total.cost);
  await assert.rejects(db.computeConsumed({ period: "day" as never }), code("OTSParameterInvalid", /'period'/));
  await db.close();
});

test("I5: percentiles of latencies are told by operation, and are 0 where nothing was asked", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey });
  for (let id = 0; id < 50; id++) await db.putRow({ tableName: "t", primaryKey: { id, at: 0 }, attributes: {} });
  const { PutRow, GetRow } = (await db.metrics()).operations;
  assert.ok(PutRow.p50LatencyMs > 0 && PutRow.p50LatencyMs <= PutRow.p99LatencyMs, `${PutRow.p50LatencyMs}, ${PutRow.p99LatencyMs} ms`);
  // Of 50 requests the p99 is the longest one, so the mean is not above it, but for the width of a cell.
  assert.ok(PutRow.meanLatencyMs <= PutRow.p99LatencyMs * (1 + 1 / 31), `${PutRow.meanLatencyMs} ms`);
  assert.deepEqual([GetRow.p50LatencyMs, GetRow.p99LatencyMs, GetRow.meanLatencyMs], [0, 0, 0]);
  await db.close();
});

test("I6: access keys are made, listed without their secrets, changed and deleted", { skip }, async () => {
  const db = await open({ clock: { now: NOW } });
  const key = await db.createAccessKey({ rights: ["read", "write"] });
  const names = (value: object): string[] => Object.keys(value).sort();
  const all: Record<keyof NewAccessKey, unknown> = { accessKeyId: 0, accessKeySecret: 0, rights: 0, enabled: 0, creationTime: 0 };
  const { accessKeySecret, ...rest } = key;
  assert.deepEqual(names(key), names(all));
  assert.ok(accessKeySecret.length >= 16 && key.accessKeyId.length >= 8);
  assert.deepEqual(rest, { accessKeyId: key.accessKeyId, rights: ["read", "write"], enabled: true, creationTime: NOW } satisfies AccessKey);
  assert.deepEqual(await db.listAccessKeys(), [rest]);
  await db.updateAccessKey({ accessKeyId: key.accessKeyId, enabled: false, rights: ["admin"] });
  assert.deepEqual(await db.listAccessKeys(), [{ ...rest, enabled: false, rights: ["admin"] }]);
  await assert.rejects(db.createAccessKey({ rights: ["fly" as never] }), code("OTSParameterInvalid", /rights/));
  await db.deleteAccessKey(key.accessKeyId);
  assert.deepEqual(await db.listAccessKeys(), []);
  await assert.rejects(db.deleteAccessKey({ accessKeyId: key.accessKeyId }), code("OTSObjectNotExist"));
  await assert.rejects(db.updateAccessKey({ accessKeyId: "nobody", enabled: true }), code("OTSObjectNotExist"));
  await db.close();
});

test("I6: an access key has the id and the secret that are given, both or none, and a taken id is refused", { skip }, async () => {
  const db = await open();
  const { accessKeyId, accessKeySecret } = await db.createAccessKey({ rights: ["read"], accessKeyId: "testid", accessKeySecret: "testsecret" });
  assert.deepEqual([accessKeyId, accessKeySecret], ["testid", "testsecret"]);
  await assert.rejects(db.createAccessKey({ rights: ["read"], accessKeyId: "testid", accessKeySecret: "other" }), code("OTSObjectAlreadyExist"));
  for (const half of [{ accessKeyId: "half" }, { accessKeySecret: "half" }]) {
    await assert.rejects(db.createAccessKey({ rights: ["read"], ...half }), code("OTSParameterInvalid", /both 'accessKeyId' and 'accessKeySecret'/));
  }
  await assert.rejects(db.createAccessKey({ rights: ["read"], accessKeyId: 1 as never }), code("OTSParameterInvalid", /accessKeyId/));
  assert.deepEqual(
    (await db.listAccessKeys()).map(({ accessKeyId: id }) => id),
    ["testid"],
  );
  await db.close();
});

test("P1: a table is split by size and describeTable tells its partitions", { skip }, async () => {
  await assert.rejects(open({ partitions: { splitBytes: 1, mergeBytes: -1 } }), code("OTSParameterInvalid", /partitions.mergeBytes/));
  const db = await open({ memtableBytes: 100_000, partitions: { splitBytes: 60_000, splitOperations: 0 }, integers: "bigint" });
  await db.createTable({ tableName: "t", primaryKey });
  const [one] = (await db.describeTable("t")).partitions;
  assert.deepEqual(one, { partitionId: 0, lowerBound: null, upperBound: null, bytes: 0, entries: 0, operationsPerSecond: 0, exceedsAdvice: false });
  let state = 1;
  const noise = (): Uint8Array => Uint8Array.from({ length: 600 }, () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24);
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => db.putRow({ tableName: "t", primaryKey: { id: (i * 20 + round) * 3, at: 0 }, attributes: { bytes: noise() } })),
    );
  }
  await db.flush();
  await db.compact();
  const { partitions } = await db.describeTable("t");
  assert.ok(
    partitions.length > 3,
    JSON.stringify(partitions, (_, value) => (typeof value === "bigint" ? String(value) : value)),
  );
  for (const [n, { lowerBound, upperBound, bytes }] of partitions.entries()) {
    assert.equal(typeof lowerBound, n === 0 ? "object" : "bigint");
    assert.equal(upperBound, partitions[n + 1]?.lowerBound ?? null);
    assert.ok(bytes > 0);
  }
  const { trees } = await db.metrics();
  assert.deepEqual(
    trees.find(({ tableName }) => tableName === "t")?.partitions.map(({ partitionId }) => partitionId),
    partitions.map(({ partitionId }) => partitionId),
  );
  let rows = 0;
  for await (const page of db.scanPages({ tableName: "t" })) rows += page.length;
  assert.equal(rows, 1000);
  await db.close();
});

test("P4: the ends of slices have all key columns, whatever their names", { skip }, async () => {
  const [{ INF_MIN, INF_MAX }, db] = [await load(), await open()];
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "__proto__", type: "INTEGER" },
      { name: "at", type: "INTEGER" },
    ],
  });
  const { splits } = await db.computeSplitPointsBySize({ tableName: "t", splitSize: 1 });
  const ends = splits.flatMap(({ lower, upper }) => [lower, upper]);
  const all = (value: unknown) => [
    ["__proto__", value],
    ["at", value],
  ];
  assert.deepEqual(
    ends.map((end) => Object.entries(end)),
    [all(INF_MIN), all(INF_MAX)],
  );
  await db.close();
});

test("P4: split points cut a table into slices that hold all of it", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey });
  const empty = await db.computeSplitPointsBySize({ tableName: "t", splitSize: 1 });
  assert.deepEqual([empty.splits.length, empty.consumed, empty.primaryKey], [1, { read: 1, write: 0 }, primaryKey]);
  const writer = db.writer("t");
  for (let id = 0; id < 400; id++)
    await writer.put({
      primaryKey: { id, at: 0 },
      attributes: { bytes: Uint8Array.from({ length: 20_000 }, (_, i) => Math.imul(i + id * 7919, 2_654_435_761) >>> 13) },
    });
  await writer.close();
  await db.flush();
  const { splits, consumed } = await db.computeSplitPointsBySize({ tableName: "t", splitSize: 2, splitSizeUnitBytes: 1 << 20 });
  assert.ok(splits.length >= 2, `${splits.length} slices`);
  assert.deepEqual(consumed, { read: splits.length, write: 0 });
  let rows = 0;
  for (const { lower, upper, location } of splits) {
    assert.equal(typeof location, "string");
    for await (const page of db.scanPages({ tableName: "t", start: lower, end: upper, columnsToGet: ["id"] })) rows += page.length;
  }
  assert.equal(rows, 400);
  await assert.rejects(db.computeSplitPointsBySize({ tableName: "t", splitSize: 0 }), code("OTSParameterInvalid", /split_size should be greater than 0/));
  await assert.rejects(db.computeSplitPointsBySize({ tableName: "t", splitSize: 1, splitSizeUnitBytes: 1000 }), code("OTSParameterInvalid", /1048576/));
  await assert.rejects(db.computeSplitPointsBySize({ tableName: "nope", splitSize: 1 }), code("OTSObjectNotExist"));
  await db.close();
});
