/** Changes of Azure tables' streams, and the list of accounts, on the real engine. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { azure, azureAccounts, azureHttpClient, entityChange, type EntityChange } from "../src/azure/index.js";
import { all, type Any, caught, settle, things } from "./support/azure.js";
import { open, skip } from "./support/package.js";

const DAY = { expirationHours: 24 };
const ONCE = { once: true } as const;

/** What a test compares of a change. */
const seen = ({ type, entity, original }: EntityChange<Any>) => [type, entity, original];

test("Z1, ST1, ST2: a table of an account has a stream, whose changes are entities of all types", { skip }, async () => {
  const [db, table] = await things();
  await table.createEntity({ partitionKey: "before", rowKey: "" });
  await table.enableStream({ ...DAY, originColumns: ["n", "when"] });
  const properties = {
    text: "é😀",
    n: 1,
    big: 2n ** 62n,
    half: 0.5,
    yes: true,
    when: new Date("2026-11-25T08:00:00.123Z"),
    old: new Date("1601-01-01T00:00:00Z"),
    bytes: Uint8Array.of(0, 1, 255),
    none: new Uint8Array(),
    id: { type: "Guid", value: "0f8fad5b-d9cb-469f-a165-70867728950e" },
    ["__proto__"]: 7,
  };
  const key = { partitionKey: "a\u{1F600}\uFFFDé", rowKey: "r'" };
  const { etag } = await table.createEntity({ ...key, ...properties });
  const { timestamp } = await table.getEntity(key.partitionKey, key.rowKey);
  const merged = await table.updateEntity({ ...key, n: 2 });
  const replaced = await table.updateEntity({ ...key, other: "x" }, "Replace");
  await table.deleteEntity(key.partitionKey, key.rowKey);
  const changes = await all(table.changes(ONCE));
  const [put, update, again] = changes;
  assert.deepEqual(put!.entity, { ...key, ...properties, etag, timestamp });
  assert.deepEqual(changes.map(seen), [
    ["PUT", put!.entity, {}],
    ["UPDATE", { ...key, n: 2, etag: merged.etag, timestamp: update!.entity.timestamp }, { n: 1, when: properties.when }],
    ["PUT", { ...key, other: "x", etag: replaced.etag, timestamp: again!.entity.timestamp }, { n: 2, when: properties.when }],
    ["DELETE", key, {}],
  ]);
  const sequences = changes.map(({ sequence }) => sequence);
  assert.deepEqual(
    sequences,
    sequences.toSorted((a, b) => a - b),
  );
  assert.deepEqual(
    (await all(table.changes({ ...ONCE, from: update!.token }))).map(({ type }) => type),
    ["PUT", "DELETE"],
  );
  await db.close();
});

test("Z2, ST2: a time below a millisecond is the same in a change and in the entity, also before 1970", { skip }, async () => {
  const [db, table] = await things();
  await table.enableStream({ ...DAY, originColumns: ["a", "d"] });
  const when = (value: string) => ({ type: "DateTime", value });
  const times = {
    a: when("1969-12-31T23:59:59.9999999Z"),
    b: when("1601-01-01T00:00:00.0000001Z"),
    c: when("1970-01-01T00:00:00.0009999Z"),
    d: when("9999-12-31T23:59:59.9999999Z"),
  };
  await table.createEntity({ partitionKey: "p", rowKey: "1", ...times });
  const entity = await table.getEntity("p", "1");
  assert.equal(entity["a"].getTime(), -1);
  await table.deleteEntity("p", "1");
  const [put, gone] = await all(table.changes(ONCE));
  assert.deepEqual(put!.entity, entity);
  assert.deepEqual(gone!.original, { a: entity["a"], d: entity["d"] });
  await db.close();
});

