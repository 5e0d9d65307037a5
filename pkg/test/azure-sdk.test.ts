/** Microsoft's client for Azure tables, as it is published, on the real engine. Nothing but `httpClient` is given to it. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Edm, odata, TableClient, TableServiceClient, type TableEntityResultPage } from "@azure/data-tables";

import { azureHttpClient } from "../src/azure/index.js";
import { all } from "./support/azure.js";
import { open, skip } from "./support/package.js";
import { type Fields, service, table, refusal, refused, rows, fill, keyOf, expectedKeys, fields } from "./support/azure-sdk.js";

test("Z1: the SDK's service client makes, lists and deletes tables, and what is there or gone already is no error", { skip }, async () => {
  const db = await open();
  const client = service(db);
  for (const name of ["stations", "Planes", "stations", "STATIONS"]) await client.createTable(name);
  for (let n = 10; n < 30; n++) await client.createTable(`t${n}`);
  const names = (await all(client.listTables())).map(({ name }) => name);
  assert.deepEqual(names, ["Planes", "stations", ...Array.from({ length: 20 }, (_, n) => `t${n + 10}`)]);
  assert.deepEqual(
    (await all(client.listTables({ queryOptions: { filter: odata`TableName ge ${"t2"} and TableName lt ${"t23"}` } }))).map(({ name }) => name),
    ["t20", "t21", "t22"],
  );
  const pages = await all(client.listTables().byPage({ maxPageSize: 9 }));
  assert.deepEqual(
    pages.map((page) => page.length),
    [9, 9, 4],
  );
  assert.deepEqual(
    pages.flat().map(({ name }) => name),
    names,
  );
  assert.equal(pages[2]!.continuationToken, undefined);
  // A page goes on behind its token, also after its table is gone.
  await client.deleteTable("t17");
  const rest = await all(client.listTables().byPage({ maxPageSize: 100, continuationToken: pages[0]!.continuationToken! }));
  assert.deepEqual(
    rest.flat().map(({ name }) => name),
    names.slice(9).filter((name) => name !== "t17"),
  );
  await client.deleteTable("t17");
  await client.deleteTable("PLANES");
  assert.ok(!(await all(client.listTables())).some(({ name }) => name === "Planes"));
  for (const [name, code] of [
    ["a", "OutOfRangeInput"],
    ["a".repeat(64), "OutOfRangeInput"],
    ["my_table", "InvalidResourceName"],
    ["1ab", "InvalidResourceName"],
    ["tables", "InvalidInput"],
  ]) {
    assert.deepEqual(await refusal(client.createTable(name!)), [400, code], name);
  }
  await db.close();
});

test("Z1: the SDK's table client makes and deletes its table, and answers for one that is not there", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  await client.createTable();
  await client.createEntity({ partitionKey: "p", rowKey: "r" });
  await client.deleteTable();
  await client.deleteTable();
  assert.deepEqual(await refusal(client.getEntity("p", "r")), [404, "TableNotFound"]);
  assert.deepEqual(await refusal(client.createEntity({ partitionKey: "p", rowKey: "r" })), [404, "TableNotFound"]);
  assert.deepEqual(await refusal(all(client.listEntities())), [404, "TableNotFound"]);
  assert.deepEqual(await refused(client, rows(2)), [404, "TableNotFound", 0]);
  // A new table of the name has nothing of the old one.
  await client.createTable();
  assert.deepEqual(await all(client.listEntities()), []);
  await db.close();
});

test("Z1: service properties come back as the SDK set them, and statistics come from the secondary", { skip }, async () => {
  const db = await open();
  const client = service(db);
  const retentionPolicy = { enabled: true, days: 7 };
  const properties = {
    logging: { version: "1.0", delete: true, read: false, write: true, retentionPolicy },
    hourMetrics: { version: "1.0", enabled: true, includeAPIs: true, retentionPolicy },
    minuteMetrics: { version: "1.0", enabled: false, retentionPolicy: { enabled: false } },
    cors: [
      { allowedOrigins: "https://a.example,https://b.example", allowedMethods: "GET,PUT", allowedHeaders: "x-ms-*", exposedHeaders: "*", maxAgeInSeconds: 60 },
    ],
  };
  await client.setProperties(properties);
  const { logging, hourMetrics, minuteMetrics, cors } = await client.getProperties();
  // The SDK names what the document lacks, without a value.
  assert.deepEqual(JSON.parse(JSON.stringify({ logging, hourMetrics, minuteMetrics, cors })), properties);
  // What is left out stays.
  await client.setProperties({ cors: [] });
  const after = await client.getProperties();
  assert.deepEqual(after.logging, properties.logging);
  assert.deepEqual(after.cors ?? [], []);
  const { geoReplication } = await client.getStatistics();
  assert.equal(geoReplication?.status, "live");
  assert.ok(geoReplication.lastSyncTime instanceof Date && !Number.isNaN(geoReplication.lastSyncTime.getTime()));
  await db.close();
});

test("Z1: any URL does, by the host's name or by the path, and each account has its own tables", { skip }, async () => {
  const db = await open();
  const httpClient = azureHttpClient(db, { auth: "off" });
  const client = await table(db);
  await client.createEntity({ partitionKey: "p", rowKey: "r", n: 1 });
  for (const url of ["https://DEMO.table.core.windows.net/", "http://127.0.0.1:10002/demo", "inproc://demo", "https://tables.example/demo/"]) {
    assert.equal((await new TableClient(url, "things", { httpClient }).getEntity<Fields>("p", "r")).n, 1, url);
  }
  const other = new TableServiceClient("https://other.table.core.windows.net", { httpClient });
  assert.deepEqual(await all(other.listTables()), []);
  await other.createTable("Things");
  assert.deepEqual(await refusal(new TableClient("https://other.table.core.windows.net", "Things", { httpClient }).getEntity("p", "r")), [
    404,
    "ResourceNotFound",
  ]);
  await db.close();
});

/** All eight types, as JavaScript has them and by their names. */
const GUID = "0f8fad5b-d9cb-469f-a165-70867728950e";
const NATIVE = {
  text: "é€😀 'quoted' {\"json\":1}",
  empty: "",
  yes: true,
  no: false,
  int: -(2 ** 31),
  most: 2 ** 31 - 1,
  fraction: 0.1,
  large: 1.5e300,
  tiny: 5e-324,
  big: 2n ** 63n - 1n,
  small: -(2n ** 63n),
  zero: 0n,
  when: new Date("2026-11-25T08:00:00.123Z"),
  old: new Date("1601-01-01T00:00:00Z"),
  last: new Date("9999-12-31T23:59:59.999Z"),
  bytes: Uint8Array.from({ length: 256 }, (_, at) => at),
  none: new Uint8Array(),
  long: "x".repeat(32768),
  wide: new Uint8Array(65536).fill(7),
};
const TYPED = {
  edmBinary: { type: "Binary", value: "AAEC/w==" },
  edmBoolean: { type: "Boolean", value: true },
  edmDateTime: { type: "DateTime", value: "2026-11-25T08:00:00.1234567Z" },
  edmDouble: { type: "Double", value: 2.5 },
  edmGuid: { type: "Guid", value: GUID },
  edmInt32: { type: "Int32", value: 7 },
  edmInt64: { type: "Int64", value: "-9007199254740993" },
  edmString: { type: "String", value: "7" },
} satisfies Record<string, Edm<"Binary" | "Boolean" | "DateTime" | "Double" | "Guid" | "Int32" | "Int64" | "String">>;

