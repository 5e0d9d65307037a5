/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The public interface of an open instance: {@link Database}, with its transactions and its events.
 *
 * The same interface holds whether the engine runs in this thread or in a worker.
 */

import type { TabStoreError } from "./errors.js";
import type { ImportOptions, ImportResult, ImportSource, RowWriter, WriterOptions } from "./loads.js";
import type {
  AccessKey, ComputeConsumedRequest, ComputeConsumedResult, CreateAccessKeyRequest, NewAccessKey, UpdateAccessKeyRequest,
} from "./management.js";
import type { Metrics } from "./metrics.js";
import type { Row } from "./row.js";
import type {
  AddDefinedColumnRequest, ComputeSplitPointsBySizeRequest, ComputeSplitPointsBySizeResult, ComputeStorageResult, CreateIndexRequest, CreateTableRequest,
  DeleteDefinedColumnRequest, DropIndexRequest, TableDescription, UpdateTableRequest,
} from "./tables.js";
import type {
  BatchGetItem, BatchGetResult, BatchWriteItem, BatchWriteOptions, BatchWriteResult, CallOptions, Consumed,
  DeleteRowRequest, GetRangeRequest, GetRangeResult, GetRowRequest, GetRowResult, KeyValue, PrimaryKey, PutRowRequest,
  ScanRequest, StartLocalTransactionRequest, TableRequest, UpdateRowRequest, WriteResult,
} from "./types.js";

// ------------------------------------------------------------------------------------------------ damage

/** What {@link Database.verify} looks for. */
export interface VerifyOptions extends CallOptions {
  /** Texts that consist of NULs only. */
  readonly texts: true;
}

/** A stored text that looks damaged. */
export interface DamagedText {
  /** The table. */
  readonly tableName: string;
  /** The primary key of the row, as it is stored: with it the row can be read and deleted, damaged key or not. */
  readonly primaryKey: PrimaryKey;
  /** Whether the text is a part of the key or an attribute value. */
  readonly place: "primaryKey" | "attribute";
  /** The column that holds the text. */
  readonly column: string;
  /** The version of the value; `undefined` for a part of the key. */
  readonly version: number | undefined;
  /** NULs in the text. Damaged texts have 2 to 6: the bytes of one or two characters. */
  readonly length: number;
}

/** Rows that {@link Database.missing} lists: those that depend on one damaged record. */
export interface MissingRows {
  /** The table; `null` where none is known: see `tree`. */
  readonly tableName: string | null;
  /**
   * The engine's number of the table. 0 is the list of tables: those whose names lie between `from` and `to` may be called
   * `tree_<number>` now. 4294967295 is the capacity meter. `null`: writes are missing, and nobody knows of which rows. These
   * show what they were before, and deleted ones are there again.
   */
  readonly tree: number | null;
  /** The values of the first key that may be missing, or some of them, which stand for all keys that begin so; `null`: from the first row on. */
  readonly from: readonly KeyValue[] | null;
  /** The same of the first key behind those that may be missing; `null`: up to the last row. */
  readonly to: readonly KeyValue[] | null;
  /** Which record is damaged, and how. */
  readonly reason: string;
}

// ------------------------------------------------------------------------------------------------ events

/** Something happened to the health of an open instance. */
export interface HealthEvent {
  /** The kind of event. */
  readonly type: "health";
  /**
   * `false`: the instance cannot be used any more, and must be opened again. `true`: it works, and `error` tells what is wrong:
   * the device's clock has jumped (`ClockJumped`); the origin is full, so that what adds to it is refused until there is room
   * (`QuotaExceeded`); compaction has met a damaged record (`Corrupt`), whose partition it passes over for a while; the index of
   * a segment is damaged (`Corrupt`), which costs no row, and `compact` stores it anew; or a secondary index could not be built
   * (`QuotaExceeded`, `Unavailable`, `Corrupt`), which is tried again after a while.
   */
  readonly healthy: boolean;
  /**
   * What is wrong; `null` when the building of an index goes on that had failed ({@link IndexDescription.failure}). Nothing tells
   * the end of other troubles: of a full origin, `metrics` does (`reserve.bytes` is `reserve.capacity` again).
   */
  readonly error: TabStoreError | null;
}

/** The events of a {@link Database}, by name. */
export interface DatabaseEvents {
  /**
   * The engine has failed, its worker has ended, another tab has taken the instance over, or its data was deleted: every
   * later call rejects with the error. Comes without any call being made. Troubles that do not end the instance are told too
   * (`healthy: true`); those before anybody listened, to the first who does.
   */
  health: HealthEvent;
}

