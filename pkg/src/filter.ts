/**
 * Filters and column conditions: what a row must be like to be returned or written [R6].
 *
 * Types are compared before values: an Integer never equals a Double, nor is it greater or less. `12` is an Integer, `12.5`
 * and {@link double}`(12)` are Doubles; see {@link col}.
 *
 * A filter is a plain object. {@link col} builds the same objects with less to type; an application that does not import it
 * does not download it.
 */

import type { InputValue } from "./data.js";
import { Operand } from "./values.js";

/** How a column is compared: `EXIST` and `NOT_EXIST` take no value. */
export type Comparator =
  | "EQUAL" | "NOT_EQUAL" | "GREATER_THAN" | "GREATER_EQUAL" | "LESS_THAN" | "LESS_EQUAL" | "EXIST" | "NOT_EXIST";

/** What the part of a text that a {@link ValueTransferRule} finds is read as. */
export type CastType = "INTEGER" | "DOUBLE" | "STRING";

/** Options of a comparison. */
export interface ColumnFilterOptions {
  /** Whether a row without the column passes; `true` unless given. Columns that `columnsToGet` leaves out are missing. */
  readonly passIfMissing?: boolean | undefined;
  /** `true` unless given: only the newest of the versions that are read is compared. `false`: any of them may match. */
  readonly latestVersionOnly?: boolean | undefined;
}

/**
 * Takes a part out of a String or Binary value and compares that: the regular expression's first group, or all that it
 * finds where there is no group. A value in which it finds nothing, or nothing that can be read as `castType`, does not match.
 */
export interface ValueTransferRule {
  /** A regular expression of at most 256 bytes, without look-around and back-references. */
  readonly regex: string;
  /** What the part is read as. */
  readonly castType: CastType;
}

/**
 * Compares one column, of the attributes or of the primary key, with a value. A value of another type never matches,
 * whatever the comparator: a column of Doubles is compared with `12.5` or {@link double}`(12)`, not with `12`, which is an
 * Integer. A row without the column passes, unless `passIfMissing` is `false`.
 */
export interface ColumnFilter extends ColumnFilterOptions {
  /** The column. */
  readonly column: string;
  /** How. */
  readonly comparator: Comparator;
  /** With what, of the type that the column holds; after a transfer to DOUBLE, `3` is a Double too. */
  readonly value?: InputValue | undefined;
  /** What to compare instead of the whole value. */
  readonly valueTransferRule?: ValueTransferRule | undefined;
}

/** Puts filters together: `NOT` takes one, `AND` and `OR` at least two. */
export interface CompositeFilter {
  /** How. */
  readonly operator: "NOT" | "AND" | "OR";
  /** What. */
  readonly filters: readonly Filter[];
}

/**
 * Returns only some columns of each row: passes over `offset` of them, then gives at most `limit`. It is the whole filter, or
 * part of an `AND` that is the whole filter. Not for conditions.
 */
export interface PageFilter {
  /** Columns to pass over, 0 or more. */
  readonly offset: number;
  /** Columns to return at most, 1 or more. */
  readonly limit: number;
}

/**
 * What rows must be like. At most 32 comparisons and operators in all [R6].
 *
 * @example
 * ```ts
 * const warm: Filter = { operator: "AND", filters: [
 *   { column: "tempMax", comparator: "GREATER_THAN", value: double(20), passIfMissing: false },
 *   { column: "wet", comparator: "NOT_EQUAL", value: true } ] };
 * ```
 */
export type Filter = ColumnFilter | CompositeFilter | PageFilter;

/** A filter made by {@link col}. It never changes: each method gives a new one. */
export interface FilterBuilder {
  /** This one and all of the others hold. */
  and(...others: readonly Filter[]): CompositeFilter & FilterBuilder;
  /** This one or one of the others holds. */
  or(...others: readonly Filter[]): CompositeFilter & FilterBuilder;
  /** This one does not hold. So it passes values of another type than the one compared with, which never match. */
  not(): CompositeFilter & FilterBuilder;
}

/** A comparison made by {@link col}. */
export type BuiltColumnFilter = ColumnFilter & FilterBuilder;

