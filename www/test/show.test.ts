/** The show: what its rows have to be after a kill, and which events its sentences are about. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { WorkEvent } from "tabstore";

import { balance, itemAt, keyAt, missingKey, newestWrites } from "../src/show/rows.ts";
import { addEvent, NOTHING_DONE, STEPS, stepAt } from "../src/show/steps.ts";
import { TEXTS as EN } from "../src/texts/en/show.ts";
import { TEXTS as ZH } from "../src/texts/zh/show.ts";
import { languageOf } from "../src/texts/language.ts";

const WRITES = 20_000;

test("the rows of the show are the same each time, without an order, and keys come again", () => {
  const keys = Array.from({ length: WRITES }, (_, write) => keyAt(write));
  assert.deepEqual(
    keys.slice(0, 100),
    Array.from({ length: 100 }, (_, write) => keyAt(write)),
  );
  assert.notDeepEqual(keys.slice(0, 100), keys.slice(0, 100).sort());
  const different = new Set(keys);
  assert.ok(different.size > 5000 && different.size <= 6000, `${different.size} keys`);
  assert.ok(!different.has(missingKey(7)));
  assert.equal(itemAt(7).update?.primaryKey["id"], keyAt(7));
});

test("the balance after a kill: a newer write than the acknowledged one is no loss, an older one and a missing row are", () => {
  const acknowledged = 10_000;
  const rows = [...newestWrites(acknowledged)].map(([id, write]) => ({ id, write }));
  const all = balance(acknowledged, rows);
  assert.deepEqual(all, { acknowledged, expected: rows.length, found: rows.length, lost: 0 });
  const [first, second, ...others] = rows;
  assert.equal(balance(acknowledged, [{ ...first!, write: WRITES }, second!, ...others]).lost, 0);
  assert.equal(balance(acknowledged, [{ ...first!, write: -1 }, second!, ...others]).lost, 1);
  assert.deepEqual(balance(acknowledged, others), { acknowledged, expected: rows.length, found: rows.length - 2, lost: 2 });
  assert.equal(balance(1, [{ id: keyAt(0), write: undefined }]).lost, 1, "a row without its column");
  assert.deepEqual(balance(0, []), { acknowledged: 0, expected: 0, found: 0, lost: 0 });
});

const dropped = { surplus: 3, expired: 2, deleted: 1 };
const part = { segmentId: 1, tree: 9, partitionId: 1, level: 0, bytes: 1, entries: 1 };
const merge: WorkEvent = {
  type: "compaction",
  position: 2,
  time: 0,
  tookMs: 1,
  tree: 9,
  kind: "table",
  tableName: "flight",
  reason: "level 0 full",
  inputs: [part, part],
  toLevel: 4,
  outputs: [part],
  bytesWritten: 10,
  dropped,
};

test("the sentences are about merges of the show's table, not about moves and the store's own work", () => {
  const done = addEvent(NOTHING_DONE, merge);
  assert.deepEqual([done.merges, done.dropped, done.merge], [1, 6, merge]);
  assert.equal(addEvent(done, { ...merge, bytesWritten: 0 }), done);
  assert.equal(addEvent(done, { ...merge, inputs: [part] }), done);
  assert.equal(addEvent(done, { ...merge, tableName: null, kind: "meter" }), done);
  const flush: WorkEvent = {
    type: "flush",
    position: 3,
    time: 0,
    tookMs: 1,
    reason: "memtable full",
    bytes: 1,
    entries: 440,
    outputs: [part],
    bytesWritten: 1,
    dropped,
  };
  assert.equal(addEvent(done, flush).flush?.entries, 440);
});

test("no step tells of what has not happened, in either language", () => {
  const facts = { acknowledged: 0, entries: 0, filled: 0, budget: 65_536, done: NOTHING_DONE, balance: undefined, isMemory: false };
  const silent = STEPS.filter((step) => EN.steps[step].text(facts) === undefined);
  assert.deepEqual(silent, ["flush", "merge", "split", "found"]);
  assert.deepEqual(
    STEPS.filter((step) => ZH.steps[step].text(facts) === undefined),
    silent,
  );
  const done = addEvent(NOTHING_DONE, merge);
  assert.match(EN.steps.merge.text({ ...facts, done }) ?? "", /^2 parts became 1 at level 4, because level 0 has enough segments\. 6 old values fell out/);
  assert.match(ZH.steps.merge.text({ ...facts, done }) ?? "", /2 个部分在第 4 层变成 1 个/);
  const lost = balance(100, []);
  assert.match(EN.steps.found.text({ ...facts, balance: lost }) ?? "", /^Rows are missing/);
});

test("a step of an address is one that there is, and a reader gets the first language that we have", () => {
  assert.deepEqual([undefined, 0, 3, 99].map(stepAt), [1, 1, 3, STEPS.length]);
  assert.deepEqual([["de", "zh-TW", "en"], ["en-GB", "zh"], ["fr"], []].map(languageOf), ["zh", "en", "en", "en"]);
});
