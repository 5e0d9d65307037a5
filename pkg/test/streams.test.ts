/** Streams: the changes of a table, read by shards or by `changes()`. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Change, Database } from "../src/index.js";
import { code, open, skip } from "./support/package.js";

const put = (id: number, v: unknown = id) => ({ tableName: "t", primaryKey: { id }, attributes: { v } }) as never;

async function streamed(options: object = {}): Promise<Database> {
  const db = await open(options);
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 3, stream: { enabled: true, expirationHours: 24 } });
  return db;
}

async function taken(changes: AsyncIterable<Change>, most = Infinity): Promise<Change[]> {
  const all: Change[] = [];
  for await (const change of changes) {
    all.push(change);
    if (all.length === most) break;
  }
  return all;
}

/** Writes until the table has several partitions. `begin`: before each round. */
async function cut(db: Database, begin: (round: number) => Promise<void> = async () => {}, rounds = 4): Promise<void> {
  // Texts that do not get smaller when they are stored.
  const pad = (id: number): string => Array.from({ length: 60 }, (_, i) => ((id * 7919 + i * 104_729) % 1_000_003).toString(36)).join("");
  for (let round = 0; round < rounds; round++) {
    await begin(round);
    await db.batchWriteRow(
      Array.from({ length: 100 }, (_, id) => ({ tableName: "t", put: { primaryKey: { id }, attributes: { v: round, pad: pad(id + 100 * round) } } })),
    );
    await db.flush();
    await db.compact();
  }
}

const ids = (changes: readonly Change[]): unknown[] => changes.map(({ primaryKey }) => primaryKey.id);

test("ST1: each change is a record: its kind, key, cells with versions, and the values before", { skip }, async () => {
  const db = await streamed({ clock: { now: 1_700_000_000_000 } });
  await db.updateTable({ tableName: "t", stream: { enabled: true, expirationHours: 48, originColumns: ["v"] } });
  await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { v: "é", bytes: new Uint8Array([1, 2]), yes: true, half: 0.5 } });
  await db.updateRow({ tableName: "t", primaryKey: { id: 1 }, put: { v: 2 ** 53 - 1 }, deleteColumns: ["yes"], increment: { n: 5 } });
  await db.deleteRow({ tableName: "t", primaryKey: { id: 1 } });
  const [stream] = await db.listStream({ tableName: "t" });
  assert.deepEqual((await db.describeTable("t")).stream, stream);
  assert.equal(stream.expirationHours, 48);
  const { shards, status, nextShardId } = await db.describeStream({ streamId: stream.streamId });
  assert.deepEqual(
    [shards, status, nextShardId],
    [[{ shardId: "1", parentId: null, parentSiblingId: null, lowerBound: null, upperBound: null, closed: false }], "ACTIVE", null],
  );
  const shardIterator = await db.getShardIterator({ streamId: stream.streamId, shardId: "1" });
  const first = await db.getStreamRecord({ shardIterator, limit: 1 });
  assert.deepEqual([first.records.length, first.mayMoreRecord, first.consumed], [1, true, { read: 1, write: 0 }]);
  const { records, nextShardIterator, mayMoreRecord } = await db.getStreamRecord({ shardIterator });
  assert.equal(mayMoreRecord, false);
  const plain = records.map(({ type, primaryKey, cells, original }) => ({
    type,
    primaryKey,
    original,
    cells: cells.map((cell) => [cell.op, cell.name, "value" in cell ? cell.value : undefined]),
  }));
  assert.deepEqual(plain, [
    {
      type: "PUT",
      primaryKey: { id: 1 },
      original: {},
      cells: [
        ["PUT", "bytes", new Uint8Array([1, 2])],
        ["PUT", "half", 0.5],
        ["PUT", "v", "é"],
        ["PUT", "yes", true],
      ],
    },
    {
      type: "UPDATE",
      primaryKey: { id: 1 },
      original: { v: "é" },
      cells: [
        ["PUT", "n", 5],
        ["PUT", "v", 2 ** 53 - 1],
        ["DELETE_ALL", "yes", undefined],
      ],
    },
    { type: "DELETE", primaryKey: { id: 1 }, original: { v: 2 ** 53 - 1 }, cells: [] },
  ]);
  assert.ok(records.every(({ timestamp }) => timestamp === 1_700_000_000_000));
  const version = (at: number): number => (records[at].cells.find((cell) => cell.name === "v") as { version: number }).version;
  assert.ok(version(0) >= 1_700_000_000_000 && version(1) > version(0));
  assert.equal((await db.getStreamRecord({ shardIterator: nextShardIterator! })).nextShardIterator, nextShardIterator, "an open shard at its end");
  await db.close();
});

