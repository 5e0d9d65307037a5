/**
 * Arguments of administration, checked by name and copied: how one of them is checked. The contract declares which there are
 * (`contract-arguments.ts`). The copies that reach the engine are plain, without a prototype. They can pass a port, and run no code
 * of the caller. The engine judges the values.
 */

import { checkArguments, checkName, count, list } from "./check.js";
import { kindOf, shown } from "./kinds.js";
import { wrongArgument } from "../types/errors.js";

/** Checks an argument by its name, and returns a plain copy. */
export type Check = (value: unknown, argument: string) => unknown;

/** A name. */
export const text: Check = (value, argument) => {
  checkName(value, argument);
  return value;
};

/** True or false. */
export const flag: Check = (value, argument) => {
  if (typeof value !== "boolean") throw wrongArgument(argument, kindOf(value), "true or false");
  return value;
};

/** A safe integer, or a bigint. */
export const integer: Check = (value, argument) => {
  if (typeof value !== "bigint" && !Number.isSafeInteger(value)) throw wrongArgument(argument, shown(value), "an integer");
  return value;
};

/** A limit that allows something. */
export const positive: Check = (value, argument) => {
  count(value, argument, 1);
  return value;
};

/** Units or money. */
export const amount: Check = (value, argument) => {
  if (typeof value !== "number" || !(value >= 0 && value < Infinity)) throw wrongArgument(argument, shown(value), "a number of at least 0");
  return value;
};

/** A list of such entries. */
export const listOf =
  (entry: Check): Check =>
  (value, argument) =>
    list(value, argument).map((one, i) => entry(one, `${argument}[${i}]`));

type Fields = Readonly<Record<string, Check>>;

/** A plain copy of what is given of some fields, each checked. `path` is before their names in messages. */
function copyOf(given: Readonly<Record<string, unknown>>, fields: Fields, needed: readonly string[], path: string): Record<string, unknown> {
  const copy = Object.create(null) as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    const field = given[name];
    if (field !== undefined || needed.includes(name)) copy[name] = fields[name](field, path + name);
  }
  return copy;
}

/** An object with these fields. Those in `needed` must be there. */
export const object = (fields: Fields, ...needed: string[]): Check => {
  const known = new Set(Object.keys(fields));
  return (value, argument) => copyOf(checkArguments(value, known, argument), fields, needed, `${argument}.`);
};

/** The arguments of a call. Messages call them by their names alone. The signal stays on this side. */
export const call = (fields: Fields, ...needed: string[]) => {
  const known = new Set([...Object.keys(fields), "signal"]);
  return (value: unknown, what: string): Record<string, unknown> => copyOf(checkArguments(value, known, what), fields, needed, "");
};
