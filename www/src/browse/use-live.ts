/** A page that follows what others write: in this tab, in another one, in another program. */

import { useLayoutEffect, useState } from "preact/hooks";
import type { Row } from "tabstore";

import { keyId } from "../lib/keys.ts";
import { type Marks, marksOf, NO_MARKS } from "../lib/live-marks.ts";
import { database } from "../state/session.ts";
import type { Page, View } from "./paging.ts";

/** How long a mark is seen. */
const MARK_MS = 6000;
/** A page that was searched for longer than this is not read again to follow it. */
const MOST_UNITS = 1000;

/** Whether a page is followed. */
export function isFollowed({ consumed }: Page): boolean {
  return consumed.read <= MOST_UNITS;
}

/** Follows the rows of a page between its ends, so that no place jumps. Gives the marks of what has changed lately. */
export function useLive(view: View | undefined, page: Page | undefined, on: boolean, onRows: (of: Page, rows: readonly Row[]) => void): Marks {
  const [marks, setMarks] = useState(NO_MARKS);
  const { from, next } = page ?? {};
  // At once, not after the next frame: what comes behind a click on "Live" is not shown any more.
  useLayoutEffect(() => {
    if (!on || view === undefined || page?.view !== view || !isFollowed(page)) return;
    const { tableName, schema, direction, filter, limit } = view;
    const start = from ?? view.start;
    const end = next ?? view.end;
    const ends = { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) };
    const most = next === undefined ? { limit } : {};
    const live = database().watch({ tableName, direction, ...ends, ...most, ...(filter === undefined ? {} : { filter }) });
    let shown = page.rows;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = () => {
      const { rows } = live.getSnapshot();
      if (rows === undefined) return;
      const found = marksOf(shown, rows, (row) => keyId(schema, row.primaryKey));
      shown = rows;
      if (found.columns.size + found.went === 0) return;
      onRows(page, rows);
      setMarks(found);
      clearTimeout(timer);
      timer = setTimeout(() => setMarks(NO_MARKS), MARK_MS);
    };
    const stop = live.subscribe(look);
    return () => {
      clearTimeout(timer);
      stop();
      setMarks(NO_MARKS);
    };
  }, [view, from, next, page?.view, on]);
  return marks;
}
