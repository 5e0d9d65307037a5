/**
 * Whether a row is still as a person has read it.
 *
 * A row has no ETag. Its versions tell instead: each write of a column has one of its own. So a row is as it was read if all its
 * cells are there with the same values and versions, and no others.
 */

import { type Cell, type ColumnFilter, type Condition, double, type InputValue, type Row, type Value, type ValueType } from "tabstore";

import { type Difference, differencesOf } from "./differences.ts";
import { text, typeOf } from "./values.ts";

/** A column of a row in a comparison. */
export interface RowColumn {
  readonly name: string;
  readonly type: ValueType;
  /** Its newest value. */
  readonly text: string;
  /** All its versions, newest first; none of a column that is only wanted. */
  readonly cells: readonly Cell[];
}

/** The columns of a row; a row that does not exist has none. */
export function columnsOf(row: Row | null): readonly RowColumn[] {
  if (row === null) return [];
  // A row with bytes makes this object anew each time.
  const { columns } = row;
  return row.columnNames.flatMap((name) => {
    const cells = columns[name] ?? [];
    const [newest] = cells;
    return newest === undefined ? [] : [{ name, type: typeOf(newest.value), text: text(newest.value), cells }];
  });
}

function sameValue(a: Value, b: Value): boolean {
  return typeOf(a) === typeOf(b) && (a === b || (a instanceof Uint8Array && text(a) === text(b)));
}

/** Whether a column has the same cells in two readings. */
export function sameCells(a: Pick<RowColumn, "cells"> | undefined, b: Pick<RowColumn, "cells"> | undefined): boolean {
  const [these, those] = [a?.cells ?? [], b?.cells ?? []];
  return (
    these.length === those.length &&
    these.every((cell, at) => {
      const other = those[at];
      return other !== undefined && cell.version === other.version && sameValue(cell.value, other.value);
    })
  );
}

/** Whether a row is as it was read, or these columns of it are. */
export function isAsRead(read: Row, now: Row | null, names?: readonly string[]): boolean {
  if (now === null) return false;
  return differencesOf({ read: columnsOf(read), now: columnsOf(now), wanted: [] }, sameCells).every(
    ({ name, changed }) => !changed || (names !== undefined && !names.includes(name)),
  );
}

/** What is stored now beside what is wanted. */
export function rowDifferences(read: Row, now: Row | null, wanted: readonly RowColumn[]): readonly Difference<RowColumn>[] {
  return differencesOf({ read: columnsOf(read), now: columnsOf(now), wanted }, sameCells);
}

/** The most comparisons in a condition [R6]: with their `AND` they make 32. */
const MOST_COMPARISONS = 31;
/** Longer values would make a write as large again. */
const MOST_COMPARED = 1024;

const isShort = (value: Value) => !(typeof value === "string" || value instanceof Uint8Array) || value.length <= MOST_COMPARED;
const inputOf = (value: Value): InputValue => (typeof value === "number" ? double(value) : value);

/**
 * The condition that a row, or these columns of it, still have the values that were read. It holds between the look at the row and the
 * write. It knows no columns that come in that moment, and no more than it has room for: all else the look has to see.
 */
export function conditionOf(read: Row, names: readonly string[] = read.columnNames): Condition {
  const filters = names
    .flatMap((column): ColumnFilter[] => {
      const value = read.get(column);
      if (value === undefined) return [{ column, comparator: "NOT_EXIST" }];
      return isShort(value) ? [{ column, comparator: "EQUAL", value: inputOf(value), passIfMissing: false }] : [];
    })
    .slice(0, MOST_COMPARISONS);
  const [first] = filters;
  return { rowExistence: "EXPECT_EXIST", ...(first === undefined ? {} : { column: filters.length === 1 ? first : { operator: "AND", filters } }) };
}
