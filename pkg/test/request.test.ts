/** Request frames, byte by byte, and refusals before a byte is sent. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { FrameWriter } from "../src/codec/frame.js";
import * as request from "../src/codec/requests.js";
import { TabStoreError } from "../src/types/errors.js";
import { double } from "../src/types/double.js";
import { AUTO_INCREMENT, INF_MAX, INF_MIN } from "../src/types/values.js";
import { Bytes } from "./support/bytes.js";
import { ROW_OF_EACH_TYPE } from "./support/rows.js";

function frame<A>(encode: (w: FrameWriter, argument: A) => void, argument: A, writer = new FrameWriter()): Uint8Array {
  writer.uv(7);
  encode(writer, argument);
  return writer.finish().slice();
}

/** The expected frame: the request after its number, then the names. */
function expected(body: Bytes, names: string[]): Uint8Array {
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

test("golden: putRow", () => {
  const bytes = frame(request.putRow, {
    tableName: "t",
    ...ROW_OF_EACH_TYPE,
    condition: { rowExistence: "EXPECT_NOT_EXIST" },
    returnContent: "PRIMARY_KEY",
  });
  const body = new Bytes()
    .u8(1)
    .u8(0)
    .u8(2)
    .u8(1)
    .u8(6)
    .str("k")
    .u8(2)
    .u8(2)
    .sv(-1)
    .u8(2)
    .u8(0)
    .u8(1)
    .uv(9)
    .u8(3)
    .u8(0)
    .u8(2)
    .sv(300)
    .u8(4)
    .u8(0)
    .u8(3)
    .f64(1.5)
    .u8(5)
    .u8(0)
    .u8(3)
    .f64(2)
    .u8(6)
    .u8(0)
    .u8(5)
    .u8(7)
    .u8(0)
    .u8(4)
    .u8(8)
    .u8(0)
    .u8(6)
    .str("ä")
    .u8(9)
    .u8(0)
    .u8(7)
    .uv(2)
    .u8(1)
    .u8(2)
    .u8(10)
    .u8(1)
    .sv(1000)
    .u8(6)
    .str("new")
    .u8(10)
    .u8(1)
    .sv(999)
    .u8(6)
    .str("old");
  assert.deepEqual(bytes, expected(body, ["t", "id", "at", "i", "d", "e", "y", "n", "s", "b", "v"]));
});

test("golden: updateRow", () => {
  const bytes = frame(request.updateRow, {
    tableName: "t",
    primaryKey: { id: 1 },
    put: { a: 1 },
    deleteVersions: { b: [5, 6n] },
    deleteColumns: ["c"],
    increment: { d: -2 },
    returnContent: { afterModify: ["d"] },
  });
  const body = new Bytes()
    .u8(2)
    .u8(0)
    .u8(1)
    .u8(1)
    .u8(2)
    .sv(1)
    .u8(0)
    .u8(0)
    .u8(2)
    .uv(1)
    .u8(2)
    .uv(5)
    .u8(3)
    .u8(1)
    .u8(0)
    .u8(2)
    .sv(1)
    .u8(4)
    .u8(2)
    .sv(5)
    .u8(4)
    .u8(2)
    .sv(6)
    .u8(5)
    .u8(3)
    .u8(2)
    .u8(4)
    .sv(-2);
  assert.deepEqual(bytes, expected(body, ["t", "id", "d", "a", "b", "c"]));
});

test("golden: deleteRow", () => {
  const bytes = frame(request.deleteRow, { tableName: "t", primaryKey: { id: 1 }, condition: { rowExistence: "EXPECT_EXIST" } });
  assert.deepEqual(bytes, expected(new Bytes().u8(3).u8(0).u8(1).u8(1).u8(2).sv(1).u8(1).u8(0).u8(0), ["t", "id"]));
});

test("V8 golden: getRow asks for one version unless told otherwise", () => {
  const key = (): Bytes => new Bytes().u8(4).u8(0).u8(1).u8(1).u8(2).sv(1);
  const get = (options: object): Uint8Array => frame(request.getRow, { tableName: "t", primaryKey: { id: 1 }, ...options });
  assert.deepEqual(get({}), expected(key().u8(1).uv(1), ["t", "id"]));
  assert.deepEqual(get({ maxVersions: 300 }), expected(key().u8(1).uv(300), ["t", "id"]));
  assert.deepEqual(get({ timeRange: { start: 1, end: 2n } }), expected(key().u8(2).sv(1).sv(2), ["t", "id"]));
  assert.deepEqual(get({ timeRange: { version: 5 } }), expected(key().u8(4).sv(5), ["t", "id"]));
  assert.deepEqual(
    get({ maxVersions: 2, timeRange: { start: 1, end: 2 }, columnsToGet: ["a", "id"], startColumn: "a", endColumn: "ü" }),
    expected(
      key()
        .u8(1 | 2 | 8 | 16 | 32)
        .uv(2)
        .sv(1)
        .sv(2)
        .uv(2)
        .u8(2)
        .u8(1)
        .str("a")
        .str("ü"),
      ["t", "id", "a"],
    ),
  );
});

test("R3 golden: getRange with infinite and open ends", () => {
  const bytes = frame(request.getRange, { tableName: "t", start: { a: "x", b: INF_MAX }, end: { a: INF_MIN, b: INF_MIN }, direction: "BACKWARD", limit: 10 });
  assert.deepEqual(
    bytes,
    expected(new Bytes().u8(6).u8(0).u8(1).u8(2).u8(1).u8(6).str("x").u8(2).u8(9).u8(2).u8(1).u8(8).u8(2).u8(8).uv(10).u8(1).uv(1), ["t", "a", "b"]),
  );
  assert.deepEqual(frame(request.getRange, { tableName: "t" }), expected(new Bytes().u8(6).u8(0).u8(0).u8(0).u8(0).uv(0).u8(1).uv(1), ["t"]));
});

test("R2 golden: batches of several tables", () => {
  const get = frame(request.batchGetRow, [
    { tableName: "t", primaryKeys: [{ id: 1 }, { id: 2 }], maxVersions: 3 },
    { tableName: "u", primaryKeys: [] },
  ]);
  assert.deepEqual(
    get,
    expected(new Bytes().u8(5).uv(2).u8(0).u8(1).uv(3).uv(2).u8(1).u8(1).u8(2).sv(1).u8(1).u8(1).u8(2).sv(2).u8(2).u8(1).uv(1).uv(0), ["t", "id", "u"]),
  );
  const write = frame(request.batchWriteRow, [
    { tableName: "t", put: { primaryKey: { id: 1 } } },
    { tableName: "u", update: { primaryKey: { id: 2 }, deleteColumns: ["a"] } },
    { tableName: "t", delete: { primaryKey: { id: 3 } } },
  ]);
  assert.deepEqual(
    write,
    expected(
      new Bytes()
        .u8(7)
        .uv(3)
        .u8(1)
        .u8(0)
        .u8(1)
        .u8(1)
        .u8(2)
        .sv(1)
        .u8(0)
        .u8(0)
        .u8(0)
        .uv(0)
        .u8(2)
        .u8(2)
        .u8(1)
        .u8(1)
        .u8(2)
        .sv(2)
        .u8(0)
        .u8(0)
        .u8(0)
        .uv(1)
        .u8(3)
        .u8(3)
        .u8(3)
        .u8(0)
        .u8(1)
        .u8(1)
        .u8(2)
        .sv(3)
        .u8(0)
        .u8(0)
        .u8(0),
      ["t", "id", "u", "a"],
    ),
  );
});

test("texts of every length and alphabet are written as their UTF-8 bytes", () => {
  const writer = new FrameWriter();
  for (const unit of ["a", "é", "日", "😀", "\ufeff"]) {
    for (const length of [0, 1, 63, 64, 127, 128, 199, 200, 201, 5461, 8191, 8192, 70_000]) {
      const text = unit.repeat(length / unit.length);
      for (const value of [text, `${text}!`, `!${text}`]) {
        const bytes = frame(request.putRow, { tableName: "t", primaryKey: { id: value } }, writer);
        assert.deepEqual(Buffer.from(bytes), Buffer.from(expected(new Bytes().u8(1).u8(0).u8(1).u8(1).u8(6).str(value).u8(0).u8(0).u8(0).uv(0), ["t", "id"])));
      }
    }
  }
});

test("a writer is used again: names are numbered anew in every frame, and more than 127 of them", () => {
  const writer = new FrameWriter();
  const attributes = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`c${i}`, i]));
  const first = frame(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes }, writer);
  const body = new Bytes().u8(1).u8(0).u8(1).u8(1).u8(2).sv(1).u8(0).u8(0).u8(0).uv(300);
  for (let i = 0; i < 300; i++)
    body
      .uv(i + 2)
      .u8(0)
      .u8(2)
      .sv(i);
  const names = Array.from({ length: 300 }, (_, i) => `c${i}`);
  assert.deepEqual(first, expected(body, ["t", "id", ...names]));
  assert.deepEqual(
    frame(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes: { c299: 1 } }, writer),
    expected(new Bytes().u8(1).u8(0).u8(1).u8(1).u8(2).sv(1).u8(0).u8(0).u8(0).uv(1).u8(2).u8(0).u8(2).sv(1), ["t", "id", "c299"]),
  );
  assert.deepEqual(frame(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes }, writer), first);
});

