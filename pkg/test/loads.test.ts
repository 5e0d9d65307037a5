/** Loads: rows by the thousand, stored when there are enough of them, or when somebody needs them to be. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/client/client.js";
import { OpenDatabase } from "../src/open/database.js";
import { WriterError } from "../src/types/writer-error.js";
import { BackOff } from "../src/client/retry.js";
import type { RowWriter } from "../src/types/writer.js";
import { FakeEngine } from "./support/engine.js";

function open(auto = true, backOff?: BackOff): { db: OpenDatabase; engine: FakeEngine; client: Client } {
  const client = new Client(1, false, backOff);
  const engine = new FakeEngine(client.receive, auto);
  engine.loads = true;
  client.attach(engine);
  return { db: new OpenDatabase("demo", "memory", client), engine, client };
}

const row = (id: number) => ({ primaryKey: { id }, attributes: { n: id } });
const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function fill(writer: RowWriter, from: number, to: number): Promise<void> {
  for (let i = from; i < to; i++) {
    const full = writer.put(row(i));
    if (full) await full;
  }
}

/** The sent messages: rows put, and `s` for a request to store them. */
function sent(engine: FakeEngine): (number | string)[] {
  return engine.frames.flat().map(({ op, rows }) => (op === 13 ? "s" : rows.length));
}

test("after some batches rows leave by the thousand, and are asked for as they gather", async () => {
  const { db, engine } = open();
  const seen: number[] = [];
  const writer = db.writer("t", { onProgress: ({ rows }) => seen.push(rows) });
  await fill(writer, 0, 100_000);
  const result = await writer.close();
  assert.deepEqual([result.rows, result.consumed], [100_000, { read: 0, write: 100_000 }]);
  assert.equal(engine.store.size, 100_000);
  const all = sent(engine);
  assert.deepEqual(all.slice(0, 12), [...Array<number>(10).fill(200), 4096, 4096]);
  assert.equal(all.at(-1), "s");
  // 64 bytes a row: the first megabyte is asked for, then two, then four.
  assert.ok(all.filter((one) => one === "s").length <= 5, all.join());
  assert.ok(seen.length > 10 && seen.every((rows, i) => i === 0 || rows >= seen[i - 1]) && seen.at(-1) === 100_000);
});

test("rows that were taken do not count as stored, nor against what is in flight", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  await fill(writer, 0, 12_000);
  await wait(20);
  assert.equal(writer.progress.rows, 2000);
  assert.equal(writer.progress.pending, 10_000);
  assert.equal(engine.store.size, 2000);
  await writer.flush();
  assert.deepEqual([writer.progress.rows, engine.store.size], [12_000, 12_000]);
  await writer.close();
});

test("another call has what was put before it stored first", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  await fill(writer, 0, 5000);
  void db.putRow({ tableName: "t", ...row(3) });
  await wait(20);
  assert.deepEqual(
    engine.frames
      .flat()
      .slice(-3)
      .map(({ op }) => op),
    [12, 13, 1],
  );
  assert.equal(writer.progress.rows, 5000);
  // Such rows come in small loads: they are no gain for a while.
  await fill(writer, 5000, 6000);
  await writer.close();
  assert.equal(
    engine.frames
      .flat()
      .slice(-5)
      .every(({ op }) => op === 7),
    true,
  );
});

test("a call soon after a large load does not make small loads of what follows", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  await fill(writer, 0, 25_000);
  await wait(20);
  const before = sent(engine);
  assert.deepEqual(before.slice(before.indexOf("s")), ["s"]);
  // The rows since the last large load are few.
  await fill(writer, 25_000, 25_500);
  void db.putRow({ tableName: "t", ...row(3) });
  await fill(writer, 25_500, 30_000);
  await writer.close();
  const after = engine.frames.flat().slice(before.length);
  assert.deepEqual(
    after.map(({ op }) => op),
    [12, 13, 1, 12, 12, 13],
  );
  assert.equal(engine.store.size, 30_000);
});

