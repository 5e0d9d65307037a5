/** Transactions on an engine of the tests' own: one call after another, and calls after the end. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "../src/client/client.js";
import { OpenDatabase } from "../src/open/database.js";
import { TabStoreError } from "../src/types/errors.js";
import type { Transaction } from "../src/types/transaction.js";
import { BackOff } from "../src/client/retry.js";
import { FakeEngine } from "./support/engine.js";

async function start(auto = true): Promise<{ db: OpenDatabase; engine: FakeEngine; tx: Transaction }> {
  const client = new Client(35, false, BackOff.from({ attempts: 4, minDelay: 2, maxDelay: 4 }));
  const engine = new FakeEngine(client.receive, auto);
  client.attach(engine);
  const db = new OpenDatabase("demo", "memory", client);
  const starting = db.startLocalTransaction({ tableName: "t", partitionKey: { id: 1 } });
  if (!auto) {
    await Promise.resolve();
    engine.answer();
  }
  return { db, engine, tx: await starting };
}

const put = (at: number) => ({ tableName: "t", primaryKey: { id: 1, at }, attributes: { at } });
const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const gone = (error: unknown): boolean => error instanceof TabStoreError && error.code === "OTSSessionNotExist" && error.status === 404;

test("R7: calls of a transaction leave one after another, in call order, with its id", async () => {
  const { engine, tx } = await start(false);
  assert.deepEqual([tx.id, tx.state, tx.consumed], ["tx-1", "OPEN", { read: 0, write: 1 }]);
  const calls = Promise.all([tx.putRow(put(1)), tx.putRow(put(2)), tx.getRow({ tableName: "t", primaryKey: { id: 1, at: 1 } }), tx.commit()]);
  for (const expected of [2, 3, 4, 5]) {
    await tick();
    assert.equal(engine.frames.length, expected);
    assert.deepEqual(
      engine.frames.at(-1)!.map(({ transaction }) => transaction),
      ["tx-1"],
    );
    engine.answer();
  }
  const [, , { row }, { consumed }] = await calls;
  assert.deepEqual([row?.get("at"), consumed, tx.state], [1, { read: 0, write: 1 }, "COMMITTED"]);
  assert.deepEqual(
    engine.frames.map(([{ op }]) => op),
    [8, 1, 1, 4, 9],
  );
});

test("R7: after commit and after abort every call rejects with OTSSessionNotExist", async () => {
  for (const [end, state] of [
    ["commit", "COMMITTED"],
    ["abort", "ABORTED"],
  ] as const) {
    const { engine, tx } = await start();
    const ending = tx[end]();
    const late = [
      tx.putRow(put(1)),
      tx.updateRow({ ...put(1), attributes: undefined, put: { a: 1 } } as never),
      tx.getRow({ tableName: "t", primaryKey: { id: 1, at: 1 } }),
      tx.commit(),
    ].map((call) => call.catch((error: unknown) => error));
    await ending;
    assert.equal(tx.state, state);
    assert.ok(gone(await late[0]) && gone(await late[2]) && gone(await late[3]));
    assert.ok(((await late[1]) as TabStoreError).code === "OTSParameterInvalid", "arguments are checked first");
    for (const call of [
      tx.deleteRow({ tableName: "t", primaryKey: { id: 1, at: 1 } }),
      tx.getRange({ tableName: "t" }),
      tx.batchWriteRow([]),
      tx.abort(),
      tx.scan({ tableName: "t" }).next(),
      tx.scanPages({ tableName: "t" }).next(),
    ])
      await assert.rejects(call, gone);
    await tx[Symbol.asyncDispose]();
    assert.equal(engine.frames.length, 2);
  }
});

test("R7: a transaction that the store has ended is aborted as soon as a call finds out", async () => {
  const { engine, tx } = await start();
  engine.refuse = () => ["OTSSessionNotExist", "Session not exist or may be timeout."];
  await assert.rejects(tx.putRow(put(1)), (error) => (error as TabStoreError).code === "OTSSessionNotExist");
  assert.equal(tx.state, "ABORTED");
  await assert.rejects(tx.commit(), gone);
});

test("R7: a commit that fails ends the transaction, unless it was in nobody's turn; another call that fails does not", async () => {
  const { engine, tx } = await start();
  engine.refuse = () => "no";
  await assert.rejects(tx.putRow(put(1)), /no/);
  engine.refuse = () => ["OTSSessionBusy", "Another request of the transaction is not done yet."];
  await assert.rejects(tx.commit(), /not done yet/);
  assert.equal(tx.state, "OPEN");
  engine.refuse = () => "no";
  await assert.rejects(tx.commit(), /no/);
  assert.equal(tx.state, "ABORTED");
  await assert.rejects(tx.commit(), gone);
});

test("R7: await using aborts what is open, after the calls that are under way, and leaves what is committed", async () => {
  const { engine, tx } = await start();
  void tx.putRow(put(1));
  await tx[Symbol.asyncDispose]();
  assert.deepEqual([tx.state, engine.frames.map(([{ op }]) => op)], ["ABORTED", [8, 1, 10]]);
  const other = await start();
  void other.tx.commit();
  await other.tx[Symbol.asyncDispose]();
  assert.deepEqual([other.tx.state, other.engine.frames.map(([{ op }]) => op)], ["COMMITTED", [8, 9]]);
});

test("a transaction whose commit was given up, but took effect, is committed, whatever an abort finds", async () => {
  const { engine, tx } = await start(false);
  const control = new AbortController();
  const committing = tx.commit({ signal: control.signal });
  await tick();
  control.abort(new Error("enough"));
  await assert.rejects(committing, /enough/);
  engine.refuse = () => ["OTSSessionNotExist", "Session not exist or may be timeout."];
  const aborting = tx.abort();
  await tick();
  assert.equal(tx.state, "OPEN");
  engine.answer();
  engine.answer();
  await assert.rejects(aborting, (error) => (error as TabStoreError).code === "OTSSessionNotExist");
  assert.equal(tx.state, "COMMITTED");
});

test("arguments of a transaction's calls are read when the call is made", async () => {
  const { engine, tx } = await start();
  const request = put(1);
  const calls = [tx.putRow(put(0)), tx.putRow(request)];
  request.primaryKey.at = 9;
  await Promise.all(calls);
  assert.deepEqual(engine.order.slice(2), ['1:{"id":{"INTEGER":"1n"},"at":{"INTEGER":"1n"}}']);
  await assert.rejects(tx.putRow({ tableName: "t", primaryKey: { id: 1, at: NaN } }), /NaN/);
});

test("a call of a transaction that waits for its turn can be given up, and then never leaves", async () => {
  const { engine, tx } = await start(false);
  const control = new AbortController();
  const first = tx.putRow(put(1));
  const second = tx.putRow({ ...put(2), signal: control.signal });
  const third = tx.putRow(put(3));
  await tick();
  control.abort(new Error("enough"));
  await assert.rejects(second, /enough/);
  engine.answer();
  await first;
  await tick();
  engine.answer();
  await third;
  assert.deepEqual(engine.frames.length, 3);
});

test("C5: refusals for now are tried again inside a transaction and at its start; one started for nobody is aborted", async () => {
  const { db, engine, tx } = await start();
  let count = 0;
  engine.refuse = () => (count++ < 2 ? ["OTSCapacityUnitExhausted", "Capacity unit is not enough."] : undefined);
  await tx.putRow(put(1));
  assert.equal(count, 3);
  count = 0;
  engine.refuse = () => (count++ < 2 ? ["OTSRowOperationConflict", "Data is being modified by the other request."] : undefined);
  assert.equal((await db.startLocalTransaction({ tableName: "t", partitionKey: { id: 2 } })).state, "OPEN");
  engine.refuse = () => undefined;
  const control = new AbortController();
  const starting = db.startLocalTransaction({ tableName: "t", partitionKey: { id: 3 }, signal: control.signal });
  await Promise.resolve();
  control.abort(new Error("enough"));
  await assert.rejects(starting, /enough/);
  await tick();
  await tick();
  assert.equal(engine.frames.at(-1)![0].op, 10);
});
