/** Live queries whose rows are objects of the schema. */

import type { LiveCount, LiveQuery, LiveSnapshot } from "../types/live.js";
import { mapped } from "../changes/mapped.js";
import type { Row } from "../types/row.js";
import type { LiveRowsOf, QueryRows, QuerySnapshot } from "./types.js";

/** A value, and then nothing: as others it waits for changes, and none can come. */
function once<T>(value: T): AsyncIterableIterator<T> {
  let end = (): void => {};
  const ended = new Promise<IteratorResult<T, undefined>>((resolve) => (end = () => resolve({ done: true, value: undefined })));
  let isGiven = false;
  return {
    next() {
      if (isGiven) return ended;
      isGiven = true;
      return Promise.resolve({ done: false, value });
    },
    return: () => {
      isGiven = true;
      end();
      return ended;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const NOTHING: LiveSnapshot = { rows: [], changed: [], error: undefined };

/** A live query of no rows. */
export const EMPTY: LiveQuery = {
  [Symbol.asyncIterator]: () => once({ rows: [], changed: [] }),
  subscribe: () => () => {},
  getSnapshot: () => NOTHING,
};

const NO_ROWS = { count: 0, error: undefined };

/** A live count of no rows. */
export const ZERO: LiveCount = {
  [Symbol.asyncIterator]: () => once(0),
  subscribe: () => () => {},
  getSnapshot: () => NO_ROWS,
};

/** A live query beneath, and the objects made of its rows: one that has not changed stays the same object. */
export class LiveRows<R extends object> implements LiveRowsOf<R> {
  private readonly made = new WeakMap<Row, R>();
  private last: { readonly of: LiveSnapshot; readonly snapshot: QuerySnapshot<R> } | undefined;

  constructor(
    private readonly live: LiveQuery,
    private readonly make: (row: Row) => R,
  ) {}

  [Symbol.asyncIterator](): AsyncIterableIterator<QueryRows<R>> {
    return mapped(this.live[Symbol.asyncIterator](), ({ rows }) => ({ rows: this.objects(rows) }));
  }

  subscribe(listener: () => void): () => void {
    return this.live.subscribe(listener);
  }

  getSnapshot(): QuerySnapshot<R> {
    const of = this.live.getSnapshot();
    if (this.last?.of !== of) this.last = { of, snapshot: this.snapshotOf(of) };
    return this.last.snapshot;
  }

  /** A row that does not fit the schema ends what is shown, as it ends a read. */
  private snapshotOf({ rows, error }: LiveSnapshot): QuerySnapshot<R> {
    try {
      return { rows: rows && this.objects(rows), error };
    } catch (mismatch) {
      return { rows: undefined, error: mismatch };
    }
  }

  private objects(rows: readonly Row[]): R[] {
    return rows.map((row) => {
      const object = this.made.get(row) ?? this.make(row);
      this.made.set(row, object);
      return object;
    });
  }
}
