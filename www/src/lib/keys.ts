/** Primary keys: how they sort, how they look, and the ends of a range as people type them. */

import { INF_MAX, INF_MIN, type InfMax, type InfMin, type KeyColumn, type PrimaryKey, type RangeKey, type Row, type Value } from "tabstore";

import { MAX_INTEGER, parseKey, shortText, text } from "./values.ts";

/** The direction of a range. */
export type Direction = "FORWARD" | "BACKWARD";

type End = Value | InfMin | InfMax;

const ENCODER = new TextEncoder();

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function rank(end: End): number {
  return end === INF_MIN ? 0 : end === INF_MAX ? 2 : 1;
}

/** Compares two values of a key column, or ends of a range: integers by number, texts and bytes by bytes. */
export function compareValues(a: End, b: End): number {
  const ranks = rank(a) - rank(b);
  if (ranks !== 0 || rank(a) !== 1) return ranks;
  if (typeof a === "string" && typeof b === "string") return a === b ? 0 : compareBytes(ENCODER.encode(a), ENCODER.encode(b));
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b);
  return (a as bigint) < (b as bigint) ? -1 : (a as bigint) > (b as bigint) ? 1 : 0;
}

/** Compares two keys, column by column as the schema orders them. */
export function compareKeys(schema: readonly KeyColumn[], a: Readonly<Record<string, End>>, b: Readonly<Record<string, End>>): number {
  for (const { name } of schema) {
    const difference = compareValues(a[name] as End, b[name] as End);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The key of a row, to ask for it again. */
export function keyOf(row: Row): PrimaryKey {
  return row.primaryKey as PrimaryKey;
}

/** A key as one short text: its values, joined. */
export function keyText(key: Readonly<Record<string, Value>>): string {
  return Object.values(key)
    .map((value) => (value === "" ? "“”" : shortText(value, 40)))
    .join(" · ");
}

/** Nothing after an open column limits a range: the rows sort by that column first. */
function refuseGaps(schema: readonly KeyColumn[], typed: readonly string[], side: "start" | "end"): void {
  const gap = schema.findIndex((_, at) => (typed[at] ?? "") === "");
  const after = gap < 0 ? -1 : typed.findIndex((text, at) => at > gap && text !== "");
  const [open, limit] = [schema[gap]?.name, schema[after]?.name];
  if (open !== undefined && limit !== undefined) {
    throw new Error(`The ${side} of the range gives ${limit}, but not ${open}. Rows sort by ${open} first: type ${open} too, or leave ${limit} empty.`);
  }
}

/**
 * One end of a range from what was typed, a text per key column; `undefined` when nothing was typed at all.
 *
 * A column left empty is the end of the range there: so `SEA` and nothing, as start and as end, is everything of `SEA`.
 * An empty text, which is a legal key, is typed as `""`.
 */
export function parseEnd(schema: readonly KeyColumn[], typed: readonly string[], side: "start" | "end", direction: Direction): RangeKey | undefined {
  if (typed.every((text) => text === "")) return undefined;
  if (typed.length > schema.length) throw new Error(`The ${side} of the range has ${typed.length} values, and the key ${schema.length} columns.`);
  refuseGaps(schema, typed, side);
  const open = (side === "start") === (direction === "FORWARD") ? INF_MIN : INF_MAX;
  const key: Record<string, Exclude<RangeKey[string], undefined>> = {};
  schema.forEach(({ name, type }, at) => {
    const text = typed[at] ?? "";
    try {
      key[name] = text === "" ? open : type === "STRING" && text === '""' ? "" : parseKey(type, text);
    } catch (error) {
      throw new Error(`The ${side} of the range, column ${name}: ${(error as Error).message}.`);
    }
  });
  return key;
}

/** The least key after a key that some row may have; an end that is open at a column is itself between rows. */
function keyAfter(schema: readonly KeyColumn[], key: RangeKey): RangeKey {
  const last = schema.at(-1)?.name;
  if (last === undefined || schema.some(({ name }) => rank(key[name] as End) !== 1)) return key;
  const value = key[last];
  if (typeof value === "string") return { ...key, [last]: `${value}\0` };
  if (value instanceof Uint8Array) return { ...key, [last]: Uint8Array.of(...value, 0) };
  return { ...key, [last]: value === MAX_INTEGER ? INF_MAX : (value as bigint) + 1n };
}

/** A range as it is read, in the order of the keys: counts and deletions know no other. A start is included, an end is not. */
export function ascending(
  schema: readonly KeyColumn[],
  { direction, start, end }: { readonly direction: Direction; readonly start: RangeKey | undefined; readonly end: RangeKey | undefined },
): { readonly start?: RangeKey; readonly end?: RangeKey } {
  const [from, to] = direction === "FORWARD" ? [start, end] : [end && keyAfter(schema, end), start && keyAfter(schema, start)];
  return { ...(from === undefined ? {} : { start: from }), ...(to === undefined ? {} : { end: to }) };
}

/** A text that only this key has, to find its row again: {@link keyText} is cut. */
export function keyId(schema: readonly KeyColumn[], key: Readonly<Record<string, Value>>): string {
  return JSON.stringify(schema.map(({ name }) => text(key[name] as Value)));
}