test("ST2: old values have the names of an entity, and none that another client has called like one of ours", { skip }, async () => {
  const [db, table] = await things();
  await db.updateTable({ tableName: "demo/things", stream: { enabled: true, ...DAY, originColumns: ["Timestamp", "etag", "partitionKey", "n"] } });
  const client = azureHttpClient(db, { auth: "off" });
  const headers = Object.entries({ "x-ms-version": "2019-02-02", Accept: "application/json", "Content-Type": "application/json" });
  const body = JSON.stringify({ n: 1, etag: "x", partitionKey: "y" });
  assert.equal(
    (await client.sendRequest({ url: "https://demo.table.core.windows.net/things(PartitionKey='p',RowKey='1')", method: "PUT", headers, body })).status,
    204,
  );
  const { etag, timestamp } = await table.getEntity("p", "1");
  await table.deleteEntity("p", "1");
  const [, gone] = await all(table.changes(ONCE));
  assert.deepEqual(gone!.original, { n: 1, etag, timestamp });
  await db.close();
});

test("ST1, ST2: old values of timestamp and etag are asked for by any of their names, and the keys are no properties", { skip }, async () => {
  const [db, table] = await things();
  for (const originColumns of [["timestamp"], ["etag"], ["Timestamp"], ["etag", "timestamp", "Timestamp"]]) {
    await table.enableStream({ ...DAY, originColumns });
    const { etag } = await table.createEntity({ partitionKey: "p", rowKey: "1" });
    const { timestamp } = await table.getEntity("p", "1", { select: ["etag"] });
    await table.deleteEntity("p", "1");
    assert.deepEqual((await all(table.changes(ONCE))).at(-1)!.original, { etag, timestamp });
  }
  for (const name of ["partitionKey", "PartitionKey", "rowKey", "RowKey"]) {
    const { code, message } = await caught(table.enableStream({ ...DAY, originColumns: ["n", name] }));
    assert.deepEqual([code, message], ["OTSParameterInvalid", `The argument 'originColumns[1]' is '${name}'; it must be the name of a property.`]);
  }
  for (const originColumns of [null, "n", [1]])
    assert.equal((await caught(table.enableStream({ ...DAY, originColumns } as never))).code, "OTSParameterInvalid");
  await db.close();
});

test("ST2, ST3: records of consumers and of shards become changes of entities, which have no token", { skip }, async () => {
  const [db, table] = await things();
  await table.enableStream({ ...DAY, originColumns: ["big"] });
  const key = { partitionKey: "a\u{1F600}\uFFFD", rowKey: "é\u{10FFFF}" };
  const when = new Date("2026-11-25T08:00:00.123Z");
  const { etag } = await table.createEntity({ ...key, big: -(2n ** 63n), when, n: 1 });
  const { timestamp } = await table.getEntity(key.partitionKey, key.rowKey);
  await table.deleteEntity(key.partitionKey, key.rowKey);
  const expected = [
    ["PUT", { ...key, big: -(2n ** 63n), when, n: 1, etag, timestamp }, {}],
    ["DELETE", key, { big: -(2n ** 63n) }],
  ];
  for await (const { records } of db.consumer({ tableName: "demo/things", group: "g", type: "Stream" })) {
    const changes = records.map((record) => entityChange<Any>(record));
    assert.deepEqual(
      changes.map(({ type, entity, original }) => [type, entity, original]),
      expected,
    );
    assert.deepEqual(
      changes.map((change) => ["token" in change, change.sequence, change.recorded]),
      records.map(({ sequence, timestamp: recorded }) => [false, sequence, recorded]),
    );
    break;
  }
  const changes = await all(db.changes({ tableName: "demo/things", once: true }));
  assert.deepEqual(
    changes.map((change) => entityChange<Any>(change)).map(({ type, entity, original }) => [type, entity, original]),
    expected,
  );
  assert.deepEqual(
    changes.map((change) => entityChange(change).token === change.token),
    [true, true],
  );
  await db.createTable({ tableName: "other", primaryKey: [{ name: "PartitionKey", type: "STRING" }], stream: { enabled: true, ...DAY } });
  await db.putRow({ tableName: "other", primaryKey: { PartitionKey: "p" } });
  const [other] = await all(db.changes({ tableName: "other", once: true }));
  assert.throws(() => entityChange(other!), /^TypeError: The argument 'record' is none of an Azure table/);
  await db.close();
});

