/** Changes of cells that a person has typed in the grid and not saved: by row, each with the row as it was read. */

import type { Attributes, Row, UpdateRow, ValueType } from "tabstore";

import { counted } from "./format.ts";
import type { RowColumn } from "./row-changes.ts";
import { parse, text, typeOf } from "./values.ts";

/** What a cell is to be: a text of a type, or no value at all. */
export type CellEdit = { readonly type: ValueType; readonly text: string; readonly gone?: undefined } | { readonly gone: true };

/** The changes of a row. */
export interface RowEdit {
  /** The row as it was read when its first cell was typed: the newest value of each column. */
  readonly read: Row;
  readonly cells: ReadonlyMap<string, CellEdit>;
  /** What is stored, if a save has found that it is not as it was read; `null`: the row is gone. */
  readonly now?: Row | null | undefined;
  /** Why the last save of it failed otherwise. */
  readonly error?: unknown;
}

/** The changes of a table, by the ids of the rows. */
export type Edits = ReadonlyMap<string, RowEdit>;

/** No changes. */
export const NO_EDITS: Edits = new Map();

/** Whether an edit is what was read. */
function isAsRead(read: Row, column: string, edit: CellEdit): boolean {
  const value = read.get(column);
  if (edit.gone) return value === undefined;
  if (value === undefined || typeOf(value) !== edit.type) return false;
  try {
    return text(value) === text(newValue(edit));
  } catch {
    return false;
  }
}

/** The value that an edit puts, as it will be read. */
function newValue({ type, text: typed }: Exclude<CellEdit, { gone: true }>) {
  const value = parse(type, typed);
  return typeof value === "object" && !(value instanceof Uint8Array) ? Number(typed) : value;
}

/** The changes with one more. Throws an error for a text that is no value of its type. An edit that changes nothing is none. */
export function withEdit(edits: Edits, id: string, row: Row, column: string, edit: CellEdit): Edits {
  if (!edit.gone) parse(edit.type, edit.text);
  const before = edits.get(id) ?? { read: row, cells: new Map<string, CellEdit>() };
  const cells = new Map(before.cells);
  if (isAsRead(before.read, column, edit)) cells.delete(column);
  else cells.set(column, edit);
  const next = new Map(edits);
  if (cells.size === 0) next.delete(id);
  else next.set(id, { read: before.read, cells, ...(before.now === undefined ? {} : { now: before.now }) });
  return next;
}

/** How many changes there are: `3 changes in 2 rows`. */
export function editsText(edits: Edits): string {
  const cells = [...edits.values()].reduce((sum, one) => sum + one.cells.size, 0);
  return `${counted(cells, "change")} in ${counted(edits.size, "row")}`;
}

/** The change of a row that its edits stand for. */
export function updateOf({ cells }: RowEdit): Pick<UpdateRow, "put" | "deleteColumns"> {
  const put: Record<string, Attributes[string]> = {};
  const deleteColumns: string[] = [];
  for (const [name, edit] of cells) {
    if (edit.gone) deleteColumns.push(name);
    else put[name] = parse(edit.type, edit.text);
  }
  return { ...(Object.keys(put).length === 0 ? {} : { put }), ...(deleteColumns.length === 0 ? {} : { deleteColumns }) };
}

/** A cell of a row, to show it; nothing where there is no such column. */
export function cellOf(row: Row | null, name: string): RowColumn | undefined {
  const value = row?.get(name);
  return value === undefined ? undefined : { name, type: typeOf(value), text: text(value), cells: [] };
}
