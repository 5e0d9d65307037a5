/**
 * Whole calls with garbage in them, on the real engine. Each resolves, or rejects with the package's error or the error
 * of the caller's own getter, and the engine goes on. `TABSTORE_FUZZ_SEED` and `TABSTORE_FUZZ_CALLS` choose others.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, types } from "node:util";

import type { Database, Transaction } from "../src/index.js";
import { garbage, Own } from "./support/garbage.js";
import { load, open, random, skip, times } from "./support/package.js";

const SEED = Number(process.env.TABSTORE_FUZZ_SEED ?? 20_181_001);
const CALLS = Number(process.env.TABSTORE_FUZZ_CALLS ?? times(6000, 3000));

/** Stands for a value that only the engine can tell: the newest of several versions. */
const ANY = Symbol("any");

/** Whether a call may fail like this. */
function allowed(error: unknown): boolean {
  if (error instanceof Own) return true;
  // A revoked proxy throws at every access.
  if (error instanceof TypeError) return /revoked/.test(error.message);
  const { name, code, message } = error as { name: string; code: unknown; message: unknown };
  return (name === "TabStoreError" || name === "WriterError") && typeof code === "string" && code !== "OTSInternalServerError" && typeof message === "string";
}

async function settles(what: string, call: () => unknown): Promise<unknown> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `${what} did not settle` })), 20_000);
  });
  try {
    return await Promise.race([(async () => call())(), late]);
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    if (!allowed(error)) throw new Error(`${what} failed with ${error instanceof Error ? error.stack : String(error)}`, { cause: error });
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

const key = { id: 1, at: "x" };
const filter = {
  operator: "AND",
  filters: [
    { column: "a", comparator: "EQUAL", value: 1, passIfMissing: false, valueTransferRule: { regex: "(\\d+)", castType: "INTEGER" } },
    { operator: "NOT", filters: [{ column: "b", comparator: "EXIST" }] },
    { offset: 0, limit: 3 },
  ],
};
const condition = { rowExistence: "IGNORE", column: { column: "a", comparator: "NOT_EQUAL", value: "x" } };
const read = { maxVersions: 2, timeRange: { start: 0, end: 2_000_000_000_000 }, columnsToGet: ["a", "b"], startColumn: "a", endColumn: "z", filter };
const range = { tableName: "t", direction: "FORWARD", start: { id: { infinity: "min" }, at: "" }, end: { id: 5, at: { infinity: "max" } }, limit: 3, ...read };
const put = {
  primaryKey: key,
  attributes: { a: 1, b: [{ value: "x", version: 1_700_000_000_000 }, { value: 2n }], c: new Uint8Array(3) },
  condition,
  returnContent: "PRIMARY_KEY",
};
const update = {
  primaryKey: key,
  put: { a: "y" },
  deleteVersions: { b: [1_700_000_000_000] },
  deleteColumns: ["c"],
  increment: { n: 1 },
  condition,
  returnContent: { afterModify: ["n"] },
};
const batch = [
  { tableName: "t", put },
  { tableName: "u", update: { primaryKey: { id: 1 }, put: { a: 1 } } },
  { tableName: "t", delete: { primaryKey: key } },
];
const index = { indexName: "i", type: "GLOBAL", primaryKey: ["d"], columns: ["e"], timeToLive: -1 };

/** Calls that are right, before they are damaged. */
const ROWS: [string, unknown, unknown?][] = [
  ["putRow", { tableName: "t", ...put }],
  ["updateRow", { tableName: "t", ...update }],
  ["deleteRow", { tableName: "t", primaryKey: key, condition }],
  ["getRow", { tableName: "t", primaryKey: key, ...read }],
  ["getRange", range],
  ["batchWriteRow", batch, { atomic: false }],
  ["batchWriteRow", [batch[0], batch[2]], { atomic: true }],
];
const CALL: [string, unknown, unknown?][] = [
  ...ROWS,
  ...ROWS,
  ...ROWS,
  [
    "batchGetRow",
    [
      { tableName: "t", primaryKeys: [key, { id: 2, at: "" }], ...read },
      { tableName: "u", primaryKeys: [{ id: 1 }] },
    ],
    { signal: undefined },
  ],
  [
    "createTable",
    {
      tableName: "v",
      primaryKey: [
        { name: "id", type: "INTEGER" },
        { name: "at", type: "INTEGER", autoIncrement: true },
      ],
      timeToLive: -1,
      maxVersions: 1,
      maxVersionOffset: 86400,
      allowUpdate: true,
      reservedThroughput: { read: 0, write: 0 },
      definedColumns: [
        { name: "d", type: "STRING" },
        { name: "e", type: "DOUBLE" },
      ],
      indexes: [index],
      enableLocalTransaction: false,
    },
  ],
  ["describeTable", { tableName: "t" }],
  ["describeTable", "t"],
  ["updateTable", { tableName: "u", timeToLive: 86400, maxVersions: 3, reservedThroughput: { read: 1 } }],
  ["deleteTable", { tableName: "v" }],
  ["listTable", {}],
  ["createIndex", { tableName: "w", index, includeBaseData: true }],
  ["dropIndex", { tableName: "w", indexName: "i" }],
  ["addDefinedColumn", { tableName: "w", columns: [{ name: "f", type: "BINARY" }] }],
  ["deleteDefinedColumn", { tableName: "w", columns: ["f"] }],
  ["computeSplitPointsBySize", { tableName: "t", splitSize: 1, splitSizeUnitBytes: 1 << 20, splitPointLimit: 3 }],
  ["computeConsumed", { tableName: "t", period: "second", start: 0, end: 1, prices: { reserved: { read: 1, write: 1 }, onDemand: { read: 1, write: 1 } } }],
  ["createAccessKey", { rights: ["read", "write"] }],
  ["listAccessKeys", {}],
  ["updateAccessKey", { accessKeyId: "x", enabled: false, rights: ["admin"] }],
  ["deleteAccessKey", { accessKeyId: "x" }],
  ["metrics", {}],
  ["flush", {}],
  ["compact", {}],
  ["computeStorage", { tableName: "u" }],
  ["computeStorage", "u"],
  ["setClock", 5, {}],
  [
    "importRows",
    "t",
    [
      { id: 1, at: "x", a: 1 },
      { primaryKey: key, attributes: {} },
    ],
  ],
  ["startLocalTransaction", { tableName: "t", partitionKey: { id: 1 } }],
];

test(`every call with garbage settles, and the engine goes on (seed ${SEED})`, { skip, timeout: 300_000 }, async () => {
  const tabstore = await load();
  const below = random(SEED);
  const { value, damage } = garbage(below, tabstore);
  const db = await open({ retry: { attempts: 2, minDelay: 1, maxDelay: 1 } });
  const instance = db as unknown as Record<string, (...args: unknown[]) => unknown>;
  const types = (...columns: [string, "INTEGER" | "STRING"][]) => columns.map(([name, type]) => ({ name, type }));
  await db.createTable({ tableName: "t", primaryKey: types(["id", "INTEGER"], ["at", "STRING"]), maxVersions: 3, maxVersionOffset: 1e9 });
  await db.createTable({ tableName: "u", primaryKey: types(["id", "INTEGER"]) });
  await db.createTable({
    tableName: "w",
    primaryKey: types(["id", "INTEGER"]),
    definedColumns: [
      { name: "d", type: "STRING" },
      { name: "e", type: "DOUBLE" },
    ],
  });
  await db.createTable({ tableName: "sane", primaryKey: types(["id", "INTEGER"]) });
  const works = async (n: number): Promise<void> => {
    await db.putRow({ tableName: "sane", primaryKey: { id: n }, attributes: { n } });
    assert.equal((await db.getRow({ tableName: "sane", primaryKey: { id: n } })).row?.get("n"), n);
    assert.equal(db.closed, false);
  };
  let transaction: Transaction | undefined;
  let together: Promise<unknown>[] = [];
  for (let n = 0; n < CALLS; n++) {
    const [method, first, second] = CALL[below(CALL.length)];
    const inside = transaction !== undefined && method !== "setClock" && below(3) === 0 && method in transaction;
    const args = below(12) === 0 ? [first, second] : second === undefined || below(3) > 0 ? [damage(first), second] : [first, damage(second)];
    const target = inside ? (transaction as unknown as typeof instance) : instance;
    const what = `call ${n}, ${inside ? "transaction." : ""}${method}`;
    const call = settles(what, () => target[method](...args)).then(async (result) => {
      if (method !== "startLocalTransaction" || result === undefined) return;
      await settles(`${what}, ending the one before`, () => transaction?.[below(2) === 0 ? "abort" : "commit"]());
      transaction = result as Transaction;
    });
    together.push(call);
    if (below(3) === 0) {
      await Promise.all(together);
      together = [];
    }
    if (n % 200 === 199) await works(n);
  }
  await Promise.all(together);
  for (let n = 0; n < 200; n++) {
    await settles(`scan ${n}`, async () => {
      let rows = 0;
      for await (const row of db.scan(damage(range) as never)) if (row.toObject() && ++rows > 20) break;
    });
    await settles(`scanPages ${n}`, async () => {
      for await (const rows of db.scanPages(damage(range) as never)) if (rows.length > 0) break;
    });
    await settles(`verify ${n}`, async () => {
      for await (const damaged of db.verify(damage({ texts: true }) as never)) if (damaged.length > 0) break;
    });
    await settles(`inspectImport ${n}`, () =>
      tabstore.inspectImport(below(3) === 0 ? (value() as never) : new Blob(["id,a\n1,é\n"]), damage({ format: "csv", rows: 5, delimiter: "," }) as never),
    );
    await settles(`writer ${n}`, async () => {
      const writer = db.writer(damage("t") as never, damage({ maxRowsInFlight: 5 }) as never);
      await writer.put(damage({ primaryKey: key, attributes: { a: 1 } }) as never);
      await writer.put({ primaryKey: key });
      await writer.close();
    });
    await settles(`listener ${n}`, () => db.addEventListener(value() as never, value() as never, value() as never));
  }
  await works(CALLS);
  await transaction?.abort().catch(() => {});
  await db.close();
});

/** Whether what a value says depends on who looks, and when. */
function isDynamic(value: unknown, depth = 6): boolean {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || depth === 0) return false;
  if (types.isProxy(value)) return true;
  if (Object.hasOwn(value, "constructor") && depth < 6) return true;
  return Object.values(Object.getOwnPropertyDescriptors(value)).some(
    ({ get, set, value: inner }) => get !== undefined || set !== undefined || isDynamic(inner, depth - 1),
  );
}