test("ST2: a merge that makes the entity is a put, and one of an entity that is there has the merged properties alone", { skip }, async () => {
  const [db, table] = await things();
  await table.enableStream(DAY);
  await table.upsertEntity({ partitionKey: "p", rowKey: "1", a: 1, b: 2 });
  await table.upsertEntity({ partitionKey: "p", rowKey: "1", b: 3 });
  await table.deleteEntity("p", "1");
  const changes = (await all(table.changes(ONCE))).map(({ type, entity: { etag, timestamp, ...rest } }) => [type, rest]);
  const key = { partitionKey: "p", rowKey: "1" };
  assert.deepEqual(changes, [
    ["PUT", { ...key, a: 1, b: 2 }],
    ["UPDATE", { ...key, b: 3 }],
    ["DELETE", key],
  ]);
  await db.close();
});

test("ST2, ST3: who reads the table again after an expiry, and goes on from the time before, misses no change", { skip }, async () => {
  const [db, table] = await things();
  await table.enableStream(DAY);
  await table.upsertEntity({ partitionKey: "p", rowKey: "1", n: 1 });
  const [{ token } = assert.fail()] = await all(table.changes(ONCE));
  await table.disableStream();
  assert.match((await caught(table.changes().next())).hint, /^Enable it: azure\(db, "demo"\)\.table\("things"\)\.enableStream\(/);
  await table.enableStream(DAY);
  const { code, hint } = await caught(table.changes({ from: token }).next());
  assert.equal(code, "OTSTrimmedDataAccess");
  assert.match(hint, /^Note the time, then read the table again/);
  const from = Date.now();
  const [entity] = await all(table.listEntities());
  // Behind the reader of the table.
  await table.upsertEntity({ partitionKey: "p", rowKey: "1", n: 2 });
  assert.deepEqual([entity!["n"], (await all(table.changes({ ...ONCE, from }))).map((change) => change.entity["n"])], [1, [2]]);
  await db.close();
});

test("Z2, ST2: changes have the same types in a database whose integers are bigints", { skip }, async () => {
  const db = await open({ integers: "bigint" });
  const table = await azure(db, "demo").createTable<Any>("things");
  await table.enableStream({ ...DAY, originColumns: ["n", "big"] });
  await table.createEntity({ partitionKey: "p", rowKey: "1", n: -1, big: 1n, half: 0.5, whole: { type: "Double", value: "3" } });
  const entity = await table.getEntity("p", "1");
  await table.deleteEntity("p", "1");
  const [put, gone] = await all(table.changes(ONCE));
  assert.deepEqual([put!.entity, gone!.original], [entity, { n: -1, big: 1n }]);
  assert.deepEqual(Object.keys(put!), ["type", "entity", "original", "recorded", "sequence"], "its token is made when it is read");
  await db.close();
});

test("Z3, ST2: each change of a transaction is recorded, and a refused one is not", { skip }, async () => {
  const [db, table] = await things();
  await table.enableStream(DAY);
  await table.submitTransaction([
    ["create", { partitionKey: "p", rowKey: "1", n: 1 }],
    ["upsert", { partitionKey: "p", rowKey: "2", n: 2 }],
  ]);
  assert.equal(
    await settle(
      table.submitTransaction([
        ["delete", { partitionKey: "p", rowKey: "1" }],
        ["create", { partitionKey: "p", rowKey: "2" }],
      ]),
    ),
    "EntityAlreadyExists",
  );
  assert.equal(await settle(table.createEntity({ partitionKey: "p", rowKey: "1" })), "EntityAlreadyExists");
  assert.deepEqual(
    (await all(table.changes(ONCE))).map(({ type, entity }) => [type, entity.rowKey, entity["n"]]),
    [
      ["PUT", "1", 1],
      ["PUT", "2", 2],
    ],
  );
  await db.close();
});

test("ST2: a reader of changes waits for more, and ends when it is left or given up", { skip }, async () => {
  const [db, table] = await things();
  await table.enableStream(DAY);
  const reader = table.changes({ from: "latest" });
  const next = reader.next();
  await new Promise((resolve) => setTimeout(resolve, 50));
  await table.upsertEntity({ partitionKey: "p", rowKey: "1" });
  assert.equal((await next).value.entity.rowKey, "1");
  const waits = reader.next();
  await reader.return!();
  assert.equal((await waits).done, true);
  const left = table.changes(ONCE);
  await left.return!();
  assert.equal((await left.next()).done, true, "left before it began");
  const control = new AbortController();
  const given = table.changes({ from: "latest", signal: control.signal }).next();
  setTimeout(() => control.abort(new Error("enough")), 20);
  assert.equal((await caught(given)).message, "enough");
  await db.close();
});

test("ST1, ST3: a stream is described, changed, disabled and gone with its table", { skip }, async () => {
  const [db, table] = await things();
  await table.enableStream({ expirationHours: 1, originColumns: ["n"] });
  const [stream] = await db.listStream();
  assert.deepEqual([stream!.tableName, stream!.expirationHours, stream!.originColumns], ["demo/things", 1, ["n"]]);
  assert.deepEqual((await db.describeStream({ streamId: stream!.streamId })).shards.length, 1);
  await azure(db, "DEMO").table("THINGS").enableStream({ expirationHours: 2 });
  assert.deepEqual(
    (await db.listStream({ tableName: "demo/Things" })).map(({ streamId, expirationHours }) => [streamId, expirationHours]),
    [[stream!.streamId, 2]],
  );
  await table.upsertEntity({ partitionKey: "p", rowKey: "1" });
  await table.disableStream();
  assert.equal(await settle(all(table.changes(ONCE))), "OTSObjectNotExist");
  await table.enableStream(DAY);
  assert.deepEqual(await all(table.changes(ONCE)), []);
  await azure(db, "demo").deleteTable("things");
  assert.deepEqual(await db.listStream(), []);
  await db.close();
});

test("Z2, ST1: a property of any name can have its old values recorded", { skip }, async () => {
  const [db, table] = await things();
  const longest = "名".repeat(255);
  const entity = { partitionKey: "p", rowKey: "1", größe: 1, [longest]: 2 };
  await table.createEntity(entity);
  const enabled = await settle(table.enableStream({ ...DAY, originColumns: ["größe", longest] }));
  if (enabled === "ok") await table.deleteEntity("p", "1");
  const changes = enabled === "ok" ? await all(table.changes(ONCE)) : [];
  await db.close();
  assert.equal(enabled, "ok");
  assert.deepEqual(changes.map(seen), [["DELETE", { partitionKey: "p", rowKey: "1" }, { größe: 1, [longest]: 2 }]]);
});

test("ST1: wrong arguments of a stream are refused by name, and change nothing", { skip }, async () => {
  const [db, table] = await things();
  for (const [options, about] of [
    [undefined, /expiration time/],
    [{}, /expiration time/],
    [{ expirationHours: 0 }, /expiration time/],
    [{ expirationHours: 169 }, /expiration time/],
    [{ expirationHours: 24, columns: [] }, /'columns' in 'enableStream'/],
    [{ expirationHours: 24, originColumns: "n" }, /originColumns/],
    [{ expirationHours: 24, originColumns: ["a b/"] }, /a b/],
  ] as const) {
    const error = await caught(table.enableStream(options as never));
    assert.equal(error.code, "OTSParameterInvalid");
    assert.match(`${error.message} ${error.hint}`, about);
  }
  const signal = AbortSignal.abort(new Error("no"));
  assert.equal((await caught(table.enableStream({ ...DAY, signal }))).message, "no");
  assert.deepEqual(await db.listStream(), []);
  const none = azure(db, "demo").table("none");
  for (const work of [none.enableStream(DAY), none.disableStream()]) assert.equal(await settle(work), "OTSObjectNotExist");
  assert.equal(await settle(table.changes({ tableName: "x" } as never).next()), "OTSParameterInvalid");
  await table.enableStream(DAY);
  assert.equal((await caught(table.disableStream({ signal }))).message, "no");
  assert.equal(await settle(table.disableStream({ wrong: 1 } as never)), "OTSParameterInvalid");
  assert.equal((await db.listStream()).length, 1);
  await db.close();
});

test("Z1, I3: tables of accounts are described and streamed as others are, and cannot be reached otherwise", { skip }, async () => {
  const [db, table] = await things();
  await table.createEntity({ partitionKey: "p", rowKey: "1" });
  const described = await db.describeTable({ tableName: "demo/things" });
  assert.deepEqual(
    [described.tableName, described.primaryKey.map(({ name }) => name), described.partitions.length],
    ["demo/things", ["PartitionKey", "RowKey"], 1],
  );
  const tableName = "demo/things";
  const primaryKey = { PartitionKey: new Uint8Array(), RowKey: new Uint8Array() };
  for (const work of [
    db.updateTable({ tableName, timeToLive: 86400 }),
    db.updateTable({ tableName, reservedThroughput: { read: 1 } }),
    db.deleteTable({ tableName }),
    db.getRow({ tableName, primaryKey }),
    db.putRow({ tableName, primaryKey }),
    db.createIndex({ tableName, index: { indexName: "i", primaryKey: ["RowKey"] } }),
    db.createTable({ tableName, primaryKey: [{ name: "a", type: "STRING" }] }),
  ])
    assert.equal(await settle(work), "OTSParameterInvalid");
  assert.doesNotMatch((await caught(db.getRow({ tableName: "thing", primaryKey: { a: 1 } }))).hint, /demo/);
  assert.equal(await settle(db.describeTable({ tableName: "demo/none" })), "OTSObjectNotExist");
  // Names that no table can have are wrong ones, as ever.
  for (const wrong of ["a/b", "demo/", "/none", "demo/none/more", "demo/nöne"])
    assert.equal(await settle(db.describeTable({ tableName: wrong })), "OTSParameterInvalid");
  await db.close();
});

test("Z1: the accounts that have tables are listed", { skip }, async () => {
  const db = await open();
  assert.deepEqual(await azureAccounts(db), []);
  for (const [account, table] of [
    ["Zoo", "a1a"],
    ["demo", "b1b"],
    ["demo", "c1c"],
  ] as const)
    await azure(db, account).createTable(table);
  assert.deepEqual(await azureAccounts(db), ["demo", "zoo"]);
  await azure(db, "zoo").deleteTable("a1a");
  assert.deepEqual(await azureAccounts(db), ["demo"]);
  assert.equal(await settle(azureAccounts(db, { wrong: 1 } as never)), "OTSParameterInvalid");
  assert.equal((await caught(azureAccounts(db, { signal: AbortSignal.abort(new Error("no")) }))).message, "no");
  await db.close();
});

test("ST2: consumers share the changes of an account's table, however they name it, and get no rows of it", { skip }, async () => {
  const [db, table] = await things();
  await table.enableStream(DAY);
  await table.createEntity({ partitionKey: "p", rowKey: "1" });
  for (const type of ["BaseData", "BaseAndStream"] as const) {
    const error = await caught(all(db.consumer({ tableName: "demo/things", group: "rows", type })));
    assert.equal(error.code, "OTSParameterInvalid");
    assert.match(error.message, /'type' is 'Base.*'Stream'/);
  }
  assert.deepEqual([await db.listTable(), await db.listConsumerGroups()], [[], []], "nothing was made");
  for await (const { records, checkpoint } of db.consumer({ tableName: "demo/things", group: "g", type: "Stream" })) {
    assert.deepEqual(
      records.map(({ type }) => type),
      ["PUT"],
    );
    await checkpoint();
    break;
  }
  assert.match((await caught(all(db.consumer({ tableName: "demo/things", group: "new" })))).hint, /its type: 'Stream' \(the changes\)\.$/);
  const again = await db.consumer({ tableName: "Demo/Things", group: "g" }).describe();
  assert.equal(again.channels[0]!.waitingSince, null, "it is the same group");
  assert.equal((await db.listConsumerGroups({ tableName: "DEMO/things" })).length, 1);
  await table.disableStream();
  await table.enableStream(DAY);
  const { code, hint } = await caught(all(db.consumer({ tableName: "demo/things", group: "g" })));
  assert.equal(code, "OTSTunnelExpired");
  assert.match(hint, /Note the time, read the table, and begin again with that time as 'from'\.$/);
  await db.close();
});
