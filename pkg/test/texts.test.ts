/** Texts of all lengths and scripts, written wherever a frame's buffer may be at its end. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { TAG } from "../src/codec/contract.js";
import { FrameWriter } from "../src/codec/frame.js";
import { Reader } from "../src/codec/reader.js";
import { writeValue } from "../src/codec/value.js";
import { Bytes } from "./support/bytes.js";

/** The sizes that a frame's buffer has while it grows: it begins with 1 KB and doubles, up to 1 MB here. */
const SIZES = Array.from({ length: 11 }, (_, doubled) => 1024 << doubled);
/** The first and the last code points of each length in UTF-8, and of each plane beyond the first. */
const EDGES = [
  0x00,
  0x61,
  0x7f,
  0x80,
  0xe9,
  0x7ff,
  0x800,
  0x65e5,
  0xd7ff,
  0xe000,
  0xfeff,
  0xffff,
  ...Array.from({ length: 16 }, (_, plane) => [(plane + 1) * 0x10000, (plane + 1) * 0x10000 + 0xffff]).flat(),
];
const FILLER = new Uint8Array(SIZES.at(-1)!).fill(0x2e);
const encoder = new TextEncoder();

/** A writer whose buffer has `size` bytes, of which `free` are not used. */
function writerWith(size: number, free: number): FrameWriter {
  const writer = new FrameWriter();
  writer.raw(FILLER.subarray(0, size - free - writer.length));
  return writer;
}

/** Writes a text at the end of a buffer, with something behind it, and compares every byte. */
function check(text: string, size: number, free: number, utf8 = encoder.encode(text)): void {
  const writer = writerWith(size, free);
  const start = writer.length;
  writer.str(text, "x");
  writer.u8(0xa5);
  const end = writer.length;
  const frame = writer.finish();
  const length = new Bytes().uv(utf8.length).list;
  const where = (): string => `${JSON.stringify(text.slice(0, 20))} (${text.length} units) with ${free} bytes free of ${size}`;
  if (end - start !== length.length + utf8.length + 1) assert.fail(where());
  for (let i = 0; i < length.length; i++) if (frame[start + i] !== length[i]) assert.fail(where());
  for (let i = 0; i < utf8.length; i++) if (frame[start + length.length + i] !== utf8[i]) assert.fail(where());
  if (frame[end - 1] !== 0xa5 || frame[start - 1] !== 0x2e) assert.fail(where());
}

// At one offset each: the next test has every length in UTF-8 at all of them.
test("D2: every character of every plane is written as it is at the end of a buffer", () => {
  let checked = 0;
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue;
    check(String.fromCodePoint(code), 1024, code % 17);
    checked++;
  }
  assert.equal(checked, 0x110000 - 0x800);
});

test("D2: texts of 1 to 4 characters of all lengths in UTF-8 are written as they are at every offset around the ends of small buffers", () => {
  // Per character length one code point for the longest texts, more for the shorter ones.
  const few = [0x61, 0xe9, 0x65e5, 0x1f600];
  const texts = (alphabet: readonly number[], length: number): string[] =>
    length === 0 ? [""] : texts(alphabet, length - 1).flatMap((head) => alphabet.map((code) => head + String.fromCodePoint(code)));
  const all = [...texts(EDGES, 1), ...texts(EDGES, 2), ...texts([...few, 0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10ffff], 3), ...texts(few, 4)];
  let checked = 0;
  for (const text of all) {
    const utf8 = encoder.encode(text);
    for (const size of SIZES.slice(0, 2)) {
      for (let free = 0; free <= 4 * 3 + 6; free++) {
        check(text, size, free, utf8);
        checked++;
      }
    }
  }
  assert.ok(checked > 100_000);
});

test("D2: short and long texts are written as they are around the end of every size of the buffer", () => {
  const texts = [
    "é",
    "°C",
    "日本",
    "😀",
    "é😀",
    "日本語文",
    "x".repeat(127) + "é",
    "é".repeat(63),
    "é".repeat(64),
    "日".repeat(200),
    "日".repeat(201),
    "😀".repeat(100),
    "a".repeat(200),
    "a".repeat(199) + "é",
    "é".repeat(5000),
    "日".repeat(5462),
  ];
  for (const text of texts) {
    const utf8 = encoder.encode(text);
    for (const size of SIZES)
      for (const free of [...Array(24).keys(), utf8.length - 1, utf8.length, utf8.length + 1, utf8.length + 2, utf8.length + 3, text.length * 3 + 2])
        check(text, size, Math.min(free, size - 6), utf8);
  }
});

test("D2: what stands behind a text that made the buffer grow is not touched, nor what stands before it", () => {
  for (let free = 0; free < 20; free++) {
    const writer = writerWith(1024, free);
    const start = writer.length;
    const values = ["Ü", 2n ** 63n - 1n, "日本", 1.5, new Uint8Array([1, 2, 3]), "é", true, "😀", -5];
    for (const value of values) writeValue(writer, value, "c", "attribute");
    const reader = new Reader(writer.finish().slice(), start);
    const read = values.map(() => {
      const tag = reader.u8();
      switch (tag) {
        case TAG.INTEGER:
          return BigInt(reader.sv());
        case TAG.DOUBLE:
          return reader.f64();
        case TAG.TRUE:
          return true;
        case TAG.STRING:
          return reader.str();
        case TAG.BINARY:
          return reader.binary();
        default:
          throw new Error(`tag ${tag}`);
      }
    });
    assert.deepEqual(
      read,
      values.map((value) => (value === -5 ? -5n : value)),
      `${free} bytes free`,
    );
  }
});

test("D2: names of any script survive in the dictionary, wherever the buffer ends", () => {
  const names = ["é", "日本", "😀", "ÿ".repeat(63), "ÿ".repeat(64), "n"];
  for (let free = 0; free < 40; free++) {
    const writer = writerWith(1024, free);
    for (const name of names) writer.name(name);
    const frame = writer.finish();
    const reader = new Reader(frame, new DataView(frame.buffer, frame.byteOffset).getUint32(1, true));
    assert.deepEqual(
      Array.from({ length: reader.uv() }, () => reader.str()),
      names,
    );
  }
});

test("D2: a text that is refused leaves nothing, and the next one is whole", () => {
  for (let free = 0; free < 20; free++) {
    for (const wrong of ["\ud800", "é\udc00", "日\ud83d", "x".repeat(300) + "\ud800"]) {
      const writer = writerWith(1024, free);
      const start = writer.length;
      assert.throws(() => writer.str(wrong, "x"), /must be UTF8/);
      writer.rollBack(start, 0);
      writer.str("日本", "x");
      assert.equal(new Reader(writer.finish(), start).str(), "日本");
    }
  }
});
