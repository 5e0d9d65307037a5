/**
 * The public types: everything that a caller of TabStore sees, and no internals.
 *
 * Names follow the Table Store product documents; shapes follow today's JavaScript. Ids in brackets, such as [T4] or
 * [V6], name the statement of the product's specification behind a limit. Sizes are in bytes, times in milliseconds since
 * 1970 UTC, unless a name or a comment says otherwise.
 */

import type { Attributes, CallOptions, Consumed, InputPrimaryKey, PrimaryKey, RangeKey } from "./data.js";
import type { TabStoreError } from "./errors.js";
import type { Filter } from "./filter.js";
import type { PartitionOptions, Prices, Throttle } from "./management.js";
import type { Row } from "./row.js";

export type * from "./data.js";

// ------------------------------------------------------------------------------------------------ opening

/** A `WebAssembly.Module`. TypeScript knows that name only together with the names of a browser, which Node lacks. */
export type WasmModule = object;

/** The source of the WebAssembly module: an address, its bytes, a response, or the compiled module. */
export type WasmSource = string | URL | ArrayBuffer | ArrayBufferView | Response | WasmModule;

/** The sources of the code that is loaded on first use. See `init`. */
export interface WasmModules {
  /** `tabstore_compaction.wasm`: merges segments, and splits partitions. */
  readonly compaction?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_dense.wasm`: writes the blocks of instances of the kind `capacity`. */
  readonly dense?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_rules.wasm`: regular expressions of filters. */
  readonly rules?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_answers.wasm`: stores the answers to calls from other tabs, which may outlive this tab. */
  readonly answers?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_streams.wasm`: records the changes of tables with a stream, and reads them. */
  readonly streams?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_azure.wasm`: the tables and entities of the Azure Table service. */
  readonly azure?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_tablestore.wasm`: the wire protocol of the Table Store service. */
  readonly tablestore?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_access.wasm`: who may pass a door: signatures, policies, rules for other origins. */
  readonly access?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_batches.wasm`: transactions of the Azure Table service. */
  readonly batches?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_transactions.wasm`: atomic batches; deletes ranges; starts and ends local transactions. */
  readonly transactions?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_loads.wasm`: puts many sorted rows into segments at once. Without it they are written as others are. */
  readonly loads?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_files.wasm`: storage in files, and the log of IndexedDB in files. */
  readonly files?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_occasional.wasm`: storage in memory, `salvage`, and calls that most pages never make. */
  readonly occasional?: WasmSource | Promise<WasmSource> | undefined;
  /** `tabstore_inspection.wasm`: a look inside the store. */
  readonly inspection?: WasmSource | Promise<WasmSource> | undefined;
}

/** A kind of instance, chosen when it is created and never changed [I4]. */
export type InstanceKind = "high-performance" | "capacity";

/** The set of limits: those of the product documents, or the laxer ones that the official SDKs' tests rely on. */
export type LimitSet = "document" | "sdk";

/** Quotas that you can raise [I3], [T6]. */
export interface Quotas {
  /** Instances of this origin; default 10 [I3]. */
  readonly instances?: number | undefined;
  /** Tables of the instance; default 64 [I3]. */
  readonly tables?: number | undefined;
  /** Highest reserved read or write throughput of a table; default 5000 [T6]. */
  readonly reservedThroughput?: number | undefined;
}

/**
 * The retries of calls that the engine refuses for now, with nothing stored: `OTSRowOperationConflict` (a transaction
 * holds the row), `OTSCapacityUnitExhausted` (a partition key over its limit, [C5]), `OTSSessionBusy`, `OTSServerBusy`
 * (too many calls wait), and `OTSQuotaExhausted` with "Too frequent table operations.". The wait doubles with each try,
 * and is then shortened by a random part of up to a half. A call's `signal` ends it.
 *
 * Operations of one caller on one row keep their call order. While one waits, later ones (not `getRange`, `scan` and
 * `batchGetRow`) wait behind it. If a later one had already left and has been answered, the waiting one fails with its
 * error instead of taking effect after it. A batch waits as a whole behind its rows, but only its refused rows are tried
 * again; the same holds for `batchGetRow`.
 */
