/** Refuses arguments of the wrong shape, by their name. */

import { invalid } from "../errors.js";
import { kindOf } from "./value.js";

/** Entries that no array of arguments has: far above every limit of the engine, which names it where it counts. */
const MOST = 65_536;

/** Refuses what is no object of arguments, and arguments that nobody reads: most of those are misspelt. Gives the object. */
export function checkArguments(value: unknown, known: ReadonlySet<string>, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`The argument '${what}' is ${kindOf(value)}; it must be an object.`);
  }
  for (const name in value) {
    if (!known.has(name)) throw invalid(`Unknown argument '${name}' in '${what}'. Known are: ${[...known].join(", ")}.`);
  }
  return value as Readonly<Record<string, unknown>>;
}

/** Refuses what is no name at all; whether a name is legal is the engine's to say. */
export function checkName(value: unknown, argument: string): asserts value is string {
  if (typeof value !== "string") throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be a string.`);
}

/**
 * Refuses what is no array; gives a copy. The count of things is written before them, and both must be the same, whatever the
 * caller's getters and proxies do meanwhile: bytes that contradict themselves would end the whole session.
 */
export function list(value: unknown, argument: string): unknown[] {
  if (!Array.isArray(value)) throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be an array.`);
  const { length } = value;
  if (length > MOST) throw invalid(`The argument '${argument}' has ${length} entries; nothing takes more than ${MOST}.`);
  const copy: unknown[] = [];
  for (let i = 0; i < length; i++) copy.push(value[i]);
  return copy;
}

/** Refuses what is no object of columns. */
export function record(value: unknown, argument: string): asserts value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be an object of columns.`);
  }
}

/** Refuses what is no integer of at least `least`. */
export function count(value: unknown, argument: string, least: number): asserts value is number {
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw invalid(`The argument '${argument}' is ${typeof value === "number" ? value : kindOf(value)}; it must be an integer of at least ${least}.`);
  }
}
