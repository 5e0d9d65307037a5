/** Filters and column conditions: built and written ones give the same bytes, and wrong ones are refused by name. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameWriter } from "../src/codec/frame.js";
import * as request from "../src/codec/requests.js";
import { TabStoreError } from "../src/types/errors.js";
import { col, type Filter } from "../src/types/filter.js";
import { double } from "../src/types/double.js";
import { INF_MIN } from "../src/types/values.js";
import { Bytes } from "./support/bytes.js";

function frame(options: object): Uint8Array {
  const writer = new FrameWriter();
  writer.uv(7);
  request.getRow(writer, { tableName: "t", primaryKey: { id: 1 }, ...options });
  return writer.finish().slice();
}

/** The bytes of a getRow with a filter. */
function expected(filter: Bytes, ...columns: string[]): Uint8Array {
  const names = ["t", "id", ...columns];
  const body = new Bytes()
    .u8(4)
    .u8(0)
    .u8(1)
    .u8(1)
    .u8(2)
    .sv(1)
    .u8(1 | 64)
    .uv(1)
    .raw(filter.list);
  const rest = new Bytes().uv(names.length);
  for (const name of names) rest.str(name);
  return new Bytes()
    .u8(1)
    .u32(6 + body.list.length)
    .u8(7)
    .raw(body.list)
    .raw(rest.list)
    .done();
}

const leaf = (name: number, comparator: number, value: Bytes, flags = 3): Bytes => new Bytes().u8(1).u8(name).u8(comparator).raw(value.list).u8(flags);
const integer = (value: number): Bytes => new Bytes().u8(2).sv(value);

/** Each filter as it is built, as it is written down, and its bytes. */
const NOTATIONS: [string, Filter, Filter, Bytes, string[]][] = [
  ["eq", col("a").eq(true), { column: "a", comparator: "EQUAL", value: true }, leaf(2, 1, new Bytes().u8(5)), ["a"]],
  ["ne", col("a").ne("x"), { column: "a", comparator: "NOT_EQUAL", value: "x" }, leaf(2, 2, new Bytes().u8(6).str("x")), ["a"]],
  ["gt", col("a").gt(1.5), { column: "a", comparator: "GREATER_THAN", value: 1.5 }, leaf(2, 3, new Bytes().u8(3).f64(1.5)), ["a"]],
  ["ge", col("a").ge(3n), { column: "a", comparator: "GREATER_EQUAL", value: 3n }, leaf(2, 4, integer(3)), ["a"]],
  ["lt", col("a").lt(double(3)), { column: "a", comparator: "LESS_THAN", value: double(3) }, leaf(2, 5, new Bytes().u8(3).f64(3)), ["a"]],
  ["le", col("a").le(Uint8Array.of(1)), { column: "a", comparator: "LESS_EQUAL", value: Uint8Array.of(1) }, leaf(2, 6, new Bytes().u8(7).uv(1).u8(1)), ["a"]],
  ["exists", col("a").exists(), { column: "a", comparator: "EXIST" }, leaf(2, 7, new Bytes()), ["a"]],
  ["not exists", col("a").notExists(), { column: "a", comparator: "NOT_EXIST" }, leaf(2, 8, new Bytes()), ["a"]],
  [
    "options",
    col("a").eq(1, { passIfMissing: false, latestVersionOnly: false }),
    { column: "a", comparator: "EQUAL", value: 1, passIfMissing: false, latestVersionOnly: false },
    leaf(2, 1, integer(1), 0),
    ["a"],
  ],
  [
    "one option",
    col("a").eq(1, { passIfMissing: false }),
    { column: "a", comparator: "EQUAL", value: 1, passIfMissing: false, latestVersionOnly: undefined },
    leaf(2, 1, integer(1), 2),
    ["a"],
  ],
  [
    "transfer to INTEGER",
    col("a").transfer("t(\\d+)", "INTEGER").gt(100),
    { column: "a", comparator: "GREATER_THAN", value: 100, valueTransferRule: { regex: "t(\\d+)", castType: "INTEGER" } },
    leaf(2, 3, integer(100), 7).str("t(\\d+)").u8(0),
    ["a"],
  ],
  [
    "transfer to DOUBLE",
    col("a").transfer("x", "DOUBLE").le(3),
    { column: "a", comparator: "LESS_EQUAL", value: 3, valueTransferRule: { regex: "x", castType: "DOUBLE" } },
    leaf(2, 6, new Bytes().u8(3).f64(3), 7).str("x").u8(1),
    ["a"],
  ],
  [
    "transfer to STRING",
    col("a").transfer("x", "STRING").eq("y"),
    { column: "a", comparator: "EQUAL", value: "y", valueTransferRule: { regex: "x", castType: "STRING" } },
    leaf(2, 1, new Bytes().u8(6).str("y"), 7).str("x").u8(3),
    ["a"],
  ],
  [
    "and",
    col("a").eq(1).and(col("b").eq(2)).and(col("a").eq(3)),
    {
      operator: "AND",
      filters: [
        { column: "a", comparator: "EQUAL", value: 1 },
        { column: "b", comparator: "EQUAL", value: 2 },
        { column: "a", comparator: "EQUAL", value: 3 },
      ],
    },
    new Bytes()
      .u8(2)
      .u8(2)
      .uv(3)
      .raw(leaf(2, 1, integer(1)).list)
      .raw(leaf(3, 1, integer(2)).list)
      .raw(leaf(2, 1, integer(3)).list),
    ["a", "b"],
  ],
  [
    "or of and, not",
    col("a").eq(1).and(col("b").eq(2)).or(col("b").eq(3).not()),
    {
      operator: "OR",
      filters: [
        {
          operator: "AND",
          filters: [
            { column: "a", comparator: "EQUAL", value: 1 },
            { column: "b", comparator: "EQUAL", value: 2 },
          ],
        },
        { operator: "NOT", filters: [{ column: "b", comparator: "EQUAL", value: 3 }] },
      ],
    },
    new Bytes()
      .u8(2)
      .u8(3)
      .uv(2)
      .u8(2)
      .u8(2)
      .uv(2)
      .raw(leaf(2, 1, integer(1)).list)
      .raw(leaf(3, 1, integer(2)).list)
      .u8(2)
      .u8(1)
      .uv(1)
      .raw(leaf(3, 1, integer(3)).list),
    ["a", "b"],
  ],
  ["a page", { offset: 2, limit: 3 }, { limit: 3, offset: 2 }, new Bytes().u8(3).sv(2).sv(3), []],
  [
    "a page of what passes",
    col("a").eq(1).and({ offset: 0, limit: 10 }),
    {
      operator: "AND",
      filters: [
        { column: "a", comparator: "EQUAL", value: 1 },
        { offset: 0, limit: 10 },
      ],
    },
    new Bytes()
      .u8(2)
      .u8(2)
      .uv(2)
      .raw(leaf(2, 1, integer(1)).list)
      .u8(3)
      .sv(0)
      .sv(10),
    ["a"],
  ],
];

