/** Timelines against a simple model, with random operations; and arguments that are refused. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database } from "../src/index.js";
import { type ScanOptions, type TimelineQueue, timelines, type TimelineSchema } from "../src/timeline/index.js";
import { code, load, open, random, skip } from "./support/package.js";

interface Message {
  readonly text?: string;
  readonly n?: number;
}
type Model = Map<bigint, Message>;

const SCHEMA: TimelineSchema = { tableName: "chat", identifier: [{ name: "room", type: "STRING" }] };

/** What a scan of the model gives. */
function expected(model: Model, backward: boolean, { from, after, to, maxCount = 100 }: ScanOptions): { sequenceId: bigint; message: Message }[] {
  const side = (id: bigint): bigint => (backward ? -id : id);
  const inside = (id: bigint): boolean =>
    (from === undefined || side(id) >= side(BigInt(from))) &&
    (after === undefined || side(id) > side(BigInt(after))) &&
    (to === undefined || side(id) < side(BigInt(to)));
  const all = [...model].filter(([id]) => inside(id)).sort(([a], [b]) => (side(a) < side(b) ? -1 : 1));
  return all.slice(0, maxCount).map(([sequenceId, message]) => ({ sequenceId, message }));
}

for (const manual of [false, true]) {
  test(`L2: random operations on timelines agree with a simple model (ids ${manual ? "by hand" : "of the store"})`, { skip }, async () => {
    const pick = random(manual ? 7 : 8);
    const db = await open();
    const store = timelines(db).createTimelineStore<Message>({ ...SCHEMA, sequenceIdGeneration: manual ? "MANUAL" : "AUTO_INCREMENT" });
    await store.prepareTables();
    const rooms = ["a", "ab", "b"].map((room) => ({ queue: store.createTimelineQueue({ room }), model: new Map() as Model }));
    const largest = (model: Model): bigint => [...model.keys()].reduce((most, id) => (id > most ? id : most), 0n);
    const message = (step: number): Message => ({ n: step, ...(pick(2) === 0 ? { text: "x".repeat(pick(40)) } : {}) });
    const given = (model: Model): { sequenceId?: bigint } =>
      manual ? { sequenceId: pick(3) === 0 ? BigInt(pick(300)) : largest(model) + BigInt(1 + pick(5)) } : {};
    for (let step = 0; step < 3000; step++) {
      const { queue, model } = rooms[pick(rooms.length)];
      const some = BigInt(pick(Number(largest(model)) + 3));
      switch (pick(9)) {
        case 0:
        case 1: {
          const [one, before] = [message(step), largest(model)];
          const id = BigInt(await queue.store(one, given(model)));
          if (!manual) assert.ok(id > before, `step ${step}: ${id} after ${before}`);
          model.set(id, one);
          break;
        }
        case 2: {
          const entries = Array.from({ length: 1 + pick(5) }, (_, n) => ({ message: message(step + n), ...given(model) }));
          const results = await queue.batchStore(entries);
          for (const [n, { sequenceId }] of results.entries()) model.set(BigInt(sequenceId!), entries[n].message);
          break;
        }
        case 3:
          await queue.delete(some);
          model.delete(some);
          break;
        case 4:
          if (!model.has(some)) break;
          await queue.update(some, { text: `changed in ${step}` });
          model.set(some, { ...model.get(some), text: `changed in ${step}` });
          break;
        case 5: {
          const found = await queue.get(some);
          assert.deepEqual(found?.message, model.get(some), `step ${step}`);
          assert.equal(BigInt(await queue.getLatestSequenceId()), largest(model), `step ${step}`);
          break;
        }
        default: {
          const backward = pick(2) === 1;
          const bounds = [some, BigInt(pick(Number(largest(model)) + 3))].sort((a, b) => (a < b ? -1 : 1));
          if (bounds[0] === bounds[1]) break;
          const [first, to] = backward ? bounds.toReversed() : bounds;
          const options: ScanOptions = {
            ...(pick(3) === 0 ? {} : pick(2) === 0 ? { from: first } : { after: first }),
            ...(pick(3) === 0 ? {} : { to }),
            ...(pick(2) === 0 ? {} : { maxCount: 1 + pick(30) }),
          };
          const wanted = expected(model, backward, options);
          const found = [];
          if (pick(2) === 0) {
            for await (const { sequenceId, message } of backward ? queue.scanBackward(options) : queue.scanForward(options))
              found.push({ sequenceId: BigInt(sequenceId), message });
          } else {
            const page = await queue.page({ ...options, direction: backward ? "BACKWARD" : "FORWARD" });
            for (const { sequenceId, message } of page.entries) found.push({ sequenceId: BigInt(sequenceId), message });
          }
          assert.deepEqual(found, wanted, `step ${step}`);
        }
      }
    }
    await db.close();
  });
}

