/**
 * Live queries through a connection. The service tells nobody of a change, but a stream has all of them: it is asked at intervals, and the
 * rows are read again if there was one. Loaded on first use.
 */

import type { ChangeSource, Told, Waiting } from "../changes/change-source.js";
import { watchRows } from "../changes/live.js";
import { watchRowCount } from "../changes/live-count.js";
import type { FieldWriter } from "../codec/frame.js";
import { unlessAborted, whenAborted } from "../client/signals.js";
import type { BatchGetItem, BatchGetResult, CallOptions, CountRowsRequest, PrimaryKey } from "../types/rows.js";
import type { Row } from "../types/row.js";
import type { LiveCount, LiveQuery, WatchRequest } from "../types/live.js";
import type { Change } from "../types/streams.js";
import { countRows } from "./count.js";
import { unsupported } from "./errors.js";
import type { RowCalls } from "./row-calls.js";
import { pause } from "./service.js";
import { readChanges } from "./streams.js";
import { describeTable } from "./tables.js";
import { Tokens } from "./tokens.js";

/** Whether a change is of this row. */
const isOf = (change: Change, key: PrimaryKey): boolean => Object.entries(change.primaryKey).every(([name, value]) => String(value) === String(key[name]));

/** Waits for changes of a table. */
class StreamChanges implements ChangeSource {
  private changes: AsyncIterableIterator<Change> | undefined;
  /** The next change, which is on its way. */
  private next: Promise<IteratorResult<Change>> | undefined;

  constructor(
    private readonly calls: RowCalls,
    private readonly pollInterval: number,
  ) {}

  readonly context = { bigints: this.calls.connection.bigints, requestId: String };

  fields(): FieldWriter {
    return new Tokens();
  }

  keyNames(row: Row): readonly string[] {
    return Object.keys(row.primaryKey);
  }

  /** Each row is one of its own. */
  ownRow(row: Row): Row {
    return row;
  }

  batchGetRow(tables: readonly BatchGetItem[], call: CallOptions): Promise<BatchGetResult[][]> {
    return this.calls.batchGetRow(tables, call);
  }

  async awaitChange({ tableName, primaryKey, place }: Waiting, call: CallOptions): Promise<Told> {
    if (place === undefined) await this.begin(tableName, call);
    else await this.wait(primaryKey, call);
    return { place: { record: 0, seqno: 0 }, keys: null };
  }

  /** Begins before the rows are read, so that no change comes between. */
  private async begin(tableName: string, { signal }: CallOptions): Promise<void> {
    const { connection } = this.calls;
    const { stream } = await describeTable(connection, { tableName, signal });
    if (stream === null)
      throw unsupported(
        `A live query of the table '${tableName}', which has no stream,`,
        "Enable it: updateTable({ tableName, stream: { enabled: true, expirationHours: 24 } }).",
      );
    const changes = readChanges(connection, this.pollInterval, { tableName, from: connection.service.now(0) });
    this.changes = changes;
    this.ask(changes);
    whenAborted(signal, () => void changes.return?.());
  }

  private ask(changes: AsyncIterableIterator<Change>): void {
    this.next = changes.next();
    // The query may end before it.
    this.next.catch(() => {});
  }

  /** Waits for a change, and for those that have come with it. */
  private async wait(primaryKey: PrimaryKey | undefined, { signal }: CallOptions): Promise<void> {
    const changes = this.changes!;
    for (let found = false; ; ) {
      const atOnce = async (): Promise<undefined> => pause(0, signal) as Promise<undefined>;
      const next: IteratorResult<Change> | undefined = await (found ? Promise.race([this.next!, atOnce()]) : unlessAborted(this.next!, signal));
      if (next === undefined || next.done) return;
      found ||= primaryKey === undefined || isOf(next.value, primaryKey);
      this.ask(changes);
    }
  }
}

/** The implementation of {@link Database.watch}. */
export const watch = (calls: RowCalls, pollInterval: number, request: WatchRequest): LiveQuery =>
  watchRows(new StreamChanges(calls, pollInterval), calls, request);

/** The implementation of {@link Database.watchCount}. */
export const watchCount = (calls: RowCalls, pollInterval: number, request: CountRowsRequest): LiveCount =>
  watchRowCount(new StreamChanges(calls, pollInterval), { count: (counted) => countRows(calls, counted) }, request);
