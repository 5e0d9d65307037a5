import assert from "node:assert/strict";
import { test } from "node:test";

import { columnPage } from "../src/lib/columns.ts";

test("W1: a wide table is shown by so many columns that no page has more than some thousand cells, and all columns come", () => {
  assert.deepEqual(columnPage(16, 50, 0), { first: 0, end: 16, most: 100 });
  assert.deepEqual(columnPage(1000, 50, 0), { first: 0, end: 100, most: 100 });
  assert.deepEqual(columnPage(1000, 50, 999), { first: 900, end: 1000, most: 100 });
  assert.deepEqual(columnPage(1000, 500, 30), { first: 20, end: 40, most: 20 }, "a row is looked at by some columns at least");
  assert.deepEqual(columnPage(1000, 25, 900), { first: 800, end: 1000, most: 200 }, "fewer rows, more columns: the column stays in sight");
  assert.deepEqual(columnPage(30, 500, 999), { first: 20, end: 30, most: 20 }, "the next page of rows has fewer columns");
  assert.deepEqual(columnPage(0, 0, 5), { first: 0, end: 0, most: 5000 });
  for (const rows of [1, 25, 50, 100, 250]) {
    const seen = [];
    for (let near = 0; near < 1024; ) {
      const { first, end } = columnPage(1024, rows, near);
      assert.ok((end - first) * rows <= 5000 || end - first <= 20, `${rows} rows`);
      seen.push(end - first);
      near = end;
    }
    assert.equal(
      seen.reduce((sum, some) => sum + some, 0),
      1024,
    );
  }
});