// ------------------------------------------------------------------------------------------------ transactions

/** What ended a transaction. */
export interface TransactionResult {
  /** Capacity units it cost: one write unit. */
  readonly consumed: Consumed;
}

/**
 * Reads and writes of rows that share a partition key: they see each other, nobody else sees them before
 * {@link Transaction.commit}, and then all of them take effect in one step [R7].
 *
 * While it is open no other write reaches rows of the partition key (`OTSRowOperationConflict`, tried again by itself for
 * some seconds); reads see what was there before. Calls are made one after another, in call order, so they need not be
 * awaited one by one. It ends by itself 60 s after it began, and may write 4 MB.
 *
 * Beside what the same calls of {@link Database} reject with: `OTSSessionNotExist` when it has ended,
 * `OTSDataOutOfRange` for a row of another partition key or table, `OTSOutOfTransactionDataSizeLimit` beyond 4 MB.
 *
 * @example
 * ```ts
 * await using tx = await db.startLocalTransaction({ tableName: "account", partitionKey: { owner: "ann" } });
 * const { row } = await tx.getRow({ tableName: "account", primaryKey: { owner: "ann", kind: "cash" } });
 * const balance = row?.get("balance");                // undefined: no such row, or no such column
 * if (typeof balance === "number" && balance >= 10) {
 *   await Promise.all([
 *     tx.updateRow({ tableName: "account", primaryKey: { owner: "ann", kind: "cash" }, increment: { balance: -10 } }),
 *     tx.updateRow({ tableName: "account", primaryKey: { owner: "ann", kind: "savings" }, increment: { balance: 10 } }) ]);
 *   await tx.commit();
 * }                                                   // not committed: aborted at the end of the block
 * ```
 */
export interface Transaction extends Pick<Database, "putRow" | "updateRow" | "deleteRow" | "getRow"> {
  /** Its id. */
  readonly id: string;
  /** How far it is. `"ABORTED"` too when the store has ended it, once a call has found out. */
  readonly state: "OPEN" | "COMMITTED" | "ABORTED";
  /** Capacity units that starting it cost: one write unit. */
  readonly consumed: Consumed;
  /** As {@link Database.getRange}, within the partition key. */
  getRange(request: GetRangeRequest): Promise<GetRangeResult>;
  /** As {@link Database.scan}, within the partition key: `start` and `end` must name it. */
  scan(request: ScanRequest): AsyncIterableIterator<Row>;
  /** As {@link Database.scanPages}, within the partition key. */
  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]>;
  /** As {@link Database.batchWriteRow}; rows that are refused for now are not tried again. */
  batchWriteRow(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<BatchWriteResult[]>;
  /**
   * Makes everything written take effect, when the calls made before have ended. Where it rejects, nothing did. It rejects with
   * `OTSSessionNotExist` also where the transaction has deleted a version and `maxVersions` was lowered since.
   */
  commit(options?: CallOptions): Promise<TransactionResult>;
  /** Forgets everything written, when the calls made before have ended. Later calls reject. */
  abort(options?: CallOptions): Promise<TransactionResult>;
  /** `await using` aborts it at the end of the block if it is open then. */
  [Symbol.asyncDispose](): Promise<void>;
}

// ------------------------------------------------------------------------------------------------ the instance

/**
 * An open instance.
 *
 * Operations of one caller on one row happen in call order, also those that have to be tried again ({@link RetryOptions}).
 * A write resolves when it is stored; from then on every read
 * sees it [R5]. A single-row write happens wholly or not at all [R4]. Every method rejects with a {@link TabStoreError}:
 * its `code` is the service's (`OTSParameterInvalid`, …) or a local one (`Closed`, `QuotaExceeded`, `Corrupt`,
 * `LeaderChanged`, …), its `message` names the culprit. Only a call given up by its `signal` rejects with the signal's reason.
 */
export interface Database {
  /** The instance's name, as given to `open`. */
  readonly name: string;
  /** Where the data lives. `"memory"` is seen through this object alone, and gone when closed. */
  readonly persistence: "indexeddb" | "memory";
  /** Whether `close` was called, or the engine has failed. */
  readonly closed: boolean;

