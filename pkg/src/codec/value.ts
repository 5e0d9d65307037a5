/** Writes values, keys and versions into a request frame. Refuses an illegal value by the name of its column. */

import { invalid } from "../types/errors.js";
import { Double } from "../types/double.js";
import { checkOwn, has } from "./check.js";
import { TAG } from "./contract.js";
import type { FieldWriter } from "./frame.js";
import { isBytes, lengthOf } from "./bytes.js";
import { kindOf, shown } from "./kinds.js";

const MIN_I64 = -(2n ** 63n);
const MAX_I64 = 2n ** 63n - 1n;

/** Whether a view has lost its bytes: another thread owns them, or their buffer has become too short. */
function isGone(bytes: Uint8Array): boolean {
  try {
    // This checks the view first, and reads nothing.
    Uint8Array.prototype.keys.call(bytes);
    return false;
  } catch {
    return true;
  }
}

/** The place of a value, for messages. */
export type Place = "attribute" | "key";

/** The markers that a key may have beside values: none, INF_MIN and INF_MAX, or AUTO_INCREMENT. */
export type KeyUse = "read" | "range" | "write" | "delete";

function label(place: Place, name: string): string {
  return place === "attribute" ? `column '${name}'` : `primary key column '${name}'`;
}

/** No value is so long, in characters or bytes. A request has no room for some of them, so the engine cannot name them. */
const FAR = 10 << 20;

/** The engine's refusal of a value that is too long. */
function tooLong(length: number, name: string, place: Place): Error {
  return invalid(
    `The length of ${place === "attribute" ? place : "primary key"} column: '${name}' exceeds the MaxLength:${place === "attribute" ? 2097152 : 1024} with CurrentLength:${length}.`,
  );
}

/** Writes one value with its tag. */
export function writeValue(w: FieldWriter, value: unknown, name: string, place: Place): void {
  switch (typeof value) {
    case "string":
      if (value.length > FAR) throw tooLong(new TextEncoder().encode(value).length, name, place);
      w.u8(TAG.STRING);
      w.str(value, `column ${name}`);
      return;
    case "number":
      if (Number.isSafeInteger(value)) {
        w.u8(TAG.INTEGER);
        w.sv(value);
        return;
      }
      writeDouble(w, value, name, place);
      return;
    case "boolean":
      w.u8(value ? TAG.TRUE : TAG.FALSE);
      return;
    case "bigint":
      w.u8(TAG.INTEGER);
      writeInteger(w, value, () => label(place, name));
      return;
    case "object":
      if (value instanceof Double) {
        const number = value.value;
        if (typeof number !== "number") break;
        finite(number, name, place);
        w.u8(TAG.DOUBLE);
        w.f64(number);
        return;
      }
      if (isBytes(value)) {
        if (lengthOf(value) === 0 && isGone(value))
          throw invalid(`The value of ${label(place, name)} is a Uint8Array whose buffer has been transferred, or resized to end before it.`);
        if (lengthOf(value) > FAR) throw tooLong(lengthOf(value), name, place);
        w.u8(TAG.BINARY);
        w.binary(value);
        return;
      }
  }
  throw refuse(value, name, place);
}

function finite(value: number, name: string, place: Place): void {
  if (Number.isNaN(value)) throw invalid(`NaN can't be set to double value. It was given for ${label(place, name)}.`);
  if (!Number.isFinite(value)) throw invalid(`Infinity can't be set to double value. It was given for ${label(place, name)}.`);
}

function writeDouble(w: FieldWriter, value: number, name: string, place: Place): void {
  finite(value, name, place);
  // Beyond 2^53 a number stands for several integers. Stored as an Integer, it might be a neighbour of the intended one.
  if (Number.isInteger(value)) {
    throw invalid(`The number ${value} for ${label(place, name)} is not a safe integer: give a bigint for an Integer, or double(${value}) for a Double.`);
  }
  w.u8(TAG.DOUBLE);
  w.f64(value);
}

/** The tag of {@link INF_MIN} and {@link INF_MAX}, also of copies from another frame or thread. */
export function infinityOf(value: unknown): number | undefined {
  if (typeof value !== "object" || value === null || !has(value, "infinity")) return undefined;
  const { infinity } = value as { infinity: unknown };
  return infinity === "min" ? TAG.INF_MIN : infinity === "max" ? TAG.INF_MAX : undefined;
}

