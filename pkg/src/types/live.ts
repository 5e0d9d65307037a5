/** The types of live queries. */

import type { PrimaryKey } from "./data.js";
import type { Row } from "./row.js";
import type { ReadOptions, RowRange, TableRequest } from "./rows.js";

/**
 * The parameters of {@link Database.watch}: one row (`primaryKey`), or a range. They are copied: later changes of them change
 * nothing.
 */
export interface WatchRequest extends ReadOptions, Partial<RowRange>, TableRequest {
  /** The whole primary key of one row; then there is no range. */
  readonly primaryKey?: PrimaryKey | undefined;
  /** Rows at most, the first ones of the range; by default all. */
  readonly limit?: number | undefined;
}

/** The rows of a live query at one time. */
export interface LiveRows {
  /** The rows in the order of the range. A row that has not changed is the same object as before. */
  readonly rows: readonly Row[];
  /** The keys of rows that came, changed or went since the rows before. Empty the first time. */
  readonly changed: readonly PrimaryKey[];
}

/** What a live query shows: its rows so far, and why it has ended, if so. The same object until something changes. */
export interface LiveSnapshot {
  /** The rows; `undefined` until they were read for the first time. */
  readonly rows: readonly Row[] | undefined;
  /** As {@link LiveRows.changed}. */
  readonly changed: readonly PrimaryKey[];
  /** Why it ended: nothing is read any more until the next subscription. */
  readonly error: unknown;
}

/** What a live count shows. The same object until something changes. */
export interface CountSnapshot {
  /** The number of rows; `undefined` until they were counted for the first time. */
  readonly count: number | undefined;
  /** Why it ended: nothing is counted any more until the next subscription. */
  readonly error: unknown;
}

/**
 * The number of rows of a range, live. It counts and waits while somebody iterates or is subscribed, and only then. Each commit that
 * writes among the rows makes it count again, which costs what reading them costs. While it counts, it lets other commits pass.
 */
export interface LiveCount {
  /** The number, and then again each time it has changed. Who is slow gets the latest one. Breaking off ends it. @throws What a count throws; the signal's reason. */
  [Symbol.asyncIterator](): AsyncIterableIterator<number>;
  /** As {@link LiveQuery.subscribe}. */
  subscribe(listener: () => void): () => void;
  /** What there is now. */
  getSnapshot(): CountSnapshot;
}

/**
 * A live query. It reads and waits while somebody iterates or is subscribed, and only then. Readers that come together share its
 * rows.
 */
export interface LiveQuery {
  /**
   * The rows, and then again after each commit that changes them. Who is slow gets the latest ones. Breaking off ends it.
   *
   * @throws What a read of the rows throws; the signal's reason.
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<LiveRows>;
  /**
   * Calls `listener` after each change of {@link LiveQuery.getSnapshot}. An error that it throws is reported, and harms nobody
   * else. Gives the function that ends the subscription. What React's `useSyncExternalStore` and the like ask for.
   */
  subscribe(listener: () => void): () => void;
  /** What there is now. */
  getSnapshot(): LiveSnapshot;
}
