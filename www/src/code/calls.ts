/**
 * A database as a program sees it: its calls are told of to the page, which writes them down as all of the console's, and an error has the
 * place of the call. The engine answers in a message, so the error's own stack does not name it.
 */

import type { Database } from "tabstore";

import { type EndedCall, timed } from "../lib/ended-call.ts";
import { OPERATIONS, subjectOf } from "../lib/operations.ts";

type Method = (...given: unknown[]) => unknown;

/** The stacks of the calls that errors come from. */
const places = new WeakMap<object, string>();

/** The stack of the call that an error comes from, if it was a call of a database. */
export function placeOf(error: unknown): string | undefined {
  return typeof error === "object" && error !== null ? places.get(error) : undefined;
}

/** Keeps the place of a call for its error, unless the error has one already. */
function keepPlace(error: unknown, { stack = "" }: Error): void {
  if (typeof error === "object" && error !== null && !places.has(error)) places.set(error, stack);
}

/** A promise whose error has the place. */
function placed<T>(work: Promise<T>, call: Error): Promise<T> {
  return work.catch((error: unknown) => {
    keepPlace(error, call);
    throw error;
  });
}

/** Something to iterate over whose errors have the place. */
function placedSteps<T extends AsyncIterable<unknown>>(iterable: T, call: Error): T {
  return new Proxy(iterable, {
    get(target, name) {
      if (name === Symbol.asyncIterator) {
        return () => {
          const steps = target[Symbol.asyncIterator]();
          return { next: () => placed(steps.next(), call), return: (value?: unknown) => steps.return?.(value) ?? Promise.resolve({ done: true, value }) };
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value as Method).bind(target) : value;
    },
  });
}

const isIterable = (value: unknown): value is AsyncIterable<unknown> => typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** The database; `note` hears of each call that has ended. */
export function watched(db: Database, note: (call: EndedCall) => void): Database {
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        const call = new Error("a call");
        const result = (value as Method).apply(target, given);
        if (isIterable(result)) return placedSteps(result, call);
        if (!(result instanceof Promise)) return result;
        const work = placed(result, call);
        const operation = OPERATIONS.get(String(name));
        return operation === undefined ? work : timed(operation, subjectOf(target, given), () => work, note);
      };
    },
  });
}
