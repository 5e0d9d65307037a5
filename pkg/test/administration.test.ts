/** Administrative operations: what the contract declares of each is true of the engine, and decides what becomes of its calls. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { afterEach, test } from "node:test";

import { Client } from "../src/client/client.js";
import { BackOff } from "../src/client/retry.js";
import { ADMIN, ADMINISTRATION, type AdminOperation } from "../src/codec/contract-administration.js";
import type { FromSession } from "../src/host/host.js";
import { Served } from "../src/host/serve-session.js";
import { settle } from "../src/tabs/compare-options.js";
import { OpenDatabase } from "../src/open/database.js";
import type { Database } from "../src/types/database.js";
import type { OpenOptions } from "../src/types/rows.js";
import { INF_MAX, INF_MIN } from "../src/types/values.js";
import { local, type TabStoreError } from "../src/types/errors.js";
import { FakeEngine } from "./support/engine.js";
import { OPTIONS } from "./support/options.js";
import { open, skip } from "./support/package.js";
import { follower } from "./support/succession.js";
import { turn, until } from "./support/turn.js";
import { undoAll } from "./support/undo.js";

afterEach(undoAll);

const DECLARED = Object.keys(ADMINISTRATION) as AdminOperation[];
const says = (op: AdminOperation, what: ADMIN): boolean => (ADMINISTRATION[op] & what) !== 0;

/** What the calls below are about. */
interface World {
  readonly db: Database;
  readonly streamId: string;
  readonly shardId: string;
  readonly shardIterator: string;
  readonly accessKeyIds: readonly string[];
}

const t = { tableName: "t" };
const key = { tableName: "t", primaryKey: { id: 1 } };
const first = async <T>(all: AsyncIterable<T>): Promise<void> => {
  for await (const _ of all) break;
};

/** Each method of a database that asks for administrative operations, with arguments that are right in the world of {@link world}. */
const CALLS: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  createTable: ({ db }) => db.createTable({ tableName: "new", primaryKey: [{ name: "id", type: "INTEGER" }] }),
  listTable: ({ db }) => db.listTable(),
  describeTable: ({ db }) => db.describeTable(t),
  updateTable: ({ db }) => db.updateTable({ ...t, reservedThroughput: { read: 5 } }),
  deleteTable: ({ db }) => db.deleteTable("old"),
  createIndex: ({ db }) => db.createIndex({ ...t, index: { indexName: "j", primaryKey: ["d"] } }),
  dropIndex: ({ db }) => db.dropIndex({ ...t, indexName: "i" }),
  addDefinedColumn: ({ db }) => db.addDefinedColumn({ ...t, columns: [{ name: "e", type: "STRING" }] }),
  deleteDefinedColumn: ({ db }) => db.deleteDefinedColumn({ ...t, columns: ["f"] }),
  computeSplitPointsBySize: ({ db }) => db.computeSplitPointsBySize({ ...t, splitSize: 1 }),
  computeStorage: ({ db }) => db.computeStorage("t"),
  computeConsumed: ({ db }) => db.computeConsumed(),
  createAccessKey: ({ db }) => db.createAccessKey({ rights: ["read"] }),
  listAccessKeys: ({ db }) => db.listAccessKeys(),
  updateAccessKey: ({ db, accessKeyIds }) => db.updateAccessKey({ accessKeyId: accessKeyIds[0], enabled: false }),
  deleteAccessKey: ({ db, accessKeyIds }) => db.deleteAccessKey(accessKeyIds[1]),
  listStream: ({ db }) => db.listStream(),
  describeStream: ({ db, streamId }) => db.describeStream({ streamId }),
  getShardIterator: ({ db, streamId, shardId }) => db.getShardIterator({ streamId, shardId }),
  getStreamRecord: ({ db, shardIterator }) => db.getStreamRecord({ shardIterator }),
  changes: ({ db }) => first(db.changes({ ...t, from: "oldest" })),
  watch: ({ db }) => first(db.watch(key)),
  watchCount: ({ db }) => first(db.watchCount({ ...t, start: { id: INF_MIN }, end: { id: INF_MAX } })),
  metrics: ({ db }) => db.metrics(),
  storage: ({ db }) => db.storage(),
  missing: ({ db }) => db.missing(),
  flush: ({ db }) => db.flush(),
  compact: ({ db }) => db.compact(),
  setClock: ({ db }) => db.setClock(NOW),
  exportInstance: async ({ db }) => (await db.exportInstance()).cancel(),
  segments: ({ db }) => db.segments(t),
  segment: ({ db }) => db.segment(1),
  getRow: ({ db }) => db.getRow({ ...key, trace: true }),
  getStoredRow: ({ db }) => db.getStoredRow(key),
  getWorkEvents: ({ db }) => db.getWorkEvents(),
  workEvents: ({ db }) => Promise.all([first(db.workEvents()), db.putRow(key).then(() => db.flush())]),
  pauseWork: ({ db }) => db.pauseWork(),
  stepWork: ({ db }) => db.stepWork(),
  resumeWork: ({ db }) => db.resumeWork(),
};

