/** Loads of followers when the leader goes: rows that it took are asked for again, and each is stored once. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { Client } from "../src/client/client.js";
import { WriterError } from "../src/types/writer-error.js";
import { BackOff } from "../src/client/retry.js";
import type { FakeEngine } from "./support/engine.js";
import { answerAll, follower, row, sent, turn } from "./support/loading.js";

/** Taken rows wait for others however long a test takes. */
const stopTime = (t: TestContext): void => t.mock.timers.enable({ apis: ["setTimeout"] });

test("rows that were taken are put again under their numbers, before what has no answer, and nothing is refused", async (t) => {
  stopTime(t);
  const { db, disk, lead } = follower();
  const one = lead();
  const writer = db.writer("t");
  for (let id = 0; id < 1000; id++) writer.put(row(id));
  await answerAll(one);
  const { rows, pending } = writer.progress;
  assert.ok(rows > 0 && pending > 300, "some are taken, and not stored");
  const taken = sent(one).filter((one) => one.startsWith("12"));
  const two = lead();
  assert.deepEqual(sent(two), taken);
  const closed = writer.close();
  await turn();
  assert.match(sent(two).at(-1)!, /^s/);
  // It goes too, before it has answered anything.
  const three = lead();
  assert.deepEqual(sent(three), sent(two));
  await answerAll(three);
  const result = await closed;
  assert.deepEqual([result.rows, result.consumed], [1000, { read: 0, write: 1000 }]);
  assert.ok([...disk.written.values()].every((times) => times === 1) && disk.written.size === 1000);
});

test("rows that were stored before their leader went are counted, and not stored again", async (t) => {
  stopTime(t);
  const { db, disk, lead } = follower();
  const one = lead();
  const writer = db.writer("t");
  for (let id = 0; id < 1000; id++) writer.put(row(id));
  await answerAll(one);
  const closed = writer.close();
  await turn();
  assert.equal(disk.written.size, 1000, "all are stored, but their writer does not know");
  assert.ok(writer.progress.rows < 1000);
  const two = lead();
  const numbers = two.frames.flat().map(({ id }) => id);
  assert.ok(numbers.length > 3 && numbers.every((id, i) => i === 0 || id > numbers[i - 1]), `in their order: ${sent(two).join()}`);
  await answerAll(two);
  const result = await closed;
  assert.deepEqual([result.rows, result.consumed], [1000, { read: 0, write: 1000 }]);
  assert.ok([...disk.written.values()].every((times) => times === 1));
});

test("a leader that ends in the middle of an answer has not answered", async () => {
  const { db, disk, lead } = follower();
  const one = lead();
  const writer = db.writer("t");
  one.refuse = ({ key }) =>
    key.id !== undefined && "INTEGER" in key.id && key.id.INTEGER === 700n ? ["LeaderChanged", "another tab has taken over"] : undefined;
  one.failStore = () => ["LeaderChanged", "another tab has taken over"];
  for (let id = 0; id < 1000; id++) writer.put(row(id));
  const closed = writer.close();
  await answerAll(one);
  await answerAll(lead());
  assert.equal((await closed).rows, 1000);
  assert.ok([...disk.written.values()].every((times) => times === 1) && disk.written.size === 1000);
  assert.equal(db.closed, false);
});

test("answers to rows that are not stored yet are not acknowledged; later they are", async (t) => {
  stopTime(t);
  const { db, lead } = follower();
  const engine = lead();
  const writer = db.writer("t");
  for (let id = 0; id < 1000; id++) writer.put(row(id));
  await answerAll(engine);
  const first = engine.frames.flat().find(({ op }) => op === 12)!.id;
  for (let id = 1000; id < 9000; id++) writer.put(row(id));
  await answerAll(engine);
  assert.ok(engine.acknowledged.length > 0);
  for (const below of engine.acknowledged) assert.ok(below <= first, `${below} is above ${first}, which is not stored`);
  const flushed = writer.flush();
  await answerAll(engine);
  await flushed;
  const get = db.getRow({ tableName: "t", primaryKey: { id: 1 } });
  await answerAll(engine);
  await get;
  assert.ok(engine.acknowledged.at(-1)! > engine.frames.flat().findLast(({ op }) => op === 13)!.id);
});

test("the rows that a follower keeps are bounded as those in flight are", async () => {
  const { db, client, lead } = follower();
  const engine = lead();
  const writer = db.writer("t", { maxBytesInFlight: 1 << 20 });
  let most = 0;
  const kept = (): number => {
    const { taken } = client.kept as unknown as { taken: Map<number, { call: { start: number; end: number } }> };
    return [...taken.values()].reduce((sum, { call }) => sum + call.end - call.start, 0);
  };
  for (let id = 0; id < 5000; id++) {
    const wait = writer.put(row(id));
    if (wait === undefined) continue;
    let over = false;
    void wait.then(() => (over = true));
    while (!over) {
      engine.answer();
      await turn();
      most = Math.max(most, kept());
    }
  }
  assert.ok(most > 500_000 && most < (1 << 20) + 2100, `${most} bytes`);
  const closed = writer.close();
  await answerAll(engine);
  await closed;
  assert.equal(kept(), 0);
  const own = new Client(8, false);
  assert.equal(own.kept, undefined, "a client that never followed keeps nothing");
});

