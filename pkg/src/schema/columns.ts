/** The columns of a schema: their types, how values are stored, and whether a row must have them. */

import { kindOf, shown } from "../codec/kinds.js";
import type { InputValue, Value, ValueType } from "../types/data.js";

/** Whether a row has the column: always; perhaps; if not, a value stands for it; the store gives it. */
export type Presence = "required" | "optional" | "default" | "auto";

/** How a value becomes a stored one, and back. `undefined` where it is none of the column. */
export interface Codec<T> {
  /** The type of values of which most are stored as they are: see `isAsStored` in row-codec.ts. */
  readonly kind?: "text" | "integer" | "double";
  /** What a value must be, in words: "a text". */
  readonly what: string;
  /** The stored value of a value, which may be of any type. Doubles are made by `double`. */
  readonly encode: (value: unknown, double: (value: number) => InputValue) => InputValue | undefined;
  /** The value of a stored one. */
  readonly decode: (value: Value) => T | undefined;
}

/** @internal Whether a value, of any type, is one of the column. */
export const holds = ({ codec }: AnyColumn, value: unknown): boolean => codec.encode(value, Number) !== undefined;

/** What a column of a schema keeps, beside its type. */
interface Settings<T> {
  readonly presence: Presence;
  readonly initial?: T;
  readonly keeps?: number;
}

/**
 * A column of a schema; `t` makes them. `T` is the type of its values, `S` the type that is stored, `P` says whether a row must have
 * it. A column never changes: each modifier gives a new one.
 */
export class Column<T, S extends ValueType, P extends Presence = "required"> {
  /** The type of its values. There is no value: it is for types alone. */
  declare readonly value: T;
  /** Whether a row must have it. */
  readonly presence: P;
  /** @internal The value for rows without the column. */
  readonly initial: T | undefined;
  /** @internal Versions that are kept. */
  readonly keeps: number;

  /** @internal */
  constructor(
    /** The stored type. */ readonly stored: S,
    /** @internal */ readonly codec: Codec<T>,
    settings: Settings<T> & { readonly presence: P },
  ) {
    this.presence = settings.presence;
    this.initial = settings.initial;
    this.keeps = settings.keeps ?? 1;
    Object.freeze(this);
  }

  /** A row may lack it. */
  get optional(): Column<T, S, "optional"> {
    return this.with({ presence: "optional" });
  }

  /** A row that lacks it, also an older one, is read with this value. A new row may leave it out. */
  default(value: T): Column<T, S, "default"> {
    if (!holds(this, value)) throw new TypeError(`The default is ${kindOf(value)}; it must be ${this.codec.what}.`);
    return this.with({ presence: "default", initial: value });
  }

  /**
   * The newest so many values stay, for `versions` and `undo`: 2 or more. `put` replaces a row with its history; `update` and `upsert`
   * add to it. Beside indexes the versions are in a table of their own, which each write of the column reaches in the same step.
   */
  versions(count: number): Column<T, S, P> {
    if (!Number.isSafeInteger(count) || count < 2) throw new TypeError(`The argument 'count' is ${shown(count)}; it must be an integer of at least 2.`);
    return this.with({ presence: this.presence, keeps: count });
  }

  /** The store gives the value of a new row: for one INTEGER column of the key, not the first. */
  get auto(): S extends "INTEGER" ? Column<T, S, "auto"> : "only integers are given by the store" {
    if (this.stored !== "INTEGER") throw new TypeError("Only integers are given by the store.");
    return this.with({ presence: "auto" }) as never;
  }

  private with<Q extends Presence>(changed: Settings<T> & { readonly presence: Q }): Column<T, S, Q> {
    return new Column(this.stored, this.codec, { keeps: this.keeps, ...(this.initial !== undefined && { initial: this.initial }), ...changed });
  }
}

/** Any column. */
// biome-ignore lint/suspicious/noExplicitAny: a column of each type is one of these
export type AnyColumn = Column<any, ValueType, Presence>;

const column = <T, S extends ValueType>(stored: S, codec: Codec<T>): Column<T, S> => new Column(stored, codec, { presence: "required" });

/** A codec of values that are stored as they are. */
const plain = <T extends InputValue & Value>(what: string, is: (value: unknown) => value is T) => {
  const same = (value: unknown): T | undefined => (is(value) ? value : undefined);
  return { what, encode: same, decode: same };
};
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value);
const isNumber = (value: unknown): value is number => Number.isFinite(value);

