/** Transactions, access policies, errors and traps of Microsoft's client for Azure tables, on the real engine. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { odata, RestError, TableClient, TableTransaction, type TransactionAction } from "@azure/data-tables";

import { azureHttpClient } from "../src/azure/index.js";
import { all } from "./support/azure.js";
import { open, skip } from "./support/package.js";
import { type HttpClient, URL, type Fields, table, failure, type Details, refusal, refused, rows, fields } from "./support/azure-sdk.js";

test("Z3: a transaction of the SDK does all kinds of actions, and answers for each", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const partitionKey = "p";
  const { etag } = await client.createEntity({ partitionKey, rowKey: "old", n: 1, text: "one" });
  for (const rowKey of ["gone", "merged"]) await client.createEntity({ partitionKey, rowKey, text: rowKey });
  const answer = await client.submitTransaction([
    ["create", { partitionKey, rowKey: "new", n: 1 }],
    ["delete", { partitionKey, rowKey: "gone" }],
    ["update", { partitionKey, rowKey: "old", n: 2 }, "Replace", { etag: etag! }],
    ["update", { partitionKey, rowKey: "merged", n: 3 }, "Merge"],
    ["upsert", { partitionKey, rowKey: "up", big: 5n, text: 'HTTP/1.1 500 {"odata.error":1}' }, "Replace"],
    ["upsert", { partitionKey, rowKey: "it's" }],
  ]);
  assert.equal(answer.status, 202);
  assert.deepEqual(
    answer.subResponses.map(({ status }) => status),
    [204, 204, 204, 204, 204, 204],
  );
  const entities = Object.fromEntries((await all(client.listEntities())).map((entity) => [entity.rowKey, entity]));
  assert.deepEqual(Object.fromEntries(Object.entries(entities).map(([key, entity]) => [key, fields(entity as object)])), {
    "it's": {},
    merged: { n: 3, text: "merged" },
    new: { n: 1 },
    old: { n: 2 },
    up: { big: 5n, text: 'HTTP/1.1 500 {"odata.error":1}' },
  });
  assert.deepEqual(
    answer.subResponses.map((one) => one.etag),
    ["new", undefined, "old", "merged", "up", "it's"].map((key) => key && entities[key]!.etag),
  );
  assert.equal(answer.getResponseForEntity("new")?.etag, entities["new"]!.etag);
  await db.close();
});

test("Z3: TableTransaction gathers actions, up to a hundred in a partition", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const transaction = new TableTransaction();
  transaction.createEntity({ partitionKey: "p", rowKey: "a", n: 1 });
  transaction.upsertEntity({ partitionKey: "p", rowKey: "b", n: 1 }, "Merge");
  await client.submitTransaction(transaction.actions);
  const { etag } = await client.getEntity("p", "a");
  const next = new TableTransaction();
  next.updateEntity({ partitionKey: "p", rowKey: "a", n: 2 }, "Merge", { etag });
  next.deleteEntity("p", "b");
  await client.submitTransaction(next.actions);
  assert.deepEqual(
    (await all(client.listEntities<Fields>())).map(({ rowKey, n }) => [rowKey, n]),
    [["a", 2]],
  );
  assert.equal((await client.submitTransaction(rows(100, "q"))).subResponses.length, 100);
  await db.close();
});

test("Z3: a transaction of the SDK that fails says at which action, and does nothing", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const partitionKey = "p";
  const { etag } = await client.createEntity({ partitionKey, rowKey: "old", n: 1 });
  await client.updateEntity({ partitionKey, rowKey: "old", n: 2 });
  const before = await all(client.listEntities());
  const fails = async (actions: TransactionAction[], status: number, code: string, index: number): Promise<void> => {
    assert.deepEqual(await refused(client, actions), [status, code, index]);
    assert.deepEqual(await all(client.listEntities()), before, code);
  };
  const good = rows(3);
  await fails([...good, ["create", { partitionKey, rowKey: "old" }]], 409, "EntityAlreadyExists", 3);
  await fails([...good, ["create", { partitionKey, rowKey: "old" }], ["delete", { partitionKey, rowKey: "no" }]], 409, "EntityAlreadyExists", 3);
  await fails([...good, ["update", { partitionKey, rowKey: "no" }, "Merge"]], 404, "ResourceNotFound", 3);
  await fails([["update", { partitionKey, rowKey: "no" }, "Replace"], ...good], 404, "ResourceNotFound", 0);
  await fails(
    [...rows(1), ["update", { partitionKey, rowKey: "old" }, "Replace", { etag: etag! }], ["upsert", { partitionKey, rowKey: "x" }]],
    412,
    "UpdateConditionNotSatisfied",
    1,
  );
  await fails([...good, ["delete", { partitionKey, rowKey: "no" }]], 404, "ResourceNotFound", 3);
  await fails([...good, ["upsert", { partitionKey, rowKey: "0001" }]], 400, "InvalidDuplicateRow", 3);
  await fails([...good, ["create", { partitionKey, rowKey: "x", "a-b": 1 }]], 400, "PropertyNameInvalid", 3);
  await fails([...good, ["upsert", { partitionKey, rowKey: "x", text: "x".repeat(32769) }]], 400, "PropertyValueTooLarge", 3);
  // The SDK looks for the error on one line, and ends a line at these.
  for (const line of ["\u2028", "\u2029"]) await fails([...good, ["create", { partitionKey, rowKey: `a${line}b#` }]], 400, "OutOfRangeInput", 3);
  await fails(rows(101), 400, "InvalidInput", 99);
  assert.deepEqual((await failure(client.submitTransaction([["delete", { partitionKey, rowKey: "no" }]]))).statusCode, 404);
  // The SDK looks at the partitions itself, so another one is put into what it sends.
  await assert.rejects(client.submitTransaction([...good, ["upsert", { partitionKey: "q", rowKey: "x" }]]), /same partitionKey/);
  const door = azureHttpClient(db, { auth: "off" });
  const httpClient: HttpClient = {
    sendRequest(request) {
      request.body = (request.body as string)
        .replace("PartitionKey='p',RowKey='0002'", "PartitionKey='q',RowKey='0002'")
        .replace('"PartitionKey":"p","RowKey":"0002"', '"PartitionKey":"q","RowKey":"0002"');
      return door.sendRequest(request);
    },
  };
  assert.deepEqual(await refused(new TableClient(URL, "Things", { httpClient }), rows(5)), [400, "CommandsInBatchActOnDifferentPartitions", 2]);
  assert.deepEqual(await all(client.listEntities()), before);
  await db.close();
});

/** An object without what has no value, which the SDK names too. */
const defined = (object: object): object => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

