/** What a person sees of an error, a row or a handle that lands in a console, a report or a framework. On the built package. */

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import path from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { reactive, ref } from "@vue/reactivity";

import type { Database } from "../src/index.js";
import { code, load, open, type Package, skip } from "./support/package.js";

async function refusal(call: () => unknown): Promise<Error & { hint?: string }> {
  try {
    await call();
  } catch (error) {
    return error as Error;
  }
  return assert.fail("this has to be refused");
}

async function tables(): Promise<Database> {
  const db = await open();
  await db.createTable({
    tableName: "two",
    primaryKey: [
      { name: "a", type: "STRING" },
      { name: "b", type: "INTEGER" },
    ],
    enableLocalTransaction: true,
  });
  return db;
}

test("the hint of an error is where people look: in its text and its stack; the message stays the service's", { skip }, async () => {
  const db = await tables();
  const error = await refusal(() => db.getRow({ tableName: "two", primaryKey: { a: 7, b: 1 } }));
  const [message, hint] = [
    "Validate PK type fail. Input: VT_INTEGER, Meta: VT_STRING.",
    "Table 'two': the key is (a STRING, b INTEGER); 'a': expected STRING, given INTEGER",
  ];
  assert.deepEqual([error.message, error.hint, String(error)], [message, hint, `TabStoreError: ${message} (${hint})`]);
  assert.ok(error.stack!.startsWith(`TabStoreError: ${message} (${hint})\n    at `), error.stack);
  // A pattern of `replace` in a hint is text.
  const { TabStoreError } = await load();
  const dollars = new TabStoreError({ code: "x", status: 400, retryable: false, message: "no", hint: "$& $1 $$" });
  assert.equal(dollars.stack!.split("\n")[0], "TabStoreError: no ($& $1 $$)");
  const bare = new TabStoreError({ code: "x", status: 400, retryable: false, message: "no" });
  assert.deepEqual([String(bare), bare.stack!.split("\n")[0]], ["TabStoreError: no", "TabStoreError: no"]);
  await db.close();
});

test("an error keeps its code where an application has made something else of stacks", { skip }, async () => {
  const db = await tables();
  const before = Error.prepareStackTrace;
  try {
    for (const prepare of [(_: Error, sites: unknown) => sites, () => assert.fail("a stack is looked at")]) {
      Error.prepareStackTrace = prepare as typeof before;
      const error = (await refusal(() => db.getRow({ tableName: "two", primaryKey: { a: 7, b: 1 } }))) as Error & { code?: string };
      Error.prepareStackTrace = before;
      assert.equal(error.code, "OTSInvalidPK");
    }
  } finally {
    Error.prepareStackTrace = before;
  }
  await db.close();
});

for (const entry of ["inline.js", "node.js"]) {
  test(`classes that people see have their names, also where names are minified (${entry})`, { skip }, async () => {
    const { open, TabStoreError, WriterError, double } = (await import(pathToFileURL(path.resolve("dist", entry)).href)) as Package;
    const db = await open("demo", { storage: "memory" });
    await db.createTable({ tableName: "t", primaryKey: [{ name: "id", type: "INTEGER" }] });
    await db.putRow({ tableName: "t", primaryKey: { id: 1 } });
    const { row } = await db.getRow({ tableName: "t", primaryKey: { id: 1 } });
    assert.deepEqual(
      [db, row!, double(1)].map((one) => one.constructor.name),
      ["Database", "Row", "Double"],
    );
    assert.deepEqual([TabStoreError.name, WriterError.name], ["TabStoreError", "WriterError"]);
    await db.close();
  });
}

type Loose = (...given: unknown[]) => Promise<unknown>;