test("L2: wrong arguments are refused by name, before anything is stored", { skip }, async () => {
  const db = await open();
  const model = timelines(db);
  const store = model.createTimelineStore<Message>({ ...SCHEMA, lists: ["tags"] });
  await store.prepareTables();
  const queue = store.createTimelineQueue({ room: "a" });
  const any = queue as unknown as TimelineQueue<Record<string, unknown>> & Record<string, (...args: unknown[]) => Promise<unknown>>;
  const refused: [() => unknown, RegExp][] = [
    [() => queue.store(undefined as never), /'message' is undefined/],
    [() => any.store([] as never), /'message' is an array/],
    [() => any.store({ when: new Date() }), /column 'when'.*a Date/],
    [() => any.store(new Map([["a", 1]]) as never), /Map/],
    [() => any.store({ text: null }), /'text'/],
    [() => any.store({ other: ["a"] }), /'other' of 'message' is an array; only fields in 'lists'/],
    [() => any.store({ tags: "a" }), /'message.tags' is a string/],
    [() => any.store({ tags: ["a", 1] }), /'message.tags\[1\]' is a number/],
    [() => any.store(Object.fromEntries(Array.from({ length: 1025 }, (_, n) => [`c${n}`, n]))), /limit count: 1024, column count: 1025/],
    [
      () => {
        const wide = (count: number): Message => Object.fromEntries(Array.from({ length: count }, (_, n) => [`c${n}`, n]));
        queue.storeAsync(wide(1025));
      },
      /limit count: 1024, column count: 1025/,
    ],
    [() => queue.store({}, { sequenceId: -1 }), /'sequenceId' is -1/],
    [() => queue.store({}, { sequenceId: 0.5 }), /'sequenceId' is 0.5/],
    [() => queue.store({}, { sequenceId: 2n ** 63n }), /'sequenceId' is 9223372036854775808n/],
    [() => queue.store({}, { sequenceId: 2 ** 53 }), /a bigint beyond/],
    [() => queue.store({}, { sequenceid: 5 } as never), /Unknown argument 'sequenceid' in 'store'/],
    [() => queue.store({}, { condition: { rowExistence: "EXPECT_EXIST" } }), /pk auto increment/],
    [() => any.storeAsync({ text: undefined }), /'text'/],
    [() => queue.batchStore({} as never), /'entries' is an object/],
    [() => queue.update(-1, { text: "" }), /'sequenceId' is -1/],
    [() => queue.update(1, {}), /Attribute column is missing|column/],
    [() => queue.get("1" as never), /'sequenceId' is '1'/],
    [() => queue.delete(undefined as never), /'sequenceId' is undefined/],
    [() => queue.getLatestSequenceId(5 as never), /'getLatestSequenceId' is a number/],
    [() => queue.scanForward({ from: 5, to: 5 }).next(), /'from' is 5 and 'to' is 5; forward it must be 0 <= from < to/],
    [() => queue.scanForward({ from: 5, to: 4 }).next(), /0 <= from < to/],
    [() => queue.scanBackward({ from: 4, to: 5 }).next(), /backward it must be 0 <= to < from/],
    [() => queue.scanBackward({ after: 5, to: 5 }).next(), /0 <= to < after/],
    [() => queue.scanForward({ from: -1 }).next(), /'from' is -1/],
    [() => queue.scanBackward({ to: -1 }).next(), /'to' is -1/],
    [() => queue.scanForward({ from: 1, after: 1 }).next(), /'from' and 'after' are both given/],
    [() => queue.scanForward({ maxCount: 0 }).next(), /'maxCount' is 0/],
    [() => queue.scanForward({ limit: 5 } as never).next(), /Unknown argument 'limit' in 'scanForward'/],
    [() => queue.page({ maxCount: Infinity }), /'maxCount' is Infinity/],
    [() => queue.page({ direction: "UP" as never }), /'direction' is 'UP'/],
    [() => queue.page({ token: null as unknown as string }), /'token' is null; it must be the token of a page; the last page has none/],
    [() => queue.page({ token: "F.1.", from: 1 }), /'from' is given together with 'token'/],
    ...["", "x", "F.5.5", "F.5.4", "B.4.5", "F.9223372036854775808.", "F.1.2.3", 5].map((token): [() => unknown, RegExp] => [
      () => queue.page({ token: token as string }),
      /'token' is/,
    ]),
    [() => store.createTimelineQueue(undefined as never), /'identifier' is undefined; it must be an object with room \(STRING\)/],
    [() => store.createTimelineQueue({}), /'identifier.room' is undefined; it must be a string/],
    [() => store.createTimelineQueue({ room: 1 }), /'identifier.room' is a number/],
    [() => store.createTimelineQueue({ room: "a", user: "b" }), /Unknown column 'user' in 'identifier'/],
    [() => void store.createTimelineQueue({ room: "x".repeat(1025) }), /CurrentLength:1025/],
    [() => store.createTimelineQueue({ room: "é".repeat(513) }), /'room' exceeds the MaxLength:1024 with CurrentLength:1026/],
    [() => model.createTimelineStore(undefined as never), /'schema' is null|'schema' is undefined/],
    [() => model.createTimelineStore({ ...SCHEMA, tableName: 5 as never }), /'tableName' is a number/],
    [() => model.createTimelineStore({ ...SCHEMA, identifier: [] }), /has 0 columns; it must have 1 to 3/],
    [() => model.createTimelineStore({ ...SCHEMA, identifier: Array.from({ length: 4 }, (_, n) => ({ name: `c${n}`, type: "STRING" })) }), /has 4 columns/],
    [() => model.createTimelineStore({ ...SCHEMA, identifier: [{ name: "a", type: "DOUBLE" as never }] }), /'identifier\[0\].type' is 'DOUBLE'/],
    [
      () =>
        model.createTimelineStore({
          ...SCHEMA,
          identifier: [
            { name: "a", type: "STRING" },
            { name: "a", type: "INTEGER" },
          ],
        }),
      /the column 'a' twice/,
    ],
    [() => model.createTimelineStore({ ...SCHEMA, sequenceIdColumn: "room" }), /'room' of 'chat' is the sequence id and a part/],
    [() => model.createTimelineStore({ ...SCHEMA, sequenceIdGeneration: "auto" as never }), /'sequenceIdGeneration' is 'auto'/],
    [() => model.createTimelineStore({ ...SCHEMA, lists: "tags" as never }), /'lists' is a string/],
    [() => model.createTimelineStore({ ...SCHEMA, ttl: 5 } as never), /Unknown argument 'ttl' in 'schema'/],
    [() => model.createTimelineStore({ ...SCHEMA, tableName: "other", timeToLive: 5 }).prepareTables(), /TimeToLive/],
    [
      () => model.createMetaStore({ tableName: "m", identifier: SCHEMA.identifier, indexes: [{ indexName: "i", primaryKey: "a" as never }] }),
      /'indexes\[0\].primaryKey' is a string/,
    ],
    [() => timelines(db, { integers: "number" as never }), /'integers' is 'number'/],
  ];
  for (const [call, message] of refused) {
    await assert.rejects(async () => call(), code("OTSParameterInvalid", message), String(call));
  }
  assert.equal(await queue.getLatestSequenceId(), 0, "nothing was stored");
  await db.close();
});

test("errors of timelines are of the class of the database's own entry, and what is no database is named", { skip }, async () => {
  const db = await open();
  const { TabStoreError } = await load();
  assert.throws(
    () => timelines(db).createTimelineStore({ ...SCHEMA, identifier: [] }),
    (error) => error instanceof TabStoreError,
  );
  for (const none of [
    undefined,
    null,
    {},
    { writer: () => undefined },
    {
      writer: () => {
        throw new Error("other");
      },
    },
  ]) {
    assert.throws(() => timelines(none as unknown as Database), /^TypeError: The argument 'db' is .*must be an open Database/);
  }
  await db.close();
  assert.throws(
    () => timelines(db).createTimelineStore({ ...SCHEMA, identifier: [] }),
    (error) => error instanceof TabStoreError,
    "a closed database has errors too",
  );
  await assert.rejects(timelines(db).createTimelineStore(SCHEMA).prepareTables(), code("Closed"));
});
