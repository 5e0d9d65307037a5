/** Ranges end at once: when their signal aborts, when the database closes. On the built package. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Database, Row } from "../src/index.js";
import { code, open, skip } from "./support/package.js";

const ROWS = 60_000;

async function filled(): Promise<Database> {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const writer = db.writer("t");
  for (let id = 0; id < ROWS; id++) {
    const wait = writer.put({ primaryKey: { id }, attributes: { text: `é${id}` } });
    if (wait) await wait;
  }
  await writer.close();
  return db;
}

test("R3: a scan delivers nothing more once its signal has aborted, in the middle of a page too", { skip }, async () => {
  const db = await filled();
  for (const after of [1, 2, 127, 128, 4999, 5000, 5001, 12_345]) {
    const control = new AbortController();
    let seen = 0;
    await assert.rejects(async () => {
      for await (const _row of db.scan({ tableName: "t", signal: control.signal })) if (++seen === after) control.abort(new Error("enough"));
    }, /enough/);
    assert.equal(seen, after);
  }
  for (const after of [1, 2, 7]) {
    const control = new AbortController();
    let seen = 0;
    await assert.rejects(async () => {
      for await (const _rows of db.scanPages({ tableName: "t", signal: control.signal })) if (++seen === after) control.abort(new Error("enough"));
    }, /enough/);
    assert.equal(seen, after);
  }
  await db.close();
});

test("R3: timers have their turn while a range is scanned, so that they can abort it", { skip, timeout: 60_000 }, async () => {
  const db = await filled();
  for (const way of ["scan", "scanPages"] as const) {
    const control = new AbortController();
    let rounds = 0;
    const timer = setTimeout(() => control.abort(new Error("too long")), 30);
    await assert.rejects(async () => {
      // Without an end of its own.
      for (; ; rounds++) for await (const _one of db[way]({ tableName: "t", signal: control.signal })) if (rounds > 500) assert.fail("no timer has run");
    }, /too long/);
    clearTimeout(timer);
  }
  await db.close();
});

test("R3: timers have their turn in the middle of a page whose rows take long", { skip }, async () => {
  const db = await filled();
  const control = new AbortController();
  setTimeout(() => control.abort(new Error("too long")), 1);
  let seen = 0;
  await assert.rejects(async () => {
    for await (const _row of db.scan({ tableName: "t", signal: control.signal })) {
      seen += 1;
      for (const end = performance.now() + 0.2; performance.now() < end; );
    }
  }, /too long/);
  // Together the rows of the page take a second.
  assert.ok(seen < 2500, `${seen} rows before the timer`);
  await db.close();
});

test("R3: a scan ends when the database closes, and so does a range that is being read", { skip }, async () => {
  for (const after of [1, 5000, 7000]) {
    const db = await filled();
    let seen = 0;
    let closing: Promise<void> | undefined;
    await assert.rejects(async () => {
      for await (const _row of db.scan({ tableName: "t" })) if (++seen === after) closing = db.close();
    }, code("Closed"));
    assert.equal(seen, after);
    await closing;
  }
  const db = await filled();
  const range = db.getRange({ tableName: "t" });
  const page = db.scanPages({ tableName: "t" }).next();
  const get = db.getRow({ tableName: "t", primaryKey: { id: 5 } });
  const put = db.putRow({ tableName: "t", primaryKey: { id: -1 } });
  const closed = db.close();
  await Promise.all([assert.rejects(range, code("Closed")), assert.rejects(page, code("Closed"))]);
  assert.equal((await get).row?.get("text"), "é5");
  assert.deepEqual((await put).consumed, { read: 0, write: 1 });
  await closed;
});

test("R3: a range in a transaction ends when the database closes", { skip }, async () => {
  const db = await filled();
  const tx = await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } });
  const scan = tx.scan({ tableName: "t", start: { id: 1 }, end: { id: 2 } });
  const first = scan.next();
  await db.close();
  await assert.rejects(first, code("Closed"));
});

test("R3: a range that is being read ends at once when its signal aborts", { skip }, async () => {
  const db = await filled();
  const control = new AbortController();
  const range = db.getRange({ tableName: "t" });
  const tx = await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } });
  const inside = tx.getRange({ tableName: "t", start: { id: 1 }, end: { id: 2 }, signal: control.signal });
  const reading = db.getRange({ tableName: "t", signal: control.signal });
  control.abort(new Error("enough"));
  await Promise.all([inside, reading].map((one) => assert.rejects(one, /enough/)));
  assert.equal((await range).rows.length, 5000);
  await assert.rejects(db.getRange({ tableName: "t", signal: control.signal }), /enough/);
  await db.close();
});

test("R4: a writer that is closed after its database tells which rows were refused, too", { skip }, async () => {
  for (const rows of [10, 3000, 15_000]) {
    const db = await open();
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], definedColumns: [{ name: "n", type: "INTEGER" }] });
    const writer = db.writer("t");
    for (let id = 0; id < rows; id++) {
      const wait = writer.put({ primaryKey: { id }, attributes: { n: id % 5 === 0 ? "no integer" : id } });
      if (wait) await wait;
    }
    await db.close();
    await assert.rejects(writer.close(), (error) => {
      const { stored, failed, failures } = error as { stored: number; failed: number; failures: { index: number }[] };
      assert.deepEqual([stored, failed], [rows - rows / 5, rows / 5]);
      assert.ok(failures.every(({ index }) => index % 5 === 0));
      return true;
    });
  }
});

test("R4: a writer that is closed after its database tells what was stored", { skip }, async () => {
  for (const rows of [0, 1, 150, 3000, 15_000]) {
    const db = await open();
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    const writer = db.writer("t");
    for (let id = 0; id < rows; id++) {
      const wait = writer.put({ primaryKey: { id }, attributes: { text: "é" } });
      if (wait) await wait;
    }
    await db.close();
    const result = await writer.close();
    assert.deepEqual([result.rows, writer.progress.rows, writer.progress.failed], [rows, rows, 0]);
    assert.throws(() => writer.put({ primaryKey: { id: -1 } }), code("Closed"));
  }
});

/** What became of calls of an iterator: the keys of rows, "end" or the text of an error. */
const became = async (calls: readonly Promise<IteratorResult<Row, unknown>>[]): Promise<unknown[]> =>
  (await Promise.allSettled(calls)).map((one) =>
    one.status === "rejected" ? (one.reason as Error).message : one.value.done === true ? "end" : one.value.value.primaryKey["id"],
  );