test("Z2: values of all eight types, native and by name, come back from the SDK as they were given", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const key = { partitionKey: "a'b é%", rowKey: "" };
  const { etag } = await client.createEntity({ ...key, ...NATIVE, ...TYPED, nothing: null, missing: undefined });
  const read = await client.getEntity(key.partitionKey, key.rowKey);
  const plain = {
    edmBinary: Uint8Array.of(0, 1, 2, 255),
    edmBoolean: true,
    edmDateTime: new Date("2026-11-25T08:00:00.123Z"),
    edmDouble: 2.5,
    edmGuid: TYPED.edmGuid,
    edmInt32: 7,
    edmInt64: -9007199254740993n,
    edmString: "7",
  };
  assert.deepEqual(fields(read), { ...NATIVE, ...plain });
  assert.deepEqual([read.partitionKey, read.rowKey, read.etag], [key.partitionKey, key.rowKey, etag]);
  assert.match(read.timestamp!, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z$/);
  assert.equal(etag, `W/"datetime'${encodeURIComponent(read.timestamp!)}'"`);
  const [listed] = await all(client.listEntities());
  assert.deepEqual(fields(listed!), { ...NATIVE, ...plain });
  assert.equal(listed!.etag, etag);
  // What was read can be written.
  await client.updateEntity(read as never, "Replace");
  assert.deepEqual(fields(await client.getEntity(key.partitionKey, key.rowKey)), { ...NATIVE, ...plain });
  await db.close();
});

