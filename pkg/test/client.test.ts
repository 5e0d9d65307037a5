/** The client and the public interface on an engine of the tests' own: batching, order, failures, closing. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";

import { Client } from "../src/client/client.js";
import { OpenDatabase } from "../src/open/database.js";
import { local, TabStoreError } from "../src/types/errors.js";
import type { HealthEvent } from "../src/types/events.js";
import { FakeEngine } from "./support/engine.js";

function open(auto = true): { db: OpenDatabase; engine: FakeEngine; client: Client } {
  const client = new Client(35, false);
  const engine = new FakeEngine(client.receive, auto);
  client.attach(engine);
  return { db: new OpenDatabase("demo", "memory", client), engine, client };
}

const put = (id: number) => ({ tableName: "t", primaryKey: { id }, attributes: { n: id } });

test("all calls of one microtask leave in one frame, in call order", async () => {
  const { db, engine } = open();
  const results = await Promise.all([db.putRow(put(1)), db.getRow({ tableName: "t", primaryKey: { id: 1 } }), db.putRow(put(2))]);
  assert.equal(engine.frames.length, 1);
  assert.deepEqual(
    engine.frames[0].map(({ op }) => op),
    [1, 4, 1],
  );
  assert.equal((results[1] as Awaited<ReturnType<typeof db.getRow>>).row?.get("n"), 1);
  await db.putRow(put(3));
  assert.equal(engine.frames.length, 2);
});

test("R5: an engine in this thread is entered on a stack of its own: calls of one turn share a frame, in call order", async () => {
  const { db, engine } = open(false);
  engine.direct = true;
  const submit = engine.submit.bind(engine);
  engine.submit = (frame) => {
    submit(frame);
    engine.answer();
  };
  const get = (id: number) => db.getRow({ tableName: "t", primaryKey: { id } });
  const calls = [db.putRow(put(1)), get(1), db.putRow(put(2)), get(2)] as const;
  assert.equal(engine.frames.length, 0);
  const [, first, , second] = await Promise.all(calls);
  assert.deepEqual(
    engine.frames.map((frame) => frame.map(({ op }) => op)),
    [[1, 4, 1, 4]],
  );
  assert.deepEqual([first.row?.get("n"), second.row?.get("n")], [1, 2]);
});

test("a call with wrong arguments rejects, and leaves nothing in the frame of its neighbours", async () => {
  const { db, engine } = open();
  const results = await Promise.allSettled([
    db.putRow(put(1)),
    db.putRow({ tableName: "t", primaryKey: { id: 2 }, attributes: { ok: 1, bad: undefined as never } }),
    db.putRow(put(3)),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.match(String((results[1] as PromiseRejectedResult).reason), /TabStoreError: .*'bad'/);
  assert.deepEqual(
    engine.frames[0].map(({ rows }) => rows[0].key),
    [{ id: { INTEGER: 1n } }, { id: { INTEGER: 3n } }],
  );
});

test("a call without any argument rejects and does not throw", async () => {
  const { db } = open();
  for (const call of [
    () => db.putRow(undefined as never),
    () => db.getRow(undefined as never),
    () => db.createTable(undefined as never),
    () => db.describeTable(undefined as never),
    () => db.batchGetRow(undefined as never),
    () => db.importRows(undefined as never, []),
    () => db.setClock("now" as never),
  ]) {
    await assert.rejects(call, (error) => error instanceof TabStoreError && /argument/.test(error.message));
  }
});

test("errors of the engine reject their call alone, with a request id", async () => {
  const { db, engine } = open();
  engine.refuse = ({ key }) => ("INTEGER" in key.id && key.id.INTEGER === 2n ? "no twos" : undefined);
  const [first, second] = await Promise.allSettled([db.putRow(put(1)), db.putRow(put(2))]);
  assert.equal(first.status, "fulfilled");
  assert.equal(second.status, "rejected");
  const error = (second as PromiseRejectedResult).reason as TabStoreError;
  assert.deepEqual([error.code, error.status, error.retryable, error.message, error.requestId], ["OTSParameterInvalid", 400, false, "no twos", "z-2"]);
  assert.ok(error instanceof Error);
});

test("administration waits for the calls made before it", async () => {
  const { db, engine } = open();
  await Promise.all([db.putRow(put(1)), db.flush(), db.putRow(put(2))]);
  assert.deepEqual(engine.order, ['1:{"id":{"INTEGER":"1n"}}', "flush", '1:{"id":{"INTEGER":"2n"}}']);
});

test("undefined options and the signal do not travel", async () => {
  const { db, engine } = open();
  await db.createTable({
    tableName: "t",
    primaryKey: [{ name: "id", type: "INTEGER" }],
    maxVersions: undefined,
    timeToLive: -1,
    signal: new AbortController().signal,
  });
  assert.deepEqual(engine.calls, [["createTable", { tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], timeToLive: -1 }]]);
  await assert.rejects(db.createTable({ tableName: "t", primaryKey: [], maxVersion: 3 } as never), /Unknown argument 'maxVersion' in 'createTable'/);
});

test("a signal gives a call up at once; the answer that still comes is dropped", async () => {
  const { db, engine } = open(false);
  const control = new AbortController();
  const call = db.putRow({ ...put(1), signal: control.signal });
  const other = db.putRow(put(2));
  await Promise.resolve();
  control.abort(new Error("enough"));
  await assert.rejects(call, /enough/);
  engine.answer();
  await other;
  const late = db.getRow({ tableName: "t", primaryKey: { id: 1 }, signal: control.signal });
  await assert.rejects(late, /enough/);
  assert.equal(engine.frames.length, 1);
  await assert.rejects(db.metrics({ signal: control.signal }), /enough/);
});

test("close waits for what is on its way, and refuses what comes later", async () => {
  const { db, engine } = open(false);
  const write = db.putRow(put(1));
  const closing = db.close();
  await assert.rejects(db.putRow(put(2)), (error) => (error as TabStoreError).code === "Closed");
  await assert.rejects(db.metrics(), (error) => (error as TabStoreError).code === "Closed");
  assert.throws(
    () => db.writer("t").put({ primaryKey: { id: 1 } }),
    (error) => (error as TabStoreError).code === "Closed",
  );
  assert.equal(engine.closed, false);
  engine.answer();
  await write;
  await closing;
  assert.equal(engine.closed, true);
  assert.equal(db.closed, true);
  await db.close();
});

test("close sends what a writer holds", async () => {
  const { db, engine } = open();
  db.writer("t").put({ primaryKey: { id: 1 } });
  await db.close();
  assert.equal(engine.store.size, 1);
});

test("an engine that dies rejects everything that waits and tells the health listeners once", async () => {
  const { db, client } = open(false);
  const events: HealthEvent[] = [];
  db.addEventListener("health", (event) => events.push(event));
  const removed = (): void => assert.fail("this listener was removed");
  db.addEventListener("health", removed);
  db.removeEventListener("health", removed);
  const write = db.putRow(put(1));
  await Promise.resolve();
  client.fail(local("OTSInternalServerError", "out of memory"));
  client.fail(local("OTSInternalServerError", "again"));
  await assert.rejects(write, /out of memory/);
  await assert.rejects(db.getRow({ tableName: "t", primaryKey: { id: 1 } }), /out of memory/);
  assert.deepEqual(
    events.map(({ type, healthy, error }) => [type, healthy, error?.message]),
    [["health", false, "out of memory"]],
  );
  await db.close();
});

test("troubles that end nothing, and their end, are told to the health listeners, the first of them those before too", async () => {
  const { db, client } = open(false);
  const heard: string[] = [];
  const jumped = (message: string): TabStoreError => new TabStoreError({ code: "ClockJumped", status: 503, retryable: true, message });
  client.troubles.add(jumped("before"));
  db.addEventListener("health", ({ healthy, error }) => heard.push(`${healthy} ${error?.message}`));
  assert.equal(heard.length, 0, "not in the middle of the call");
  await Promise.resolve();
  db.addEventListener("health", ({ error }) => heard.push(error?.code ?? "none"));
  await Promise.resolve();
  client.troubles.add(jumped("now"));
  client.troubles.add(null);
  assert.deepEqual([heard, db.closed], [["true before", "true now", "ClockJumped", "true undefined", "none"], false]);
});

test("T1: describeTable tells why an index is not built, as an error that callers know", async () => {
  const { db, engine } = open();
  const failure = { code: "QuotaExceeded", status: 507, retryable: false, message: "the origin's storage is full" };
  engine.admin = () => ({
    tableName: "t",
    partitions: [],
    indexes: [
      { indexName: "x", phase: "FULL", failure },
      { indexName: "y", phase: "INCR", failure: null },
    ],
  });
  const [x, y] = (await db.describeTable("t")).indexes;
  assert.ok(x.failure instanceof TabStoreError && x.failure.code === "QuotaExceeded" && x.failure.message === failure.message);
  assert.equal(y.failure, null);
});

test("an engine that has been fenced off is not asked again", async () => {
  const { db, engine } = open();
  engine.admin = () => {
    throw { code: "LeaderChanged", status: 503, retryable: false, message: "Another tab writes now." };
  };
  let healthy = true;
  db.addEventListener("health", (event) => (healthy = event.healthy), { once: true });
  await assert.rejects(db.flush(), (error) => error instanceof TabStoreError && error.code === "LeaderChanged");
  await assert.rejects(db.putRow(put(1)), (error) => (error as TabStoreError).code === "LeaderChanged");
  assert.equal(healthy, false);
  assert.equal(engine.frames.length, 0);
});

test("an engine that dies while it is being closed does not keep the caller waiting", async () => {
  const { db, client } = open(false);
  const write = db.putRow(put(1));
  const closing = db.close();
  client.fail(local("OTSInternalServerError", "gone"));
  await assert.rejects(write, /gone/);
  await closing;
});

test("an engine that dies of a frame rejects the call that made it leave, too", async () => {
  const { db, engine } = open();
  engine.submit = () => {
    throw local("OTSInternalServerError", "gone");
  };
  const write = db.putRow(put(1));
  const writer = db.writer("t");
  for (let id = 0; id < 200; id++) writer.put({ primaryKey: { id } });
  await assert.rejects(write, /gone/);
  await assert.rejects(writer.close(), /gone/);
});

test("listeners are removed by themselves, by their signal and after one event, and leave nothing at the signal", async () => {
  const { db, client } = open();
  const heard: string[] = [];
  const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((name) => () => void heard.push(name));
  const control = new AbortController();
  const { signal } = control;
  db.addEventListener("health", a, { once: true });
  db.removeEventListener("health", a);
  db.addEventListener("health", b, { once: true, signal });
  db.addEventListener("health", c);
  db.addEventListener("health", c);
  db.addEventListener("health", d, { signal });
  db.removeEventListener("health", d);
  db.addEventListener("health", d);
  const other = new AbortController();
  db.addEventListener("health", e, { signal: other.signal });
  other.abort();
  assert.equal(getEventListeners(signal, "abort").length, 1);
  client.fail(local("OTSInternalServerError", "gone"));
  assert.deepEqual([heard, getEventListeners(signal, "abort").length], [["b", "c", "d"], 0]);
});

test("options of batches that nobody reads are refused", async () => {
  const { db, engine } = open();
  const unknown = (error: unknown): boolean => error instanceof TabStoreError && /^Unknown argument 'maxVersions' in 'batch/.test(error.message);
  await assert.rejects(db.batchGetRow([{ tableName: "t", primaryKeys: [{ id: 1 }] }], { maxVersions: 5 } as never), unknown);
  await assert.rejects(db.batchWriteRow([{ tableName: "t", put: { primaryKey: { id: 1 } } }], { maxVersions: 5 } as never), unknown);
  const tx = await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } });
  await assert.rejects(tx.batchWriteRow([{ tableName: "t", put: { primaryKey: { id: 1 } } }], { maxVersions: 5 } as never), unknown);
  assert.equal(engine.frames.length, 1);
});

test("computeConsumed needs no arguments", async () => {
  const { db, engine } = open();
  await db.computeConsumed();
  assert.deepEqual(engine.calls, [["computeConsumed", {}]]);
});

test("importing the package touches no global", async () => {
  const before = Reflect.ownKeys(globalThis);
  await import("../src/index.js");
  assert.deepEqual(Reflect.ownKeys(globalThis), before);
});

test("R4: a getter that closes the database takes nothing from other calls, and its own is refused", async () => {
  for (const auto of [true, false]) {
    const { db, engine } = open(auto);
    const before = [put(1), put(2)].map((one) => db.putRow(one));
    let closing: Promise<void> | undefined;
    const own = db.putRow({
      tableName: "t",
      get primaryKey() {
        closing = db.close();
        return { id: 3 };
      },
      attributes: { n: 3 },
    });
    const refused = assert.rejects(own, (error) => (error as TabStoreError).code === "Closed");
    await Promise.resolve();
    if (!auto) engine.answer();
    await Promise.all([...before, refused]);
    await closing;
    assert.deepEqual([engine.store.size, engine.closed], [2, true]);
  }
});
