import assert from "node:assert/strict";
import { test } from "node:test";

import { content } from "../build/data-sets.ts";
import { sortableDates } from "../build/sortable-dates.ts";
import { parseCutOff } from "../src/importing/cut-off.ts";
import { DATA_SETS } from "../src/importing/data-sets.ts";
import { withDates } from "../src/lib/format.ts";
import { shortText, visible } from "../src/lib/values.ts";

test("R3, W1: the dates of the sample of stocks sort by time", () => {
  assert.equal(sortableDates("MSFT,Jan 1 2000,39.81\nA,Dec 31 1999,1"), "MSFT,2000-01-01,39.81\nA,1999-12-31,1");
  assert.equal(sortableDates("Foo 1 2000"), "Foo 1 2000");
  const stocks = DATA_SETS.find(({ file }) => file === "stocks.csv");
  const lines = content(stocks!).toString().trim().split("\n");
  assert.equal(lines.length, 561);
  assert.ok(lines.slice(1).every((line) => /,\d{4}-\d{2}-\d{2},/.test(line)));
});

test("D2, W1: characters that turn a text round are seen, and others stay", () => {
  assert.equal(visible("user\u202Egnp.exe"), "user⟨U+202E⟩gnp.exe");
  assert.equal(visible("\u200f\u2066\u061c"), "⟨U+200F⟩⟨U+2066⟩⟨U+061C⟩");
  assert.equal(visible("שלום 😀 äöü"), "שלום 😀 äöü");
  assert.equal(shortText("a\u202Eb"), "a⟨U+202E⟩b");
});

test("V6, W1: a refusal has dates, and no bare milliseconds", () => {
  assert.equal(
    withDates("the version 1000000000000 has to be at least 1795930911000, by 86400"),
    "the version 2001-09-09 01:46:40.000 UTC has to be at least 2026-11-29 05:41:51.000 UTC, by 86400",
  );
});

test("W1: what an import has left is read back, and nonsense counts as nothing", () => {
  const cut = { instance: "demo", tableName: "t", source: "a.csv", rows: 7 };
  assert.deepEqual(parseCutOff(JSON.stringify(cut)), cut);
  for (const said of [null, "", "{", "[]", '{"rows":"7"}', JSON.stringify({ ...cut, rows: "7" })]) assert.equal(parseCutOff(said), undefined);
});