export interface RetryOptions {
  /** Tries in all, the first included; default 10. */
  readonly attempts?: number | undefined;
  /** The longest first wait, in milliseconds; default 25. */
  readonly minDelay?: number | undefined;
  /** The longest wait, in milliseconds; default 1000. With the defaults a call fails after 2.3 to 4.6 s. */
  readonly maxDelay?: number | undefined;
}

/**
 * Options of {@link open}. If this page or another tab has the instance open, `integers`, `retry`, `signal` and `create` are
 * this caller's own; `lost` and `wasm` have no effect then. In another tab `worker` is this tab's own too. The others are
 * those of the open engine: left out, or equal to them, or refused with `OTSParameterInvalid`. An engine that was opened with
 * `salvage: true` refuses those who left it out: it is read-only.
 */
export interface OpenOptions extends CallOptions {
  /**
   * Cancels the opening: it rejects with the signal's reason. While code is being loaded, that is at once. Later the
   * opening runs to its end first, is closed, and releases its lock, so that nothing blocks the next `open`. An opening
   * that hangs is cut off after two seconds. After `open` has resolved the signal does nothing.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether to create a missing instance; default `true`. In memory an instance is always missing, so `false` is always
   * refused there.
   */
  readonly create?: boolean | undefined;
  /**
   * `true`: the handle is a guest, as that of a tool that looks into an application's instance. Its options of the engine count only
   * while nobody else gives any. It joins an open engine as it is, and is refused no option but a missing `salvage`. If its own tab
   * leads, another tab that opens the instance with other options gets them: the guest's engine ends in order, the other tab leads,
   * and the guest follows. That needs all handles on the instance but the new one to be guests. A transaction of a guest is aborted
   * then. Within one page handles share the engine that the first one opened, guest or not. Default `false`.
   */
  readonly guest?: boolean | undefined;
  /**
   * `true`: opens the readable data of an instance with damaged records. Writes reject with `ReadOnly`, and nothing
   * stored is changed. Every record is read once before `open` resolves. Rows whose keys lie in a damaged block are left
   * out, so that no older value replaces them; {@link Database.missing} lists them. A table whose name and schema are
   * lost is called `tree_<number>`, its key columns `key1`, `key2` and so on. No instance is created, whatever `create`
   * says.
   */
  readonly salvage?: boolean | undefined;
  /**
   * What becomes of an instance that existed and that the browser has lost. `"refuse"`, the default: `open` rejects with
   * `DataLost`. `"recreate"`: it begins anew, empty. Witnesses of an instance are the list of instances and a file in the
   * origin's private file system, each in another place than its data. If site data is cleared, or the browser evicts the
   * whole origin, all of them are gone: then a new instance is created. The witness of an instance in files lies beside its data, so
   * it tells only if the browser has lost a part.
   */
  readonly lost?: "refuse" | "recreate" | undefined;
  /**
   * The storage of the data: `"indexeddb"` (the default), `"files"` or `"memory"` (gone when closed). In memory each opening
   * has its own store, empty at first, even if another one has the same name. There is no silent fallback: without IndexedDB,
   * `open` rejects with the code `Unavailable`, and the application decides.
   *
   * `"files"` in Node and Deno: a folder below {@link path}. In browsers: the origin private file system. In Chromium, reads of
   * data that is not in memory take a twentieth of the time there. Only a dedicated worker of a secure context can open such files
   * (`worker: true`, the default), and WebKitGTK has none: else `open` rejects with `Unavailable`. Tabs share such an instance as
   * any other, but a tab that is frozen keeps it, and calls of other tabs wait, until it goes on or is closed. An instance in files
   * and one of the same name in IndexedDB are two instances. {@link listInstances}, {@link describeInstance} and {@link deleteInstance} know it with
   * `{ storage: "files" }`. It does not count for the quota of instances.
   */
  readonly storage?: "indexeddb" | "files" | "memory" | undefined;
  /**
   * Node and Deno: the folder in which the instances of `storage: "files"` lie, each in a folder with its name in lower case. What is
   * missing is created. One process at a time has an instance open: another one, or another thread, is refused with `Busy`. The lock
   * of a dead process is taken over. Processes of several machines, or of containers that do not see each other, must not
   * share a folder. To delete an instance that is closed, delete its folder. {@link listInstances} and the like do not
   * know instances in files, and they do not count for its quota.
   */
  readonly path?: string | undefined;
  /**
   * Whether the engine runs in a dedicated worker. The default is `true` if the host has workers, but `false` in workers of Firefox:
   * those that have ended a worker may wait for ever when they start the next one. If the host has no workers, `true` rejects with
   * `Unavailable`.
   */
  readonly worker?: boolean | undefined;
  /**
   * `"relaxed"` (the default): a write resolves when the operating system has it, and survives a crash of tab and
   * browser. `"strict"`: a write resolves when the disk has it; it survives a power cut, and is slower.
   */
  readonly durability?: "relaxed" | "strict" | undefined;
  /**
   * Bytes of the cache of decompressed blocks, which lends a part to flush and compaction. Default 32 MiB, at most 2 GiB
   * (2147483648): with everything else that fits into the 4 GiB of WebAssembly memory. The engine's memory,
   * `wasmMemoryBytes` of `metrics`, is at most this, four times `memtableBytes`, and 12 MiB, plus the bytes of calls that
   * you do not await.
   */
  readonly cacheBytes?: number | undefined;
  /**
   * Bytes of writes kept in memory before they become a segment; default 8 MiB, at most 256 MiB (268435456). Up to two
   * more memtables of this size may be waiting. They are flushed earlier if reading them back would make the next opening
   * slow.
   */
  readonly memtableBytes?: number | undefined;
  /**
   * Bytes that the instance keeps in the browser's storage for deletions on a full disk. Default 2 MiB, at most 256 MiB
   * (268435456), 0 for none. When the origin is full, these bytes are freed, so that you can delete rows, indexes and
   * tables. From then on writes that add are refused (`QuotaExceeded`) until the bytes are stored again. That happens
   * automatically once there is room. They are first stored in the background: after a second without writes, after five
   * seconds of writing, or when `memtableBytes` were flushed. They count as used storage. In memory there are none.
   */
  readonly reserveBytes?: number | undefined;
  /** The kind of a new instance; default `"high-performance"`. An existing instance keeps its kind [I4]. */
  readonly kind?: InstanceKind | undefined;
  /** Raised quotas. */
  readonly quotas?: Quotas | undefined;
  /** The set of limits; default `"document"`. */
  readonly limits?: LimitSet | undefined;
  /** How integers are read: `"auto"` (the default; see {@link Value}) or always as `"bigint"`. */
  readonly integers?: "auto" | "bigint" | undefined;
  /**
   * A clock of your own, for tests and lessons [V10]: `{ now }` in milliseconds, moved by {@link Database.setClock}, or,
   * with `worker: false` only, a function that is called before every call. Default: the device's clock. The first filter
   * with a value transfer rule loads code, and so do the first rows that a writer sends by the thousand: they, and calls behind
   * them, may take a later time of a function.
   */
  readonly clock?: { readonly now: number } | (() => number) | undefined;
  /** Refuses requests over a limit; by default there is none [C5]. */
  readonly throttle?: Throttle | undefined;
  /** Thresholds for splitting and merging partitions; optional [P1]. */
  readonly partitions?: PartitionOptions | undefined;
  /** The price of capacity units, for {@link Database.computeConsumed}; by default examples [C3]. */
  readonly prices?: Prices | undefined;
  /** Retries of calls that were refused for now; `false`: none. */
  readonly retry?: RetryOptions | false | undefined;
  /**
   * The source of the WebAssembly module, for this call only; see {@link init}. The code that is loaded on first use still comes
   * from the package's own place, or from the `modules` of {@link init}: give these too if the files lie elsewhere. A file of
   * another build, or one that is missing, is refused by name.
   */
  readonly wasm?: WasmSource | undefined;
}

