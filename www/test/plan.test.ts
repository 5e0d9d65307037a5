import assert from "node:assert/strict";
import { test } from "node:test";

import { type ImportPreview, inspectImport, type TableDescription } from "tabstore";

import { content } from "../build/data-sets.ts";
import { DATA_SETS } from "../src/importing/data-sets.ts";
import { duplicatesOf, planErrors, planKey, planTable, startPlan, suggestKey, toggleKey, toImportOptions } from "../src/importing/plan.ts";

function blob(file: string): File {
  const set = DATA_SETS.find((one) => one.file === file);
  assert.ok(set !== undefined, file);
  return new File([new Uint8Array(content(set))], file);
}

const csv = (text: string) => inspectImport(new File([text], "x.csv"));

test("the data sets are there, with as many rows as the console says, and their keys fit", async () => {
  for (const { file, rows, key, table } of DATA_SETS) {
    const preview = await inspectImport(blob(file), { rows: 1_000_000 });
    assert.equal(preview.rows.length, rows, file);
    const keys = new Set(preview.rows.map((row) => JSON.stringify(key.map((name) => row[name]))));
    assert.equal(keys.size, key.length === 0 ? 1 : rows, file);
    assert.deepEqual(planErrors(startPlan(preview, table, key), undefined), [], file);
  }
});

test("flights have no unique key: the row's number is the key", async () => {
  const plan = startPlan(await inspectImport(blob("flights-200k.json")), "flights", []);
  assert.deepEqual(planKey(plan), [{ name: "row", type: "INTEGER" }]);
  assert.equal(toImportOptions(plan, false).rowNumber, "row");
});

test("a key is suggested: one unique column, else two, else the row's number", async () => {
  assert.deepEqual(suggestKey(await csv("a,b\n1,x\n1,y\n")), ["b"]);
  assert.deepEqual(suggestKey(await csv("a,b,c\n1,x,\n1,y,q\n2,x,q\n")), ["a", "b"]);
  assert.deepEqual(suggestKey(await csv("a,b\n1,x\n1,x\n")), []);
  assert.deepEqual(suggestKey(await csv("a\n1.5\n2.5\n")), [], "numbers with a fraction make no key");
});

test("key columns keep the order in which they were chosen", async () => {
  const plan = startPlan(await csv("a,b,c\n1,x,q\n"), "t", ["a"]);
  const three = toggleKey(toggleKey(plan, "c"), "b");
  assert.deepEqual(
    planKey(three).map(({ name }) => name),
    ["a", "c", "b"],
  );
  assert.deepEqual(
    planKey(toggleKey(three, "a")).map(({ name }) => name),
    ["c", "b"],
  );
});

test("T2, T3: what the store would refuse is said before", async () => {
  const preview: ImportPreview = await csv("a,b,c,d,e\n1,2,3,4,5\n");
  const plan = startPlan(preview, "t", ["a"]);
  const messages = (change: Partial<typeof plan>) => planErrors({ ...plan, ...change }, undefined).join(" ");
  assert.match(messages({ tableName: "9t" }), /no name of a table/);
  assert.match(messages({ columns: plan.columns.map((column) => ({ ...column, name: "same" })) }), /Two columns are called same/);
  assert.match(messages({ columns: plan.columns.map((column) => ({ ...column, key: 0 })) }), /Choose a key/);
  assert.match(messages({ columns: plan.columns.map((column, at) => ({ ...column, key: at + 1 })) }), /at most 4/);
  const existing = { tableName: "t", primaryKey: [{ name: "z", type: "STRING" as const }] } as unknown as Parameters<typeof planErrors>[1];
  assert.match(planErrors(plan, existing).join(" "), /exists with the key z STRING/);
});

test("a key that may repeat replaces nothing, unless a person says so", async () => {
  const proposed = startPlan(await csv("a,b\n1,x\n1,y\n"), "t", ["b"]);
  assert.equal(duplicatesOf(proposed, false), "stop");
  assert.equal(duplicatesOf(proposed, true), "replace");
  assert.equal(duplicatesOf({ ...proposed, onDuplicate: "skip" }, true), "skip");
  const known = startPlan(await csv("a,b\n1,x\n1,y\n"), "t", ["b"], true);
  assert.equal(duplicatesOf(known, false), "replace");
  assert.equal(duplicatesOf(toggleKey(known, "a"), false), "stop");
  assert.equal(toImportOptions(proposed, false).onDuplicate, "stop");
});

test("V1, W1: a new table keeps as many versions as the plan says, one unless it does", async () => {
  const plan = startPlan(await csv("a,b\n1,x\n"), "t", ["a"]);
  assert.deepEqual(planTable(plan), { tableName: "t", primaryKey: [{ name: "a", type: "INTEGER" }] });
  assert.equal(planTable({ ...plan, maxVersions: "3" }).maxVersions, 3);
  for (const wrong of ["", "0", "-1", "1.5", "many"]) assert.match(planErrors({ ...plan, maxVersions: wrong }, undefined).join(), /Versions kept/);
  assert.deepEqual(
    planErrors({ ...plan, maxVersions: "" }, { tableName: "t", primaryKey: planKey(plan) } as TableDescription),
    [],
    "a table that is there keeps its own",
  );
});
