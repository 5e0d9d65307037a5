/** The examples of the READMEs, of the guide and of the doc comments, word for word, on the real engine. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";

import { AzureNamedKeyCredential, TableClient } from "@azure/data-tables";

import { WebSocket } from "ws";

import { azure, azureAccounts, azureHttpClient, entityChange, odata } from "../src/azure/index.js";
import { type ConnectOptions, connect, type CredentialsSource } from "../src/cloud/index.js";
import type { Database, OpenOptions } from "../src/index.js";
import { openRemote, type RemoteOptions } from "../src/remote/index.js";
import * as schema from "../src/schema/index.js";
import { answerText, errorText, LineHistory, linesOf, shell } from "../src/shell/index.js";
import { tablestoreFetch, tablestoreHttpClient } from "../src/tablestore/index.js";
import { syncTable } from "../src/sync/index.js";
import { timelines } from "../src/timeline/index.js";
import { commentExamples, type Example, examplesOf, readmeExamples } from "./support/examples.js";
import { load, open, skip } from "./support/package.js";
import { type ServerProcess, serve } from "./support/server.js";
import { TestService } from "./support/service.js";
import { sdk } from "./support/tablestore-sdk.js";

type Run = (scope: Record<string, unknown>) => Promise<void>;
const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => Run;

/** An example as a function of the package's exports and of the values that the text mentions. */
async function runnable({ code }: Example): Promise<Run> {
  const { transform } = (await import(pathToFileURL(path.resolve("node_modules/esbuild/lib/main.js")).href)) as typeof import("esbuild");
  const { code: plain } = await transform(`async function example() {\n${code.replace(/^ *import .*$/gm, "")}\n}`, { target: "es2022", loader: "ts" });
  return new AsyncFunction("scope", `with (scope) {\n${plain}\nawait example();\n}`);
}

/** Where examples keep their files. */
const FOLDER = mkdtempSync(path.join(os.tmpdir(), "tabstore-readme-"));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

/** The tables that examples use without making them. */
const TABLES: readonly [string, readonly [string, "STRING" | "INTEGER", true?][]][] = [
  [
    "reading",
    [
      ["station", "STRING"],
      ["at", "INTEGER"],
    ],
  ],
  ["item", [["id", "INTEGER"]]],
  ["log", [["id", "INTEGER"]]],
  [
    "chat",
    [
      ["room", "STRING"],
      ["id", "INTEGER", true],
    ],
  ],
  [
    "account",
    [
      ["owner", "STRING"],
      ["kind", "STRING"],
    ],
  ],
  ["page", [["path", "STRING"]]],
  ["order", [["id", "STRING"]]],
  ["weather", [["date", "STRING"]]],
  ["movie", [["id", "INTEGER"]]],
];

/** Makes the tables that `code` uses and does not make, and the rows that it takes for granted. */
async function prepare(db: Database, code: string): Promise<void> {
  for (const [tableName, key] of TABLES) {
    if (!code.includes(`createTable({ tableName: "${tableName}"`))
      await db.createTable({ tableName, primaryKey: key.map(([name, type, autoIncrement]) => ({ name, type, autoIncrement })) });
  }
  await db.putRow({ tableName: "item", primaryKey: { id: 7 }, attributes: { state: "free", stock: 5 } });
}

/** The timelines that examples use without making them. */
async function chatOf(db: Database): Promise<Record<string, unknown>> {
  const { createTimelineStore, createMetaStore } = timelines(db);
  const identifier = (name: string) => [{ name, type: "STRING" as const }];
  const messages = createTimelineStore({ tableName: "some_messages", identifier: identifier("room") });
  const inboxes = createTimelineStore({ tableName: "some_inboxes", identifier: identifier("user") });
  const rooms = createMetaStore({
    tableName: "some_rooms",
    identifier: identifier("room"),
    lists: ["members"],
    definedColumns: [{ name: "owner", type: "STRING" }],
    indexes: [{ indexName: "some_rooms_by_owner", primaryKey: ["owner"] }],
  });
  await Promise.all([messages.prepareTables(), inboxes.prepareTables(), rooms.prepareTables()]);
  return { room: messages.createTimelineQueue({ room: "lobby" }), inboxes, rooms };
}

/** The other instances of examples. */
const others: Database[] = [];
after(() => Promise.all(others.map((one) => one.close())));

