/** A clock of the caller, for tests and lessons [V10]. */

import { kindOf, shown } from "../codec/kinds.js";
import { invalid } from "../types/errors.js";

const WHAT = "it must return an integer: milliseconds since 1970 UTC.";

/** The time of a caller's clock. Throws an error that names the clock if it throws or returns no time. */
export function readClock(clock: () => number): number {
  let now: unknown;
  try {
    now = clock();
  } catch (error) {
    throw invalid(`The function given as 'clock' threw ${error instanceof Error ? `'${error.message}'` : shown(error)}; ${WHAT}`, undefined, { cause: error });
  }
  if (!Number.isSafeInteger(now)) throw invalid(`The function given as 'clock' returned ${typeof now === "number" ? now : kindOf(now)}; ${WHAT}`);
  return now as number;
}
