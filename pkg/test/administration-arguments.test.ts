/** Arguments of administrative operations: each kind of value in each place of each operation. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { ADMINISTRATION, type AdminOperation } from "../src/codec/contract-administration.js";
import { ARGUMENTS } from "../src/codec/contract-arguments.js";
import type { Database } from "../src/index.js";
import { code, open, random, skip } from "./support/package.js";

const NOW = 1_700_000_000_000;
const KEY = [{ name: "id", type: "INTEGER" }] as const;

/** An instance in which each operation has something to work on. */
interface World {
  readonly db: Database;
  readonly streamId: string;
  readonly shardId: string;
  readonly shardIterator: string;
  readonly accessKeyId: string;
}

async function world(): Promise<World> {
  const db = await open({ clock: { now: NOW } });
  const definedColumns = ["d", "f", "g"].map((name) => ({ name, type: "STRING" as const }));
  const stream = { enabled: true, expirationHours: 24, originColumns: ["a"] };
  await db.createTable({ tableName: "t", primaryKey: KEY, stream, definedColumns, indexes: [{ indexName: "i", primaryKey: ["d"] }] });
  await db.createTable({ tableName: "old", primaryKey: KEY });
  const { accessKeyId } = await db.createAccessKey({ rights: ["read"] });
  const [{ streamId }] = await db.listStream({ tableName: "t" });
  const [{ shardId }] = (await db.describeStream({ streamId })).shards;
  return { db, streamId, shardId, shardIterator: await db.getShardIterator({ streamId, shardId, timestamp: NOW }), accessKeyId };
}

/** All that administration may change. */
async function stateOf(db: Database): Promise<unknown> {
  const tables = await Promise.all((await db.listTable()).map((name) => db.describeTable(name)));
  return JSON.parse(JSON.stringify([tables.map(({ partitions: _, ...table }) => table), await db.listAccessKeys()]));
}

/** Right arguments of each operation, with every member. */
const RIGHT: Readonly<Record<string, (world: World) => object>> = {
  createTable: () => ({
    tableName: "new",
    primaryKey: [
      { name: "id", type: "STRING" },
      { name: "n", type: "INTEGER", autoIncrement: true, allowChosen: true },
    ],
    timeToLive: -1,
    maxVersions: 2,
    maxVersionOffset: 1000,
    allowUpdate: true,
    reservedThroughput: { read: 1, write: 1 },
    stream: { enabled: true, expirationHours: 24, originColumns: ["a"] },
    definedColumns: [{ name: "d", type: "STRING" }],
    indexes: [],
    enableLocalTransaction: false,
  }),
  updateTable: () => ({
    tableName: "t",
    timeToLive: -1,
    maxVersionOffset: 5000,
    allowUpdate: true,
    reservedThroughput: { read: 2, write: 2 },
    stream: { enabled: true, expirationHours: 24, originColumns: ["a"] },
  }),
  describeTable: () => ({ tableName: "t" }),
  deleteTable: () => ({ tableName: "old" }),
  createIndex: () => ({ tableName: "t", index: { indexName: "j", type: "GLOBAL", primaryKey: ["d"], columns: ["f"] }, includeBaseData: true }),
  dropIndex: () => ({ tableName: "t", indexName: "i" }),
  addDefinedColumn: () => ({ tableName: "t", columns: [{ name: "e", type: "STRING" }] }),
  deleteDefinedColumn: () => ({ tableName: "t", columns: ["g"] }),
  listStream: () => ({ tableName: "t" }),
  describeStream: ({ streamId, shardId }) => ({ streamId, inclusiveStartShardId: shardId, shardLimit: 5 }),
  getShardIterator: ({ streamId, shardId }) => ({ streamId, shardId, timestamp: NOW, latest: false, beginning: false }),
  getStreamRecord: ({ shardIterator }) => ({ shardIterator, limit: 5 }),
  computeConsumed: () => ({
    tableName: "t",
    start: 0,
    end: NOW,
    period: "hour",
    prices: { reserved: { read: 1, write: 1 }, onDemand: { read: 1, write: 1 } },
  }),
  computeStorage: () => ({ tableName: "t" }),
  computeSplitPointsBySize: () => ({ tableName: "t", splitSize: 1, splitSizeUnitBytes: 1_048_576, splitPointLimit: 5 }),
  createAccessKey: () => ({ rights: ["read"] }),
  updateAccessKey: ({ accessKeyId }) => ({ accessKeyId, enabled: false, rights: ["read"] }),
  deleteAccessKey: ({ accessKeyId }) => ({ accessKeyId }),
};

const circle: Record<string, unknown> = {};
circle.self = circle;

/** Values of each kind. */
const KINDS: Readonly<Record<string, unknown>> = {
  null: null,
  "a fraction": 0.5,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "2^53": 2 ** 53,
  "2^64": 2n ** 64n,
  "-2^63 - 1": -(2n ** 63n) - 1n,
  true: true,
  "a text": "x",
  "an empty text": "",
  "a text of a number": "5",
  "a symbol": Symbol("x"),
  "a function": () => 1,
  "{}": {},
  "[]": [],
  "[[]]": [[]],
  "[null]": [null],
  "a list with a hole": new Array(1),
  "a Map": new Map([["name", "x"]]),
  "a Set": new Set(["x"]),
  "a Date": new Date(0),
  "a Promise": Promise.resolve("x"),
  "a String": Object("x"),
  "a Number": Object(1),
  "a Boolean": Object(true),
  bytes: new Uint8Array(3),
  "a class": class {},
  "a circle": circle,
  "an object with a text": { toString: () => "t", valueOf: () => 1 },
};

