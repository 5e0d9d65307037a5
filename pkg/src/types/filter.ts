/**
 * Filters and column conditions: they decide which rows are returned or written [R6].
 *
 * Types are compared before values: an Integer never equals a Double, nor is it greater or less. `12` is an Integer, `12.5`
 * and {@link double}`(12)` are Doubles; see {@link col}.
 *
 * A filter is a plain object. {@link col} builds the same objects with less typing; an application that does not import
 * it does not download it.
 */

import type { InputValue } from "./data.js";
import { Operand } from "./values.js";

/** The operator of a comparison: `EXIST` and `NOT_EXIST` take no value. */
export type Comparator = "EQUAL" | "NOT_EQUAL" | "GREATER_THAN" | "GREATER_EQUAL" | "LESS_THAN" | "LESS_EQUAL" | "EXIST" | "NOT_EXIST";

/** The type as which the text found by a {@link ValueTransferRule} is read. */
export type CastType = "INTEGER" | "DOUBLE" | "STRING";

/** Options of a comparison. */
export interface ColumnFilterOptions {
  /** Whether a row without the column passes; default `true`. Columns that `columnsToGet` leaves out count as missing. */
  readonly passIfMissing?: boolean | undefined;
  /** Default `true`: compares only the newest of the read versions. `false`: any of them may match. */
  readonly latestVersionOnly?: boolean | undefined;
}

/**
 * Takes a part of a String or Binary value and compares that: the regular expression's first group, or the whole match if
 * there is no group. A value without a match, or with one that cannot be read as `castType`, does not match.
 */
export interface ValueTransferRule {
  /** A regular expression of at most 256 bytes, without look-around and back-references. */
  readonly regex: string;
  /** The type of the part. */
  readonly castType: CastType;
}

/**
 * Compares one column, of the attributes or of the primary key, with a value. A value of another type never matches, with
 * any comparator. Compare a column of Doubles with `12.5` or {@link double}`(12)`, not with `12`, which is an Integer. A
 * row without the column passes, unless `passIfMissing` is `false`.
 */
export interface ColumnFilter extends ColumnFilterOptions {
  /** The column. */
  readonly column: string;
  /** The operator. */
  readonly comparator: Comparator;
  /** The other value, of the column's type. After a transfer to DOUBLE, `3` is a Double too. */
  readonly value?: InputValue | undefined;
  /** The part to compare instead of the whole value. */
  readonly valueTransferRule?: ValueTransferRule | undefined;
}

/** Combines filters: `NOT` takes one, `AND` and `OR` at least two. */
export interface CompositeFilter {
  /** The operator. */
  readonly operator: "NOT" | "AND" | "OR";
  /** The operands. */
  readonly filters: readonly Filter[];
}

/**
 * Returns only some columns of each row: skips `offset` of them, then returns at most `limit`. It must be the whole
 * filter, or part of an `AND` that is the whole filter. Not for conditions.
 */
export interface PageFilter {
  /** Columns to skip, 0 or more. */
  readonly offset: number;
  /** Columns to return at most, 1 or more. */
  readonly limit: number;
}

/**
 * A condition that rows must meet. At most 32 comparisons and operators in all [R6].
 *
 * @example
 * ```ts
 * const warm: Filter = { operator: "AND", filters: [
 *   { column: "tempMax", comparator: "GREATER_THAN", value: double(20), passIfMissing: false },
 *   { column: "wet", comparator: "NOT_EQUAL", value: true } ] };
 * ```
 */
export type Filter = ColumnFilter | CompositeFilter | PageFilter;

/** A filter made by {@link col}. It never changes: each method returns a new one. */
export interface FilterBuilder {
  /** This one and all of the others hold. */
  and(...others: readonly Filter[]): CompositeFilter & FilterBuilder;
  /** This one or one of the others holds. */
  or(...others: readonly Filter[]): CompositeFilter & FilterBuilder;
  /** This one does not hold. So it passes values of another type than the compared one, which never match. */
  not(): CompositeFilter & FilterBuilder;
}

/** A comparison made by {@link col}. */
export type BuiltColumnFilter = ColumnFilter & FilterBuilder;

/** Comparisons with values of a type. */
export interface Comparisons<T> {
  /** Equal, and of the same type. */
  eq(value: T, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and not equal. */
  ne(value: T, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and greater: numbers by size, texts and bytes by their bytes, `false` before `true`. */
  gt(value: T, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and greater or equal. */
  ge(value: T, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and less. */
  lt(value: T, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** Of the same type, and less or equal. */
  le(value: T, options?: ColumnFilterOptions): BuiltColumnFilter;
  /** The row has the column. */
  exists(): BuiltColumnFilter;
  /** The row does not have the column. */
  notExists(): BuiltColumnFilter;
}

/**
 * A column to compare; see {@link col}.
 *
 * The value sets the type: `12` compares Integers, `12.5` and {@link double}`(12)` compare Doubles. Values of another
 * type do not match: in a column of Doubles `gt(12)` finds nothing, give {@link double}`(12)`. Rows without the column
 * pass, unless the options say `{ passIfMissing: false }`.
 */
export interface Column extends Comparisons<InputValue> {
  /** Compares a part of the text, read as a type; see {@link ValueTransferRule}. */
  transfer(regex: string, castType: CastType): Column;
}

/** A filter with the methods of {@link FilterBuilder}. Its own properties are those of a plain filter. */
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
 * `col("tempMax").gt(12)` finds no Double: write `col("tempMax").gt(double(12))`, and store whole measures with {@link
 * double} too. If a column holds both, compare both: `col("n").gt(12, present).or(col("n").gt(double(12), present))` with
 * `present = { passIfMissing: false }`.
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
    eq: compare("EQUAL"),
    ne: compare("NOT_EQUAL"),
    gt: compare("GREATER_THAN"),
    ge: compare("GREATER_EQUAL"),
    lt: compare("LESS_THAN"),
    le: compare("LESS_EQUAL"),
    exists: exists("EXIST"),
    notExists: exists("NOT_EXIST"),
    transfer: (regex, castType) => column({ ...base, valueTransferRule: Object.freeze({ regex, castType }) }),
  };
}
