/** The keyboard in the grid of rows: arrow keys move between its cells. */

import { useLayoutEffect } from "preact/hooks";

/** What of a row can have the focus, from left to right. */
const PLACES = 'button.open-row, input[type="checkbox"], td[tabindex]';

function placesOf(row: Element | null | undefined): readonly HTMLElement[] {
  return row == null ? [] : [...row.querySelectorAll<HTMLElement>(PLACES)];
}

/** Moves the focus to the cell beside, above or below. */
export function moveBetweenCells(event: KeyboardEvent): void {
  if (!(event.target instanceof HTMLElement) || !event.target.matches(PLACES)) return;
  const row = event.target.closest("tr");
  const here = placesOf(row);
  const at = here.indexOf(event.target);
  const moves: Readonly<Record<string, () => HTMLElement | undefined>> = {
    ArrowLeft: () => here[at - 1],
    ArrowRight: () => here[at + 1],
    ArrowUp: () => placesOf(row?.previousElementSibling)[at],
    ArrowDown: () => placesOf(row?.nextElementSibling)[at],
  };
  const to = moves[event.key]?.();
  if (to === undefined) return;
  event.preventDefault();
  to.focus();
}

/** Keeps the cell that has the focus in sight when a bar appears below the rows, and they get less room. */
export function useCellInSight(): void {
  useLayoutEffect(() => document.activeElement?.closest(".browser tbody td")?.scrollIntoView({ block: "nearest", inline: "nearest" }), []);
}
