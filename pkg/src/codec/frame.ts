/**
 * Writes request frames: the bytes in which calls travel to the engine.
 *
 * A frame is `u8 version = 1 | u32 offset of the dictionary | requests back to back | dictionary`, little-endian. Each
 * name of a table or column stands in the dictionary once, and requests give its number. `uv` is an unsigned LEB128
 * varint, `sv` a zigzag one. The contract (src/session/codec/contract.rs) has the layout of each request.
 *
 * A loop writes texts of up to 200 characters. `TextEncoder.encode` costs 10 us a call and `encodeInto` 2 us, the loop
 * 0.2 us for 50 characters.
 */

import { invalid, local } from "../types/errors.js";
import { lengthOf } from "./bytes.js";

/** Version of the request frame. */
const FRAME_VERSION = 1;
const HEADER = 5;
/** A loop writes texts of up to this many characters. */
const SHORT = 200;
/** A larger buffer is freed after use, so that one large value does not stay in memory. */
const KEEP = 1 << 20;
const MAX_NAMES = 4096;
/**
 * The most bytes of a frame: eight times the limit of a request [R2], and far below the engine's memory limit. The
 * engine refuses requests between that limit and this one by name.
 */
const MAX_FRAME = 32 << 20;
/** No name has this many characters. The engine refuses names of 256 bytes and more by name. */
const MAX_NAME = 4096;
const TWO52 = 4503599627370496;

const encoder = /* @__PURE__ */ new TextEncoder();
const doubles = /* @__PURE__ */ new Float64Array(1);
const doubleBytes = /* @__PURE__ */ new Uint8Array(doubles.buffer);

/** A known name: its bytes with their length before them, and its number in the last frame that used it. */
interface Name {
  frame: number;
  index: number;
  readonly bytes: Uint8Array;
}

/** Refuses a request before it reaches the engine. */
function tooLarge(size: number): Error {
  return invalid(`The total data size of the request exceeds the limit, limit size: ${MAX_FRAME}, data size: ${size}.`);
}

/** Whether a text can be written as UTF-8 without loss: each half of a surrogate pair has its other half beside it. */
export function isWellFormed(text: string): boolean {
  const native = (text as { isWellFormed?: () => boolean }).isWellFormed;
  return native ? native.call(text) : !/\p{Surrogate}/u.test(text);
}

/** Refuses a name that no encoding has. */
export function checkNameText(text: string): void {
  if (text.length > MAX_NAME) throw invalid(`Invalid column name: '${text.slice(0, 64)}…'. It is ${text.length} characters long; names are 1 to 255 bytes.`);
  if (!isWellFormed(text)) throw invalid(`Invalid column name: '${text}'.`);
}

/** What writes the fields of a request, one by one: bytes of a frame here, and what becomes a request of the service in `cloud/`. */
export interface FieldWriter {
  /** One byte. */
  u8(value: number): void;
  /** An unsigned safe integer. */
  uv(value: number): void;
  /** A signed safe integer. */
  sv(value: number): void;
  /** A signed integer that fits 64 bits. */
  svBig(value: bigint): void;
  /** An IEEE double. */
  f64(value: number): void;
  /** Bytes. */
  binary(value: Uint8Array): void;
  /** A text. `what` names it in the error for malformed Unicode. */
  str(text: string, what: string): void;
  /** The name of a table or column. */
  name(text: string): void;
  /** The start of a batch's row. */
  mark(): void;
}

/** Collects requests and makes frames of them. One writer is reused. */
export class FrameWriter implements FieldWriter {
  private bytes = new Uint8Array(1024);
  private at = HEADER;
  private frame = 1;
  private names = new Map<string, Name>();
  private readonly used: Name[] = [];
  private namesSize = 0;
  /** The end of the last whole request, and the number of names used up to there. */
  private wholeAt = HEADER;
  private wholeNames = 0;
  /** The starts of the rows of batches, so that a single row can be sent again. */
  readonly marks: number[] = [];
  /** Whether a column may have a name of this many bytes. Asked once for each name, if the engine's answer would come too late. */
  isLegal: ((name: string, bytes: number) => boolean) | undefined;

  /** Bytes written so far, without the dictionary. */
  get length(): number {
    return this.at;
  }

  /** Whether no request has been written since the last frame. */
  get isEmpty(): boolean {
    return this.at === HEADER;
  }

  /** The number of names used so far. */
  get nameCount(): number {
    return this.used.length;
  }

  /**
   * Begins a request. Discards an earlier one that never reached {@link seal}. The caller's stack may have overflowed
   * in the middle of it, so no code could clean up.
   */
  begin(): void {
    if (this.at !== this.wholeAt) this.rollBack(this.wholeAt, this.wholeNames);
    while (this.marks.length > 0 && this.marks.at(-1)! >= this.wholeAt) this.marks.pop();
  }

