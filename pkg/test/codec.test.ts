/** Pages and responses, against a reference encoder of the engine's format. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Page } from "../src/codec/page.js";
import { readError } from "../src/codec/parts.js";
import { Reader } from "../src/codec/reader.js";
import { batchGetResult, batchWriteResult, type Decode, eachResponse, getRangeResult, getRowResult, writeResult } from "../src/codec/response.js";
import { FrameWriter } from "../src/codec/frame.js";
import { Bytes, encodePage, errorPayload, responses, type PageRow, type Typed } from "./support/bytes.js";

const context = { bigints: false, requestId: (id: number) => `c-${id}` };
const one = (rows: PageRow[], keyNames = ["id"], base = 0, bigints = false) => new Page(encodePage(keyNames, rows, base), 0, bigints);

const INTEGERS = [
  0n,
  1n,
  -1n,
  63n,
  64n,
  -64n,
  -65n,
  127n,
  128n,
  8191n,
  8192n,
  2n ** 27n,
  2n ** 28n,
  -(2n ** 27n) - 1n,
  2n ** 31n - 1n,
  2n ** 31n,
  -(2n ** 31n),
  2n ** 32n,
  2n ** 48n - 1n,
  2n ** 48n,
  2n ** 49n,
  2n ** 52n - 1n,
  2n ** 52n,
  2n ** 53n - 1n,
  -(2n ** 53n) + 1n,
  2n ** 53n,
  2n ** 53n + 1n,
  -(2n ** 53n),
  2n ** 62n,
  2n ** 63n - 1n,
  -(2n ** 63n),
];
const exact = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

test("D2: every 64-bit integer is read exactly, as a number when that is safe", () => {
  for (const integer of INTEGERS) {
    const row = one([{ key: [{ INTEGER: integer }], columns: [["n", [[5, { INTEGER: integer }]]]] }]).row(0);
    assert.deepEqual(row.primaryKey, { id: exact(integer) });
    assert.equal(row.get("n"), exact(integer));
    assert.equal(row.type("n"), "INTEGER");
  }
});

test("D2: every 64-bit integer is written exactly", () => {
  for (const integer of INTEGERS) {
    const writer = new FrameWriter();
    writer.svBig(integer);
    if (Number.isSafeInteger(Number(integer))) writer.sv(Number(integer));
    const reader = new Reader(writer.finish().slice(), 5);
    assert.equal(reader.sv(), exact(integer));
    if (Number.isSafeInteger(Number(integer))) assert.equal(reader.sv(), exact(integer));
  }
});

test("D2: every safe integer without a sign is written exactly", () => {
  const values = [0, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 35 + 5, 2 ** 42 - 1, Number.MAX_SAFE_INTEGER];
  const writer = new FrameWriter();
  for (const value of values) writer.uv(value);
  const reader = new Reader(writer.finish().slice(), 5);
  assert.deepEqual(
    values.map(() => reader.uv()),
    values,
  );
});

test('D2: with integers: "bigint" every integer is a bigint, and nothing else is', () => {
  const row = one(
    [
      {
        key: [{ INTEGER: 7 }],
        columns: [
          ["d", [[5, { DOUBLE: 7 }]]],
          ["n", [[5, { INTEGER: 7 }]]],
        ],
      },
    ],
    ["id"],
    0,
    true,
  ).row(0);
  assert.deepEqual(row.toObject(), { id: 7n, d: 7, n: 7n });
});

test("D2: texts survive: non-ASCII, surrogate pairs, a byte order mark, the empty one", () => {
  const texts = ["", "a", "é", "\ufeffmark", "日本語", "😀", "a😀b", "\u0000", "x".repeat(5000), "ö".repeat(300), "\ufeff", "👩‍👩‍👧‍👦"];
  const rows = texts.map(
    (text): PageRow => ({
      key: [{ STRING: text }],
      columns: [
        [
          "t",
          [
            [9, { STRING: text }],
            [8, { STRING: `${text}!` }],
          ],
        ],
        ["u", [[9, { STRING: text }]]],
      ],
    }),
  );
  const page = one(rows);
  // Backwards, so that no row relies on the one before having been decoded.
  for (let i = texts.length - 1; i >= 0; i--) {
    const row = page.row(i);
    assert.equal(row.get("u"), texts[i]);
    assert.deepEqual(
      { ...row.columns },
      {
        t: [
          { value: texts[i], version: 9 },
          { value: `${texts[i]}!`, version: 8 },
        ],
        u: [{ value: texts[i], version: 9 }],
      },
    );
    assert.deepEqual(row.primaryKey, { id: texts[i] });
    assert.equal(row.type("id"), "STRING");
  }
});

test("D2: pages of other names, one after another, and names in any script, keep their names and texts apart", () => {
  const page = (key: string, name: string, text: string) => one([{ key: [{ STRING: text }], columns: [[name, [[9, { STRING: text }]]]] }], [key]).row(0);
  for (let round = 0; round < 2; round++) {
    for (const name of ["n", "m", "né", "日本", "😀", "nn"]) {
      for (const text of ["", "\u0080", "😀é", "plain"]) {
        assert.deepEqual(page("id", name, text).toObject(), { id: text, [name]: text });
        const row = page(`k${name}`, "n", text);
        assert.deepEqual([row.primaryKey, row.columnNames, row.get("n")], [{ [`k${name}`]: text }, ["n"], text]);
      }
    }
  }
});

test("D1: a column may have another type in every version; rows may have no columns", () => {
  const all: [number, Typed][] = [
    [6, { STRING: "s" }],
    [5, { DOUBLE: -0.5 }],
    [4, { BOOLEAN: true }],
    [3, { BOOLEAN: false }],
    [2, { BINARY: Uint8Array.of(0, 255) }],
    [1, { INTEGER: -3 }],
  ];
  const page = one([
    { key: [{ BINARY: Uint8Array.of() }], columns: [["mixed", all]] },
    { key: [{ BINARY: Uint8Array.of(1) }], columns: [] },
  ]);
  const [first, second] = page.rows();
  assert.deepEqual(
    first.columns.mixed.map(({ value, version }) => [version, value]),
    [
      [6, "s"],
      [5, -0.5],
      [4, true],
      [3, false],
      [2, Uint8Array.of(0, 255)],
      [1, -3],
    ],
  );
  assert.equal(first.type("id"), "BINARY");
  assert.equal(first.version("mixed"), 6);
  assert.deepEqual({ ...second.columns }, {});
  assert.deepEqual(second.columnNames, []);
  assert.equal(second.get("mixed"), undefined);
  assert.equal(second.type("mixed"), undefined);
  assert.equal(second.version("mixed"), undefined);
});

test("D2: doubles survive bit by bit", () => {
  for (const double of [0, -0, 1.5, Number.MAX_VALUE, Number.MIN_VALUE, 0.1, 3, -1e300, 2 ** 60]) {
    const row = one([{ key: [{ INTEGER: 1 }], columns: [["d", [[1, { DOUBLE: double }]]]] }]).row(0);
    assert.ok(Object.is(row.get("d"), double));
    assert.equal(row.type("d"), "DOUBLE");
  }
});

test("D4: the example of the product introduction is read back exactly", () => {
  const V = 1466676354000;
  const page = one(
    [
      {
        key: [{ STRING: "4776" }],
        columns: [
          ["ISBN", [[V, { STRING: "123*45678912345" }]]],
          ["PageCount", [[V, { INTEGER: 666 }]]],
          ["Type", [[V, { STRING: "Book" }]]],
        ],
      },
      {
        key: [{ STRING: "6555" }],
        columns: [
          [
            "Length",
            [
              [1466762754000, { INTEGER: 500 }],
              [V, { INTEGER: 400 }],
            ],
          ],
          ["Type", [[V, { STRING: "Music" }]]],
        ],
      },
    ],
    ["ID"],
    V,
  );
  const [book, music] = page.rows();
  assert.deepEqual(
    { ...book.columns },
    { ISBN: [{ value: "123*45678912345", version: V }], PageCount: [{ value: 666, version: V }], Type: [{ value: "Book", version: V }] },
  );
  assert.deepEqual(
    { ...music.columns },
    {
      Length: [
        { value: 500, version: 1466762754000 },
        { value: 400, version: V },
      ],
      Type: [{ value: "Music", version: V }],
    },
  );
  assert.equal(music.get("Length"), 500);
  assert.deepEqual(music.toObject(), { ID: "6555", Length: 500, Type: "Music" });
});

test("V8: versions before and after the page's base are read", () => {
  const row = one(
    [
      {
        key: [{ INTEGER: 1 }],
        columns: [
          [
            "a",
            [
              [2_000_000_000_000, { INTEGER: 1 }],
              [0, { INTEGER: 2 }],
              [-5, { INTEGER: 3 }],
            ],
          ],
        ],
      },
    ],
    ["id"],
    1_466_676_354_000,
  ).row(0);
  assert.deepEqual(
    row.columns.a.map(({ version }) => version),
    [2_000_000_000_000, 0, -5],
  );
});

test("thousands of rows of changing shape are read in any order", () => {
  const rows: PageRow[] = [];
  for (let i = 0; i < 5000; i++) {
    const columns: PageRow["columns"] = [["a", [[i, { INTEGER: i }]]]];
    if (i % 2 === 0)
      columns.push([
        "b",
        [
          [i, { STRING: `ä${i}` }],
          [i - 1, { STRING: "old" }],
        ],
      ]);
    if (i % 3 === 0) columns.push(["c", [[i, { BOOLEAN: i % 2 === 0 }]]]);
    rows.push({ key: [{ STRING: `k${i}` }, { INTEGER: -i }], columns: i % 97 === 0 ? [] : columns });
  }
  const decoded = one(rows, ["name", "at"]).rows();
  assert.equal(decoded.length, 5000);
  for (let step = 0; step < 5000; step++) {
    const i = (step * 1237) % 5000;
    const expected: Record<string, unknown> = { name: `k${i}`, at: i === 0 ? 0 : -i };
    for (const [name, [[, typed]]] of rows[i].columns) expected[name] = Object.values(typed)[0];
    assert.deepEqual(decoded[i].toObject(), expected);
    assert.deepEqual(
      decoded[i].columnNames,
      rows[i].columns.map(([name]) => name),
    );
  }
});

test("T2: a column may be called __proto__ or constructor", () => {
  const row = one([
    {
      key: [{ INTEGER: 1 }],
      columns: [
        ["__proto__", [[1, { INTEGER: 2 }]]],
        ["constructor", [[1, { INTEGER: 3 }]]],
      ],
    },
  ]).row(0);
  assert.equal(row.get("__proto__"), 2);
  assert.equal(row.get("toString"), undefined);
  assert.deepEqual(Object.keys(row.columns), ["__proto__", "constructor"]);
  assert.deepEqual(Object.entries(row.toObject()), [
    ["id", 1],
    ["__proto__", 2],
    ["constructor", 3],
  ]);
});

test("JSON.stringify of a row gives key and newest values, wide integers as text", () => {
  const row = one([
    {
      key: [{ INTEGER: 1 }],
      columns: [
        ["b", [[1, { BINARY: Uint8Array.of(1, 2) }]]],
        ["n", [[1, { INTEGER: 2n ** 60n }]]],
      ],
    },
  ]).row(0);
  assert.equal(JSON.stringify(row), '{"id":1,"b":[1,2],"n":"1152921504606846976"}');
});

test("bytes of a row are a copy: changing them changes nothing else", () => {
  const page = one([{ key: [{ INTEGER: 1 }], columns: [["b", [[1, { BINARY: Uint8Array.of(1, 2) }]]]] }]);
  const row = page.row(0);
  (row.get("b") as Uint8Array)[0] = 9;
  assert.deepEqual(page.row(0).get("b"), Uint8Array.of(1, 2));
  assert.equal((row.get("b") as Uint8Array).buffer.byteLength, 2);
});

test("responses of every operation are read", () => {
  const row: PageRow = { key: [{ INTEGER: 1 }], columns: [["a", [[5, { STRING: "x" }]]]] };
  const page = encodePage(["id"], [row]);
  const none = encodePage(["id"], []);
  const read = <T>(decode: Decode<T>, bytes: Bytes): T => decode(new Reader(bytes.done()), context, 1);

  assert.deepEqual(read(writeResult, new Bytes().uv(1).uv(2).u8(0)), { consumed: { read: 1, write: 2 }, row: null });
  assert.equal(read(writeResult, new Bytes().uv(1).uv(2).u8(1).raw(page)).row?.get("a"), "x");
  assert.equal(read(getRowResult, new Bytes().uv(3).uv(0).raw(none)).row, null);
  assert.deepEqual(read(getRowResult, new Bytes().uv(3).uv(0).raw(page)).row?.primaryKey, { id: 1 });

  const range = read(
    getRangeResult,
    new Bytes()
      .uv(300)
      .uv(0)
      .u8(1)
      .u8(1)
      .u8(2)
      .sv(2n ** 60n)
      .raw(page),
  );
  assert.deepEqual(range.consumed, { read: 300, write: 0 });
  assert.deepEqual(range.nextStartPrimaryKey, { id: 2n ** 60n });
  assert.equal(range.rows.length, 1);
  assert.equal(read(getRangeResult, new Bytes().uv(1).uv(0).u8(0).raw(none)).nextStartPrimaryKey, null);

  const tables = read(
    batchGetResult,
    new Bytes()
      .uv(2)
      .uv(3)
      .u8(0)
      .uv(1)
      .u8(1)
      .uv(2)
      .u8(2)
      .raw(errorPayload("OTSInvalidPK", "no", 400))
      .raw(page)
      .uv(0)
      .raw(none),
  );
  assert.equal(tables.length, 2);
  assert.deepEqual(
    tables[0].map(({ ok, row: found, consumed }) => [ok, found && found.get("a"), consumed]),
    [
      [true, null, { read: 1, write: 0 }],
      [true, "x", { read: 2, write: 0 }],
      [false, undefined, undefined],
    ],
  );
  assert.equal(tables[0][2].error?.code, "OTSInvalidPK");
  assert.equal(tables[0][2].error?.requestId, "c-1");
  assert.deepEqual(tables[1], []);

  const writes = read(
    batchWriteResult,
    new Bytes()
      .uv(3)
      .u8(1)
      .uv(0)
      .uv(1)
      .u8(0)
      .u8(0)
      .raw(errorPayload("OTSConditionCheckFail", "Condition check failed.", 403))
      .u8(1)
      .uv(1)
      .uv(1)
      .u8(1)
      .raw(page),
  );
  assert.deepEqual(
    writes.map(({ ok }) => ok),
    [true, false, true],
  );
  assert.equal(writes[1].error?.status, 403);
  assert.equal(writes[2].row?.get("a"), "x");
});

test("R2: rows that a batch gives back come in a page for every kind of key, one batch after another in a frame", () => {
  const a = encodePage(
    ["id"],
    [
      { key: [{ INTEGER: 1 }], columns: [] },
      { key: [{ INTEGER: 2 }], columns: [] },
    ],
  );
  const b = encodePage(["name"], [{ key: [{ STRING: "x" }], columns: [] }]);
  const ok = (bytes: Bytes, row: number): Bytes => bytes.u8(1).uv(0).uv(1).u8(row);
  const first = ok(ok(ok(ok(new Bytes().uv(4), 1), 0), 1), 1)
    .raw(a)
    .raw(b)
    .done();
  const second = ok(new Bytes().uv(1), 0).raw(encodePage([], [])).done();
  const seen: unknown[] = [];
  eachResponse(responses({ id: 1, payload: first }, { id: 2, payload: second }, { id: 3, payload: first }), (id, _ok, payload) => {
    for (const { row } of batchWriteResult(payload, context, id)) seen.push([id, row && row.primaryKey]);
  });
  const batch = (id: number): unknown[] => [
    [id, { id: 1 }],
    [id, null],
    [id, { id: 2 }],
    [id, { name: "x" }],
  ];
  assert.deepEqual(seen, [...batch(1), [2, null], ...batch(3)]);
});

test("a frame of several responses is split, errors keep code, status and message", () => {
  const frame = responses(
    { id: 300, payload: new Bytes().uv(0).uv(1).u8(0).done() },
    { id: 2, payload: errorPayload("OTSObjectNotExist", "Requested table 'ü' does not exist.", 404), ok: false },
  );
  const seen: unknown[] = [];
  eachResponse(frame, (number, ok, payload) => {
    const error = ok ? undefined : readError(payload, "c-2");
    seen.push([number, ok, error && [error.name, error.code, error.status, error.retryable, error.message, error.requestId]]);
  });
  assert.deepEqual(seen, [
    [300, true, undefined],
    [2, false, ["TabStoreError", "OTSObjectNotExist", 404, false, "Requested table 'ü' does not exist.", "c-2"]],
  ]);
});

test("a frame may lie in a larger buffer, and reads nothing of its surroundings", () => {
  const page = encodePage(["id"], [{ key: [{ INTEGER: 7 }], columns: [["a", [[1, { STRING: "grün" }]]]] }]);
  const frame = responses(
    { id: 1, payload: new Bytes().uv(1).uv(0).raw(page).done() },
    { id: 2, payload: errorPayload("OTSConditionCheckFail", "Condition check failed.", 403), ok: false },
  );
  const around = new Uint8Array(frame.length + 600).fill(0xee);
  around.set(frame, 300);
  const seen: unknown[] = [];
  const read = (bytes: Uint8Array, end?: number): void =>
    eachResponse(bytes, (id, ok, payload) => seen.push([id, ok ? getRowResult(payload, context, id).row?.toObject() : readError(payload, "x").code]), 300, end);
  read(around, 300 + frame.length);
  assert.deepEqual(seen, [
    [1, { id: 7, a: "grün" }],
    [2, "OTSConditionCheckFail"],
  ]);
  // A page that claims to be longer than its frame.
  const long = responses({ id: 3, payload: new Bytes().uv(1).uv(0).raw(page).done() });
  const at = long.length - page.length;
  new DataView(long.buffer, long.byteOffset).setUint32(at, page.length + 1, true);
  around.set(long, 300);
  assert.throws(() => read(around, 300 + long.length), /ends too early/);
});

test("a response that ends too early, or of another protocol version, is an error and not rubbish", () => {
  const frame = responses({ id: 1, payload: new Bytes().uv(0).uv(1).u8(0).done() });
  assert.throws(() => eachResponse(frame.slice(0, -1), () => {}), /ends too early/);
  assert.throws(() => eachResponse(Uint8Array.of(2), () => {}), /version 2/);
});
