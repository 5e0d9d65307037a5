/** Reads a source that may wait for ever. */

import { unlessAborted } from "../client/signals.js";
import { local, TabStoreError } from "../types/errors.js";

/** Waits for work, but no longer than the database is open. */
export type Guard = <T>(work: Promise<T>) => Promise<T>;

/**
 * The items of a source, until its signal aborts or the database ends: a source may wait for ever. `unlessEnded` watches
 * the database.
 */
export async function* guarded<T>(
  source: AsyncGenerator<T, void, undefined>,
  signal: AbortSignal | undefined,
  unlessEnded: Guard,
): AsyncGenerator<T, void, undefined> {
  let done = false;
  try {
    for (;;) {
      const next: IteratorResult<T, void> = await unlessEnded(unlessAborted(source.next(), signal));
      if (next.done) break;
      yield next.value;
    }
    done = true;
  } finally {
    // Not awaited: a generator ends only after the read that it waits for.
    if (!done) void source.return().catch(() => {});
  }
}

/** The error that ended an import. An error of the source's own code, or of a listener, is its cause. */
export function known(reason: unknown): TabStoreError {
  if (reason instanceof TabStoreError) return reason;
  return local("Aborted", `The import was given up: ${reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason)}`, { cause: reason });
}