test("if the next leader does not know what was done, rows that were taken are refused by name", async (t) => {
  stopTime(t);
  const { db, lead } = follower();
  const one = lead();
  const writer = db.writer("t");
  for (let id = 0; id < 1000; id++) writer.put(row(id));
  await answerAll(one);
  const { rows } = writer.progress;
  const two = lead(false);
  assert.deepEqual(sent(two), []);
  const closed = writer.close().then(
    () => assert.fail("all were stored"),
    (error: unknown) => error,
  );
  await answerAll(two);
  const error = await closed;
  assert.ok(error instanceof WriterError, String(error));
  assert.deepEqual([error.code, error.stored, error.failed], ["LeaderChanged", rows, 1000 - rows]);
});

test("leaders go at random moments; others write among the rows, and rows are refused for now or for good: each row is stored once, or is refused", async () => {
  let stale = 0;
  for (let seed = 1; seed <= 30; seed++) {
    let state = seed * 7919;
    const below = (most: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return (state >>> 8) % most;
    };
    const { db, disk, lead } = follower(BackOff.from({ attempts: 100, minDelay: 0, maxDelay: 1 }));
    const wrong = (id: number): boolean => id % 97 === 13;
    const next = (): FakeEngine =>
      lead(true, ({ key }) => {
        const id = key.id !== undefined && "INTEGER" in key.id ? Number(key.id.INTEGER) : -1;
        return id < 0 ? undefined : wrong(id) ? "never" : below(60) === 0 ? ["OTSRowOperationConflict", "not now"] : undefined;
      });
    let engine = next();
    const ROWS = 1500;
    const writers = [0, 1].map((part) => ({
      part,
      writer: db.writer("t", { maxBytesInFlight: 1 << (18 + below(4)) }),
      next: part,
      wait: undefined as Promise<void> | undefined,
      end: undefined as Promise<unknown> | undefined,
    }));
    for (let steps = 0; writers.some(({ end }) => end === undefined) || engine.open > 0 || steps < 50; steps++) {
      for (const one of writers) {
        if (one.wait !== undefined || one.end !== undefined) continue;
        for (let left = below(200); left > 0 && one.next < ROWS && one.wait === undefined; left--) {
          const wait = one.writer.put(row(one.next));
          one.next += 2;
          if (wait !== undefined) one.wait = wait.then(() => void (one.wait = undefined));
        }
        if (one.next >= ROWS) one.end ??= one.writer.close().catch((error: unknown) => error);
      }
      for (let left = below(6); left > 0; left--) {
        engine.answer(below(Math.max(1, Math.min(3, engine.open))), true);
        await turn();
      }
      if (below(8) === 0) engine.endLoads();
      if (below(12) === 0) {
        if (below(2) === 0) {
          // What is sent now comes nowhere.
          engine.gone = true;
          for (let left = below(4); left > 0; left--) await turn();
        }
        if (disk.answers.size > 0) stale += 1;
        engine = next();
      }
      await new Promise((resolve) => setTimeout(resolve, below(2)));
    }
    let over = false;
    const all = Promise.all(writers.map(({ end }) => end)).then((results) => {
      over = true;
      return results;
    });
    while (!over) await answerAll(engine);
    const results = await all;
    for (const { part } of writers) {
      const own = Array.from({ length: ROWS / 2 }, (_, i) => 2 * i + part);
      const bad = own.filter(wrong);
      const result = results[part];
      assert.ok(result instanceof WriterError, `seed ${seed}: ${String(result)}`);
      assert.deepEqual(
        result.failures.map(({ index, error }) => [index, error.code]).sort(([a], [b]) => Number(a) - Number(b)),
        bad.map((id) => [(id - part) / 2, "OTSParameterInvalid"]),
        `seed ${seed}`,
      );
      assert.deepEqual(
        [result.stored, result.failed, result.consumed],
        [own.length - bad.length, bad.length, { read: 0, write: own.length - bad.length }],
        `seed ${seed}`,
      );
    }
    assert.equal(disk.written.size, Array.from({ length: ROWS }, (_, id) => id).filter((id) => !wrong(id)).length, `seed ${seed}`);
    assert.ok(
      [...disk.written.values()].every((times) => times === 1),
      `seed ${seed}: a row was stored twice`,
    );
  }
  assert.ok(stale > 50, `${stale} leaders went`);
});
