/** One side of a job: its table, read and written by rows. */

import { ANY_OFFSET } from "../beside-tables.js";
import { passes } from "../client/passing.js";
import type { BatchWriteResult, Database, GetRangeRequest, PrimaryKey, Row, TableDescription, TabStoreError } from "../index.js";
import { INF_MAX, INF_MIN } from "../types/values.js";
import { type Columns, columnsOf, keyText, newest, type Versions } from "./cells.js";
import { itemOf, type NewCell, type RowWrite, sizeOf } from "./plan.js";
import type { SyncLossReason } from "./types.js";

/** All versions that a table may keep. */
const ALL_VERSIONS = 2 ** 31 - 1;
/** Rows of a read, and of a write, at most [R2]. */
const READ_ROWS = 100;
const WRITE_ROWS = 200;
/** Bytes of a write at most, somewhat below what it takes [R2]. */
const WRITE_BYTES = 3_800_000;

/** Codes beside those of `passes` after which a call is tried again: a full disk, and a service that is not there. */
const PASSING = new Set([
  "QuotaExceeded",
  "Unavailable",
  "Busy",
  "OTSTimeout",
  "OTSServerUnavailable",
  "OTSPartitionUnavailable",
  "OTSTableNotReady",
  "OTSInternalServerError",
  "OTSOperationConflict",
  // A row has come where none was: the next try reads it.
  "OTSConditionCheckFail",
]);

/** Whether an error may pass. `LeaderChanged` and `Closed` do not: that database gives no other answer. */
export function mayPass(error: unknown): boolean {
  const { code, message, retryable } = Object(error) as Partial<TabStoreError>;
  return typeof code === "string" && (retryable === true || PASSING.has(code) || passes({ code, message: String(message) }));
}

/** Whether a table's window of versions refuses a cell [V6]. */
const isOutside = ({ code, message }: TabStoreError): boolean => code === "OTSParameterInvalid" && message.startsWith("Invalid timestamp.");

/** Tells of a cell that a side does not keep. */
export type Lose = (reason: SyncLossReason, key: PrimaryKey, cell: Pick<NewCell, "name" | "version">) => void;

/** Hears of single writes. */
export interface Watch {
  /** A write was refused, and is done without a cell. Comes before that is done. */
  reduced(write: RowWrite): Promise<void>;
  /** A write was surely not done. */
  failed(write: RowWrite): void;
}

/** Rows of a range, and the key of the next one. */
export interface RangePage {
  readonly rows: Map<string, { readonly key: PrimaryKey; readonly columns: Columns }>;
  readonly next: PrimaryKey | null;
}

/** See the top of the file. */
export class Side {
  /** `skips`: leaves out cells that the table's window refuses. `now`: the job's clock. */
  constructor(
    readonly db: Database,
    readonly table: TableDescription,
    private readonly skips: boolean,
    private readonly now: () => number,
    private readonly lose: Lose,
    private readonly signal: AbortSignal,
  ) {}

  /** The text of a key. */
  keyOf(key: PrimaryKey): string {
    return keyText(this.table.primaryKey, key);
  }

  /** Reads rows, all versions of them. A row that is missing is `null`. */
  async rows(keys: readonly PrimaryKey[]): Promise<Map<string, Columns | null>> {
    const found = new Map<string, Columns | null>();
    for (let at = 0; at < keys.length; at += READ_ROWS) {
      const some = keys.slice(at, at + READ_ROWS);
      const { tableName } = this.table;
      const [results] = await this.db.batchGetRow([{ tableName, primaryKeys: some, maxVersions: ALL_VERSIONS }], { signal: this.signal });
      results.forEach((result, i) => {
        if (!result.ok) throw result.error;
        found.set(this.keyOf(some[i]), result.row === null ? null : columnsOf(result.row));
      });
    }
    return found;
  }

  /** Reads a page of rows from a key on; `null`: from the first. */
  async range(from: PrimaryKey | null, limit: number): Promise<RangePage> {
    const names = this.table.primaryKey.map(({ name }) => name);
    const ends = (end: typeof INF_MIN | typeof INF_MAX): NonNullable<GetRangeRequest["start"]> => Object.fromEntries(names.map((name) => [name, end]));
    const { tableName } = this.table;
    const page = await this.db.getRange({ tableName, start: from ?? ends(INF_MIN), end: ends(INF_MAX), limit, maxVersions: ALL_VERSIONS, signal: this.signal });
    const rows = new Map(page.rows.map((row: Row) => [this.keyOf(row.primaryKey), { key: row.primaryKey, columns: columnsOf(row) }]));
    return { rows, next: page.nextStartPrimaryKey };
  }

