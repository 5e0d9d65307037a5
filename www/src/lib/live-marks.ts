/** What has changed between two readings of the same rows. */

import type { Row } from "tabstore";

import { sameCells } from "./row-changes.ts";

/** The changes, by the ids of the rows. */
export interface Marks {
  /** The columns that changed in rows that are there. A row that came has all of its columns, and is here without any too. */
  readonly columns: ReadonlyMap<string, ReadonlySet<string>>;
  readonly came: number;
  readonly changed: number;
  readonly went: number;
}

/** Nothing has changed. */
export const NO_MARKS: Marks = { columns: new Map(), came: 0, changed: 0, went: 0 };

function changedColumns(before: Row | undefined, after: Row): ReadonlySet<string> {
  // A row with bytes makes these objects anew each time.
  const was = before?.columns ?? {};
  const is = after.columns;
  return new Set([...(before?.columnNames ?? []), ...after.columnNames].filter((name) => !sameCells({ cells: was[name] ?? [] }, { cells: is[name] ?? [] })));
}

/** The changes from one reading to the next. A row that has not changed may be the same object. */
export function marksOf(before: readonly Row[], after: readonly Row[], idOf: (row: Row) => string): Marks {
  const was = new Map(before.map((row) => [idOf(row), row]));
  const columns = new Map<string, ReadonlySet<string>>();
  let came = 0;
  for (const row of after) {
    const id = idOf(row);
    const old = was.get(id);
    was.delete(id);
    if (old === row) continue;
    const changed = changedColumns(old, row);
    if (old === undefined) came += 1;
    if (old === undefined || changed.size > 0) columns.set(id, changed);
  }
  return { columns, came, changed: columns.size - came, went: was.size };
}

/** The changes in words; an empty text if there are none. */
export function marksText({ came, changed, went }: Marks): string {
  const said = [...(changed > 0 ? [`${changed} changed`] : []), ...(came > 0 ? [`${came} came`] : []), ...(went > 0 ? [`${went} went`] : [])];
  return said.length === 0 ? "" : `Just now: ${said.join(", ")}`;
}