type Path = readonly (string | number)[];

/** The places of values in arguments. */
function places(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const inner = Object.entries(value).flatMap(([name, one]) => places(one, [...path, Array.isArray(value) ? Number(name) : name]));
  return path.length > 0 ? [path, ...inner] : inner;
}

const at = (given: object, path: Path): unknown => path.reduce<unknown>((one, step) => (one as Record<string | number, unknown>)[step], given);

/** The arguments with another value in one place. */
function withValue(given: object, path: Path, value: unknown): object {
  const copy = structuredClone(given);
  (at(copy, path.slice(0, -1)) as Record<string | number, unknown>)[path.at(-1)!] = value;
  return copy;
}

/** Objects whose members may all be left out. */
const LOOSE = ["reservedThroughput", "prices", "reserved", "onDemand"];

/** Whether a value may be right in the place of another one. */
function mayBeRight(wanted: unknown, value: unknown, path: Path): boolean {
  if (typeof wanted === "string" || typeof wanted === "boolean") return typeof value === typeof wanted;
  if (typeof wanted === "number" && path.includes("prices")) return typeof value === "number" && Number.isFinite(value);
  if (typeof wanted === "number") return Number.isSafeInteger(value);
  return Array.isArray(wanted) ? Array.isArray(value) && value.length === 0 : value === KINDS["{}"] && LOOSE.includes(String(path.at(-1)));
}

for (const [op, right] of Object.entries(RIGHT)) {
  test(`${op}: a value of a wrong kind in any place is refused by the name of the place, and nothing is stored`, { skip }, async () => {
    const all = await world();
    const given = right(all);
    const call = async (argument: unknown): Promise<unknown> => (all.db as never as Record<string, (one: unknown) => Promise<unknown>>)[op](argument);
    const before = await stateOf(all.db);
    for (const path of places(given)) {
      for (const [what, value] of Object.entries(KINDS)) {
        if (mayBeRight(at(given, path), value, path)) continue;
        const name = path.filter((step) => typeof step === "string").at(-1)!;
        await assert.rejects(
          call(withValue(given, path, value)),
          code("OTSParameterInvalid", new RegExp(`${name}|key|column|right`, "i")),
          `${path.join(".")} = ${what}`,
        );
      }
    }
    const others = [{ ...given, tableNames: "x" }, JSON.parse(JSON.stringify(given).replace("{", '{"__proto__":{"x":1},')), { ...given, constructor: 5 }];
    for (const other of [...others, new Map(Object.entries(given)), [given], () => given, Promise.resolve(given)])
      await assert.rejects(call(other), code("OTSParameterInvalid"));
    assert.deepEqual(await stateOf(all.db), before);
    await all.db.close();
  });
}

test("each administrative operation that has arguments is tried here", () => {
  const without = (Object.keys(ARGUMENTS) as AdminOperation[]).filter((op) => !(op in RIGHT));
  assert.deepEqual(without.sort(), ["awaitStreamRecord", "compact", "flush", "listAccessKeys", "listTable", "metrics", "missing"]);
});

test("arguments are read once: what their getters call is done too, and what they throw ends the call", { skip }, async () => {
  const { db } = await world();
  const inner: Promise<unknown>[] = [];
  const calling = {
    get tableName() {
      inner.push(db.createTable({ tableName: "inner", primaryKey: KEY }));
      return "outer";
    },
    primaryKey: KEY,
  };
  await db.createTable(calling);
  await Promise.all(inner);
  assert.deepEqual(await db.listTable(), ["i", "inner", "old", "outer", "t"]);
  const throwing = {
    tableName: "t",
    get maxVersionOffset(): number {
      throw new Error("mine");
    },
  };
  await assert.rejects(db.updateTable(throwing), /mine/);
  let times = 0;
  const changing = {
    tableName: "t",
    get maxVersionOffset() {
      return 1000 + times++;
    },
  };
  await db.updateTable(changing);
  assert.equal((await db.describeTable("t")).maxVersionOffset, 1000);
  await db.close();
});

test("the engine answers each number of an operation, whatever comes with it, and goes on", { skip }, async () => {
  const { db } = await world();
  const { session } = (db as unknown as { client: { host: { session: { call(op: number, args: unknown): Promise<unknown> } } } }).client.host;
  const below = random(3);
  const values = Object.values(KINDS).filter((value) => typeof value !== "symbol");
  const names = ["tableName", "primaryKey", "client", "life", "frame", "segmentId", "block", "rows", "position", "now", "place", "start", "streamId"];
  const pick = <T>(from: readonly T[]): T => from[below(from.length)];
  for (let round = 0; round < 800; round++) {
    const number = round < 256 ? round : below(Object.keys(ADMINISTRATION).length);
    const args = Object.fromEntries(Array.from({ length: below(4) }, () => [pick(names), pick(values)]));
    const answer = session.call(number, args).then(
      () => "done",
      (error: { code?: string }) => String(error.code ?? error),
    );
    // Some wait for what does not come.
    const outcome = await Promise.race([answer, new Promise<string>((resolve) => setTimeout(resolve, 30, "waits"))]);
    assert.doesNotMatch(outcome, /RuntimeError|unreachable|InternalServer/, `${number} ${Object.keys(args).join()}`);
  }
  await db.resumeWork();
  await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
  await db.close();
});
