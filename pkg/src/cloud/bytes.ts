/** Bytes under construction, and little-endian integers in them. */

const doubles = /* @__PURE__ */ new Float64Array(1);
const doubleBytes = /* @__PURE__ */ new Uint8Array(doubles.buffer);

const encoder = /* @__PURE__ */ new TextEncoder();

/** The UTF-8 of a text. */
export const utf8 = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text);

/** A buffer that grows. */
export class Bytes {
  private bytes = new Uint8Array(256);
  /** The number of bytes written. */
  length = 0;

  private room(more: number): number {
    const at = this.length;
    this.length += more;
    if (this.length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.length, this.bytes.length * 2));
      larger.set(this.bytes);
      this.bytes = larger;
    }
    return at;
  }

  /** One byte. */
  u8(value: number): void {
    // Before the buffer is looked up: it may become another one.
    const at = this.room(1);
    this.bytes[at] = value;
  }

  /** Four bytes, little-endian. */
  u32(value: number): void {
    const at = this.room(4);
    for (let i = 0; i < 4; i++) this.bytes[at + i] = value >>> (8 * i);
  }

  /** Eight bytes of a signed integer, little-endian. */
  i64(value: number | bigint): void {
    const at = this.room(8);
    let left = BigInt.asUintN(64, BigInt(value));
    for (let i = 0; i < 8; i++, left >>= 8n) this.bytes[at + i] = Number(left & 255n);
  }

  /** Eight bytes of an IEEE double, little-endian. */
  f64(value: number): void {
    doubles[0] = value;
    this.raw(doubleBytes);
  }

  /** A varint of a signed integer of 64 bits, as protobuf has it: negative ones take ten bytes. */
  varint(value: number | bigint): void {
    if (typeof value === "number" && value >= 0 && value < 2 ** 31) {
      for (; value > 127; value >>>= 7) this.u8((value & 127) | 128);
      this.u8(value);
      return;
    }
    let left = BigInt.asUintN(64, BigInt(value));
    for (; left > 127n; left >>= 7n) this.u8(Number(left & 127n) | 128);
    this.u8(Number(left));
  }

  /** Bytes as they are. */
  raw(value: Uint8Array): void {
    const at = this.room(value.length);
    this.bytes.set(value, at);
  }

  /** What was written, as a view. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.bytes.subarray(0, this.length);
  }
}

/** An exact integer: a `number` if it is a safe integer. */
export const exact = (value: bigint): number | bigint => {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
};

/** The IEEE double at a place, little-endian. */
export function f64At(bytes: Uint8Array, at: number): number {
  for (let i = 0; i < 8; i++) doubleBytes[i] = bytes[at + i];
  return doubles[0];
}
