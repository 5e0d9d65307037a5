/**
 * PlainBuffer: rows as the service packs them. All integers are little-endian.
 *
 * ```text
 * buffer     u32 0x75 | rows
 * row        01 key cells | [02 attribute cells] | [08: delete the row] | [0B extension] | 09 u8 checksum
 * cell       03 | 04 u32 length, name | [05 u32 length, value] | [06 u8 operation] | [07 i64 version] | 0A u8 checksum
 * value      u8 type | INTEGER i64, DOUBLE f64, BOOLEAN u8, STRING and BLOB u32 length and bytes, others nothing
 * extension  u32 length | of a stream's record: 0C u32 length | 0D u32 epoch | 0E i64 time (us) | 0F u32 place
 * ```
 *
 * The checksum of a cell is of its name, value, version and operation, in this order; that of a row of its cells' checksums, and of
 * whether it deletes the row. Bytes behind a row's checksum that begin no row are padding of some clients.
 */

import { decodeText, u32At } from "../codec/reader.js";
import type { Value } from "../types/rows.js";
import { Bytes, exact, f64At, utf8 } from "./bytes.js";
import { damaged } from "./errors.js";

/** The types of values. */
export const enum TYPE {
  INTEGER = 0,
  DOUBLE = 1,
  BOOLEAN = 2,
  STRING = 3,
  BLOB = 7,
  INF_MIN = 9,
  INF_MAX = 10,
  AUTO_INCREMENT = 11,
}

/** The operations of cells. A cell that is put has none. */
export const enum CELL_OP {
  DELETE_ALL = 1,
  DELETE_ONE = 3,
  INCREMENT = 4,
}

const enum TAG {
  KEY = 1,
  DATA = 2,
  CELL = 3,
  NAME = 4,
  VALUE = 5,
  OP = 6,
  VERSION = 7,
  DELETE = 8,
  ROW_CHECKSUM = 9,
  CELL_CHECKSUM = 10,
  EXTENSION = 11,
}

const HEADER = 0x75;
/** The tag of the time in a record's extension. */
const TIME = 0x0e;

/** A value with its type. INF_MIN and its like have none. */
export interface Variant {
  readonly type: number;
  readonly value?: Value | undefined;
}

/** A cell to write. */
export interface Cell {
  readonly name: string;
  readonly variant?: Variant | undefined;
  readonly op?: CELL_OP | undefined;
  readonly version?: number | bigint | undefined;
}

/** A cell that was read. */
export interface ReadCell {
  readonly name: string;
  readonly type: number;
  /** `undefined`: the cell has no value. */
  readonly value: Value | undefined;
  readonly op: number;
  readonly version: number | bigint | undefined;
}

/** A row that was read. */
export interface ReadRow {
  readonly key: readonly ReadCell[];
  readonly cells: readonly ReadCell[];
  /** Of a stream's record: when it was recorded, in microseconds since 1970 UTC. */
  readonly time: number | undefined;
}

/** Polynomial 7, from the most significant bit on. */
const CRC = /* @__PURE__ */ (() => {
  const table = new Uint8Array(256);
  for (let i = 0; i < 256; i++) {
    let crc = i;
    for (let bit = 0; bit < 8; bit++) crc = crc & 128 ? (crc << 1) ^ 7 : crc << 1;
    table[i] = crc;
  }
  return table;
})();

/** The checksum of bytes behind those of `crc`. */
export function crc8(bytes: Uint8Array, crc = 0, start = 0, end = bytes.length): number {
  for (let i = start; i < end; i++) crc = CRC[crc ^ bytes[i]];
  return crc;
}

/** A value as it stands in a cell, without its length: filters have the same. */
export function variantBytes({ type, value }: Variant): Uint8Array {
  const bytes = new Bytes();
  bytes.u8(type);
  switch (type) {
    case TYPE.INTEGER:
      bytes.i64(value as number | bigint);
      break;
    case TYPE.DOUBLE:
      bytes.f64(value as number);
      break;
    case TYPE.BOOLEAN:
      bytes.u8(Number(value));
      break;
    case TYPE.STRING:
    case TYPE.BLOB: {
      const content = type === TYPE.STRING ? utf8(value as string) : (value as Uint8Array);
      bytes.u32(content.length);
      bytes.raw(content);
    }
  }
  return bytes.finish();
}

function i64Bytes(value: number | bigint): Uint8Array {
  const bytes = new Bytes();
  bytes.i64(value);
  return bytes.finish();
}

/** Writes a cell. Returns its checksum. */
function writeCell(bytes: Bytes, { name, variant, op, version }: Cell): number {
  const text = utf8(name);
  bytes.u8(TAG.CELL);
  bytes.u8(TAG.NAME);
  bytes.u32(text.length);
  bytes.raw(text);
  let crc = crc8(text);
  if (variant !== undefined) {
    const value = variantBytes(variant);
    bytes.u8(TAG.VALUE);
    bytes.u32(value.length);
    bytes.raw(value);
    crc = crc8(value, crc);
  }
  if (op !== undefined) {
    bytes.u8(TAG.OP);
    bytes.u8(op);
  }
  if (version !== undefined) {
    const time = i64Bytes(version);
    bytes.u8(TAG.VERSION);
    bytes.raw(time);
    crc = crc8(time, crc);
  }
  if (op !== undefined) crc = crc8(Uint8Array.of(op), crc);
  bytes.u8(TAG.CELL_CHECKSUM);
  bytes.u8(crc);
  return crc;
}