// Node 20 has none of its own.
Object.assign(globalThis, { WebSocket });

let served: Promise<ServerProcess> | undefined;
/** A server for the examples that ask one. */
const server = (): Promise<ServerProcess> => (served ??= serve(undefined));
after(async () => void (await served)?.end());

/** The names around an example, and the values that it has shown. */
async function surroundings(db: Database): Promise<{ scope: Record<string, unknown>; shown: unknown[] }> {
  const tabstore = await load();
  const chat = await chatOf(db);
  const other = await tabstore.open("other", { storage: "memory" });
  others.push(other);
  const shown: unknown[] = [];
  const scope = {
    ...tabstore,
    ...schema,
    timelines,
    syncTable,
    shell,
    linesOf,
    LineHistory,
    answerText,
    errorText,
    azure,
    azureAccounts,
    azureHttpClient,
    entityChange,
    odata,
    AzureNamedKeyCredential,
    TableClient,
    TableStore: sdk(),
    tablestoreFetch,
    tablestoreHttpClient,
    // Service workers are elsewhere (tests/packaging).
    serveTablestore: () => {},
    ...chat,
    db,
    open: (name: string, options?: OpenOptions) =>
      tabstore.open(name, options?.storage === "files" ? { ...options, path: FOLDER } : { ...options, storage: "memory" }),
    connect: async (endpoint: string, credentials: CredentialsSource, options?: ConnectOptions) => {
      const behind = await tabstore.open("behind", { storage: "memory" });
      others.push(behind);
      const { fetch } = new TestService(behind, tabstore, { accessKeyId: "id", accessKeySecret: "secret" });
      return connect(endpoint, credentials, { ...options, fetch });
    },
    openRemote: async (_address: string, options?: RemoteOptions) => openRemote((await server()).console, options),
    console: { log: (...line: unknown[]) => shown.push(line) },
    show: (row: unknown) => shown.push(row),
    bar: (part: number) => shown.push(part),
    read: async (rows: AsyncIterable<unknown>) => {
      for await (const row of rows) shown.push(row);
    },
    other,
    readings: [{ station: "OSL", at: 1, tempMax: 3.5 }],
    tableName: "item",
    primaryKey: { id: 7 },
    signal: new AbortController().signal,
    file: new File(["date,temp_max\n2012-01-01,12.8\n2012-01-02,10\n"], "weather.csv"),
  };
  return { scope, shown };
}

async function run(example: Example, scope: Record<string, unknown>): Promise<void> {
  await (await runnable(example))(scope).catch((error: unknown) => {
    throw new Error(`The example of ${example.file}:${example.line} failed:\n${example.code}`, { cause: error });
  });
}