/** The message with which an argument is refused. */
function refused<A>(encode: (w: FrameWriter, argument: A) => void, argument: unknown): string {
  let message = "";
  assert.throws(
    () => frame(encode, argument as A),
    (error) => {
      assert.ok(error instanceof TabStoreError, String(error));
      assert.equal(error.code, "OTSParameterInvalid");
      assert.equal(error.status, 400);
      ({ message } = error);
      return true;
    },
  );
  return message;
}

test("D2: values that are none are refused with the name of their column", () => {
  const put = (attributes: unknown): string => refused(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes });
  const wrong: [unknown, RegExp][] = [
    [undefined, /No value is given for column name: 'wrong'/],
    [null, /No value is given for column name: 'wrong'.*null/],
    [NaN, /^NaN can't be set to double value\..*'wrong'/],
    [Infinity, /^Infinity can't be set to double value\..*'wrong'/],
    [double(-Infinity), /Infinity.*'wrong'/],
    [double(NaN), /NaN.*'wrong'/],
    [{}, /'wrong' is an object/],
    [new Date(), /'wrong' is a Date/],
    [() => 1, /'wrong' is a function/],
    [Symbol("s"), /'wrong' is a symbol/],
    [[], /'wrong'. Its array of versions is empty/],
    [[1], /'wrong' is an array with a number in it/],
    [[{ version: 1 }], /'wrong' is an array with an object/],
    [[{ value: null, version: 1 }], /'wrong'.*null/],
    [[{ value: 1, version: 1.5 }], /version of column 'wrong'/],
    [[{ value: 1, version: "1" }], /version of column 'wrong'/],
    [2n ** 63n, /9223372036854775808 of column 'wrong' does not fit 64 bits/],
    [-(2n ** 63n) - 1n, /does not fit 64 bits/],
    [2 ** 53, /column 'wrong' is not a safe integer: give a bigint/],
    [1e300, /column 'wrong' is not a safe integer/],
    ["\ud800", /^Value of column wrong must be UTF8 encoding\./],
    [`${"x".repeat(500)}\udc00`, /^Value of column wrong must be UTF8/],
    [INF_MIN, /VT_INF_MIN is an invalid type for the attribute column.*'wrong'/],
    [new Uint16Array(1), /'wrong' is a Uint16Array/],
  ];
  for (const [value, message] of wrong) assert.match(put({ right: 1, wrong: value }), message);
  assert.match(put([1]), /'attributes' is an array/);
});

test("V1: versions that a number cannot hold are refused by the name of their column, the last safe one is not", () => {
  const put = (version: number | bigint): unknown => ({ tableName: "t", primaryKey: { id: 1 }, attributes: { a: [{ value: 1, version }] } });
  for (const version of [2n ** 53n, 2n ** 53n + 1n, 2n ** 63n / 1000n, 2 ** 53, -(2n ** 60n)]) {
    const message = new RegExp(`^Timestamp must be in range \\[0, INT64_MAX/1000\\)\\. .*safe integer.*the version of column 'a' is ${version}\\.$`);
    assert.match(refused(request.putRow, put(version)), message);
    assert.match(refused(request.updateRow, { tableName: "t", primaryKey: { id: 1 }, deleteVersions: { a: [version] } }), message);
  }
  assert.deepEqual(frame(request.putRow, put(2n ** 53n - 1n) as never), frame(request.putRow, put(2 ** 53 - 1) as never));
});

test("T3: keys that are none are refused with the name of the argument or column", () => {
  const get = (primaryKey: unknown): string => refused(request.getRow, { tableName: "t", primaryKey });
  assert.match(get(undefined), /'primaryKey' is undefined/);
  assert.match(get([1]), /'primaryKey' is an array/);
  assert.equal(get({}), "The number of primary key columns must be in range: [1, 4].");
  assert.match(get({ id: null }), /No value is given for primary key name: id/);
  assert.match(get({ id: INF_MAX }), /VT_INF_MAX is an invalid type for the primary key.*'id'/);
  assert.match(get({ id: {} }), /primary key column 'id' is an object/);
});

test("wrong arguments are refused by name, also those that nobody knows", () => {
  const get = (options: object): string => refused(request.getRow, { tableName: "t", primaryKey: { id: 1 }, ...options });
  assert.match(refused(request.getRow, undefined), /'getRow' is undefined/);
  assert.match(refused(request.getRow, { primaryKey: { id: 1 } }), /'tableName' is undefined/);
  assert.match(get({ tableName: 5 }), /'tableName' is a number/);
  assert.match(get({ maxVersion: 2 }), /Unknown argument 'maxVersion' in 'getRow'.*maxVersions/);
  assert.match(get({ maxVersions: 0 }), /^Invalid max versions: 0 \. Reason: Max versions must be positive\./);
  assert.match(get({ maxVersions: "2" }), /'maxVersions' is a string/);
  assert.match(get({ columnsToGet: "a" }), /'columnsToGet' is a string/);
  assert.match(get({ columnsToGet: [1] }), /'columnsToGet' is a number/);
  assert.match(get({ timeRange: { start: 1 } }), /^Start and end time must be given at the same time\./);
  assert.match(get({ timeRange: { start: 1, end: 2, version: 1 } }), /'timeRange'/);
  assert.match(get({ timeRange: 5 }), /'timeRange' is a number/);
  assert.match(get({ startColumn: 1 }), /'startColumn' is a number/);
  const range = (options: object): string => refused(request.getRange, { tableName: "t", ...options });
  assert.match(range({ direction: "UP" }), /'direction' is 'UP'/);
  assert.match(range({ limit: 0 }), /^The limit must be greater than 0\./);
  assert.match(range({ limit: 1.5 }), /'limit' is 1.5/);
  const put = (options: object): string => refused(request.putRow, { tableName: "t", primaryKey: { id: 1 }, ...options });
  assert.match(put({ returnContent: "ALL" }), /'returnContent' is 'ALL'/);
  assert.match(put({ condition: { rowExistence: "MAYBE" } }), /'condition.rowExistence' is 'MAYBE'/);
  assert.match(put({ condition: { columns: {} } }), /Unknown argument 'columns' in 'condition'/);
  const update = (options: object): string => refused(request.updateRow, { tableName: "t", primaryKey: { id: 1 }, ...options });
  assert.match(update({ increment: { c: 1.5 } }), /the increment of column 'c'/);
  assert.match(update({ increment: { c: "1" } }), /the increment of column 'c' is a string/);
  assert.match(update({ deleteVersions: { c: 5 } }), /'deleteVersions.c' is a number/);
  assert.match(update({ deleteColumns: "c" }), /'deleteColumns' is a string/);
  assert.match(refused(request.batchWriteRow, [{ tableName: "t" }]), /exactly one of/);
  assert.match(refused(request.batchWriteRow, [{ tableName: "t", put: { primaryKey: { id: 1 }, attribute: {} } }]), /Unknown argument 'attribute' in 'put'/);
  assert.match(refused(request.batchWriteRow, {}), /'rows' is an object/);
  assert.match(refused(request.batchGetRow, [{ tableName: "t", primaryKeys: { id: 1 } }]), /'primaryKeys' is an object/);
});

test("R6 golden: AUTO_INCREMENT in the keys of puts and updates", () => {
  const body = new Bytes().u8(1).u8(0).u8(2).u8(1).u8(6).str("r").u8(2).u8(10).u8(0).u8(0).u8(1).uv(0);
  assert.deepEqual(
    frame(request.putRow, { tableName: "t", primaryKey: { room: "r", id: AUTO_INCREMENT }, returnContent: "PRIMARY_KEY" }),
    expected(body, ["t", "room", "id"]),
  );
  const update = new Bytes().u8(7).uv(1).u8(2).u8(0).u8(1).u8(1).u8(10).u8(0).u8(0).u8(0).uv(1).u8(2).u8(1).u8(0).u8(2).sv(1);
  assert.deepEqual(
    frame(request.batchWriteRow, [{ tableName: "t", update: { primaryKey: { id: AUTO_INCREMENT }, put: { a: 1 } } }]),
    expected(update, ["t", "id", "a"]),
  );
});

test("R6: AUTO_INCREMENT is refused by name wherever a key must be known", () => {
  const primaryKey = { room: "r", id: AUTO_INCREMENT };
  const read = /^PKAutoIncr can't be used for read operations\. AUTO_INCREMENT was given for 'id'\.$/;
  assert.match(refused(request.getRow, { tableName: "t", primaryKey }), read);
  assert.match(refused(request.getRange, { tableName: "t", start: primaryKey }), read);
  assert.match(refused(request.batchGetRow, [{ tableName: "t", primaryKeys: [primaryKey] }]), read);
  assert.match(refused(request.startLocalTransaction, { tableName: "t", partitionKey: primaryKey }), read);
  const remove = /^Invalid row to delete which with pk auto increment\. AUTO_INCREMENT was given for 'id'\.$/;
  assert.match(refused(request.deleteRow, { tableName: "t", primaryKey }), remove);
  assert.match(refused(request.batchWriteRow, [{ tableName: "t", delete: { primaryKey } }]), remove);
  assert.match(
    refused(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes: { a: AUTO_INCREMENT } }),
    /VT_AUTO_INCREMENT is an invalid type for the attribute column.*'a'/,
  );
});