/** The other methods: they ask for operations on rows, or use methods above, or none. */
const OTHERS = [
  ...["putRow", "updateRow", "deleteRow", "getRange", "scan", "scanPages", "count", "deleteRange", "batchGetRow", "batchWriteRow", "atomic"],
  ...["startLocalTransaction", "writer", "importRows", "exportRows", "importInstance", "consumer", "listConsumerGroups", "verify"],
  ...["preload", "persist", "close", "addEventListener", "removeEventListener"],
  // Parts of the methods above.
  ...["emit", "described", "inspect", "admin"],
];

/** The operations that a call asks a small engine for. It answers with what lets most calls go on. */
async function asked(call: (world: World) => Promise<unknown>): Promise<AdminOperation[]> {
  const client = new Client(1, false, BackOff.from(false));
  const engine = new FakeEngine(client.receive);
  const stream = { streamId: "1", tableName: "t" };
  const shard = { shardId: 1, parentId: null, parentSiblingId: null, lowerBound: null, upperBound: null, closed: false };
  const answers: Readonly<Record<string, unknown>> = {
    listTable: ["t"],
    describeTable: { ...t, primaryKey: [], partitions: [], indexes: [] },
    listStream: [stream],
    listForeignTable: [],
    describeStream: { stream, shards: [shard], nextShardId: null, lastSequence: 0 },
    getShardIterator: "it",
    getStreamRecord: { records: new Uint8Array(), primaryKey: [], nextShardIterator: "it", mayMoreRecord: false, consumed: { read: 1, write: 0 } },
    awaitChange: { place: { record: 0, seqno: 1 }, keys: null },
    describeStore: { trees: [] },
    getWorkEvents: { events: [], position: 1, lost: 0 },
  };
  const ops = new Set<AdminOperation>();
  engine.admin = (op) => {
    // A call that waits would ask again and again.
    if (ops.has(op as AdminOperation)) throw local("OTSInternalServerError", "enough");
    ops.add(op as AdminOperation);
    return answers[op];
  };
  client.attach(engine);
  const db = new OpenDatabase("demo", "memory", client) as unknown as Database;
  const world = { db, streamId: "1", shardId: "1", shardIterator: "it", accessKeyIds: ["a", "b"] };
  // What it makes of the answers does not matter.
  await call(world).catch(() => {});
  await db.close().catch(() => {});
  return [...ops];
}

