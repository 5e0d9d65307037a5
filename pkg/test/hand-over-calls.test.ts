/** What becomes of a handle's calls when the tab that has its engine goes. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Call } from "../src/client/call.js";
import { Client } from "../src/client/client.js";
import { IN_TRANSACTION, OP } from "../src/codec/contract.js";
import type { FrameWriter } from "../src/codec/frame.js";
import { OpenDatabase } from "../src/open/database.js";
import { TabStoreError } from "../src/types/errors.js";
import { KeptRows } from "../src/client/load-replay.js";
import { afterLeader, BackOff } from "../src/client/retry.js";
import { FakeEngine } from "./support/engine.js";
import { answerAll, gone } from "./support/loading.js";
import { code } from "./support/package.js";
import { turn } from "./support/turn.js";

const row = (id: number) => ({ primaryKey: { id }, attributes: { n: id } });
const put = (id: number) => ({ tableName: "t", ...row(id) });
const get = (id: number) => ({ tableName: "t", primaryKey: { id } });

/** A handle on an engine in another tab, which answers nothing by itself. */
function follower(backOff?: BackOff): { db: OpenDatabase; client: Client; engine: FakeEngine & { follows: boolean } } {
  const client = new Client(7, false, backOff);
  client.kept = new KeptRows(() => client.role === "follower");
  const engine = Object.assign(new FakeEngine(client.receive, false), { follows: true });
  client.attach(engine);
  return { db: new OpenDatabase("demo", "indexeddb", client), client, engine };
}

const ops = (engine: FakeEngine): number[][] => engine.frames.map((frame) => frame.map(({ op }) => op));

for (const retry of [true, false]) {
  test(`a leader that goes without a word: reads are asked again, in order, and writes are refused by name (retry: ${retry})`, async () => {
    const { db, client, engine } = follower(retry ? undefined : BackOff.from(false));
    const writes = [db.putRow(put(1)), db.batchWriteRow([{ tableName: "t", put: row(2) }])];
    const reads = [db.getRow(get(1)), db.getRow(get(2))];
    await turn();
    const later = db.getRow(get(3));
    await turn();
    engine.frames.length = 0;
    client.handOver(false, gone);
    for (const write of writes) await assert.rejects(write, code("LeaderChanged"));
    assert.deepEqual(ops(engine), [[4, 4], [4]]);
    for (let i = 0; i < 4; i++) engine.answer();
    await Promise.all([...reads, later]);
    assert.equal(db.closed, false);
  });
}

test("what is asked again if nobody knows what was done: reads, deletions of ranges, and what begins a transaction or aborts it", () => {
  const again = [OP.GET_ROW, OP.BATCH_GET_ROW, OP.GET_RANGE, OP.COUNT_ROWS, OP.DELETE_RANGE, OP.START_LOCAL_TRANSACTION, OP.ABORT_TRANSACTION];
  const askedAgain = (op: number, knows: boolean): boolean => {
    const bytes = new Uint8Array(32);
    bytes[0] = op;
    const nothing = (): void => {};
    const call = new Call(1, 1, { bytes, calls: 1 }, 0, bytes.length, [], undefined, nothing, nothing, nothing);
    return afterLeader([call], knows).again.length === 1;
  };
  for (let op = 1; op <= OP.DELETE_RANGE; op++) {
    assert.deepEqual([op, askedAgain(op, false), askedAgain(op, true)], [op, again.includes(op), true]);
    assert.equal(askedAgain(op + IN_TRANSACTION, false), again.includes(op), `${op} in a transaction`);
  }
});

test("if the next leader knows what was done, writes are asked again too, in order and under their numbers", async () => {
  const { db, client, engine } = follower();
  const write = db.putRow(put(1));
  const read = db.getRow(get(1));
  await turn();
  const numbers = engine.frames
    .splice(0)
    .flat()
    .map(({ id }) => id);
  client.handOver(true, gone);
  assert.deepEqual(ops(engine), [[1, 4]]);
  assert.deepEqual(
    engine.frames.flat().map(({ id }) => id),
    numbers,
  );
  engine.answer(1);
  await Promise.all([write, read]);
});

