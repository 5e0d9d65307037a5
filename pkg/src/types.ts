/**
 * The public types: everything that a caller of TabStore sees, and nothing that knows how it works.
 *
 * Names follow the Table Store product documents, shapes follow today's JavaScript. Ids in brackets, such as [T4] or
 * [V6], name the statement of the product's specification that a limit comes from. Sizes are in bytes, times in
 * milliseconds since 1970 UTC, unless a name or a comment says otherwise.
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

/** Where the WebAssembly module comes from: an address, its bytes, a response, or the compiled module. */
export type WasmSource = string | URL | ArrayBuffer | ArrayBufferView | Response | WasmModule;

/** A kind of instance, chosen when it is created and never changed [I4]. */
export type InstanceKind = "high-performance" | "capacity";

/** Which limits hold: those of the product documents, or the laxer ones that the official SDKs' tests rely on. */
export type LimitSet = "document" | "sdk";

/** Quotas that can be raised [I3], [T6]. */
export interface Quotas {
  /** Instances of this origin; 10 unless given [I3]. */
  readonly instances?: number | undefined;
  /** Tables of the instance; 64 unless given [I3]. */
  readonly tables?: number | undefined;
  /** Highest reserved read or write throughput of a table; 5000 unless given [T6]. */
  readonly reservedThroughput?: number | undefined;
}

/**
 * How calls are tried again that the engine refuses for now, without having stored anything: `OTSRowOperationConflict` (a
 * transaction holds the row), `OTSCapacityUnitExhausted` (a partition key over its limit, [C5]), `OTSSessionBusy`,
 * `OTSServerBusy` (too many calls wait), and `OTSQuotaExhausted` with "Too frequent table operations.". The wait doubles from try to try, and is then shortened by a
 * random part of up to a half. A call's `signal` ends it.
 *
 * Operations of one caller on one row keep their call order: while one waits, later ones (not `getRange`, `scan` and
 * `batchGetRow`) wait behind it; and if a later one was already on its way and has been answered, the one that waits is
 * given up with its error, instead of taking effect after it. A batch waits as a whole behind its rows, and only those of
 * its rows that were refused are tried again; so with `batchGetRow`.
 */
export interface RetryOptions {
  /** Tries in all, the first included; 10 unless given. */
  readonly attempts?: number | undefined;
  /** The longest first wait, in milliseconds; 25 unless given. */
  readonly minDelay?: number | undefined;
  /** The longest wait, in milliseconds; 1000 unless given. With the defaults a call is given up after 2.3 to 4.6 s. */
  readonly maxDelay?: number | undefined;
}

