// The client of Azure tables, @azure/data-tables, as applications bundle it; and what it does in any context.

import path from "node:path";

import { build } from "esbuild";

import { root, servePackage } from "./server.mjs";

let bundle;

/** Serves the package, our pages and the bundle of the client, `/azure-sdk.js`, until the end of the test. */
export async function serveAzure(t) {
  bundle ??= build({
    stdin: { contents: 'export * from "@azure/data-tables";', resolveDir: path.join(root, "tests/e2e") },
    bundle: true,
    format: "esm",
    platform: "browser",
    conditions: ["browser"],
    minify: true,
    target: "es2022",
    legalComments: "none",
    write: false,
    logLevel: "warning",
  });
  const {
    outputFiles: [{ contents }],
  } = await bundle;
  const server = await servePackage(t);
  server.files.set("/azure-sdk.js", Buffer.from(contents));
  return server;
}

/** Puts the client on a page as `S`, and our entry for it as `A`. */
export const loadAzure = async () => {
  globalThis.S = await import("/azure-sdk.js");
  globalThis.A = await import("/pkg/azure.js");
};

/** Uses a table of the open instance in every way that needs no XML. Gives texts and numbers only, so that it can run in any context. */
export async function useTable(name) {
  const { odata, RestError, TableClient, TableServiceClient, TableTransaction } = S;
  const URL = "https://demo.table.core.windows.net";
  const httpClient = A.azureHttpClient(db, { auth: "off" });
  const client = new TableClient(URL, name, { httpClient });
  const service = new TableServiceClient(URL, { httpClient });
  const seen = { role: db.role };
  const gather = async (items) => {
    const all = [];
    for await (const item of items) all.push(item);
    return all;
  };
  const failure = async (work) => {
    try {
      await work;
    } catch (error) {
      if (!(error instanceof RestError)) throw error;
      return [error.statusCode, error.code ?? error.details.odataError.code, ...(/^\d+:/.test(error.message) ? [Number.parseInt(error.message, 10)] : [])].join(
        " ",
      );
    }
    return "done";
  };
  const shown = (value) => {
    if (typeof value === "bigint") return `${value}n`;
    if (value instanceof Date) return value.toISOString();
    if (value instanceof Uint8Array) return `bytes ${value.join(" ")}`;
    return value !== null && typeof value === "object" ? `${value.type} ${value.value}` : value;
  };

  await client.createTable();
  await service.createTable(name.toUpperCase());
  seen.tables = (await gather(service.listTables({ queryOptions: { filter: odata`TableName eq ${name}` } }))).length;
  for (const other of ["other1", "other2", "other3", "other4"]) await service.createTable(name + other);
  const named = { queryOptions: { filter: odata`TableName gt ${name}` } };
  const pagesOfTables = await gather(service.listTables(named).byPage({ maxPageSize: 3 }));
  const { value: rest } = await service.listTables(named).byPage({ continuationToken: pagesOfTables[0].continuationToken }).next();
  seen.tablePages = [...pagesOfTables, rest].map((page) => page.map((table) => table.name.slice(name.length)).join(" "));
  await service.deleteTable(`${name}OTHER1`);
  await new TableClient(URL, `${name}other2`, { httpClient }).deleteTable();
  // It is gone already, and the client takes that for done.
  await service.deleteTable(`${name}other2`);
  seen.deleted = [
    (await gather(service.listTables(named))).map((table) => table.name.slice(name.length)).join(" "),
    await failure(new TableClient(URL, `${name}other2`, { httpClient }).createEntity({ partitionKey: "p", rowKey: "r" })),
  ];
  for (const other of ["other3", "other4"]) await service.deleteTable(name + other);

  // Z2: the eight types, as JavaScript has them and by their names.
  const key = { partitionKey: "a'b é", rowKey: "😀" };
  await client.createEntity({
    ...key,
    text: "é€😀'",
    yes: true,
    int: -(2 ** 31),
    half: 0.5,
    big: 2n ** 63n - 1n,
    when: new Date("2026-11-25T08:00:00.123Z"),
    bytes: Uint8Array.of(0, 1, 255),
    nothing: null,
    tBinary: { type: "Binary", value: "AP8=" },
    tBoolean: { type: "Boolean", value: false },
    tDateTime: { type: "DateTime", value: "1601-01-01T00:00:00Z" },
    tDouble: { type: "Double", value: 3 },
    tGuid: { type: "Guid", value: "0f8fad5b-d9cb-469f-a165-70867728950e" },
    tInt32: { type: "Int32", value: 7 },
    tInt64: { type: "Int64", value: "-5" },
    tString: { type: "String", value: "" },
  });
  const { etag, timestamp, partitionKey, rowKey, "odata.metadata": metadata, ...read } = await client.getEntity(key.partitionKey, key.rowKey);
  seen.entity = Object.fromEntries(Object.entries(read).map(([property, value]) => [property, shown(value)]));
  const typed = await client.getEntity(key.partitionKey, key.rowKey, {
    disableTypeConversion: true,
    queryOptions: { select: ["big", "half", "tDateTime", "yes"] },
  });
  seen.typed = ["big", "half", "tDateTime", "yes"].map((property) => shown(typed[property])).join(", ");
  await client.updateEntity({ ...key, int: 1 }, "Merge", { etag });
  seen.conflicts = [
    await failure(client.updateEntity({ ...key, int: 2 }, "Replace", { etag })),
    await failure(client.deleteEntity(key.partitionKey, key.rowKey, { etag })),
    await failure(client.createEntity(key)),
  ];
  seen.merged = await client.getEntity(key.partitionKey, key.rowKey).then(({ int, text }) => `${int} ${text}`);
  const replaced = await client.updateEntity({ ...key, int: 3 }, "Replace", { etag: (await client.getEntity(key.partitionKey, key.rowKey)).etag });
  const properties = (entity) =>
    Object.keys(entity)
      .filter((property) => !["etag", "timestamp", "partitionKey", "rowKey", "odata.metadata"].includes(property))
      .map((property) => `${property} ${entity[property]}`)
      .join(", ");
  const stored = await client.getEntity(key.partitionKey, key.rowKey);
  seen.replaced = [properties(stored), replaced.etag === stored.etag && stored.etag !== etag];
  // An upsert of an entity that is there, in both modes, and of one that is not.
  seen.upserted = [];
  for (const [change, mode] of [[{ text: "two" }], [{ half: 1.5 }, "Merge"], [{ yes: false }, "Replace"]]) {
    await client.upsertEntity({ ...key, ...change }, mode);
    seen.upserted.push(properties(await client.getEntity(key.partitionKey, key.rowKey)));
  }
  const { etag: newest } = await client.upsertEntity({ partitionKey: "", rowKey: "", int: 5 }, "Replace");
  seen.upserted.push(properties(await client.getEntity("", "")));
  await client.deleteEntity("", "", { etag: newest });
  await client.deleteEntity(key.partitionKey, key.rowKey);
  seen.missing = await failure(client.getEntity(key.partitionKey, key.rowKey));

  // Z3: pages over 5,000 entities, and transactions.
  const upserts = (partition, from, count) =>
    Array.from({ length: count }, (_, at) => ["upsert", { partitionKey: partition, rowKey: String(from + at).padStart(4, "0"), n: from + at }]);
  for (const partition of ["a", "b"]) for (let at = 0; at < 2500; at += 100) await client.submitTransaction(upserts(partition, at, 100));
  const keys = (entities) => entities.map(({ partitionKey: partition, rowKey: row }) => partition + row);
  const ordered = (found) => found.every((one, at) => at === 0 || found[at - 1] < one);
  const pages = await gather(client.listEntities().byPage());
  seen.pages = pages.map((page) => page.length).join(" ");
  const small = await gather(client.listEntities().byPage({ maxPageSize: 900 }));
  seen.small = small.map((page) => page.length).join(" ");
  seen.ordered = [pages, small].every((all) => ordered(keys(all.flat())));
  seen.listed = (await gather(client.listEntities())).length;
  seen.range = keys(
    await gather(
      client.listEntities({
        queryOptions: { filter: odata`PartitionKey eq ${"b"} and RowKey ge ${"0010"} and RowKey lt ${"0013"}`, select: ["partitionKey", "rowKey"] },
      }),
    ),
  ).join(" ");
  // The next page begins at an entity that is deleted.
  await client.deleteEntity("a", "0900");
  seen.resumed = keys((await client.listEntities().byPage({ maxPageSize: 2, continuationToken: small[0].continuationToken }).next()).value).join(" ");

  const transaction = new TableTransaction();
  transaction.createEntity({ partitionKey: "c", rowKey: "1" });
  transaction.updateEntity({ partitionKey: "c", rowKey: "2" }, "Merge");
  seen.refused = [
    await failure(client.submitTransaction(transaction.actions)),
    await failure(client.submitTransaction([...upserts("a", 0, 3), ["create", { partitionKey: "a", rowKey: "0005" }]])),
    await failure(
      client.submitTransaction([
        ...upserts("a", 5000, 2),
        ["update", { partitionKey: "a", rowKey: "0001" }, "Replace", { etag }],
        ["delete", { partitionKey: "a", rowKey: "none" }],
      ]),
    ),
    await failure(client.submitTransaction([...upserts("a", 5000, 4), ["upsert", { partitionKey: "a", rowKey: "5001" }]])),
    await failure(client.submitTransaction(upserts("a", 5000, 101))),
  ];
  seen.kept = (await gather(client.listEntities({ queryOptions: { filter: "RowKey ge '5000' or PartitionKey eq 'c'" } }))).length;
  const answer = await client.submitTransaction([
    ["create", { partitionKey: "c", rowKey: "1" }],
    ["upsert", { partitionKey: "c", rowKey: "2", n: 1 }, "Replace"],
  ]);
  const written = await client.getEntity("c", "2");
  seen.etags = [answer.status, answer.subResponses.map(({ status }) => status), answer.subResponses[1].etag === written.etag].join();
  return seen;
}

