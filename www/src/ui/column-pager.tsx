/** Which columns of a wide table are shown, and buttons to the others. Nothing where all of them are. */

import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import { columnPage } from "../lib/columns.ts";
import { count } from "../lib/format.ts";
import { PageButton } from "./page-button.tsx";

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
  const pager =
    names.length === all.length ? null : (
      <div class="row column-pager" role="group" aria-label="Columns shown">
        <span role="status" class="pager-place">{`Columns ${count(first + 1)} to ${count(end)} of ${count(all.length)}: ${names[0]} … ${names.at(-1)}`}</span>
        <div class="button-group push">
          <PageButton icon="first" label="First columns" disabled={first === 0} onClick={() => setNear(0)} />
          <PageButton icon="previous" label="Previous columns" disabled={first === 0} onClick={() => setNear(first - most)} />
          <PageButton icon="next" label="Next columns" disabled={end === all.length} onClick={() => setNear(end)} />
          <PageButton icon="last" label="Last columns" disabled={end === all.length} onClick={() => setNear(all.length - 1)} />
        </div>
      </div>
    );
  return { names, pager };
}
