/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The public interface of an open instance: {@link Database}, with its transactions.
 *
 * The same interface holds whether the engine runs in this thread or in a worker.
 */

import type { ConsumerGroup, ConsumerGroupSummary, ConsumerRequest, ListConsumerGroupsRequest } from "./consumer.js";
import type { DatabaseEvents } from "./events.js";
import type { ExportInstanceOptions, ExportOptions, ImportInstanceOptions, ImportInstanceResult } from "./export.js";
import type { Inspection, TracedGetRowRequest, TracedGetRowResult } from "./inspect.js";
import type { LiveCount, LiveQuery, WatchRequest } from "./live.js";
import type { TabStoreError } from "./errors.js";
import type { ImportOptions, ImportResult, ImportSource, RowWriter, WriterOptions } from "./writer.js";
import type { AccessKey, ComputeConsumedRequest, ComputeConsumedResult, CreateAccessKeyRequest, NewAccessKey, UpdateAccessKeyRequest } from "./management.js";
import type { Metrics } from "./metrics.js";
import type { Row } from "./row.js";
import type { DamagedText, MissingRows, StorageInfo, VerifyOptions } from "./storage.js";
import type {
  Change,
  ChangesRequest,
  DescribeStreamRequest,
  DescribeStreamResult,
  GetShardIteratorRequest,
  GetStreamRecordRequest,
  GetStreamRecordResult,
  ListStreamRequest,
  StreamDescription,
} from "./streams.js";
import type {
  AddDefinedColumnRequest,
  ComputeSplitPointsBySizeRequest,
  ComputeSplitPointsBySizeResult,
  ComputeStorageResult,
  CreateIndexRequest,
  CreateTableRequest,
  DeleteDefinedColumnRequest,
  DropIndexRequest,
  TableDescription,
  UpdateTableRequest,
} from "./tables.js";
import type {
  BatchGetItem,
  BatchGetResult,
  BatchWriteItem,
  BatchWriteOptions,
  BatchWriteResult,
  CallOptions,
  CountRowsRequest,
  CountRowsResult,
  DeleteRangeRequest,
  DeleteRangeResult,
  DeleteRowRequest,
  GetRangeRequest,
  GetRangeResult,
  PutRowRequest,
  Role,
  ScanRequest,
  StartLocalTransactionRequest,
  TableRequest,
  UpdateRowRequest,
  WasmModules,
  WriteResult,
} from "./rows.js";
import type { Transaction } from "./transaction.js";

/**
 * An open instance.
 *
 * Operations of one caller on one row happen in call order, also with retries ({@link RetryOptions}). A write resolves
 * when it is stored; from then on every read sees it [R5]. A single-row write happens wholly or not at all [R4]. Every
 * method rejects with a {@link TabStoreError}. Its `code` is the service's (`OTSParameterInvalid`, …) or a local one
 * (`Closed`, `QuotaExceeded`, `Corrupt`, `LeaderChanged`, …); its `message` names the culprit. Only a call cancelled by
 * its `signal` rejects with the signal's reason.
 */
export interface Database extends Inspection {
  /** The instance's name, as given to `open`. */
  readonly name: string;
  /**
   * The storage of the data. `"memory"` is visible through this object alone, and gone when it is closed. `"service"` is an instance of
   * the Table Store service, to which `connect` of `tabstore/cloud` connects.
   */
  readonly persistence: "indexeddb" | "files" | "memory" | "service";
  /** Whether this tab has the engine, or follows the tab that has it. In memory it is always `"leader"`. */
  readonly role: Role;
  /** Whether `close` was called, or the engine has failed. */
  readonly closed: boolean;

  /**
   * Creates a table, which is usable as soon as this resolves [T1].
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
  /** A table's key and options [T1]. Azure tables are named `account/table` here. @throws `OTSObjectNotExist`. */
  describeTable(request: TableRequest | string): Promise<TableDescription>;
  /**
   * Changes options, reserved throughput or both. The data stays readable and writable [T5]. An Azure table, `account/table`, has a
   * stream to change and nothing else.
   *
   * @throws `OTSTooFrequentReservedThroughputAdjustment` for a second change of the throughput within 2 minutes [T6].
   */
  updateTable(request: UpdateTableRequest): Promise<TableDescription>;
  /** Deletes a table, its rows and its indexes [T1]. @throws `OTSObjectNotExist`. */
  deleteTable(request: TableRequest | string): Promise<void>;

