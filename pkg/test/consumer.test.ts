/** Consumer groups: what they read, how they divide it, and what they refuse. On the built package, and on a time of its own. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { shareOf, Watchers } from "../src/changes/consumer/share.js";
import { type ChannelRow, type ConsumerRow, type GroupRow, GroupStore } from "../src/changes/consumer/store.js";
import { TABLE } from "../src/changes/consumer/table.js";
import type { ConsumerBatch, ConsumerGroup } from "../src/types/consumer.js";
import type { Database } from "../src/index.js";
import { code, open, skip } from "./support/package.js";
import { settle, World } from "./support/world.js";

const KEY = [{ name: "id", type: "INTEGER" as const }];
const put = (id: number, v: unknown = id) => ({ tableName: "t", primaryKey: { id }, attributes: { v } }) as never;

async function streamed(options: object = {}): Promise<Database> {
  const db = await open(options);
  await db.createTable({ tableName: "t", primaryKey: KEY, maxVersions: 3, stream: { enabled: true, expirationHours: 24 } });
  return db;
}

/** Takes batches until it has so many records, and checkpoints each. */
async function taken(group: AsyncIterable<ConsumerBatch>, most: number): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const { records, phase, checkpoint } of group) {
    all.push(...records.map(({ type, primaryKey }) => [phase, type, primaryKey.id]));
    await checkpoint();
    if (all.length >= most) break;
  }
  return all;
}

const next = async (consumer: AsyncIterator<ConsumerBatch>): Promise<ConsumerBatch> => {
  const result = await consumer.next();
  assert.ok(!result.done, "a batch");
  return result.value;
};

/** Writes until the table has several partitions. */
async function cut(db: Database, rounds = 4): Promise<void> {
  const pad = (id: number): string => Array.from({ length: 60 }, (_, i) => ((id * 7919 + i * 104_729) % 1_000_003).toString(36)).join("");
  for (let round = 0; round < rounds; round++) {
    await db.batchWriteRow(
      Array.from({ length: 100 }, (_, id) => ({ tableName: "t", put: { primaryKey: { id }, attributes: { v: round, pad: pad(id + 100 * round) } } })),
    );
    await db.flush();
    await db.compact();
  }
  await db.putRow(put(0));
}

test("ST2: a group gives all rows with their versions, then what changed since it was made, and goes on behind its checkpoint", { skip }, async () => {
  const db = await streamed();
  for (let id = 0; id < 5; id++) await db.putRow(put(id));
  const group = db.consumer({ tableName: "t", group: "search", type: "BaseAndStream", limit: 2 });
  const consumer = group[Symbol.asyncIterator]();
  const first = await next(consumer);
  await db.deleteRow({ tableName: "t", primaryKey: { id: 4 } });
  await db.putRow(put(9));
  const {
    records: [second],
  } = await next(consumer);
  assert.deepEqual([first.records.map(({ primaryKey }) => primaryKey.id), first.phase, second.primaryKey.id], [[0, 1], "BaseData", 2]);
  assert.deepEqual([second.type, second.timestamp, second.sequence, second.original], ["PUT", 0, 0, {}]);
  await first.checkpoint();
  await consumer.return!();
  assert.deepEqual(await consumer.next(), { done: true, value: undefined });
  const rest = await taken(db.consumer({ tableName: "t", group: "search" }), 5);
  assert.deepEqual(rest, [
    ["BaseData", "PUT", 2],
    ["BaseData", "PUT", 3],
    ["BaseData", "PUT", 9],
    ["Stream", "DELETE", 4],
    ["Stream", "PUT", 9],
  ]);
  const now = Date.now();
  const versions = db.consumer({ tableName: "t", group: "versions", type: "BaseData" });
  await db.putRow({
    tableName: "t",
    primaryKey: { id: 4 },
    attributes: {
      v: [
        { value: 1, version: now - 1 },
        { value: 2, version: now },
      ],
    },
  });
  for await (const { records } of versions) {
    const cells = records.find(({ primaryKey }) => primaryKey.id === 4)?.cells;
    assert.deepEqual(cells, [
      { op: "PUT", name: "v", version: now, value: 2 },
      { op: "PUT", name: "v", version: now - 1, value: 1 },
    ]);
  }
  await db.close();
});

