/** Signals that cancel calls. */

import { has } from "../codec/check.js";
import { kindOf } from "../codec/kinds.js";
import { invalid, local } from "../types/errors.js";
import type { CallOptions } from "../types/rows.js";

/** The members of {@link CallOptions}. */
export const SIGNAL: ReadonlySet<string> = new Set(["signal"]);

/** The signal among a call's options. */
export function signalOf(options: CallOptions | undefined | null): AbortSignal | undefined {
  const signal: unknown = typeof options === "object" && options !== null && has(options, "signal") ? options.signal : undefined;
  if (signal !== undefined && typeof (signal as AbortSignal | null)?.addEventListener !== "function")
    throw invalid(`The argument 'signal' is ${kindOf(signal)}; it must be an AbortSignal.`);
  return signal as AbortSignal | undefined;
}

/** The rejection of an aborted signal. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? local("Aborted", "The call was given up.");
}

/** What waits for a signal. Each signal has one listener of ours: Node warns of an eleventh, as if it were forgotten. */
const waiting = new WeakMap<AbortSignal, { readonly waits: Set<() => void>; readonly run: () => void }>();

/** Calls `abort` once, when the signal aborts. Gives a function that ends the wait. */
export function whenAborted(signal: AbortSignal | undefined, abort: () => void): () => void {
  if (signal === undefined) return () => {};
  let all = waiting.get(signal);
  if (all === undefined) {
    const waits = new Set<() => void>();
    all = { waits, run: () => waits.forEach((one) => one()) };
    waiting.set(signal, all);
    signal.addEventListener("abort", all.run, { once: true });
  }
  const { waits, run } = all;
  // Of its own, if the same function waits twice.
  const one = (): void => abort();
  waits.add(one);
  return () => {
    if (!waits.delete(one) || waits.size > 0) return;
    signal.removeEventListener("abort", run);
    waiting.delete(signal);
  };
}

/** The result of `answer`, unless the signal aborts first. */
export function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return answer;
  return new Promise((resolve, reject) => {
    answer.then(resolve, reject).finally(whenAborted(signal, () => reject(abortReason(signal))));
  });
}