  /**
   * Adds a secondary index. It can be read once all existing rows are in it; `describeTable` reports the progress. Until
   * then reads of it reject with "Disallow read index table in building base state".
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
   * Defines more attribute columns, for use in indexes.
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
   * Cuts a table into slices of similar size, for readers that share the work, without reading the data [P4].
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
   * The metered storage of a table or an index [V9]. Reads all of it, and costs no units.
   *
   * @throws `OTSObjectNotExist`.
   * @example
   * ```ts
   * const { rows, bytes } = await db.computeStorage({ tableName: "reading" });
   * ```
   */
  computeStorage(request: TableRequest | string): Promise<ComputeStorageResult>;
  /**
   * The reserved and used units, by the second or by the hour, and their cost [C2], [C3].
   *
   * @example
   * ```ts
   * const { total } = await db.computeConsumed({ tableName: "reading", period: "hour" });
   * total.onDemand.read                                 // units above the reserved throughput
   * ```
   */
  computeConsumed(request?: ComputeConsumedRequest): Promise<ComputeConsumedResult>;

  /**
   * Creates an access key, which signs requests over a protocol [I6]. Calls of this interface need none.
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
   * A call is held in memory until it is answered. For many rows use {@link Database.writer}, which bounds their number.
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
   *
   * With `trace: true` it also gives the path of the read, for tools and lessons: which memtables and segments it looked into or
   * need not, what each filter said, which blocks came from the cache or from the storage. Row, units and errors are those of a
   * plain read, of the same instant. Batches, transactions and doors have no trace.
   *
   * @example
   * ```ts
   * const { trace } = await db.getRow({ tableName: "reading", primaryKey: { station: "SEA", at: 1 }, trace: true });
   * for (const step of trace?.steps ?? []) console.log(step.source, step);
   * ```
   */
  getRow(request: TracedGetRowRequest): Promise<TracedGetRowResult>;

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
  /** Reads a range of any length, row by row. Each page is one snapshot, a whole scan is not [R3]. */
  scan(request: ScanRequest): AsyncIterableIterator<Row>;
  /** Reads a range page by page. Faster than {@link Database.scan}, because it does not await between rows. */
  scanPages(request: ScanRequest): AsyncIterableIterator<readonly Row[]>;

  /**
   * Counts rows between two keys, however many there are [R3]. The engine reads them in stretches of at most 5000 rows or
   * 4 MB, and other calls go in between. Each stretch is one snapshot, a whole count is not: of a table that is dropped and created again meanwhile it counts both. No row leaves the engine. It
   * costs what reading the rows costs. `signal` ends it between two stretches.
   *
   * @throws As {@link Database.getRange}; the reason of its signal.
   * @example
   * ```ts
   * const { count } = await db.count({ tableName: "reading", filter: col("wet").eq(true, { passIfMissing: false }) });
   * ```
   */
  count(request: CountRowsRequest): Promise<CountRowsResult>;
  /**
   * Deletes the rows of a range, in the engine: their contents do not come to the page. Each row is deleted for itself, a thousand a
   * call, and others may write between two calls. Rows deleted before a failure or a cancellation stay deleted. It reads the whole
   * range, also with a filter. Ours: the service has no such call.
   *
   * @throws `OTSParameterInvalid` for a wrong range or an index; `OTSRowOperationConflict` for a row that a transaction holds, after some
   * tries. If the leader's tab ends meanwhile, `count` may miss up to a thousand rows that it had just deleted.
   * @example
   * ```ts
   * const { count } = await db.deleteRange({ tableName: "log", end: { id: 1000 }, filter: col("level").eq("debug") });
   * ```
   */
  deleteRange(request: DeleteRangeRequest): Promise<DeleteRangeResult>;