test("mistakes of beginners are refused with what to do instead", { skip }, async () => {
  const db = await tables();
  const { AUTO_INCREMENT, double } = await load();
  const attributes = (v: unknown) => () => db.putRow({ tableName: "two", primaryKey: { a: "x", b: 1 }, attributes: { v } } as never);
  for (const [call, wanted] of [
    [attributes(["a"]), /column 'v' is an array with a string.*JSON\.stringify/],
    [attributes({ a: 1 }), /column 'v' is an object.*JSON\.stringify/],
    [attributes(new Date()), /column 'v' is a Date.*toISOString\(\)/],
    [attributes(double("3" as never)), /column 'v' is a Double/],
    [() => db.getRange({ tableName: "two", start: { a: "x" }, end: { a: "y" } } as never), /'b' is missing\. Give INF_MIN .* smaller end, INF_MAX/],
    [() => db.putRow({ tableName: "two", primaryKey: { a: "x", b: AUTO_INCREMENT } }), /'b' was not created with autoIncrement/],
    [() => db.updateRow({ tableName: "two", primaryKey: { a: "x", b: 1 }, increment: { n: 0.5 } }), /0\.5 of the increment of column 'n' is not an integer\.$/],
    [
      () => (db.startLocalTransaction as Loose)({ tableName: "two", partitionKey: { a: "x" } }, () => {}),
      /^TabStoreError: startLocalTransaction takes no function: await its result/,
    ],
    [
      () => (db.getRow as Loose)({ tableName: "two", primaryKey: { a: "x", b: 1 } }, { signal: AbortSignal.timeout(1) }),
      /^TabStoreError: getRow takes one argument: write the signal/,
    ],
    [() => (db.deleteTable as Loose)("two", { signal: AbortSignal.timeout(1) }), /deleteTable takes one argument/],
  ] as const)
    assert.match(String(await refusal(call)), wanted);
  assert.throws(() => (db.scan as unknown as Loose)({ tableName: "two" }, { signal: AbortSignal.timeout(1) }), /scan takes one argument/);
  // An index, as `map` gives it, does no harm.
  assert.equal((await Promise.all([{ tableName: "two", primaryKey: { a: "x", b: 1 } }].map(db.getRow, db))).length, 1);
  // A point has no smaller end.
  assert.doesNotMatch(String(await refusal(() => db.getRow({ tableName: "two", primaryKey: { a: "x" } }))), /INF_MIN/);
  await db.createTable({ tableName: "flags", primaryKey: [{ name: "id", type: "INTEGER" }], definedColumns: [{ name: "on", type: "BOOLEAN" }] });
  assert.match(
    String(await refusal(() => db.createIndex({ tableName: "flags", index: { indexName: "by_on", primaryKey: ["on"] } }))),
    /column 'on' of index 'by_on'/,
  );
  await db.close();
});

test("R7: a write that its own transaction keeps out is told so", { skip }, async () => {
  const db = await open({ retry: { attempts: 1 } });
  await db.createTable({
    tableName: "two",
    primaryKey: [
      { name: "a", type: "STRING" },
      { name: "b", type: "INTEGER" },
    ],
    enableLocalTransaction: true,
  });
  const transaction = await db.startLocalTransaction({ tableName: "two", partitionKey: { a: "x" } });
  const error = await refusal(() => db.putRow({ tableName: "two", primaryKey: { a: "x", b: 1 } }));
  assert.ok(code("OTSRowOperationConflict", /^Data is being modified by the other request\.$/)(error));
  assert.match(error.hint!, /a transaction began \d+ ms ago with its partition key: write by its methods, or end it$/);
  await transaction.abort();
  await db.close();
});

test("a signal gets one listener, however many calls wait for it, and none once they are answered", { skip }, async () => {
  const db = await tables();
  const control = new AbortController();
  const { signal } = control;
  const warnings: Error[] = [];
  const warn = (warning: Error): unknown => warnings.push(warning);
  process.on("warning", warn);
  const calls = Array.from({ length: 30 }, (_, b) => db.getRow({ tableName: "two", primaryKey: { a: "x", b }, signal }));
  assert.equal(getEventListeners(signal, "abort").length, 1);
  assert.equal((await Promise.all(calls)).length, 30);
  await new Promise(setImmediate);
  assert.deepEqual([warnings, getEventListeners(signal, "abort").length], [[], 0]);
  // Each of them is given up.
  const given = Array.from({ length: 12 }, (_, b) => db.getRow({ tableName: "two", primaryKey: { a: "x", b }, signal }));
  control.abort(new Error("enough"));
  for (const one of await Promise.allSettled(given)) assert.equal(one.status === "rejected" && (one.reason as Error).message, "enough");
  process.off("warning", warn);
  await db.close();
});

test("rows work in a deep ref and under reactive of Vue", { skip }, async () => {
  const db = await tables();
  await db.putRow({ tableName: "two", primaryKey: { a: "x", b: 1 }, attributes: { text: "hello", bytes: new Uint8Array([1, 2]) } });
  const { rows } = await db.getRange({ tableName: "two" });
  const state = reactive({ rows: [] as (typeof rows)[number][], db });
  const list = ref<unknown[]>([]);
  state.rows.push(...rows);
  list.value = [...rows];
  for (const row of [state.rows[0], list.value[0] as (typeof rows)[number]]) {
    assert.deepEqual(
      [row.get("text"), row.primaryKey, row.columnNames, row.toObject().text, JSON.parse(JSON.stringify(row)).b],
      ["hello", { a: "x", b: 1 }, ["bytes", "text"], "hello", 1],
    );
    assert.deepEqual({ ...row }.primaryKey, { a: "x", b: 1 });
  }
  assert.equal((await state.db.getRow({ tableName: "two", primaryKey: { a: "x", b: 1 } })).row?.get("text"), "hello");
  await db.close();
});