test("R3: calls of a scan that are made at once get the rows in their order, and the others its end", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  for (let id = 0; id < 300; id++) await db.putRow({ tableName: "t", primaryKey: { id } });
  const ids = Array.from({ length: 300 }, (_, id) => id);
  for (const pageRows of [1, 7, 300, undefined]) {
    const rows = db.scan({ tableName: "t", pageRows });
    assert.deepEqual(await became(Array.from({ length: 303 }, () => rows.next())), [...ids, "end", "end", "end"]);
    // Some are awaited, some are not.
    const mixed = db.scan({ tableName: "t", pageRows });
    const seen: unknown[] = [];
    for (let count = 0; seen.at(-1) !== "end"; count++) seen.push(...(await became(Array.from({ length: (count % 4) + 1 }, () => mixed.next()))));
    assert.deepEqual(
      seen.filter((one) => one !== "end"),
      ids,
    );
  }
  // The page is there, so none of them waits.
  const rows = db.scan({ tableName: "t" });
  assert.deepEqual(await became([rows.next()]), [0]);
  const calls = Array.from({ length: 302 }, () => rows.next());
  assert.deepEqual(await became(calls), [...ids.slice(1), "end", "end", "end"]);
  const results = await Promise.all(calls.slice(0, 299));
  assert.equal(new Set([...calls, ...results]).size, 302 + 299, "each call has a promise and a result of its own");
  await db.close();
});

test("R3: a scan that is left or that fails ends behind the calls before, and gives nothing more", { skip }, async () => {
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  for (let id = 0; id < 20; id++) await db.putRow({ tableName: "t", primaryKey: { id } });
  for (const first of [[], [0], [0, 1, 2]]) {
    const left = db.scan({ tableName: "t", pageRows: 2 });
    assert.deepEqual(await became([...first.map(() => left.next()), left.return!(), left.next(), left.next()]), [...first, "end", "end", "end"]);
    const thrown = db.scan({ tableName: "t", pageRows: 2 });
    assert.deepEqual(await became([...first.map(() => thrown.next()), thrown.throw!(new Error("no")), thrown.next()]), [...first, "no", "end"]);
    const control = new AbortController();
    const aborted = db.scan({ tableName: "t", pageRows: 2, signal: control.signal });
    assert.deepEqual(await became(first.map(() => aborted.next())), first);
    control.abort(new Error("enough"));
    assert.deepEqual(await became([aborted.next(), aborted.next()]), ["enough", "end"]);
  }
  // In the middle of a page that is there, with rows that were asked for and not awaited.
  const refuse = (one: AsyncIterableIterator<Row>): Promise<IteratorResult<Row, unknown>> => one.throw!(new Error("no"));
  for (const [end, text] of [
    [(one) => one.return!(), "end"],
    [refuse, "no"],
  ] as [typeof refuse, string][]) {
    const rows = db.scan({ tableName: "t" });
    assert.deepEqual(await became([rows.next()]), [0]);
    assert.deepEqual(await became([rows.next(), rows.next(), end(rows), rows.next(), end(rows), rows.next()]), [1, 2, text, "end", text, "end"]);
  }
  for (const error of [undefined, new Error("no")]) {
    const rows = db.scan({ tableName: "t" });
    const loop = async (): Promise<void> => {
      for await (const { primaryKey } of rows)
        if (primaryKey["id"] === 5)
          if (error === undefined) break;
          else throw error;
    };
    if (error === undefined) await loop();
    else await assert.rejects(loop, error);
    assert.deepEqual(await became([rows.next()]), ["end"]);
  }
  const wrong = db.scan({ tableName: "t", pageRows: 0 });
  assert.match(String(await became([wrong.next(), wrong.next()])), /pageRows.*,end$/);
  await db.close();
});