/** Options of {@link open}. */
export interface OpenOptions extends CallOptions {
  /**
   * Gives the opening up: it rejects with the signal's reason. While code is being loaded that is at once. Later the opening
   * comes to its end first, is closed, and gives its lock back, so that the next `open` finds nothing in its way; one that
   * hangs is cut off after two seconds. After `open` has resolved the signal does nothing.
   */
  readonly signal?: AbortSignal | undefined;
  /**
   * Whether to create the instance when there is none; `true` unless given. In memory there never is one: `false` is always
   * refused there.
   */
  readonly create?: boolean | undefined;
  /**
   * `true`: opens what can be opened of an instance that has damaged records, to be read: writes reject with `ReadOnly`, and
   * nothing stored is changed. Every record is read once before `open` resolves. Rows whose keys lie in a damaged block are left
   * out, so no older value stands for them; {@link Database.missing} lists them. A table whose name and schema are lost is called
   * `tree_<number>`, its key columns `key1`, `key2` and so on. No instance is made, whatever `create` says.
   */
  readonly salvage?: boolean | undefined;
  /**
   * Where the data lives: `"indexeddb"` (the default) or `"memory"` (gone when closed). In memory each opening has a store of
   * its own, empty at first, also where another one has the same name. There is no silent fallback: where there is no
   * IndexedDB, `open` rejects with the code `Unavailable`, and the application decides.
   */
  readonly storage?: "indexeddb" | "memory" | undefined;
  /**
   * Whether the engine runs in a dedicated worker; `true` unless given, where the host has workers. Where it has none, `true`
   * rejects with `Unavailable`.
   */
  readonly worker?: boolean | undefined;
  /**
   * `"relaxed"` (the default): a write resolves when the operating system has it, and survives a crash of tab and browser.
   * `"strict"`: when the disk has it; survives a power cut, and is slower.
   */
  readonly durability?: "relaxed" | "strict" | undefined;
  /**
   * Bytes of the cache of decompressed blocks, which lends a part to flush and compaction; 32 MiB unless given, at most 2 GiB
   * (2147483648): with the rest that fits into the 4 GiB at which WebAssembly memory ends. The engine's memory,
   * `wasmMemoryBytes` of `metrics`, is at most this, four times `memtableBytes`, and 12 MiB; and the bytes of calls that
   * nobody waits for.
   */
  readonly cacheBytes?: number | undefined;
  /**
   * Bytes of changes kept in memory before they are written as a segment; 8 MiB unless given, at most 256 MiB (268435456). Up to
   * two more such are on their way. They are written earlier where reading them back would make the next opening slow.
   */
  readonly memtableBytes?: number | undefined;
  /**
   * Bytes that the instance keeps in the browser's storage for deletions on a full disk; 2 MiB unless given, at most 256 MiB
   * (268435456), 0 for none. When the origin is full, these bytes are given back, so that rows, indexes and tables can be
   * deleted. From then on what adds is refused (`QuotaExceeded`) until the bytes are stored again. That happens by itself once
   * there is room. They are first stored in the background: after a second without writes, after five seconds of writing, or
   * when `memtableBytes` were flushed. They count as used storage. In memory there are none.
   */
  readonly reserveBytes?: number | undefined;
  /** The kind of a new instance; `"high-performance"` unless given. An instance that exists keeps its kind [I4]. */
  readonly kind?: InstanceKind | undefined;
  /** Raised quotas. */
  readonly quotas?: Quotas | undefined;
  /** Which limits hold; `"document"` unless given. */
  readonly limits?: LimitSet | undefined;
  /** How integers are read: `"auto"` (the default; see {@link Value}) or always `"bigint"`. */
  readonly integers?: "auto" | "bigint" | undefined;
  /**
   * A clock of your own, for tests and lessons [V10]: `{ now }` in milliseconds, moved by {@link Database.setClock}, or,
   * with `worker: false` only, a function that is asked before every call. The device's clock unless given.
   */
  readonly clock?: { readonly now: number } | (() => number) | undefined;
  /** Refuses requests over a limit; nothing is refused unless given [C5]. */
  readonly throttle?: Throttle | undefined;
  /** When partitions of tables are split and merged; nobody has to say [P1]. */
  readonly partitions?: PartitionOptions | undefined;
  /** What capacity units cost, for {@link Database.computeConsumed}; examples unless given [C3]. */
  readonly prices?: Prices | undefined;
  /** How calls that were refused for now are tried again; `false`: not at all. */
  readonly retry?: RetryOptions | false | undefined;
  /** Where the WebAssembly module comes from, for this call only; see {@link init}. */
  readonly wasm?: WasmSource | undefined;
}

// ------------------------------------------------------------------------------------------------ instances

/** Options of {@link createInstance}. */
export interface CreateInstanceOptions extends CallOptions {
  /** The kind, never changed afterwards; `"high-performance"` unless given [I4]. */
  readonly kind?: InstanceKind | undefined;
  /** Raised quotas; `instances` says how many this origin may have [I3]. */
  readonly quotas?: Pick<Quotas, "instances"> | undefined;
  /** Where the WebAssembly module comes from, for this call only; see {@link init}. */
  readonly wasm?: WasmSource | undefined;
}

/** Options of {@link listInstances}, {@link describeInstance} and {@link deleteInstance}. */
export interface InstanceCallOptions extends CallOptions {
  /** Where the WebAssembly module comes from, for this call only; see {@link init}. */
  readonly wasm?: WasmSource | undefined;
}

