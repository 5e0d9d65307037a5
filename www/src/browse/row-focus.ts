/** The keyboard in a grid whose rows open: arrow keys move between them, and a row that is deleted leaves the focus to the next. */

import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

import { lostInside } from "../ui/focus.ts";

/** Moves the focus to the row above or below. */
export function moveFocus(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? "nextElementSibling" : event.key === "ArrowUp" ? "previousElementSibling" : undefined;
  if (step === undefined || !(event.target instanceof HTMLElement)) return;
  const button = event.target.closest("tr")?.[step]?.querySelector("button");
  if (!(button instanceof HTMLElement)) return;
  event.preventDefault();
  button.focus();
}

/** The body of a grid with these rows, and what each row tells when it gets the focus: its place. */
export function useRowFocus(rows: readonly unknown[]): { readonly body: RefObject<HTMLTableSectionElement | null>; readonly focused: (place: number) => void } {
  const body = useRef<HTMLTableSectionElement>(null);
  const last = useRef(0);
  useLayoutEffect(() => {
    const shown = body.current;
    if (shown !== null && lostInside(shown)) shown.rows[Math.min(last.current, rows.length - 1)]?.querySelector("button")?.focus();
  }, [rows]);
  return {
    body,
    focused: (place) => {
      last.current = place;
    },
  };
}

/** The cell of a row that has a column; nothing if the column is not drawn. Names of columns may have any characters. */
export function cellOf(row: HTMLTableRowElement | null | undefined, column: string | undefined): HTMLTableCellElement | undefined {
  return row == null || column === undefined ? undefined : [...row.cells].find(({ dataset }) => dataset.column === column);
}

/**
 * Keeps the focus in its cell when other columns are drawn: elements that are moved lose it. Only where columns come and go; elsewhere the
 * cells stay.
 */
export function useFocusedCell(body: RefObject<HTMLTableSectionElement | null>, moves: boolean): void {
  // Before anything is drawn.
  const active = moves ? document.activeElement : null;
  const cell = active instanceof HTMLTableCellElement && body.current?.contains(active) === true ? active : undefined;
  const column = cell?.dataset.column;
  const row = cell?.closest("tr");
  useLayoutEffect(() => {
    if (cell === undefined || document.activeElement !== document.body) return;
    cellOf(row, column)?.focus({ preventScroll: true });
  });
}