test("ST1: wrong streams, shards, iterators and places are refused by their codes", { skip }, async () => {
  const db = await streamed();
  await db.createTable({ tableName: "none", primaryKey: [{ name: "id", type: "INTEGER" }] });
  assert.deepEqual(await db.listStream({ tableName: "none" }), []);
  const [{ streamId }] = await db.listStream();
  await assert.rejects(db.listStream({ tableName: "nobody" }), code("OTSObjectNotExist"));
  await assert.rejects(db.describeStream({ streamId: "none_1_2" }), code("OTSObjectNotExist"));
  await assert.rejects(db.describeStream({ streamId: "t" }), code("OTSParameterInvalid", /Invalid stream id/));
  await assert.rejects(db.getShardIterator({ streamId, shardId: "7" }), code("OTSObjectNotExist"));
  await assert.rejects(db.getShardIterator({ streamId, shardId: "x" }), code("OTSParameterInvalid", /shard/));
  await assert.rejects(db.getShardIterator({ streamId, shardId: "1", timestamp: 1, latest: true }), code("OTSParameterInvalid"));
  await assert.rejects(db.getStreamRecord({ shardIterator: "00" }), code("OTSParameterInvalid", /iterator/));
  await assert.rejects(
    db.createTable({ tableName: "u", primaryKey: [{ name: "id", type: "INTEGER" }], stream: { enabled: true } as never }),
    code("OTSParameterInvalid", /\[1, 168\]/),
  );
  for (const from of ["then", "{}", "[1]", 1.5, null])
    await assert.rejects(taken(db.changes({ tableName: "t", from } as never)), code("OTSParameterInvalid", /from/));
  await assert.rejects(taken(db.changes({ tableName: "none" })), code("OTSObjectNotExist", /no stream/));
  const [{ token }] = await (async () => {
    await db.putRow(put(1));
    return taken(db.changes({ tableName: "t", once: true }));
  })();
  await db.updateTable({ tableName: "t", stream: { enabled: false } });
  assert.equal((await db.describeTable("t")).stream, null);
  await db.updateTable({ tableName: "t", stream: { enabled: true, expirationHours: 1 } });
  await assert.rejects(taken(db.changes({ tableName: "t", from: token })), code("OTSTrimmedDataAccess"));
  await db.close();
});

test("ST3: changes go on behind each token, and none comes twice", { skip }, async () => {
  const db = await streamed();
  for (let id = 0; id < 30; id++) await db.putRow(put(id));
  const all = await taken(db.changes({ tableName: "t", once: true }));
  assert.deepEqual(
    ids(all),
    Array.from({ length: 30 }, (_, id) => id),
  );
  for (const at of [0, 1, 17, 29]) {
    const rest = await taken(db.changes({ tableName: "t", from: all[at].token, once: true }));
    assert.deepEqual(ids(rest), ids(all).slice(at + 1), `behind ${at}`);
  }
  assert.deepEqual(ids(await taken(db.changes({ tableName: "t", from: "latest", once: true }))), []);
  assert.deepEqual(ids(await taken(db.changes({ tableName: "t", from: all[0].timestamp, once: true }))).length, 30);
  assert.deepEqual(JSON.parse(JSON.stringify(all[0])).token, undefined, "a token is made only when it is read");
  await db.close();
});

