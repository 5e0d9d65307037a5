import assert from "node:assert/strict";
import { test } from "node:test";

import { Double } from "tabstore";

import { parse, parseInstant, parseVersion, shortText, text, typeOf } from "../src/lib/values.ts";

test("D2: what is read can be typed again, with its type and to the last digit", () => {
  for (const value of ["", "fog", 9223372036854775807n, -1n, 3, 0.1, 1e300, -0.5, true, false, new Uint8Array([0, 10, 255]), new Uint8Array()]) {
    const back = parse(typeOf(value), text(value));
    assert.deepEqual(back instanceof Double ? back.value : back, value);
  }
});

test("a double without a fraction does not look like an integer", () => {
  assert.equal(text(3), "3.0");
  assert.equal(text(3n), "3");
});

test("what is no value of its type is refused", () => {
  assert.throws(() => parse("INTEGER", "1.5"), /not an integer/);
  assert.throws(() => parse("INTEGER", "9223372036854775808"), /64 bits/);
  assert.throws(() => parse("DOUBLE", ""), /finite/);
  assert.throws(() => parse("DOUBLE", "Infinity"), /finite/);
  assert.throws(() => parse("BOOLEAN", "yes"), /neither/);
  assert.throws(() => parse("BINARY", "abc"), /pairs/);
});

test("long values are cut for a cell", () => {
  assert.equal(shortText("x".repeat(500), 10), `${"x".repeat(10)}…`);
  assert.ok(shortText(new Uint8Array(5000), 30).length < 40);
});

test("V1: a version is milliseconds or a time, UTC unless it says otherwise", () => {
  assert.equal(parseVersion(" "), undefined);
  assert.equal(parseVersion("1466676354000"), 1466676354000n);
  assert.equal(parseVersion("2016-07-21 00:00:00+08:00"), 1469030400000n);
  assert.equal(parseVersion("2016-07-20 16:00:00"), 1469030400000n);
  assert.equal(parseInstant("2016-07-20"), Date.UTC(2016, 6, 20));
  assert.throws(() => parseVersion("yesterday"), /neither/);
});