for (const [name, built, plain, bytes, columns] of NOTATIONS) {
  test(`R6 golden: ${name}, built and written down`, () => {
    assert.deepEqual(frame({ filter: built }), expected(bytes, ...columns));
    assert.deepEqual(frame({ filter: plain }), expected(bytes, ...columns));
  });
}

test("R6: a filter stands in every read and in every condition", () => {
  const filter = col("a").eq(1);
  const writer = new FrameWriter();
  const bytes = (encode: (w: FrameWriter, argument: never) => void, argument: unknown): string => {
    encode(writer, argument as never);
    return [...writer.finish()].join();
  };
  const wanted = leaf(2, 1, integer(1)).list.join();
  const key = { tableName: "t", primaryKey: { id: 1 } };
  for (const [encode, argument] of [
    [request.getRow, { ...key, filter }],
    [request.getRange, { tableName: "t", start: { id: 1 }, filter }],
    [request.batchGetRow, [{ tableName: "t", primaryKeys: [{ id: 1 }], columnsToGet: ["id"], filter }]],
    [request.putRow, { ...key, condition: { column: filter } }],
    [request.updateRow, { ...key, put: { a: 1 }, condition: { column: filter } }],
    [request.deleteRow, { ...key, condition: { column: filter } }],
    [request.batchWriteRow, [{ tableName: "t", put: { primaryKey: { id: 1 }, condition: { rowExistence: "EXPECT_EXIST", column: filter } } }]],
  ] as const) {
    const written = bytes(encode as never, argument);
    assert.ok(written.includes(wanted) || written.includes(leaf(1, 1, integer(1)).list.join()), `${encode.name}: ${written}`);
  }
  const body = new Bytes()
    .u8(1)
    .u8(0)
    .u8(1)
    .u8(1)
    .u8(2)
    .sv(1)
    .u8(1)
    .u8(1)
    .raw(leaf(2, 1, integer(1)).list)
    .u8(0)
    .uv(0);
  request.putRow(writer, { ...key, condition: { rowExistence: "EXPECT_EXIST", column: filter } } as never);
  assert.deepEqual([...writer.finish()].slice(5, 5 + body.list.length), body.list);
});