// ------------------------------------------------------------------------------------------------ instances

/** Options of {@link createInstance}. */
export interface CreateInstanceOptions extends CallOptions {
  /** The kind, never changed afterwards; default `"high-performance"` [I4]. */
  readonly kind?: InstanceKind | undefined;
  /** Raised quotas; `instances` is the limit of this origin [I3]. */
  readonly quotas?: Pick<Quotas, "instances"> | undefined;
  /** The source of the WebAssembly module, for this call only; see {@link init}. */
  readonly wasm?: WasmSource | undefined;
}

/** Options of {@link listInstances}, {@link describeInstance} and {@link deleteInstance}. */
export interface InstanceCallOptions extends CallOptions {
  /**
   * The storage of the instances: `"indexeddb"` (the default), or `"files"`, those in files of this origin. `Unavailable` where the
   * host has none.
   */
  readonly storage?: "indexeddb" | "files" | undefined;
  /** The source of the WebAssembly module, for this call only; see {@link init}. */
  readonly wasm?: WasmSource | undefined;
}

/** The part of a tab. `"leader"`: it has the engine of the instance. `"follower"`: the leader does its calls. */
export type Role = "leader" | "follower";

/** The description of an instance, without opening it [I1]. */
export interface InstanceDescription {
  /** Its name as given at creation; names are compared without case [I2]. */
  readonly name: string;
  /** Its kind [I4]. */
  readonly kind: InstanceKind;
  /** When it was created, milliseconds since 1970 UTC. */
  readonly creationTime: number;
}