test("Z1: access policies come back as the SDK set them, and more than five are refused", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  assert.deepEqual([...(await client.getAccessPolicy())], []);
  const policies = [
    { id: "readers & <others>", accessPolicy: { start: new Date("2026-01-01T00:00:00Z"), expiry: new Date("2027-01-01T12:30:00Z"), permission: "r" } },
    { id: "all", accessPolicy: { expiry: new Date("2030-01-01T00:00:00Z"), permission: "raud" } },
    { id: "none", accessPolicy: {} },
  ];
  const set = async (): Promise<unknown> => [...(await client.getAccessPolicy())].map(({ id, accessPolicy }) => ({ id, accessPolicy: defined(accessPolicy!) }));
  await client.setAccessPolicy(policies);
  assert.deepEqual(await set(), policies);
  const six = Array.from({ length: 6 }, (_, n) => ({ id: `p${n}`, accessPolicy: { permission: "r" } }));
  assert.deepEqual((await failure(client.setAccessPolicy(six))).statusCode, 400);
  assert.deepEqual((await failure(client.setAccessPolicy([{ id: "x", accessPolicy: { permission: "rx" } }]))).statusCode, 400);
  assert.deepEqual(await set(), policies);
  await client.setAccessPolicy([]);
  assert.deepEqual([...(await client.getAccessPolicy())], []);
  await client.deleteTable();
  assert.equal((await failure(client.getAccessPolicy())).statusCode, 404);
  await db.close();
});

test("Z1: errors have the SDK's shape: the status, and the code and the text among the details", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const error = await failure(client.getEntity("p", "none"));
  assert.deepEqual([error.name, error.statusCode, error.code], ["RestError", 404, undefined]);
  const { odataError } = error.details as Details;
  assert.equal(odataError?.code, "ResourceNotFound");
  assert.match(odataError.message.value, /^The specified resource does not exist\.\nRequestId:[0-9a-f-]{36}\nTime:\d{4}-\d\d-\d\dT/);
  assert.deepEqual(JSON.parse(error.message), { "odata.error": odataError });
  assert.match(error.response!.headers.get("x-ms-request-id")!, /^[0-9a-f-]{36}$/);
  const failed = await failure(
    client.submitTransaction([
      ["create", { partitionKey: "p", rowKey: "r" }],
      ["delete", { partitionKey: "p", rowKey: "none" }],
    ]),
  );
  assert.deepEqual([failed.name, failed.code, failed.statusCode], ["RestError", "ResourceNotFound", 404]);
  assert.match(failed.message, /^1:The specified resource does not exist\./);
  assert.equal(failed.response?.status, 202);
  await db.close();
});