/** The time of a date; none of an invalid one. */
const timeOf = (date: Date): number | undefined => {
  const time = date.getTime();
  return isInteger(time) ? time : undefined;
};

/** A safe integer of a stored one, which comes as a bigint where the database was opened with `integers: "bigint"`. */
function safe(value: Value): number | undefined {
  const number = Number(value);
  return typeof value !== "string" && Number.isSafeInteger(number) ? number : undefined;
}

/** What JSON keeps as it is. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

function json<T>(what: string, is: (value: unknown) => boolean): Column<T, "STRING"> {
  return column("STRING", {
    what,
    encode: (value) => (is(value) ? JSON.stringify(value) : undefined),
    decode: (value) => {
      try {
        const read: unknown = JSON.parse(value as string);
        return is(read) ? (read as T) : undefined;
      } catch {
        return undefined;
      }
    },
  });
}

/** The types of columns. */
export const t = {
  /** A text, stored as a STRING. Texts sort by the bytes of their UTF-8. */
  text: column("STRING", { kind: "text", ...plain("a text", (value) => typeof value === "string") }),
  /** A whole number between -(2^53 - 1) and 2^53 - 1, stored as an INTEGER. For larger ones there is `t.bigint`. */
  integer: column("INTEGER", { kind: "integer", what: "an integer up to 2^53 - 1", encode: (value) => (isInteger(value) ? value : undefined), decode: safe }),
  /** A whole number of 64 bits, stored as an INTEGER and read as a bigint. */
  bigint: column("INTEGER", {
    what: "a bigint of 64 bits",
    encode: (value) => (typeof value === "bigint" && BigInt.asIntN(64, value) === value ? value : undefined),
    decode: (value) => (typeof value === "bigint" ? value : isInteger(value) ? BigInt(value) : undefined),
  }),
  /** A number, stored as a DOUBLE, also where it has no fraction. No NaN, no infinity. Never in a key. */
  double: column("DOUBLE", {
    kind: "double",
    what: "a finite number",
    // Only a whole number could be taken for an INTEGER.
    encode: (value, double) => (isNumber(value) ? (Number.isInteger(value) ? double(value) : value) : undefined),
    decode: (value) => (isNumber(value) ? value : undefined),
  }),
  /** `true` or `false`, stored as a BOOLEAN. Never in a key. */
  boolean: column(
    "BOOLEAN",
    plain("true or false", (value) => typeof value === "boolean"),
  ),
  /** Bytes, stored as a BINARY. */
  bytes: column(
    "BINARY",
    plain("a Uint8Array", (value): value is Uint8Array => value instanceof Uint8Array),
  ),
  /** A Date, stored as an INTEGER: milliseconds since 1970 UTC. So dates sort by time, in keys and indexes too. */
  date: column("INTEGER", {
    what: "a valid Date",
    encode: (value) => (value instanceof Date ? timeOf(value) : undefined),
    decode: (value) => {
      const date = new Date(Number(value));
      return timeOf(date) === undefined ? undefined : date;
    },
  }),
  /** One of some texts, stored as a STRING. */
  oneOf<const T extends readonly [string, ...string[]]>(...texts: T): Column<T[number], "STRING"> {
    return column(
      "STRING",
      plain(`one of ${texts.map((text) => `'${text}'`).join(", ")}`, (value): value is T[number] => texts.includes(value as string)),
    );
  },
  /** What JSON keeps, stored as a STRING of JSON: `t.json<{ lat: number; lon: number }>()`. Its type is not checked when it is read. */
  json<T extends Json | object = Json>(): Column<T, "STRING"> {
    return json("what JSON keeps", () => true);
  },
  /** A list, stored as a STRING of JSON: of texts, integers, doubles, booleans or one-ofs. */
  list<T, S extends "STRING" | "INTEGER" | "DOUBLE" | "BOOLEAN">(entry: Column<T, S>): Column<readonly T[], "STRING"> {
    if (![t.text, t.integer, t.double, t.boolean].some((one) => (one.codec as unknown) === entry.codec) && !entry.codec.what.startsWith("one of"))
      throw new TypeError("A list has texts, integers, doubles, booleans or one-ofs; for others there is t.json.");
    return json(`a list, and each entry ${entry.codec.what}`, (value) => Array.isArray(value) && value.every((one) => holds(entry, one)));
  },
} as const;
