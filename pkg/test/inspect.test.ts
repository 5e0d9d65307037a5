/** A look inside the store: segments, traced reads, hidden versions, background work. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import type { ReadStep, SegmentPart, WorkEvent } from "../src/types/inspect.js";
import { code, load, open, random, skip } from "./support/package.js";

const T = "reading";

async function withTable(options: Parameters<typeof open>[0] = {}, table: object = {}): Promise<Database> {
  const db = await open(options);
  await db.createTable({
    tableName: T,
    primaryKey: [
      { name: "station", type: "STRING" },
      { name: "at", type: "INTEGER" },
    ],
    ...table,
  });
  return db;
}

async function fill(db: Database, from: number, to: number): Promise<void> {
  await Promise.all(
    Array.from({ length: to - from }, (_, i) =>
      db.putRow({ tableName: T, primaryKey: { station: "SEA", at: from + i }, attributes: { tempMax: 12.5, note: "x".repeat(40) } }),
    ),
  );
}

async function parts(db: Database, details = false): Promise<readonly SegmentPart[]> {
  const { trees } = await db.segments({ tableName: T, details });
  return trees.find(({ tableName }) => tableName === T)?.segments ?? [];
}

test("segments tells log, memtables and the parts of each tree by name", { skip }, async () => {
  const db = await withTable({}, { stream: { enabled: true, expirationHours: 24 } });
  await fill(db, 0, 50);
  const before = await db.segments();
  assert.equal(before.isPaused, false);
  assert.equal(before.memtables.length, 1);
  assert.ok(before.log.records > 0 && before.log.bytes > 0 && before.newestSeqno >= 50);
  const table = before.trees.find(({ tableName, kind }) => tableName === T && kind === "table")!;
  assert.deepEqual(table.primaryKey, ["station", "at"]);
  assert.equal(before.memtables[0]!.trees.find(({ tree }) => tree === table.tree)?.rows, 50);
  await db.flush();
  const { trees, memtables } = await db.segments();
  assert.equal(memtables[0]!.entries, 0);
  assert.ok(
    trees.some(({ tableName, kind }) => tableName === T && kind === "stream"),
    "the table's stream",
  );
  assert.ok(trees.some(({ kind, tableName }) => kind === "catalog" && tableName === null));
  assert.ok(trees.some(({ kind }) => kind === "meter"));
  const [part, ...others] = await parts(db);
  assert.equal(others.length, 0);
  assert.deepEqual([part!.level, part!.entries, part!.deletes], [0, 50, 0]);
  assert.deepEqual(part!.firstKey, { values: ["SEA", 0], isBefore: false, isShortened: false });
  assert.deepEqual(part!.lastKey.values, ["SEA", 49]);
  assert.deepEqual([part!.filterBits, part!.oldestSeqno], [null, null]);
  const [told] = await parts(db, true);
  assert.ok(told!.filterBits! >= 8 * 50 && told!.oldestSeqno! < told!.newestSeqno!);
  await assert.rejects(db.segments({ tableName: "unknown" }), code("OTSObjectNotExist"));
  for (const wrong of [{ details: 1 }, { table: T }, { tableName: 7 }]) await assert.rejects(db.segments(wrong as never), code("OTSParameterInvalid"));
  await db.close();
  await assert.rejects(db.segments(), code("Closed"));
});

test("segment tells blocks, filter, index and rows, with values of bounded length", { skip }, async () => {
  const db = await withTable();
  await fill(db, 0, 300);
  await db.putRow({
    tableName: T,
    primaryKey: { station: "W".repeat(300), at: 1 },
    attributes: { big: 2n ** 60n, bytes: new Uint8Array(200), long: "é".repeat(500) },
  });
  await db.deleteRow({ tableName: T, primaryKey: { station: "gone", at: 1 } });
  await db.updateRow({ tableName: T, primaryKey: { station: "SEA", at: 1 }, deleteColumns: ["note"] });
  await db.flush();
  const [part] = await parts(db);
  const key = { tableName: T, primaryKey: { station: "SEA", at: 7 } };
  const found = (await db.segment(part!.segmentId, { ask: key, rows: 1000, block: part!.blocks - 1 }))!;
  assert.equal(found.blocks.length, part!.blocks);
  assert.equal(
    found.blocks.reduce((sum, { bytes }) => sum + bytes, found.indexBytes),
    part!.segmentBytes,
  );
  assert.equal(found.answer, "found");
  const answers = await Promise.all(
    Array.from(
      { length: 50 },
      async (_, i) => (await db.segment(part!.segmentId, { rows: 0, ask: { tableName: T, primaryKey: { station: "NO", at: i } } }))!.answer,
    ),
  );
  assert.ok(answers.every((answer) => answer === "no" || answer === "false positive"));
  assert.ok(answers.filter((answer) => answer === "no").length > 40);
  const all = (await Promise.all(found.blocks.map((_, block) => db.segment(part!.segmentId, { block, rows: 1000 })))).flatMap((one) => one!.rows);
  const long = all.find(({ key }) => key.isShortened)!;
  assert.deepEqual(long.key.values, ["W".repeat(128), 1]);
  const cells = Object.fromEntries(long.cells.map((cell) => [cell.name, cell]));
  assert.equal(cells.big!.value, 2n ** 60n);
  assert.deepEqual([(cells.bytes!.value as Uint8Array).length, cells.bytes!.isShortened], [128, true]);
  assert.deepEqual([cells.long!.value, cells.long!.isShortened], ["é".repeat(128), true]);
  assert.ok(all.some(({ change, key }) => change === "delete" && key.values[0] === "gone"));
  assert.equal(await db.segment(2 ** 50), null);
  await assert.rejects(db.segment(part!.segmentId, { ask: { tableName: "u", primaryKey: { id: 1 } } }), code("OTSObjectNotExist"));
  await assert.rejects(db.segment(part!.segmentId, { ask: { tableName: T, primaryKey: { station: "SEA" } } }), code("OTSInvalidPK"));
  for (const wrong of [-1, 1.5, "1"]) await assert.rejects(db.segment(wrong as never), code("OTSParameterInvalid"));
  await assert.rejects(db.segment(part!.segmentId, { block: 2 ** 32 }), code("OTSParameterInvalid", /'block' is 4294967296; it must be an integer from 0 to/));
  for (const wrong of [{ rows: 1001 }, { rows: -1 }, { block: "1" }, { key: 1 }])
    await assert.rejects(db.segment(part!.segmentId, wrong as never), code("OTSParameterInvalid"));
  await db.close();
});

test("D2: keys and integers are bigints where the caller wants them", { skip }, async () => {
  const db = await withTable({ integers: "bigint" });
  await fill(db, 0, 3);
  await db.flush();
  const [part] = await parts(db);
  assert.deepEqual(part!.firstKey.values, ["SEA", 0n]);
  assert.equal(typeof part!.bytes, "number");
  const { double } = await load();
  await db.putRow({ tableName: T, primaryKey: { station: "SEA", at: 9 }, attributes: { count: 7n, share: double(2) } });
  await db.flush();
  const newest = (await parts(db)).reduce((a, b) => (a.segmentId > b.segmentId ? a : b));
  const cells = Object.fromEntries((await db.segment(newest.segmentId))!.rows.find(({ key }) => key.values[1] === 9n)!.cells.map((cell) => [cell.name, cell]));
  assert.deepEqual([cells.count!.value, cells.share!.value], [7n, 2]);
  await db.close();
});

test("D2: the keys of splits are bigints where the caller wants them, in events, followed events and steps", { skip }, async () => {
  const db = await open({ integers: "bigint", partitions: { splitBytes: 20_000, mergeBytes: 100 } });
  await db.createTable({ tableName: T, primaryKey: [{ name: "at", type: "INTEGER" }] });
  await db.getWorkEvents();
  await db.pauseWork();
  const next = random(1);
  const noise = (): Uint8Array => Uint8Array.from({ length: 300 }, () => next(256));
  await Promise.all(Array.from({ length: 400 }, (_, at) => db.putRow({ tableName: T, primaryKey: { at }, attributes: { noise: noise() } })));
  await db.flush();
  const keys = (all: readonly WorkEvent[]): unknown[] => all.flatMap((event) => (event.type === "split" ? event.at.values : []));
  const told: unknown[] = [];
  for (let more = true; more; ) {
    const { done, next: due } = await db.stepWork();
    told.push(...keys(done));
    more = due !== null;
  }
  const { events } = await db.getWorkEvents();
  const followed: WorkEvent[] = [];
  for await (const event of db.workEvents()) if (followed.push(event) === events.length) break;
  assert.ok(told.length > 0 && told.every((key) => typeof key === "bigint"), String(told));
  assert.deepEqual([keys(events), keys(followed)], [told, told]);
  await db.close();
});

const sources = (steps: readonly ReadStep[]): string[] => steps.map((step) => (step.source === "segment" ? `segment ${step.verdict}` : step.source));

test("a traced read gives the row, its units and the path of the read", { skip }, async () => {
  const db = await withTable();
  await fill(db, 0, 20);
  const request = { tableName: T, primaryKey: { station: "SEA", at: 3 } };
  const plain = await db.getRow(request);
  assert.equal(Object.hasOwn(plain, "trace"), false);
  const inMemory = await db.getRow({ ...request, trace: true });
  assert.deepEqual(inMemory.row!.toObject(), plain.row!.toObject());
  assert.deepEqual(inMemory.consumed, plain.consumed);
  assert.deepEqual(sources(inMemory.trace!.steps), ["memtable"]);
  await db.flush();
  await db.updateRow({ ...request, put: { note: "new" } });
  const { trace, row } = await db.getRow({ ...request, columnsToGet: ["note"], trace: true });
  assert.deepEqual(row!.toObject(), { station: "SEA", at: 3, note: "new" });
  assert.deepEqual(sources(trace!.steps), ["memtable", "level", "segment found"]);
  assert.equal(trace!.fragments, 2);
  const missing = await db.getRow({ tableName: T, primaryKey: { station: "SEA", at: 99 }, trace: true });
  assert.equal(missing.row, null);
  assert.deepEqual(missing.consumed, { read: 1, write: 0 });
  assert.equal(missing.trace!.fragments, 0);
  const not = await db.getRow({ ...request, trace: false });
  assert.deepEqual([not.trace, not.row!.get("note")], [undefined, "new"]);
  await db.close();
});

test("a traced read is refused as a plain one is, and a transaction knows none", { skip }, async () => {
  const db = await withTable({}, { enableLocalTransaction: true });
  const refusal = async (request: object): Promise<string> =>
    db.getRow(request as never).then(
      () => "taken",
      (error: Error & { code: string }) => `${error.code} ${error.message}`,
    );
  for (const wrong of [
    { tableName: "unknown", primaryKey: { station: "SEA", at: 1 } },
    { tableName: T, primaryKey: { station: "SEA" } },
    { tableName: T, primaryKey: { station: "SEA", at: 1 }, maxVersions: 0 },
    { tableName: T, primaryKey: { station: "SEA", at: 1 }, unknown: 1 },
  ]) {
    const plain = await refusal(wrong);
    assert.match(plain, /^OTS/);
    assert.equal(await refusal({ ...wrong, trace: true }), plain);
  }
  assert.match(await refusal({ tableName: T, primaryKey: { station: "SEA", at: 1 }, trace: "yes" }), /OTSParameterInvalid.*'trace'/);
  const transaction = await db.startLocalTransaction({ tableName: T, partitionKey: { station: "SEA" } });
  await assert.rejects(transaction.getRow({ tableName: T, primaryKey: { station: "SEA", at: 1 }, trace: true } as never), code("OTSParameterInvalid", /trace/));
  await transaction.abort();
  await db.close();
});

test("a filter with a value transfer rule loads its code for a traced read too", { skip }, async () => {
  const { col } = await load();
  const db = await withTable();
  await db.putRow({ tableName: T, primaryKey: { station: "SEA", at: 1 }, attributes: { note: "t=12" } });
  const filter = col("note").transfer("t=([0-9]+)", "INTEGER").eq(12);
  const { row, trace } = await db.getRow({ tableName: T, primaryKey: { station: "SEA", at: 1 }, filter, trace: true });
  assert.equal(row?.get("note"), "t=12");
  assert.equal(trace!.fragments, 1);
  await db.close();
});

test("V3: V5: V7: V10: versions that reads do not give are read with their reason, until a compaction", { skip }, async () => {
  const now = 1_700_000_000_000;
  const db = await withTable({ clock: { now } }, { maxVersions: 2, timeToLive: 86_400 });
  const primaryKey = { station: "SEA", at: 1 };
  for (const version of [now, now + 1000, now + 2000, now + 3000])
    await db.updateRow({ tableName: T, primaryKey, put: { tempMax: [{ value: version - now, version }], note: "n" } });
  const request = { tableName: T, primaryKey };
  const reasons = async (): Promise<(string | null)[]> => (await db.getStoredRow(request)).versions.tempMax!.map(({ hidden }) => hidden);
  assert.deepEqual(await reasons(), [null, null, "surplus", "surplus"]);
  await db.setClock(now + 86_400_000 + 3000);
  assert.deepEqual(await reasons(), [null, "expired", "expired", "expired"]);
  await db.setClock(now + 86_400_000 + 3_600_000);
  const gone = await db.getStoredRow(request);
  assert.deepEqual([gone.exists, gone.row!.columns.tempMax!.length], [false, 4]);
  assert.equal((await db.getRow(request)).row, null);
  await db.setClock(now + 10_000);
  const { versions, exists } = await db.getStoredRow({ ...request, columnsToGet: ["tempMax"] });
  assert.deepEqual([Object.keys(versions), exists], [["tempMax"], true]);
  assert.deepEqual(
    versions.tempMax!.map(({ value, version }) => [value, version - now]),
    [
      [3000, 3000],
      [2000, 2000],
      [1000, 1000],
      [0, 0],
    ],
  );
  await db.compact();
  assert.deepEqual(await reasons(), [null, null], "gone for good");
  const nothing = await db.getStoredRow({ tableName: T, primaryKey: { station: "none", at: 1 } });
  assert.deepEqual([nothing.row, nothing.exists, Object.keys(nothing.versions)], [null, false, []]);
  const { capacity } = await db.metrics();
  await reasons();
  assert.equal((await db.metrics()).capacity.read, capacity.read, "it costs nothing");
  await assert.rejects(db.getStoredRow({ ...request, tableName: "unknown" }), code("OTSObjectNotExist"));
  await assert.rejects(db.getStoredRow({ ...request, primaryKey: { station: "SEA" } }), code("OTSInvalidPK"));
  await assert.rejects(db.getStoredRow({ ...request, maxVersions: 1 } as never), code("OTSParameterInvalid"));
  await db.close();
});

test("background work tells why, and what it dropped", { skip }, async () => {
  const db = await withTable({}, { maxVersions: 1, maxVersionOffset: 10 ** 9 });
  await db.flush();
  const first = await db.getWorkEvents();
  assert.deepEqual([first.events, first.position, first.lost], [[], 0, 0]);
  for (let version = 1; version <= 3; version++)
    await db.updateRow({ tableName: T, primaryKey: { station: "SEA", at: 1 }, put: { tempMax: [{ value: version, version: 1_700_000_000_000 + version }] } });
  await db.flush();
  await db.compact();
  const { events, position } = await db.getWorkEvents();
  assert.deepEqual([...new Set(events.map(({ type }) => type))], ["flush", "compaction"]);
  const flush = events[0]!;
  assert.ok(flush.type === "flush" && flush.reason === "asked or idle" && flush.outputs.length > 0 && flush.bytesWritten > 0);
  const compaction = events.find((event) => event.type === "compaction" && event.tableName === T);
  assert.ok(compaction?.type === "compaction");
  assert.deepEqual([compaction.reason, compaction.kind, compaction.dropped], ["asked", "table", { surplus: 2, expired: 0, deleted: 0 }]);
  assert.ok(compaction.inputs.length > 0 && compaction.outputs.length > 0 && compaction.toLevel! > 0);
  assert.equal((await db.getWorkEvents({ position })).events.length, 0);
  for (const wrong of [{ position: -1 }, { position: "1" }, { after: 1 }]) await assert.rejects(db.getWorkEvents(wrong as never), code("OTSParameterInvalid"));
  await db.close();
});

test("workEvents follows the work until somebody breaks off, aborts or closes", { skip }, async () => {
  const db = await withTable();
  await db.getWorkEvents();
  const seen: WorkEvent[] = [];
  const reading = (async () => {
    for await (const event of db.workEvents()) {
      seen.push(event);
      if (seen.length === 2) break;
    }
  })();
  for (let at = 0; at < 2; at++) {
    await fill(db, at, at + 1);
    await db.flush();
  }
  await reading;
  assert.deepEqual(
    seen.map(({ position }) => position),
    [1, 2],
  );
  // A compaction may follow, so more events may come before the end.
  const all = async (signal?: AbortSignal): Promise<void> => {
    for await (const event of db.workEvents({ signal })) assert.ok(event.position > 0);
  };
  const controller = new AbortController();
  const aborted = assert.rejects(all(controller.signal), /enough/);
  const closed = assert.rejects(all(), code("Closed"));
  await new Promise((resolve) => setTimeout(resolve, 10));
  controller.abort(new Error("enough"));
  await aborted;
  await db.close();
  await closed;
});

test("a sandbox is worked step by step", { skip }, async () => {
  const db = await withTable({ memtableBytes: 1 << 14 });
  const paused = await db.pauseWork();
  assert.deepEqual(paused.done, []);
  assert.equal((await db.segments()).isPaused, true);
  for (let at = 0; !(await db.segments()).memtables.some(({ frozen }) => frozen); at += 20) await fill(db, at, at + 20);
  const due = await db.pauseWork();
  assert.equal(due.next?.type, "flush");
  const flushed = await db.stepWork();
  assert.deepEqual(
    flushed.done.map(({ type }) => type),
    ["flush"],
  );
  let step = flushed;
  for (let round = 0; step.next === null; round++) {
    assert.ok(round < 50, "a compaction is due in the end");
    await fill(db, 0, 5);
    await db.flush();
    step = await db.pauseWork();
  }
  assert.ok(step.next.type === "compaction" && step.next.inputs.length > 0 && step.next.reason.length > 0);
  const done = await db.stepWork();
  assert.ok(done.done.some((event) => event.type === "compaction" && event.tableName === (step.next as { tableName: string | null }).tableName));
  await db.resumeWork();
  assert.equal((await db.segments()).isPaused, false);
  await assert.rejects(db.stepWork(), code("OTSParameterInvalid", /not paused/));
  await db.close();
});