  /**
   * Creates a table; it can be used as soon as this resolves [T1].
   *
   * @throws `OTSObjectAlreadyExist` when there is one of that name, `OTSQuotaExhausted` beyond 64 tables [I3],
   * `OTSParameterInvalid` for a wrong name, key or option [T2], [T3], [T4].
   * @example
   * ```ts
   * await db.createTable({ tableName: "reading", maxVersions: 3,
   *   primaryKey: [{ name: "station", type: "STRING" }, { name: "at", type: "INTEGER" }] });
   * ```
   */
  createTable(request: CreateTableRequest): Promise<void>;
  /** The names of all tables, sorted [T1]. */
  listTable(options?: CallOptions): Promise<string[]>;
  /** A table's key and options [T1]. @throws `OTSObjectNotExist`. */
  describeTable(request: TableRequest | string): Promise<TableDescription>;
  /**
   * Changes options, reserved throughput or both, while data stays readable and writable [T5].
   *
   * @throws `OTSTooFrequentReservedThroughputAdjustment` for a second change of the throughput within 2 minutes [T6].
   */
  updateTable(request: UpdateTableRequest): Promise<TableDescription>;
  /** Deletes a table, its rows and its indexes [T1]. @throws `OTSObjectNotExist`. */
  deleteTable(request: TableRequest | string): Promise<void>;

  /**
   * Adds a secondary index. It can be read once the rows that exist are in it; `describeTable` tells how far it is, and
   * until then reads of it reject with "Disallow read index table in building base state".
   *
   * @throws `OTSParameterInvalid` for a 6th index, a column that is not defined, or a table whose options do not allow
   * indexes [T8]; `OTSObjectAlreadyExist`; `OTSQuotaExhausted` beyond 64 tables [I3].
   * @example
   * ```ts
   * await db.createTable({ tableName: "order", primaryKey: [{ name: "id", type: "STRING" }],
   *   definedColumns: [{ name: "customer", type: "STRING" }, { name: "total", type: "DOUBLE" }] });
   * await db.createIndex({ tableName: "order",
   *   index: { indexName: "order_by_customer", primaryKey: ["customer"], columns: ["total"] } });
   * const { rows } = await db.getRange({ tableName: "order_by_customer",
   *   start: { customer: "ann", id: INF_MIN }, end: { customer: "ann", id: INF_MAX } });
   * ```
   */
  createIndex(request: CreateIndexRequest): Promise<void>;
  /** Removes a secondary index and its rows. @throws `OTSObjectNotExist`. */
  dropIndex(request: DropIndexRequest): Promise<void>;
  /**
   * Defines more attribute columns, for indexes to use.
   *
   * @throws `OTSParameterInvalid` for more than 32 in all, or a name that is there already.
   * @example
   * ```ts
   * await db.addDefinedColumn({ tableName: "order", columns: [{ name: "paid", type: "BOOLEAN" }] });
   * ```
   */
  addDefinedColumn(request: AddDefinedColumnRequest): Promise<void>;
  /** Takes columns out of the definition; their values stay. @throws `OTSParameterInvalid` for one that an index uses. */
  deleteDefinedColumn(request: DeleteDefinedColumnRequest): Promise<void>;
  /**
   * Cuts a table into slices of about a size, for readers that share the work, without reading the data [P4].
   *
   * @throws `OTSObjectNotExist`; `OTSParameterInvalid` for a size of 0 or less, or a unit below 1 MiB.
   * @example
   * ```ts
   * const { splits } = await db.computeSplitPointsBySize({ tableName: "reading", splitSize: 8, splitSizeUnitBytes: 1 << 20 });
   * await Promise.all(splits.map(({ lower, upper }) => read(db.scan({ tableName: "reading", start: lower, end: upper }))));
   * ```
   */
  computeSplitPointsBySize(request: ComputeSplitPointsBySizeRequest): Promise<ComputeSplitPointsBySizeResult>;
  /**
   * What a table's or an index's data weighs as storage is metered [V9]. Reads all of it, and costs no units.
   *
   * @throws `OTSObjectNotExist`.
   * @example
   * ```ts
   * const { rows, bytes } = await db.computeStorage({ tableName: "reading" });
   * ```
   */
  computeStorage(request: TableRequest | string): Promise<ComputeStorageResult>;
  /**
   * What was reserved and used, by the second or by the hour, and what it costs [C2], [C3].
   *
   * @example
   * ```ts
   * const { total } = await db.computeConsumed({ tableName: "reading", period: "hour" });
   * total.onDemand.read                                 // units above the reserved throughput
   * ```
   */
  computeConsumed(request?: ComputeConsumedRequest): Promise<ComputeConsumedResult>;