test("ST3: a reader that reads once does not read what its own loop changes", { skip }, async () => {
  const db = await streamed({ partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  await cut(db);
  const [{ streamId }] = await db.listStream();
  const { lastSequence } = await db.describeStream({ streamId });
  const seen: Change[] = [];
  for await (const change of db.changes({ tableName: "t", once: true })) {
    seen.push(change);
    await db.updateRow({ tableName: "t", primaryKey: change.primaryKey, put: { done: true } });
    assert.ok(seen.length <= 400, "it goes on for ever");
  }
  assert.equal(seen.length, 400);
  assert.ok(seen.every(({ sequence }) => sequence <= lastSequence));
  const again = await taken(db.changes({ tableName: "t", from: seen[399].token, once: true }));
  assert.ok(again.length === 400 && again.every(({ type, sequence }) => type === "UPDATE" && sequence > lastSequence), "they come next time");
  await db.close();
});

test("ST3: a token that was changed is refused", { skip }, async () => {
  const db = await streamed();
  for (let id = 0; id < 3; id++) await db.putRow(put(id));
  const [{ token }] = await taken(db.changes({ tableName: "t", once: true }));
  const [stream, places] = JSON.parse(token) as [string, Record<string, [string, number]>];
  const forged = (take: number): string =>
    JSON.stringify([stream, Object.fromEntries(Object.entries(places).map(([shard, [iterator]]) => [shard, [iterator, take]]))]);
  assert.deepEqual(ids(await taken(db.changes({ tableName: "t", from: forged(2), once: true }))), [2]);
  await assert.rejects(taken(db.changes({ tableName: "t", from: forged(4), once: true })), code("OTSParameterInvalid", /from/));
  await db.close();
});

test("ST2: changes follow cuts of partitions, the changes of each row in order, and a token from before a cut goes on", { skip }, async () => {
  const db = await streamed({ partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  // Texts that do not get smaller when they are stored.
  const pad = (id: number): string => Array.from({ length: 60 }, (_, i) => ((id * 7919 + i * 104_729) % 1_000_003).toString(36)).join("");
  let token: string | undefined;
  const seen = new Map<unknown, number[]>();
  const note = async (): Promise<void> => {
    for await (const change of db.changes({ tableName: "t", from: token ?? "oldest", once: true })) {
      const cell = change.cells.find(({ name }) => name === "v");
      const of = seen.get(change.primaryKey.id) ?? [];
      seen.set(change.primaryKey.id, of);
      of.push((cell as { value: number }).value);
      token = change.token;
    }
  };
  for (let round = 0; round < 6; round++) {
    await db.batchWriteRow(
      Array.from({ length: 100 }, (_, id) => ({ tableName: "t", put: { primaryKey: { id }, attributes: { v: round, pad: pad(id + 100 * round) } } })),
    );
    await db.flush();
    await db.compact();
    if (round % 2 === 1) await note();
  }
  await db.putRow(put(5, 6));
  await note();
  const [{ streamId }] = await db.listStream();
  const { shards } = await db.describeStream({ streamId });
  assert.ok(shards.length > 2 && shards.some(({ parentId }) => parentId !== null), "it was cut");
  for (let id = 0; id < 100; id++) assert.deepEqual(seen.get(id), id === 5 ? [0, 1, 2, 3, 4, 5, 6] : [0, 1, 2, 3, 4, 5], `row ${id}`);
  await db.close();
});

test("ST2: changes come when they are stored, of every way to write, until the reader ends", { skip }, async () => {
  const db = await streamed();
  const got: unknown[] = [];
  let wake: (() => void) | undefined;
  const reader = (async () => {
    for await (const { primaryKey } of db.changes({ tableName: "t" })) {
      got.push(primaryKey.id);
      wake?.();
      if (got.length === 2006) break;
    }
  })();
  const until = async (count: number): Promise<void> => {
    while (got.length < count) await new Promise<void>((resolve) => (wake = resolve));
  };
  await db.putRow(put(1));
  await until(1);
  await db.batchWriteRow(
    [
      { tableName: "t", put: { primaryKey: { id: 2 } } },
      { tableName: "t", put: { primaryKey: { id: 3 } } },
    ],
    { atomic: false },
  );
  await until(3);
  const transaction = await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 4 } } as never);
  await transaction.putRow(put(4));
  await transaction.commit();
  await until(4);
  const writer = db.writer("t");
  for (let id = 1000; id < 3000; id++) {
    const wait = writer.put({ primaryKey: { id }, attributes: { v: id } });
    if (wait) await wait;
  }
  await writer.close();
  await until(2004);
  await db.updateRow({ tableName: "t", primaryKey: { id: 5 }, increment: { v: 1 } });
  await db.deleteRow({ tableName: "t", primaryKey: { id: 5 } });
  await reader;
  assert.deepEqual(got.slice(0, 4), [1, 2, 3, 4]);
  assert.deepEqual(got.slice(4), [...Array.from({ length: 2000 }, (_, i) => 1000 + i), 5, 5]);
  const control = new AbortController();
  const waits = assert.rejects(taken(db.changes({ tableName: "t", from: "latest", signal: control.signal })), /enough/);
  setTimeout(() => control.abort(new Error("enough")), 20);
  await waits;
  const closed = assert.rejects(taken(db.changes({ tableName: "t", from: "latest" })), code("Closed"));
  setTimeout(() => void db.close(), 20);
  await closed;
});

test("ST2: calls of one reader that come together get one change each, in order", { skip }, async () => {
  const db = await streamed();
  for (let id = 0; id < 6; id++) await db.putRow(put(id));
  const reader = db.changes({ tableName: "t", once: true });
  const results = await Promise.all(Array.from({ length: 7 }, () => reader.next()));
  assert.deepEqual(
    results.map(({ done, value }) => (done ? "end" : (value as Change).primaryKey.id)),
    [0, 1, 2, 3, 4, 5, "end"],
  );
  await db.close();
});

test("ST2: a reader that waits for changes ends at once when it is broken off, and one of a disabled stream is told", { skip }, async () => {
  const db = await streamed();
  await db.createTable({ tableName: "u", primaryKey: [{ name: "id", type: "INTEGER" }], stream: { enabled: true, expirationHours: 1 } });
  const reader = db.changes({ tableName: "t" });
  const next = reader.next();
  const told = assert.rejects(taken(db.changes({ tableName: "u" })), code("OTSObjectNotExist"));
  await new Promise((resolve) => setTimeout(resolve, 50));
  const since = performance.now();
  assert.deepEqual([await reader.return!(), await next, await reader.next()], Array(3).fill({ done: true, value: undefined }));
  await db.updateTable({ tableName: "u", stream: { enabled: false } });
  await told;
  // The longest wait of the engine is twenty seconds.
  assert.ok(performance.now() - since < 10_000);
  await db.close();
});

test("ST2: an aborted signal and the end of the database end a reader at its next change", { skip }, async () => {
  const db = await streamed();
  for (let id = 0; id < 10; id++) await db.putRow(put(id));
  const control = new AbortController();
  const read: Change[] = [];
  const reading = (async () => {
    for await (const change of db.changes({ tableName: "t", signal: control.signal })) {
      read.push(change);
      if (read.length === 3) control.abort(new Error("enough"));
    }
  })();
  await assert.rejects(reading, /enough/);
  assert.deepEqual(ids(read), [0, 1, 2]);
  const reader = db.changes({ tableName: "t" });
  await reader.next();
  await db.close();
  await assert.rejects(reader.next(), code("Closed"));
  assert.equal((await reader.next()).done, true);
});

test("ST3: a token is the place behind its change, whenever it is taken", { skip }, async () => {
  const db = await streamed({ partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  await cut(db);
  const all = await taken(db.changes({ tableName: "t", once: true }));
  const named = (changes: readonly Change[]): string[] => changes.map(({ primaryKey, sequence }) => `${String(primaryKey.id)} ${sequence}`).sort();
  assert.ok(all.length === 400 && (await db.describeStream({ streamId: (await db.listStream())[0].streamId })).shards.length > 3, "it was cut");
  for (let at = 0; at < all.length; at += 37) {
    const rest = await taken(db.changes({ tableName: "t", from: all[at].token, once: true }));
    assert.deepEqual(named(rest), named(all.slice(at + 1)), `behind change ${at}`);
  }
  await db.close();
});

test("ST2: wrong arguments of changes are refused by their names", { skip }, async () => {
  const db = await streamed();
  for (const [wrong, name] of [
    [{ once: "yes" }, "once"],
    [{ once: null }, "once"],
    [{ from: {} }, "from"],
    [{ from: NaN }, "from"],
    [{ from: "" }, "from"],
    [{ from: "[]" }, "from"],
    [{ from: '["x"]' }, "from"],
    [{ from: '["x",{"1":["a",-1]}]' }, "from"],
    [{ from: '["x",{"1":[1,1]}]' }, "from"],
    [{ signal: 1 }, "signal"],
    [{ frm: "oldest" }, "frm"],
  ] as const) {
    await assert.rejects(db.changes({ tableName: "t", ...wrong } as never).next(), code("OTSParameterInvalid", new RegExp(`'${name}'`)), JSON.stringify(wrong));
  }
  await db.close();
});

test("ST3: whoever begins at a time gets nothing older, also from shards that began since", { skip }, async () => {
  const start = 1_700_000_000_000;
  const db = await streamed({ clock: { now: start }, partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  await cut(db, (round) => db.setClock(start + round * 1000));
  const changes = await taken(db.changes({ tableName: "t", from: start + 2000, once: true }));
  assert.ok(changes.every(({ timestamp }) => timestamp >= start + 2000));
  assert.equal(changes.length, 200);
  await db.close();
});

test("ST3: whoever begins at a time, and stops for too long before the next shard, is told that changes have expired", { skip }, async () => {
  const [start, hour] = [1_700_000_000_000, 3_600_000];
  const db = await streamed({ clock: { now: start }, partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  await cut(db, undefined, 2);
  for (const id of [0, 99]) await db.putRow(put(id));
  const [{ streamId }] = await db.listStream();
  assert.deepEqual(
    (await db.describeStream({ streamId })).shards.map(({ parentId }) => parentId),
    [null, "1", "1"],
  );
  const changes = db.changes({ tableName: "t", from: start });
  for (;;) {
    const { token } = (await changes.next()).value as Change;
    if ((JSON.parse(token) as [string, Record<string, unknown>])[1]["1"] === null) break;
  }
  await db.setClock(start + 60 * hour);
  await db.putRow(put(7));
  await db.setClock(start + 120 * hour);
  await db.putRow(put(8));
  await assert.rejects(changes.next(), code("OTSTrimmedDataAccess"));
  await db.close();
});

test("ST2: whoever begins at a time that is still to come gets all that comes, also from shards that begin later", { skip }, async () => {
  const start = 1_700_000_000_000;
  const db = await streamed({ clock: { now: start }, partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  const control = new AbortController();
  const late = setTimeout(() => control.abort(new Error("some are missing")), 30_000);
  const changes = db.changes({ tableName: "t", from: start + 3_600_000, signal: control.signal });
  const first = changes.next();
  let written = 0;
  for (let has = false; !has; written++) {
    await db.putRow(put(1000));
    has = await Promise.race([first.then(() => true), new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 20))]);
  }
  // Some may have been written before it began.
  const { sequence } = (await first).value as Change;
  await cut(db);
  const all = await taken(changes, 400);
  clearTimeout(late);
  assert.ok(all.every((change) => change.primaryKey.id !== 1000 || change.sequence > sequence));
  assert.ok(written > 0 && all.length === 400);
  await db.close();
});
