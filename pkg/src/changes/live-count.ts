/** The number of rows of a range, live: a live query whose only row is the number. Loaded on first use. */

import type { Client } from "../client/client.js";
import { checkArguments } from "../codec/check.js";
import { copyFilter } from "../codec/filter.js";
import { signalOf } from "../client/signals.js";
import type { CallOptions } from "../types/data.js";
import type { CountSnapshot, LiveCount } from "../types/live.js";
import type { CountRowsRequest, CountRowsResult } from "../types/rows.js";
import { mapped } from "./mapped.js";
import { type ChangeSource, engineChanges, type Place, type Told } from "./change-source.js";
import { copyOfKey, Live, type LiveSource, type Shown } from "./live.js";

const COUNT = new Set(["tableName", "start", "end", "filter", "signal"]);

/** What counts the rows. */
export interface Counting {
  count(request: CountRowsRequest): Promise<CountRowsResult>;
}

/** The number of rows, in the place of rows. */
class Counted implements LiveSource<number> {
  private readonly request: CountRowsRequest;

  constructor(
    private readonly store: ChangeSource,
    private readonly source: Counting,
    request: CountRowsRequest,
  ) {
    const { tableName, start, end, filter } = checkArguments<CountRowsRequest>(request, COUNT, "watchCount");
    this.request = {
      tableName,
      start: copyOfKey(store.fields(), start, "start", "range"),
      end: copyOfKey(store.fields(), end, "end", "range"),
      filter: copyFilter(filter, "filter") as CountRowsRequest["filter"],
    };
  }

  ask(place: Place | undefined, _: readonly number[], call: CallOptions): Promise<Told> {
    const { tableName, start, end } = this.request;
    return this.store.awaitChange({ tableName, start, end, backward: false, place, waits: true }, call);
  }

  async readAll(old: readonly number[], call: CallOptions): Promise<{ rows: number[]; changed: {}[] }> {
    const { count } = await this.source.count({ ...this.request, ...call });
    return { rows: [count], changed: old[0] === count ? [] : [{}] };
  }

  readAgain(old: readonly number[], _keys: Uint8Array, _place: Place, call: CallOptions): Promise<{ rows: number[]; changed: {}[] }> {
    return this.readAll(old, call);
  }

  changes(before: readonly number[], after: readonly number[]): {}[] {
    return before[0] === after[0] ? [] : [{}];
  }
}

/** The implementation of {@link LiveCount}. */
class RowsCount implements LiveCount {
  private last: { readonly of: Shown<number>; readonly snapshot: CountSnapshot } | undefined;

  constructor(private readonly live: Live<number>) {}

  [Symbol.asyncIterator](): AsyncIterableIterator<number> {
    return mapped(this.live[Symbol.asyncIterator](), ({ rows: [count] }) => count);
  }

  subscribe(listener: () => void): () => void {
    return this.live.subscribe(listener);
  }

  getSnapshot(): CountSnapshot {
    const of = this.live.getSnapshot();
    if (this.last?.of !== of) this.last = { of, snapshot: { count: of.rows?.[0], error: of.error } };
    return this.last.snapshot;
  }
}

/** A live count of rows. */
export const watchRowCount = (store: ChangeSource, source: Counting, request: CountRowsRequest): LiveCount =>
  new RowsCount(new Live(new Counted(store, source, request), signalOf(request)));

/** A live count of rows of an instance in this browser. */
export const liveCount = (client: Client, source: Counting, request: CountRowsRequest): LiveCount => watchRowCount(engineChanges(client), source, request);
