/** Timelines: messages by id, scans, pages, batches, and many receivers. On the real engine, in memory. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type SequenceId, type TimelineQueue, timelines } from "../src/timeline/index.js";
import { code, load, open, skip } from "./support/package.js";
import { type Message, chat, ids, on } from "./support/timeline.js";

test(
  "L1: the documents' figure is stored: timelines A and B of type V1, C of type V2, and their messages",
  { skip },
  on(async (db) => {
    const { createTimelineStore, createMetaStore } = timelines(db);
    const identifier = [{ name: "timeline_id", type: "STRING" as const }];
    const metas = createMetaStore({
      tableName: "meta",
      identifier,
      definedColumns: [{ name: "Type", type: "STRING" }],
      indexes: [{ indexName: "meta_by_type", primaryKey: ["Type"] }],
    });
    const store = createTimelineStore({ tableName: "messages", identifier, sequenceIdGeneration: "MANUAL" });
    await metas.prepareTables();
    await store.prepareTables();
    for (const [timeline_id, Type] of [
      ["A", "V1"],
      ["B", "V1"],
      ["C", "V2"],
    ])
      await metas.insert({ timeline_id }, { Type });

    const message = { From: "Alice", To: "Bob", Message: "Hello World", Date: "2018-07-17 09:00:00" };
    const a = store.createTimelineQueue({ timeline_id: "A" });
    for (const sequenceId of [1, 2, 10, 20]) assert.equal(await a.store({ ...message, Message: `message ${sequenceId}` }, { sequenceId }), sequenceId);
    assert.equal(await a.store(message, { sequenceId: 100001 }), 100001);

    assert.deepEqual(await ids(a.scanForward()), [1, 2, 10, 20, 100001]);
    assert.deepEqual(await a.get(100001), { sequenceId: 100001, message });
    assert.deepEqual(await a.getLatestTimelineEntry(), { sequenceId: 100001, message });
    assert.deepEqual(await ids(store.createTimelineQueue({ timeline_id: "B" }).scanForward()), []);
    const found: unknown[] = [];
    for await (const one of metas.search({ where: { Type: "V1" } })) found.push(one);
    assert.deepEqual(found, [
      { identifier: { timeline_id: "A" }, meta: { Type: "V1" } },
      { identifier: { timeline_id: "B" }, meta: { Type: "V1" } },
    ]);
    assert.deepEqual(await metas.read({ timeline_id: "C" }), { Type: "V2" });
  }),
);

test(
  "L1: an identifier has up to three columns of texts, integers and bytes, and each value is a timeline of its own",
  { skip },
  on(async (db) => {
    const store = timelines(db).createTimelineStore<Message>({
      tableName: "many",
      identifier: [
        { name: "kind", type: "STRING" },
        { name: "user", type: "INTEGER" },
        { name: "device", type: "BINARY" },
      ],
      sequenceIdColumn: "seq",
    });
    await store.prepareTables();
    assert.deepEqual(
      (await db.describeTable("many")).primaryKey.map(({ name, type, autoIncrement }) => [name, type, autoIncrement]),
      [
        ["kind", "STRING", undefined],
        ["user", "INTEGER", undefined],
        ["device", "BINARY", undefined],
        ["seq", "INTEGER", true],
      ],
    );
    const queues = [
      ["a", 1, 1],
      ["a", 1, 2],
      ["a", 2n ** 60n, 1],
      ["b", -1, 1],
    ].map(([kind, user, device]) => store.createTimelineQueue({ device: Uint8Array.of(Number(device)), user, kind: String(kind) }));
    for (const [n, queue] of queues.entries()) await queue.store({ text: `in ${n}` });
    for (const [n, queue] of queues.entries()) assert.equal((await queue.getLatestTimelineEntry())?.message.text, `in ${n}`);
    assert.deepEqual(queues[2].identifier, { kind: "a", user: 2n ** 60n, device: Uint8Array.of(1) });
    assert.deepEqual(Object.keys(queues[0].identifier), ["kind", "user", "device"]);
  }),
);

test(
  "L1: an identifier is taken as it is: later changes of the caller's object and bytes do not reach it",
  { skip },
  on(async (db) => {
    const store = timelines(db).createTimelineStore<Message>({ tableName: "bytes", identifier: [{ name: "device", type: "BINARY" }] });
    await store.prepareTables();
    const given = { device: Uint8Array.of(1) };
    const queue = store.createTimelineQueue(given);
    given.device[0] = 2;
    await queue.store({ text: "one" });
    assert.equal(await store.createTimelineQueue({ device: Uint8Array.of(1) }).getLatestSequenceId(), 1);
  }),
);

test(
  "L1: a message keeps fields of all types, lists of texts among them",
  { skip },
  on(async (db) => {
    const { double } = await load();
    const store = timelines(db).createTimelineStore({
      tableName: "fields",
      identifier: [{ name: "id", type: "INTEGER" }],
      lists: ["to", "none"],
      allowChosen: true,
    });
    await store.prepareTables();
    const queue = store.createTimelineQueue({ id: 1 });
    const to = ["ann", 'bob "b"', "", "日本"];
    const sequenceId = await queue.store({ text: "é", n: 7, big: 2n ** 62n, part: 0.5, whole: double(3), on: true, raw: Uint8Array.of(0, 255), to, none: [] });
    assert.deepEqual((await queue.get(sequenceId))?.message, {
      text: "é",
      n: 7,
      big: 2n ** 62n,
      part: 0.5,
      whole: 3,
      on: true,
      raw: Uint8Array.of(0, 255),
      to,
      none: [],
    });
    const { row } = await db.getRow({ tableName: "fields", primaryKey: { id: 1, sequence_id: sequenceId } });
    assert.equal(row?.get("to"), JSON.stringify(to), "as the library of the service stores it");
    assert.equal(row?.type("whole"), "DOUBLE");
    await db.putRow({ tableName: "fields", primaryKey: { id: 1, sequence_id: 50 }, attributes: { to: "[1]", none: "no list" } });
    assert.deepEqual((await queue.get(50))?.message, { to: "[1]", none: "no list" }, "a text that is no list of texts is read as it is");
    await queue.store({});
    assert.deepEqual((await queue.getLatestTimelineEntry())?.message, {}, "a message may have no field");
  }),
);

test(
  "L2: where the store gives the ids, a given one names a message that is there, as in the service",
  { skip },
  on(async (db) => {
    const queue = (await chat(db)).createTimelineQueue({ room: "a" });
    const id = await queue.store({ text: "one", n: 1 });
    const gone = code("OTSConditionCheckFail", /^Condition check failed\.$/);
    await assert.rejects(queue.store({ text: "by hand" }, { sequenceId: 5000 }), gone);
    await assert.rejects(queue.update(5000, { text: "by hand" }), gone);
    const [refused, other] = await queue.batchStore([{ message: { text: "by hand" }, sequenceId: 5000 }, { message: { text: "two" } }]);
    assert.ok(gone(refused.error!) && other.ok);
    assert.equal(await queue.store({ text: "changed" }, { sequenceId: id }), id);
    await queue.update(id, { n: 2 });
    await queue.delete(5000);
    assert.deepEqual((await queue.get(id))?.message, { text: "changed", n: 2 });
    assert.equal(await queue.get(5000), null);
    assert.ok((await queue.store({ text: "after it" })) < 5000);
  }),
);

test(
  "L2: the store gives growing ids, chosen ones may leave gaps, and later ones are larger",
  { skip },
  on(async (db) => {
    const queue = (await chat(db, { allowChosen: true })).createTimelineQueue({ room: "a" });
    assert.equal(await queue.getLatestSequenceId(), 0);
    assert.equal(await queue.getLatestTimelineEntry(), null);
    const given = await Promise.all(Array.from({ length: 50 }, (_, n) => queue.store({ text: "", n })));
    for (let n = 1; n < 50; n++) assert.ok(given[n] > given[n - 1], "calls of one turn get ids in their order");
    assert.equal(await queue.store({ text: "by hand" }, { sequenceId: 5000 }), 5000);
    assert.ok((await queue.store({ text: "after it" })) > 5000);
    const latest = await queue.getLatestTimelineEntry();
    assert.equal(latest?.message.text, "after it");
    assert.equal(await queue.getLatestSequenceId(), latest?.sequenceId);
  }),
);

test(
  "L2: ids by hand are exact over all of 63 bits; a message of the same id is replaced",
  { skip },
  on(async (db) => {
    const queue = (await chat(db, { sequenceIdGeneration: "MANUAL" })).createTimelineQueue({ room: "a" });
    const all = [0, 1, 2 ** 53 - 1, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n];
    for (const sequenceId of all) assert.equal(await queue.store({ text: String(sequenceId) }, { sequenceId }), sequenceId);
    assert.deepEqual(await ids(queue.scanForward()), all);
    assert.deepEqual(await ids(queue.scanBackward()), all.toReversed());
    for (const [place, after] of all.entries()) {
      assert.deepEqual(await ids(queue.scanForward({ after })), all.slice(place + 1));
      assert.deepEqual(await ids(queue.scanBackward({ after })), all.slice(0, place).toReversed());
    }
    await queue.store({ text: "other" }, { sequenceId: 1n });
    assert.deepEqual(await queue.get(1), { sequenceId: 1, message: { text: "other" } });
    await assert.rejects(queue.store({ text: "no id" }), (error: Error & { hint?: string }) => {
      assert.equal(error.message, "The sequence id of this timeline is not auto generated.");
      assert.match(error.hint ?? "", /sequenceIdGeneration/);
      return code("OTSParameterInvalid")(error);
    });
  }),
);

test('L2: with integers: "bigint" every id is a bigint, also that of an empty timeline', { skip }, async () => {
  for (const integers of ["auto", "bigint"] as const) {
    const db = await open({ integers });
    const store = timelines(db, { integers: "bigint" }).createTimelineStore<Message>({
      tableName: "chat",
      identifier: [{ name: "room", type: "STRING" }],
      allowChosen: true,
    });
    await store.prepareTables();
    const queue = store.createTimelineQueue({ room: "a" });
    assert.equal(await queue.getLatestSequenceId(), 0n);
    assert.equal(await queue.store({ text: "x" }), 1n);
    assert.deepEqual(await ids(queue.scanForward()), [1n]);
    assert.deepEqual(
      (await queue.batchStore([{ message: { text: "y" }, sequenceId: 7 }])).map(({ sequenceId }) => sequenceId),
      [7n],
    );
    assert.equal((await queue.page({ after: 1 })).entries[0].sequenceId, 7n);
    await db.close();
  }
});

test(
  "L2: update puts fields of a message, delete removes it, and conditions hold",
  { skip },
  on(async (db) => {
    const queue = (await chat(db, { allowChosen: true })).createTimelineQueue({ room: "a" });
    const id = await queue.store({ text: "one", n: 1 });
    await queue.update(id, { text: "changed" });
    assert.deepEqual((await queue.get(id))?.message, { text: "changed", n: 1 });
    const expected = { condition: { rowExistence: "EXPECT_EXIST" } } as const;
    await assert.rejects(queue.update(99, { text: "nobody" }, expected), code("OTSConditionCheckFail"));
    await queue.delete(id);
    assert.equal(await queue.get(id), null);
    await queue.delete(id);
    await assert.rejects(queue.delete(id, expected), code("OTSConditionCheckFail"));
    await queue.update(7, { text: "made" });
    assert.deepEqual(await queue.get(7), { sequenceId: 7, message: { text: "made" } });
    const fresh = { sequenceId: 8, condition: { rowExistence: "EXPECT_NOT_EXIST" } } as const;
    assert.equal(await queue.store({ text: "first" }, fresh), 8);
    await assert.rejects(queue.store({ text: "second" }, fresh), code("OTSConditionCheckFail"));
  }),
);

test(
  "L2: scans forward and backward from any id: from is included, to is not, and 100 messages unless told",
  { skip },
  on(async (db) => {
    const { col } = await load();
    const store = await chat(db, { sequenceIdGeneration: "MANUAL" });
    const queue = store.createTimelineQueue({ room: "b" });
    for (const room of ["a", "c"]) await store.createTimelineQueue({ room }).store({ text: "neighbour" }, { sequenceId: 150 });
    const results = await queue.batchStore(Array.from({ length: 300 }, (_, n) => ({ message: { text: "", n }, sequenceId: n * 2 })));
    assert.ok(results.every(({ ok }) => ok));
    const even = (from: number, count: number, step = 2): number[] => Array.from({ length: count }, (_, n) => from + n * step);
    assert.deepEqual(await ids(queue.scanForward()), even(0, 100));
    assert.deepEqual(await ids(queue.scanBackward()), even(598, 100, -2));
    assert.deepEqual(await ids(queue.scanForward({ maxCount: Infinity })), even(0, 300));
    assert.deepEqual(await ids(queue.scanForward({ from: 5, to: 12 })), [6, 8, 10]);
    assert.deepEqual(await ids(queue.scanForward({ from: 6, to: 12 })), [6, 8, 10]);
    assert.deepEqual(await ids(queue.scanBackward({ from: 12, to: 6 })), [12, 10, 8]);
    assert.deepEqual(await ids(queue.scanForward({ to: 4 })), [0, 2]);
    assert.deepEqual(await ids(queue.scanBackward({ to: 594 })), [598, 596]);
    assert.deepEqual(await ids(queue.scanForward({ from: 590, maxCount: 3 })), [590, 592, 594]);
    assert.deepEqual(await ids(queue.scanForward({ after: 5, to: 6 })), []);
    assert.deepEqual(await ids(queue.scanForward({ filter: col("n").ge(298) })), [596, 598]);
    assert.deepEqual(await ids(queue.scanBackward({ filter: col("n").lt(250), maxCount: 2 })), [498, 496]);
    for await (const { sequenceId } of queue.scanForward({ maxCount: Infinity })) if (sequenceId === 6) break;
  }),
);

test(
  "L2: a scan reads page by page, so it sees what is stored while it runs, and its signal ends it",
  { skip },
  on(async (db) => {
    const queue = (await chat(db)).createTimelineQueue({ room: "a" });
    await queue.batchStore(Array.from({ length: 3000 }, (_, n) => ({ message: { text: "", n } })));
    let seen = 0;
    for await (const { sequenceId } of queue.scanForward({ maxCount: Infinity })) {
      if (seen === 0) for (let n = 0; n < 5; n++) await queue.store({ text: "while it runs" });
      seen += 1;
      assert.ok(sequenceId > 0);
    }
    assert.equal(seen, 3005);
    const control = new AbortController();
    const given = queue.scanForward({ signal: control.signal });
    await given.next();
    control.abort(new Error("enough"));
    await assert.rejects(given.next(), /enough/);
  }),
);

test(
  "L2: pages go on by their tokens, both ways, filtered or bounded, also in another handle",
  { skip },
  on(async (db) => {
    const { col } = await load();
    const queue = (await chat(db)).createTimelineQueue({ room: "a" });
    await queue.batchStore(Array.from({ length: 95 }, (_, n) => ({ message: { text: "", n } })));
    const all = await ids(queue.scanForward());
    const paged = async (options: Parameters<TimelineQueue<Message>["page"]>[0]): Promise<SequenceId[][]> => {
      const { filter, maxCount } = options ?? {};
      const pages: SequenceId[][] = [];
      for (let token: string | null | undefined; token !== null; ) {
        const again = (await chat(db)).createTimelineQueue({ room: "a" });
        const page = token === undefined ? await queue.page(options) : await again.page({ token, maxCount, filter });
        pages.push(page.entries.map(({ sequenceId }) => sequenceId));
        token = page.token;
      }
      return pages;
    };
    assert.deepEqual(
      (await paged({ maxCount: 20 })).map((page) => page.length),
      [20, 20, 20, 20, 15],
    );
    assert.deepEqual((await paged({ maxCount: 20 })).flat(), all);
    assert.deepEqual((await paged({ maxCount: 40, direction: "BACKWARD" })).flat(), all.toReversed());
    assert.deepEqual((await paged({ maxCount: 7, from: all[10], to: all[30] })).flat(), all.slice(10, 30));
    assert.deepEqual((await paged({ maxCount: 7, direction: "BACKWARD", after: all[30], to: all[10] })).flat(), all.slice(11, 30).toReversed());
    const filtered = await paged({ maxCount: 10, filter: col("n").ge(70, { passIfMissing: false }) });
    assert.deepEqual(filtered.flat(), all.slice(70));
    assert.deepEqual(
      filtered.map((page) => page.length),
      [10, 10, 5],
      "a page is full before the end",
    );
    assert.deepEqual(await queue.page({ from: 10_000 }), { entries: [], token: null });
  }),
);

test(
  "L2: storeAsync takes messages without waiting; later calls see them, and flush tells when all are stored",
  { skip },
  on(async (db) => {
    const store = await chat(db, { allowChosen: true });
    const [a, b] = ["a", "b"].map((room) => store.createTimelineQueue({ room }));
    for (let n = 0; n < 5000; n++) {
      const wait = (n % 2 === 0 ? a : b).storeAsync({ text: "", n });
      if (wait) await wait;
    }
    assert.equal((await a.getLatestTimelineEntry())?.message.n, 4998, "a read behind it sees it");
    await a.flush();
    const seen: (number | undefined)[] = [];
    for await (const { message } of b.scanForward({ maxCount: Infinity })) seen.push(message.n);
    assert.deepEqual(
      seen,
      Array.from({ length: 2500 }, (_, n) => 2 * n + 1),
      "in the order of the calls",
    );
    a.storeAsync({ text: "by hand" }, { sequenceId: 1_000_000 });
    await store.close();
    assert.equal(await a.getLatestSequenceId(), 1_000_000);
    assert.throws(() => a.storeAsync({ text: "late" }), code("Closed"));
    assert.ok((await a.store({ text: "waits, so it goes on" })) > 1_000_000);
  }),
);

test(
  "L2: no error of storeAsync is lost: flush and close name the messages, and every flush under way rejects",
  { skip },
  on(async (db) => {
    const { WriterError } = await load();
    const store = await chat(db, { sequenceIdGeneration: "MANUAL" });
    const queue = store.createTimelineQueue({ room: "a" });
    const tooLong = "x".repeat(2_097_153);
    const bad =
      (places: readonly number[]) =>
      (error: unknown): boolean => {
        assert.ok(error instanceof WriterError);
        assert.deepEqual(
          error.failures.map(({ index }) => index),
          places,
        );
        return true;
      };
    queue.storeAsync({ text: "0" }, { sequenceId: 0 });
    queue.storeAsync({ text: tooLong }, { sequenceId: 1 });
    queue.storeAsync({ text: "2" }, { sequenceId: 2 });
    const first = store.flush();
    const second = queue.flush();
    await Promise.all([assert.rejects(first, bad([1])), assert.rejects(second, bad([1]))]);
    await store.flush();
    queue.storeAsync({ text: tooLong }, { sequenceId: 3 });
    const third = store.flush();
    queue.storeAsync({ text: "4" }, { sequenceId: 4 });
    queue.storeAsync({ text: tooLong }, { sequenceId: 5 });
    await Promise.all([assert.rejects(third, bad([0])), assert.rejects(store.close(), bad([1]))]);
    assert.deepEqual(await ids(queue.scanForward()), [0, 2, 4]);
    assert.throws(() => queue.storeAsync({ text: "no id" }), code("OTSParameterInvalid", /not auto generated/));
  }),
);
