/** What dialogs show as "the same": its shell lines are read as the same request, its JavaScript runs and does the same. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { after, test } from "node:test";

import * as tabstore from "tabstore";
import { AUTO_INCREMENT, type Database, double, INF_MAX, INF_MIN, open } from "tabstore";
import { requestOf, shell, type ShellRequest } from "tabstore/shell";

import { codeOf, type KnownTable, type Shown } from "../src/same-as/code.ts";

const opened: Database[] = [];
after(() => Promise.all(opened.map((db) => db.close())));

async function fresh(): Promise<Database> {
  const db = await open("same", { storage: "memory", integers: "bigint", clock: { now: 1_700_000_000_000 } });
  opened.push(db);
  return db;
}

const tableName = "mytable";
const table: KnownTable = {
  tableName,
  primaryKey: [
    { name: "uid", type: "STRING" },
    { name: "pid", type: "INTEGER", autoIncrement: true, allowChosen: true },
  ],
  timeToLive: -1,
  maxVersions: 3,
  maxVersionOffset: 86400,
  allowUpdate: true,
};
const primaryKey = { pid: 6771n, uid: "it's" };

/** What dialogs of the console do, with values of every type. */
const REQUESTS: Readonly<Record<string, ShellRequest>> = {
  create: {
    operation: "createTable",
    request: {
      tableName: "other",
      primaryKey: table.primaryKey.map(({ name, type }) => ({ name, type })),
      timeToLive: 86400,
      maxVersions: 2,
      maxVersionOffset: 5,
      allowUpdate: false,
      reservedThroughput: { read: 1, write: 0 },
    },
  },
  alter: { operation: "updateTable", request: { tableName, timeToLive: 86400, maxVersions: 1 } },
  drop: { operation: "deleteTable", request: { tableName } },
  put: {
    operation: "putRow",
    request: {
      tableName,
      primaryKey,
      attributes: {
        text: 'a "b"\n名\u2028',
        whole: 9007199254740993n,
        small: 5n,
        measure: double(3),
        minus: double(-0),
        yes: true,
        bytes: Uint8Array.of(0, 255),
        __proto__: "odd",
        old: [
          { value: 1n, version: 1_700_000_000_000 },
          { value: double(0.5), version: 1_699_999_999_999n },
        ],
      },
      condition: { rowExistence: "EXPECT_NOT_EXIST" },
    },
  },
  "put with a key of the store": {
    operation: "putRow",
    request: { tableName, primaryKey: { uid: "a", pid: AUTO_INCREMENT }, attributes: { n: 1n }, returnContent: "PRIMARY_KEY" },
  },
  update: {
    operation: "updateRow",
    request: {
      tableName,
      primaryKey: { uid: "there", pid: 1n },
      put: { name: [{ value: "new", version: 1_700_000_000_001 }] },
      deleteColumns: ["gone"],
      deleteVersions: { hits: [1_700_000_000_000] },
      condition: {
        rowExistence: "EXPECT_EXIST",
        column: {
          operator: "AND",
          filters: [
            { column: "name", comparator: "EQUAL", value: "old", passIfMissing: false },
            { column: "size", comparator: "EQUAL", value: double(2), passIfMissing: false },
          ],
        },
      },
    },
  },
  increment: {
    operation: "updateRow",
    request: { tableName, primaryKey: { uid: "there", pid: 1n }, increment: { hits: 5n }, returnContent: { afterModify: ["hits"] } },
  },
  delete: { operation: "deleteRow", request: { tableName, primaryKey: { uid: "there", pid: 1n } } },
  get: { operation: "getRow", request: { tableName, primaryKey: { uid: "there", pid: 1n }, maxVersions: 2, columnsToGet: ["name", "hits"] } },
  scan: { operation: "scan", request: { tableName, direction: "BACKWARD", start: { uid: "z", pid: INF_MAX }, end: { uid: "a", pid: INF_MIN }, limit: 5 } },
};

/** A database with the table and a row. */
async function ready(): Promise<Database> {
  const db = await fresh();
  await db.createTable({ tableName, primaryKey: table.primaryKey, maxVersions: 3 });
  const version = 1_700_000_000_000;
  const cell = (value: tabstore.InputValue) => [{ value, version }];
  await db.putRow({
    tableName,
    primaryKey: { uid: "there", pid: 1 },
    attributes: { name: cell("old"), size: cell(double(2)), gone: cell(true), hits: cell(1) },
  });
  return db;
}

/** All that a database holds, but for the versions that its clock gave. */
async function contents(db: Database): Promise<unknown> {
  const all: unknown[] = [];
  for (const name of await db.listTable()) {
    const { primaryKey: key, timeToLive, maxVersions, maxVersionOffset, allowUpdate, reservedThroughput } = await db.describeTable(name);
    all.push([name, key, timeToLive, maxVersions, maxVersionOffset, allowUpdate, reservedThroughput.read]);
    for await (const row of db.scan({ tableName: name, maxVersions: 9 }))
      all.push([row.primaryKey, row.columnNames.map((column: string) => [column, row.type(column), row.columns[column]?.map(({ value }) => value)])]);
  }
  return all;
}

