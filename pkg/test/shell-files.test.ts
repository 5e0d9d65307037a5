/** The files of `-i` and `-o`: what `desc` and `get` write is taken back as it was, and a wrong file stores nothing. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { CreateTableRequest, TableDescription } from "../src/index.js";
import { shell } from "../src/shell/index.js";
import { load, open, skip } from "./support/package.js";
import { testShell } from "./support/shell.js";

const PK = [
  { name: "uid", type: "STRING" },
  { name: "pid", type: "INTEGER" },
] as const;

/** What somebody chose of a table. */
function chosen({ creationTime: _, partitions: _p, tableName: _n, ...table }: TableDescription): object {
  const { reservedThroughput: units, stream, indexes } = table;
  return {
    ...table,
    reservedThroughput: { read: units.read, write: units.write },
    stream: stream && { expirationHours: stream.expirationHours, originColumns: stream.originColumns },
    indexes: indexes.map(({ indexName, type, primaryKey, columns, timeToLive }) => ({ indexName, type, primaryKey, columns, timeToLive })),
  };
}

const TABLES: Record<string, Omit<CreateTableRequest, "tableName">> = {
  "with the defaults": { primaryKey: PK },
  "with an auto-increment key": { primaryKey: [PK[0], { ...PK[1], autoIncrement: true }] },
  "with chosen values of that key": { primaryKey: [PK[0], { ...PK[1], autoIncrement: true, allowChosen: true }] },
  "without transactions": { primaryKey: PK, enableLocalTransaction: false },
  "with options": { primaryKey: PK, timeToLive: 864_000, maxVersions: 7, maxVersionOffset: 123_456, allowUpdate: false },
  "with a stream": { primaryKey: PK, stream: { enabled: true, expirationHours: 48, originColumns: ["a", "b"] } },
  "with indexes": {
    primaryKey: PK,
    definedColumns: (["STRING", "INTEGER", "DOUBLE", "BOOLEAN", "BINARY"] as const).map((type) => ({ name: type.toLowerCase(), type })),
    indexes: [
      { indexName: "i1", primaryKey: ["string"], columns: ["double", "boolean"] },
      { indexName: "i2", type: "LOCAL", primaryKey: ["uid", "integer"], columns: ["binary"] },
    ],
  },
  "with an index that has a time to live": {
    primaryKey: PK,
    allowUpdate: false,
    definedColumns: [{ name: "a", type: "STRING" }],
    indexes: [{ indexName: "i3", primaryKey: ["a"], timeToLive: 172_800 }],
  },
};

for (const [what, table] of Object.entries(TABLES)) {
  test(`W2: create -i makes the table of desc -o again: one ${what}`, { skip }, async () => {
    const { db, run, files } = await testShell();
    await db.createTable({ tableName: "one", ...table });
    const before = await db.describeTable("one");
    await run("desc -t one -o one.json", "drop -t one -y", "create -i one.json");
    assert.deepEqual(chosen(await db.describeTable("one")), chosen(before), files.get("one.json"));
    await db.close();
  });
}

test("W2: create -i takes no kind of table that create refuses", { skip }, async () => {
  const { db, run, wrong } = await testShell();
  await db.createTable({ tableName: "one", primaryKey: PK });
  await run("desc -t one -o one.json");
  assert.match((await wrong("create -i one.json -t two -m timeseries")).message, /none of widecolumn/);
  assert.deepEqual(await db.listTable(), ["one"]);
  await db.close();
});

test("W2: put -i stores the row of get -o with all versions, also where older ones are of another type", { skip }, async () => {
  const now = 1_700_000_000_000;
  const { db, run, files } = await testShell({ now });
  const { double } = await load();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }], maxVersions: 5 });
  const values = ["a text", double(3), 3, double(-0), true];
  await db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { a: values.map((value, at) => ({ value, version: now - at })) } });
  await run("use -t t", "get --pk '[1]' --max_version 5 -o row.json");
  const before = files.get("row.json");
  await run("delete --pk '[1]'", "put -i row.json", "get --pk '[1]' --max_version 5 -o again.json");
  assert.equal(files.get("again.json"), before);
  const { row } = await db.getRow({ tableName: "t", primaryKey: { id: 1 }, maxVersions: 5 });
  assert.deepEqual(row!.types("a"), ["STRING", "DOUBLE", "INTEGER", "DOUBLE", "BOOLEAN"]);
  assert.deepEqual(row!.types("b"), []);
  await db.close();
});

