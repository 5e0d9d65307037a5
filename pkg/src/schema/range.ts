/** Ranges of keys: the leading columns of a key, and a stretch at the last one. */

import { KEY_BYTES } from "../beside-tables.js";
import { kindOf } from "../codec/kinds.js";
import type { InputValue, KeyValue, RangeKey } from "../types/data.js";
import { type InfMax, type InfMin, INF_MAX, INF_MIN } from "../types/values.js";
import { holds } from "./columns.js";
import type { Field } from "./layout.js";
import type { RowCodec } from "./row-codec.js";
import type { Stretch } from "./types.js";

type End = KeyValue | InfMin | InfMax;

/** A stretch of values, made by this package. */
class Made<T> implements Stretch<T> {
  /** @internal A text that the values begin with. */
  declare readonly begins?: T;

  constructor(
    readonly from: T | undefined,
    readonly to: T | undefined,
  ) {}
}

/**
 * Values from `from` on, included, to `to`, not included. Either may be left out: `between(5)` is 5 and more, `between(undefined, 5)`
 * less than 5.
 */
export function between<T extends string | number | bigint | Date | Uint8Array>(from?: T, to?: T): Stretch<T> {
  return new Made(from, to);
}

/** Values that begin with a text, or with these bytes. Its end is computed. */
export function prefix<T extends string | Uint8Array>(begin: T): Stretch<T> {
  const to = typeof begin === "string" ? afterText(begin) : afterBytes(begin);
  return Object.assign(new Made<T>(begin, to as T | undefined), { begins: begin });
}

/** The least text behind all that begin with this one; `undefined` if there is none. */
function afterText(begin: string): string | undefined {
  const points = [...begin];
  while (points.length > 0) {
    const last = points.pop()!.codePointAt(0)!;
    if (last < 0x10ffff) return points.join("") + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1);
  }
  return undefined;
}

/** The least bytes behind all that begin with these; `undefined` if there are none. */
function afterBytes(begin: Uint8Array): Uint8Array | undefined {
  let length = begin.length;
  while (length > 0 && begin[length - 1] === 255) length -= 1;
  if (length === 0) return undefined;
  const bytes = begin.slice(0, length);
  bytes[length - 1] += 1;
  return bytes;
}

/** A range of keys, ascending: from the start, included, to the end. */
export interface KeyRange {
  readonly start: RangeKey;
  readonly end: RangeKey;
  /** Whether no key can be in it: the store refuses such a range. */
  readonly isEmpty: boolean;
}

/** All keys of an order. */
export function wholeRange(key: readonly Field[]): KeyRange {
  return { start: Object.fromEntries(key.map(({ name }) => [name, INF_MIN])), end: Object.fromEntries(key.map(({ name }) => [name, INF_MAX])), isEmpty: false };
}

/** The range that a part of a key names. */
export function rangeOf(codec: RowCodec, key: readonly Field[], part: unknown): KeyRange {
  const { context } = codec;
  const names = key.map(({ name }) => name);
  const given = (part instanceof Made ? { [names[0]]: part } : (part ?? {})) as Readonly<Record<string, unknown>>;
  if (typeof given !== "object" || Array.isArray(given))
    throw context.wrong("part", kindOf(part), `{ ${names.join(", ")} } or the first of these, between(…) or prefix(…)`);
  // A value that is missing by mistake would mean the whole table, also for a deletion.
  const missing = Object.keys(given).find((one) => given[one] === undefined);
  if (missing !== undefined)
    throw context.error("OTSParameterInvalid", `The range gives '${missing}' as undefined.`, "Leave the column out for all of its values.");
  const stray = Object.keys(given).find((one) => !names.includes(one));
  if (stray !== undefined)
    throw context.error("OTSParameterInvalid", `'${stray}' is not in the key { ${names.join(", ")} }.`, "Use where(…) for other columns, or declare an index.");
  const start: [string, End][] = [];
  const end: [string, End][] = [];
  /** The last column that is not one value, and where those behind it end. */
  let open: { readonly name: string; readonly rest: InfMin | InfMax } | undefined;
  let isEmpty = false;
  const push = (name: string, from: End, to: End): void => {
    start.push([name, from]);
    end.push([name, to]);
  };
  for (const [at, field] of key.entries()) {
    const { name } = field;
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (open !== undefined) {
      if (value !== undefined)
        throw context.error(
          "OTSParameterInvalid",
          `The range names '${name}', but '${open.name}' before it has no single value.`,
          `Rows are sorted by { ${names.join(", ")} }: give values of the first columns, and a stretch at the last one. Use where(…) for the others.`,
        );
      push(name, INF_MIN, open.rest);
    } else if (value === undefined) {
      push(name, INF_MIN, INF_MAX);
      open = { name, rest: INF_MAX };
    } else if (isStretch(value, field)) {
      const [from, to] = endsOf(codec, field, value as Stretch<unknown>);
      push(name, from, to);
      // The first value is in and the last one is not: both ends lie before the columns that follow.
      open = { name, rest: to === INF_MAX ? INF_MAX : INF_MIN };
      isEmpty = !isInfinite(from) && !isInfinite(to) && compare(from, to) >= 0;
    } else {
      const bound = codec.encode(field, value) as KeyValue;
      push(name, bound, at === key.length - 1 ? next(bound) : bound);
    }
  }
  return { start: Object.fromEntries(start), end: Object.fromEntries(end), isEmpty };
}

