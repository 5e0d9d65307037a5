/**
 * The bytes of the service's protocol: what the official clients send for the same calls, recorded from them, and what the service
 * answers. Signatures are those that the official clients made.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import { AUTO_INCREMENT, connect, double } from "../src/cloud/index.js";
import * as m from "../src/cloud/messages.js";
import { crc8, readRows, writeRow } from "../src/cloud/plain-buffer.js";
import { decode, encode, message } from "../src/cloud/protobuf.js";
import { authorizationOf, signed, v4Key } from "../src/cloud/sign.js";
import type { Database } from "../src/index.js";
import { col } from "../src/types/filter.js";
import { answered, ENDPOINT, SIGNER } from "./support/service.js";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const bytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text.replace(/\s/g, ""), "hex"));

/** The key pk1 = 1, pk2 = "a", without its row checksum. */
const KEY = "7500000001030403000000706b3105090000000001000000000000000a50030403000000706b3205060000000301000000610a7f";
const EMPTY = new Uint8Array(0);

/** What a call sends. The table has the key pk1, pk2, and each answer is empty. */
async function sent(call: (db: Database) => Promise<unknown>): Promise<string> {
  const bodies: Uint8Array[] = [];
  const db = await connect(ENDPOINT, SIGNER, {
    retry: false,
    fetch: async (url, { body }) => {
      const path = new URL(url).pathname;
      if (path === "/DescribeTable") return answered(path, m.KeyColumns, { meta: { columns: [{ name: "pk1" }, { name: "pk2" }] } });
      bodies.push(body as Uint8Array);
      return answered(path, m.Nothing, {});
    },
  });
  // Some answers need more than nothing.
  await call(db).catch(() => {});
  await db.close();
  assert.ok(bodies[0] !== undefined, "the call asks the service");
  return hex(bodies[0]);
}

const t = { tableName: "t", primaryKey: { pk2: "a", pk1: 1 } };

test("requests have the bytes that the official clients send for the same calls", async () => {
  const get = `0a01741236${KEY}0945`;
  const calls: [string, (db: Database) => Promise<unknown>][] = [
    [`${get}1a020800`, (db) => db.putRow(t)],
    [
      "0a017412467500000001030403000000706b3105090000000001000000000000000a50030403000000706b3205010000000b0af9020304010000006105060000000301000000780a4d09181a02080022020801",
      (db) => db.putRow({ tableName: "t", primaryKey: { pk1: 1, pk2: AUTO_INCREMENT }, attributes: { a: "x" }, returnContent: "PRIMARY_KEY" }),
    ],
    [`0a01741237${KEY}0809421a020800`, (db) => db.deleteRow(t)],
    [`${get}2801`, (db) => db.getRow(t)],
    [`${get}22071880d095ffbc31`, (db) => db.getRow({ ...t, timeRange: { version: 1_700_000_000_000 } })],
    [`${get}28013a080803120408011003`, (db) => db.getRow({ ...t, filter: { offset: 1, limit: 3 } })],
    [
      `${get}28013a2a0801122608031201731a090064000000000000002001280132100a0c74313a285b302d395d2b292c1000`,
      (db) => db.getRow({ ...t, filter: col("s").transfer("t1:([0-9]+),", "INTEGER").gt(100, { passIfMissing: false }) }),
    ],
    [`${get}28013a180801121408071201731a0900000000000000000020012801`, (db) => db.getRow({ ...t, filter: col("s").exists() })],
    [
      "0a017412207500000001030403000000706b3105090000000001000000000000000a50090c",
      (db) => db.startLocalTransaction({ tableName: "t", partitionKey: { pk1: 1 } }),
    ],
    // Behind what the official clients send: the table is to have transactions, as one of this browser has.
    [
      "0a0c0a017412070a03706b31100112060a04080010001a1108ffffffffffffffffff0110012880a3054001",
      (db) => db.createTable({ tableName: "t", primaryKey: [{ name: "pk1", type: "INTEGER" }] }),
    ],
    ["0a01741a021005", (db) => db.updateTable({ tableName: "t", maxVersions: 5 })],
    ["", (db) => db.listTable()],
  ];
  for (const [wanted, call] of calls) assert.equal(await sent(call), wanted, String(call));
});

