/** Damaged responses are refused: no length is trusted. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { readRowsStored } from "../src/codec/responses.js";
import { Page } from "../src/codec/page.js";
import { Reader } from "../src/codec/reader.js";
import { batchWriteResult, eachResponse } from "../src/codec/response.js";
import { Bytes, encodePage } from "./support/bytes.js";
import { code } from "./support/package.js";

test("bytes that end too early are refused, whatever they say of their length", () => {
  // A length of 150 bytes is no number: it counts as not larger than what is left.
  const body = new Bytes().uv(0).uv(0).uv(9).uv(1000).uv(1);
  for (let i = 0; i < 160; i++) body.u8(0x80);
  body.u8(0);
  const context = { bigints: false, requestId: String };
  assert.throws(() => readRowsStored(new Reader(body.done()), context, 1), code("OTSInternalServerError", /too early/));
});

test("a response whose length is no number is refused, and does not swallow those behind it", () => {
  const frame = new Bytes().u8(1).uv(1).u8(0);
  for (let i = 0; i < 160; i++) frame.u8(0x80);
  frame.u8(0).uv(2).u8(0).uv(0);
  const seen: number[] = [];
  assert.throws(() => eachResponse(frame.done(), (id) => seen.push(id)), code("OTSInternalServerError", /too early/), `it gives ${seen}`);
});

test("an empty page without a length is refused, not read for ever", () => {
  const body = new Bytes().uv(1).u8(1).uv(0).uv(1).u8(1);
  for (let i = 0; i < 28; i++) body.u8(0);
  let looks = 0;
  const context = {
    get bigints(): boolean {
      if (++looks > 1000) throw new Error("it reads for ever");
      return false;
    },
    requestId: String,
  };
  assert.throws(() => batchWriteResult(new Reader(body.done()), context, 1), code("OTSInternalServerError"));
});

test("a page whose rows do not fit into it is refused before one of them is made", () => {
  const page = encodePage(["id"], [{ key: [{ INTEGER: 1 }], columns: [] }]);
  // Each place of the header is damaged in turn: the number of rows, and where their table begins.
  for (const at of [4, 8]) {
    for (const value of [0xffff_ffff, 0x1000_0000, page.length]) {
      const damaged = Uint8Array.from(page);
      new DataView(damaged.buffer).setUint32(at, value, true);
      // Behind it are bytes of other responses.
      const frame = new Uint8Array(page.length + (1 << 16));
      frame.set(damaged);
      assert.throws(() => new Page(frame, 0, false), code("OTSInternalServerError", /too early/), `${value} at ${at}`);
    }
  }
  assert.equal(new Page(page, 0, false).rows().length, 1);
});
