/** Consumer groups: what they read, how they divide it, and what they refuse. On the built package, and on a time of its own. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { shareOf, Watchers } from "../src/changes/consumer/share.js";
import type { ChannelRow, ConsumerRow } from "../src/changes/consumer/store.js";
import type { ConsumerBatch } from "../src/types/consumer.js";
import { code, skip } from "./support/package.js";
import { settle, World } from "./support/world.js";
import { put, streamed, taken, next, cut } from "./support/consumer.js";

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
