/** Writers whose engine ends while rows are tried again: each of them ends, and tells what is stored. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { CallQueue } from "../src/client/call-queue.js";
import { Client } from "../src/client/client.js";
import { OpenDatabase } from "../src/open/database.js";
import { WriterError } from "../src/types/writer-error.js";
import { KeptRows } from "../src/client/load-replay.js";
import { BackOff } from "../src/client/retry.js";
import { errorPayload } from "./support/bytes.js";
import { FakeEngine, newDisk } from "./support/engine.js";
import { answerAll, follower, gone, row, sent, turn } from "./support/loading.js";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const quick = (): BackOff => BackOff.from({ attempts: 100, minDelay: 5, maxDelay: 20 });
const within = <T>(work: Promise<T>, ms = 10_000): Promise<T | "nothing"> => Promise.race([work, pause(ms).then(() => "nothing" as const)]);

/** Refuses rows of these numbers for now, while it is locked. */
function lock(...ids: number[]): { held: boolean; refuse: FakeEngine["refuse"] } {
  const one: ReturnType<typeof lock> = {
    held: true,
    refuse: ({ key }) =>
      one.held && key.id !== undefined && "INTEGER" in key.id && ids.includes(Number(key.id.INTEGER)) ? ["OTSRowOperationConflict", "not now"] : undefined,
  };
  return one;
}

/** A handle with the engine in its own tab. */
function ownTab(): { client: Client; db: OpenDatabase; engine(refuse?: FakeEngine["refuse"]): FakeEngine; die(next: FakeEngine): Promise<void> } {
  const client = new Client(7, false, quick());
  return {
    client,
    db: new OpenDatabase("demo", "indexeddb", client),
    engine: (refuse = () => undefined) => Object.assign(new FakeEngine(client.receive, false), { loads: true, rowBytes: 0, refuse }),
    // As the page does: its calls wait in a queue.
    async die(next) {
      const queue = new CallQueue();
      client.attach(queue);
      client.handOver(false, gone);
      await turn();
      queue.moveTo(next);
      client.attach(next);
    },
  };
}

for (const lastLoad of [0, 50]) {
  test(`a request to store that waits for another try does not take the loads of the next engine for its own (its last one was ${lastLoad})`, async () => {
    const { db, disk, lead } = follower(quick());
    const one = Object.assign(lead(), { lastLoad: 50 - lastLoad });
    one.refuse = (_, { op }) => (op === 13 ? ["OTSServerBusy", "too much"] : undefined);
    const writer = db.writer("t");
    for (let id = 0; id < 1000; id++) writer.put(row(id));
    const closed = writer.close().catch((error: unknown) => error);
    for (let i = 0; i < 40; i++) {
      one.answer();
      await turn();
    }
    assert.ok(sent(one).some((one) => one.startsWith("s")));
    const two = Object.assign(lead(false), { lastLoad });
    await pause(60);
    await answerAll(two, 20);
    const error = await within(closed);
    assert.ok(error instanceof WriterError, String(error));
    assert.equal(error.stored, disk.written.size);
    assert.ok(error.failures.every((failure) => failure.error === gone));
    assert.ok(sent(two).length < 5, sent(two).slice(0, 9).join());
  });
}

test("an engine dies while a row of a stored load is tried again: the writer ends, and asks the fresh engine nothing again and again", async () => {
  const { client, db, engine, die } = ownTab();
  const one = Object.assign(engine(lock(900).refuse), { lastLoad: 5 });
  client.attach(one);
  const writer = db.writer("t");
  for (let id = 0; id < 1000; id++) writer.put(row(id));
  const closed = writer.close().catch((error: unknown) => error);
  for (let i = 0; i < 60; i++) {
    one.answer();
    await turn();
  }
  one.gone = true;
  const two = engine();
  await die(two);
  await pause(50);
  await answerAll(two, 20);
  assert.notEqual(await within(closed), "nothing");
  assert.equal(writer.progress.pending, 0);
  assert.ok(sent(two).length < 5, sent(two).slice(0, 9).join());
});

test("a follower is closed while a row of a taken frame is tried again and the leader changes: the writer ends first", async () => {
  const { db, disk, lead } = follower(quick());
  const held = lock(900);
  const one = lead(true, held.refuse);
  const writer = db.writer("t");
  for (let id = 0; id < 1000; id++) writer.put(row(id));
  const closed = writer.close();
  for (let i = 0; i < 60; i++) {
    one.answer();
    await turn();
  }
  let over = false;
  const end = db.close().then(() => void (over = true));
  await turn();
  const two = lead(true, held.refuse);
  for (let i = 0; i < 60; i++) {
    two.answer();
    await turn();
  }
  held.held = false;
  for (let i = 0; i < 300 && !over; i++) {
    two.answer();
    await pause(1);
  }
  // The session of a closed handle answers nothing.
  two.gone = true;
  const result = await within(closed);
  assert.ok(result !== "nothing");
  assert.deepEqual([result.rows, disk.written.size], [1000, 1000]);
  await end;
});

