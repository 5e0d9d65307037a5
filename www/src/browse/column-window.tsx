/** The columns of a grid: all of them, or of a wide table those in sight, with buttons that scroll to the others. */

import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

import { COLUMN_WIDTH, columnWindow, isWide, KEY_WIDTH, leftOf } from "../lib/column-window.ts";
import { ColumnPager, type ShownColumns } from "../ui/column-pager.tsx";

/** A table whose columns are not all drawn. */
export interface Partly {
  /** The place of the first column that is drawn, from 0, and how many columns there are. */
  readonly first: number;
  readonly columns: number;
  /** The widths of the places before the drawn columns and behind them, and of the whole table, in CSS pixels. */
  readonly before: number;
  readonly after: number;
  readonly width: number;
}

/** The columns that are drawn. */
interface DrawnColumns extends ShownColumns {
  /** Nothing if they are all. */
  readonly partly: Partly | undefined;
  readonly onScroll: () => void;
}

/**
 * The columns, by their names in order, of a table with so many rows and key columns that scrolls in `place`. While it is `held` the same
 * ones stay: in one of them a person types.
 */
export function useColumnWindow(all: readonly string[], rows: number, keys: number, place: RefObject<HTMLElement | null>, held: boolean): DrawnColumns {
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
    pager: <ColumnPager all={all} from={from} to={to} most={to - from} onGo={go} />,
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
