/** Iterators, live queries and consumer groups whose code is loaded when they are used. */

import type { ConsumerGroup } from "../types/consumer.js";
import type { CountSnapshot, LiveSnapshot } from "../types/live.js";
import { once } from "../client/code.js";

/** What a live query shows before its first rows. */
export const NONE: LiveSnapshot = /* @__PURE__ */ Object.freeze({ rows: undefined, changed: Object.freeze([]) as readonly [], error: undefined });

/** What a live count shows before it has counted. */
export const UNCOUNTED: CountSnapshot = /* @__PURE__ */ Object.freeze({ count: undefined, error: undefined });

/** An iterator that is made by its first call of `next`. */
export function lazyIterator<T>(make: () => Promise<AsyncIterableIterator<T>>): AsyncIterableIterator<T> {
  const load = once(make);
  let begun = false;
  let over = false;
  const ended = { done: true, value: undefined } as const;
  return {
    async next() {
      if (over) return ended;
      begun = true;
      const reader = await load();
      if (!over) return reader.next();
      await reader.return?.();
      return ended;
    },
    async return() {
      over = true;
      if (begun)
        await load().then(
          (reader) => reader.return?.(),
          () => {},
        );
      return ended;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** What shows something live: rows, or their number. */
interface Live<S, V> {
  subscribe(listener: () => void): () => void;
  getSnapshot(): S;
  [Symbol.asyncIterator](): AsyncIterableIterator<V>;
}

/** A live query that is made when somebody reads it. Before that it shows `none`. */
export function lazyLive<S extends { readonly error: unknown }, V>(make: () => Promise<Live<S, V>>, none: S): Live<S, V> {
  let live: Live<S, V> | undefined;
  let shown = none;
  const load = once(async () => (live = await make()));
  return {
    subscribe(listener) {
      // What changes from now on must be told.
      if (live !== undefined) return live.subscribe(listener);
      let over = false;
      let end = (): void => {};
      load().then(
        (live) => {
          if (!over) end = live.subscribe(listener);
        },
        (error: unknown) => {
          shown = { ...none, error };
          if (!over) listener();
        },
      );
      return () => {
        over = true;
        end();
      };
    },
    getSnapshot: () => live?.getSnapshot() ?? shown,
    [Symbol.asyncIterator]: () => lazyIterator(async () => (await load())[Symbol.asyncIterator]()),
  };
}

/** A consumer group that is made when somebody uses it. */
export function lazyGroup(make: () => Promise<ConsumerGroup>): ConsumerGroup {
  return {
    [Symbol.asyncIterator]: () => lazyIterator(async () => (await make())[Symbol.asyncIterator]()),
    describe: async (options) => (await make()).describe(options),
    delete: async (options) => (await make()).delete(options),
  };
}
