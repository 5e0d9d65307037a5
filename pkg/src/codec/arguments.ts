/**
 * Arguments of administration, checked by name and copied: how one of them is checked. The contract declares which there are
 * (`contract-arguments.ts`). The copies that reach the engine are plain, without a
 * prototype. They can pass a port, and run no code of the caller. The engine judges the values.
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

/** An object with these fields. Those in `needed` must be there. */
export const object = (fields: Readonly<Record<string, Check>>, ...needed: string[]): Check => {
  const known = new Set(Object.keys(fields));
  return (value, argument) => {
    const given = checkArguments(value, known, argument);
    const copy = Object.create(null) as Record<string, unknown>;
    for (const name of known) {
      const field = given[name];
      if (field !== undefined || needed.includes(name)) copy[name] = fields[name](field, `${argument}.${name}`);
    }
    return copy;
  };
};

/** The arguments of a call. Messages call them by their names alone. The signal stays on this side. */
export const call = (fields: Readonly<Record<string, Check>>, ...needed: string[]) => {
  const known = new Set([...Object.keys(fields), "signal"]);
  return (value: unknown, what: string): Record<string, unknown> => {
    const given = checkArguments(value, known, what);
    const copy = Object.create(null) as Record<string, unknown>;
    for (const name of Object.keys(fields)) {
      const field = given[name];
      if (field !== undefined || needed.includes(name)) copy[name] = fields[name](field, name);
    }
    return copy;
  };
};