test("Z2: without conversion the SDK gives each value with its type, and can write it back", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const key = { partitionKey: "p", rowKey: "r" };
  const odd = { nan: { type: "Double", value: "NaN" }, up: { type: "Double", value: "Infinity" }, down: { type: "Double", value: "-Infinity" } };
  await client.createEntity({ ...key, ...TYPED, ...odd, half: 0.5 });
  const expected = {
    ...TYPED,
    ...odd,
    half: { type: "Double", value: "0.5" },
    edmBoolean: { type: "Boolean", value: "true" },
    edmDouble: { type: "Double", value: "2.5" },
    edmInt32: { type: "Int32", value: "7" },
  };
  const read = await client.getEntity("p", "r", { disableTypeConversion: true });
  assert.deepEqual(fields(read), expected);
  assert.deepEqual((await all(client.listEntities({ disableTypeConversion: true }))).map(fields), [expected]);
  await client.updateEntity({ ...key, ...fields(read) }, "Replace");
  assert.deepEqual(fields(await client.getEntity("p", "r", { disableTypeConversion: true })), expected);
  // JSON has one kind of number; the name of the type keeps three a Double.
  await client.upsertEntity({ ...key, three: { type: "Double", value: "3" }, four: 4 }, "Replace");
  assert.equal((await all(client.listEntities({ queryOptions: { filter: "three eq 3.0 and four eq 4" } }))).length, 1);
  await db.close();
});

test("Z2: values, names and keys beyond the limits are refused to the SDK by the service's codes", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const write = (entity: Record<string, unknown>): Promise<unknown> => client.createEntity({ partitionKey: "p", rowKey: "r", ...entity });
  const many = (count: number): Record<string, number> => Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, n]));
  const cases: [Record<string, unknown>, string][] = [
    [{ text: "x".repeat(32769) }, "PropertyValueTooLarge"],
    [{ bytes: new Uint8Array(65537) }, "PropertyValueTooLarge"],
    [many(253), "TooManyProperties"],
    [Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`p${n}`, "x".repeat(32768)])), "EntityTooLarge"],
    [{ ["n".repeat(256)]: 1 }, "PropertyNameTooLong"],
    [{ "a-b": 1 }, "PropertyNameInvalid"],
    [{ partitionKey: "a/b" }, "OutOfRangeInput"],
    [{ rowKey: "a\tb" }, "OutOfRangeInput"],
    [{ rowKey: "r".repeat(1025) }, "PropertyValueTooLarge"],
    [{ rowKey: 5 }, "InvalidInput"],
    [{ when: new Date("1600-12-31T23:59:59Z") }, "OutOfRangeInput"],
    [{ big: 2n ** 63n }, "InvalidInput"],
    [{ guid: { type: "Guid", value: "no" } }, "InvalidInput"],
  ];
  for (const [entity, code] of cases) assert.deepEqual(await refusal(write(entity)), [400, code], Object.keys(entity)[0]);
  // The text would be more than a request may have.
  assert.deepEqual(await refusal(write(Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`p${n}`, "€".repeat(40000)])))), [413, "RequestBodyTooLarge"]);
  const http = azureHttpClient(db, { auth: "off" });
  // The engine takes no request of this size; the answer is the service's all the same.
  for (const body of ["x".repeat(70 << 20), new Uint8Array(70 << 20)]) {
    const { status, bodyAsText } = await http.sendRequest({
      method: "POST",
      url: "https://demo.table.core.windows.net/things",
      headers: [["accept", "application/json"]],
      body,
    });
    assert.deepEqual([status, bodyAsText.includes("RequestBodyTooLarge")], [413, true]);
  }
  assert.deepEqual(await all(client.listEntities()), []);
  await write(many(252));
  await client.createEntity({ partitionKey: "", rowKey: "k".repeat(1024) });
  assert.throws(() => client.getEntity(undefined as never, "r"), /partitionKey cannot be undefined or null/);
  await db.close();
});

test("Z2: the SDK's merge keeps what it does not name, replace does not, and nulls are stored by neither", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const key = { partitionKey: "p", rowKey: "r" };
  assert.deepEqual(await refusal(client.updateEntity({ ...key, n: 1 }, "Merge")), [404, "ResourceNotFound"]);
  assert.deepEqual(await refusal(client.updateEntity({ ...key, n: 1 }, "Replace")), [404, "ResourceNotFound"]);
  await client.upsertEntity({ ...key, n: 1, text: "one" }, "Merge");
  assert.deepEqual(await refusal(client.createEntity(key)), [409, "EntityAlreadyExists"]);
  await client.upsertEntity({ ...key, n: 2 });
  await client.updateEntity({ ...key, more: true, text: null });
  assert.deepEqual(fields(await client.getEntity("p", "r")), { n: 2, text: "one", more: true });
  await client.updateEntity({ ...key, n: 3, text: null }, "Replace");
  assert.deepEqual(fields(await client.getEntity("p", "r")), { n: 3 });
  await client.upsertEntity({ ...key, text: "two" }, "Replace");
  assert.deepEqual(fields(await client.getEntity("p", "r")), { text: "two" });
  await db.close();
});

