import assert from "node:assert/strict";
import { test } from "node:test";

import type { Value } from "tabstore";

import { valueDiff } from "../src/lib/value-diff.ts";

const said = (before: Value | undefined, after: Value) =>
  valueDiff(before, after)
    ?.map(({ kind, text }) => ({ same: `${text}`, gone: `-[${text}]`, new: `+[${text}]` })[kind])
    .join(" ");

test("V8, W1: the difference of two texts is what went and what came, with what stands beside it", () => {
  assert.equal(said("the red house", "the green house"), "the  -[red] +[green]  house");
  assert.equal(said("abc", "abcd"), "abc +[d]");
  assert.equal(said("aa", "aaa"), "aa +[a]", "no character is counted at both sides");
  assert.equal(said("", "x"), "+[x]");
  assert.equal(said("same", "same"), "");
  assert.equal(said("😀", "😁"), "-[😀] +[😁]", "no half of a character");
  assert.equal(said("x".repeat(100), `${"x".repeat(100)}y`), `…${"x".repeat(24)} +[y]`);
  assert.equal(said(`1${"z".repeat(50)}`, `2${"z".repeat(50)}`), `-[1] +[2] ${"z".repeat(24)}…`);
  const parts = valueDiff("a".repeat(5000), "b".repeat(5000));
  assert.ok(
    parts?.every(({ text }) => text.length <= 201),
    "long parts are cut",
  );
});

test("V8, W1: numbers tell their step, and another type is another value", () => {
  assert.equal(said(3n, 10n), "-[3] +[10] +7");
  assert.equal(said(2n ** 62n, -1n), `-[${2n ** 62n}] +[-1] ${-1n - 2n ** 62n}`);
  assert.equal(said(0.1, 0.3), "-[0.1] +[0.3] +0.2");
  assert.equal(said(1, 2n), "-[DOUBLE 1.0] +[INTEGER 2]");
  assert.equal(said("1", 1n), "-[STRING 1] +[INTEGER 1]");
  assert.equal(said(true, false), "-[true] +[false]");
  assert.equal(said(Uint8Array.of(1, 2), Uint8Array.of(1, 3)), "01 0 -[2] +[3]");
  assert.equal(said(Uint8Array.of(1), Uint8Array.of(1)), "");
  assert.equal(valueDiff(undefined, 1n), undefined);
});
