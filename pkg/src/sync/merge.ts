/**
 * Decides what a row is to be on both sides. Pure.
 *
 * What only one side has changed goes to the other one. Where both have changed a cell:
 * - two values of one version: the larger one stays ({@link compareValues});
 * - a value, and a deletion of its version, column or row: the value stays if its version is later than the deletion, by the clock of the
 *   side that has deleted.
 * What a side shows is newer than its records, or as new. So its words count only where it shows something else because of the job.
 */

import { type Columns, compareValues, isSame, newest, type TypedValue, type Versions } from "./cells.js";
import type { History, Opinion } from "./history.js";

/** A side of the merge. */
export interface MergeSide {
  /** The cells that it shows; `null`: it has no such row. */
  readonly columns: Columns | null;
  /** What its records say. */
  readonly history: History;
  /** Whether the job may have written to the row since the last of these records. */
  readonly isUncertain: boolean;
}

/** What the row is to be. */
export interface Merged {
  /** The columns that are decided; the others stay on each side as they are. */
  readonly columns: Columns;
  /** Whether the row is to be there if it has no cells at all. */
  readonly exists: boolean;
  /** Cells that both sides had changed, to different ends. */
  readonly conflicts: number;
}

/** A word that a side stands by: a value, or that there is none. */
interface Claim {
  readonly value: TypedValue | undefined;
  readonly time: number;
}

/** The cells of a column as the application has left them on a side, without what the job has undone. */
function left({ columns, history, isUncertain }: MergeSide, name: string): Versions {
  const versions: Versions = new Map(columns?.get(name));
  for (const [version, { value, time, isUndone }] of history.cells.get(name) ?? []) {
    if (value !== undefined) {
      if (isUndone || (isUncertain && !versions.has(version))) versions.set(version, value);
    } else if (isUndone && time >= version) {
      versions.delete(version);
    }
  }
  return versions;
}

/** What a side says about a cell. What it shows is newer than its record; what it does not show yet may have been put since it was read. */
const claim = (opinion: Opinion | undefined, value: TypedValue | undefined): Claim | undefined =>
  opinion && { value: value ?? opinion.value, time: opinion.time };

/** The value of two claims, if one stays. */
function settle(a: Claim, b: Claim, version: number): TypedValue | undefined {
  if (a.value !== undefined && b.value !== undefined) return compareValues(a.value, b.value) < 0 ? b.value : a.value;
  const [put, deleted] = a.value === undefined ? [b, a] : [a, b];
  return put.value !== undefined && version > deleted.time ? put.value : undefined;
}

/** A column that both sides have changed. */
function both(a: MergeSide, b: MergeSide, name: string): { readonly versions: Versions; readonly conflicts: number } {
  const [ofA, ofB] = [left(a, name), left(b, name)];
  const versions: Versions = new Map();
  let conflicts = 0;
  const all = new Set([...ofA.keys(), ...ofB.keys()]);
  for (const version of all) {
    const [valueA, valueB] = [ofA.get(version), ofB.get(version)];
    const [claimA, claimB] = [claim(a.history.opinion(name, version), valueA), claim(b.history.opinion(name, version), valueB)];
    let value: TypedValue | undefined;
    if (claimA !== undefined && claimB !== undefined) {
      value = settle(claimA, claimB, version);
      if (!isSame(valueA, valueB)) conflicts += 1;
    } else {
      // Without a word of either, both keep what one of them has: deletions beside it may have taken hidden versions along.
      value = claimA !== undefined ? claimA.value : claimB !== undefined ? claimB.value : larger(valueA, valueB);
    }
    if (value !== undefined) versions.set(version, value);
  }
  return { versions, conflicts };
}

/** A column that one side has changed. What only the other one shows stays, unless it was deleted: the first may never have had it. */
function alone(side: MergeSide, other: MergeSide, name: string): Versions {
  const versions = left(side, name);
  for (const [version, value] of other.columns?.get(name) ?? []) {
    const opinion = side.history.opinion(name, version);
    if (!versions.has(version) && (opinion === undefined || opinion.value !== undefined)) versions.set(version, value);
  }
  return versions;
}

const larger = (a: TypedValue | undefined, b: TypedValue | undefined): TypedValue | undefined =>
  a === undefined || (b !== undefined && compareValues(a, b) < 0) ? b : a;

/** Whether a side has the row, by the application's last word if the job has undone it. */
function stands({ columns, history: { existence }, isUncertain }: MergeSide): boolean {
  if (existence !== undefined && (existence.isUndone || (isUncertain && existence.exists))) return existence.exists;
  return columns !== null;
}

/** Whether the row stays without cells. */
function exists(a: MergeSide, b: MergeSide): boolean {
  if (!a.history.isChanged || !b.history.isChanged) return stands(a.history.isChanged ? a : b);
  const [ofA, ofB] = [a.history.existence, b.history.existence];
  if (ofA === undefined || ofB === undefined) return ofA?.exists ?? ofB?.exists ?? (stands(a) || stands(b));
  if (ofA.time === ofB.time) return ofA.exists || ofB.exists;
  return (ofA.time > ofB.time ? ofA : ofB).exists;
}

/** Merges what the application has changed on two sides. `maxVersions`: of both. */
export function merge(a: MergeSide, b: MergeSide, maxVersions: number): Merged {
  const columns: Columns = new Map();
  let conflicts = 0;
  for (const name of new Set([...(a.columns?.keys() ?? []), ...(b.columns?.keys() ?? []), ...a.history.names, ...b.history.names])) {
    const [isOfA, isOfB] = [a.history.speaksOf(name), b.history.speaksOf(name)];
    if (!isOfA && !isOfB) continue;
    const decided = isOfA && isOfB ? both(a, b, name) : { versions: isOfA ? alone(a, b, name) : alone(b, a, name), conflicts: 0 };
    columns.set(name, newest(decided.versions, maxVersions));
    conflicts += decided.conflicts;
  }
  return { columns, exists: exists(a, b), conflicts };
}

/** Unites a row of both sides that is copied for the first time: nothing is deleted. `null`: the side has no such row. */
export function unite(a: Columns | null, b: Columns | null, maxVersions: number): Merged {
  const columns: Columns = new Map();
  for (const name of new Set([...(a?.keys() ?? []), ...(b?.keys() ?? [])])) {
    const versions: Versions = new Map(a?.get(name));
    for (const [version, value] of b?.get(name) ?? []) versions.set(version, larger(versions.get(version), value)!);
    columns.set(name, newest(versions, maxVersions));
  }
  return { columns, exists: true, conflicts: 0 };
}
