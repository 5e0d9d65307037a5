/** What became of a call of a database: what it cost, how long it took, why it failed. */

import { type Consumed, TabStoreError } from "tabstore";

import { isError, textMember, thrownText } from "./thrown.ts";

/** A call that has ended. */
export interface EndedCall {
  /** When it began. */
  readonly at: number;
  /** As the service names it: `PutRow`. */
  readonly operation: string;
  /** Its subject: a table, a row. */
  readonly subject: string;
  /** Its consumption, for operations that consume [C1]. */
  readonly consumed: Consumed | undefined;
  readonly ms: number;
  /** Why it failed. */
  readonly error: TabStoreError | undefined;
}

/** Whatever was thrown, as an error with a code and a message. */
export function asError(thrown: unknown): TabStoreError {
  if (!isError(thrown)) return new TabStoreError({ code: "Error", status: 0, retryable: false, message: thrownText(thrown) });
  if (thrown instanceof TabStoreError) return thrown;
  const [code, message] = [textMember(thrown, "name") ?? "Error", textMember(thrown, "message") ?? thrownText(thrown)];
  return new TabStoreError({ code, status: 0, retryable: false, message });
}

/** Makes a call, and gives it to `note` once it has ended, also when it fails; the error goes on to the caller. */
export async function timed<T>(operation: string, subject: string, call: () => Promise<T>, note: (ended: EndedCall) => void): Promise<T> {
  const at = Date.now();
  const began = performance.now();
  const end = (consumed: Consumed | undefined, error?: TabStoreError) => note({ at, operation, subject, consumed, ms: performance.now() - began, error });
  try {
    const result = await call();
    end((result as { consumed?: Consumed } | undefined)?.consumed);
    return result;
  } catch (thrown) {
    end(undefined, asError(thrown));
    throw thrown;
  }
}
