/** Timelines of many: batches, receivers, and what ends them. On the real engine, in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type SequenceId, timelines } from "../src/timeline/index.js";
import { code, load, open, skip } from "./support/package.js";
import { type Message, chat, ids, on } from "./support/timeline.js";

test(
  "L2: batchStore gives a result for each message, and a refused one does not stop the others",
  { skip },
  on(async (db) => {
    const queue = (await chat(db)).createTimelineQueue({ room: "a" });
    const entries = Array.from({ length: 450 }, (_, n) => ({ message: { text: `message ${n}`, n } }));
    const broken = [...entries] as { message: Message; sequenceId?: number }[];
    broken[3] = { message: { text: "x".repeat(2_097_153) } };
    broken[210] = { message: { text: undefined as unknown as string } };
    broken[211] = { message: { text: "", "not legal": 1 } as Message };
    broken[400] = { message: { text: "" }, sequenceId: -1 };
    broken[401] = undefined as unknown as { message: Message };
    const results = await queue.batchStore(broken);
    assert.equal(results.length, 450);
    assert.deepEqual(
      results.flatMap(({ ok }, n) => (ok ? [] : [n])),
      [3, 210, 211, 400, 401],
    );
    for (const { error } of results) if (error !== undefined) code("OTSParameterInvalid")(error);
    const stored = results.flatMap(({ sequenceId }) => (sequenceId === undefined ? [] : [sequenceId]));
    assert.deepEqual(await ids(queue.scanForward({ maxCount: Infinity })), stored, "ids ascend in the order of the messages");
    const large = await queue.batchStore(Array.from({ length: 12 }, (_, n) => ({ message: { text: "y".repeat(1 << 20), n } })));
    assert.ok(
      large.every(({ ok }) => ok),
      "messages of more than 4 MB together go in several batches",
    );
    assert.deepEqual(await queue.batchStore([]), []);
  }),
);

test(
  "L2: a page of large messages takes several reads, and ends where it should",
  { skip },
  on(async (db) => {
    const queue = (await chat(db, { sequenceIdGeneration: "MANUAL" })).createTimelineQueue({ room: "a" });
    for (let n = 1; n <= 14; n++) await queue.store({ text: "x".repeat(1 << 20), n }, { sequenceId: n });
    const first = await queue.page({ maxCount: 10 });
    assert.deepEqual(
      first.entries.map(({ sequenceId }) => sequenceId),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    );
    const second = await queue.page({ token: first.token!, maxCount: 10 });
    assert.deepEqual(
      second.entries.map(({ sequenceId }) => sequenceId),
      [11, 12, 13, 14],
    );
    assert.equal(second.token, null);
  }),
);

test(
  "L2: batches keep the limits, and messages go alone only when a batch was refused as a whole",
  { skip },
  on(async (db) => {
    const calls: (number | "alone")[] = [];
    const counted = new Proxy(db, {
      get(target, name) {
        if (name === "batchWriteRow") calls.push(NaN);
        if (name === "putRow") calls.push("alone");
        const value = Reflect.get(target, name) as unknown;
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          if (name === "batchWriteRow") calls[calls.length - 1] = (args[0] as unknown[]).length;
          return (value as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
    const store = await chat(counted);
    const queue = store.createTimelineQueue({ room: "a" });
    const taken = async (entries: readonly Message[]): Promise<(number | "alone")[]> => {
      calls.length = 0;
      await queue.batchStore(entries.map((message) => ({ message })));
      return [...calls];
    };
    const bytes = (count: number): Message => ({ raw: new Uint8Array(count) }) as unknown as Message;
    assert.deepEqual(await taken(Array.from({ length: 401 }, () => ({ text: "" }))), [200, 200, 1]);
    assert.deepEqual(await taken(Array.from({ length: 5 }, () => bytes(1_500_000))), [2, 2, 1]);
    assert.deepEqual(await taken([bytes(2_000_000), { text: "x".repeat(700_000) }, { text: "y" }]), [1, 2], "a text may have three bytes a character");
    assert.deepEqual(await taken([{ text: "" }, bytes(2_097_153), { text: "" }]), [3, "alone", "alone", "alone"]);
    assert.deepEqual(await taken([bytes(2_097_153)]), [1]);
    await db.close();
    assert.deepEqual(await taken([{ text: "" }, { text: "" }]), [2]);
  }),
);

test("L2: messages expire by the time to live of the store", { skip }, async () => {
  const db = await open({ clock: { now: Date.UTC(2026, 0, 1) } });
  const store = await chat(db, { timeToLive: 86_400 });
  const queue = store.createTimelineQueue({ room: "a" });
  await queue.store({ text: "old" });
  await db.setClock(Date.UTC(2026, 0, 1, 20));
  await queue.store({ text: "new" });
  await db.setClock(Date.UTC(2026, 0, 2, 10));
  assert.deepEqual(await ids(queue.scanForward()), [2]);
  assert.equal((await queue.getLatestTimelineEntry())?.message.text, "new");
  await db.close();
});

test(
  "L1: prepareTables may be called again, refuses another table by name, and dropAllTables removes all",
  { skip },
  on(async (db) => {
    const store = await chat(db, { timeToLive: 86_400 });
    await store.prepareTables();
    await chat(db);
    await assert.rejects(chat(db, { timeToLive: 100_000 }), (error: Error & { hint?: string }) => {
      assert.match(error.hint ?? "", /expected 100000, found 86400/);
      return code("OTSObjectAlreadyExist", /another time to live/)(error);
    });
    await assert.rejects(chat(db, { sequenceIdGeneration: "MANUAL" }), (error: Error & { hint?: string }) => {
      assert.match(error.hint ?? "", /expected room STRING, sequence_id INTEGER, found room STRING, sequence_id INTEGER AUTO_INCREMENT/);
      return code("OTSObjectAlreadyExist", /another primary key/)(error);
    });
    const queue = store.createTimelineQueue({ room: "a" });
    await queue.store({ text: "x" });
    await store.dropAllTables();
    await store.dropAllTables();
    await assert.rejects(store.dropAllTables({ signal: AbortSignal.abort(new Error("given up")) }), /given up/);
    await assert.rejects(queue.getLatestSequenceId(), code("OTSObjectNotExist"));
    await store.prepareTables();
    assert.equal(await queue.getLatestSequenceId(), 0);
  }),
);

test(
  "L3: a sync queue: fanOut stores a message for every receiver, in batches, and tells which failed",
  { skip },
  on(async (db) => {
    const inboxes = timelines(db).createTimelineStore<Message>({ tableName: "inbox", identifier: [{ name: "user", type: "STRING" }] });
    await inboxes.prepareTables();
    const users: { user: string }[] = Array.from({ length: 1003 }, (_, n) => ({ user: `user ${n}` }));
    users[7] = { user: 7 as unknown as string };
    users[300] = { user: "x".repeat(1025) };
    users[1001] = users[1000];
    const results = await inboxes.fanOut(new Set(users).values(), { text: "hello" });
    assert.equal(results.length, 1002, "a set has the repeated one once");
    const twice = await inboxes.fanOut([users[0], users[1000], users[1000]], { text: "again" });
    const [own, first, second] = twice.map(({ sequenceId = 0 }) => sequenceId);
    assert.ok(own > 0 && second > first && first > results[1000].sequenceId!, "each receiver's ids ascend");
    assert.deepEqual(
      results.flatMap(({ ok, identifier }) => (ok ? [] : [identifier])),
      [users[7], users[300]],
    );
    for (const { error } of results)
      if (error !== undefined) code("OTSParameterInvalid", /'identifiers\[7\].user'|MaxLength:1024 with CurrentLength:1025/)(error);
    for (const { ok, sequenceId, identifier } of results) {
      if (!ok) continue;
      const { value } = (await inboxes.createTimelineQueue(identifier).scanForward({ maxCount: 1 }).next()) as { value: unknown };
      assert.deepEqual(value, { sequenceId, message: { text: "hello" } });
    }
    assert.ok((await inboxes.fanOut([{ user: "a" }], { text: undefined as unknown as string })).every(({ ok }) => !ok));
    await assert.rejects(inboxes.fanOut("abc" as never, { text: "" }), code("OTSParameterInvalid", /'identifiers'/));
    const control = new AbortController();
    control.abort(new Error("given up"));
    await assert.rejects(inboxes.fanOut([{ user: "a" }], { text: "" }, { signal: control.signal }), /given up/);
  }),
);

test(
  "L3: a store queue: readers pull one timeline of each conversation, each from the id that it has seen",
  { skip },
  on(async (db) => {
    const room = (await chat(db)).createTimelineQueue({ room: "lobby" });
    const seen = { ann: 0 as SequenceId, bob: 0 as SequenceId };
    const pull = async (reader: keyof typeof seen): Promise<string[]> => {
      const texts: string[] = [];
      for await (const { sequenceId, message } of room.scanForward({ after: seen[reader], maxCount: Infinity })) {
        texts.push(message.text);
        seen[reader] = sequenceId;
      }
      return texts;
    };
    await room.store({ text: "one" });
    assert.deepEqual(await pull("ann"), ["one"]);
    await room.batchStore([{ message: { text: "two" } }, { message: { text: "three" } }]);
    assert.deepEqual(await pull("ann"), ["two", "three"]);
    assert.deepEqual(await pull("bob"), ["one", "two", "three"]);
    assert.deepEqual(await pull("bob"), []);
  }),
);

test(
  "L3: a reader that pulls while others write sees every message once, in order",
  { skip },
  on(async (db) => {
    const store = await chat(db);
    const room = store.createTimelineQueue({ room: "lobby" });
    const pulled: string[] = [];
    let writing = true;
    const reader = (async (): Promise<void> => {
      let after: SequenceId = 0;
      for (let last = false; !last; ) {
        last = !writing;
        for await (const { sequenceId, message } of room.scanForward({ after, maxCount: 7 })) {
          pulled.push(message.text);
          after = sequenceId;
          if (pulled.length < 2000) last = false;
        }
      }
    })();
    const writer = async (who: number): Promise<void> => {
      for (let n = 0; n < 100; n++) {
        if (who % 2 === 0) await room.store({ text: `${who}/${n}` });
        else if (who % 4 === 1) await room.batchStore([{ message: { text: `${who}/${n}` } }]);
        else room.storeAsync({ text: `${who}/${n}` });
        if (n % 10 === 0) await store.createTimelineQueue({ room: `other ${n}` }).store({ text: "" });
      }
    };
    await Promise.all(Array.from({ length: 20 }, (_, who) => writer(who)));
    await room.flush();
    writing = false;
    await reader;
    assert.equal(pulled.length, 2000);
    for (let who = 0; who < 20; who++)
      assert.deepEqual(
        pulled.filter((text) => text.startsWith(`${who}/`)),
        Array.from({ length: 100 }, (_, n) => `${who}/${n}`),
      );
  }),
);

test("L2: flush tells of messages whose table is gone, and calls on a closed database are refused by name", { skip }, async () => {
  const db = await open();
  const store = await chat(db);
  const queue = store.createTimelineQueue({ room: "a" });
  await store.dropAllTables();
  for (let n = 0; n < 5000; n++) queue.storeAsync({ text: "", n });
  await assert.rejects(store.flush(), (error: Error & { code: string; failed: number; stored: number }) => {
    assert.deepEqual([error.code, error.failed, error.stored], ["OTSObjectNotExist", 5000, 0]);
    return true;
  });
  assert.deepEqual(
    (await queue.batchStore([{ message: { text: "" } }])).map(({ error }) => error?.code),
    ["OTSObjectNotExist"],
  );
  await store.prepareTables();
  queue.storeAsync({ text: "on its way" });
  const closing = db.close();
  await store.flush();
  await closing;
  assert.throws(() => queue.storeAsync({ text: "late" }), code("Closed"));
  await assert.rejects(queue.store({ text: "late" }), code("Closed"));
  await assert.rejects(queue.scanForward().next(), code("Closed"));
  assert.deepEqual(
    (await queue.batchStore([{ message: { text: "late" } }])).map(({ error }) => error?.code),
    ["Closed"],
  );
});

test(
  "W3: the types of messages are checked",
  { skip },
  on(async (db) => {
    const { double } = await load();
    const { createTimelineStore } = timelines(db);
    interface Typed {
      readonly text: string;
      readonly price?: number;
      readonly to?: readonly string[];
    }
    const store = createTimelineStore<Typed>({ tableName: "typed", identifier: [{ name: "id", type: "INTEGER" }], lists: ["to"] });
    await store.prepareTables();
    const queue = store.createTimelineQueue({ id: 1 });
    const id = await queue.store({ text: "a", price: double(3), to: ["b"] });
    await queue.update(id, { price: 4.5 });
    const entry = await queue.get(id);
    const text: string | undefined = entry?.message.text;
    assert.equal(text, "a");
    // @ts-expect-error a number is no text
    await queue.store({ text: 5 });
    // @ts-expect-error a field is missing
    await queue.store({ price: 5 });
    // @ts-expect-error a text is no Double
    await queue.store({ text: double(5) });
    // @ts-expect-error no such field
    await queue.update(id, { prize: 5 });
    // @ts-expect-error a Date is no value
    createTimelineStore<{ readonly at: Date }>({ tableName: "typed", identifier: [{ name: "id", type: "INTEGER" }] });
    assert.equal((await queue.page()).entries.length, 4, "only types refuse these");
  }),
);