/** A call that needs only a table's name. */
export interface TableRequest extends CallOptions {
  /** The table's name. */
  readonly tableName: string;
}

// ------------------------------------------------------------------------------------------------ writing rows

/**
 * A condition on the row before a write. If it does not hold, the write rejects with `OTSConditionCheckFail` and stores
 * nothing [R6]. Test and write are one step: no other write comes between. A condition costs a read unit.
 */
export interface Condition {
  /** Default `"IGNORE"`. */
  readonly rowExistence?: "IGNORE" | "EXPECT_EXIST" | "EXPECT_NOT_EXIST" | undefined;
  /**
   * A filter on the stored row, without pagination. In a row that does not exist every column is missing: pass
   * `passIfMissing: false` if such a row must not pass.
   *
   * @example
   * ```ts
   * await db.updateRow({ tableName, primaryKey, put: { stock: 4 },           // compare and set
   *   condition: { column: col("stock").eq(5, { passIfMissing: false }) } });
   * ```
   */
  readonly column?: Filter | undefined;
}

/** A row to put: replaces the whole row, all columns and versions [R1]. */
export interface PutRow {
  /** The whole primary key. */
  readonly primaryKey: InputPrimaryKey;
  /** The attribute columns; a row may have none [D1]. */
  readonly attributes?: Attributes | undefined;
  /** The condition on the row before. */
  readonly condition?: Condition | undefined;
  /** The content of the result's `row`; default `"NONE"`. */
  readonly returnContent?: "NONE" | "PRIMARY_KEY" | undefined;
}

/**
 * Changes of a row; it is created if missing, unless the call only deletes [R1].
 *
 * A column may be named in one of `put`, `deleteColumns` and `increment`; a version of it in one of `put` and
 * `deleteVersions`. If two cells in `put` have the same column and version, the last one is stored, as in the service.
 */
export interface UpdateRow {
  /** The whole primary key. */
  readonly primaryKey: InputPrimaryKey;
  /** Columns to put: adds a version. */
  readonly put?: Attributes | undefined;
  /**
   * Versions to delete, by column: those of exactly these milliseconds since 1970 UTC. Versions that `maxVersions` hides
   * do not reappear: they go with any shown version of their column that is deleted [V2].
   */
  readonly deleteVersions?: Readonly<Record<string, readonly (number | bigint)[]>> | undefined;
  /** Columns to delete, with all their versions. */
  readonly deleteColumns?: readonly string[] | undefined;
  /** Integers to add, by column; a missing column counts from 0 [R6]. */
  readonly increment?: Readonly<Record<string, number | bigint>> | undefined;
  /** The condition on the row before. */
  readonly condition?: Condition | undefined;
  /** The content of the result's `row`; `{ afterModify }` names the incremented columns to return. */
  readonly returnContent?: "NONE" | "PRIMARY_KEY" | { readonly afterModify: readonly string[] } | undefined;
}