/** The newest values by name, read from columns without the codec; `undefined` for an illegal value. */
function said(columns: unknown): Map<string, unknown> | undefined {
  if (columns === undefined) return new Map();
  if (typeof columns !== "object" || columns === null || ![Object.prototype, null].includes(Object.getPrototypeOf(columns) as object | null)) return undefined;
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(columns)) {
    let newest: unknown = value;
    if (Array.isArray(value)) {
      const cells = Array.from({ length: value.length }, (_, i) => value[i] as unknown);
      if (
        cells.length === 0 ||
        cells.some(
          (cell) =>
            typeof cell !== "object" ||
            cell === null ||
            !Object.hasOwn(cell, "value") ||
            Object.keys(cell).some((member) => member !== "value" && member !== "version"),
        )
      )
        return undefined;
      const [first] = cells as { value: unknown }[];
      newest = cells.length === 1 ? first!.value : ANY;
    }
    if (types.isUint8Array(newest)) {
      try {
        Uint8Array.prototype.keys.call(newest);
      } catch {
        return undefined;
      }
    } else if (newest !== ANY && !["string", "number", "bigint", "boolean"].includes(typeof newest)) {
      if (Object.prototype.toString.call(newest) !== "[object Object]" || Object.getPrototypeOf(newest)?.constructor?.name !== "Double") return undefined;
      newest = (newest as { value: unknown }).value;
      if (typeof newest !== "number") return undefined;
    }
    values.set(name, newest);
  }
  return values;
}