test("R6: builders never change, and hold nothing but the filter", () => {
  const a = col("a").eq(1);
  const both = a.and(col("b").eq(2));
  const three = both.and(col("c").eq(3));
  assert.deepEqual([both.filters.length, three.filters.length], [2, 3]);
  assert.throws(() => {
    (a as { value: unknown }).value = 2;
  }, TypeError);
  assert.throws(() => (both.filters as Filter[]).push(a), TypeError);
  assert.deepEqual(JSON.parse(JSON.stringify(a)), { column: "a", comparator: "EQUAL", value: 1 });
  assert.deepEqual(Object.keys(three), ["operator", "filters"]);
  assert.deepEqual(JSON.parse(JSON.stringify(a.or(a).not())), {
    operator: "NOT",
    filters: [
      {
        operator: "OR",
        filters: [
          { column: "a", comparator: "EQUAL", value: 1 },
          { column: "a", comparator: "EQUAL", value: 1 },
        ],
      },
    ],
  });
});

function refused(filter: unknown): string {
  let message = "";
  assert.throws(
    () => frame({ filter }),
    (error) => {
      assert.ok(error instanceof TabStoreError && error.code === "OTSParameterInvalid", String(error));
      ({ message } = error);
      return true;
    },
  );
  return message;
}

test("R6: filters that are none are refused by the name of the argument", () => {
  const a = { column: "a", comparator: "EQUAL", value: 1 };
  for (const [filter, message] of [
    [5, /'filter' is a number; it must be a filter/],
    [null, /'filter' is null/],
    ["a = 1", /'filter' is a string/],
    [[a], /'filter' is an array/],
    [col("a"), /Unknown argument 'eq' in 'filter'/],
    [{}, /'filter.column' is undefined/],
    [{ ...a, column: 1 }, /'filter.column' is a number/],
    [{ ...a, comparator: "LIKE" }, /'filter.comparator' is 'LIKE'; it must be one of EQUAL, .*NOT_EXIST/],
    [{ ...a, comparator: 1 }, /'filter.comparator' is 1;/],
    [{ ...a, colum: 1 }, /Unknown argument 'colum' in 'filter'/],
    [{ ...a, passIfMissing: "yes" }, /'filter.passIfMissing' is a string/],
    [{ ...a, latestVersionOnly: 1 }, /'filter.latestVersionOnly' is a number/],
    [{ column: "a", comparator: "EQUAL" }, /^No value is given for column name: 'a'/],
    [{ ...a, value: null }, /'a'\. It is null/],
    [{ ...a, value: NaN }, /^NaN can't be set/],
    [{ ...a, value: INF_MIN }, /VT_INF_MIN is an invalid type/],
    [{ ...a, comparator: "EXIST" }, /'filter.value' is a number; EXIST takes none/],
    [{ ...a, valueTransferRule: "x" }, /'filter.valueTransferRule' is a string/],
    [
      { ...a, valueTransferRule: { regex: "x", castType: "BOOLEAN" } },
      /'filter.valueTransferRule.castType' is 'BOOLEAN'; it must be one of INTEGER, DOUBLE, STRING/,
    ],
    [{ ...a, valueTransferRule: { regex: /x/, castType: "STRING" } }, /'filter.valueTransferRule.regex' is a RegExp; it must be a string/],
    [{ ...a, valueTransferRule: { regex: "\ud800", castType: "STRING" } }, /regex must be UTF8/],
    [{ operator: "XOR", filters: [a, a] }, /'filter.operator' is 'XOR'; it must be one of NOT, AND, OR/],
    [{ operator: "AND", filters: a }, /'filter.filters' is an object; it must be an array/],
    [{ operator: "AND" }, /'filter.filters' is undefined/],
    [{ operator: "AND", filters: [a, { operator: "NOT", filters: [a, { ...a, comparator: "x" }] }] }, /'filter.filters\[1\].filters\[1\].comparator' is 'x'/],
    [{ operator: "AND", filters: [a, a], limit: 1 }, /Unknown argument 'limit' in 'filter'/],
    [{ offset: 1.5, limit: 1 }, /'filter.offset' is not an integer/],
    [{ offset: 1 }, /'filter.limit' is undefined/],
  ] as const)
    assert.match(refused(filter), message, String(message));
});

test("R8: more than 32 filters are refused, and a filter that holds itself ends", () => {
  const a = { column: "a", comparator: "EQUAL", value: 1 };
  frame({ filter: { operator: "OR", filters: Array.from({ length: 31 }, () => a) } });
  assert.match(refused({ operator: "OR", filters: Array.from({ length: 32 }, () => a) }), /^The count of filter exceeds the max: 32\./);
  const knot = { operator: "OR", filters: [] as unknown[] };
  knot.filters.push(knot, knot);
  assert.match(refused(knot), /^The count of filter exceeds the max: 32\./);
  let deep: unknown = a;
  for (let i = 0; i < 100; i++) deep = { operator: "NOT", filters: [deep] };
  assert.match(refused(deep), /^The count of filter exceeds the max: 32\./);
});
