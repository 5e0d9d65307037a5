import assert from "node:assert/strict";
import { test } from "node:test";

import { failureOf, stackLine } from "../src/code/failures.ts";
import { EXAMPLES } from "../src/code/examples.ts";
import { bodyOf, ProgramError, wrongLine } from "../src/lib/program.ts";
import { LOADER } from "../src/lib/program-entries.ts";
import { logText, valueText } from "../src/lib/shown-value.ts";
import { typedBefore } from "../src/lib/typed-before.ts";

const AsyncFunction = (async () => {}).constructor as new (...parts: string[]) => (...given: unknown[]) => Promise<unknown>;
/** Runs a program with a database and the entries of the package that it imports. */
const run = (text: string, db: unknown = "the database", entries: Record<string, object> = {}) =>
  new AsyncFunction("db", LOADER, bodyOf(text))(db, (name: string) => Promise.resolve(entries[name]));

test("W1: the value of a program is that of its last expression, whatever stands behind it", async () => {
  for (const [text, value] of [
    ["1 + 1", 2],
    ["const a = 3;\na * a; // nine", 9],
    ["await Promise.resolve(4)\n/* four */\n", 4],
    ["db", "the database"],
    ["const db = 5; db", 5],
    ["let x = 1; if (x) { x = 7 }", undefined],
    ["({ a: 1 }).a", 1],
    ["1,\n2", 2],
    ["for (const x of [1]) x\n", undefined],
    ["// nothing", undefined],
    ["", undefined],
    ["return 8", 8],
    ["(function f() { return 1 })()", 1],
    ["1 // one\n + 1", 2],
    ["`a\nb`", "a\nb"],
    ["class A {}", undefined],
    ["var db = 4;\ndb", 4],
    ["a: for (;;) { break a }\n5", 5],
    ["/a\\/b/.test('a/b')", true],
  ] as const)
    assert.equal(await run(text), value, text);
  await assert.rejects(run("undeclared = 1"), ReferenceError, "a program is strict");
});

test("W1: imports of the package's entries work, others are refused with their line", async () => {
  const entries = { tabstore: { double: (n: number) => n + 0.5, col: "c" }, "tabstore/schema": { schema: 1 } };
  assert.equal(await run('import { double, col as column } from "tabstore";\ndouble(1) + column', "", entries), "1.5c");
  assert.equal(await run("import {\n  double, // a half more\n} from 'tabstore'\ndouble(1)", "", entries), 1.5);
  assert.equal(await run('const f = () => col; import { col } from "tabstore"; import { double as as } from "tabstore"\nf() + as(1)', "", entries), "c1.5");
  assert.equal(await run('import * as S from "tabstore/schema"; S.schema', "", entries), 1);
  for (const [text, line] of [
    ['1;\nimport { a } from "lodash";', 2],
    ['import x from "tabstore";', 1],
  ] as const)
    assert.throws(
      () => bodyOf(text),
      (error: ProgramError) => error instanceof ProgramError && error.line === line,
      text,
    );
});

test("W1: a program keeps its lines, also behind imports of several lines", () => {
  const text = 'import {\n  double as\n  d,\n  col,\n} from "tabstore";\nfirst();\nlast();';
  const body = bodyOf(text).split("\n");
  assert.deepEqual([body[5], body[6]], ["first();", "return (last());"]);
});

test("W1: the line of what is no JavaScript is found, and JavaScript has none", () => {
  assert.equal(wrongLine("const a = 1;\nconst b = ;\na"), 2);
  assert.equal(wrongLine("f(\n1"), 2);
  for (const text of [...Object.values(EXAMPLES), "for await (const x of y) {}", "class A { #b = 1 }\nnew A()"]) assert.equal(wrongLine(text), undefined, text);
});

test("W1: an error has its line in the program, and what helps", () => {
  assert.equal(stackLine("Error: x\n    at f (your-code.js:9:3)\n    at eval (your-code.js:4:1)"), 9);
  assert.equal(stackLine("f@http://x/worker.js:1:2"), undefined);
  const error = Object.assign(new TypeError("no"), { code: "OTSParameterInvalid", hint: "Say yes.", stack: "at your-code.js:7:1" });
  assert.deepEqual(failureOf(error, 2), { name: "OTSParameterInvalid", message: "no", hint: "Say yes.", line: 5 });
  const answered = Object.assign(new Error("gone"), { stack: "Error: gone\n    at hear (worker.js:1:2)" });
  assert.equal(failureOf(answered, 2, "Error\n    at your-code.js:4:1").line, 2, "the call's stack has the line");
  assert.equal(failureOf(3, 2).message, "The program threw 3");
});

test("W1: values are shown as a browser's console shows them", () => {
  class Point {
    x = 1;
  }
  const loop: Record<string, unknown> = { a: 1 };
  loop.self = loop;
  const trap = {
    get gone(): never {
      throw new Error("gone");
    },
  };
  for (const [value, said] of [
    ["a\nb", '"a\\nb"'],
    [5n, "5n"],
    [-0, "-0"],
    [null, "null"],
    [{}, "{}"],
    [{ "a-b": undefined, c: [1, "x"] }, '{ "a-b": undefined, c: [1, "x"] }'],
    [Uint8Array.of(1, 255), "Uint8Array(2) [1, 255]"],
    [new Map([["a", 1]]), 'Map(1) { "a" => 1 }'],
    [new Set([1]), "Set(1) { 1 }"],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
    [new Point(), "Point { x: 1 }"],
    [loop, "{ a: 1, self: [circular] }"],
    [new RangeError("far"), "RangeError: far"],
    [trap, "[not shown: gone]"],
    [[[[[[1]]]]], "[[[[[… 1 items]]]]]"],
    [{ primaryKey: { id: 1 }, toObject: () => ({ id: 1 }) }, "Row { id: 1 }"],
  ] as const)
    assert.equal(valueText(value), said);
  assert.equal(valueText(Array.from({ length: 102 }, () => 1)).endsWith("… 2 more\n]"), true);
  assert.ok(valueText("x".repeat(50_000)).length < 11_000);
  assert.equal(logText(["n is", 3, { a: 1 }]), "n is 3 { a: 1 }");
});

test("W1: what a person typed can be brought back, however many examples are looked at meanwhile", () => {
  const first = typedBefore({ old: "typed", isTyped: true, before: undefined, text: "example" });
  assert.equal(first, "typed");
  assert.equal(typedBefore({ old: "example", isTyped: false, before: first, text: "another" }), "typed");
  assert.equal(typedBefore({ old: "another", isTyped: false, before: first, text: "typed" }), undefined, "it is back");
  assert.equal(typedBefore({ old: " ", isTyped: true, before: first, text: "example" }), "typed", "nothing was typed");
  assert.equal(typedBefore({ old: "newer", isTyped: true, before: first, text: "example" }), "newer");
});
