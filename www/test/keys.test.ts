import assert from "node:assert/strict";
import { test } from "node:test";

import { INF_MAX, INF_MIN, type KeyColumn } from "tabstore";

import { compareKeys, compareValues, keyText, parseEnd } from "../src/lib/keys.ts";

const SCHEMA: readonly KeyColumn[] = [
  { name: "station", type: "STRING" },
  { name: "at", type: "INTEGER" },
];

test("D1: keys compare as the store sorts them: integers by number, texts by their UTF-8 bytes", () => {
  const ordered = [INF_MIN, "", "B", "a", "aa", "\uffff", "\u{10000}", INF_MAX];
  for (let at = 1; at < ordered.length; at++) assert.ok(compareValues(ordered[at - 1]!, ordered[at]!) < 0, `${at}`);
  assert.ok(compareValues(-2n, 10n) < 0);
  assert.ok(compareValues(new Uint8Array([1]), new Uint8Array([1, 0])) < 0);
  assert.equal(compareKeys(SCHEMA, { station: "a", at: 1n }, { at: 1n, station: "a" }), 0);
  assert.ok(compareKeys(SCHEMA, { station: "a", at: 2n }, { station: "a", at: INF_MAX }) < 0);
});

test("R3: what is left empty is the end of the range, on the side that is being read from", () => {
  assert.equal(parseEnd(SCHEMA, ["", ""], "start", "FORWARD"), undefined);
  assert.deepEqual(parseEnd(SCHEMA, ["SEA"], "start", "FORWARD"), { station: "SEA", at: INF_MIN });
  assert.deepEqual(parseEnd(SCHEMA, ["SEA", ""], "end", "FORWARD"), { station: "SEA", at: INF_MAX });
  assert.deepEqual(parseEnd(SCHEMA, ["SEA", ""], "start", "BACKWARD"), { station: "SEA", at: INF_MAX });
  assert.deepEqual(parseEnd(SCHEMA, ['""', "5"], "end", "BACKWARD"), { station: "", at: 5n });
  assert.throws(() => parseEnd(SCHEMA, ["SEA", "noon"], "start", "FORWARD"), /start of the range, column at/);
});

test("R3, W1: a key column that is typed behind one that is not limits nothing, so it is refused by name", () => {
  assert.throws(() => parseEnd(SCHEMA, ["", "5"], "start", "FORWARD"), /^Error: The start of the range gives at, but not station\. Rows sort by station first/);
  assert.throws(() => parseEnd(SCHEMA, ["", "5"], "end", "BACKWARD"), /end of the range gives at, but not station/);
  const three: readonly KeyColumn[] = [...SCHEMA, { name: "n", type: "INTEGER" }];
  assert.throws(() => parseEnd(three, ["SEA", "", "1"], "start", "FORWARD"), /gives n, but not at/);
  assert.throws(() => parseEnd(SCHEMA, ["SEA", "5", "1"], "start", "FORWARD"), /has 3 values, and the key 2 columns/);
  assert.deepEqual(parseEnd(SCHEMA, ['""', ""], "start", "FORWARD"), { station: "", at: INF_MIN }, "an empty text that is typed is a key");
});

test("keys are shown in one line", () => {
  assert.equal(keyText({ station: "SEA", at: 1n }), "SEA · 1");
  assert.equal(keyText({ station: "" }), "“”");
});
