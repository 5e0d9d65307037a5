/**
 * React's hook for live queries: the entry `tabstore/react`, beside any other entry. It needs React 18 or later.
 *
 * @packageDocumentation
 */

import { useMemo, useSyncExternalStore } from "react";

import type { Database } from "./types/database.js";
import { NONE } from "./changes/lazy.js";
import type { LiveQuery, LiveSnapshot, WatchRequest } from "./types/live.js";

/** Without a database nothing is read. */
const IDLE: Pick<LiveQuery, "subscribe" | "getSnapshot"> = { subscribe: () => () => {}, getSnapshot: () => NONE };

/** Equal for queries that ask for the same. */
function keyOf(query: WatchRequest): string {
  return JSON.stringify({ ...query, signal: undefined }, (_, value: unknown) => {
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
export function useRows(db: Database | null | undefined, query: WatchRequest): LiveSnapshot {
  const key = keyOf(query);
  const live = useMemo(() => db?.watch(query) ?? IDLE, [db, key]);
  return useSyncExternalStore(live.subscribe, live.getSnapshot, () => NONE);
}
