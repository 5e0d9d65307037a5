/** How many writes were acknowledged: written down at each answer, so that a page that was killed can be asked for them. */

const PLACE = "tabstore-console-show";

/** Writes it down at once: what a page has put there is there after its end. */
export function keepMark(acknowledged: number): void {
  try {
    sessionStorage.setItem(PLACE, String(acknowledged));
  } catch {
    // Then the show begins anew after a reload.
  }
}

/** What was written down; nothing if the show has not run in this tab. */
export function readMark(): number | undefined {
  try {
    const kept = sessionStorage.getItem(PLACE);
    return kept !== null && /^\d+$/.test(kept) ? Number(kept) : undefined;
  } catch {
    return undefined;
  }
}

/** Forgets it. */
export function forgetMark(): void {
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // There is none.
  }
}