test(`what a call with garbage has stored is what it said, and what says nothing clear is refused (seed ${SEED})`, { skip, timeout: 300_000 }, async () => {
  const tabstore = await load();
  const below = random(SEED + 1);
  const { value, damage } = garbage(below, tabstore);
  const db = await open({ retry: false, integers: "bigint" });
  await db.createTable({ tableName: "said", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersionOffset: 1e9 });
  const names = ["a", "b", "c", "_d", "constructor"];
  let stored = 0;
  let refused = 0;
  for (let n = 0; n < CALLS / 2; n++) {
    const sound = Object.fromEntries(
      names
        .slice(0, 1 + below(4))
        .map((name) => [name, below(3) > 0 ? ["é", 5, 7n, true, tabstore.double(3), new Uint8Array([1, 2]), [{ value: "日本" }]][below(7)] : value(2)]),
    );
    let columns: unknown = below(3) === 0 ? value(2) : sound;
    try {
      if (below(3) === 0) columns = damage(sound);
    } catch {
      // Some garbage cannot be walked through, to be damaged more.
    }
    const dynamic = isDynamic(columns);
    const clear = dynamic ? undefined : said(columns);
    const primaryKey = { id: n };
    const way = below(9);
    const what = `call ${n}, way ${way}`;
    const done = await settles(what, async () => {
      if (way === 0) await db.putRow({ tableName: "said", primaryKey, attributes: columns as never });
      else if (way === 1) await db.updateRow({ tableName: "said", primaryKey, put: columns as never });
      else if (way === 2) {
        const [result] = await db.batchWriteRow([{ tableName: "said", put: { primaryKey, attributes: columns as never } }]);
        if (!result!.ok) throw result!.error;
      } else if (way === 3) {
        const [result] = await db.batchWriteRow([{ tableName: "said", update: { primaryKey, put: columns as never } }], { atomic: true });
        if (!result!.ok) throw result!.error;
      } else if (way === 4) {
        const tx = await db.startLocalTransaction({ tableName: "said", partitionKey: primaryKey });
        try {
          await tx.putRow({ tableName: "said", primaryKey, attributes: columns as never });
          await tx.commit();
        } finally {
          if (tx.state === "OPEN") await tx.abort();
        }
      } else if (way === 5) {
        // A null of a source is no value there, so it is left out like a column that is not there.
        await db.importRows("said", [{ primaryKey, attributes: columns as never }]);
      } else if (way === 6) {
        await db.putRow({ tableName: "said", primaryKey: { id: damage(n) as never }, attributes: columns as never });
      } else if (way === 7) {
        await db.updateRow({ tableName: "said", primaryKey, put: { sound: 1 }, deleteColumns: columns as never });
      } else {
        const writer = db.writer("said");
        try {
          writer.put({ primaryKey, attributes: columns as never });
        } finally {
          await writer.close();
        }
      }
      return "stored";
    });
    const { row } = await db.getRow({ tableName: "said", primaryKey });
    if (way === 7) {
      // Names to delete are a list of texts.
      if (done === undefined) assert.equal(row, null, `${what} was refused, and stored something`);
      else assert.deepEqual([Array.isArray(columns) || columns === undefined, row?.columnNames], [true, ["sound"]], `${what}: ${inspect(columns)}`);
      continue;
    }
    if (way === 6) {
      // A damaged key: nothing but its own row, if any.
      if (row === null) continue;
    }
    if (done === undefined) {
      assert.equal(row, null, `${what} was refused, and stored something`);
      refused += 1;
      continue;
    }
    if (dynamic) continue;
    if (clear === undefined) assert.fail(`${what} says nothing that can be stored, and was taken: ${inspect(columns)}`);
    assert.deepEqual([...row!.columnNames], [...clear.keys()].sort(), what);
    for (const [name, one] of clear) {
      if (one === ANY) continue;
      const found = row!.get(name);
      const expected = row!.type(name) === "INTEGER" ? BigInt(one as number) : one;
      // Bytes may be of a class that says other things of itself.
      assert.deepEqual(
        found instanceof Uint8Array ? [...found] : found,
        expected instanceof Uint8Array ? [...Uint8Array.prototype.values.call(expected)] : expected,
        what,
      );
    }
    stored += 1;
  }
  assert.ok(stored > 100 && refused > 100, `${stored} stored, ${refused} refused`);
  await db.close();
});

test(`opening with garbage settles (seed ${SEED})`, { skip, timeout: 120_000 }, async () => {
  const tabstore = await load();
  const { damage } = garbage(random(SEED), tabstore);
  const options = {
    storage: "memory",
    create: true,
    worker: false,
    durability: "relaxed",
    cacheBytes: 1 << 20,
    memtableBytes: 1 << 20,
    kind: "capacity",
    quotas: { tables: 5 },
    limits: "sdk",
    integers: "bigint",
    clock: { now: 5 },
    throttle: { unitsPerSecond: 5 },
    partitions: { splitBytes: 5000, mergeBytes: 100, splitOperations: 10 },
    prices: { onDemand: { read: 1, write: 2 } },
    retry: { attempts: 2 },
  };
  for (let n = 0; n < 300; n++) {
    const db = (await settles(`open ${n}`, () => tabstore.open(damage("demo") as never, damage(options) as never))) as Database | undefined;
    await db?.close();
    await settles(`listInstances ${n}`, () => tabstore.listInstances(damage({}) as never));
    for (const method of ["createInstance", "describeInstance", "deleteInstance"] as const)
      await settles(`${method} ${n}`, () => tabstore[method](damage("demo") as never, damage({}) as never));
  }
});