  /** Reads up to 100 rows of one or many tables [R2]: one array a table, in the order of its keys. */
  batchGetRow(tables: readonly BatchGetItem[], options?: CallOptions): Promise<BatchGetResult[][]>;
  /**
   * Writes up to 200 rows, 4 MB, of one or many tables [R2]. Each row is atomic, the batch is not: results come in order,
   * one for each row. With `atomic: true`, all rows or none.
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
   * Writes up to 200 rows, 4 MB, of any tables and partition keys in one step: all of them, or none, at any crash. Conditions are checked
   * in the same step, and index rows and changes are written with it. An extension: the service has no such call, so code that uses it
   * works on local data alone. It reads nothing: to decide about what is stored, give conditions, or use a
   * {@link Database.startLocalTransaction}. A row may come twice only without conditions and increments, and not in a table with an index
   * or with `originColumns`. Index tables and tables of Azure take no rows. Index rows and old values may have 32 MiB.
   *
   * @returns The result of each row, in order.
   * @throws If one row is refused, with that row's error; then nothing is stored. For another row than the first the message says which one
   * ("Row 1 of the atomic batch failed: …", counted from 0). `OTSConditionCheckFail` for a condition; `OTSRowOperationConflict` if a
   * transaction holds one of the rows, after the retries of the client, which end early where a later call on one of the rows has been
   * answered ({@link RetryOptions}); all else as {@link Database.putRow}. The reason of its signal; the step may be stored then.
   * @example
   * ```ts
   * await db.atomic([
   *   { tableName: "order", put: { primaryKey: { id: "17" }, attributes: { customer: "ann" } } },
   *   { tableName: "item", update: { primaryKey: { id: 7 }, increment: { stock: -1 },
   *     condition: { rowExistence: "EXPECT_EXIST", column: col("stock").gt(0, { passIfMissing: false }) } } } ]);
   * ```
   */
  atomic(rows: readonly BatchWriteItem[], options?: CallOptions): Promise<WriteResult[]>;

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
   * Columns named in the table's primary key become the key. An empty CSV field, `null` and a missing property become no
   * attribute. Columns get the types that the table has defined. Integers of JSON are exact up to 64 bits, on every host.
   * Longer ones are refused by row and column, unless the column's type is DOUBLE or STRING.
   *
   * Rows stored before a failure or a cancellation stay.
   *
   * @throws {@link WriterError} when it ends in the middle. The reason is a refused row, a full disk (`QuotaExceeded`), or a
   * source or listener that throws (`Aborted`, with the reason as its `cause`). Its `stored` and its message say how many rows
   * are stored. A cancelled import rejects with the signal's reason; the last progress has the numbers.
   * @example
   * ```ts
   * await db.importRows("weather", file, { columns: { temp_max: { type: "DOUBLE" } },
   *   onProgress: ({ bytes }) => bar(bytes / file.size), signal });
   * ```
   */
  importRows(tableName: string, source: ImportSource, options?: ImportOptions): Promise<ImportResult>;
  /**
   * The rows of a table or of an index as a file of NDJSON, JSON or CSV, without holding all of it in memory: rows are read when the
   * stream is. By default {@link Database.importRows} finds the same rows in it, with the same types; with `versions: "all"` also their
   * versions. Rows that are written meanwhile may be in it or not.
   *
   * A table takes old versions only if its `maxVersionOffset` allows them; see {@link InputCell.version}. A row that grew by updates beyond
   * one put (4 MB, 1,024 columns) is refused by `importRows`; {@link Database.importInstance} takes it.
   *
   * @throws `OTSObjectNotExist`; `OTSParameterInvalid` for wrong options. A later error, as of a signal or a closed database, is the stream's.
   * @example
   * ```ts
   * const stream = await db.exportRows("movie", { format: "csv" });
   * const blob = await new Response(stream).blob();             // or: stream.pipeTo(await fileHandle.createWritable())
   * ```
   */
  exportRows(tableName: string, options?: ExportOptions): Promise<ReadableStream<Uint8Array>>;
  /**
   * All tables of the instance as one file: their options, indexes and streams, and all rows with all versions. {@link
   * Database.importInstance} makes the same tables of it in another instance. Not in it:
   * records of streams, the progress of consumer groups, access keys, and tables of the Azure Table service.
   *
   * @throws `OTSParameterInvalid` for wrong options, or because there are tables of the Azure Table service; `OTSObjectNotExist`.
   * @example
   * ```ts
   * const backup = await new Response(await db.exportInstance()).blob();
   * const { tables, rows } = await other.importInstance(backup);
   * ```
   */
  exportInstance(options?: ExportInstanceOptions): Promise<ReadableStream<Uint8Array>>;
  /**
   * Makes the tables of an export, with their rows, versions, indexes and streams. Streams and indexes begin behind the rows, so no
   * change is recorded. An auto-increment key gets `allowChosen`, because its rows have their keys.
   *
   * Rows that grew by updates, beyond what one call takes, come in pieces. If it fails, the tables that it has created are deleted again. One that ends with its page leaves some: delete them, and import again.
   *
   * @throws `OTSObjectAlreadyExist` if a table or index of the export is there already; `OTSParameterInvalid` if the source is no
   * export, or is cut short; {@link WriterError} if rows could not be stored.
   */
  importInstance(source: Blob | Response | ReadableStream<Uint8Array>, options?: ImportInstanceOptions): Promise<ImportInstanceResult>;

