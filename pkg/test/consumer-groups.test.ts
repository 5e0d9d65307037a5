/** Groups of consumers: their list, their ends, and channels of many. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type ChannelRow, type GroupRow, GroupStore } from "../src/changes/consumer/store.js";
import { TABLE } from "../src/changes/consumer/table.js";
import type { ConsumerBatch, ConsumerGroup } from "../src/types/consumer.js";
import { code, open, skip } from "./support/package.js";
import { settle, World } from "./support/world.js";
import { KEY, put, streamed, taken, next, cut } from "./support/consumer.js";

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
