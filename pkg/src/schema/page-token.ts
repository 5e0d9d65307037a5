/** The text that says where the next page of a query begins. */

import { fromBase64, toBase64 } from "../codec/base64.js";
import type { KeyValue, PrimaryKey } from "../types/data.js";
import type { Order } from "./layout.js";
import type { RowCodec } from "./row-codec.js";

/** Rows that were read before, and the first key of the next page. */
interface Place {
  readonly read: number;
  readonly key: PrimaryKey;
}

/** Base64 as it may stand in an address. */
const toText = (bytes: Uint8Array): string => toBase64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
const toBytes = (text: string): Uint8Array => fromBase64(text.replace(/-/g, "+").replace(/_/g, "/"));

/** A text of letters, digits, `-` and `_`, so it can stand in an address. */
export function tokenOf({ tableName, key }: Order, start: PrimaryKey, read: number): string {
  const values = key.map(({ name }) => {
    const value = start[name];
    return typeof value === "string" ? { s: value } : value instanceof Uint8Array ? { b: toText(value) } : { i: String(value) };
  });
  return toText(new TextEncoder().encode(JSON.stringify([tableName, read, values])));
}

/** The place that a token names. */
export function keyOfToken({ context }: RowCodec, { tableName, key }: Order, token: string): Place {
  try {
    const [table, read, values] = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(toBytes(token))) as [
      string,
      number,
      readonly { s?: string; b?: string; i?: string }[],
    ];
    if (table === tableName && Number.isSafeInteger(read) && values.length === key.length) {
      const value = ({ s, b, i }: (typeof values)[number]): KeyValue => s ?? (b === undefined ? BigInt(i!) : toBytes(b));
      return { read, key: Object.fromEntries(key.map(({ name }, at) => [name, value(values[at])])) };
    }
  } catch {
    // It is told below.
  }
  throw context.error(
    "OTSParameterInvalid",
    `The text given as 'after' is not from a page of '${tableName}'.`,
    "Give `next` of the page before, of a query of the same table and index.",
  );
}
