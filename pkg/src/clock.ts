/** A clock of the caller, for tests and lessons [V10]. */

import { kindOf } from "./codec/value.js";
import { invalid } from "./errors.js";

/** What a clock of the caller says. */
export function readClock(clock: () => number): number {
  const now = clock();
  if (!Number.isSafeInteger(now)) throw invalid(`The function given as 'clock' returned ${typeof now === "number" ? now : kindOf(now)}; it must return an integer: milliseconds since 1970 UTC.`);
  return now;
}