  /** Completes the request that {@link begin} began. */
  seal(): void {
    this.wholeNames = this.used.length;
    this.wholeAt = this.at;
  }

  /**
   * Discards everything after `length` and `names`, which are earlier values of {@link length} and {@link nameCount}.
   * For a call whose arguments turned out wrong.
   */
  rollBack(length: number, names: number): void {
    this.at = length;
    while (this.used.length > names) {
      const name = this.used.pop()!;
      name.frame = 0;
      this.namesSize -= name.bytes.length;
    }
    while (this.marks.at(-1)! >= length) this.marks.pop();
  }

  /** A small hash of the bytes from `at` on. Equal bytes have the same one. */
  hash(at: number): number {
    let hash = 0;
    for (; at < this.at; at++) hash = Math.imul(hash ^ this.bytes[at], 0x01000193) ^ (hash >>> 15);
    return hash & 0x3fffffff;
  }

  /** Marks the start of a batch's row. */
  mark(): void {
    this.marks.push(this.at);
  }

  /** The finished frame. It is a view that the next write overwrites, so copy it or finish with it before. */
  finish(): Uint8Array {
    const start = this.at;
    this.grow(start + this.namesSize + 10);
    this.uv(this.used.length);
    for (const name of this.used) this.raw(name.bytes);
    const { bytes } = this;
    bytes[0] = FRAME_VERSION;
    bytes[1] = start;
    bytes[2] = start >>> 8;
    bytes[3] = start >>> 16;
    bytes[4] = start >>> 24;
    const frame = bytes.subarray(0, this.at);
    this.at = HEADER;
    this.wholeAt = HEADER;
    this.wholeNames = 0;
    this.frame += 1;
    this.used.length = 0;
    this.namesSize = 0;
    this.marks.length = 0;
    if (bytes.length > KEEP) this.bytes = new Uint8Array(1024);
    if (this.names.size > MAX_NAMES) this.names = new Map();
    return frame;
  }

  /** Makes room for `more` bytes. */
  private room(more: number): void {
    const need = this.at + more;
    if (need <= this.bytes.length) return;
    if (need > MAX_FRAME) throw tooLarge(need);
    this.grow(need);
  }

  private grow(need: number): void {
    if (need <= this.bytes.length) return;
    const larger = new Uint8Array(Math.max(need, this.bytes.length * 2));
    // All of the buffer is copied, not only the counted bytes. So no order of writing and growing can lose bytes.
    larger.set(this.bytes);
    this.bytes = larger;
  }

  /** One byte. */
  u8(value: number): void {
    if (this.at === this.bytes.length) this.room(1);
    this.bytes[this.at++] = value;
  }

  /** Overwrites one byte written before. */
  patch(at: number, value: number): void {
    this.bytes[at] = value;
  }

  /** An unsigned varint of a safe integer. */
  uv(value: number): void {
    if (this.bytes.length - this.at < 10) this.room(10);
    const { bytes } = this;
    let { at } = this;
    while (value > 0x7fffffff) {
      bytes[at++] = (value % 128) | 128;
      value = Math.floor(value / 128);
    }
    while (value > 127) {
      bytes[at++] = value | 128;
      value >>>= 7;
    }
    bytes[at++] = value;
    this.at = at;
  }

  /** A signed varint of a safe integer. */
  sv(value: number): void {
    if ((value | 0) === value) {
      const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
      if (zigzag < 128) this.u8(zigzag);
      else this.uv(zigzag);
    } else if (value < TWO52 && value > -TWO52) {
      this.uv(value >= 0 ? value * 2 : -value * 2 - 1);
    } else {
      this.svBig(BigInt(value));
    }
  }

