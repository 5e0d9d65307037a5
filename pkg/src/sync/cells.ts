/** Values with their types, rows as their cells, keys as texts: what is compared. Plain functions. */

import { TAG } from "../codec/contract.js";
import type { PageRow } from "../codec/page.js";
import type { ChangedCell, InputValue, KeyColumn, KeyValue, PrimaryKey, Row, Value, ValueType } from "../index.js";
import { double } from "../types/double.js";

/** A value with its type: a Double may have no fraction. */
export interface TypedValue {
  readonly type: ValueType;
  readonly value: Value;
}

/** The versions of a column. */
export type Versions = Map<number, TypedValue>;
/** The columns of a row. */
export type Columns = Map<string, Versions>;

/** The types, in the order in which values of different types are compared. */
const ORDER: readonly ValueType[] = ["BOOLEAN", "INTEGER", "DOUBLE", "STRING", "BINARY"];

/** The type of a value without a hint: a number without a fraction is an Integer. */
export function typed(value: Value, hint?: ValueType): TypedValue {
  const type =
    typeof value === "string"
      ? "STRING"
      : typeof value === "boolean"
        ? "BOOLEAN"
        : typeof value === "object"
          ? "BINARY"
          : typeof value === "bigint" || (hint !== "DOUBLE" && Number.isSafeInteger(value))
            ? "INTEGER"
            : "DOUBLE";
  return { type, value };
}

/** The value that a record of a stream says was put. */
export const changedValue = ({ value, type }: Extract<ChangedCell, { op: "PUT" }>): TypedValue => typed(value, type);

/** The value as calls take it. */
export function inputOf({ type, value }: TypedValue): InputValue {
  return type === "DOUBLE" ? double(value as number) : value;
}

const compareBytes = (a: Uint8Array, b: Uint8Array): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
};

const encoder = new TextEncoder();

/** Compares two values of one type. Texts are compared by their bytes in UTF-8, as the store does. */
function compareSame(a: Value, b: Value): number {
  if (Object.is(a, b)) return 0;
  if (typeof a === "string") return compareBytes(encoder.encode(a), encoder.encode(b as string));
  if (typeof a === "object") return compareBytes(a, b as Uint8Array);
  // An integer may be a number on one side and a bigint on the other. Of the zeros of a Double, -0 comes first.
  return a < b ? -1 : a > b ? 1 : Number(Object.is(b, -0)) - Number(Object.is(a, -0));
}

/** Compares two values of any types. 0: they are the same. This decides between values of equal versions: the larger one stays. */
export function compareValues(a: TypedValue, b: TypedValue): number {
  return a.type === b.type ? compareSame(a.value, b.value) : ORDER.indexOf(a.type) - ORDER.indexOf(b.type);
}

/** Whether two values are the same. */
export const isSame = (a: TypedValue | undefined, b: TypedValue | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && compareValues(a, b) === 0);

/** Compares two keys of a table. `null`: behind all keys. */
export function compareKeys(columns: readonly KeyColumn[], a: PrimaryKey | null, b: PrimaryKey | null): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  for (const { name } of columns) {
    const order = compareSame(a[name], b[name]);
    if (order !== 0) return order;
  }
  return 0;
}

/** A value of a key as JSON has it, also for another opening, which may read integers otherwise. */
const keyPart = (value: KeyValue): string =>
  typeof value === "string"
    ? `s${value}`
    : typeof value === "object"
      ? `b${Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("")}`
      : `i${value}`;

/** A key as a text, the same on both sides. */
export const keyText = (columns: readonly KeyColumn[], key: PrimaryKey): string => JSON.stringify(columns.map(({ name }) => keyPart(key[name])));

/** The key of {@link keyText}. */
export function keyOfText(columns: readonly KeyColumn[], text: string): PrimaryKey {
  const parts = JSON.parse(text) as string[];
  const decode = (part: string): KeyValue => {
    const rest = part.slice(1);
    if (part[0] === "s") return rest;
    return part[0] === "i" ? BigInt(rest) : Uint8Array.from(rest.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
  };
  return Object.fromEntries(columns.map(({ name }, i) => [name, decode(parts[i])]));
}

/** The versions of a column, which are added if there are none. */
export function versionsOf<T>(columns: Map<string, Map<number, T>>, name: string): Map<number, T> {
  let versions = columns.get(name);
  if (versions === undefined) columns.set(name, (versions = new Map()));
  return versions;
}

/** The cells of a row. Its page has their types; by its interface a row tells those of its newest values alone. */
export function columnsOf(row: Row): Columns {
  const columns: Columns = new Map();
  const [page, at, textAt] = (row as PageRow).place;
  page.eachCell(at, textAt, (name, tag, version, value) => {
    versionsOf(columns, name).set(version, typed(value, tag === TAG.DOUBLE ? "DOUBLE" : undefined));
    return false;
  });
  return columns;
}

/** The newest versions of a column, so many at most. */
export function newest(versions: Versions, most: number): Versions {
  return versions.size <= most ? versions : new Map([...versions].sort(([a], [b]) => b - a).slice(0, most));
}

/** A short text that stands for a long one: two of 53 bits are equal by chance once in 10^15. */
export function digest(text: string): string {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    a = Math.imul(a ^ unit, 2654435761);
    b = Math.imul(b ^ unit, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}
