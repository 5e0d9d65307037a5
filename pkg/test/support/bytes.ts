/** Writes bytes the slow and obvious way, as a reference for what the engine sends. */

import { TAG } from "../../src/codec/contract.js";

/** A growing list of bytes. */
export class Bytes {
  readonly list: number[] = [];

  u8(value: number): this {
    this.list.push(value & 255);
    return this;
  }

  u32(value: number): this {
    for (let i = 0; i < 4; i++) this.u8(Math.floor(value / 2 ** (8 * i)) % 256);
    return this;
  }

  i64(value: bigint): this {
    for (let i = 0n; i < 8n; i++) this.u8(Number((BigInt.asUintN(64, value) >> (8n * i)) & 255n));
    return this;
  }

  uv(value: number | bigint): this {
    let rest = BigInt(value);
    for (; rest > 127n; rest >>= 7n) this.u8(Number(rest & 127n) | 128);
    return this.u8(Number(rest));
  }

  sv(value: number | bigint): this {
    const wide = BigInt(value);
    return this.uv(BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n)));
  }

  f64(value: number): this {
    return this.raw(new Uint8Array(new Float64Array([value]).buffer));
  }

  raw(bytes: Iterable<number>): this {
    for (const byte of bytes) this.list.push(byte);
    return this;
  }

  str(text: string): this {
    const bytes = new TextEncoder().encode(text);
    return this.uv(bytes.length).raw(bytes);
  }

  done(): Uint8Array {
    return Uint8Array.from(this.list);
  }
}

/** A value with its type, which JavaScript alone does not tell. */
export type Typed = { INTEGER: number | bigint } | { DOUBLE: number } | { BOOLEAN: boolean } | { STRING: string } | { BINARY: Uint8Array };

/** A row for {@link encodePage}: key values in schema order, columns with versions, newest first. */
export interface PageRow {
  key: Typed[];
  columns: [string, [number, Typed][]][];
}

/** A page as the engine writes it; see `src/codec/page.ts` for the layout. */
export function encodePage(keyNames: string[], rows: PageRow[], base = 0): Uint8Array {
  const names: string[] = [];
  const index = (name: string): number => {
    const at = names.indexOf(name);
    return at >= 0 ? at : names.push(name) - 1;
  };
  keyNames.forEach(index);
  const data = new Bytes();
  const table = new Bytes();
  const texts: string[] = [];
  let position = 0;
  const value = (typed: Typed): void => {
    if ("INTEGER" in typed) data.u8(TAG.INTEGER).sv(typed.INTEGER);
    else if ("DOUBLE" in typed) data.u8(TAG.DOUBLE).f64(typed.DOUBLE);
    else if ("BOOLEAN" in typed) data.u8(typed.BOOLEAN ? TAG.TRUE : TAG.FALSE);
    else if ("STRING" in typed) {
      data.u8(TAG.STRING).uv(typed.STRING.length);
      texts.push(typed.STRING);
      position += typed.STRING.length;
    } else data.u8(TAG.BINARY).uv(typed.BINARY.length).raw(typed.BINARY);
  };
  for (const row of rows) {
    table.u32(28 + data.list.length).u32(position);
    row.key.forEach(value);
    data.uv(row.columns.length);
    for (const [name, versions] of row.columns) {
      data.uv(index(name)).uv(versions.length);
      for (const [version, typed] of versions) {
        data.sv(version - base);
        value(typed);
      }
    }
  }
  const nameTable = new Bytes().uv(names.length);
  for (const name of names) nameTable.uv(name.length);
  nameTable.uv(keyNames.length);
  for (const name of keyNames) nameTable.uv(index(name));
  const text = new TextEncoder().encode(names.join("") + texts.join(""));
  const rowTable = 28 + data.list.length;
  const namesAt = rowTable + table.list.length;
  const textAt = namesAt + nameTable.list.length;
  return new Bytes()
    .u32(textAt + text.length)
    .u32(rows.length)
    .u32(rowTable)
    .u32(namesAt)
    .u32(textAt)
    .i64(BigInt(base))
    .raw(data.list)
    .raw(table.list)
    .raw(nameTable.list)
    .raw(text)
    .done();
}

/** A response frame. */
export function responses(...all: { id: number; payload: Uint8Array; ok?: boolean }[]): Uint8Array {
  const bytes = new Bytes().u8(1);
  for (const { id, payload, ok = true } of all)
    bytes
      .uv(id)
      .u8(ok ? 0 : 1)
      .uv(payload.length)
      .raw(payload);
  return bytes.done();
}

/** An error payload. */
export function errorPayload(code: string, message: string, status = 400, retryable = false, hint?: string): Uint8Array {
  const bytes = new Bytes()
    .str(code)
    .uv(status)
    .u8((retryable ? 1 : 0) | (hint === undefined ? 0 : 2))
    .str(message);
  return (hint === undefined ? bytes : bytes.str(hint)).done();
}
