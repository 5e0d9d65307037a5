/** Values of a program as texts, as `console.log` of a browser shows them. The texts go to another thread, so they are cut where they are long. */

import { textMember } from "./thrown.ts";

/** Members of an object, and items of a list, that are shown. */
const MOST_MEMBERS = 100;
/** Objects inside each other that are shown. */
const DEEPEST = 4;
/** Characters of a text. */
const MOST_CHARACTERS = 10_000;
/** Longer lists of members are broken into lines. */
const WIDTH = 100;

const NAME = /^[A-Za-z_$][\w$]*$/;

const cut = (text: string): string =>
  text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}… (${text.length - MOST_CHARACTERS} more characters)` : text;

/** Something with a row's method. Rows of the package show what they have, and not how they keep it. */
interface RowLike {
  toObject(): object;
}

const isRow = (value: object): value is RowLike => "primaryKey" in value && typeof (value as Partial<RowLike>).toObject === "function";

/** The name that stands before the members: none for a plain object or list. */
function className(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype || prototype === Array.prototype) return "";
  const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
  return typeof name === "string" && name !== "" ? `${name} ` : "";
}

/** Parts between brackets: in one line if it is short. */
function listed(open: string, parts: readonly string[], more: number, close: string, indent: string): string {
  const all = more > 0 ? [...parts, `… ${more} more`] : parts;
  if (all.length === 0) return open + close;
  const pad = open.endsWith("{") ? " " : "";
  const line = `${open}${pad}${all.join(", ")}${pad}${close}`;
  if (indent.length + line.length <= WIDTH && !line.includes("\n")) return line;
  const inner = `${indent}  `;
  return `${open}\n${all.map((part) => inner + part).join(",\n")}\n${indent}${close}`;
}

/** The first items of something that may have many. */
function first<T>(items: Iterable<T>): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.length === MOST_MEMBERS) break;
    taken.push(item);
  }
  return taken;
}

function errorText(error: Error): string {
  const code = (error as { code?: unknown }).code;
  return `${error.name}${typeof code === "string" && code !== error.name ? ` (${code})` : ""}: ${error.message}`;
}

/** What is left of a text for what is shown next, and the objects around that. */
interface Place {
  readonly room: { left: number };
  readonly around: readonly object[];
  readonly indent: string;
}

function members(value: object, { room, around, indent }: Place): string {
  const inner: Place = { room, around: [...around, value], indent: `${indent}  ` };
  const show = (one: unknown): string => shown(one, inner);
  if (Array.isArray(value)) return listed("[", first(value).map(show), value.length - MOST_MEMBERS, "]", indent);
  if (value instanceof Map) {
    const entries = first(value).map(([key, one]) => `${show(key)} => ${show(one)}`);
    return listed(`Map(${value.size}) {`, entries, value.size - MOST_MEMBERS, "}", indent);
  }
  if (value instanceof Set) return listed(`Set(${value.size}) {`, first(value).map(show), value.size - MOST_MEMBERS, "}", indent);
  const names = Object.keys(value);
  const said = names
    .slice(0, MOST_MEMBERS)
    .map((name) => `${NAME.test(name) ? name : JSON.stringify(name)}: ${show((value as Record<string, unknown>)[name])}`);
  return listed(`${className(value)}{`, said, names.length - MOST_MEMBERS, "}", indent);
}

function objectText(value: object, place: Place): string {
  const { around, indent } = place;
  if (around.includes(value)) return "[circular]";
  if (value instanceof Error) return errorText(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    const { length } = value as Uint8Array;
    return listed(`${className(value).trim()}(${length}) [`, first(value as Uint8Array).map(String), length - MOST_MEMBERS, "]", indent);
  }
  if (around.length >= DEEPEST) return Array.isArray(value) ? `[… ${value.length} items]` : `${className(value)}{…}`;
  return isRow(value) ? `Row ${members(value.toObject(), place)}` : members(value, place);
}

function partText(value: unknown, place: Place): string {
  switch (typeof value) {
    case "string":
      return cut(JSON.stringify(value));
    case "bigint":
      return `${value}n`;
    case "function":
      return `[${value.name === "" ? "function" : `function ${value.name}`}]`;
    case "object":
      return value === null ? "null" : objectText(value, place);
    default:
      return Object.is(value, -0) ? "-0" : String(value);
  }
}

/** A value. Behind a text that is full already nothing is looked at: lists of lists of lists would take seconds. */
function shown(value: unknown, place: Place): string {
  const { room } = place;
  if (room.left <= 0) return "…";
  const before = room.left;
  const text = partText(value, place);
  // What is in it has been counted.
  room.left = Math.min(room.left, before - text.length);
  return text;
}

/** A value, as the answer of a program. */
export function valueText(value: unknown): string {
  try {
    const text = shown(value, { room: { left: MOST_CHARACTERS }, around: [], indent: "" });
    return typeof value === "object" && text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
  } catch (error) {
    // A getter or a proxy may throw. To look at a value must not end the program.
    return `[not shown: ${textMember(error, "message") ?? "its members throw"}]`;
  }
}

/** The arguments of `console.log`: texts stand as they are. */
export function logText(given: readonly unknown[]): string {
  return cut(given.map((one) => (typeof one === "string" ? one : valueText(one))).join(" "));
}