/** Whether a value is {@link AUTO_INCREMENT}, or a copy of it. */
export function isAutoIncrement(value: unknown): boolean {
  return typeof value === "object" && value !== null && has(value, "autoIncrement") && (value as { autoIncrement: unknown }).autoIncrement === true;
}

/** What to do with a value that no column holds. */
export const ADVICE = "Store JSON.stringify(value) of an object or list, getTime() or toISOString() of a Date.";

function refuse(value: unknown, name: string, place: Place): Error {
  if (value === undefined || value === null) {
    return invalid(
      place === "key"
        ? `No value is given for primary key name: ${name}. It is ${kindOf(value)}.`
        : `No value is given for column name: '${name}'. It is ${kindOf(value)}; leave the column out instead.`,
    );
  }
  const infinity = infinityOf(value);
  if (infinity !== undefined) {
    const kind = infinity === TAG.INF_MIN ? "VT_INF_MIN" : "VT_INF_MAX";
    return invalid(
      place === "key"
        ? `${kind} is an invalid type for the primary key. It was given for '${name}'.`
        : `${kind} is an invalid type for the attribute column. It was given for '${name}'.`,
    );
  }
  if (isAutoIncrement(value)) {
    return invalid(`VT_AUTO_INCREMENT is an invalid type for the attribute column. It was given for '${name}'.`);
  }
  return invalid(`The value of ${label(place, name)} is ${kindOf(value)}; it must be a string, number, bigint, boolean or Uint8Array.`, ADVICE);
}

/** Writes an integer without a tag. `what` names it in messages. */
export function writeInteger(w: FieldWriter, value: unknown, what: () => string): void {
  if (typeof value === "number" && Number.isSafeInteger(value)) w.sv(value);
  else if (typeof value === "bigint" && value >= MIN_I64 && value <= MAX_I64) {
    const number = Number(value);
    if (Number.isSafeInteger(number)) w.sv(number);
    else w.svBig(value);
  } else if (typeof value === "bigint") throw invalid(`The integer ${value} of ${what()} does not fit 64 bits.`);
  else if (typeof value === "number")
    throw invalid(`The number ${value} of ${what()} is not ${Number.isInteger(value) ? "a safe integer; give a bigint" : "an integer"}.`);
  else throw invalid(`The value of ${what()} is ${kindOf(value)}; it must be an integer.`);
}

/** Writes a primary key. */
export function writeKey(w: FieldWriter, key: unknown, argument: string, use: KeyUse): void {
  if (typeof key !== "object" || key === null || Array.isArray(key)) {
    throw invalid(`The argument '${argument}' is ${kindOf(key)}; it must be an object of key columns, such as { id: 1 }.`);
  }
  checkOwn(key, argument);
  const names = Object.keys(key);
  // The engine refuses other wrong numbers of columns. These two have no encoding.
  if (names.length === 0 || names.length > 255) {
    throw invalid("The number of primary key columns must be in range: [1, 4].", `Argument '${argument}': ${names.length} key columns are given`);
  }
  w.u8(names.length);
  for (const name of names) {
    const value = (key as Record<string, unknown>)[name];
    w.name(name);
    if (typeof value !== "object" || value === null) {
      writeValue(w, value, name, "key");
    } else if (use === "range" && has(value, "infinity")) {
      const tag = infinityOf(value);
      if (tag === undefined)
        throw invalid(
          `The value of ${label("key", name)} has the infinity ${shown((value as { infinity: unknown }).infinity)}; it must be INF_MIN or INF_MAX.`,
        );
      w.u8(tag);
    } else if (isAutoIncrement(value)) {
      if (use === "delete") throw invalid(`Invalid row to delete which with pk auto increment. AUTO_INCREMENT was given for '${name}'.`);
      if (use !== "write") throw invalid(`PKAutoIncr can't be used for read operations. AUTO_INCREMENT was given for '${name}'.`);
      w.u8(TAG.AUTO_INCREMENT);
    } else {
      writeValue(w, value, name, "key");
    }
  }
}
