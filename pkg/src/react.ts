/**
 * React's hooks: the entry `tabstore/react`, beside any other entry. It needs React 18 or later.
 *
 * @packageDocumentation
 */

import { useMemo, useSyncExternalStore } from "react";

import type { Database } from "./types/database.js";
import { NONE, UNCOUNTED } from "./changes/lazy.js";
import type { CountSnapshot, LiveCount, LiveSnapshot, WatchRequest } from "./types/live.js";
import type { CountRowsRequest } from "./types/rows.js";
import type { LiveRowsOf, QuerySnapshot } from "./schema/types.js";

/** What can be shown live: a query or a table of a schema. */
export interface Watchable<R> {
  /** The rows, and again after each change. */
  watch(): LiveRowsOf<R>;
  /** What it asks for: two that ask the same are shown as one. */
  toJSON(): unknown;
  /** The open database that it belongs to. */
  readonly owner: object;
}

/** A table whose rows can be shown live, one by its key. */
export interface RowSource<R, K> extends Omit<Watchable<R>, "watch"> {
  /** The row with this key, and again after each change. */
  watch(key: K): LiveRowsOf<R>;
}

/** What has become of an opening. */
interface Opening {
  readonly value?: unknown;
  readonly error?: unknown;
}

/** A store of one opening, as `useSyncExternalStore` asks for. */
interface OpeningStore {
  readonly subscribe: (listener: () => void) => () => void;
  readonly getSnapshot: () => Opening;
}

/** While a database opens, and on a server. */
const OPENING: Opening = {};
const openings = new WeakMap<PromiseLike<unknown>, OpeningStore>();

/** Watches a promise once, for all components that show it. */
function openingOf(ready: PromiseLike<unknown>): OpeningStore {
  const known = openings.get(ready);
  if (known !== undefined) return known;
  const listeners = new Set<() => void>();
  let opening = OPENING;
  const become = (next: Opening): void => {
    opening = next;
    listeners.forEach((listener) => listener());
  };
  ready.then(
    (value) => become({ value }),
    (error: unknown) => become({ error: error ?? new Error("The database could not be opened.") }),
  );
  const store: OpeningStore = {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    getSnapshot: () => opening,
  };
  openings.set(ready, store);
  return store;
}

/**
 * A database that is being opened in a module: `const ready = open("shop", { schema })`. `undefined` until it is open, also on a server;
 * an error of the opening is thrown, for the error boundary above. With React 19 `use(ready)` does the same, and suspends.
 *
 * @param ready the same promise each time, so no component opens one while it renders.
 */
export function useDatabase<D>(ready: PromiseLike<D>): D | undefined {
  const { subscribe, getSnapshot } = openingOf(ready);
  const { value, error } = useSyncExternalStore(subscribe, getSnapshot, () => OPENING);
  if (error !== undefined) throw error;
  return value as D | undefined;
}

/** Equal for queries that ask for the same. */
function keyOf(query: unknown): string {
  return JSON.stringify(query, (_, value: unknown) => {
    if (Object.is(value, -0)) return { number: "-0" };
    if (typeof value === "bigint") return { bigint: String(value) };
    return value instanceof Uint8Array ? { bytes: [...value] } : value;
  });
}

/** What is shown live. */
interface Live<S> {
  subscribe(listener: () => void): () => void;
  getSnapshot(): S;
}

/** Shows what a database's query gives, or one of a schema, which has no `query`. Without a source it shows `none`. */
function useLive<S, T extends { readonly owner: object }>(
  source: Database | T | null | undefined,
  query: object | undefined,
  none: S,
  ofDatabase: (source: Database) => Live<S>,
  ofTyped: (source: T) => Live<S>,
): S {
  const isTyped = query === undefined && source !== undefined && source !== null;
  const owner = isTyped ? (source as T).owner : source;
  const key = keyOf(isTyped ? source : { ...query, signal: undefined });
  const live = useMemo((): Live<S> => {
    if (source === undefined || source === null) return { subscribe: () => () => {}, getSnapshot: () => none };
    const made = isTyped ? ofTyped(source as T) : ofDatabase(source as Database);
    return { subscribe: (listener) => made.subscribe(listener), getSnapshot: () => made.getSnapshot() };
  }, [owner, key]);
  return useSyncExternalStore(live.subscribe, live.getSnapshot, () => none);
}

/**
 * The rows of a live query, for a component: it renders again after each commit that changes them. The same rows are the same
 * objects, so `memo` works with them. The query may be written in place: only another content begins another one. While no
 * component with it is mounted, nothing is read.
 *
 * @param db the database; `undefined` or `null` while it opens. It may be a following tab's.
 * @param query as for {@link Database.watch}. Its signal is the first one that was given.
 * @returns `rows`, `undefined` until they are read for the first time; `changed`; `error` if the query has ended. On a server:
 * no rows.
 */
export function useRows(db: Database | null | undefined, query: WatchRequest): LiveSnapshot;
/**
 * The rows of a query or of a table of a schema, in the same way: `useRows(db?.note.by.byEdited.reverse().limit(20))`. The query may be
 * written in place.
 */
export function useRows<R>(query: Watchable<R> | null | undefined): QuerySnapshot<R>;
export function useRows(source: Database | Watchable<unknown> | null | undefined, query?: WatchRequest): LiveSnapshot | QuerySnapshot<unknown> {
  return useLive<LiveSnapshot | QuerySnapshot<unknown>, Watchable<unknown>>(
    source,
    query,
    NONE,
    (database) => database.watch(query!),
    (typed) => typed.watch(),
  );
}

/**
 * One row of a table of a schema, live: `useRow(db?.note, 7)`. `undefined` until it is read, and if there is none; `error` of its
 * reading is thrown, for the error boundary above.
 */
export function useRow<R, K>(table: RowSource<R, K> | null | undefined, key: K): R | undefined {
  const text = keyOf({ table, key });
  const live = useMemo(() => table?.watch(key), [table?.owner, text]);
  const subscribe = useMemo(() => (listener: () => void) => live?.subscribe(listener) ?? (() => {}), [live]);
  const { rows, error } = useSyncExternalStore<QuerySnapshot<R>>(
    subscribe,
    () => live?.getSnapshot() ?? (NONE as QuerySnapshot<never>),
    () => NONE as QuerySnapshot<never>,
  );
  if (error !== undefined) throw error;
  return rows?.[0];
}

/** A query or a table of a schema whose rows can be counted live. */
export interface Countable {
  /** The number of the rows, and again each time it changes. */
  watchCount(): LiveCount;
  /** What it asks for: two that ask the same are shown as one. */
  toJSON(): unknown;
  /** The open database that it belongs to. */
  readonly owner: object;
}

/**
 * The number of rows of a range, live, in the same way as {@link useRows}: `useCount(db, { tableName: "note" })`. `undefined` until
 * they are counted; an error of the counting is thrown, for the error boundary above. Each change counts again: see {@link LiveCount}.
 */
export function useCount(db: Database | null | undefined, query: CountRowsRequest): number | undefined;
/** The number of rows of a query or of a table of a schema: `useCount(db?.note.where({ kind: "task" }))`. */
export function useCount(query: Countable | null | undefined): number | undefined;
export function useCount(source: Database | Countable | null | undefined, query?: CountRowsRequest): number | undefined {
  const { count, error } = useLive<CountSnapshot, Countable>(
    source,
    query,
    UNCOUNTED,
    (database) => database.watchCount(query!),
    (typed) => typed.watchCount(),
  );
  if (error !== undefined) throw error;
  return count;
}