test("each method that asks for administrative operations asks for declared ones, and each declared one is asked for", async () => {
  const methods = Object.getOwnPropertyNames(OpenDatabase.prototype).filter((name) => {
    const { value } = Object.getOwnPropertyDescriptor(OpenDatabase.prototype, name)!;
    return name !== "constructor" && typeof value === "function";
  });
  assert.deepEqual(methods.toSorted(), [...Object.keys(CALLS), ...OTHERS].toSorted(), "a new method goes into one of the two lists");
  const used = new Set<AdminOperation>();
  for (const [method, call] of Object.entries(CALLS)) {
    const ops = await asked(call);
    assert.ok(ops.length > 0, `${method} asks for nothing`);
    for (const op of ops) used.add(op);
  }
  // What tabs ask each other, and what a leader asks its own engine.
  const client = new Client(1, false);
  const tab = {
    clients: new Map([[client, { cacheBytes: 1 }]]),
    checked: { engine: OPTIONS, given: {} },
    opening: { inherit() {} },
    options: OPTIONS,
    given: {},
  };
  await settle(tab, client, OPTIONS, async (op) => void used.add(op)).catch(() => {});
  for (const [, op] of (await readFile("src/host/thread.ts", "utf8")).matchAll(/\.call\("(\w+)"/g)) used.add(op as AdminOperation);
  assert.deepEqual([...used].toSorted(), DECLARED.toSorted());
});

const NOW = Date.UTC(2026, 0, 1);

/** A world on the real engine. */
async function world(options: OpenOptions = {}): Promise<World> {
  const db = await open({ clock: { now: NOW }, retry: false, ...options });
  let now = NOW;
  // Operations on tables are limited in a second.
  const next = <T>(value: T): Promise<T> => db.setClock((now += 2000)).then(() => value);
  await db.createTable({
    ...t,
    primaryKey: [{ name: "id", type: "INTEGER" }],
    definedColumns: ["d", "f", "g"].map((name) => ({ name, type: "STRING" as const })),
    indexes: [{ indexName: "i", primaryKey: ["g"] }],
    stream: { enabled: true, expirationHours: 24 },
  });
  await next(undefined);
  await db.createTable({ tableName: "old", primaryKey: [{ name: "id", type: "INTEGER" }] });
  const keys = [await db.createAccessKey({ rights: ["read"] }), await db.createAccessKey({ rights: ["write"] })];
  await db.putRow({ ...key, attributes: { d: "x" } });
  await db.flush();
  const [{ streamId }] = await db.listStream();
  const { shards } = await next(await db.describeStream({ streamId }));
  const [{ shardId }] = shards;
  return { db, streamId, shardId, shardIterator: await db.getShardIterator({ streamId, shardId }), accessKeyIds: keys.map(({ accessKeyId }) => accessKeyId) };
}

/** What changes of tables and keys change. */
async function catalog({ db }: World): Promise<unknown> {
  const tables = await Promise.all((await db.listTable()).map(async (tableName) => ({ ...(await db.describeTable(tableName)), partitions: [] })));
  return structuredClone([tables, await db.listAccessKeys(), await db.listStream()]);
}

test("a call whose operations are declared repeatable changes nothing of the catalog, and may be made again", { skip }, async () => {
  const one = await world();
  let repeated = 0;
  for (const [method, call] of Object.entries(CALLS)) {
    if (!(await asked(call)).every((op) => says(op, ADMIN.REPEATABLE))) continue;
    const before = await catalog(one);
    for (let times = 0; times < 2; times++) await call(one).catch((error: Error) => assert.fail(`${method}: ${error.message}`));
    assert.deepEqual(await catalog(one), before, method);
    repeated++;
  }
  assert.ok(repeated > 20, `${repeated}`);
  await one.db.close();
});

test("only steps of background work are neither repeatable nor done once: a caller has to decide what to do", () => {
  const rest = DECLARED.filter((op) => !says(op, ADMIN.REPEATABLE) && !says(op, ADMIN.ONCE));
  assert.deepEqual(rest, ["pauseWork", "stepWork", "resumeWork"]);
});

test("operations that the engine can find too frequent are declared to keep their order", { skip }, async () => {
  const frequent = new Set<AdminOperation>();
  const one = await world({ throttle: { tableOperationsPerSecond: 1 } });
  await one.db.describeTable("t");
  for (const call of Object.values(CALLS)) {
    const ops = await asked(call);
    // What reads many tables is many operations.
    if (ops.length > 1) continue;
    const error = await call(one).then(
      () => undefined,
      ({ message }: Error) => message,
    );
    if (error?.includes("Too frequent")) frequent.add(ops[0]);
  }
  assert.ok(frequent.size > 8, [...frequent].join());
  for (const op of frequent) assert.ok(says(op, ADMIN.ORDERED), op);
  await one.db.close();
});

/** Those that a client may ask for. */
const ASKED = DECLARED.filter((op) => op !== "yield");

test("a leader goes without an answer: what may be done twice is asked again, what is done once keeps its number, the rest is refused", async () => {
  const {
    client,
    first: one,
    lead,
  } = await follower((engine) => {
    engine.tells = false;
    engine.admin = (op) => (says(op as AdminOperation, ADMIN.ONCE) ? `first ${op}` : new Promise(() => {}));
  });
  const calls = ASKED.map((op) => client.admin(op, {}).catch(({ code: refusal }: TabStoreError) => refusal));
  await until(() => one.session().calls.length === ASKED.length);
  one.leader.stop();
  const two = lead((engine) => (engine.admin = (op) => `second ${op}`));
  const answers = await Promise.all(calls);
  ASKED.forEach((op, i) => {
    const wanted = says(op, ADMIN.REPEATABLE) ? `second ${op}` : says(op, ADMIN.ONCE) ? `first ${op}` : "LeaderChanged";
    assert.equal(answers[i], wanted, op);
  });
  const { calls: again, numbers, done } = two.session();
  assert.deepEqual(
    again.map(([op]) => op),
    ASKED.filter((op) => says(op, ADMIN.REPEATABLE) || says(op, ADMIN.ONCE)),
    "in their order",
  );
  assert.deepEqual(
    again.map(([op], i) => [op, numbers[i] !== undefined]),
    again.map(([op]) => [op, says(op as AdminOperation, ADMIN.ONCE)]),
  );
  assert.deepEqual(done, [], "nothing is done twice");
});

test("a page whose own engine has gone asks the next one only for what may be done twice", async () => {
  for (const op of ASKED) {
    const client = new Client(7, false);
    const engine = Object.assign(new FakeEngine(client.receive), { follows: true });
    let times = 0;
    engine.admin = () => {
      if (times++ === 0) throw local("LeaderChanged", "the engine has gone");
      return "done";
    };
    client.attach(engine);
    const answer = await client.admin(op, {}).catch(({ code: refusal }: TabStoreError) => refusal);
    assert.deepEqual([answer, times], says(op, ADMIN.REPEATABLE) ? ["done", 2] : ["LeaderChanged", 1], op);
  }
});

test("behind an operation that waits for a retry, those that are declared to keep their order wait, and others do not", async () => {
  const waits = async (op: AdminOperation): Promise<void> => {
    const client = new Client(7, false, BackOff.from({ minDelay: 1000 }));
    const engine = new FakeEngine(client.receive);
    let refusals = 1;
    engine.admin = (asks) => {
      if (asks === "createIndex" && refusals-- > 0)
        throw { code: "OTSQuotaExhausted", status: 403, retryable: true, message: "Too frequent table operations." };
    };
    client.attach(engine);
    const create = client.admin("createIndex", { first: true });
    await turn();
    await Promise.all([create, client.admin(op, { first: false })]);
    const order = engine.calls.map(([, args]) => (args as { first: boolean }).first);
    assert.deepEqual(order, says(op, ADMIN.ORDERED) ? [true, true, false] : [true, false, true], op);
  };
  await Promise.all(ASKED.map(waits));
});

test("an operation that is not declared is refused by its name: a tab of another release may ask for it", async () => {
  const engine = new FakeEngine(() => {});
  for (const op of ["dance", "setTable", "importTable", "toString", "constructor", "__proto__", ""]) {
    const port = { sent: [] as FromSession[], onmessage: null, postMessage: (message: unknown) => void port.sent.push(message as FromSession) };
    const served = new Served(port);
    await served.open(async () => engine);
    served.take({ kind: "call", id: 1, op, args: {} });
    await turn();
    const [answer] = port.sent;
    assert.ok(answer.kind === "error");
    assert.deepEqual([answer.id, answer.error.code, answer.error.message], [1, "OTSParameterInvalid", `There is no operation '${op}'.`]);
  }
  assert.deepEqual(engine.calls, []);
});
