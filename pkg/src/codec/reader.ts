/** Reads varints and inline texts from the engine's bytes. */

import { local } from "../types/errors.js";

const decoder = /* @__PURE__ */ new TextDecoder("utf-8", { ignoreBOM: true });
const doubles = /* @__PURE__ */ new Float64Array(1);
const doubleBytes = /* @__PURE__ */ new Uint8Array(doubles.buffer);

/** Below this many bytes a loop over the characters is faster than `TextDecoder.decode`, if they are ASCII. */
const SHORT = 256;

/** Decodes UTF-8. */
export function decodeText(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= SHORT) {
    let text = "";
    let at = start;
    for (; at + 8 <= end; at += 8) {
      const a = bytes[at],
        b = bytes[at + 1],
        c = bytes[at + 2],
        d = bytes[at + 3];
      const e = bytes[at + 4],
        f = bytes[at + 5],
        g = bytes[at + 6],
        h = bytes[at + 7];
      if ((a | b | c | d | e | f | g | h) > 127) return decoder.decode(bytes.subarray(start, end));
      text += String.fromCharCode(a, b, c, d, e, f, g, h);
    }
    for (; at < end; at++) {
      const byte = bytes[at];
      if (byte > 127) break;
      text += String.fromCharCode(byte);
    }
    if (at === end) return text;
  }
  return decoder.decode(bytes.subarray(start, end));
}

/** Four bytes at a place, unsigned. */
export function u32At(bytes: Uint8Array, at: number): number {
  return (bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24)) >>> 0;
}

/** A position in bytes. Exact numbers come as `number`, others as `bigint`. */
export class Reader {
  /** Starts at `at` and must not pass `end`. */
  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
    readonly end = bytes.length,
  ) {}

  /** Fails when less than `more` bytes are left: the engine and this package are of different versions. */
  need(more: number): void {
    // A damaged length may be NaN, which is not larger than anything.
    if (!(this.at + more <= this.end)) throw local("OTSInternalServerError", "A response of the engine ends too early.");
  }

  /** One byte. */
  u8(): number {
    this.need(1);
    return this.bytes[this.at++];
  }

  /** An unsigned varint, as the nearest number. */
  uv(): number {
    let byte = this.u8();
    if (byte < 128) return byte;
    let value = byte & 127;
    for (let unit = 128; byte > 127; unit *= 128) {
      byte = this.u8();
      value += (byte & 127) * unit;
    }
    return value;
  }

  /** A signed varint; exact. */
  sv(): number | bigint {
    const { bytes, at } = this;
    // Four bytes hold 28 bits, enough for most numbers.
    let byte = this.u8();
    let value = byte & 127;
    for (let shift = 7; byte > 127 && shift < 28; shift += 7) {
      byte = this.u8();
      value |= (byte & 127) << shift;
    }
    if (byte < 128) return (value >>> 1) ^ -(value & 1);
    let unit = 268435456;
    let length = 4;
    for (; byte > 127 && length < 7; unit *= 128, length++) {
      byte = this.u8();
      value += (byte & 127) * unit;
    }
    // Seven bytes hold 49 bits: still an exact number.
    if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    this.at = at;
    return this.wide(bytes);
  }

  /** A signed varint of any length, by bigints. */
  private wide(bytes: Uint8Array): number | bigint {
    let zigzag = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      this.need(1);
      const byte = bytes[this.at++];
      zigzag |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    const value = BigInt.asIntN(64, (zigzag >> 1n) ^ -(zigzag & 1n));
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }

  /** An IEEE double. */
  f64(): number {
    this.need(8);
    const { bytes, at } = this;
    for (let i = 0; i < 8; i++) doubleBytes[i] = bytes[at + i];
    this.at = at + 8;
    return doubles[0];
  }

  /** A text with its length in bytes. */
  str(): string {
    const length = this.uv();
    this.need(length);
    const { at } = this;
    this.at = at + length;
    return decodeText(this.bytes, at, this.at);
  }

  /** Bytes with their length, as a copy. */
  binary(): Uint8Array {
    const length = this.uv();
    this.need(length);
    const { at } = this;
    this.at = at + length;
    return this.bytes.slice(at, this.at);
  }
}