  /** The streams of the instance, or that of one table [ST1]. Azure tables are named `account/table`. @throws `OTSObjectNotExist`. */
  listStream(request?: ListStreamRequest): Promise<StreamDescription[]>;
  /**
   * A stream, and its shards: one for each partition, and those of before that still have records. A cut makes two children,
   * a merger one child with two parents. Who reads parents first sees the changes of each key in order [ST2].
   *
   * @throws `OTSObjectNotExist` for an unknown stream or shard; `OTSParameterInvalid` for a malformed id.
   */
  describeStream(request: DescribeStreamRequest): Promise<DescribeStreamResult>;
  /** A place in a shard, to read from: its oldest record, a time, or behind the latest one [ST1], [ST3]. @throws as `describeStream`. */
  getShardIterator(request: GetShardIteratorRequest): Promise<string>;
  /**
   * The changes of a shard behind a place: each committed change once, in order [ST2]. {@link Database.changes} reads all shards
   * by itself.
   *
   * @throws `OTSParameterInvalid` for a place that is none; `OTSObjectNotExist` if its stream is gone;
   * `OTSTrimmedDataAccess` if records behind it have expired [ST3].
   */
  getStreamRecord(request: GetStreamRecordRequest): Promise<GetStreamRecordResult>;
  /**
   * The changes of a table, one after another: those of its stream so far, then each new one when it is stored. The changes of
   * one row come in order. Breaking off ends it.
   *
   * @throws `OTSObjectNotExist` if the table has no stream; `OTSTrimmedDataAccess` if changes behind `from` are gone (they have
   * expired, or the stream was disabled): note the time, read the table, and go on from that time; the signal's reason.
   * @example
   * ```ts
   * await db.updateTable({ tableName: "order", stream: { enabled: true, expirationHours: 24 } });
   * let place = "oldest";                 // keep it where it outlives the page
   * for await (const { type, primaryKey, cells, token } of db.changes({ tableName: "order", from: place, once: true })) {
   *   console.log(type, primaryKey, cells);
   *   place = token;
   * }
   * ```
   */
  changes(request: ChangesRequest): AsyncIterableIterator<Change>;
  /**
   * A group of consumers that share the work of a table's changes, or of its rows; see {@link ConsumerGroup}. The group's place
   * is stored in the table `__tabstore_consumers` of the instance, which the first group makes. Each loop is a consumer, in
   * whichever tab. Records come at least once [ST2].
   *
   * @example
   * ```ts
   * await db.updateTable({ tableName: "order", stream: { enabled: true, expirationHours: 24 } });
   * await db.putRow({ tableName: "order", primaryKey: { id: "o1" }, attributes: { total: 12.5 } });
   * const group = db.consumer({ tableName: "order", group: "upload", type: "BaseAndStream" });
   * for await (const { records, checkpoint } of group) {
   *   for (const { type, primaryKey, cells } of records) console.log(type, primaryKey, cells);
   *   await checkpoint();                               // these do not come again
   *   break;                                            // without it the loop waits for more
   * }
   * ```
   */
  consumer(request: ConsumerRequest): ConsumerGroup;
  /** The consumer groups of the instance, by table and name. */
  listConsumerGroups(request?: ListConsumerGroupsRequest): Promise<ConsumerGroupSummary[]>;
  /**
   * A live query: the rows of a range, or one row, and again after each commit that changes them. It needs no stream. A commit
   * that does not touch the rows costs it nothing; one that does makes it read the touched rows again. Nothing is read
   * while nobody iterates or is subscribed. Rows that expire go with the next read of the range.
   *
   * Reads cost their units [C1]: all rows first and after a hand-over between tabs, then the touched ones.
   *
   * @example
   * ```ts
   * for await (const { rows, changed } of db.watch({ tableName: "order", limit: 20 })) {
   *   console.log(rows.map((row) => row.toObject()), changed);
   *   break;
   * }
   * ```
   */
  watch(request: WatchRequest): LiveQuery;
  /**
   * The number of rows of a range, and again each time it changes; see {@link LiveCount}. No row comes to the page.
   *
   * @example
   * ```ts
   * for await (const count of db.watchCount({ tableName: "order" })) {
   *   console.log(count);
   *   break;
   * }
   * ```
   */
  watchCount(request: CountRowsRequest): LiveCount;

