/** Calls of one argument refuse a second one, which JavaScript would drop without a word. */

import { invalid } from "../types/errors.js";

type Method = (this: unknown, ...given: unknown[]) => unknown;

/**
 * Lets each method of one parameter, without a default for a second one, refuse an object or a function behind it: a signal or a callback, as other libraries
 * take them there. What else stands there is left alone, so `requests.map((one) => …)` and its like may pass an index.
 * The iterators named in `throwing` throw; the others reject.
 */
export function takeOneArgument(prototype: object, throwing: readonly string[]): void {
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    if (typeof value !== "function" || value.length !== 1 || name === "constructor") continue;
    const method = value as Method;
    Object.defineProperty(prototype, name, {
      configurable: true,
      writable: true,
      value(this: unknown, first: unknown, second?: unknown): unknown {
        if (second === undefined || Object(second) !== second || Array.isArray(second)) return method.call(this, first);
        const error = invalid(
          typeof second === "function"
            ? `${name} takes no function: await its result.`
            : `${name} takes one argument: write the signal, and what else it takes, into that.`,
        );
        if (throwing.includes(name)) throw error;
        return Promise.reject(error);
      },
    });
  }
}
