/** The entry `tabstore/azure` on the real engine. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Edm } from "@azure/data-tables";

import { azure, azureHttpClient, type AzureTable, odata, type TransactionAction, type TransactionError, type TypedValue } from "../src/azure/index.js";
import type { Database, TabStoreError } from "../src/index.js";
import { all } from "./support/azure.js";
import { load, open, skip } from "./support/package.js";

interface Fields {
  n?: number;
  text?: string | null;
}

async function table(db: Database): Promise<AzureTable<Fields>> {
  return azure(db, "Demo").createTable<Fields>("Things");
}

async function failure(work: Promise<unknown>): Promise<TransactionError> {
  const { TabStoreError } = await load();
  return work.then(
    () => assert.fail("it was done"),
    (error: unknown) => {
      assert.ok(error instanceof TabStoreError, String(error));
      return error as TransactionError;
    },
  );
}

test("Z1: an account has tables, apart from the instance's and from other accounts'", { skip }, async () => {
  const db = await open();
  const account = azure(db, "Demo");
  assert.equal(account.name, "demo");
  await account.createTable("Things");
  await azure(db, "other").createTable("Things");
  assert.equal((await failure(account.createTable("THINGS"))).code, "TableAlreadyExists");
  await account.createTable("more");
  assert.deepEqual(await all(account.listTables()), ["more", "Things"]);
  assert.deepEqual(await all(account.listTables({ filter: odata`TableName eq ${"more"}` })), ["more"]);
  assert.deepEqual(await all(azure(db, "OTHER").listTables()), ["Things"]);
  assert.deepEqual(await db.listTable(), []);
  await account.deleteTable("things");
  assert.deepEqual(await all(account.listTables()), ["more"]);
  const missing = await failure(account.deleteTable("things"));
  assert.deepEqual([missing.code, missing.status, missing.retryable], ["ResourceNotFound", 404, false]);
  assert.match(missing.requestId!, /^[0-9a-f-]{36}$/);
  await db.close();
});

test("Z2: values of all eight types come back as they were given", { skip }, async () => {
  const db = await open();
  const things = await azure(db, "demo").createTable("things");
  const properties = {
    text: "é€😀\0",
    empty: "",
    yes: true,
    no: false,
    int: -(2 ** 31),
    most: 2 ** 31 - 1,
    beyond: 2 ** 31,
    fraction: 0.1,
    large: 1e300,
    tiny: 5e-324,
    nan: NaN,
    up: Infinity,
    down: -Infinity,
    big: 2n ** 63n - 1n,
    small: -(2n ** 63n),
    zero: 0n,
    when: new Date("2026-11-25T08:00:00.123Z"),
    old: new Date("1601-01-01T00:00:00Z"),
    bytes: Uint8Array.from({ length: 256 }, (_, at) => at),
    none: new Uint8Array(),
    long: new Uint8Array(65536).fill(7),
    id: { type: "Guid", value: "0f8fad5b-d9cb-469f-a165-70867728950e" },
  };
  await things.createEntity({ partitionKey: "a'b é", rowKey: "", ...properties });
  const { partitionKey, rowKey, etag, timestamp, ...read } = await things.getEntity("a'b é", "");
  assert.deepEqual(read, properties);
  assert.deepEqual([partitionKey, rowKey], ["a'b é", ""]);
  assert.match(etag, /^W\/"datetime'.*'"$/);
  assert.match(timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z$/);
  // A type that JavaScript does not have.
  await things.upsertEntity({ partitionKey: "p", rowKey: "r", three: { type: "Double", value: "3" }, minus: -0 });
  assert.deepEqual(await all(things.listEntities({ filter: "three eq 3.0", select: ["three", "minus", "rowKey", "missing"] })), [
    { ...(await pick(things, "p", "r", ["partitionKey", "rowKey", "timestamp", "etag"])), three: 3, minus: -0, missing: null },
  ]);
  assert.deepEqual(Object.keys(await things.getEntity("p", "r", { select: [] })).sort(), ["etag", "partitionKey", "rowKey", "timestamp"]);
  // What comes back can be written again.
  await things.updateEntity(await things.getEntity("a'b é", ""), "Replace");
  const again = await things.getEntity("a'b é", "");
  assert.notEqual(again.etag, etag);
  assert.deepEqual({ ...again, etag, timestamp }, { ...properties, partitionKey, rowKey, etag, timestamp });
  await db.close();
});

test("Z2: a value with its type may be a number, a boolean or a Date, as those of Microsoft's client are", { skip }, async () => {
  const db = await open();
  const things = await azure(db, "demo").createTable("things");
  const when = new Date("2026-11-25T08:00:00.123Z");
  const given = {
    int: { type: "Int32", value: 5 },
    three: { type: "Double", value: 3 },
    nan: { type: "Double", value: NaN },
    minus: { type: "Double", value: -0 },
    up: { type: "Double", value: Infinity },
    yes: { type: "Boolean", value: true },
    no: { type: "Boolean", value: "False" },
    when: { type: "DateTime", value: when },
    text: { type: "String", value: "a" },
  } satisfies Record<string, TypedValue>;
  // The same types are Microsoft's, but for the Date.
  const { when: _, ...theirs } = given;
  void (theirs satisfies { int: Edm<"Int32">; three: Edm<"Double">; nan: Edm<"Double">; yes: Edm<"Boolean">; text: Edm<"String"> } & object);
  await things.createEntity({ partitionKey: "p", rowKey: "r", ...given });
  const expected = { int: 5, three: 3, nan: NaN, minus: -0, up: Infinity, yes: true, no: false, when, text: "a" };
  assert.deepEqual(await pick(things, "p", "r", Object.keys(expected)), expected);
  assert.equal((await all(things.listEntities({ filter: "three eq 3.0 and minus eq 0.0 and int eq 5" }))).length, 1, "a Double is a Double");
  // What is none of its type is refused, as the service refuses it.
  for (const value of [
    { type: "Int32", value: 1.5 },
    { type: "Int32", value: 2 ** 31 },
    { type: "Int64", value: 5 },
    { type: "String", value: 5 },
    { type: "Boolean", value: 1 },
    { type: "Guid", value: true },
  ]) {
    assert.equal((await failure(things.upsertEntity({ partitionKey: "p", rowKey: "s", value }))).code, "InvalidInput", JSON.stringify(value));
  }
  for (const value of [{ type: "Int32" }, { type: "Single", value: 5 }, { type: "DateTime", value: new Date(NaN) }, { type: "Double", value: [] }]) {
    assert.equal((await failure(things.upsertEntity({ partitionKey: "p", rowKey: "s", value }))).code, "OTSParameterInvalid", JSON.stringify(value));
  }
  await db.close();
});

async function pick(things: AzureTable, partitionKey: string, rowKey: string, names: readonly string[]): Promise<Record<string, unknown>> {
  const entity = await things.getEntity(partitionKey, rowKey);
  return Object.fromEntries(names.map((name) => [name, (entity as Record<string, unknown>)[name]]));
}

test("Z2: keys and texts of every length and of any letters reach the engine as they are", { skip }, async () => {
  const db = await open();
  const things = await azure(db, "demo").createTable<Fields>("things");
  // Short and long texts, and those with other letters than ASCII's, are written in ways of their own.
  for (let length = 0; length < 240; length++) {
    for (const end of ["", "é", "😀"]) await things.createEntity({ partitionKey: "p", rowKey: "k".repeat(length) + end, text: end + "t".repeat(length) });
  }
  for (let length = 0; length < 240; length++) {
    for (const end of ["", "é", "😀"]) assert.equal((await things.getEntity("p", "k".repeat(length) + end)).text, end + "t".repeat(length));
  }
  await db.close();
});

test("Z2: properties called like JavaScript's own are properties", { skip }, async () => {
  const db = await open();
  const things = await azure(db, "demo").createTable("things");
  const odd = JSON.parse('{ "__proto__": 5, "constructor": "c", "toString": true, "hasOwnProperty": 1 }') as Record<string, unknown>;
  await things.createEntity({ partitionKey: "p", rowKey: "r", ...odd, ["__proto__"]: 5n });
  const read = await things.getEntity("p", "r");
  assert.equal(Object.getPrototypeOf(read), Object.prototype);
  assert.deepEqual(Object.getOwnPropertyDescriptor(read, "__proto__")?.value, 5n);
  assert.deepEqual([read["constructor"], read["toString"], read["hasOwnProperty"]], ["c", true, 1]);
  await db.close();
});

test("Z2: names that the service or this interface has for itself hide nothing", { skip }, async () => {
  const db = await open();
  const things = await azure(db, "demo").createTable("things");
  for (const name of ["PartitionKey", "RowKey", "Timestamp", "n@odata.type"]) {
    assert.equal((await failure(things.createEntity({ partitionKey: "p", rowKey: "r", [name]: "other" }))).code, "OTSParameterInvalid", name);
  }
  // Another client may call a property like that.
  const body = JSON.stringify({ PartitionKey: "p", RowKey: "r", etag: "mine", partitionKey: "other", timestamp: "never", n: 1 });
  const headers = [
    ["accept", "application/json"],
    ["content-type", "application/json"],
  ] as const;
  assert.equal((await azureHttpClient(db, { auth: "off" }).sendRequest({ method: "POST", url: "inproc://demo/things", headers, body })).status, 201);
  const { partitionKey, etag, timestamp, n } = await things.getEntity("p", "r");
  assert.deepEqual([partitionKey, n], ["p", 1]);
  assert.match(etag + timestamp, /^W\/"datetime'.*'"\d{4}-/);
  await things.updateEntity({ partitionKey: "p", rowKey: "r", n: 2 }, "Merge", { etag });
  await db.close();
});

test("Z2: an ETag decides between two writers, and merge and replace do what they say", { skip }, async () => {
  const db = await open();
  const things = await table(db);
  const key = { partitionKey: "p", rowKey: "r" };
  const { etag } = await things.createEntity({ ...key, n: 1, text: "one" });
  assert.deepEqual((await failure(things.createEntity(key))).code, "EntityAlreadyExists");
  const second = await things.updateEntity({ ...key, n: 2, text: null }, "Merge", { etag });
  assert.deepEqual(await things.getEntity("p", "r"), { ...key, n: 2, text: "one", etag: second.etag, timestamp: (await things.getEntity("p", "r")).timestamp });
  const late = await failure(things.updateEntity({ ...key, n: 3 }, "Replace", { etag }));
  assert.deepEqual([late.code, late.status], ["UpdateConditionNotSatisfied", 412]);
  assert.equal((await failure(things.deleteEntity("p", "r", { etag }))).code, "UpdateConditionNotSatisfied");
  await things.updateEntity({ ...key, n: 4 }, "Replace");
  assert.equal("text" in (await things.getEntity("p", "r")), false);
  await things.upsertEntity({ ...key, text: "two" });
  await things.deleteEntity("p", "r", { etag: (await things.getEntity("p", "r")).etag });
  assert.deepEqual(
    [await failure(things.getEntity("p", "r")), await failure(things.deleteEntity("p", "r")), await failure(things.updateEntity(key))].map(({ code }) => code),
    ["ResourceNotFound", "ResourceNotFound", "ResourceNotFound"],
  );
  await db.close();
});

test("Z3: pages go on where they ended, whatever was deleted meanwhile", { skip }, async () => {
  const db = await open();
  const things = await table(db);
  for (let n = 0; n < 25; n++) await things.createEntity({ partitionKey: `p${n % 3}`, rowKey: String(n).padStart(2, "0"), n });
  const expected = Array.from({ length: 25 }, (_, n) => n).sort((a, b) => (a % 3) - (b % 3) || a - b);
  assert.deepEqual(
    (await all(things.listEntities({ pageSize: 4 }))).map(({ n }) => n),
    expected,
  );
  const first = await things.listPage({ pageSize: 10 });
  assert.deepEqual(
    first.entities.map(({ n }) => n),
    expected.slice(0, 10),
  );
  await things.deleteEntity(`p${expected[10] % 3}`, String(expected[10]).padStart(2, "0"));
  const rest = await things.listPage({ continuation: first.continuation });
  assert.deepEqual(
    rest.entities.map(({ n }) => n),
    expected.slice(11),
  );
  assert.equal(rest.continuation, undefined);
  assert.deepEqual(
    (await all(things.listEntities({ filter: odata`PartitionKey eq ${"p1"} and n lt ${10}` }))).map(({ n }) => n),
    [1, 7],
  );
  assert.equal((await failure(all(things.listEntities({ filter: "n eq" })))).code, "InvalidInput");
  await db.close();
});

test("Z3: a transaction is done wholly or not at all, and says which action failed", { skip }, async () => {
  const db = await open();
  const things = await table(db);
  const { etag } = await things.createEntity({ partitionKey: "p", rowKey: "old", n: 1 });
  const answers = await things.submitTransaction([
    ["create", { partitionKey: "p", rowKey: "a", n: 1 }],
    ["update", { partitionKey: "p", rowKey: "old", n: 2 }, "Replace", { etag }],
    ["upsert", { partitionKey: "p", rowKey: "b", text: "HTTP/1.1 409 Conflict" }, "Merge"],
  ]);
  assert.equal(answers[1].etag, (await things.getEntity("p", "old")).etag);
  assert.ok(answers.every((answer) => answer.etag !== undefined));
  assert.deepEqual(await things.submitTransaction([["delete", { partitionKey: "p", rowKey: "b" }]]), [{ etag: undefined }]);
  const many = (count: number): TransactionAction<Fields>[] => Array.from({ length: count }, (_, n) => ["upsert", { partitionKey: "q", rowKey: String(n), n }]);
  assert.equal((await things.submitTransaction(many(100))).length, 100);
  const refused = async (actions: TransactionAction<Fields>[]): Promise<unknown[]> => {
    const { code, status, index } = await failure(things.submitTransaction(actions));
    return [code, status, index];
  };
  assert.deepEqual(
    await refused([
      ["create", { partitionKey: "p", rowKey: "c" }],
      ["update", { partitionKey: "p", rowKey: "old" }, "Merge", { etag }],
    ]),
    ["UpdateConditionNotSatisfied", 412, 1],
  );
  assert.deepEqual(await refused([...many(2), ["create", { partitionKey: "q", rowKey: "99" }]]), ["EntityAlreadyExists", 409, 2]);
  assert.deepEqual(await refused([...many(2), ["upsert", { partitionKey: "q", rowKey: "1" }]]), ["InvalidDuplicateRow", 400, 2]);
  assert.deepEqual(await refused([...many(1), ["upsert", { partitionKey: "z", rowKey: "1" }]]), ["CommandsInBatchActOnDifferentPartitions", 400, 1]);
  assert.deepEqual(await refused(many(101)), ["InvalidInput", 400, 99]);
  assert.equal((await failure(things.getEntity("p", "c"))).code, "ResourceNotFound");
  await db.close();
});

test("Z3: a transaction that is refused as a whole names no action", { skip }, async () => {
  const now = 1_800_000_000_000;
  const db = await open({ throttle: { unitsPerSecond: 10 }, clock: { now } });
  const things = await table(db);
  const refused = async (actions: readonly TransactionAction<Fields>[]): Promise<unknown[]> => {
    const error = await failure(things.submitTransaction(actions));
    return [error.code, error.status, error.index, error.retryable];
  };
  // Each is small enough, and 70 of them have more than 4 MiB.
  const large = (count: number): TransactionAction<Fields>[] =>
    Array.from({ length: count }, (_, n) => ["upsert", { partitionKey: "p", rowKey: String(n), text: "t".repeat(2 ** 15), more: "m".repeat(2 ** 15) }]);
  assert.deepEqual(await refused(large(70)), ["RequestBodyTooLarge", 413, undefined, false]);
  // The first one of a second may be larger than what a second has.
  await things.submitTransaction(large(10));
  assert.deepEqual(await refused(large(10)), ["ServerBusy", 503, undefined, true]);
  assert.deepEqual(await refused([]), ["OTSParameterInvalid", 400, undefined, false]);
  await db.setClock(now + 1000);
  assert.equal((await all(things.listEntities())).length, 10);
  await db.close();
});

test("Z1: wrong arguments are refused by name, before anything is asked", { skip }, async () => {
  const db = await open();
  const things = await table(db);
  const wrong = async (work: () => unknown): Promise<string> => {
    const { code, message } = await failure((async () => work())());
    assert.equal(code, "OTSParameterInvalid");
    return message;
  };
  assert.match(await wrong(() => azure(db, "a b")), /'account' is 'a b'/);
  assert.match(await wrong(() => things.getEntity(undefined as never, "r")), /'key\.partitionKey' is undefined/);
  assert.match(await wrong(() => things.createEntity({ partitionKey: "p" } as never)), /'entity\.rowKey' is undefined/);
  assert.match(await wrong(() => things.createEntity({ partitionKey: "p", rowKey: "r", n: [1] as never })), /'entity\.n' is an array/);
  assert.match(
    await wrong(() => things.createEntity({ partitionKey: "p", rowKey: "r", when: new Date(NaN) } as never)),
    /'entity\.when' is a Date out of range/,
  );
  assert.match(
    await wrong(() => things.updateEntity({ partitionKey: "p", rowKey: "r" }, "merge" as never)),
    /'mode' is 'merge'; it must be 'Merge' or 'Replace'/,
  );
  assert.match(await wrong(() => things.updateEntity({ partitionKey: "p", rowKey: "r" }, "Merge", { etag: "*\r\nX: 1" })), /'etag'/);
  assert.match(await wrong(() => things.getEntity("\ud800", "r")), /surrogate/);
  assert.match(await wrong(() => things.submitTransaction([])), /'actions' is an empty array/);
  assert.match(await wrong(() => things.submitTransaction([["put", {}] as never])), /'actions\[0\]\[0\]' is 'put'/);
  assert.match(await wrong(() => things.listPage({ pageSize: 1001 })), /'pageSize' is 1001/);
  assert.match(await wrong(() => things.listPage({ continuation: "x" })), /'continuation'/);
  assert.match(await wrong(() => things.getEntity("p", "r", { etag: "*" } as never)), /Unknown argument 'etag'/);
  assert.match(await wrong(() => azureHttpClient(db, { auth: "on" as never })), /'auth' is 'on'/);
  assert.match(await wrong(() => azureHttpClient(db, { auth: "off", key: "x" })), /'key'/);
  assert.throws(() => azure({} as never, "demo"), TypeError);
  await db.close();
});

test("I6: a client without keys is refused, and passes with a key of the instance", { skip }, async () => {
  const db = await open();
  await table(db);
  const { accessKeyId, accessKeySecret } = await db.createAccessKey({ rights: ["read"] });
  const ask = async (client: ReturnType<typeof azureHttpClient>): Promise<number> =>
    (await client.sendRequest({ method: "GET", url: "https://demo.table.example/Things()", headers: [["accept", "application/json"]] })).status;
  assert.deepEqual(
    [await ask(azureHttpClient(db)), await ask(azureHttpClient(db, { key: "wrong" })), await ask(azureHttpClient(db, { auth: "off" }))],
    [403, 403, 200],
  );
  assert.equal(await ask(azureHttpClient(db, { key: accessKeySecret })), 200);
  await db.updateAccessKey({ accessKeyId, enabled: false });
  assert.equal(await ask(azureHttpClient(db, { key: accessKeySecret })), 403);
  await db.close();
});

test("Z1: a call that is given up rejects, and a closed database says so", { skip }, async () => {
  const db = await open();
  const things = await table(db);
  const given = new AbortController();
  given.abort(new Error("enough"));
  await assert.rejects(things.getEntity("p", "r", { signal: given.signal }), /enough/);
  const client = azureHttpClient(db, { auth: "off" });
  await assert.rejects(client.sendRequest({ method: "GET", url: "inproc://demo/Tables", headers: [], abortSignal: given.signal }), { name: "AbortError" });
  await db.close();
  assert.equal(((await failure(things.getEntity("p", "r"))) as TabStoreError).code, "Closed");
});

test("I5: requests to an account are counted, and those that are refused as errors", { skip }, async () => {
  const db = await open();
  const things = await table(db);
  await things.createEntity({ partitionKey: "p", rowKey: "1" });
  const answered = async (): Promise<number[]> => {
    const { requests, errors } = (await db.metrics()).operations.AzureTable;
    return [requests, errors];
  };
  assert.deepEqual(await answered(), [2, 0]);
  for (const [work, code] of [
    [things.createEntity({ partitionKey: "p", rowKey: "1" }), "EntityAlreadyExists"],
    [things.getEntity("p", "2"), "ResourceNotFound"],
    [things.updateEntity({ partitionKey: "p", rowKey: "1" }, "Merge", { etag: "W/\"datetime'2020-01-01T00%3A00%3A00Z'\"" }), "UpdateConditionNotSatisfied"],
  ] as const)
    assert.equal((await failure(work)).code, code);
  assert.deepEqual(await answered(), [5, 3]);
  await db.close();
});