test("an update has the cells that the official clients send", async () => {
  const call = (db: Database) => db.updateRow({ ...t, put: { a: "x" }, deleteVersions: { b: [1] }, deleteColumns: ["z"], increment: { i: 1 } });
  const row = `${KEY} 02 03 0401000000 61 0506000000 03 01000000 78 0a4d 03 0401000000 62 0603 07 0100000000000000 0ac5 03 0401000000 7a 0601 0a27 03 0401000000 69 0509000000 00 0100000000000000 0604 0abe 09c1`;
  const packed = hex(bytes(row));
  assert.equal(await sent(call), `0a0174 12${(packed.length / 2).toString(16)}01 ${packed} 1a020800`.replace(/\s/g, ""));
});

test("cells of all types have the checksums that the official clients compute", async () => {
  const at = 1_700_000_000_000;
  const attributes = { a: double(1), b: 5, s: [{ value: "x", version: at }], bl: Uint8Array.of(1), bo: true };
  const body = await sent((db) => db.putRow({ ...t, attributes }));
  assert.deepEqual(
    [...body.matchAll(/0a(dd|ea|8a|55|d6)(?=03|09)/g)].map(([, crc]) => crc),
    ["dd", "ea", "8a", "55", "d6"],
  );
  assert.match(body, /09881a020800$/);
});

test("values of filters have their type, and integers and texts their length in bytes", async () => {
  const tail = async (filter: object) => (await sent((db) => db.getRow({ ...t, filter } as never))).split("28013a")[1]!;
  const wanted: [string, unknown][] = [
    ["03050000006368696e61", "china"],
    ["000700000000000000", 7],
    ["01000000000000f83f", double(1.5)],
    ["0201", true],
    ["07020000000102", Uint8Array.of(1, 2)],
    ["0303000000e5908d", "名"],
    ["0000000000000000 80".replace(" ", ""), -(2n ** 63n)],
  ];
  for (const [value, given] of wanted) {
    const length = (value.length / 2).toString(16).padStart(2, "0");
    assert.ok(
      (await tail(col("s").eq(given as never))).includes(`1a${length}${value}20002801`),
      `${String(given)}: ${await tail(col("s").eq(given as never))}`,
    );
  }
});

test("a column's name has its length in bytes, not in characters", async () => {
  assert.match(await sent((db) => db.putRow({ ...t, attributes: { 名: 1 } })), /0403000000e5908d0509/);
});

test("I6: V2 and V4 signatures are those of the official clients", async () => {
  const of = (date: string, region?: string) => signed("/ListTable", EMPTY, "inst", { ...SIGNER, region }, date);
  assert.equal((await of("2026-11-20T04:08:06.961Z"))["x-ots-signature"], "1kubBGnnMPwwfY1g2WGLWPOoBB0=");
  assert.equal((await of("2026-11-20T04:08:48.000Z"))["x-ots-signature"], "o2Gndq7M9gwg+L4kmg/brNpbt5k=");
  assert.equal(await v4Key("testsecret", "20261120", "cn-hangzhou"), "xiWit4E7/n4uZ7XkslLqXc+Mc2m6rNqCuV8k1i2b27A=");
  const v4 = await of("2026-11-20T04:08:48.000Z", "cn-hangzhou");
  assert.deepEqual(v4, {
    "x-ots-apiversion": "2015-12-31",
    "x-ots-instancename": "inst",
    "x-ots-accesskeyid": "testid",
    "x-ots-contentmd5": "1B2M2Y8AsgTpgAmY7PhCfg==",
    "x-ots-date": "2026-11-20T04:08:48.000Z",
    "x-ots-signdate": "20261120",
    "x-ots-signregion": "cn-hangzhou",
    "x-ots-signaturev4": "7HZAAszycDn5XoQW7jE5WpOg3zqGtnV2QwZlHJOZg2Q=",
  });
});

test("I6: the signature of an answer is an HMAC-SHA1 in both versions", async () => {
  const headers = Object.entries({
    "x-ots-contentmd5": "1B2M2Y8AsgTpgAmY7PhCfg==",
    "x-ots-requestid": "0005-req",
    "x-ots-date": "2026-11-20T04:08:48.000000Z",
    "x-ots-contenttype": "protocol buffer",
    "content-type": "not signed",
  });
  assert.equal(await authorizationOf("/ListTable", headers, SIGNER, "2026-11-20"), "OTS testid:RJquexEni4L3pNDYnmkekV9tKdw=");
  assert.equal(await authorizationOf("/ListTable", headers, { ...SIGNER, region: "cn-hangzhou" }, "2026-11-20"), "OTS testid:1MinbTH9uEoZPJleDzHgpp98zDA=");
});