test("a load that others had stored is counted at once, and the next rows are another one", async () => {
  const { db, engine } = open(false);
  const writer = db.writer("t");
  // Without a timer: every step follows from an answer.
  const answered = async (): Promise<void> => {
    for (let i = 0; i < 400; i++) {
      if (i % 20 === 0) engine.answer();
      await Promise.resolve();
    }
  };
  await fill(writer, 0, 12_000);
  await answered();
  engine.endLoads();
  assert.equal(writer.progress.rows, 2000);
  await fill(writer, 12_000, 14_000);
  await answered();
  assert.equal(writer.progress.rows, 14_000);
  // There were many rows in it, so there is no reason to stop.
  await fill(writer, 14_000, 20_000);
  void writer.flush();
  await answered();
  assert.equal((await writer.close()).rows, 20_000);
  assert.deepEqual(sent(engine).slice(10), [4096, 4096, 1808, 2000, "s", 4096, 1904, "s"]);
  assert.deepEqual([engine.store.size, engine.frames.flat().filter(({ op }) => op === 7).length], [20_000, 10]);
});

test("rows that were taken do not wait for those that follow when these are written", async () => {
  const { db, engine } = open();
  const writer = db.writer("t", { maxRowsInFlight: 4096 });
  await fill(writer, 0, 8000);
  engine.loads = false;
  const until = performance.now() + 30_000;
  for (let i = 8000; performance.now() < until && !sent(engine).includes("s"); i += 1000) await fill(writer, i, i + 1000);
  assert.ok(performance.now() < until);
  await writer.close();
});

test("few large rows are loaded as many small ones are", async () => {
  const { db, engine } = open();
  const writer = db.writer("t", { maxBytesInFlight: 1 << 20 });
  engine.rowBytes = 5000;
  const text = "x".repeat(5000);
  const large = (id: number) => writer.put({ primaryKey: { id }, attributes: { text } });
  for (let i = 0; i < 1500; i++) await large(i);
  await writer.flush();
  const all = engine.frames.flat().map(({ op }) => op);
  const first = all.indexOf(12);
  assert.ok(
    engine.frames
      .flat()
      .slice(0, first)
      .reduce((sum, { rows }) => sum + rows.length, 0) < 250,
  );
  assert.ok(all.slice(first).every((op) => op === 12 || op === 13));
  // The first megabyte is asked for, then two, then the rest: large enough, all of them.
  assert.equal(all.filter((op) => op === 13).length, 3);
  // One that is small is not.
  for (let i = 1500; i < 1550; i++) await large(i);
  await writer.flush();
  assert.equal(engine.frames.flat().at(-1)!.op, 13);
  for (let i = 1550; i < 1900; i++) await large(i);
  await writer.flush();
  assert.equal(engine.frames.flat().at(-1)!.op, 7);
  for (let i = 1900; i < 2500; i++) await large(i);
  await writer.close();
  assert.deepEqual([engine.frames.flat().at(-1)!.op, engine.store.size], [13, 2500]);
});

test("when no more rows come, those that were taken are stored", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  await fill(writer, 0, 5000);
  await wait(600);
  assert.deepEqual([engine.store.size, writer.progress.rows], [5000, 5000]);
  await writer.close();
});

test("a row that is refused fails alone, and what could not be stored is named", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  engine.refuse = ({ key }, { op }) => {
    if (op === 13) return ["OTSQuotaExhausted", "full"];
    return "INTEGER" in key.id && key.id.INTEGER === 3000n ? "not this one" : undefined;
  };
  await fill(writer, 0, 4000);
  await assert.rejects(writer.close(), (error) => {
    assert.ok(error instanceof WriterError);
    assert.deepEqual([error.stored, error.failed], [2000, 2000]);
    const at = (index: number) => error.failures.find((failure) => failure.index === index)?.error.message;
    assert.deepEqual([at(2000), at(2500), at(3000), at(1999)], ["full", "full", "not this one", undefined]);
    return true;
  });
});

test("rows of a load that could not be stored are never counted, however late the answers come", async () => {
  const { db, engine } = open(false);
  const writer = db.writer("t");
  engine.failStore = () => ["OTSQuotaExhausted", "full"];
  for (let i = 0; i < 2000 + 2 * 4096; i++) void writer.put(row(i));
  void writer.flush();
  await wait(1);
  assert.deepEqual(sent(engine).slice(10), [4096, 4096, "s"]);
  for (let i = 0; i < 10; i++) engine.answer();
  // That it was asked for is answered before its rows are; these are asked for again, each by itself.
  engine.answer(2);
  await wait(1);
  for (const at of [0, 1, 0, 0]) {
    engine.answer(at);
    await wait(1);
  }
  assert.deepEqual(sent(engine).slice(13), ["s", "s"]);
  await assert.rejects(writer.close(), (error) => error instanceof WriterError && error.stored === 2000 && error.failed === 8192 && /full/.test(error.message));
});