test("ST3: a group of changes begins at the oldest, behind the latest, or at a time", { skip }, async () => {
  const start = 1_700_000_000_000;
  const db = await streamed({ clock: { now: start } });
  await db.putRow(put(1));
  await db.setClock(start + 5000);
  await db.putRow(put(2));
  const control = new AbortController();
  const latest = db.consumer({ tableName: "t", group: "latest", type: "Stream", from: "LATEST", signal: control.signal })[Symbol.asyncIterator]();
  const waits = latest.next();
  while ((await db.listConsumerGroups()).length === 0) await settle();
  assert.deepEqual(await taken(db.consumer({ tableName: "t", group: "all", type: "Stream" }), 2), [
    ["Stream", "PUT", 1],
    ["Stream", "PUT", 2],
  ]);
  assert.deepEqual(await taken(db.consumer({ tableName: "t", group: "time", type: "Stream", from: start + 5000 }), 1), [["Stream", "PUT", 2]]);
  await db.putRow(put(3));
  assert.deepEqual(
    ((await waits).value as ConsumerBatch).records.map(({ primaryKey }) => primaryKey.id),
    [3],
  );
  const more = latest.next();
  control.abort(new Error("enough"));
  await assert.rejects(more, /enough/);
  assert.deepEqual((await db.consumer({ tableName: "t", group: "latest" }).describe()).consumers, []);
  await db.close();
});