test("Z2: of two of the SDK's writers with one ETag the second is refused, in both modes and in a deletion", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const key = { partitionKey: "p", rowKey: "r" };
  const { etag: first } = await client.createEntity({ ...key, n: 1 });
  const { etag: second } = await client.updateEntity({ ...key, n: 2 }, "Merge", { etag: first! });
  assert.notEqual(second, first);
  const conflict = [412, "UpdateConditionNotSatisfied"];
  assert.deepEqual(await refusal(client.updateEntity({ ...key, n: 3 }, "Merge", { etag: first! })), conflict);
  assert.deepEqual(await refusal(client.updateEntity({ ...key, n: 3 }, "Replace", { etag: first! })), conflict);
  assert.deepEqual(await refusal(client.deleteEntity("p", "r", { etag: first! })), conflict);
  assert.equal((await client.getEntity<Fields>("p", "r")).n, 2);
  const { etag: third } = await client.updateEntity({ ...key, n: 3 }, "Replace", { etag: second! });
  // Of many at once one wins.
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => client.updateEntity({ ...key, n }, "Merge", { etag: third! })));
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1);
  await client.deleteEntity("p", "r", { etag: (await client.getEntity("p", "r")).etag });
  assert.deepEqual(await refusal(client.deleteEntity("p", "r")), [404, "ResourceNotFound"]);
  assert.deepEqual(await refusal(client.getEntity("p", "r")), [404, "ResourceNotFound"]);
  await db.close();
});

test("Z3: the SDK's select gives the named properties, and null for what an entity lacks", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  await client.createEntity({ partitionKey: "p", rowKey: "r", n: 1, text: "one" });
  const bare = (entity: unknown): object => Object.fromEntries(Object.entries(entity as object).filter(([name]) => !/^odata|etag/.test(name)));
  assert.deepEqual(bare(await client.getEntity("p", "r", { queryOptions: { select: ["n", "rowKey", "absent"] } })), { n: 1, rowKey: "r", absent: null });
  assert.deepEqual((await all(client.listEntities({ queryOptions: { select: ["text", "partitionKey", "etag"] } }))).map(bare), [
    { text: "one", partitionKey: "p" },
  ]);
  assert.match((await client.getEntity("p", "r", { queryOptions: { select: ["n"] } })).etag, /^W\//);
  await db.close();
});

test("Z3: the SDK's filters find by keys, by every type and by odata's escapes, and wrong ones are refused", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  for (let n = 0; n < 30; n++) {
    await client.createEntity({
      partitionKey: `p${n % 3}`,
      rowKey: String(n).padStart(2, "0"),
      n,
      big: BigInt(n) << 40n,
      half: n + 0.5,
      name: `O'Hara ${n}`,
      when: new Date(Date.UTC(2026, 0, n + 1)),
      even: n % 2 === 0,
      bytes: Uint8Array.of(n),
      guid: { type: "Guid", value: GUID.replace(/..$/, String(n).padStart(2, "0")) },
    });
  }
  const found = async (filter: string): Promise<number[]> => (await all(client.listEntities<Fields>({ queryOptions: { filter } }))).map(({ n }) => n!);
  assert.deepEqual(await found(odata`PartitionKey eq ${"p1"} and RowKey ge ${"10"} and RowKey lt ${"20"}`), [10, 13, 16, 19]);
  assert.deepEqual(await found(odata`name eq ${"O'Hara 7"}`), [7]);
  assert.deepEqual(
    await found(odata`n gt ${27} or n lt ${2}`),
    [0, 1, 28, 29].sort((a, b) => (a % 3) - (b % 3) || a - b),
  );
  assert.deepEqual(await found(odata`when ge ${new Date(Date.UTC(2026, 0, 30))}`), [29]);
  assert.deepEqual(await found(odata`even eq ${true} and half lt ${3}`), [0, 2]);
  assert.deepEqual(await found(`big eq ${5n << 40n}L`), [5]);
  assert.deepEqual(await found("bytes eq X'0b' or bytes eq binary'0c'"), [12, 11]);
  assert.deepEqual(await found(`guid eq guid'${GUID.replace(/..$/, "09")}'`), [9]);
  assert.deepEqual(
    await found("not (even) and not (n le 25)"),
    [27, 29].sort((a, b) => (a % 3) - (b % 3)),
  );
  assert.deepEqual(await found("Timestamp ge datetime'2999-01-01T00:00:00Z'"), []);
  assert.deepEqual(await refusal(found("n eq")), [400, "InvalidInput"]);
  assert.deepEqual(await refusal(found("startswith(name,'O')")), [400, "InvalidInput"]);
  await db.close();
});