test("of two loads the one that failed is told, and the other one counted", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  engine.failStore = (load) => (load === 1 ? ["OTSQuotaExhausted", "full"] : undefined);
  await fill(writer, 0, 12_000);
  await wait(20);
  engine.endLoads();
  await fill(writer, 12_000, 15_000);
  await assert.rejects(writer.close(), (error) => {
    assert.ok(error instanceof WriterError);
    assert.deepEqual([error.stored, error.failed, error.failures[0].index], [5000, 10_000, 2000]);
    return true;
  });
});

test("a load that fails because another has taken over ends the writer and tells the health listeners", async () => {
  const { db, engine, client } = open();
  const writer = db.writer("t");
  const told: string[] = [];
  client.onFailure = ({ code }) => told.push(code);
  engine.failStore = () => ["LeaderChanged", "another leads"];
  await fill(writer, 0, 12_000);
  await writer.flush();
  await wait(5);
  assert.deepEqual(told, ["LeaderChanged"]);
  assert.throws(() => writer.put(row(12_000)), /another leads/);
});

test("rows that come after it was asked for are asked for again", async () => {
  for (const late of [false, true]) {
    const { db, engine } = open(false, BackOff.from({ minDelay: 1, maxDelay: 2 }));
    const writer = db.writer("t");
    let left = 1;
    engine.refuse = ({ key }) =>
      "id" in key && "INTEGER" in key.id && key.id.INTEGER === 3000n && left-- > 0 ? ["OTSRowOperationConflict", "locked"] : undefined;
    for (let i = 0; i < 6096; i++) void writer.put(row(i));
    for (let i = 0; i < 11; i++) engine.answer();
    // The same row once more: its frame waits for the other one, and the question for rows does not.
    writer.put(row(3000));
    void writer.flush();
    await wait(10);
    assert.deepEqual(sent(engine).slice(10), [4096, "s", 1]);
    if (!late) engine.answer();
    await wait(1);
    // The last answer is that of the question, or of the frame.
    engine.answer(late ? 1 : 0);
    await wait(1);
    engine.answer(late ? 1 : 0);
    for (let i = 0; i < 6; i++) {
      await wait(1);
      engine.answer();
    }
    assert.equal((await writer.close()).rows, 6097);
    assert.equal(engine.store.size, 6096);
    assert.equal(sent(engine).filter((one) => one === "s").length, late ? 2 : 3);
  }
});

test("a row that is refused for now is tried again, by itself", async () => {
  const { db, engine } = open(true, BackOff.from({ minDelay: 1, maxDelay: 2 }));
  const writer = db.writer("t");
  let left = 2;
  engine.refuse = ({ key }) =>
    "id" in key && "INTEGER" in key.id && key.id.INTEGER === 3000n && left-- > 0 ? ["OTSRowOperationConflict", "locked"] : undefined;
  await fill(writer, 0, 10_000);
  assert.equal((await writer.close()).rows, 10_000);
  assert.equal(engine.store.size, 10_000);
  assert.equal(engine.frames.flat().filter(({ op }) => op === 1).length, 2);
});

test("what was taken when a signal stops the writer is stored", async () => {
  const { db, engine } = open();
  const control = new AbortController();
  const writer = db.writer("t", { signal: control.signal });
  await fill(writer, 0, 2000 + 4096 + 10);
  control.abort(new Error("enough"));
  await assert.rejects(writer.close(), /enough/);
  assert.deepEqual([engine.store.size, writer.progress.rows, writer.progress.failed], [6096, 6096, 10]);
});

test("an engine that dies takes with it what was taken", async () => {
  const { db, client } = open();
  const writer = db.writer("t");
  await fill(writer, 0, 2000 + 4096);
  await wait(20);
  client.fail(new WriterError({ code: "Closed", status: 0, retryable: false, message: "gone" }, 0, 0, []));
  await assert.rejects(writer.close(), (error) => error instanceof WriterError && error.stored === 2000 && error.failed === 4096);
});
