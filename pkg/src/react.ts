/**
 * React's hooks: the entry `tabstore/react`, beside any other entry. It needs React 18 or later.
 *
 * @packageDocumentation
 */

import { useMemo, useSyncExternalStore } from "react";

import type { Database } from "./types/database.js";
import { NONE } from "./changes/lazy.js";
import type { LiveQuery, LiveSnapshot, WatchRequest } from "./types/live.js";
import type { LiveRowsOf, QuerySnapshot } from "./schema/types.js";

/** Without a database nothing is read. */
const IDLE: Pick<LiveQuery, "subscribe" | "getSnapshot"> = { subscribe: () => () => {}, getSnapshot: () => NONE };

/** What can be shown live: a query or a table of a schema. */
export interface Watchable<R> {
  /** The rows, and again after each change. */
  watch(): LiveRowsOf<R>;
  /** What it asks for: two that ask the same are shown as one. */
  toJSON(): unknown;
  /** The open database that it belongs to. */
  readonly owner: object;
}

/** Databases that are being opened, and what has become of them. */
const openings = new WeakMap<PromiseLike<unknown>, { value?: unknown; error?: unknown; readonly listeners: Set<() => void> }>();

/** Watches a promise once, for all components that show it. */
function openingOf(ready: PromiseLike<unknown>): { value?: unknown; error?: unknown; readonly listeners: Set<() => void> } {
  const known = openings.get(ready);
  if (known !== undefined) return known;
  const made: { value?: unknown; error?: unknown; readonly listeners: Set<() => void> } = { listeners: new Set() };
  openings.set(ready, made);
  const tell = (): void => made.listeners.forEach((listener) => listener());
  ready.then((value) => {
    made.value = value;
    tell();
  }, (error: unknown) => {
    made.error = error ?? new Error("The database could not be opened.");
    tell();
  });
  return made;
}

/**
 * A database that is being opened in a module: `const ready = open("shop", { schema })`. `undefined` until it is open, also on a server;
 * an error of the opening is thrown, for the error boundary above. With React 19 `use(ready)` does the same, and suspends.
 *
 * @param ready the same promise each time, so no component opens one while it renders.
 */
export function useDatabase<D>(ready: PromiseLike<D>): D | undefined {
  const opening = openingOf(ready);
  const subscribe = useMemo(() => (listener: () => void) => {
    opening.listeners.add(listener);
    return () => void opening.listeners.delete(listener);
  }, [opening]);
  const value = useSyncExternalStore(subscribe, () => opening.value as D | undefined, () => undefined);
  useSyncExternalStore(subscribe, () => opening.error, () => undefined);
  if (opening.error !== undefined) throw opening.error;
  return value;
}

/** Equal for queries that ask for the same. */
function keyOf(query: unknown): string {
  return JSON.stringify(query, (_, value: unknown) => {
    if (Object.is(value, -0)) return { number: "-0" };
    if (typeof value === "bigint") return { bigint: String(value) };
    return value instanceof Uint8Array ? { bytes: [...value] } : value;
  });
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
  const isTyped = query === undefined && source !== undefined && source !== null;
  const owner = isTyped ? (source as Watchable<unknown>).owner : source;
  const key = keyOf(isTyped ? source : { ...query, signal: undefined });
  const live = useMemo(() => {
    if (source === undefined || source === null) return IDLE;
    const made = isTyped ? (source as Watchable<unknown>).watch() : (source as Database).watch(query!);
    return { subscribe: (listener: () => void) => made.subscribe(listener), getSnapshot: () => made.getSnapshot() };
  }, [owner, key]);
  return useSyncExternalStore<LiveSnapshot | QuerySnapshot<unknown>>(live.subscribe, live.getSnapshot, () => NONE);
}

/**
 * One row of a table of a schema, live: `useRow(db?.note, 7)`. `undefined` until it is read, and if there is none; `error` of its
 * reading is thrown, for the error boundary above.
 */
export function useRow<R, K>(table: RowSource<R, K> | null | undefined, key: K): R | undefined {
  const text = keyOf({ table, key });
  const live = useMemo(() => table?.watch(key), [table?.owner, text]);
  const subscribe = useMemo(() => (listener: () => void) => live?.subscribe(listener) ?? (() => {}), [live]);
  const { rows, error } = useSyncExternalStore<QuerySnapshot<R>>(subscribe, () => live?.getSnapshot() ?? NONE as QuerySnapshot<never>, () => NONE as QuerySnapshot<never>);
  if (error !== undefined) throw error;
  return rows?.[0];
}

/** A table whose rows can be shown live. */
export interface RowSource<R, K> {
  /** The row with this key, and again after each change. */
  watch(key: K): LiveRowsOf<R>;
  /** Which table it is. */
  toJSON(): unknown;
  /** The open database that it belongs to. */
  readonly owner: object;
}
