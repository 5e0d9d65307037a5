/** Waits in tests until what was sent has arrived. */

/**
 * Waits so many milliseconds, and then until ports have been read twice: on a busy machine a timer may end before the messages that came
 * meanwhile are looked at.
 */
export async function turn(ms = 1): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
  for (let i = 0; i < 2; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits until something holds; fails after 20 seconds, with `what` there is instead. */
export async function until(holds: () => boolean, what: () => string = () => "it does not hold"): Promise<void> {
  for (const end = Date.now() + 20_000; !holds(); await turn()) if (Date.now() > end) throw new Error(what());
}