  /**
   * Searches all tables for stored texts that look damaged: those of NULs only. Earlier builds stored some short texts
   * that are not ASCII as NULs; CHANGELOG.md says what to do about them. It reads everything, page by page, costs the
   * units of that, and changes nothing.
   *
   * @example
   * ```ts
   * for await (const { tableName, primaryKey, column } of db.verify({ texts: true })) console.log(tableName, primaryKey, column);
   * ```
   */
  verify(options: VerifyOptions): AsyncIterableIterator<DamagedText>;
  /**
   * The unreadable data of an instance that was opened with `salvage: true`, complete when `open` resolves. Empty for an
   * instance opened without it.
   *
   * @example
   * ```ts
   * for (const { tableName, from, to, reason } of await db.missing()) console.log(tableName, from, to, reason);
   * ```
   */
  missing(options?: CallOptions): Promise<MissingRows[]>;
  /** The current state of the engine. */
  metrics(options?: CallOptions): Promise<Metrics>;
  /**
   * The space of the instance, and of the origin that all its instances share.
   *
   * @example
   * ```ts
   * const { live, garbage, used, quota } = await db.storage();
   * if (garbage > live) await db.compact();
   * ```
   */
  storage(options?: CallOptions): Promise<StorageInfo>;
  /**
   * Asks the browser to keep the origin's data when it makes room, and gives its answer. Nothing else asks: Firefox shows a
   * dialog, Chrome and Safari decide by themselves, and may decide otherwise later. In Firefox the promise is settled when the
   * user answers, which may be never. An abort of the signal ends the wait, but not the dialog. @throws `Unavailable` in workers and
   * where the host has no such promise.
   */
  persist(options?: CallOptions): Promise<boolean>;
  /**
   * Loads code that is otherwise loaded on first use, so that all calls work without a network too: all of it, some 320 KB gzip, or
   * the modules with these names (see {@link init}). What is loaded stays in this page. For a reload, a service worker has to
   * keep the files: `tabstore/files.json` has their names. @throws `Unavailable` where a file cannot be loaded.
   */
  preload(modules?: readonly (keyof WasmModules)[]): Promise<void>;
  /** Flushes memory to segments. Not needed for safety: a write that resolved is stored. */
  flush(options?: CallOptions): Promise<void>;
  /**
   * Merges all segments and removes data for good that versions, time to live and deletions hide [V3], [V5]. In the
   * background the engine removes expired and deleted data only if that frees enough space. Data that expired since the
   * last flush stays at least ten minutes.
   */
  compact(options?: CallOptions): Promise<void>;
  /** Sets an injected clock (milliseconds since 1970 UTC) [V10], for all tabs and for the next leader. @throws when the instance was opened without `clock: { now }`. */
  setClock(now: number, options?: CallOptions): Promise<void>;
  /**
   * Waits for the reads and writes of rows in flight, then closes. The last handle of the page closes the engine. Later
   * calls reject with `Closed`; so do unanswered calls about tables or the engine (`createTable`, `compact`, …). Closing
   * twice is fine.
   *
   * A page that goes away need not close: no acknowledged data is lost.
   */
  close(): Promise<void>;
  /** `await using db = await open("demo")` closes at the end of the block. */
  [Symbol.asyncDispose](): Promise<void>;

  /** Listens to an event. */
  addEventListener<K extends keyof DatabaseEvents>(
    type: K,
    listener: (event: DatabaseEvents[K]) => void,
    options?: { readonly once?: boolean | undefined; readonly signal?: AbortSignal | undefined },
  ): void;
  /** Stops listening. */
  removeEventListener<K extends keyof DatabaseEvents>(type: K, listener: (event: DatabaseEvents[K]) => void): void;
}