/** What is known of an instance without opening it [I1]. */
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
 * What must be true of the row before a write, else it rejects with `OTSConditionCheckFail` and nothing is stored [R6].
 * Test and write are one step: nobody writes in between. A condition costs a read unit.
 */
export interface Condition {
  /** `"IGNORE"` unless given. */
  readonly rowExistence?: "IGNORE" | "EXPECT_EXIST" | "EXPECT_NOT_EXIST" | undefined;
  /**
   * What the stored row must be like, without pagination. On a row that does not exist every column is missing: pass
   * `passIfMissing: false` where that must not do.
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
  /** What must be true before. */
  readonly condition?: Condition | undefined;
  /** What the result's `row` holds; `"NONE"` unless given. */
  readonly returnContent?: "NONE" | "PRIMARY_KEY" | undefined;
}

/**
 * Changes of a row; it is created if missing, unless the call only deletes [R1].
 *
 * A column may be named in one of `put`, `deleteColumns` and `increment`, a version of it in one of `put` and
 * `deleteVersions`. Of two cells in `put` with the same column and version the last one is stored, as in the service.
 */
export interface UpdateRow {
  /** The whole primary key. */
  readonly primaryKey: InputPrimaryKey;
  /** Columns to put: adds a version. */
  readonly put?: Attributes | undefined;
  /**
   * Versions to delete, by column: those of exactly these milliseconds since 1970 UTC. Those that `maxVersions` hides do not
   * come up instead: they go with any version of their column that is shown and deleted [V2].
   */
  readonly deleteVersions?: Readonly<Record<string, readonly (number | bigint)[]>> | undefined;
  /** Columns to delete, with all their versions. */
  readonly deleteColumns?: readonly string[] | undefined;
  /** Integers to add, by column; a missing column counts from 0 [R6]. */
  readonly increment?: Readonly<Record<string, number | bigint>> | undefined;
  /** What must be true before. */
  readonly condition?: Condition | undefined;
  /** What the result's `row` holds; `{ afterModify }` names incremented columns whose new value is wanted. */
  readonly returnContent?: "NONE" | "PRIMARY_KEY" | { readonly afterModify: readonly string[] } | undefined;
}

/** A row to delete. To delete a row that does not exist succeeds, unless a condition forbids it. */
export interface DeleteRow {
  /** The whole primary key. */
  readonly primaryKey: PrimaryKey;
  /** What must be true before. */
  readonly condition?: Condition | undefined;
  /** What the result's `row` holds; `"NONE"` unless given. */
  readonly returnContent?: "NONE" | "PRIMARY_KEY" | undefined;
}

/** What {@link Database.putRow} takes. */
export interface PutRowRequest extends PutRow, TableRequest {}
/** What {@link Database.updateRow} takes. */
export interface UpdateRowRequest extends UpdateRow, TableRequest {}
/** What {@link Database.deleteRow} takes. */
export interface DeleteRowRequest extends DeleteRow, TableRequest {}

/** What a write gives back. */
export interface WriteResult {
  /** Capacity units it cost [C1]. */
  readonly consumed: Consumed;
  /** What `returnContent` asked for, else `null`. */
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
   * with `OTSDataOutOfRange` [R7]. `false` unless given: each row for itself.
   */
  readonly atomic?: boolean | undefined;
}

/** What {@link Database.startLocalTransaction} takes. */
export interface StartLocalTransactionRequest extends TableRequest {
  /** The partition key column and its value: the transaction holds all rows that begin with it. */
  readonly partitionKey: PrimaryKey;
}

/** What became of one row of a batch: each tells its own result [R2]. */
export type BatchWriteResult =
  | { readonly ok: true; readonly consumed: Consumed; readonly row: Row | null; readonly error?: undefined }
  | { readonly ok: false; readonly error: TabStoreError; readonly consumed?: undefined; readonly row?: undefined };

