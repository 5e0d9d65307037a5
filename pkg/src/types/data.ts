/**
 * Values, keys, cells and units, the parts of all requests and answers. Ids in brackets, such as [D2], name statements of
 * the product's specification.
 */

import type { Double } from "./double.js";
import type { AutoIncrement, InfMax, InfMin } from "./values.js";

/** The type of an attribute value [D2]. */
export type ValueType = "STRING" | "INTEGER" | "DOUBLE" | "BOOLEAN" | "BINARY";

/** The type of a primary-key column [T3]. */
export type KeyType = "STRING" | "INTEGER" | "BINARY";

/**
 * A value as it is read.
 *
 * String is `string`, Boolean is `boolean`, Binary is `Uint8Array`, Double is `number`. Integer is `number` if it is a
 * safe integer, and `bigint` otherwise, so every 64-bit integer stays exact [D2]. With `integers: "bigint"` it is always
 * `bigint`.
 *
 * A Double without a fraction reads as a plain `number`; written back unchanged it would be an Integer. {@link Row.type}
 * tells them apart, and {@link double} keeps it a Double.
 */
export type Value = string | number | bigint | boolean | Uint8Array;

/**
 * A value as it is written.
 *
 * A `bigint`, or a `number` without a fraction, is an Integer. Any other `number`, or {@link double}`(3)`, is a Double.
 * So always write a measure that may be whole with {@link double}. Otherwise its column holds Doubles and Integers. No
 * single comparison of a {@link Filter} finds both, and a {@link DefinedColumn} refuses one of them.
 *
 * NaN, infinities, `null`, `undefined`, integers outside 64 bits and texts that are not well-formed Unicode are refused.
 * So are numbers without a fraction beyond ±(2^53 - 1), which JavaScript does not hold exactly: give a `bigint` for an
 * Integer, or `double(x)` for a Double. Strings and binaries are at most 2 MB [D2].
 */
export type InputValue = Value | Double;

/** A value of a primary-key column; strings and binaries are at most 1 KB [T3]. A `number` must be an integer. */
export type KeyValue = string | number | bigint | Uint8Array;

/** A whole primary key, by column name. All key columns of the table must be there; their order does not matter [T3]. */
export type PrimaryKey = Readonly<Record<string, KeyValue>>;

/**
 * The primary key of a row to put or update: like {@link PrimaryKey}, but the auto-increment column may be {@link
 * AUTO_INCREMENT}. Then the write takes no condition [R6].
 */
export type InputPrimaryKey = Readonly<Record<string, KeyValue | AutoIncrement>>;

/**
 * One end of a range: like a primary key, with all key columns of the table, but any of them may be {@link INF_MIN} or
 * {@link INF_MAX} [R3]. `{ station: "SEA", at: INF_MIN }` to `{ station: "SEA", at: INF_MAX }` has all rows of `SEA`.
 */
export type RangeKey = Readonly<Record<string, KeyValue | InfMin | InfMax>>;

/** A value with its version, as it is read. */
export interface Cell {
  /** The value. */
  readonly value: Value;
  /** Its version: milliseconds since 1970 UTC [D3]. */
  readonly version: number;
}

/** A value with a version to store it under. Without a version it gets the store's clock in milliseconds [V1]. */
export interface InputCell {
  /** The value. */
  readonly value: InputValue;
  /**
   * Not in a table with indexes, where the store gives all versions [T8]. Milliseconds since 1970 UTC; its second must
   * lie in `[max(now - offset, now - TTL), now + offset)` [V6]. Versions are read as numbers, so the last one is 2^53 - 1
   * (in the year 287,396), a little before the service's.
   */
  readonly version?: number | bigint | undefined;
}

/**
 * Attribute columns to write: a value, or an array of values with versions, by column name.
 *
 * At most 1024 columns a request [D1]; names are 1 to 255 bytes of letters, digits and `_`, first no digit [T2].
 */
export type Attributes = Readonly<Record<string, InputValue | readonly InputCell[]>>;

/** Capacity units: one is up to 4 KB read or written, sizes round up [C1]. */
export interface Consumed {
  /** Read capacity units. */
  readonly read: number;
  /** Write capacity units. */
  readonly write: number;
}

/** Options that every call takes. */
export interface CallOptions {
  /**
   * Cancels the call: its promise rejects at once with the signal's reason. A write that has already left may still take
   * effect, as with any remote service.
   */
  readonly signal?: AbortSignal | undefined;
}