/**
 * A column to compare; see {@link col}.
 *
 * The value says the type: `12` compares Integers, `12.5` and {@link double}`(12)` compare Doubles, and values of another
 * type do not match. Rows without the column pass, unless the options say `{ passIfMissing: false }`.
 */
export interface Column {
  /** Equal, and of the same type. */
  eq(value: InputValue, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and not equal. */
  ne(value: InputValue, options?: ColumnFilterOptions): BuiltColumnFilter;
  /**
   * Of the same type, and greater: numbers by size, texts and bytes by their bytes, `false` before `true`. Of a column of
   * Doubles, `gt(12)` finds nothing: give {@link double}`(12)`.
   */
  gt(value: InputValue, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and greater or equal. */
  ge(value: InputValue, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and less. */
  lt(value: InputValue, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and less or equal. */
  le(value: InputValue, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** The row has the column. */
  exists(): BuiltColumnFilter;
  /** The row does not have the column. */
  notExists(): BuiltColumnFilter;
  /** Compares a part of the text, read as a type; see {@link ValueTransferRule}. */
  transfer(regex: string, castType: CastType): Column;
}

/** A filter with the methods of {@link FilterBuilder}. Its own properties are those of a plain one. */
class Built extends Operand implements FilterBuilder {
  constructor(filter: Filter) {
    super();
    Object.freeze(Object.assign(this, filter));
  }

  and(...others: readonly Filter[]): CompositeFilter & FilterBuilder {
    return join("AND", this as unknown as Filter, others);
  }

  or(...others: readonly Filter[]): CompositeFilter & FilterBuilder {
    return join("OR", this as unknown as Filter, others);
  }

  not(): CompositeFilter & FilterBuilder {
    return built({ operator: "NOT", filters: Object.freeze([this as unknown as Filter]) });
  }
}

function built<F extends Filter>(filter: F): F & FilterBuilder {
  return new Built(filter) as F & FilterBuilder;
}

function join(operator: "AND" | "OR", first: Filter, others: readonly Filter[]): CompositeFilter & FilterBuilder {
  // a.and(b).and(c) is one AND of three: each operator counts toward the 32.
  const filters = Object.hasOwn(first, "operator") && (first as CompositeFilter).operator === operator ? (first as CompositeFilter).filters : [first];
  return built({ operator, filters: Object.freeze([...filters, ...others]) });
}

/**
 * A column to compare, of the attributes or of the primary key.
 *
 * **Types must match.** `12` is an Integer and `12.5` a Double, and one never matches the other, as in the service. So
 * `col("tempMax").gt(12)` finds no Double at all: write `col("tempMax").gt(double(12))`, and store whole measures with
 * {@link double} too. Where a column holds both, compare both:
 * `col("n").gt(12, present).or(col("n").gt(double(12), present))` with `present = { passIfMissing: false }`.
 *
 * **Rows without the column pass**, unless `passIfMissing` is `false`.
 *
 * @example
 * ```ts
 * const present = { passIfMissing: false };
 * const wetOrWarm = col("wet").eq(true, present).or(col("tempMax").gt(double(20), present));
 * for await (const row of db.scan({ tableName: "reading", filter: wetOrWarm })) console.log(row.primaryKey);
 *
 * col("station").eq("SEA").not()                      // key columns too
 * col("label").transfer("no\\.(\\d+)", "INTEGER").ge(100)   // "no.123" is 123
 * col("wet").exists().and({ offset: 0, limit: 10 })   // and of each row the first 10 columns
 * ```
 */
export function col(name: string): Column {
  return column({ column: name });
}

function column(base: { readonly column: string; readonly valueTransferRule?: ValueTransferRule }): Column {
  const compare = (comparator: Comparator) => (value: InputValue, options?: ColumnFilterOptions) => built({ ...options, ...base, comparator, value });
  const exists = (comparator: Comparator) => () => built({ ...base, comparator });
  return {
    eq: compare("EQUAL"), ne: compare("NOT_EQUAL"), gt: compare("GREATER_THAN"), ge: compare("GREATER_EQUAL"), lt: compare("LESS_THAN"), le: compare("LESS_EQUAL"),
    exists: exists("EXIST"), notExists: exists("NOT_EXIST"),
    transfer: (regex, castType) => column({ ...base, valueTransferRule: Object.freeze({ regex, castType }) }),
  };
}