  /**
   * Makes an access key, with which requests over a protocol are signed [I6]. Calls of this interface need none.
   *
   * @example
   * ```ts
   * const { accessKeyId, accessKeySecret } = await db.createAccessKey({ rights: ["read"] });
   * ```
   */
  createAccessKey(request: CreateAccessKeyRequest): Promise<NewAccessKey>;
  /** The access keys, without their secrets [I6]. */
  listAccessKeys(options?: CallOptions): Promise<AccessKey[]>;
  /** Turns an access key on or off, or changes its rights [I6]. @throws `OTSObjectNotExist`. */
  updateAccessKey(request: UpdateAccessKeyRequest): Promise<AccessKey>;
  /** Deletes an access key [I6]. @throws `OTSObjectNotExist`. */
  deleteAccessKey(request: string | { readonly accessKeyId: string; readonly signal?: AbortSignal | undefined }): Promise<void>;

  /**
   * Puts a row: replaces the whole row [R1].
   *
   * A call is held in memory until it is answered: for many rows use {@link Database.writer}, which bounds how many.
   *
   * @throws `OTSConditionCheckFail`, `OTSInvalidPK`, `OTSParameterInvalid`; `OTSRowOperationConflict` while a transaction
   * holds the row; `OTSCapacityUnitExhausted` over the limit of `throttle` [C5].
   * @example
   * ```ts
   * const { consumed } = await db.putRow({ tableName: "reading", primaryKey: { station: "SEA", at: 1n },
   *   attributes: { tempMax: 12.8, wet: true, note: [{ value: "fog", version: Date.now() }] } });
   * ```
   */
  putRow(request: PutRowRequest): Promise<WriteResult>;
  /**
   * Puts columns, deletes versions and columns, adds to counters; all of it or nothing [R1], [T7].
   *
   * @throws as {@link Database.putRow}; `OTSParameterInvalid` where the table does not allow updates, or for a counter that
   * holds no integer or would leave 64 bits.
   * @example
   * ```ts
   * const { row } = await db.updateRow({ tableName: "page", primaryKey: { path: "/" }, increment: { hits: 1 },
   *   returnContent: { afterModify: ["hits"] } });
   * row?.get("hits")                                    // counted exactly, however many count at once
   * ```
   */
  updateRow(request: UpdateRowRequest): Promise<WriteResult>;
  /** Deletes a row with all columns and versions [R1]. @throws as {@link Database.putRow}. */
  deleteRow(request: DeleteRowRequest): Promise<WriteResult>;
  /**
   * Reads one row [R1], [V8].
   *
   * @example
   * ```ts
   * const { row } = await db.getRow({ tableName: "reading", primaryKey: { station: "SEA", at: 1 },
   *   filter: col("wet").eq(true, { passIfMissing: false }) });   // null unless it is wet
   * ```
   */
  getRow(request: GetRowRequest): Promise<GetRowResult>;