/** What {@link useTable} gives beside the role. */
export const USED_TABLE = {
  tables: 1,
  tablePages: ["other1 other2 other3", "other4", "other4"],
  deleted: ["other3 other4", "404 TableNotFound"],
  entity: {
    text: "é€😀'",
    yes: true,
    int: -(2 ** 31),
    half: 0.5,
    big: "9223372036854775807n",
    when: "2026-11-25T08:00:00.123Z",
    bytes: "bytes 0 1 255",
    tBinary: "bytes 0 255",
    tBoolean: false,
    tDateTime: "1601-01-01T00:00:00.000Z",
    tDouble: 3,
    tGuid: "Guid 0f8fad5b-d9cb-469f-a165-70867728950e",
    tInt32: 7,
    tInt64: "-5n",
    tString: "",
  },
  typed: "Int64 9223372036854775807, Double 0.5, DateTime 1601-01-01T00:00:00Z, Boolean true",
  conflicts: ["412 UpdateConditionNotSatisfied", "412 UpdateConditionNotSatisfied", "409 EntityAlreadyExists"],
  merged: "1 é€😀'",
  replaced: ["int 3", true],
  upserted: ["int 3, text two", "half 1.5, int 3, text two", "yes false", "int 5"],
  missing: "404 ResourceNotFound",
  pages: "1000 1000 1000 1000 1000",
  small: "900 900 900 900 900 500",
  ordered: true,
  listed: 5000,
  range: "b0010 b0011 b0012",
  resumed: "a0901 a0902",
  refused: ["404 ResourceNotFound 1", "409 EntityAlreadyExists 3", "412 UpdateConditionNotSatisfied 2", "400 InvalidDuplicateRow 4", "400 InvalidInput 99"],
  kept: 0,
  etags: "202,204,204,true",
};