test("R7 golden: transactions", () => {
  assert.deepEqual(
    frame(request.startLocalTransaction, { tableName: "t", partitionKey: { room: "r" } }),
    expected(new Bytes().u8(8).u8(0).u8(1).u8(1).u8(6).str("r"), ["t", "room"]),
  );
  assert.deepEqual(frame(request.commitTransaction, "tx"), expected(new Bytes().u8(9).str("tx"), []));
  assert.deepEqual(frame(request.abortTransaction, "tx"), expected(new Bytes().u8(10).str("tx"), []));
  const inside =
    <A>(encode: (w: FrameWriter, argument: A, transaction?: string) => void) =>
    (w: FrameWriter, argument: A): void =>
      encode(w, argument, "tx");
  const key = { tableName: "t", primaryKey: { id: 1 } };
  const head = (op: number): Bytes => new Bytes().u8(op | 0x40).str("tx");
  const row = (): Bytes => new Bytes().u8(0).u8(1).u8(1).u8(2).sv(1);
  assert.deepEqual(frame(inside(request.putRow), key), expected(head(1).raw(row().u8(0).u8(0).u8(0).uv(0).list), ["t", "id"]));
  assert.deepEqual(
    frame(inside(request.updateRow), { ...key, deleteColumns: ["a"] }),
    expected(head(2).raw(row().u8(0).u8(0).u8(0).uv(1).u8(2).u8(3).list), ["t", "id", "a"]),
  );
  assert.deepEqual(frame(inside(request.deleteRow), key), expected(head(3).raw(row().u8(0).u8(0).u8(0).list), ["t", "id"]));
  assert.deepEqual(frame(inside(request.getRow), key), expected(head(4).raw(row().u8(1).uv(1).list), ["t", "id"]));
  assert.deepEqual(frame(inside(request.getRange), { tableName: "t" }), expected(head(6).u8(0).u8(0).u8(0).u8(0).uv(0).u8(1).uv(1), ["t"]));
  assert.deepEqual(
    frame(inside(request.batchWriteRow), [{ tableName: "t", delete: { primaryKey: { id: 1 } } }]),
    expected(head(7).uv(1).u8(3).raw(row().u8(0).u8(0).u8(0).list), ["t", "id"]),
  );
  assert.deepEqual(
    frame(request.batchWriteRowAtomic, [{ tableName: "t", delete: { primaryKey: { id: 1 } } }]),
    expected(new Bytes().u8(11).uv(1).u8(3).raw(row().u8(0).u8(0).u8(0).list), ["t", "id"]),
  );
});

