import assert from "node:assert/strict";
import { test } from "node:test";

import { COLUMN_WIDTH, columnWindow, isWide, KEY_WIDTH, leftOf } from "../src/lib/column-window.ts";

test("W1: the columns in sight are drawn, and a few beside them, wherever a wide table is scrolled", () => {
  const width = KEY_WIDTH + 6.5 * COLUMN_WIDTH;
  for (const keys of [1, 3]) {
    for (let column = 0; column < 1000; column += 7) {
      const { from, to, first, end } = columnWindow(1000, { left: leftOf(column, keys), width, keys });
      assert.equal(from, Math.min(column, 994), `column ${column} is first`);
      assert.ok(to - from === 6 && first >= 0 && first <= from && end >= to && end <= 1000);
      assert.ok(end - first <= 12, "no more than a few are drawn");
    }
    // Whatever is in sight at any pixel is drawn.
    for (let left = 0; left <= leftOf(1000, keys) + KEY_WIDTH - width; left += 37) {
      const { first, end } = columnWindow(1000, { left, width, keys });
      const beginsAt = (column: number) => keys * KEY_WIDTH + column * COLUMN_WIDTH;
      assert.ok(beginsAt(first) <= Math.max(left + KEY_WIDTH, beginsAt(0)) && beginsAt(end) >= Math.min(left + width, beginsAt(1000)), `at ${left}`);
    }
  }
});

test("W1: a window on few columns, or in a narrow place, has at least one", () => {
  assert.deepEqual(columnWindow(1, { left: 500, width: 50, keys: 1 }), { from: 0, to: 1, first: 0, end: 1 });
  assert.deepEqual(columnWindow(0, { left: 0, width: 900, keys: 1 }), { from: 0, to: 0, first: 0, end: 0 });
  assert.deepEqual([isWide(1000, 50), isWide(20, 500), isWide(30, 25), isWide(25, 50)], [true, false, false, true]);
});