type Program = (scope: Record<string, unknown>) => Promise<void>;
const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => Program;

/** Runs a program of the package on a database; gives what it has printed. */
async function runJavaScript(code: string, db: Database, more: { readonly file?: File } = {}): Promise<unknown[]> {
  const [head = "", ...body] = code.split("\n");
  const names = /^import \{ (.*) \} from "tabstore";$/.exec(head)?.[1]?.split(", ") ?? [];
  const printed: unknown[] = [];
  const scope = { ...Object.fromEntries(names.map((name) => [name, (tabstore as Record<string, unknown>)[name]])), open: async () => db };
  const declared = `const { ${names.join(", ")}, console, file } = scope;`;
  await new AsyncFunction("scope", `${declared}\n${body.join("\n")}`)({ ...scope, ...more, console: { log: (one: unknown) => printed.push(one) } });
  return printed;
}

/** Does a request itself. */
async function done(db: Database, { operation, request }: ShellRequest): Promise<void> {
  if (operation === "scan") for await (const _ of db.scan(request));
  else await (db[operation] as (given: unknown) => Promise<unknown>).call(db, request);
}

/** A value whose equals are equal. */
function normal(value: unknown): unknown {
  if (typeof value === "number") return BigInt(value);
  if (Array.isArray(value)) return value.map(normal);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || value instanceof tabstore.Double) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .map(([name, inner]) => [name, normal(inner)])
      .sort(([a], [b]) => String(a).localeCompare(String(b))),
  );
}

for (const [name, request] of Object.entries(REQUESTS)) {
  test(`W2: the shell lines shown for "${name}" are read as the same request, and do the same`, async () => {
    const text = codeOf("Shell", request, "demo", table);
    const lines = text.trimEnd().split("\n");
    const read = requestOf(lines.at(-1) ?? "", { tableName, primaryKey: table.primaryKey }, double);
    assert.deepEqual(normal(read), normal(request), text);
    const [here, there] = [await ready(), await ready()];
    const made = shell(here, { double });
    for (const line of lines) await made.run(line);
    await done(there, request);
    assert.deepEqual(await contents(here), await contents(there));
  });

  test(`W2: the JavaScript shown for "${name}" runs, and does the same`, async () => {
    const [here, there] = [await ready(), await ready()];
    const code = codeOf("JavaScript", request, "demo", table);
    assert.ok(code.includes('await open("demo")'));
    const printed = await runJavaScript(code, here);
    await done(there, request);
    assert.deepEqual(await contents(here), await contents(there), code);
    assert.equal(printed.length, ["get", "scan"].includes(name) ? 1 : 0);
  });
}