// ------------------------------------------------------------------------------------------------ reading rows

/** Versions from `start` (included) to `end` (not included), or exactly one; milliseconds since 1970 UTC [V8]. */
export type TimeRange =
  | { readonly start: number | bigint; readonly end: number | bigint; readonly version?: undefined }
  | { readonly version: number | bigint; readonly start?: undefined; readonly end?: undefined };

/** Which columns and versions to read [V8], [R6]. */
export interface ReadOptions {
  /** Versions of each column, newest first; 1 unless this or `timeRange` is given. Never with one exact version. */
  readonly maxVersions?: number | undefined;
  /** Only versions in this range. */
  readonly timeRange?: TimeRange | undefined;
  /** Only these columns, at most 128 (1024 with `limits: "sdk"`); a row that has none of them is not returned. All columns unless given. */
  readonly columnsToGet?: readonly string[] | undefined;
  /** Only columns from this name on (included), in byte order of names. */
  readonly startColumn?: string | undefined;
  /** Only columns before this name (not included). */
  readonly endColumn?: string | undefined;
  /**
   * Only rows that are like this, judged by the columns and versions that the other options leave. Rows that are filtered
   * out still count toward the 5000 rows and 4 MB of a range, and cost the same.
   */
  readonly filter?: Filter | undefined;
}

/** What {@link Database.getRow} takes. */
export interface GetRowRequest extends ReadOptions, TableRequest {
  /** The whole primary key. */
  readonly primaryKey: PrimaryKey;
}

/** What {@link Database.getRow} gives. */
export interface GetRowResult {
  /** The row, or `null` when there is none. */
  readonly row: Row | null;
  /** Capacity units it cost [C1]. */
  readonly consumed: Consumed;
}

/**
 * Which rows a range holds: from `start` (included) to `end` (not included) in the given direction [R3]. Forward `start` must
 * be less than `end`, backward greater; equal ends are refused too.
 */
export interface RowRange {
  /** `"FORWARD"` (the default) by ascending keys, `"BACKWARD"` by descending ones. */
  readonly direction?: "FORWARD" | "BACKWARD" | undefined;
  /** The first key; without it, the first row in this direction. */
  readonly start?: RangeKey | undefined;
  /** The key to stop before; without it, after the last row in this direction. */
  readonly end?: RangeKey | undefined;
}

/** What {@link Database.getRange} takes. */
export interface GetRangeRequest extends RowRange, ReadOptions, TableRequest {
  /**
   * Rows to return at most; a call also ends after 5000 rows or 4 MB scanned, at whole rows, whether or not their columns
   * were asked for [R3].
   */
  readonly limit?: number | undefined;
}

/** What {@link Database.getRange} gives. */
export interface GetRangeResult {
  /** The rows, in order. May be empty though there is more to read. */
  readonly rows: readonly Row[];
  /** The `start` of the next call, or `null` when the range has been read to its end. */
  readonly nextStartPrimaryKey: PrimaryKey | null;
  /** Capacity units it cost [C1]. */
  readonly consumed: Consumed;
}

/** What {@link Database.scan} and {@link Database.scanPages} take. */
export interface ScanRequest extends RowRange, ReadOptions, TableRequest {
  /** Rows to deliver in all; no limit unless given. */
  readonly limit?: number | undefined;
  /** Rows a page at most; 5000 unless given. */
  readonly pageRows?: number | undefined;
}

/** The rows to read of one table in {@link Database.batchGetRow}. */
export interface BatchGetItem extends ReadOptions {
  /** The table. */
  readonly tableName: string;
  /** Whole primary keys; at most 100 in a call, all tables together [R2]. */
  readonly primaryKeys: readonly PrimaryKey[];
}

/** What became of one key of a {@link Database.batchGetRow}. */
export type BatchGetResult =
  | { readonly ok: true; readonly row: Row | null; readonly consumed: Consumed; readonly error?: undefined }
  | { readonly ok: false; readonly error: TabStoreError; readonly row?: undefined; readonly consumed?: undefined };
