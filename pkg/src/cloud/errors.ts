/** The errors of a connection: those that the service gives, and those of the way to it. */

import { TabStoreError } from "../types/errors.js";
import { mayRepeat } from "./retry.js";

/** An answer that is none: the way damaged it, or another server gave it. */
export function damaged(what: string, options?: ErrorOptions): TabStoreError {
  const message = `The answer of the service is damaged: ${what}.`;
  return new TabStoreError({ code: "OTSInternalServerError", status: 502, retryable: true, message }, options);
}

/** No answer came. */
export function unreachable(message: string, hint: string | undefined, options?: ErrorOptions): TabStoreError {
  return new TabStoreError({ code: "Unavailable", status: 503, retryable: true, message, hint }, options);
}

/** An error of a call that may not be done twice: it is not to be repeated if its outcome is unknown. */
export const ofWrite = (error: unknown): unknown =>
  error instanceof TabStoreError && error.retryable && !mayRepeat(error, false)
    ? new TabStoreError({ ...error, message: error.message, retryable: false }, error)
    : error;

/** What an instance of the service lacks. `hint` says what to do instead. */
export function unsupported(what: string, hint: string): TabStoreError {
  return new TabStoreError({
    code: "Unsupported",
    status: 501,
    retryable: false,
    message: `${what} is not possible through a connection to the service.`,
    hint,
  });
}
