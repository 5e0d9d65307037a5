/** Refuses arguments of the wrong shape, by their name. */

import { invalid, wrongArgument } from "../types/errors.js";
import { Operand } from "../types/values.js";
import { kindOf, shown } from "./kinds.js";

/** The most entries of an array of arguments, far above every limit of the engine. The engine names its own limits. */
export const MOST = 65_536;
/** The characters of a column's name [T2]. */
export const LEGAL_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
const ROOT = Object.prototype as Readonly<Record<string, unknown>>;

/** Whether an object is a plain one: made by a literal, here or in another frame, or without a prototype. */
export function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as object | null;
  return prototype === ROOT || prototype === null || (Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, "isPrototypeOf"));
}

/** Whether an object is a `Map`, `Set`, `Date`, `Promise` or the like. Its contents are in none of its properties. */
function isBuiltIn(value: object): boolean {
  return Object.prototype.toString.call(value) !== "[object Object]";
}

/** Whether a page has added a member to the prototype of all objects that calls about rows would read. */
function isPolluted(): boolean {
  return (
    ROOT.tableName !== undefined ||
    ROOT.primaryKey !== undefined ||
    ROOT.attributes !== undefined ||
    ROOT.condition !== undefined ||
    ROOT.returnContent !== undefined ||
    ROOT.signal !== undefined ||
    ROOT.put !== undefined ||
    ROOT.update !== undefined ||
    ROOT.delete !== undefined ||
    ROOT.deleteVersions !== undefined ||
    ROOT.deleteColumns !== undefined ||
    ROOT.increment !== undefined ||
    ROOT.maxVersions !== undefined ||
    ROOT.timeRange !== undefined ||
    ROOT.columnsToGet !== undefined ||
    ROOT.startColumn !== undefined ||
    ROOT.endColumn !== undefined ||
    ROOT.filter !== undefined ||
    ROOT.direction !== undefined ||
    ROOT.start !== undefined ||
    ROOT.end !== undefined ||
    ROOT.limit !== undefined ||
    ROOT.rowExistence !== undefined ||
    ROOT.column !== undefined ||
    ROOT.value !== undefined ||
    ROOT.version !== undefined ||
    ROOT.primaryKeys !== undefined ||
    ROOT.partitionKey !== undefined ||
    ROOT.afterModify !== undefined
  );
}

/** The result of {@link lookAtPrototype}. */
let polluted = false;
const EMPTY = {};

/**
 * Looks for members that the page has added to the prototype of all objects, once for all calls of this turn. A look
 * for each row would cost more than reading it. Each call still looks for members that a loop shows.
 */
export function lookAtPrototype(): void {
  polluted = isPolluted();
}

/** Whether every object has a member that a loop shows. */
function isExtended(): boolean {
  for (const _ in EMPTY) return true;
  return false;
}

/** Whether an object or its own class has a member. Members of the prototype of all objects do not count. */
function holds(value: object, name: string): boolean {
  for (let one: object | null = value; one !== null && one !== ROOT; one = Object.getPrototypeOf(one) as object | null) {
    if (Object.hasOwn(one, name)) return true;
  }
  return false;
}

/** Whether an object has a member that not every object has. */
export function has(value: object, name: string): boolean {
  return name in value && (!(name in ROOT) || holds(value, name));
}

/** The members among `known` that the caller has given. Members of the prototype of all objects are left out. */
function given(value: object, known: ReadonlySet<string>): Record<string, unknown> {
  const copy = Object.create(null) as Record<string, unknown>;
  for (const name of known) if (holds(value, name)) copy[name] = (value as Record<string, unknown>)[name];
  return copy;
}

function checkMembers(value: unknown, known: ReadonlySet<string>, what: string): void {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    let some = false;
    for (const name in value) {
      if (known.has(name)) some = true;
      else if (has(value, name)) throw invalid(`Unknown argument '${name}' in '${what}'. Known are: ${[...known].join(", ")}.`);
    }
    if (some || isPlain(value) || !isBuiltIn(value)) return;
  }
  throw wrongArgument(what, kindOf(value), "an object");
}

