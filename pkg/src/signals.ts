/** Signals that cancel calls. */

import { has } from "./codec/check.js";
import { kindOf } from "./codec/kinds.js";
import { invalid, local } from "./errors.js";
import type { CallOptions } from "./types.js";

/** The members of {@link CallOptions}. */
export const SIGNAL: ReadonlySet<string> = new Set(["signal"]);

/** The signal among a call's options. */
export function signalOf(options: CallOptions | undefined | null): AbortSignal | undefined {
  const signal: unknown = typeof options === "object" && options !== null && has(options, "signal") ? options.signal : undefined;
  if (signal !== undefined && typeof (signal as AbortSignal | null)?.addEventListener !== "function") throw invalid(`The argument 'signal' is ${kindOf(signal)}; it must be an AbortSignal.`);
  return signal as AbortSignal | undefined;
}

/** The rejection of an aborted signal. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? local("Aborted", "The call was given up.");
}

/** The result of `answer`, unless the signal aborts first. */
export function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return answer;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(abortReason(signal));
    signal.addEventListener("abort", abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