test("W2: put -i stores the row of get -o, whatever its key and values are", { skip }, async () => {
  const { db, run, files } = await testShell();
  const { double } = await load();
  const primaryKey = (["STRING", "BINARY", "INTEGER"] as const).map((type) => ({ name: type.toLowerCase(), type }));
  await db.createTable({ tableName: "t", primaryKey });
  await run("use -t t");
  for (const string of ["", "a'b\"c\\", "\u0000\n\t", "\ufeffbom", "😀 日本語 \u2028", "'; drop -t t -y #", "[1,{"]) {
    const key = { string, binary: Uint8Array.of(0, 255, 128), integer: -(2n ** 63n) };
    const attributes = { _proto_: true, s: string, big: 2n ** 63n - 1n, bytes: new Uint8Array(0), large: double(1e308), small: double(5e-324) };
    await db.putRow({ tableName: "t", primaryKey: key, attributes });
    const read = async () => (await db.getRow({ tableName: "t", primaryKey: key })).row?.toObject();
    const before = await read();
    await run(`get --pk '[${JSON.stringify(string).replaceAll("'", "'\\''")},"AP+A",${key.integer}]' -o row.json`);
    await db.deleteRow({ tableName: "t", primaryKey: key });
    await run("put -i row.json");
    assert.deepEqual(await read(), before, files.get("row.json"));
  }
  await db.close();
});

test("W2: -i refuses a file that is not UTF-8, as import does, and stores no replacement characters", { skip }, async () => {
  const { double } = await load();
  const db = await open();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "STRING" }] });
  const latin1 = new Blob([Buffer.from('{"PK":{"Values":["Z\u00fcrich"]},"Attr":{"Values":[{"C":"a","V":1}]}}\n', "latin1")]);
  const made = shell(db, { double, read: async () => latin1 });
  for (const line of ["import -t t -i file", "put -t t -i file", "update -t t -i file", "create -i file"])
    await assert.rejects(made.run(line), /file is not UTF-8/, line);
  assert.equal((await db.count({ tableName: "t" })).count, 0);
  await db.close();
});

test("W2: update -i counts and deletes beside a file without columns", { skip }, async () => {
  const { db, run, files } = await testShell();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  files.set("key.json", '{"PK":{"Values":[1]}}');
  files.set("empty.json", '{"PK":{"Values":[1]},"Attr":{"Values":[]}}');
  await run("use -t t", `put --pk '[1]' --attr '[{"c":"n","v":1},{"c":"x","v":2}]'`);
  await run(`update -i key.json --increment '[{"c":"n","v":5}]'`, `update -i empty.json --increment '[{"c":"n","v":5}]' --delete_columns x`);
  assert.deepEqual((await db.getRow({ tableName: "t", primaryKey: { id: 1 } })).row!.toObject(), { id: 1n, n: 11n });
  await db.close();
});

test("W2: a wrong file of -i stores nothing, and its mistake is told with its name", { skip }, async () => {
  const { db, files, wrong, run } = await testShell();
  await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
  await run("use -t t");
  const rows = [
    "",
    '{"PK":{"Values":[1]}}\n{"PK":{"Values":[2]}}',
    '{"PK":{"Values":[1]},"PK":{"Values":[2]}}',
    '{"PK":{"Values":[1]},"Atr":{"Values":[]}}',
    '{"PK":{"Values":[1]},"Attr":{"Values":[{"C":"a","c":"b","V":1}]}}',
    '{"PK":{"Values":[1]},"Attr":{"Values":[{"C":"a","V":null}]}}',
    '{"PK":{"Values":[1]},"Attr":{"Values":[{"C":"a","V":1,"TS":"1"}]}}',
    `{"PK":{"Values":${"[".repeat(100)}1${"]".repeat(100)}}}`,
    '{"PK":{"Values":[1]},"Attr":{}}',
    '{"PK":{"Values":["1"]}}',
  ];
  for (const text of rows) {
    files.set("bad.json", text);
    for (const command of ["put", "update"]) assert.match((await wrong(`${command} -i bad.json`)).message, /^bad\.json, line \d+: /, text);
  }
  files.set("bad.json", '{"Name":"a","Name":"b","Meta":{"Pk":[{"C":"x","T":"string"}]}}');
  assert.match((await wrong("create -i bad.json")).message, /^bad\.json, line 1: The member 'Name' stands there twice/);
  assert.equal((await db.count({ tableName: "t" })).count, 0);
  assert.deepEqual(await db.listTable(), ["t"]);
  await db.close();
});
