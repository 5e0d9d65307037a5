/** The columns of a grid: all of them, or of a wide table those in sight, with buttons that scroll to the others. */

import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

import { COLUMN_WIDTH, columnWindow, isWide, KEY_WIDTH, leftOf } from "../lib/column-window.ts";
import { count } from "../lib/format.ts";
import { PageButton } from "../ui/page-button.tsx";

/** A table whose columns are not all drawn. */
interface Partly {
  /** The place of the first column that is drawn, from 0, and how many columns there are. */
  readonly first: number;
  readonly columns: number;
  /** The widths of the places before the drawn columns and behind them, and of the whole table, in CSS pixels. */
  readonly before: number;
  readonly after: number;
  readonly width: number;
}

/** The columns that are drawn. */
interface ShownColumns {
  readonly names: readonly string[];
  /** Nothing if they are all. */
  readonly partly: Partly | undefined;
  readonly pager: ComponentChildren;
}

/** The props of the buttons. */
interface PagerProps {
  readonly all: readonly string[];
  readonly from: number;
  readonly to: number;
  readonly onGo: (column: number) => void;
}

function Pager({ all, from, to, onGo }: PagerProps) {
  const most = to - from;
  return (
    <div class="row column-pager" role="group" aria-label="Columns shown">
      <span role="status" class="pager-place">{`Columns ${count(from + 1)} to ${count(to)} of ${count(all.length)}: ${all[from]} … ${all[to - 1]}`}</span>
      <div class="button-group push">
        <PageButton icon="first" label="First columns" disabled={from === 0} onClick={() => onGo(0)} />
        <PageButton icon="previous" label="Previous columns" disabled={from === 0} onClick={() => onGo(Math.max(from - most, 0))} />
        <PageButton icon="next" label="Next columns" disabled={to === all.length} onClick={() => onGo(to)} />
        <PageButton icon="last" label="Last columns" disabled={to === all.length} onClick={() => onGo(all.length - most)} />
      </div>
    </div>
  );
}

/**
 * The columns, by their names in order, of a table with so many rows and key columns that scrolls in `place`. While it is `held` the same
 * ones stay: in one of them a person types.
 */
export function useColumnWindow(
  all: readonly string[],
  rows: number,
  keys: number,
  place: RefObject<HTMLElement | null>,
  held: boolean,
): ShownColumns & { readonly onScroll: () => void } {
  const [sight, setSight] = useState({ left: 0, width: 1000 });
  const wide = isWide(all.length, rows);
  const { first, end, from, to } = columnWindow(all.length, { ...sight, keys });
  const look = () => {
    const element = place.current;
    if (element === null || !wide || held) return;
    const now = { left: element.scrollLeft, width: element.clientWidth };
    const next = columnWindow(all.length, { ...now, keys });
    // Not for every pixel.
    if (next.from !== from || next.to !== to) setSight(now);
  };
  useLayoutEffect(() => {
    look();
    const element = place.current;
    if (!wide || element === null) return;
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  });
  if (!wide) return { names: all, partly: undefined, pager: null, onScroll: look };
  const go = (column: number) => place.current?.scrollTo({ left: leftOf(column, keys) });
  return {
    names: all.slice(first, end),
    partly: {
      first,
      columns: all.length,
      before: first * COLUMN_WIDTH,
      after: (all.length - end) * COLUMN_WIDTH,
      width: keys * KEY_WIDTH + all.length * COLUMN_WIDTH,
    },
    pager: <Pager all={all} from={from} to={to} onGo={go} />,
    onScroll: look,
  };
}

/** The widths of the columns, where they are not those of their values. */
export function ColumnWidths({ partly, keys, drawn }: { readonly partly: Partly; readonly keys: number; readonly drawn: number }) {
  const column = (key: string, width: number) => <col key={key} style={{ width: `${width}px` }} />;
  return (
    <colgroup>
      {Array.from({ length: keys }, (_, at) => column(`key ${at}`, KEY_WIDTH))}
      {partly.before > 0 && column("before", partly.before)}
      {Array.from({ length: drawn }, (_, at) => column(String(at), COLUMN_WIDTH))}
      {partly.after > 0 && column("after", partly.after)}
    </colgroup>
  );
}

/** The place of columns that are not drawn. */
export function Skipped({ width }: { readonly width: number | undefined }) {
  return width === undefined || width === 0 ? null : <td class="skipped" aria-hidden="true" />;
}