  /** A signed varint of an integer that fits 64 bits. */
  svBig(value: bigint): void {
    const zigzag = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n));
    let low = Number(zigzag & 0xffffffffn);
    let high = Number(zigzag >> 32n);
    this.room(10);
    while (high > 0 || low > 127) {
      this.bytes[this.at++] = (low & 127) | 128;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    this.bytes[this.at++] = low;
  }

  /** An IEEE double. */
  f64(value: number): void {
    this.room(8);
    doubles[0] = value;
    this.bytes.set(doubleBytes, this.at);
    this.at += 8;
  }

  /** Bytes without their length. */
  raw(value: Uint8Array): void {
    this.copy(value, lengthOf(value));
  }

  /** Bytes with their length. */
  binary(value: Uint8Array): void {
    const length = lengthOf(value);
    this.uv(length);
    this.copy(value, length);
  }

  /** Writes the first `length` bytes. Shared memory may have grown since it was counted; later bytes overwrite the rest. */
  private copy(value: Uint8Array, length: number): void {
    this.room(length);
    this.bytes.set(value, this.at);
    this.at += length;
  }

  /**
   * Ends a text. Its `written` bytes stand `guess` bytes behind the place of its length. The buffer already has room
   * for all of it. It must not grow before the text is counted.
   */
  private endText(written: number, guess: number): void {
    const { bytes, at } = this;
    const size = varintSize(written);
    if (size !== guess) bytes.copyWithin(at + size, at + guess, at + guess + written);
    putVarint(bytes, at, written, size);
    this.at = at + size + written;
  }

  /** A text with its length in bytes. `what` names it in the error for malformed Unicode. */
  str(text: string, what: string): void {
    const { length } = text;
    if (length > SHORT) {
      this.longStr(text, what);
      return;
    }
    // Three bytes for each UTF-16 unit, and two for the length of the text.
    const most = length * 3 + 2;
    if (this.bytes.length - this.at < most) this.room(most);
    const { bytes } = this;
    // Room for the length of an ASCII text. A text that turns out longer is moved.
    let at = this.at + (length > 127 ? 2 : 1);
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) {
        this.shortStr(text, i, at, what);
        return;
      }
      bytes[at++] = code;
    }
    if (length > 127) {
      bytes[this.at] = length | 128;
      bytes[this.at + 1] = 1;
    } else {
      bytes[this.at] = length;
    }
    this.at = at;
  }

  /** The rest of a short text that is not ASCII, from its character `i` on. It is written at `at`. */
  private shortStr(text: string, i: number, at: number, what: string): void {
    const { bytes } = this;
    for (; i < text.length; i++) {
      const code = text.codePointAt(i)!;
      if (code < 0x80) {
        bytes[at++] = code;
      } else if (code < 0x800) {
        bytes[at++] = 0xc0 | (code >> 6);
        bytes[at++] = 0x80 | (code & 63);
      } else if (code < 0x10000) {
        // Half of a surrogate pair without its other half.
        if (code >= 0xd800 && code < 0xe000) throw invalid(`Value of ${what} must be UTF8 encoding.`);
        bytes[at++] = 0xe0 | (code >> 12);
        bytes[at++] = 0x80 | ((code >> 6) & 63);
        bytes[at++] = 0x80 | (code & 63);
      } else {
        bytes[at++] = 0xf0 | (code >> 18);
        bytes[at++] = 0x80 | ((code >> 12) & 63);
        bytes[at++] = 0x80 | ((code >> 6) & 63);
        bytes[at++] = 0x80 | (code & 63);
        i++;
      }
    }
    const guess = text.length > 127 ? 2 : 1;
    this.endText(at - this.at - guess, guess);
  }

  private longStr(text: string, what: string): void {
    if (text.length > MAX_FRAME) throw tooLarge(text.length);
    if (!isWellFormed(text)) throw invalid(`Value of ${what} must be UTF8 encoding.`);
    this.room(text.length * 3 + 10);
    // Most texts are nearly ASCII: leave room for the length of an ASCII one, and move the bytes if the size differs.
    const guess = varintSize(text.length);
    const { read, written } = encoder.encodeInto(text, this.bytes.subarray(this.at + guess));
    if (read !== text.length) throw local("OTSInternalServerError", `Only ${read} of ${text.length} characters of the value of ${what} were encoded.`);
    this.endText(written, guess);
  }

  /** Writes the number of a table's or column's name in the dictionary. */
  name(text: string): void {
    let name = this.names.get(text);
    if (name === undefined) {
      checkNameText(text);
      const encoded = encoder.encode(text);
      if (this.isLegal?.(text, encoded.length) === false) throw invalid(`Invalid column name: '${text}'.`);
      const size = varintSize(encoded.length);
      const bytes = new Uint8Array(size + encoded.length);
      putVarint(bytes, 0, encoded.length, size);
      bytes.set(encoded, size);
      name = { frame: 0, index: 0, bytes };
      this.names.set(text, name);
    }
    if (name.frame !== this.frame) {
      if (this.at + this.namesSize > MAX_FRAME) throw tooLarge(this.at + this.namesSize);
      // The name counts as known only once it is in the dictionary: the caller's stack may overflow at any call.
      name.index = this.used.push(name) - 1;
      name.frame = this.frame;
      this.namesSize += name.bytes.length;
    }
    if (name.index < 128) this.u8(name.index);
    else this.uv(name.index);
  }
}

/** Writes an unsigned varint of `size` bytes. The buffer must have room for it. */
function putVarint(bytes: Uint8Array, at: number, value: number, size: number): void {
  for (let left = size - 1; left > 0; left--, value >>>= 7) bytes[at++] = (value & 127) | 128;
  bytes[at] = value;
}

/** The size of an unsigned varint, in bytes. */
function varintSize(value: number): number {
  let size = 1;
  for (; value > 127; value = Math.floor(value / 128)) size++;
  return size;
}