/** The order of two values of one type: texts by the bytes of their UTF-8. */
function compare(one: KeyValue, other: KeyValue): number {
  if (typeof one === "object" || typeof other === "object") return compareBytes(one as Uint8Array, other as Uint8Array);
  if (typeof one === "string" || typeof other === "string")
    return compareBytes(new TextEncoder().encode(one as string), new TextEncoder().encode(other as string));
  const difference = BigInt(one) - BigInt(other);
  return difference < 0n ? -1 : Number(difference > 0n);
}

function compareBytes(one: Uint8Array, other: Uint8Array): number {
  const at = one.findIndex((byte, i) => byte !== other[i]);
  return at < 0 ? one.length - other.length : one[at] - (other[at] ?? -1);
}

/**
 * The same range from its end to its start. The store includes the first key that it meets, and not the last one, so each end moves to
 * the key before it, where it names a whole key.
 */
export function reversed({ start, end, isEmpty }: KeyRange): KeyRange {
  return { start: before(end), end: before(start), isEmpty };
}

function before(end: RangeKey): RangeKey {
  const entries = Object.entries(end);
  const [name, value] = entries[entries.length - 1];
  return { ...end, [name]: isInfinite(value) ? value : previous(value) };
}

const isInfinite = (value: End): value is InfMin | InfMax => typeof value === "object" && "infinity" in value;

/** The least value of its type behind this one. */
function next(value: KeyValue): End {
  if (typeof value === "string") return `${value}\0`;
  if (value instanceof Uint8Array) return new Uint8Array([...value, 0]);
  const integer = BigInt(value) + 1n;
  return BigInt.asIntN(64, integer) === integer ? integer : INF_MAX;
}

/** The greatest value of its type before this one: for texts and bytes, as long as a key may be. */
function previous(value: KeyValue): End {
  if (typeof value === "string") return textBefore(value);
  if (value instanceof Uint8Array) return bytesBefore(value);
  const integer = BigInt(value) - 1n;
  return BigInt.asIntN(64, integer) === integer ? integer : INF_MIN;
}

function textBefore(text: string): End {
  const points = [...text];
  const last = points.pop()?.codePointAt(0);
  if (last === undefined) return INF_MIN;
  const begin = points.join("");
  if (last === 0) return begin;
  const less = begin + String.fromCodePoint(last === 0xe000 ? 0xd7ff : last - 1);
  const room = Math.max(0, KEY_BYTES - new TextEncoder().encode(less).length);
  // The greatest characters of 4, 3, 2 and 1 bytes.
  return less + "\u{10ffff}".repeat(room >> 2) + ["", "\x7f", "\u07ff", "\uffff"][room & 3];
}

function bytesBefore(bytes: Uint8Array): End {
  if (bytes.length === 0) return INF_MIN;
  const last = bytes[bytes.length - 1];
  if (last === 0) return bytes.slice(0, -1);
  const less = new Uint8Array(Math.max(bytes.length, KEY_BYTES)).fill(255);
  less.set(bytes);
  less[bytes.length - 1] = last - 1;
  return less;
}

function isStretch(value: unknown, field: Field): boolean {
  return (
    value instanceof Made ||
    (typeof value === "object" && value !== null && !holds(field.column, value) && Object.keys(value).every((name) => name === "from" || name === "to"))
  );
}

function endsOf(codec: RowCodec, field: Field, stretch: Stretch<unknown> & { readonly begins?: unknown }): [End, End] {
  const bound = (value: unknown): InputValue => codec.encode(field, value);
  if (stretch.begins !== undefined) {
    const begin = bound(stretch.begins) as string | Uint8Array;
    return [begin, (typeof begin === "string" ? afterText(begin) : afterBytes(begin)) ?? INF_MAX];
  }
  return [stretch.from === undefined ? INF_MIN : (bound(stretch.from) as KeyValue), stretch.to === undefined ? INF_MAX : (bound(stretch.to) as KeyValue)];
}