test("W3: the examples of the READMEs, the guide and the changelog do what they say", { skip }, async () => {
  const all = readmeExamples();
  const db = await open();
  await prepare(db, all.map(({ code }) => (code.includes("await open(") ? "" : code)).join());
  await db.putRow({ tableName: "reading", primaryKey: { station: "SEA", at: 5 }, attributes: { tempMax: 21.5 } });
  const { scope, shown } = await surroundings(db);
  const of = new Map<string, unknown[]>();
  for (const example of all) {
    // An instance with tables of accounts is exported without them alone.
    await run(example, example.code.includes("exportInstance") ? (await surroundings(await open())).scope : scope);
    of.set(example.file, [...(of.get(example.file) ?? []), ...shown.splice(0)]);
  }
  const said = (file: string, columns = 4): unknown[] => (of.get(file) ?? []).map((line) => (Array.isArray(line) ? line.slice(0, columns) : line));
  assert.equal(all.length, 53);
  const inside = said("docs/inside.md") as [string | { readonly source: string }[], unknown][];
  assert.ok(
    inside.some(([type]) => type === "flush"),
    "a step of the sandbox was a flush",
  );
  const [steps] = inside.at(-1)!;
  assert.ok(Array.isArray(steps) && steps.length > 0 && steps.every(({ source }) => typeof source === "string"));
  assert.deepEqual(
    said("README.md", 2).map((line) => JSON.parse(JSON.stringify(line)) as unknown),
    [[{ station: "SEA", at: 1 }, 12.8], [[{ id: 1, title: "Ship it", due: "2026-12-24T00:00:00.000Z", tags: ["work"] }]]],
  );
  assert.deepEqual(said("docs/azure.md"), [
    ["HEL", 55],
    ["OSL", 209],
    ["PUT", "1", undefined, 2],
    ["UPDATE", "1", 2, 3],
    ["PUT", "owls", 2],
    ["UPDATE", "owls", 3],
    [180],
  ]);
  assert.deepEqual(said("docs/cloud.md"), [[12], [{ id: 1, title: "Ship it" }]]);
  assert.deepEqual(said("docs/serve.md"), [[[], 2], [200, true], [true]]);
  assert.deepEqual(said("docs/changes-and-tests.md"), [[null]]);
  assert.deepEqual(said("docs/live.md"), [[[], []], [[{ id: 1, total: 12 }], [{ id: 1 }]], [0]]);
  assert.deepEqual(said("docs/streams.md", 3).slice(2, -1), [
    ["BaseData", "PUT", 0],
    ["BaseData", "PUT", 1],
    ["BaseData", "PUT", 2],
    ["Stream", "DELETE", 1],
  ]);
  const [copying, status] = [said("docs/sync.md", 2), of.get("docs/sync.md") as [{ rowsCopied?: number; changesRead?: number }][]];
  assert.deepEqual([copying[0], copying.at(-1)], [["preparing", ""], ["from the hub"]]);
  const { rowsCopied, changesRead } = status.find(([line]) => line.rowsCopied !== undefined)![0];
  assert.deepEqual([rowsCopied, changesRead], [1, 1]);
  assert.deepEqual(said("docs/shell.md"), [
    [["uid", "pid", "age", "name"], 1],
    ["'alter' has no option '--tll'; did you mean '--ttl'?"],
    ["Table mytable is used."],
  ]);
  assert.deepEqual(said("docs/timelines.md"), [["ann", "hello, @bob"], ["lobby", "The lobby"], "bob: hi", "lunch?"]);
  const [[, , found, newest]] = of.get("docs/typed-tables.md") as [[unknown, unknown, { title: string }[], { next: null }]];
  assert.deepEqual([found.map(({ title }) => title), newest.next], [["Ship it"], null]);
  const tutorial = (name: string): unknown[] => said(`docs/tutorials/${name}.md`).map((line) => (Array.isArray(line) && line.length === 1 ? line[0] : line));
  assert.deepEqual(tutorial("store-and-page").slice(1), [["Kim", "Dracula"], ["Middlemarch", "Persuasion"], ["Emma"], 2, "Persuasion", ["Eliot"], ["Emma"]]);
  assert.deepEqual(tutorial("history-and-undo").slice(3), ["two", "two", ["one", "two", "one"]]);
  assert.deepEqual(tutorial("live-list").at(-1), ["Ship it (done)"]);
  assert.deepEqual(
    tutorial("offline").map((line) => JSON.parse(String(line)).type),
    ["PUT", "UPDATE"],
  );
  assert.deepEqual(tutorial("from-dexie"), [
    ["Ship it soon", undefined],
    3,
    [1],
    [2, 3],
    [
      [4, 3],
      [2, 1],
    ],
    1,
    [20, 10],
    ["From Dexie"],
  ]);
  assert.deepEqual(tutorial("to-the-cloud")[0], [2, 325]);
  assert.deepEqual((await db.getRow({ tableName: "item", primaryKey: { id: 7 } })).row?.get("state"), "sold");
  assert.deepEqual((await db.getRow({ tableName: "account", primaryKey: { owner: "ann", kind: "savings" } })).row?.get("balance"), 10);
  await db.close();
});

test("the example of the site's first page is one of the package's README", () => {
  const read = (file: string): string[] => examplesOf(file, readFileSync(file, "utf8")).map(({ code }) => code);
  const [example, ...others] = read("../site/index.md");
  assert.ok(read("README.md").includes(example) && others.length === 0);
});

test("W3: the examples of the doc comments run", { skip }, async () => {
  // Code that names a file of the package by its address needs a bundler.
  const all = commentExamples().filter(({ code }) => !code.includes("?url"));
  assert.ok(all.length >= 24, `only ${all.length} were found`);
  for (const example of all) {
    const db = await open();
    await prepare(db, example.code);
    await run(example, (await surroundings(db)).scope);
    await db.close();
  }
});