  /** Whether the table has no row. */
  async isEmpty(): Promise<boolean> {
    return (await this.range(null, 1)).rows.size === 0;
  }

  /**
   * What the table can keep of a row: not more versions than it has place for, and none that has expired. What the side shows (`there`) has
   * not expired, whatever the job's clock says.
   */
  fit(key: PrimaryKey, columns: Columns, there: Columns | null): Columns {
    const { maxVersions } = this.table;
    const oldest = this.oldest;
    const fitting: Columns = new Map();
    for (const [name, versions] of columns) {
      const kept = newest(versions, maxVersions);
      const young: Versions = new Map();
      for (const [version, value] of versions) {
        if (!kept.has(version)) this.lose("maxVersions", key, { name, version });
        else if (version < oldest && !there?.get(name)?.has(version)) this.lose("timeToLive", key, { name, version });
        else young.set(version, value);
      }
      fitting.set(name, young);
    }
    return fitting;
  }

  /** The oldest version that has not expired. */
  private get oldest(): number {
    const { timeToLive } = this.table;
    return timeToLive < 0 ? -Infinity : (Math.floor(this.now() / 1000) - timeToLive) * 1000;
  }

  /** Does writes, those of one row in their order. */
  async write(writes: readonly RowWrite[], { reduced, failed }: Watch): Promise<void> {
    const refused: (readonly [RowWrite, TabStoreError])[] = [];
    for (let at = 0; at < writes.length; ) {
      const batch: RowWrite[] = [];
      for (let bytes = 0; at < writes.length && batch.length < WRITE_ROWS; at++) {
        bytes += sizeOf(writes[at]);
        if (batch.length > 0 && bytes > WRITE_BYTES) break;
        batch.push(writes[at]);
      }
      let failure: TabStoreError | undefined;
      (await this.send(batch)).forEach(({ ok, error }, i) => {
        if (ok) return;
        failed(batch[i]);
        if (isOutside(error)) refused.push([batch[i], error]);
        else failure ??= error;
      });
      if (failure !== undefined) throw failure;
    }
    for (const [write, error] of refused) {
      for (let next = this.without(write, error); next !== undefined; ) {
        await reduced(next);
        const [result] = await this.send([next]);
        if (result.ok) break;
        failed(next);
        if (!isOutside(result.error)) throw result.error;
        next = this.without(next, result.error);
      }
    }
  }

  /** Without the signal: a write that is given up could still be done, behind one of the next run. */
  private send(writes: readonly RowWrite[]): Promise<BatchWriteResult[]> {
    return this.db.batchWriteRow(writes.map((write) => itemOf(this.table.tableName, write)));
  }

  /** A write that the window of versions has refused, without the cell that is refused; `undefined`: nothing is left of it. */
  private without(write: RowWrite, error: TabStoreError): RowWrite | undefined {
    // The service names the column: "Invalid timestamp. Cell:note." Its version that is farthest from now is outside.
    const now = this.now();
    const named = write.put.filter(({ name }) => error.message.includes(`Cell:${name}.`));
    const far = (named.length > 0 ? named : write.put).reduce((a, b) => (Math.abs(a.version - now) < Math.abs(b.version - now) ? b : a));
    this.leaveOut(write.key, far, error);
    const put = write.put.filter((cell) => cell !== far);
    return write.kind === "update" && put.length + write.remove.length === 0 ? undefined : { ...write, put };
  }

  /** Leaves a cell out, if it may be left out. */
  private leaveOut(key: PrimaryKey, cell: NewCell, error: TabStoreError): void {
    const hasExpired = cell.version < this.oldest;
    if (!hasExpired && !this.skips) throw new OutsideWindow(error);
    this.lose(hasExpired ? "timeToLive" : "maxVersionOffset", key, cell);
  }

  /** Lets the table take any version. */
  async raise(): Promise<void> {
    const { tableName, maxVersionOffset } = this.table;
    if (maxVersionOffset < ANY_OFFSET) await this.db.updateTable({ tableName, maxVersionOffset: ANY_OFFSET, signal: this.signal });
  }
}

/** A cell that the window of versions refuses: the job waits until it does not. */
export class OutsideWindow {
  constructor(readonly error: TabStoreError) {}
}
