/** The writer: batches, back-pressure, order, and errors about rows that were not stored. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";

import { Client } from "../src/client/client.js";
import { OpenDatabase } from "../src/open/database.js";
import { local, TabStoreError } from "../src/types/errors.js";
import { WriterError } from "../src/types/writer-error.js";
import { AUTO_INCREMENT } from "../src/types/values.js";
import { FakeEngine } from "./support/engine.js";

function open(auto = true): { db: OpenDatabase; engine: FakeEngine; client: Client } {
  const client = new Client(1, false);
  const engine = new FakeEngine(client.receive, auto);
  client.attach(engine);
  return { db: new OpenDatabase("demo", "memory", client), engine, client };
}

const row = (id: number) => ({ primaryKey: { id }, attributes: { n: id } });
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

test("rows leave in batches of at most 200, and close resolves when all are stored", async () => {
  const { db, engine } = open();
  const seen: number[] = [];
  const writer = db.writer("t", { onProgress: ({ rows }) => seen.push(rows) });
  for (let i = 0; i < 1050; i++) {
    const wait = writer.put(row(i));
    if (wait) await wait;
  }
  const result = await writer.close();
  assert.equal(result.rows, 1050);
  assert.deepEqual(result.consumed, { read: 0, write: 1050 });
  assert.equal(engine.store.size, 1050);
  assert.deepEqual(
    engine.frames.map(([{ rows }]) => rows.length),
    [200, 200, 200, 200, 200, 50],
  );
  assert.equal(seen.at(-1), 1050);
});

test("rows that come one by one share a batch while another is on its way", async () => {
  const { db, engine } = open(false);
  const writer = db.writer("t");
  for (let i = 0; i < 50; i++) {
    writer.put(row(i));
    await Promise.resolve();
    await Promise.resolve();
  }
  assert.deepEqual(
    engine.frames.map(([{ rows }]) => rows.length),
    [1],
  );
  engine.answer();
  await Promise.resolve();
  await tick();
  assert.deepEqual(
    engine.frames.map(([{ rows }]) => rows.length),
    [1, 49],
  );
  engine.answer();
  await writer.close();
});

test("what is in flight is bounded in rows, and the promise resolves when half of it has landed", async () => {
  const { db, engine } = open(false);
  const writer = db.writer("t", { maxRowsInFlight: 1000 });
  let wait: undefined | Promise<void>;
  let put = 0;
  while (wait === undefined) wait = writer.put(row(put++));
  assert.equal(put, 1000);
  let woken = false;
  void wait.then(() => (woken = true));
  engine.answer();
  engine.answer();
  await tick();
  assert.equal(woken, false);
  engine.answer();
  await tick();
  assert.equal(woken, true);
  assert.equal(writer.progress.pending, 400);
  engine.answer();
  engine.answer();
  assert.equal((await writer.close()).rows, 1000);
});

test("what is in flight is bounded in bytes", async () => {
  const { db } = open();
  const writer = db.writer("t", { maxBytesInFlight: 100_000 });
  let most = 0;
  for (let i = 0; i < 500; i++) {
    const wait = writer.put({ primaryKey: { id: i }, attributes: { text: "x".repeat(3000) } });
    most = Math.max(most, writer.progress.pending * 3000);
    if (wait) await wait;
  }
  await writer.close();
  assert.ok(most <= 110_000, `${most} bytes in flight`);
});

test("R2: a batch stays under 4 MB as the service counts, however the sizes come", async () => {
  const { db, engine } = open();
  const sizes = [900_000, 1_900_000, 1_900_000, 10, 3_900_000, 10];
  // A writer puts its first rows in batches.
  for (const from of sizes.keys()) {
    const writer = db.writer("t");
    for (const [id, size] of sizes.slice(from).entries()) await writer.put({ primaryKey: { id }, attributes: { text: "x".repeat(size) } });
    await writer.close();
  }
  const writer = db.writer("t");
  // Long names of small values: the service counts them with every row, the encoding does not.
  const name = "n".repeat(255);
  const attributes = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`${name.slice(4)}_${i}`, 1]));
  for (let id = 100; id < 140; id++) await writer.put({ primaryKey: { id }, attributes });
  await writer.close();
  for (const [{ rows }] of engine.frames) {
    let counted = 0;
    for (const { cells } of rows) for (const [column, , value] of cells) counted += column.length + ("STRING" in value ? value.STRING.length : 8);
    assert.ok(counted <= 4 << 20, `${counted} bytes in a batch`);
  }
  assert.equal(engine.store.size, sizes.length + 40);
});

test("operations of one caller keep their order, through the writer and beside it", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  void db.putRow({ tableName: "t", ...row(1) });
  writer.put(row(2));
  void db.putRow({ tableName: "t", ...row(3) });
  writer.put(row(4));
  const flushed = db.flush();
  writer.put(row(5));
  await writer.close();
  await flushed;
  const numbers = engine.order.map((one) => /"(\d+)n"/.exec(one)?.[1] ?? one);
  assert.deepEqual(numbers, ["1", "2", "3", "4", "flush", "5"]);
});

test("a wrong row throws at once, takes nothing, and the writer goes on", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  writer.put(row(1));
  assert.throws(
    () => writer.put({ primaryKey: { id: 2 }, attributes: { bad: NaN } }),
    (error) => error instanceof TabStoreError && /'bad'/.test(error.message),
  );
  assert.throws(() => writer.put({ primaryKey: { id: 2 }, attribute: {} } as never), /Unknown argument 'attribute'/);
  writer.put(row(3));
  assert.equal((await writer.close()).rows, 2);
  assert.equal(engine.store.size, 2);
});

test("a wrong first row throws, and the next batch is whole", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  assert.throws(() => writer.put({ primaryKey: { id: NaN } }));
  writer.put(row(1));
  await writer.close();
  assert.equal(engine.store.size, 1);
});

test("close rejects with what was not stored", async () => {
  const { db, engine } = open();
  engine.refuse = ({ key }) => ("INTEGER" in key.id && Number(key.id.INTEGER) % 100 === 50 ? "no fifties" : undefined);
  const writer = db.writer("t");
  for (let i = 0; i < 450; i++) writer.put(row(i));
  await assert.rejects(writer.close(), (error) => {
    assert.ok(error instanceof WriterError);
    assert.equal(error.code, "OTSParameterInvalid");
    assert.match(error.message, /^4 of 450 rows for table 't' were not stored\. The first: no fifties$/);
    assert.deepEqual([error.stored, error.failed, error.failures.map(({ index }) => index)], [446, 4, [50, 150, 250, 350]]);
    return true;
  });
  assert.throws(() => writer.put(row(1)), /The writer of table 't' is closed/);
});

test("an engine that dies wakes who waits, and close says what was lost", async () => {
  const { db, client } = open(false);
  const writer = db.writer("t", { maxRowsInFlight: 400 });
  let wait: undefined | Promise<void>;
  for (let i = 0; wait === undefined; i++) wait = writer.put(row(i));
  client.fail(local("OTSInternalServerError", "gone"));
  await wait;
  assert.throws(() => writer.put(row(1)), /gone/);
  await assert.rejects(writer.close(), (error) => error instanceof WriterError && error.failed === 400 && error.stored === 0);
});

test("an onProgress that throws fails the writer with its error, and leaves nobody waiting", async () => {
  const { db, engine } = open(false);
  const gone = new Error("the bar is gone");
  const writer = db.writer("t", {
    maxRowsInFlight: 400,
    onProgress: () => {
      throw gone;
    },
  });
  let wait: undefined | Promise<void>;
  for (let i = 0; wait === undefined; i++) wait = writer.put(row(i));
  const closed = assert.rejects(writer.close(), (error) => error === gone);
  engine.answer();
  engine.answer();
  await wait;
  await closed;
  assert.throws(
    () => writer.put(row(1)),
    (error) => error === gone,
  );
  assert.deepEqual(writer.progress, { ...writer.progress, rows: 400, failed: 0, pending: 0 });
});

test("a signal stops the writer: what was sent is stored, the rest is dropped", async () => {
  const { db, engine } = open();
  const control = new AbortController();
  const writer = db.writer("t", { signal: control.signal });
  for (let i = 0; i < 250; i++) writer.put(row(i));
  control.abort(new Error("enough"));
  assert.throws(() => writer.put(row(1)), /enough/);
  await assert.rejects(writer.close(), /enough/);
  assert.equal(engine.store.size, 200);
  assert.deepEqual(writer.progress.rows, 200);
});

test("a signal that outlives its writers does not keep them", async () => {
  const { db } = open();
  const { signal } = new AbortController();
  for (let i = 0; i < 3; i++) {
    const writer = db.writer("t", { signal });
    writer.put(row(i));
    assert.equal(getEventListeners(signal, "abort").length, 1);
    await writer.close();
  }
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

test("no row stands twice in a batch, which a table with indexes would refuse; the last put stays", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  for (const id of [1, 2, 1n, "1", Uint8Array.of(1), 3, "1", Uint8Array.of(1), AUTO_INCREMENT, AUTO_INCREMENT, 4]) writer.put({ primaryKey: { id } });
  await writer.close();
  assert.deepEqual(
    engine.frames.flat().map(({ rows }) => rows.length),
    [2, 4, 5],
  );
});

test("an empty writer closes, and flush waits for what was put", async () => {
  const { db, engine } = open();
  const writer = db.writer("t");
  await writer.flush();
  writer.put(row(1));
  await writer.flush();
  assert.equal(engine.store.size, 1);
  assert.deepEqual(await writer.close(), { rows: 1, bytes: writer.progress.bytes, consumed: { read: 0, write: 1 } });
});

test("R4: a signal that aborts while a row is read ends the writer alone, and that row is not taken", async () => {
  for (const before of [0, 1, 199, 500]) {
    const { db, engine, client } = open();
    const control = new AbortController();
    const writer = db.writer("t", { signal: control.signal });
    for (let id = 0; id < before; id++) writer.put(row(id));
    const torn = {
      primaryKey: { id: 9000 },
      attributes: {
        get n() {
          control.abort(new Error("enough"));
          return 1;
        },
      },
    };
    assert.throws(() => writer.put(torn), /enough/);
    await db.putRow({ tableName: "t", primaryKey: { id: 9001 } });
    await assert.rejects(writer.close(), /enough/);
    assert.equal(client.closedBy, undefined);
    assert.ok([...engine.store.keys()].every((key) => !key.includes("9000")));
    assert.equal(writer.progress.rows + writer.progress.failed, before);
    await db.close();
  }
});