/** A row to delete. Deleting a missing row succeeds, unless a condition forbids it. */
export interface DeleteRow {
  /** The whole primary key. */
  readonly primaryKey: PrimaryKey;
  /** The condition on the row before. */
  readonly condition?: Condition | undefined;
  /** The content of the result's `row`; default `"NONE"`. */
  readonly returnContent?: "NONE" | "PRIMARY_KEY" | undefined;
}

/** The parameters of {@link Database.putRow}. */
export interface PutRowRequest extends PutRow, TableRequest {}
/** The parameters of {@link Database.updateRow}. */
export interface UpdateRowRequest extends UpdateRow, TableRequest {}
/** The parameters of {@link Database.deleteRow}. */
export interface DeleteRowRequest extends DeleteRow, TableRequest {}

/** The result of a write. */
export interface WriteResult {
  /** Capacity units it cost [C1]. */
  readonly consumed: Consumed;
  /** The content asked for by `returnContent`, else `null`. */
  readonly row: Row | null;
}

/** One row of a {@link Database.batchWriteRow}: exactly one of `put`, `update` and `delete`. */
export type BatchWriteItem =
  | { readonly tableName: string; readonly put: PutRow; readonly update?: undefined; readonly delete?: undefined }
  | { readonly tableName: string; readonly update: UpdateRow; readonly put?: undefined; readonly delete?: undefined }
  | { readonly tableName: string; readonly delete: DeleteRow; readonly put?: undefined; readonly update?: undefined };

/** Options of {@link Database.batchWriteRow}. */
export interface BatchWriteOptions extends CallOptions {
  /**
   * `true`: all rows or none, in one step. They must be of one table and share one partition key, else all of them fail
   * with `OTSDataOutOfRange` [R7]. Default `false`: each row for itself.
   */
  readonly atomic?: boolean | undefined;
}

/** The parameters of {@link Database.startLocalTransaction}. */
export interface StartLocalTransactionRequest extends TableRequest {
  /** The partition key column and its value: the transaction holds all rows with this value. */
  readonly partitionKey: PrimaryKey;
}

/** The result of one row of a batch [R2]. */
export type BatchWriteResult =
  | { readonly ok: true; readonly consumed: Consumed; readonly row: Row | null; readonly error?: undefined }
  | { readonly ok: false; readonly error: TabStoreError; readonly consumed?: undefined; readonly row?: undefined };

// ------------------------------------------------------------------------------------------------ reading rows

/** Versions from `start` (included) to `end` (not included), or exactly one; milliseconds since 1970 UTC [V8]. */
export type TimeRange =
  | { readonly start: number | bigint; readonly end: number | bigint; readonly version?: undefined }
  | { readonly version: number | bigint; readonly start?: undefined; readonly end?: undefined };

/** The columns and versions to read [V8], [R6]. */
export interface ReadOptions {
  /** Versions of each column, newest first; default 1 unless `timeRange` is given. Never with one exact version. */
  readonly maxVersions?: number | undefined;
  /** Only versions in this range. */
  readonly timeRange?: TimeRange | undefined;
  /**
   * Only these columns, at most 128 (1024 with `limits: "sdk"`). A row without any of them is not returned. Default: all
   * columns.
   */
  readonly columnsToGet?: readonly string[] | undefined;
  /** Only columns from this name on (included), in byte order of names. */
  readonly startColumn?: string | undefined;
  /** Only columns before this name (not included). */
  readonly endColumn?: string | undefined;
  /**
   * Only rows that pass, judged by the columns and versions that the other options select. Rows that are filtered out
   * still count toward the 5000 rows and 4 MB of a range, and cost the same.
   */
  readonly filter?: Filter | undefined;
}