test("a refusal by the death of an engine, told late, says nothing of the engine that runs now", async () => {
  const { client, db, engine, die } = ownTab();
  let replaced = 0;
  client.onReplaced = () => (replaced += 1) > 0;
  const held = lock(1, 2);
  const one = engine(held.refuse);
  client.attach(one);
  const writer = db.writer("t");
  for (let id = 0; id < 20; id++) writer.put(row(id));
  const closed = writer.close().catch((error: unknown) => error);
  await turn();
  one.answer();
  // Until one of the two rows has been asked again and has no answer, and the other one waits.
  for (let tries = 0; !(one.open === 1 && one.frames.at(-1)!.length === 1); tries++) {
    assert.ok(tries < 2000);
    await pause(1);
    if (!(one.open === 1 && one.frames.at(-1)!.length === 1)) one.answer();
  }
  one.gone = true;
  held.held = false;
  const two = engine();
  await die(two);
  for (let i = 0; i < 60; i++) {
    two.answer();
    await pause(1);
  }
  const error = await within(closed);
  assert.ok(error instanceof WriterError, String(error));
  assert.deepEqual(
    error.failures.map((failure) => failure.error),
    [gone],
  );
  assert.equal(replaced, 0);
});

test("engines end at random, of this tab and of others, some of which know what was done: writers end, and what they tell is true", async () => {
  for (let seed = 1; seed <= 30; seed++) {
    let state = seed * 7919;
    const below = (most: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
      return (state >>> 8) % most;
    };
    const client = new Client(7, false, BackOff.from({ attempts: 100, minDelay: 0, maxDelay: 1 }));
    const disk = newDisk();
    let before: (FakeEngine & { readonly follows: boolean }) | undefined;
    const next = async (): Promise<FakeEngine> => {
      const knows = before?.follows === true && below(3) > 0;
      const own = below(3) === 0;
      if (!own) client.kept ??= new KeptRows(() => client.role === "follower");
      const engine = Object.assign(new FakeEngine(client.receive, false, disk), { follows: !own, loads: true, rowBytes: 0, lastLoad: below(8) });
      engine.refuse = ({ key }) => (key.id !== undefined && below(60) === 0 ? ["OTSRowOperationConflict", "not now"] : undefined);
      const inner = engine as unknown as { handle(request: { id: number; op: number }): unknown };
      const handle = inner.handle.bind(engine);
      inner.handle = (request) =>
        below(40) === 0 ? { id: request.id, ok: false, payload: errorPayload("OTSServerBusy", "busy", 503, true) } : handle(request);
      if (!knows) disk.answers.clear();
      if (before === undefined) {
        client.attach(engine);
      } else {
        before.gone = true;
        const queue = new CallQueue();
        client.attach(queue);
        client.handOver(knows, gone);
        for (let left = below(4); left > 0; left--) await turn();
        queue.moveTo(engine);
        client.attach(engine);
      }
      return (before = engine);
    };
    let replaced = 0;
    client.onReplaced = () => (replaced += 1) > 0;
    const db = new OpenDatabase("demo", "indexeddb", client);
    let engine = await next();
    const ROWS = 1500;
    const writers = [0, 1].map((part) => ({
      part,
      next: part,
      writer: db.writer("t", { maxBytesInFlight: 1 << (18 + below(4)) }),
      wait: undefined as Promise<void> | undefined,
      end: undefined as Promise<{ rows: number } | WriterError> | undefined,
    }));
    for (let steps = 0; steps < 50 || writers.some(({ end }) => end === undefined); steps++) {
      assert.ok(steps < 5000, `seed ${seed}: put() hangs`);
      for (const one of writers) {
        for (let left = below(200); left > 0 && one.next < ROWS && one.wait === undefined && one.end === undefined; left--) {
          one.wait = one.writer.put(row(one.next))?.then(() => void (one.wait = undefined));
          one.next += 2;
        }
        if (one.next >= ROWS && one.wait === undefined) one.end ??= one.writer.close().catch((error: WriterError) => error);
      }
      for (let left = below(6); left > 0; left--) {
        engine.answer(below(Math.max(1, Math.min(3, engine.open))), true);
        await turn();
      }
      if (below(8) === 0) engine.endLoads();
      if (below(12) === 0) engine = await next();
      await pause(below(2));
    }
    let over = false;
    const ends = Promise.all(writers.map(({ end }) => end!)).finally(() => (over = true));
    for (const until = performance.now() + 20_000; !over; ) {
      assert.ok(performance.now() < until, `seed ${seed}: close() hangs at ${JSON.stringify(writers.map(({ writer }) => writer.progress))}`);
      engine.answer();
      await turn();
    }
    assert.equal(replaced, 0, `seed ${seed}: a healthy engine was thrown away`);
    for (const [part, end] of (await ends).entries()) {
      const failed = new Set(end instanceof WriterError ? end.failures.map(({ index }) => index) : []);
      const missing = Array.from({ length: ROWS / 2 }, (_, i) => i).filter(
        (i) => !failed.has(i) && !disk.written.has(`["t",{"id":{"INTEGER":"${2 * i + part}n"}}]`),
      );
      assert.deepEqual(missing, [], `seed ${seed}: rows that are told as stored`);
      assert.equal(end instanceof WriterError ? end.stored + end.failed : end.rows, ROWS / 2, `seed ${seed}`);
    }
  }
});