/** A buffer of one row. `deletes`: the row is to be deleted. */
export function writeRow(key: readonly Cell[], cells: readonly Cell[] = [], deletes = false): Uint8Array {
  const bytes = new Bytes();
  const sums: number[] = [];
  bytes.u32(HEADER);
  bytes.u8(TAG.KEY);
  for (const cell of key) sums.push(writeCell(bytes, cell));
  if (cells.length > 0) bytes.u8(TAG.DATA);
  for (const cell of cells) sums.push(writeCell(bytes, cell));
  if (deletes) bytes.u8(TAG.DELETE);
  bytes.u8(TAG.ROW_CHECKSUM);
  bytes.u8(crc8(Uint8Array.of(...sums, Number(deletes))));
  return bytes.finish();
}

/** Reads rows. */
class RowReader {
  private at = 4;

  constructor(private readonly bytes: Uint8Array) {
    if (bytes.length < 4 || u32At(bytes, 0) !== HEADER) throw damaged("rows do not begin as rows do");
  }

  /** Whether another row begins here. */
  get hasRow(): boolean {
    const tag = this.bytes[this.at];
    return tag === TAG.KEY || tag === TAG.DATA;
  }

  private take(length: number): number {
    const { at } = this;
    if (!(at + length <= this.bytes.length)) throw damaged("a row ends too early");
    this.at += length;
    return at;
  }

  /** Moves past a tag, if it is the next one. */
  private skip(tag: number): boolean {
    if (this.bytes[this.at] !== tag) return false;
    this.at += 1;
    return true;
  }

  private u8(): number {
    return this.bytes[this.take(1)];
  }

  private u32(): number {
    return u32At(this.bytes, this.take(4));
  }

  private i64(): number | bigint {
    const at = this.take(8);
    const low = u32At(this.bytes, at);
    const high = u32At(this.bytes, at + 4) | 0;
    const number = high * 2 ** 32 + low;
    return Number.isSafeInteger(number) ? number : exact((BigInt(high) << 32n) | BigInt(low));
  }

  private value(type: number): Value | undefined {
    switch (type) {
      case TYPE.INTEGER:
        return this.i64();
      case TYPE.DOUBLE:
        return f64At(this.bytes, this.take(8));
      case TYPE.BOOLEAN:
        return this.u8() !== 0;
      case TYPE.STRING:
      case TYPE.BLOB: {
        const length = this.u32();
        const start = this.take(length);
        return type === TYPE.STRING ? decodeText(this.bytes, start, this.at) : this.bytes.slice(start, this.at);
      }
      case TYPE.INF_MIN:
      case TYPE.INF_MAX:
      case TYPE.AUTO_INCREMENT:
        return undefined;
      default:
        throw damaged(`a value has the type ${type}`);
    }
  }

  private cell(sums: number[]): ReadCell {
    if (!this.skip(TAG.NAME)) throw damaged("a cell has no name");
    const length = this.u32();
    const nameAt = this.take(length);
    let crc = crc8(this.bytes, 0, nameAt, this.at);
    const name = decodeText(this.bytes, nameAt, this.at);
    let type = -1;
    let value: Value | undefined;
    if (this.skip(TAG.VALUE)) {
      const size = this.u32();
      const start = this.at;
      type = this.u8();
      value = this.value(type);
      if (this.at !== start + size) throw damaged(`the cell '${name}' is longer than it says`);
      crc = crc8(this.bytes, crc, start, this.at);
    }
    const op = this.skip(TAG.OP) ? this.u8() : 0;
    let version: number | bigint | undefined;
    if (this.skip(TAG.VERSION)) {
      const start = this.at;
      version = this.i64();
      crc = crc8(this.bytes, crc, start, this.at);
    }
    if (op !== 0) crc = crc8(Uint8Array.of(op), crc);
    if (!this.skip(TAG.CELL_CHECKSUM) || this.u8() !== crc) throw damaged(`the checksum of the cell '${name}' is wrong`);
    sums.push(crc);
    return { name, type, value, op, version };
  }

  private cells(sums: number[]): ReadCell[] {
    const cells: ReadCell[] = [];
    while (this.skip(TAG.CELL)) cells.push(this.cell(sums));
    return cells;
  }

  /** The time in the extension of a stream's record. */
  private extension(): number | undefined {
    const end = this.u32() + this.at;
    let time: number | undefined;
    // Behind the tag and the length of the sequence information, and the epoch with its tag, is the time with its own.
    if (end - this.at > 18 && this.bytes[this.at + 10] === TIME) {
      this.take(11);
      time = Number(this.i64());
    }
    this.take(end - this.at);
    return time;
  }

  /** A row. */
  row(): ReadRow {
    const sums: number[] = [];
    const key = this.skip(TAG.KEY) ? this.cells(sums) : [];
    const cells = this.skip(TAG.DATA) ? this.cells(sums) : [];
    sums.push(Number(this.skip(TAG.DELETE)));
    const time = this.skip(TAG.EXTENSION) ? this.extension() : undefined;
    if (!this.skip(TAG.ROW_CHECKSUM) || this.u8() !== crc8(Uint8Array.from(sums))) throw damaged("the checksum of a row is wrong");
    return { key, cells, time };
  }
}

/** The rows of a buffer; none of an empty one. */
export function readRows(bytes: Uint8Array | undefined): ReadRow[] {
  const rows: ReadRow[] = [];
  if (bytes === undefined || bytes.length === 0) return rows;
  const reader = new RowReader(bytes);
  while (reader.hasRow) rows.push(reader.row());
  return rows;
}
