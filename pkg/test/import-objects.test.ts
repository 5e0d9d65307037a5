/** Imports of rows with objects in them: JSON text where it has all of a value, and a refusal by name everywhere else. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { importRows } from "../src/import/index.js";
import { double } from "../src/types/double.js";
import { openFake as open, stored } from "./support/fake.js";

/** Imports one row whose column `v` has this value; gives what is stored of it. */
async function textOf(value: unknown, columns: object = { v: { type: "STRING" } }): Promise<unknown> {
  const { db, engine } = open();
  await importRows(db, "t", [{ id: 1, v: value }] as never, { columns } as never);
  return (stored(engine)[0] as { v: { STRING: string } }).v.STRING;
}

test("D2: plain objects and arrays become JSON text, a Date its ISO text", async () => {
  const date = new Date(Date.UTC(2026, 10, 29, 7, 0, 0, 5));
  for (const [value, text] of [
    [{ a: 1, b: [true, null, "x"], c: { d: 2n ** 63n } }, '{"a":1,"b":[true,null,"x"],"c":{"d":9223372036854775808}}'],
    [Object.assign(Object.create(null) as object, { a: 1 }), '{"a":1}'],
    [["a", { b: date }], '["a",{"b":"2026-11-29T07:00:00.005Z"}]'],
    [date, "2026-11-29T07:00:00.005Z"],
    [new URL("https://example.com/"), '"https://example.com/"'],
    [double(5), "5"],
    [12n, "12"],
    [true, "true"],
  ] as const)
    assert.equal(await textOf(value), text);
});

/** Things of which JSON text would lose all or a part, and the advice. */
const LOSSY: [string, unknown, RegExp][] = [
  ["a Map", new Map([["a", 1]]), /Object\.fromEntries/],
  ["a Set", new Set([1]), /Array\.from/],
  ["an ArrayBuffer", new ArrayBuffer(2), /Uint8Array.*BINARY/],
  ["a Uint8Array", Uint8Array.of(1, 2), /type BINARY/],
  ["a Float64Array", Float64Array.of(1), /Array\.from/],
  ["a Blob", new Blob(["x"]), /text\(\)/],
  ["a RegExp", /x/, /plain object/],
  ["an Error", new Error("x"), /plain object/],
  ["a function", () => 1, /plain object/],
  ["a number", NaN, /finite/],
];

test("D2: what JSON text would lose is refused by name, alone and inside other values", async () => {
  for (const [what, value, advice] of LOSSY) {
    for (const inside of [{ a: value }, [value], { a: { b: [1, value] } }]) {
      await assert.rejects(
        textOf(inside),
        (error: Error) => /^Row 1: The column 'v' cannot be stored as text: in it is /.test(error.message) && advice.test(error.message),
        what,
      );
    }
    if (typeof value === "object")
      await assert.rejects(
        textOf(value),
        (error: Error) => /^Row 1: The column 'v' cannot be stored as text: it holds /.test(error.message) && advice.test(error.message),
        what,
      );
  }
});

test("D2: without a type an object is refused with advice that works when it is followed", async () => {
  const plain = /give it the type STRING to store it as JSON text/;
  await assert.rejects(textOf({ a: 1 }, {}), plain);
  assert.equal(await textOf({ a: 1 }), '{"a":1}');
  await assert.rejects(textOf(new Date(0), {}), /give it the type STRING to store its ISO text/);
  assert.equal(await textOf(new Date(0)), "1970-01-01T00:00:00.000Z");
  await assert.rejects(textOf(new Map([["a", 1]]), {}), /Object\.fromEntries/);
  assert.equal(await textOf(Object.fromEntries(new Map([["a", 1]]))), '{"a":1}');
});
