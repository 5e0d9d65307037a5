/** The door of the Table Store service on the real engine: bytes of the wire protocol go in, and its answers come out. */

import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { test } from "node:test";

import { passTableStore } from "../src/tablestore/door.js";
import { open, skip } from "./support/package.js";

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(" ", ""), "hex"));
const text = (body: Uint8Array): string => Buffer.from(body).toString("latin1");

/** The key pk1 = 1, pk2 = "a" as the official clients send it, behind the name of the table `t6`. */
const KEY = "75000000 01 03 0403000000706b31 0509000000 000100000000000000 0a50 03 0403000000706b32 0506000000 030100000061 0a7f";
/** CreateTable of `t6` with these key columns. */
const CREATE = bytes("0a16 0a027436 1207 0a03706b311001 1207 0a03706b321002 1206 0a0408001000");
/** PutRow without attributes. */
const PUT = bytes(`0a027436 1236 ${KEY} 0945 1a020800`);
/** GetRow of one version of each column. */
const GET = bytes(`0a027436 1236 ${KEY} 0945 2801`);

test("a table is made, written and read in the wire protocol", { skip }, async () => {
  const db = await open();
  const send = (operation: string, body: Uint8Array) => passTableStore(db, "off", { method: "POST", url: `/${operation}`, headers: [], body });
  const created = await send("CreateTable", CREATE);
  assert.equal(created.status, 200, text(created.body));
  assert.equal((await send("CreateTable", CREATE)).status, 409);
  assert.match(text((await send("ListTable", new Uint8Array())).body), /t6$/);
  assert.equal((await send("PutRow", PUT)).status, 200);
  const got = await send("GetRow", GET);
  assert.equal(got.status, 200);
  assert.ok(Buffer.from(got.body).includes(Buffer.from(bytes(`${KEY} 0945`))), "the row is there");
  assert.deepEqual(await db.listTable(), ["t6"]);
  const described = await send("DescribeTable", bytes("0a027436"));
  assert.match(text(described.body), /pk1.*pk2/s, "by a module that is loaded now");
  const { operations } = await db.metrics();
  assert.deepEqual([operations.TableStore.requests, operations.TableStore.errors], [6, 1]);
  await db.close();
});

test("I6: a request that is signed passes with its key's rights, and one that is not does not", { skip }, async () => {
  const db = await open();
  const key = await db.createAccessKey({ rights: ["read"] });
  const signed = (operation: string, body: Uint8Array, secret: string) => {
    const headers = [
      ["x-ots-date", new Date().toISOString()],
      ["x-ots-apiversion", "2015-12-31"],
      ["x-ots-accesskeyid", key.accessKeyId],
      ["x-ots-instancename", "demo"],
      ["x-ots-contentmd5", createHash("md5").update(body).digest("base64")],
    ] as [string, string][];
    const lines = headers.map(([name, value]) => `${name}:${value}\n`).sort();
    const signature = createHmac("sha1", secret)
      .update(`/${operation}\nPOST\n\n${lines.join("")}`)
      .digest("base64");
    const all = [...headers, ["x-ots-signature", signature] as [string, string]];
    return passTableStore(db, "signed", { method: "POST", url: `/${operation}`, headers: all, body });
  };
  const listed = await signed("ListTable", new Uint8Array(), key.accessKeySecret);
  assert.equal(listed.status, 200, text(listed.body));
  const found = new Map(listed.headers);
  const own = listed.headers.filter(([name]) => name.startsWith("x-ots-")).map(([name, value]) => `${name}:${value}\n`);
  const expected = createHmac("sha1", key.accessKeySecret)
    .update(`${own.sort().join("")}/ListTable`)
    .digest("base64");
  assert.equal(found.get("Authorization"), `OTS ${key.accessKeyId}:${expected}`);
  const forged = await signed("ListTable", new Uint8Array(), "another");
  assert.deepEqual([forged.status, text(forged.body).includes("Signature mismatch.")], [403, true]);
  assert.equal(new Map(forged.headers).has("Authorization"), false);
  const denied = await signed("CreateTable", CREATE, key.accessKeySecret);
  assert.deepEqual([denied.status, text(denied.body).includes("OTSNoPermissionAccess")], [403, true]);
  assert.deepEqual(await db.listTable(), []);
  await db.close();
});