test("Z3: the SDK pages over 5,000 entities, by the service's pages and by smaller ones, each entity once and in order", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  await fill(client, 5000);
  const expected = expectedKeys(5000);
  assert.deepEqual((await all(client.listEntities())).map(keyOf), expected);
  const pages = await all(client.listEntities().byPage());
  assert.deepEqual(
    pages.map((page) => page.length),
    [1000, 1000, 1000, 1000, 1000],
  );
  assert.deepEqual(pages.flat().map(keyOf), expected);
  assert.equal((pages[4] as TableEntityResultPage<object>).continuationToken, undefined);
  const small = await all(client.listEntities().byPage({ maxPageSize: 170 }));
  assert.deepEqual(
    small.map((page) => page.length),
    [...Array.from({ length: 29 }, () => 170), 70],
  );
  assert.deepEqual(small.flat().map(keyOf), expected);
  const filtered = await all(client.listEntities<Fields>({ queryOptions: { filter: "n ge 2400", select: ["n"] } }).byPage({ maxPageSize: 30 }));
  assert.deepEqual(
    filtered.flat().map(({ n }) => n),
    [...Array.from({ length: 200 }, (_, at) => 2400 + (at % 100))],
  );
  await db.close();
});

test("Z3: a continuation token of the SDK goes on where it was, whatever was deleted or added meanwhile", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  await fill(client, 1000);
  const expected = expectedKeys(1000);
  const first = (await client.listEntities().byPage({ maxPageSize: 300 }).next()).value as TableEntityResultPage<object>;
  const token = first.continuationToken!;
  const from = async (continuationToken: string): Promise<string[]> =>
    (await all(client.listEntities().byPage({ maxPageSize: 300, continuationToken }))).flat().map(keyOf);
  assert.deepEqual(first.map(keyOf), expected.slice(0, 300));
  assert.deepEqual(await from(token), expected.slice(300));
  // The entities around the token, and one before it.
  for (const rowKey of ["0298", "0299", "0300", "0301"]) await client.deleteEntity("a", rowKey);
  await client.createEntity({ partitionKey: "a", rowKey: "0000x" });
  assert.deepEqual(await from(token), expected.slice(302));
  // The rest of its partition.
  for (let at = 302; at < 500; at += 99)
    await client.submitTransaction(expected.slice(at, Math.min(at + 99, 500)).map((key) => ["delete", { partitionKey: "a", rowKey: key.slice(1) }]));
  assert.deepEqual(await from(token), expected.slice(500));
  for (let at = 500; at < 1000; at += 100)
    await client.submitTransaction(expected.slice(at, at + 100).map((key) => ["delete", { partitionKey: "b", rowKey: key.slice(1) }]));
  assert.deepEqual(await from(token), []);
  await client.createEntity({ partitionKey: "c", rowKey: "" });
  assert.deepEqual(await from(token), ["c"]);
  await db.close();
});

test("Z3: a page of the SDK may begin at empty keys and at keys of any letters", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const keys = ["", " ", "!", "%41", "'", "''", "+", "=&=", "A", "é", "€", "😀"];
  for (const partitionKey of keys) for (const rowKey of ["", "'", "ü😀"]) await client.createEntity({ partitionKey, rowKey });
  const pages = await all(client.listEntities().byPage({ maxPageSize: 1 }));
  const ordered = [...keys].sort().flatMap((partitionKey) => ["", "'", "ü😀"].map((rowKey) => [partitionKey, rowKey]));
  assert.deepEqual(
    pages.flat().map(({ partitionKey, rowKey }) => [partitionKey, rowKey]),
    ordered,
  );
  for (const [partitionKey, rowKey] of ordered)
    await client.deleteEntity(partitionKey!, rowKey!, { etag: (await client.getEntity(partitionKey!, rowKey!)).etag });
  assert.deepEqual(await all(client.listEntities()), []);
  await db.close();
});
