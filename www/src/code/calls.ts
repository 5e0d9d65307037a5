/**
 * A database as a program sees it: its calls are told of to the page, which writes them down as all of the console's, and an error has the
 * place of the call. The engine answers in a message, so the error's own stack does not name it.
 */

import type { Consumed, Database } from "tabstore";

import { OPERATIONS, subjectOf } from "../lib/operations.ts";
import type { MadeCall } from "./messages.ts";

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
export function watched(db: Database, note: (call: MadeCall) => void): Database {
  const noted = async (method: string, work: Promise<object>, given: unknown[]) => {
    const at = Date.now();
    const began = performance.now();
    const end = (consumed: Consumed | undefined, error?: MadeCall["error"]) =>
      note({ at, method, subject: subjectOf(db, given), consumed, ms: performance.now() - began, error });
    try {
      const result = await work;
      end((result as { consumed?: Consumed } | undefined)?.consumed);
      return result;
    } catch (thrown) {
      const { code, name, message } = thrown as { code?: string; name?: string; message?: string };
      end(undefined, [code ?? name ?? "Error", message ?? String(thrown)]);
      throw thrown;
    }
  };
  return new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]) => {
        const call = new Error("a call");
        const result = (value as Method).apply(target, given);
        if (isIterable(result)) return placedSteps(result, call);
        if (!(result instanceof Promise)) return result;
        return OPERATIONS.has(String(name)) ? noted(String(name), placed(result as Promise<object>, call), given) : placed(result, call);
      };
    },
  });
}