/** The parameters of {@link Database.getRow}. */
export interface GetRowRequest extends ReadOptions, TableRequest {
  /** The whole primary key. */
  readonly primaryKey: PrimaryKey;
}

/** The result of {@link Database.getRow}. */
export interface GetRowResult {
  /** The row, or `null` when there is none. */
  readonly row: Row | null;
  /** Capacity units it cost [C1]. */
  readonly consumed: Consumed;
}

/**
 * The rows of a range: from `start` (included) to `end` (not included) in the given direction [R3]. Forward, `start` must
 * be less than `end`; backward, greater. Equal ends are refused too.
 */
export interface RowRange {
  /** `"FORWARD"` (the default) by ascending keys, `"BACKWARD"` by descending ones. */
  readonly direction?: "FORWARD" | "BACKWARD" | undefined;
  /** The first key; without it, the first row in this direction. */
  readonly start?: RangeKey | undefined;
  /** The key to stop before; without it, after the last row in this direction. */
  readonly end?: RangeKey | undefined;
}

/** The parameters of {@link Database.getRange}. */
export interface GetRangeRequest extends RowRange, ReadOptions, TableRequest {
  /**
   * The most rows to return. A call also ends after 5000 rows or 4 MB scanned, at whole rows, whether or not their
   * columns were asked for [R3].
   */
  readonly limit?: number | undefined;
}

/** The result of {@link Database.getRange}. */
export interface GetRangeResult {
  /** The rows, in order. May be empty although there is more to read. */
  readonly rows: readonly Row[];
  /** The `start` of the next call, or `null` at the end of the range. */
  readonly nextStartPrimaryKey: PrimaryKey | null;
  /** Capacity units it cost [C1]. */
  readonly consumed: Consumed;
}

/** The parameters of {@link Database.scan} and {@link Database.scanPages}. */
export interface ScanRequest extends RowRange, ReadOptions, TableRequest {
  /** Rows to deliver in all; by default no limit. */
  readonly limit?: number | undefined;
  /** The most rows of a page; default 5000. */
  readonly pageRows?: number | undefined;
}

/** The parameters of {@link Database.count}. */
export interface CountRowsRequest extends TableRequest {
  /** The first key to count, included; by default the start of the table. */
  readonly start?: RangeKey | undefined;
  /** The key to stop before; by default the end of the table. */
  readonly end?: RangeKey | undefined;
  /** Counts only rows whose newest versions pass it. */
  readonly filter?: Filter | undefined;
}

/** The parameters of {@link Database.deleteRange}. */
export interface DeleteRangeRequest extends TableRequest {
  /** The first key, included; by default the start of the table. */
  readonly start?: RangeKey | undefined;
  /** The key to stop before; by default the end of the table. */
  readonly end?: RangeKey | undefined;
  /** Deletes only rows whose newest versions pass it. A row that no longer passes when its turn comes stays. */
  readonly filter?: Filter | undefined;
}

/** The result of {@link Database.deleteRange}. */
export interface DeleteRangeResult {
  /** The number of rows deleted. */
  readonly count: number;
  /** Capacity units it cost [C1]: those of reading the rows, and of a DeleteRow for each. */
  readonly consumed: Consumed;
}

/** The result of {@link Database.count}. */
export interface CountRowsResult {
  /** The number of rows. */
  readonly count: number;
  /** Capacity units it cost [C1]: those of reading the same rows. */
  readonly consumed: Consumed;
}

/** The rows to read of one table in {@link Database.batchGetRow}. */
export interface BatchGetItem extends ReadOptions {
  /** The table. */
  readonly tableName: string;
  /** Whole primary keys; at most 100 in a call, all tables together [R2]. */
  readonly primaryKeys: readonly PrimaryKey[];
}

/** The result of one key of a {@link Database.batchGetRow}. */
export type BatchGetResult =
  | { readonly ok: true; readonly row: Row | null; readonly consumed: Consumed; readonly error?: undefined }
  | { readonly ok: false; readonly error: TabStoreError; readonly row?: undefined; readonly consumed?: undefined };