test("Z1: a call of the SDK that is given up rejects, and its answers carry what the service's do", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const written = await client.createEntity({ partitionKey: "p", rowKey: "r" });
  assert.match(written.requestId!, /^[0-9a-f-]{36}$/);
  assert.deepEqual([written.version, written.preferenceApplied, written.date instanceof Date], ["2019-02-02", "return-no-content", true]);
  await assert.rejects(client.getEntity("p", "r", { abortSignal: AbortSignal.abort() }), { name: "AbortError" });
  const control = new AbortController();
  const late = client.getEntity("p", "r", { abortSignal: control.signal });
  control.abort();
  await assert.rejects(late, { name: "AbortError" });
  let status = 0;
  await client.getEntity("p", "r", {
    requestOptions: { customHeaders: { "x-ms-client-request-id": "mine" } },
    onResponse: (response) => void (status = response.status),
  });
  assert.equal(status, 200);
  await db.close();
});

/** What the README says of the package itself. If one of these changes, the README has to. */
test("Z1: the SDK has the traps that the README names", { skip }, async () => {
  const db = await open();
  const client = await table(db);
  const names = async (rowKey: string): Promise<string[]> =>
    Object.keys(await client.getEntity("p", rowKey))
      .filter((name) => name !== "odata.metadata")
      .sort();
  const found = async (filter: string): Promise<number> => (await all(client.listEntities({ queryOptions: { filter } }))).length;
  // Numbers that JSON does not have.
  await client.createEntity({ partitionKey: "p", rowKey: "n", nan: NaN, up: Infinity, text: { type: "Double", value: "NaN" } });
  assert.deepEqual(await names("n"), ["etag", "partitionKey", "rowKey", "text", "timestamp"]);
  assert.equal((await client.getEntity("p", "n"))["text"], "NaN");
  assert.equal(await found("text ne 1.0 and not (text eq 'NaN')"), 1, "it is a Double");
  // Names of its own.
  await client.createEntity({ partitionKey: "p", rowKey: "own", timestamp: "mine", etag: "mine" });
  const own = await client.getEntity("p", "own");
  assert.match(own.etag + String(own.timestamp), /^W\/"datetime'.*'"\d{4}-/);
  assert.deepEqual(
    [await found("partitionKey eq 'p'"), await found("timestamp gt datetime'2000-01-01T00:00:00Z'"), await found("PartitionKey eq 'p'")],
    [0, 0, 2],
  );
  // A second partition.
  const apart = await client
    .submitTransaction([
      ["create", { partitionKey: "p", rowKey: "a" }],
      ["create", { partitionKey: "q", rowKey: "b" }],
    ])
    .then(
      () => assert.fail("it was done"),
      (error: unknown) => error,
    );
  assert.deepEqual([apart instanceof RestError, (apart as Error).message], [false, "All operations in a transaction must target the same partitionKey"]);
  assert.equal(await found(""), 2, "nothing was sent");
  // Types that get lost.
  await client.createEntity({ partitionKey: "p", rowKey: "t", whole: { type: "Double", value: "3" } });
  const typed = await client.getEntity<Record<string, unknown>>("p", "t", { disableTypeConversion: true });
  assert.deepEqual(typed["whole"], { type: "Int32", value: "3" });
  for (const entity of [typed, await client.getEntity("p", "t")]) {
    await client.upsertEntity({ partitionKey: "p", rowKey: "t", whole: { type: "Double", value: "3" } }, "Replace");
    assert.equal(await found("whole lt 3.5"), 1, "a Double");
    await client.updateEntity(entity as { partitionKey: string; rowKey: string }, "Replace");
    assert.equal(await found("whole lt 3.5 and not (whole eq 3.0)"), 1, "an Int32: no literal of a wider type is equal to it");
  }
  await client.createEntity({ partitionKey: "p", rowKey: "large", whole: { type: "Double", value: "3000000000" } });
  assert.deepEqual(
    await refusal(client.upsertEntity((await client.getEntity("p", "large", { disableTypeConversion: true })) as { partitionKey: string; rowKey: string })),
    [400, "InvalidInput"],
  );
  // Filters.
  await client.createEntity({ partitionKey: "p", rowKey: "f", one: new Uint8Array([1]) });
  assert.equal(await found(odata`one eq ${new Uint8Array([1])}`), 0);
  for (const value of [new Uint8Array([1, 2]), { type: "Guid", value: "0f8fad5b-d9cb-469f-a165-70867728950e" }]) {
    assert.deepEqual(await refusal(found(odata`one eq ${value as never}`)), [400, "InvalidInput"]);
  }
  // A transaction that is refused as a whole.
  const stranger = new TableClient(URL, "Things", { httpClient: azureHttpClient(db) });
  const { statusCode, code, message, response } = await failure(stranger.submitTransaction(rows(1)));
  assert.deepEqual([statusCode, code, message], [403, undefined, "Transaction Failed"]);
  assert.match(response?.bodyAsText ?? "", /<m:code>AuthenticationFailed<\/m:code>/);
  await db.close();
});