test("R8: requests that no engine should see are refused before they are written", () => {
  const put = (attributes: unknown): string => refused(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes });
  // A value that no column holds is told by its column.
  for (const big of [new Uint8Array(40 << 20), "x".repeat(40 << 20)])
    assert.match(put({ big }), /^The length of attribute column: 'big' exceeds the MaxLength:2097152 with CurrentLength:41943040\.$/);
  const large = Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`large${i}`, new Uint8Array(9 << 20)]));
  assert.match(put(large), /^The total data size of the request exceeds the limit/);
  assert.match(
    put(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`${i}${"n".repeat(4000)}`, 1]))),
    /^The total data size of the request exceeds the limit/,
  );
  assert.match(put({ ["n".repeat(5000)]: 1 }), /^Invalid column name: 'n+…'\. It is 5000 characters long/);
  assert.match(refused(request.batchWriteRow, new Array(1e9)), /'rows' has 1000000000 entries/);
});

test("arguments that say one thing when they are counted and another when they are written are refused", () => {
  let turn = 0;
  const cells = [{ value: 1 }, { value: 2 }];
  const attributes = {
    get a() {
      return turn++ % 2 === 0 ? cells : 1;
    },
  };
  assert.match(refused(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes }), /'attributes' changed while it was read/);
  turn = 0;
  assert.match(refused(request.updateRow, { tableName: "t", primaryKey: { id: 1 }, put: attributes }), /'put' changed while it was read/);
  class Lying extends Uint8Array {
    override get length(): number {
      return 5;
    }
  }
  assert.deepEqual(
    frame(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes: { a: new Lying(2) } }),
    frame(request.putRow, { tableName: "t", primaryKey: { id: 1 }, attributes: { a: new Uint8Array(2) } }),
  );
  const names = ["a"];
  Object.defineProperty(names, Symbol.iterator, {
    value: function* () {
      yield* ["a", "b", "c"];
    },
  });
  assert.deepEqual(
    frame(request.getRow, { tableName: "t", primaryKey: { id: 1 }, columnsToGet: names }),
    frame(request.getRow, { tableName: "t", primaryKey: { id: 1 }, columnsToGet: ["a"] }),
  );
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  assert.throws(() => frame(request.getRow, revoked.proxy as never), TypeError);
});

test("a call that is refused leaves none of its names behind", () => {
  const writer = new FrameWriter();
  request.putRow(writer, { tableName: "t", primaryKey: { id: 1 } });
  const [length, names] = [writer.length, writer.nameCount];
  assert.throws(() =>
    request.batchWriteRow(writer, [
      { tableName: "u", put: { primaryKey: { other: 1 } } },
      { tableName: "u", put: { primaryKey: { other: NaN } } },
    ]),
  );
  writer.rollBack(length, names);
  assert.deepEqual(writer.marks, []);
  request.putRow(writer, { tableName: "u", primaryKey: { id: 2 } });
  const bytes = writer.finish().slice();
  const body = new Bytes().u8(1).u8(0).u8(1).u8(1).u8(2).sv(1).u8(0).u8(0).u8(0).uv(0).u8(1).u8(2).u8(1).u8(1).u8(2).sv(2).u8(0).u8(0).u8(0).uv(0);
  assert.deepEqual(
    bytes,
    new Bytes()
      .u8(1)
      .u32(5 + body.list.length)
      .raw(body.list)
      .uv(3)
      .str("t")
      .str("id")
      .str("u")
      .done(),
  );
});