test("ST2: consumers that come divide the channels, and get those back of one that ends", { skip }, async () => {
  const db = await streamed({ partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  await cut(db);
  const world = new World(db);
  const [one, two] = [world.open(), world.open()].map((tab) =>
    tab.group({ tableName: "t", group: "g", type: "BaseAndStream", heartbeatTimeout: 500 })[Symbol.asyncIterator](),
  );
  const described = async (): Promise<Map<string, number>> => {
    const { channels, consumers } = await world.open().group({ tableName: "t", group: "g" }).describe();
    return new Map(consumers.map((id) => [id, channels.filter(({ consumer, state }) => consumer === id && state === "OPEN").length]));
  };
  const first = next(one);
  await world.pass(100);
  const { size } = new Set([...(await described()).values()]);
  const open = [...(await described()).values()][0];
  assert.ok(size === 1 && open > 2, `one has all ${open}`);
  await first;
  const second = next(two);
  await world.pass(300);
  assert.deepEqual([...(await described()).values()].sort(), [Math.floor(open / 2), Math.ceil(open / 2)].sort(), "without the time of a heartbeat that fails");
  await second;
  await one.return!();
  await world.pass(100);
  assert.deepEqual([...(await described()).values()], [open], "given back at once");
  await two.return!();
  await db.close();
});

test("ST2: the channel of a consumer that crashed is another one's after its timeout, from its checkpoint on", { skip }, async () => {
  const db = await streamed();
  for (let id = 0; id < 4; id++) await db.putRow(put(id));
  const world = new World(db);
  const [left, right] = [world.open(), world.open()];
  const consumers = [left, right].map((tab) =>
    tab.group({ tableName: "t", group: "g", type: "Stream", limit: 1, heartbeatTimeout: 1000 })[Symbol.asyncIterator](),
  );
  const first = await next(consumers[0]);
  await next(consumers[0]);
  await first.checkpoint();
  const got: ConsumerBatch[] = [];
  void next(consumers[1]).then((batch) => got.push(batch));
  await world.pass(600);
  left.crash();
  await world.pass(900);
  assert.equal(got.length, 0, "its heartbeat may still come");
  await world.pass(600);
  assert.deepEqual(
    got.map(({ records }) => records.map(({ primaryKey }) => primaryKey.id)),
    [[1]],
  );
  await consumers[1].return!();
  await db.close();
});

test("ST2: a consumer that was frozen for too long is refused at its checkpoint, by name, and goes on with what it has", { skip }, async () => {
  const db = await streamed({ partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  await cut(db);
  const world = new World(db);
  const [tab, other] = [world.open(), world.open()];
  const frozen = tab.group({ tableName: "t", group: "g", type: "BaseAndStream", heartbeatTimeout: 500 })[Symbol.asyncIterator]();
  const batch = await next(frozen);
  tab.freeze();
  const taker = other.group({ tableName: "t", group: "g", limit: 1000, heartbeatTimeout: 500 })[Symbol.asyncIterator]();
  const seen = new Map<string, ConsumerBatch>();
  void (async () => {
    for (;;) {
      const one = await next(taker);
      seen.set(one.channelId, one);
    }
  })().catch(() => {});
  await world.pass(400);
  assert.equal(seen.size, 0);
  await world.pass(400);
  assert.ok(seen.has(batch.channelId), "the other one reads it");
  assert.deepEqual(seen.get(batch.channelId)!.records, batch.records);
  tab.thaw();
  await assert.rejects(batch.checkpoint(), code("OTSSequenceNumberNotMatch", /channel '\d+' of group 'g'/));
  await seen.get(batch.channelId)!.checkpoint();
  // It gets its share again.
  const more = next(frozen);
  await world.pass(1500);
  const again = await more;
  assert.notEqual(again.channelId, batch.channelId);
  await again.checkpoint();
  await Promise.all([frozen.return!(), taker.return!()]);
  await db.close();
});

test("ST2: a consumer that is frozen while it looks at its group delivers nothing of a channel that was taken meanwhile", { skip }, async () => {
  const db = await streamed();
  for (let id = 0; id < 4; id++) await db.putRow(put(id));
  const world = new World(db);
  let frozenBefore = 0;
  for (let calls = 1; calls <= 16; calls++) {
    const group = `g${calls}`;
    const tab = world.open();
    const [frozen, taker] = [tab, world.open()].map((one) =>
      one.group({ tableName: "t", group, type: "Stream", limit: 1, heartbeatTimeout: 500 })[Symbol.asyncIterator](),
    );
    await (await next(frozen)).checkpoint();
    // A look, and a read of the next record at the same time.
    world.now += 100;
    tab.freeze(calls);
    tab.ring();
    await new Promise((resolve) => setImmediate(resolve));
    const got: unknown[] = [];
    const waits = frozen.next().then(({ value }) => void got.push(value?.records[0].primaryKey.id));
    const taken = taker.next();
    await world.pass(1500);
    if (got.length === 0) {
      frozenBefore += 1;
      const { records, checkpoint } = (await taken).value!;
      assert.equal(records[0].primaryKey.id, 1);
      await checkpoint();
      tab.thaw();
      for (let i = 0; i < 4; i++) await settle();
      assert.deepEqual(got, [], `frozen at the call ${calls}`);
    }
    tab.thaw();
    await Promise.all([frozen.return!(), taker.return!(), waits, taken]);
  }
  assert.ok(frozenBefore > 8, `${frozenBefore}`);
  await db.close();
});

test("ST2: a consumer that is frozen while it reads is not told that its old place has expired, if others have gone on", { skip }, async () => {
  const [start, hour] = [1_700_000_000_000, 3_600_000];
  const db = await streamed({ clock: { now: start } });
  for (const id of [0, 1]) await db.putRow(put(id));
  const world = new World(db);
  const tab = world.open();
  const [frozen, taker] = [tab, world.open()].map((one) =>
    one.group({ tableName: "t", group: "g", type: "Stream", limit: 1, heartbeatTimeout: 500 })[Symbol.asyncIterator](),
  );
  await (await next(frozen)).checkpoint();
  tab.freeze(1);
  let told: unknown;
  const waits = frozen.next().catch((error: unknown) => (told = error));
  for (const id of [1, 2, 3]) {
    const taken = taker.next();
    await world.pass(1500);
    const { records, checkpoint } = (await taken).value!;
    assert.equal(records[0].primaryKey.id, id);
    await checkpoint();
    await db.setClock(start + 60 * hour * id);
    await db.putRow(put(id + 1));
  }
  tab.thaw();
  for (let i = 0; i < 4; i++) await settle();
  assert.equal(told, undefined);
  await Promise.all([frozen.return!(), taker.return!(), waits]);
  await db.close();
});

test("ST2: whether others have gone is judged only by time in which the consumer itself was running", () => {
  const row = (beat: number): Map<string, ConsumerRow> =>
    new Map([
      ["a", { beat, timeout: 1000, hasLock: false }],
      ["me", { beat: 1, timeout: 1000, hasLock: false }],
    ]);
  let watchers = new Watchers(200);
  const looks = (...times: readonly number[]): string[] => times.flatMap((now) => [...watchers.look(row(1), "me", now)]);
  assert.deepEqual(looks(0, 200, 400, 600, 800), []);
  assert.deepEqual(looks(1000), ["a"]);
  watchers = new Watchers(200);
  assert.deepEqual(looks(0, 200, 60_000, 60_200, 60_400), [], "the device slept");
  assert.deepEqual(looks(60_600), [], "its own sleep does not count");
  assert.deepEqual([...watchers.look(row(2), "me", 60_800)], []);
  assert.deepEqual(looks(61_000), [], "another heartbeat");
  watchers = new Watchers(200);
  assert.deepEqual(looks(0, 60_000, 120_000, 180_000, 240_000, 300_000), [], "a throttled tab takes longer");
  assert.deepEqual(looks(360_000), ["a"]);
  watchers = new Watchers(60_000);
  assert.deepEqual(looks(0, 110_000, 170_000), [], "its own time between two looks is longer than the other one's timeout");
  assert.deepEqual(looks(230_000), ["a"]);
});

test("ST2: shares are even, and as few channels as possible change hands", () => {
  const seen = (owners: Record<string, string>, ids: string[]) =>
    ({
      channels: new Map(Object.entries(owners).map(([id, owner]) => [id, { id, owner } as ChannelRow])),
      consumers: new Map(ids.map((id) => [id, { beat: 1, timeout: 1000, hasLock: false }])),
    }) as never;
  const open = ["1", "2", "3", "4"];
  const share = (owners: Record<string, string>, ids: string[], self: string, gone: string[] = []) => shareOf(seen(owners, ids), open, new Set(gone), self);
  assert.deepEqual(share({ 1: "", 2: "", 3: "", 4: "" }, ["a"], "a"), { target: 4, free: open });
  const all = { 1: "a", 2: "a", 3: "a", 4: "b" };
  assert.deepEqual(
    ["a", "b", "c"].map((self) => share(all, ["a", "b", "c"], self).target),
    [2, 1, 1],
  );
  assert.deepEqual(share(all, ["a", "b"], "b", ["a"]), { target: 4, free: ["1", "2", "3"] });
  assert.deepEqual(share(all, ["b", "c"], "c"), { target: 2, free: ["1", "2", "3"] }, "whoever has no row has gone");
  assert.deepEqual(
    ["a", "b", "c", "d", "e"].map((self) => share({ 1: "c", 2: "d", 3: "b", 4: "a" }, ["a", "b", "c", "d", "e"], self).target),
    [1, 1, 1, 1, 0],
  );
});

test("ST2: a tab that ends is noticed by its lock, long before its heartbeat fails", { skip }, async () => {
  const db = await streamed();
  await db.putRow(put(1));
  const world = new World(db);
  const held = new Set<string>();
  const locks = {
    request: (name: string, work: () => Promise<void>) => {
      held.add(name);
      return work().finally(() => held.delete(name));
    },
    query: async () => ({ held: [...held].map((name) => ({ name })) }),
  };
  const [left, right] = [world.open(), world.open()].map((tab) => Object.assign(tab, { locks: locks as never }));
  const one = left.group({ tableName: "t", group: "g", type: "Stream" })[Symbol.asyncIterator]();
  await next(one);
  assert.equal(held.size, 1);
  left.crash();
  held.clear();
  const two = right.group({ tableName: "t", group: "g" })[Symbol.asyncIterator]();
  assert.deepEqual(
    (await next(two)).records.map(({ primaryKey }) => primaryKey.id),
    [1],
  );
  await two.return!();
  assert.equal(held.size, 0);
  await db.close();
});

test("ST3: a place that has expired, and one in a stream that was disabled, are told by name, and how to go on", { skip }, async () => {
  const start = 1_700_000_000_000;
  const hour = 3_600_000;
  const db = await streamed({ clock: { now: start } });
  const group = db.consumer({ tableName: "t", group: "g", type: "Stream" });
  await db.putRow(put(1));
  await taken(group, 1);
  await db.putRow(put(2));
  await db.setClock(start + 60 * hour);
  await db.putRow(put(3));
  await db.setClock(start + 120 * hour);
  await db.putRow(put(4));
  await assert.rejects(
    taken(group, 1),
    (error: Error & { hint?: string }) => code("OTSTunnelExpired", /group 'g'.*table 't'/)(error) && /delete\(\).*BaseAndStream/.test(error.hint ?? ""),
  );
  assert.deepEqual(
    (await group.describe()).channels.map(({ expired }) => expired),
    [true],
  );
  await group.delete();
  assert.deepEqual(
    await taken(db.consumer({ tableName: "t", group: "g", type: "BaseAndStream" }), 4),
    [1, 2, 3, 4].map((id) => ["BaseData", "PUT", id]),
  );
  await db.updateTable({ tableName: "t", stream: { enabled: false } });
  await db.updateTable({ tableName: "t", stream: { enabled: true, expirationHours: 1 } });
  await assert.rejects(taken(db.consumer({ tableName: "t", group: "g" }), 1), code("OTSTunnelExpired"));
  await db.close();
});

test("ST2: groups are listed, described and deleted, and consumers of a deleted one are told", { skip }, async () => {
  const db = await streamed({ clock: { now: 1_700_000_000_000 } });
  assert.deepEqual(await db.listConsumerGroups(), []);
  await db.createTable({ tableName: "u", primaryKey: KEY });
  const group = db.consumer({ tableName: "t", group: "a", type: "Stream", heartbeatTimeout: 500 });
  await db.putRow(put(1));
  const consumer = group[Symbol.asyncIterator]();
  const batch = await next(consumer);
  for await (const _ of db.consumer({ tableName: "u", group: "b", type: "BaseData" }));
  const all = await db.listConsumerGroups();
  assert.deepEqual(
    all.map(({ tableName, group, type }) => [tableName, group, type]),
    [
      ["t", "a", "Stream"],
      ["u", "b", "BaseData"],
    ],
  );
  assert.deepEqual(await db.listConsumerGroups({ tableName: "u" }), all.slice(1));
  const {
    channels: [channel],
    consumers,
    ...rest
  } = await group.describe();
  assert.deepEqual(rest, all[0]);
  assert.deepEqual(channel, {
    channelId: "1",
    state: "OPEN",
    phase: "Stream",
    consumer: consumers[0],
    checkpointTime: channel.checkpointTime,
    waitingSince: 1_700_000_000_000,
    expired: false,
  });
  await batch.checkpoint();
  assert.equal((await group.describe()).channels[0].waitingSince, null);
  await group.delete();
  await assert.rejects(
    batch.checkpoint().then(() => consumer.next()),
    code("OTSResourceGone", /group 'a' of table 't'/),
  );
  assert.deepEqual(
    (await db.listConsumerGroups()).map(({ group }) => group),
    ["b"],
  );
  const { count } = await db.count({ tableName: TABLE });
  assert.equal(count, 2, "the other group and its channel");
  await assert.rejects(group.describe(), code("OTSObjectNotExist", /'a'/));
  await assert.rejects(group.delete(), code("OTSObjectNotExist", /'a'/));
  await db.close();
});

test("ST2: wrong groups are refused by name", { skip }, async () => {
  const db = await streamed();
  await db.createTable({ tableName: "none", primaryKey: KEY });
  const refused = (request: object, expected: string, message: RegExp, hint?: RegExp): Promise<void> =>
    assert.rejects(
      taken(db.consumer({ tableName: "t", group: "g", type: "Stream", ...request } as never), 1),
      (error: Error & { hint?: string }) => code(expected, message)(error) && (hint?.test(error.hint ?? "") ?? true),
    );
  await refused({ type: "Both" }, "OTSParameterInvalid", /'type' is 'Both'.*'BaseData', 'Stream' or 'BaseAndStream'/);
  for (const group of ["", "a b", "é", "x".repeat(256), 7]) await refused({ group }, "OTSParameterInvalid", /'group' is .* 1 to 255 letters/);
  await refused({ tableName: 7 }, "OTSParameterInvalid", /tableName/);
  await refused(
    { from: "oldest" },
    "OTSParameterInvalid",
    /'from' is 'oldest'; it must be 'EARLIEST', 'LATEST' or a time/,
    /'oldest', 'latest' .* db\.changes/,
  );
  await assert.rejects(
    async () => {
      for await (const _ of db.changes({ tableName: "t", from: "EARLIEST" }));
    },
    (error: Error & { hint?: string }) =>
      code("OTSParameterInvalid", /'from' is 'EARLIEST'; it must be 'oldest', 'latest', a time/)(error) &&
      /'EARLIEST' and 'LATEST' .* db\.consumer/.test(error.hint ?? ""),
  );
  for (const from of ["LATEST", "oldest"])
    await refused({ type: "BaseAndStream", from }, "OTSParameterInvalid", /a group of the type 'BaseAndStream' begins with the rows/, /Leave 'from' out/);
  await refused({ limit: 0 }, "OTSParameterInvalid", /'limit' is 0.*1 to 1000/);
  await refused({ heartbeatTimeout: 100 }, "OTSParameterInvalid", /'heartbeatTimeout' is 100.*500 to 300000/);
  await refused({ groupName: "g" }, "OTSParameterInvalid", /'groupName'/);
  await refused({ type: undefined }, "OTSObjectNotExist", /no consumer group 'g'/, /give its type: 'BaseData' .*'Stream' .*'BaseAndStream'/);
  await refused({ tableName: "nobody" }, "OTSObjectNotExist", /table does not exist/);
  for (const type of ["Stream", "BaseAndStream"]) {
    await assert.rejects(
      taken(db.consumer({ tableName: "none", group: "g", type } as never), 1),
      (error: Error & { hint?: string }) => code("OTSObjectNotExist", /'none' has no stream/)(error) && /updateTable/.test(error.hint ?? ""),
    );
  }
  assert.deepEqual(await db.listTable(), ["none", "t"], "nothing was made");
  await db.putRow(put(1));
  await taken(db.consumer({ tableName: "t", group: "g", type: "Stream" }), 1);
  await refused({ type: "BaseData" }, "OTSTunnelExist", /has the type 'Stream', not 'BaseData'/);
  await assert.rejects(db.listConsumerGroups({ table: "t" } as never), code("OTSParameterInvalid", /'table'/));
  await db.close();
});

test("ST2: a group of rows ends at their end, over keys of every type, from each of its checkpoints on", { skip }, async () => {
  const db = await open({ integers: "bigint" });
  await db.createTable({
    tableName: "t",
    primaryKey: [
      { name: "a", type: "STRING" },
      { name: "b", type: "BINARY" },
      { name: "c", type: "INTEGER" },
    ],
  });
  const wanted: string[] = [];
  for (const a of ["", "x", "é"]) {
    for (const b of [[], [0], [1, 255]]) {
      for (const c of [-(2n ** 63n), 5n, 2n ** 63n - 1n]) {
        await db.putRow({ tableName: "t", primaryKey: { a, b: new Uint8Array(b), c }, attributes: { v: 1 } });
        wanted.push(`${a}/${b.join()}/${c}`);
      }
    }
  }
  const got: string[] = [];
  const group = db.consumer({ tableName: "t", group: "g", type: "BaseData", limit: 2 });
  while (got.length < 20) {
    for await (const { records, checkpoint } of group) {
      got.push(...records.map(({ primaryKey: { a, b, c } }) => `${a as string}/${(b as Uint8Array).join()}/${c}`));
      await checkpoint();
      break;
    }
  }
  // Without a checkpoint it ends too, and gives the rest again.
  for (let i = 0; i < 2; i++) {
    let rest = 0;
    for await (const { records } of group) rest += records.length;
    assert.equal(rest, wanted.length - 20);
  }
  for await (const { records, checkpoint } of group) {
    got.push(...records.map(({ primaryKey: { a, b, c } }) => `${a as string}/${(b as Uint8Array).join()}/${c}`));
    await checkpoint();
  }
  assert.deepEqual(got, wanted);
  for await (const _ of group) assert.fail("all was given");
  assert.deepEqual(
    (await group.describe()).channels.map(({ state }) => state),
    ["TERMINATED"],
  );
  await db.close();
});

test("ST2: a group of many channels is made as a whole, once", { skip }, async () => {
  const db = await open();
  const make = (id: string) => {
    const store = new GroupStore(db, "t", "g");
    const channels = Array.from(
      { length: 450 },
      (_, i): ChannelRow => ({ id: String(i), seq: 0, state: "CLOSE", owner: "", version: 0, base: [], before: i, iterator: "x", time: 1 }),
    );
    return { store, made: store.create({ id, tableName: "t", group: "g", type: "Stream", creationTime: 1, seq: 0, streamId: "s" }, channels) };
  };
  await new GroupStore(db, "t", "g").prepare();
  const [{ store, made }, other] = [make("a"), make("b")];
  await Promise.all([made, other.made]);
  const seen = await store.read();
  assert.equal(seen?.channels.size, 450);
  assert.equal((await db.count({ tableName: TABLE })).count, 451, "nothing is left of the other one");
  assert.equal(await store.change(seen.group, [], [...seen.channels.values()].slice(0, 3)), true);
  assert.equal(await store.change(seen.group, [], [...seen.channels.values()].slice(3, 4)), false, "the set has changed since");
  assert.equal((await store.read())?.channels.size, 447);
  await store.drop(seen.group.id);
  assert.equal((await db.count({ tableName: TABLE })).count, 0);
  await db.close();
});

test("ST2: what a consumer or a deletion does late to a group that was deleted does nothing to the one that was made in its place", { skip }, async () => {
  const db = await open();
  const store = new GroupStore(db, "t", "g");
  await store.prepare();
  const channel = (id: string): ChannelRow => ({ id, seq: 0, state: "CLOSE", owner: "", version: 0, base: undefined, before: null, iterator: "x", time: 1 });
  const group = (id: string): GroupRow => ({ id, tableName: "t", group: "g", type: "Stream", creationTime: 1, seq: 0, streamId: id });
  await store.create(group("old"), [channel("1")]);
  const { group: old, channels } = (await store.read())!;
  await store.drop("old");
  await store.create(group("new"), [channel("1")]);
  const made = await store.read();
  assert.equal(await store.change(old, [channel("2")], []), false);
  assert.equal(await store.store("old", { ...channels.get("1")!, seq: 1 }), false);
  // A deletion whose answer was lost is done again.
  await store.drop("old");
  assert.deepEqual(await store.read(), made);
  assert.equal((await db.count({ tableName: TABLE })).count, 2);
  await db.close();
});

test("ST2: a consumer whose database is closed while nobody asks for its next batch sends no more heartbeats", { skip }, async () => {
  const db = await streamed();
  await db.putRow(put(1));
  const world = new World(db);
  const tab = world.open();
  const consumer = tab.group({ tableName: "t", group: "g", type: "Stream", heartbeatTimeout: 500 })[Symbol.asyncIterator]();
  await next(consumer);
  assert.equal(tab.waits, 1);
  await db.close();
  await world.pass(300);
  assert.equal(tab.waits, 0);
  await assert.rejects(consumer.next(), code("Closed"));
  assert.deepEqual(await consumer.next(), { done: true, value: undefined });
});

test("ST2: a channel whose changes never cease keeps no other one waiting", { skip }, async () => {
  const db = await streamed({ partitions: { splitBytes: 20_000, mergeBytes: 0 } });
  await cut(db);
  const since = performance.now();
  let first = true;
  const writes = setTimeout(() => void db.putRow(put(0)), 50);
  for await (const { records, checkpoint } of db.consumer({ tableName: "t", group: "g", type: "Stream", from: "LATEST", heartbeatTimeout: 300_000 })) {
    if (first) await db.putRow(put(99));
    first = false;
    if (records.some(({ primaryKey }) => primaryKey.id === 99)) break;
    assert.ok(performance.now() - since < 30_000, "the other one comes soon");
    await db.putRow(put(0));
    await checkpoint();
  }
  clearTimeout(writes);
  await db.close();
});

test("ST2: a consumer ends at once while it waits, and its calls of next come one after another", { skip }, async () => {
  const db = await streamed();
  // Nobody waits so long.
  const group: ConsumerGroup = db.consumer({ tableName: "t", group: "g", type: "Stream", heartbeatTimeout: 300_000 });
  const consumer = group[Symbol.asyncIterator]();
  const waits = [consumer.next(), consumer.next()];
  while ((await db.listConsumerGroups()).length === 0) await settle();
  await db.putRow(put(1));
  assert.equal(((await waits[0]).value as ConsumerBatch).records.length, 1);
  const since = performance.now();
  assert.deepEqual(await consumer.return!(), { done: true, value: undefined });
  assert.deepEqual(await waits[1], { done: true, value: undefined });
  assert.ok(performance.now() - since < 30_000, "less than a heartbeat");
  assert.deepEqual((await group.describe()).consumers, []);
  const control = new AbortController();
  control.abort(new Error("enough"));
  await assert.rejects(taken(db.consumer({ tableName: "t", group: "g", signal: control.signal }), 1), /enough/);
  const closed = assert.rejects(async () => {
    for await (const _ of group) void db.close();
  }, code("Closed"));
  await closed;
});

test("ST2: a consumer that ends while it looks at its group, and waits for records too, ends without a failure", { skip }, async () => {
  const db = await streamed();
  await db.putRow(put(1));
  const world = new World(db);
  for (let calls = 1; calls <= 16; calls++) {
    const tab = world.open();
    const consumer = tab.group({ tableName: "t", group: `g${calls}`, type: "Stream", heartbeatTimeout: 500 })[Symbol.asyncIterator]();
    await (await next(consumer)).checkpoint();
    const waits = consumer.next();
    await settle();
    // A look that takes too long is followed by another one. It stops somewhere in them.
    world.now += 200;
    tab.freeze(2);
    tab.ring();
    await settle();
    world.now += 2000;
    tab.thaw();
    tab.freeze(calls);
    await settle();
    const end = consumer.return!();
    await settle();
    tab.thaw();
    assert.deepEqual(await waits, { done: true, value: undefined }, `stopped at the call ${calls}`);
    await end;
  }
  await db.close();
});