  /**
   * Reads rows between two keys, at most 5000 rows or 4 MB a call [R3].
   *
   * @throws `OTSInvalidPK` for an end that lacks a key column; `OTSParameterInvalid` when `start` is not before `end`;
   * `OTSObjectNotExist`.
   * @example
   * ```ts
   * const page = await db.getRange({ tableName: "reading", limit: 100,
   *   start: { station: "SEA", at: INF_MIN }, end: { station: "SEA", at: INF_MAX } });
   * page.nextStartPrimaryKey                            // the start of the next page, or null
   * ```
   */
  getRange(request: GetRangeRequest): Promise<GetRangeResult>;
  /** Reads a range row by row, however long. Each page is one snapshot, a whole scan is not [R3]. */
  scan(request: ScanRequest): AsyncIterableIterator<Row>;
  /** Reads a range page by page; faster than {@link Database.scan}, because nothing is awaited between rows. */
  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]>;

  /** Reads up to 100 rows of one or many tables [R2]: one array a table, in the order of its keys. */
  batchGetRow(tables: readonly BatchGetItem[], options?: CallOptions): Promise<BatchGetResult[][]>;
  /**
   * Writes up to 200 rows, 4 MB, of one or many tables [R2]. Each row is atomic, the batch is not: results come in order,
   * and each tells its own. With `atomic: true`, all rows or none.
   *
   * @example
   * ```ts
   * const results = await db.batchWriteRow([
   *   { tableName: "reading", put: { primaryKey: { station: "SEA", at: 2 }, attributes: { wet: false } } },
   *   { tableName: "reading", delete: { primaryKey: { station: "SEA", at: 1 } } } ], { atomic: true });
   * ```
   */
  batchWriteRow(rows: readonly BatchWriteItem[], options?: BatchWriteOptions): Promise<BatchWriteResult[]>;

  /**
   * Starts a transaction on the rows of one partition key [R7]; see {@link Transaction}.
   *
   * @throws `OTSRowOperationConflict` while another one holds the key; `OTSParameterInvalid` on a table that has none, or
   * for more than the partition key.
   */
  startLocalTransaction(request: StartLocalTransactionRequest): Promise<Transaction>;

  /** A stream of puts into one table; see {@link RowWriter}. */
  writer(tableName: string, options?: WriterOptions): RowWriter;
  /**
   * Imports rows from objects or from a CSV, JSON (an array of objects) or NDJSON file, without holding all of it in memory.
   *
   * Columns that the table's primary key names make the key; an empty CSV field, `null` and a missing property make no
   * attribute. Columns are read as the types that the table has defined. Integers of JSON are exact up to 64 bits, on every
   * host; longer ones are refused by row and column, unless the column's type is DOUBLE or STRING.
   *
   * Rows stored before a failure or a cancellation stay.
   *
   * @throws {@link WriterError} when it ends in the middle, by a row that is refused, a full disk (`QuotaExceeded`), a source
   * or a listener that throws (`Aborted`, with the reason as its `cause`): its `stored` and its message say how many rows are
   * stored. A cancelled import rejects with the signal's reason; the last progress tells.
   * @example
   * ```ts
   * await db.importRows("weather", file, { columns: { temp_max: { type: "DOUBLE" } },
   *   onProgress: ({ bytes }) => bar(bytes / file.size), signal });
   * ```
   */
  importRows(tableName: string, source: ImportSource, options?: ImportOptions): Promise<ImportResult>;

  /**
   * Looks through all tables for stored texts that look damaged: those of NULs only. Earlier builds stored some
   * short texts that are not ASCII as NULs; CHANGELOG.md says what to do about them. It reads everything, page by page,
   * and costs the units of that; it changes nothing.
   *
   * @example
   * ```ts
   * for await (const { tableName, primaryKey, column } of db.verify({ texts: true })) console.log(tableName, primaryKey, column);
   * ```
   */
  verify(options: VerifyOptions): AsyncIterableIterator<DamagedText>;
  /**
   * What could not be read of an instance that was opened with `salvage: true`, complete when `open` resolves; nothing of one
   * that was opened as ever.
   *
   * @example
   * ```ts
   * for (const { tableName, from, to, reason } of await db.missing()) console.log(tableName, from, to, reason);
   * ```
   */
  missing(options?: CallOptions): Promise<MissingRows[]>;
  /** The inside of the engine at this moment. */
  metrics(options?: CallOptions): Promise<Metrics>;
  /** Writes what is in memory into segments. Not needed for safety: a write that resolved is stored. */
  flush(options?: CallOptions): Promise<void>;
  /**
   * Merges all segments and removes for good what versions, time to live and deletions hide [V3], [V5]. In the background the
   * engine removes what has expired and is deleted only where that gives enough space back, and what has expired since the last
   * flush not before ten minutes.
   */
  compact(options?: CallOptions): Promise<void>;
  /** Sets an injected clock (milliseconds since 1970 UTC) [V10]. @throws when the instance was opened without `clock: { now }`. */
  setClock(now: number, options?: CallOptions): Promise<void>;
  /**
   * Waits for the reads and writes of rows on their way, then closes. Later calls reject with `Closed`, as does a call about
   * tables or the engine (`createTable`, `compact`, …) that has not been answered by then. Closing twice is fine.
   *
   * A page that goes away need not close: nothing acknowledged is lost.
   */
  close(): Promise<void>;
  /** `await using db = await open("demo")` closes at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;

  /** Listens to an event. */
  addEventListener<K extends keyof DatabaseEvents>(
    type: K, listener: (event: DatabaseEvents[K]) => void, options?: { readonly once?: boolean | undefined; readonly signal?: AbortSignal | undefined },
  ): void;
  /** Stops listening. */
  removeEventListener<K extends keyof DatabaseEvents>(type: K, listener: (event: DatabaseEvents[K]) => void): void;
}
