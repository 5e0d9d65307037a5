/** Which columns of a wide table are shown, and buttons to the others. Nothing where all of them are. */

import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import { columnPage } from "../lib/columns.ts";
import { count } from "../lib/format.ts";
import { PageButton } from "./page-button.tsx";

/** The props of the buttons. */
interface ColumnPagerProps {
  readonly all: readonly string[];
  /** The columns that are shown: from `from`, counted from 0, and before `to`. */
  readonly from: number;
  readonly to: number;
  /** How many are shown at a time. */
  readonly most: number;
  /** Shows a column, with others beside it. */
  readonly onGo: (column: number) => void;
}

/** The buttons, and the columns by their places and names. */
export function ColumnPager({ all, from, to, most, onGo }: ColumnPagerProps) {
  return (
    <div class="row column-pager" role="group" aria-label="Columns shown">
      <span role="status" class="pager-place">{`Columns ${count(from + 1)} to ${count(to)} of ${count(all.length)}: ${all[from]} … ${all[to - 1]}`}</span>
      <div class="button-group push">
        <PageButton icon="first" label="First columns" disabled={from === 0} onClick={() => onGo(0)} />
        <PageButton icon="previous" label="Previous columns" disabled={from === 0} onClick={() => onGo(Math.max(from - most, 0))} />
        <PageButton icon="next" label="Next columns" disabled={to === all.length} onClick={() => onGo(to)} />
        <PageButton icon="last" label="Last columns" disabled={to === all.length} onClick={() => onGo(all.length - 1)} />
      </div>
    </div>
  );
}

/** The columns that are shown, and the buttons. */
export interface ShownColumns {
  readonly names: readonly string[];
  readonly pager: ComponentChildren;
}

/** The columns, by their sorted names, that a grid with so many rows shows. */
export function useColumns(all: readonly string[], rows: number): ShownColumns {
  const [near, setNear] = useState(0);
  const { first, end, most } = columnPage(all.length, rows, near);
  const names = all.slice(first, end);
  return { names, pager: names.length === all.length ? null : <ColumnPager all={all} from={first} to={end} most={most} onGo={setNear} /> };
}