test("each frame of a follower says which answers it has, so the leader may forget them", async () => {
  const { db, engine } = follower();
  const frame = async (...calls: Promise<unknown>[]): Promise<void> => {
    for (const call of calls) call.catch(() => {});
    await turn();
  };
  await frame(db.putRow(put(1)), db.putRow(put(2)));
  await frame(db.putRow(put(3)));
  engine.answer(1);
  await frame(db.putRow(put(4)));
  engine.answer(0);
  await frame(db.putRow(put(5)));
  engine.answer(0);
  engine.answer(0);
  await frame(db.putRow(put(6)));
  // The third was answered before the first two: those hold the number back.
  assert.deepEqual(engine.acknowledged, [1, 1, 1, 4, 6]);
  const own = new Client(8, false);
  const inTab = new FakeEngine(own.receive);
  own.attach(inTab);
  await new OpenDatabase("demo", "indexeddb", own).putRow(put(1));
  assert.deepEqual(inTab.acknowledged, [], "an engine in this tab ends with it");
});

test("a frame that had its number long before it left holds its answer, and its calls are acknowledged without other frames too", async () => {
  const { client, engine } = follower();
  const decode = (): undefined => undefined;
  const abort = (w: FrameWriter): void => {
    w.u8(OP.ABORT_TRANSACTION);
    w.str("t", "t");
  };
  const prepared = client.prepare(abort, undefined);
  const db = new OpenDatabase("demo", "indexeddb", client);
  db.putRow(put(1)).catch(() => {});
  await turn();
  client.sendLast(prepared, decode).catch(() => {});
  db.putRow(put(2)).catch(() => {});
  await turn();
  assert.deepEqual(engine.acknowledged, [2, 1], "the first call is the second that left");
  // Frames of writers and transactions only.
  engine.acknowledged.length = 0;
  for (let i = 0; i < 100; i++) client.sendLast(client.prepare(abort, undefined), decode).catch(() => {});
  assert.ok(engine.acknowledged.length >= 3 && engine.acknowledged.every((below) => below === 1), `${engine.acknowledged}`);
});

test("a call that has not left yet is not touched by a hand-over", async () => {
  const { db, client, engine } = follower();
  const write = db.putRow(put(1));
  client.handOver(false, gone);
  await turn();
  engine.answer();
  await write;
});

test("Closed and LeaderChanged of a leader that ends are no answers, and end no handle", async () => {
  const { db, client, engine } = follower();
  for (const answer of ["Closed", "LeaderChanged"]) {
    engine.refuse = () => [answer, "the session is closed"];
    const read = db.getRow(get(1));
    const write = db.putRow(put(1));
    const refused = assert.rejects(write, code("LeaderChanged", /gone/));
    await turn();
    engine.answer();
    await turn();
    assert.equal(db.closed, false);
    engine.refuse = () => undefined;
    client.handOver(false, gone);
    await refused;
    engine.answer();
    await read;
  }
});

test("a batch whose rows say that the leader ends has no answer", async () => {
  const { db, client, engine } = follower();
  engine.refuse = () => ["LeaderChanged", "the engine is fenced off"];
  const batch = db.batchWriteRow([{ tableName: "t", put: row(1) }]);
  await turn();
  engine.answer();
  await turn();
  engine.refuse = () => undefined;
  client.handOver(true, gone);
  engine.answer();
  assert.deepEqual(
    (await batch).map(({ ok }) => ok),
    [true],
  );
});

test("rows that a leader took for a load, and had not stored, are refused by name; later rows are another load", async (t) => {
  // No row waits for so long that it is stored for that, on a slow machine neither.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { db, client, engine } = follower();
  engine.loads = true;
  const writer = db.writer("t");
  for (let id = 0; id < 8000; id++) void writer.put(row(id));
  await answerAll(engine);
  const { rows, pending } = writer.progress;
  assert.ok(pending > 1000, "rows are taken, and not asked for yet");
  client.handOver(false, gone);
  await answerAll(engine);
  for (let id = 8000; id < 9000; id++) void writer.put(row(id));
  const closed = assert.rejects(writer.close(), (error) => {
    assert.ok(error instanceof TabStoreError && error.code === "LeaderChanged");
    const { stored, failed } = error as unknown as { stored: number; failed: number };
    assert.deepEqual([stored + failed, failed > 0 && stored >= rows], [9000, true]);
    return true;
  });
  await answerAll(engine);
  await closed;
});