test("the checksum is CRC-8 with the polynomial 7", () => {
  assert.equal(crc8(new TextEncoder().encode("123456789")), 0xf4);
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 6, 7].map((byte) => crc8(Uint8Array.of(byte))),
    [0, 7, 14, 9, 28, 27, 18, 21],
  );
});

test("rows of an answer are read: values, versions, operations, padding, and the time of a stream's record", () => {
  assert.deepEqual(
    readRows(bytes(`${KEY}0945`))[0]!.key.map(({ name, value }) => [name, value]),
    [
      ["pk1", 1],
      ["pk2", "a"],
    ],
  );
  // Some clients leave zeros behind the row.
  assert.equal(readRows(bytes(`${KEY}0945 0000`)).length, 1);
  const update = readRows(
    bytes(
      `${KEY} 02 03 0401000000 61 0506000000 03 01000000 78 0a4d 03 0401000000 62 0603 07 0100000000000000 0ac5 03 0401000000 7a 0601 0a27 03 0401000000 69 0509000000 00 0100000000000000 0604 0abe 09c1`,
    ),
  );
  assert.deepEqual(
    update[0]!.cells.map(({ name, op, version, value }) => [name, op, version, value]),
    [
      ["a", 0, undefined, "x"],
      ["b", 3, 1, undefined],
      ["z", 1, undefined, undefined],
      ["i", 4, undefined, 1],
    ],
  );
  const extension = "0b18000000 0c13000000 0d01000000 0e 0040e8a33b0f0600 0f00000000";
  const [record] = readRows(bytes(`${KEY} ${extension} 0945`));
  assert.equal(record!.time, Number(Buffer.from("0040e8a33b0f0600", "hex").readBigInt64LE()));
  assert.deepEqual(readRows(EMPTY), []);
  assert.deepEqual(readRows(undefined), []);
  const wide = [2 ** 53 - 1, -(2 ** 53) + 1, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, 0, -1];
  const cells = wide.map((value, i) => ({ name: `c${i}`, variant: { type: 0, value } }));
  assert.deepEqual(
    readRows(writeRow([], cells))[0]!.cells.map(({ value }) => value),
    wide,
  );
});

test("a damaged row is refused, whatever byte of it has changed", () => {
  const row = writeRow(
    [{ name: "pk", variant: { type: 3, value: "key" } }],
    [
      { name: "i", variant: { type: 0, value: 7 }, version: 1_700_000_000_000 },
      { name: "s", variant: { type: 3, value: "text" } },
    ],
  );
  let refused = 0;
  for (let at = 0; at < row.length; at++) {
    const damagedRow = row.slice();
    damagedRow[at] ^= 1;
    try {
      // A changed first tag of a row reads as padding: no row is made of it.
      assert.equal(readRows(damagedRow).length, 0, `byte ${at}`);
    } catch (error) {
      assert.equal((error as { code?: string }).code, "OTSInternalServerError", `byte ${at}: ${String(error)}`);
      refused += 1;
    }
    assert.throws(() => {
      if (readRows(row.subarray(0, at)).length === 0) throw new Error("none");
    });
  }
  assert.ok(refused > row.length - 4);
});

test("messages are read as protobuf says: unknown fields, negative numbers, repeated fields, wrong types", () => {
  const One = message({
    number: [1, "int"],
    text: [2, "text"],
    many: [3, "int", true],
    flag: [4, "bool"],
    signed: [5, "sint"],
    nested: [6, message({ inner: [1, "bytes"] })],
  });
  const one = { number: -1, text: "名", many: [0, 300, 2n ** 62n], flag: false, nested: { inner: Uint8Array.of(1, 2) } };
  assert.equal(hex(encode(One, one)), "08ffffffffffffffffff011203e5908d180018ac0218808080808080808040200032040a020102");
  assert.deepEqual(decode(One, encode(One, one)), one);
  // A field 9 of each wire type.
  const unknown = bytes("4801 4a03010203 4d00000000 490000000000000000 0805 2807 2808");
  assert.deepEqual(decode(One, unknown), { many: [], number: 5, signed: 4 });
  for (const wrong of ["08", "0a01", "12ff", "0f", "1205aa", "08ffffffffffffffffffffff01", "0a0101"])
    assert.throws(() => decode(One, bytes(wrong)), { code: "OTSInternalServerError" });
});
