/**
 * Values as texts, and texts as values.
 *
 * The console reads integers as `bigint` (option `integers: "bigint"`), so the type of every value, also of an older
 * version, is known from the value alone.
 */

import { double, type InputValue, type KeyType, type KeyValue, type Row, type Value, type ValueType } from "tabstore";

/** The types of attribute values, in the order in which they are offered. */
export const VALUE_TYPES: readonly ValueType[] = ["STRING", "INTEGER", "DOUBLE", "BOOLEAN", "BINARY"];
/** The types of key columns. */
export const KEY_TYPES: readonly KeyType[] = ["STRING", "INTEGER", "BINARY"];

const INTEGER = /^[+-]?\d+$/;
const MIN_INTEGER = -(2n ** 63n);
/** The largest integer of 64 bits. */
export const MAX_INTEGER = 2n ** 63n - 1n;

/** The type of a value that was read. */
export function typeOf(value: Value): ValueType {
  switch (typeof value) {
    case "string":
      return "STRING";
    case "boolean":
      return "BOOLEAN";
    case "bigint":
      return "INTEGER";
    case "number":
      return "DOUBLE";
    default:
      return "BINARY";
  }
}

/** The type of a column of a row, by its value: to ask the row for it takes as long as it has columns. */
export function typeIn(row: Pick<Row, "get">, column: string): ValueType | undefined {
  const value = row.get(column);
  return value === undefined ? undefined : typeOf(value);
}

/** Bytes as hexadecimal digits, in groups of two. */
function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
}

/** A value as a person reads and types it. {@link parse} takes it back. */
export function text(value: Value): string {
  if (value instanceof Uint8Array) return hex(value);
  // A double without a fraction must not look like an integer.
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 1e21) return value.toFixed(1);
  return String(value);
}

/** Characters that turn the text behind them round, or are not seen at all where they do. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text with its invisible characters of direction made visible: with them it may look like another one. */
export function visible(shown: string): string {
  return shown.replace(TURNING, (turn) => `⟨U+${turn.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** A value for a cell of limited width. */
export function shortText(value: Value, most = 120): string {
  if (value instanceof Uint8Array && value.length * 3 > most) return `${hex(value.subarray(0, Math.floor(most / 3)))} …`;
  const whole = text(value);
  return visible(whole.length > most ? `${whole.slice(0, most)}…` : whole);
}

function integer(typed: string): bigint {
  const digits = typed.trim();
  if (!INTEGER.test(digits)) throw new Error(`“${typed}” is not an integer`);
  const value = BigInt(digits.replace(/^\+/, ""));
  if (value < MIN_INTEGER || value > MAX_INTEGER) throw new Error(`${digits} does not fit 64 bits`);
  return value;
}

function binary(typed: string): Uint8Array {
  const digits = typed.replace(/\s+/g, "");
  if (digits.length % 2 !== 0 || /[^0-9a-f]/i.test(digits)) throw new Error("write bytes as pairs of hexadecimal digits, such as 0a ff");
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) => Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16));
}

/** A text that was typed, as a value of the given type. Throws an error whose message says what is wrong with it. */
export function parse(type: ValueType, typed: string): InputValue {
  switch (type) {
    case "STRING":
      return typed;
    case "INTEGER":
      return integer(typed);
    case "DOUBLE": {
      const value = typed.trim() === "" ? Number.NaN : Number(typed);
      if (!Number.isFinite(value)) throw new Error(`“${typed}” is not a finite number`);
      return double(value);
    }
    case "BOOLEAN": {
      const word = typed.trim().toLowerCase();
      if (word !== "true" && word !== "false") throw new Error(`“${typed}” is neither true nor false`);
      return word === "true";
    }
    case "BINARY":
      return binary(typed);
  }
}

/** The same for a key column. */
export function parseKey(type: KeyType, typed: string): KeyValue {
  return parse(type, typed) as KeyValue;
}

/** A version that was typed: milliseconds, or a date and time (UTC unless it says otherwise); empty for none. */
export function parseVersion(typed: string): bigint | undefined {
  const trimmed = typed.trim();
  if (trimmed === "") return undefined;
  if (INTEGER.test(trimmed)) return integer(trimmed);
  return BigInt(parseInstant(trimmed));
}

/** An instant that was typed, in milliseconds since 1970. */
export function parseInstant(typed: string): number {
  const trimmed = typed.trim();
  if (INTEGER.test(trimmed)) return Number(trimmed);
  const zoned = /(?:z|[+-]\d\d:?\d\d)$/i.test(trimmed) ? trimmed : /:/.test(trimmed) ? `${trimmed}Z` : trimmed;
  const ms = Date.parse(zoned.replace(" ", "T"));
  if (Number.isNaN(ms)) throw new Error(`“${typed}” is neither milliseconds nor a date and time`);
  return ms;
}