test("W2: the lines and the JavaScript shown for an import store the same rows", async () => {
  const csv = "city,day,warm\nOslo,1,3.5\nRoma,2,20.0\n";
  const shown: Shown = {
    operation: "importRows",
    request: {
      tableName: "weather",
      source: "the weather.csv",
      options: {
        columns: { city: { name: "city", type: "STRING" }, day: { name: "day", type: "INTEGER" }, warm: { name: "warm", type: "DOUBLE" } },
        rename: "legal",
        onError: "stop",
        onDuplicate: "replace",
        format: "csv",
      },
      create: { tableName: "weather", primaryKey: [{ name: "city", type: "STRING" }] },
    },
  };
  const [here, there] = [await fresh(), await fresh()];
  const made = shell(here, { double, inspectImport: tabstore.inspectImport, read: async () => new Blob([csv]) });
  const text = codeOf("Shell", shown, "demo", undefined);
  assert.equal(text, `create -t weather --pk '[{"c":"city","t":"string"}]'\nuse -t weather\nimport -i 'the weather.csv'\n`);
  for (const line of text.trimEnd().split("\n")) await made.run(line);
  await runJavaScript(codeOf("JavaScript", shown, "demo", undefined), there, { file: new File([csv], "weather.csv") });
  const stored = await contents(here);
  assert.deepEqual(stored, await contents(there));
  assert.equal((stored as unknown[]).length, 3);
  const { request } = shown;
  const options = { ...request.options, onDuplicate: "stop", rowNumber: "row", columns: { day: false } } as const;
  const notes = codeOf("Shell", { operation: "importRows", request: { ...request, options, create: undefined } }, "demo", undefined);
  assert.match(notes, /^# [^\n]* row numbers \(row\)\.\n# [^\n]* would stop\.\n# [^\n]* left out \(day\)\.\nuse -t weather\n/);
  assert.match(codeOf("Python", shown, "demo", undefined), /create_table[^]*# The SDK imports no files/);
});

// ------------------------------------------------------------------------------------------------ the SDKs

/** What the npm SDK's client is asked. */
async function asked(code: string): Promise<{ method: string; parameters: Record<string, unknown> }> {
  let found: { method: string; parameters: Record<string, unknown> } | undefined;
  const Client = class {
    constructor() {
      // biome-ignore lint/correctness/noConstructorReturn: it stands for every method of the SDK.
      return new Proxy(this, {
        get: (_, method) => async (parameters: Record<string, unknown>) => {
          found = { method: String(method), parameters };
        },
      });
    }
  };
  const constants = new Proxy({}, { get: (_, name) => String(name) });
  const made = (kind: string) =>
    class {
      readonly given: unknown[];
      readonly parts: unknown[] = [];
      constructor(...given: unknown[]) {
        this.given = [kind, ...given];
      }
      addSubCondition(part: unknown): void {
        this.parts.push(part);
      }
    };
  const sdk = {
    Client,
    Long: { fromNumber: (value: number) => BigInt(value), fromString: (text: string) => BigInt(text) },
    RowExistenceExpectation: constants,
    ComparatorType: constants,
    LogicalOperator: constants,
    Direction: constants,
    ReturnType: constants,
    PK_AUTO_INCR: "auto",
    INF_MIN: "min",
    INF_MAX: "max",
    Condition: made("condition"),
    SingleColumnCondition: made("single"),
    CompositeCondition: made("composite"),
  };
  const declared = "const { require, accessKeyId, accessKeySecret, endpoint, console } = scope;";
  await new AsyncFunction("scope", `${declared}\n${code}`)({ require: () => sdk, console });
  assert.ok(found !== undefined, code);
  return found;
}

test("W2: the code for the npm SDK asks what the SDK's documents say", async () => {
  const of = (name: string) => asked(codeOf("npm SDK", REQUESTS[name] as ShellRequest, "demo", table));
  const put = await of("put");
  assert.equal(put.method, "putRow");
  assert.deepEqual(put.parameters.primaryKey, [{ uid: "it's" }, { pid: 6771n }]);
  const columns = put.parameters.attributeColumns as Record<string, unknown>[];
  assert.deepEqual(columns.slice(0, 6), [
    { text: 'a "b"\n名\u2028' },
    { whole: 9007199254740993n },
    { small: 5n },
    { measure: 3 },
    { minus: -0 },
    { yes: true },
  ]);
  assert.deepEqual(columns.slice(-2), [
    { old: 1n, timestamp: 1_700_000_000_000 },
    { old: 0.5, timestamp: 1_699_999_999_999 },
  ]);
  const update = await of("update");
  const { given } = update.parameters.condition as { given: unknown[] };
  assert.deepEqual(given.slice(0, 2), ["condition", "EXPECT_EXIST"]);
  assert.equal((given[2] as { parts: unknown[] }).parts.length, 2);
  assert.deepEqual(update.parameters.updateOfAttributeColumns, [
    { PUT: [{ name: "new", timestamp: 1_700_000_000_001 }] },
    { DELETE: [{ hits: 1_700_000_000_000n }] },
    { DELETE_ALL: ["gone"] },
  ]);
  const scan = await of("scan");
  assert.equal(scan.method, "getRange");
  assert.deepEqual(scan.parameters.inclusiveStartPrimaryKey, [{ uid: "z" }, { pid: "max" }]);
  const alter = await of("alter");
  assert.deepEqual(alter.parameters, { tableName, tableOptions: { timeToLive: 86400, maxVersions: 1 } });
  for (const name of Object.keys(REQUESTS)) assert.equal((await of(name)).parameters.tableName ?? "other", name === "create" ? "other" : tableName);
});

test("W2: the Python code keeps the options that a change leaves as they are, and compiles", (t) => {
  const of = (name: string) => codeOf("Python", REQUESTS[name] as ShellRequest, "demo", table);
  const alter = of("alter").replaceAll(/\s+/g, "");
  assert.ok(
    alter.endsWith('client.update_table("mytable",TableOptions(time_to_live=86400,max_version=1,max_time_deviation=86400,allow_update=True,),)'),
    alter,
  );
  assert.ok(
    of("delete").replaceAll(/\s+/g, "").includes('client.delete_row("mytable",Row([("uid","there"),("pid",1)]),Condition(RowExistenceExpectation.IGNORE),)'),
  );
  assert.match(of("increment"), /\{"increment": \[\("hits", 5\)\]\}/);
  assert.match(of("put with a key of the store"), /\("pid", PK_AUTO_INCR\)[^]*ReturnType\.RT_PK/);
  const all = Object.keys(REQUESTS).map(of);
  const { status, stderr, error } = spawnSync("python3", ["-c", "import sys, json\nfor code in json.load(sys.stdin): compile(code, 'code', 'exec')"], {
    input: JSON.stringify(all),
    encoding: "utf8",
  });
  if (error !== undefined) return t.diagnostic("there is no python3 here");
  assert.equal(status, 0, stderr);
});