/**
 * Refuses a value other than an object, and unknown arguments: most of those are misspelt. Returns the object, or a
 * copy without members that the page has added to the prototype of all objects.
 */
export function checkArguments<T>(value: T, known: ReadonlySet<string>, what: string): T & Readonly<Record<string, unknown>> {
  checkMembers(value, known, what);
  for (const name of known) if (name in ROOT) return given(value as object, known) as T & Record<string, unknown>;
  return value as T & Record<string, unknown>;
}

/** {@link checkArguments} with a copy in any case: later changes of the caller's object do not reach it. */
export function takeArguments<T>(value: T, known: ReadonlySet<string>, what: string): T {
  checkMembers(value, known, what);
  return given(value as object, known) as T;
}

/** {@link checkArguments} for calls about rows, whose names {@link lookAtPrototype} knows. */
export function checkCall<T>(value: T, known: ReadonlySet<string>, what: string): T {
  checkMembers(value, known, what);
  return polluted || isExtended() ? (given(value as object, known) as T) : value;
}

/** Refuses a value other than a string. The engine judges whether a name is legal. */
export function checkName(value: unknown, argument: string): asserts value is string {
  if (typeof value !== "string") throw wrongArgument(argument, kindOf(value), "a string");
}

/**
 * Refuses a value other than an array. Returns a copy, because the count is written before the items, and the two must agree.
 * Getters and proxies of the caller may change an array meanwhile, and a wrong count would end the whole session.
 */
export function list(value: unknown, argument: string): unknown[] {
  if (!Array.isArray(value)) throw wrongArgument(argument, kindOf(value), "an array");
  const { length } = value;
  if (length > MOST) throw invalid(`The argument '${argument}' has ${length} entries; nothing takes more than ${MOST}.`);
  const copy: unknown[] = [];
  for (let i = 0; i < length; i++) copy.push(value[i]);
  return copy;
}

/**
 * Refuses a value other than an object of columns. Columns are an object's own members. The contents of a `Map` or of a
 * class would be lost silently.
 */
export function record(value: unknown, argument: string): asserts value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be an object of columns.`);
  }
  checkOwn(value, argument);
}

/** Refuses an object with values that are not its own members. */
export function checkOwn(value: object, argument: string): void {
  if (isPlain(value)) return;
  const refuse = (why: string): Error => invalid(`The argument '${argument}' is ${kindOf(value)}${why}; it must be a plain object of columns.`);
  if (isBuiltIn(value) || value instanceof Operand) throw refuse("");
  for (
    let one = Object.getPrototypeOf(value) as object | null;
    one !== null && !Object.hasOwn(one, "isPrototypeOf");
    one = Object.getPrototypeOf(one) as object | null
  ) {
    for (const [name, { get, enumerable, value: inherited }] of Object.entries(Object.getOwnPropertyDescriptors(one))) {
      if (get !== undefined || (enumerable === true && typeof inherited !== "function")) throw refuse(`, whose '${name}' is not a member of its own`);
    }
  }
  // The contents of such an object, if any, are hidden: its fields are private, or a proxy hides them.
  if (Object.keys(value).length === 0) throw refuse(" without members of its own");
}

/** Refuses a value that is given and is no positive integer. */
export function checkPositive(value: number | undefined, argument: string): void {
  if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
    throw invalid(`The argument '${argument}' is ${shown(value)}; it must be a positive integer.`);
  }
}

/** Refuses a value other than an integer of at least `least`. */
export function count(value: unknown, argument: string, least: number): asserts value is number {
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw wrongArgument(argument, typeof value === "number" ? String(value) : kindOf(value), `an integer of at least ${least}`);
  }
}

/** Checks a choice; the first one is the default. */
export function oneOf<T extends string>(value: T | undefined, argument: string, known: readonly T[]): T {
  if (value === undefined) return known[0];
  if (!known.includes(value)) throw invalid(`The argument '${argument}' is ${shown(value)}; it must be one of ${known.join(", ")}.`);
  return value;
}
