/** The public types of tables: keys, options, indexes, descriptions, split points. */

import type { TabStoreError } from "./errors.js";
import type { CallOptions, Consumed, KeyType, KeyValue, RangeKey, TableRequest, ValueType } from "./types.js";

/** A column of a primary key. The first is the partition key [T3]. */
export interface KeyColumn {
  /** Its name [T2]. */
  readonly name: string;
  /** Its type. */
  readonly type: KeyType;
  /**
   * Whether the store gives the value where a row is put with {@link AUTO_INCREMENT}: one INTEGER column, not the first
   * [R6]. `false` unless given.
   */
  readonly autoIncrement?: boolean | undefined;
}

/**
 * An attribute column that indexes may use, with the one type that its values have from then on: a write of another type
 * rejects with `OTSParameterInvalid`. Other columns stay free. A DOUBLE takes `12.5` and {@link double}`(12)`, not `12`,
 * which is an Integer.
 */
export interface DefinedColumn {
  /** Its name [T2]. */
  readonly name: string;
  /** Its type. */
  readonly type: ValueType;
}

/**
 * A secondary index: a table of its own that holds the rows of a base table in another order, under its own name, kept by
 * the store in the same step as the rows. It is read like a table and cannot be written. A row is in it when it has all of
 * the key columns. Of its key the columns are STRING, INTEGER or BINARY.
 *
 * What it asks of its table [T8]: `maxVersions: 1`; a time to live of -1 or `allowUpdate: false`; versions are the store's
 * alone; and a row stands once in a {@link Database.batchWriteRow}, else all of it is refused.
 */
export interface IndexSpec {
  /** The index table's name [T2]; it counts as a table of the instance [I3]. */
  readonly indexName: string;
  /** `"GLOBAL"` (the default): any key. `"LOCAL"`: its key begins with the base table's partition key. */
  readonly type?: "GLOBAL" | "LOCAL" | undefined;
  /** 1 to 4 key or defined columns; the base table's key columns that are not among them follow by themselves. */
  readonly primaryKey: readonly string[];
  /** Up to 32 defined columns that the index holds too; none unless given. */
  readonly columns?: readonly string[] | undefined;
  /** Seconds that a version lives in the index, at most the table's; -1 (the default) for ever [T8]. */
  readonly timeToLive?: number | undefined;
}

/** Reserved throughput: capacity units a second, 0 to 5000 each [T6]. A capacity instance takes 0 only [I4]. */
export interface Throughput {
  /** Read capacity units a second. */
  readonly read: number;
  /** Write capacity units a second. */
  readonly write: number;
}

/** Options of a table [T4]. */
export interface TableOptions {
  /**
   * Seconds that a version lives; -1 (the default) for ever, else at least 86400. What has expired is hidden at once and removed in
   * the background [V4]: after the next flush, or once rows are read or written and it has been found expired for ten minutes.
   * Raising the time to live shows what is not removed yet [V5].
   */
  readonly timeToLive?: number | undefined;
  /** Versions kept of a column; 1 unless given, no upper limit, up to 500 advised. */
  readonly maxVersions?: number | undefined;
  /** How far, in seconds, a given version may lie from the clock; 86400 unless given [V6]. */
  readonly maxVersionOffset?: number | undefined;
  /** Whether `updateRow` works on this table; `true` unless given [T7]. */
  readonly allowUpdate?: boolean | undefined;
}

/** What {@link Database.createTable} takes. */
export interface CreateTableRequest extends TableOptions, CallOptions {
  /** The table's name [T2]. */
  readonly tableName: string;
  /** 1 to 4 columns, in the order in which rows sort [T3]. */
  readonly primaryKey: readonly KeyColumn[];
  /** Reserved throughput; 0 and 0 unless given. */
  readonly reservedThroughput?: Throughput | undefined;
  /** Up to 32 attribute columns that indexes may use. */
  readonly definedColumns?: readonly DefinedColumn[] | undefined;
  /** Up to 5 secondary indexes. They need `maxVersions: 1`, and a time to live of -1 or `allowUpdate: false` [T8]. */
  readonly indexes?: readonly IndexSpec[] | undefined;
  /** Whether transactions can be started on the table; `true` unless given. Never with an auto-increment column [R7]. */
  readonly enableLocalTransaction?: boolean | undefined;
}

/** What {@link Database.updateTable} takes: any of the options, one or several at once [T5]. */
export interface UpdateTableRequest extends TableOptions, CallOptions {
  /** The table's name. */
  readonly tableName: string;
  /** Reserved throughput, either or both; at most one change in 2 minutes [T6]. */
  readonly reservedThroughput?: Partial<Throughput> | undefined;
}

/** A table, as {@link Database.describeTable} and {@link Database.updateTable} give it. */
export interface TableDescription {
  /** Its name. */
  readonly tableName: string;
  /** Its primary key, in schema order. */
  readonly primaryKey: readonly KeyColumn[];
  /** Seconds that a version lives, or -1. */
  readonly timeToLive: number;
  /** Versions kept of a column. */
  readonly maxVersions: number;
  /** How far, in seconds, a given version may lie from the clock. */
  readonly maxVersionOffset: number;
  /** Whether `updateRow` works. */
  readonly allowUpdate: boolean;
  /** Reserved throughput, and when it was last raised and lowered (milliseconds since 1970 UTC; `null`: never). */
  readonly reservedThroughput: Throughput & {
    readonly lastIncreaseTime: number | null;
    readonly lastDecreaseTime: number | null;
  };
  /** Whether the table can be used; `"ACTIVE"` as soon as `createTable` has resolved. */
  readonly status: "ACTIVE";
  /** When it was created, milliseconds since 1970 UTC. */
  readonly creationTime: number;
  /** The attribute columns that indexes may use. */
  readonly definedColumns: readonly DefinedColumn[];
  /** The secondary indexes. */
  readonly indexes: readonly IndexDescription[];
  /** The base table's name, if this is an index table, else `null`. */
  readonly indexOf: string | null;
  /** Whether transactions can be started. */
  readonly enableLocalTransaction: boolean;
  /** Its partitions, ascending by key; at least one [P1]. */
  readonly partitions: readonly PartitionDescription[];
}

/**
 * A partition of a table: a stretch of partition-key values whose rows the engine keeps and compacts by themselves. Rows with
 * one partition-key value are never in two [P2].
 */
export interface PartitionDescription {
  /** Its id; 0 as long as all rows of the table are in memory. */
  readonly partitionId: number;
  /** The least partition-key value in it; `null` in the first partition. */
  readonly lowerBound: KeyValue | null;
  /** The partition-key value that the next one begins with; `null` in the last partition. */
  readonly upperBound: KeyValue | null;
  /** Stored bytes, about; changes in memory are not counted. */
  readonly bytes: number;
  /** Changes in them, about: rows, and more where one was written several times lately. */
  readonly entries: number;
  /** Operations a second on its rows in the last seconds, about. */
  readonly operationsPerSecond: number;
  /** Whether all of it is one partition-key value that holds more than the advised 10 GB. Nothing is refused [P3]. */
  readonly exceedsAdvice: boolean;
}

/** A secondary index, as {@link Database.describeTable} gives it. */
export interface IndexDescription {
  /** The index table's name. */
  readonly indexName: string;
  /** Its kind. */
  readonly type: "GLOBAL" | "LOCAL";
  /** The key columns as they were given, without those that followed by themselves. */
  readonly primaryKey: readonly string[];
  /** The other columns. */
  readonly columns: readonly string[];
  /** Seconds that a version lives in it, or -1. */
  readonly timeToLive: number;
  /** `"FULL"` while rows from before the index are brought in, and it cannot be read; then `"INCR"`. */
  readonly phase: "FULL" | "INCR";
  /** Rows from before the index that have been looked at so far. */
  readonly builtRows: number;
  /** Milliseconds that the index is behind its table: 0 once it is built, because both are written in one step. */
  readonly lagMs: number;
  /**
   * Why no rows could be brought in at the last try, such as `QuotaExceeded`, else `null`. It is tried again by itself: after a
   * second, then after twice as long each time, up to ten minutes; where a stored record is damaged (`Corrupt`), after a minute
   * and up to a day. `compact` tries at once.
   */
  readonly failure: TabStoreError | null;
}

/** What {@link Database.createIndex} takes. */
export interface CreateIndexRequest extends TableRequest {
  /** The index. */
  readonly index: IndexSpec;
  /** Whether rows that exist already come in too; `true` unless given. The index can be read when they are in. */
  readonly includeBaseData?: boolean | undefined;
}

/** What {@link Database.dropIndex} takes. */
export interface DropIndexRequest extends TableRequest {
  /** The index table's name. */
  readonly indexName: string;
}

/** What {@link Database.addDefinedColumn} takes. */
export interface AddDefinedColumnRequest extends TableRequest {
  /** The columns to add. */
  readonly columns: readonly DefinedColumn[];
}

/** What {@link Database.deleteDefinedColumn} takes. */
export interface DeleteDefinedColumnRequest extends TableRequest {
  /** The names of the columns to delete from the definition; values that rows have stay. */
  readonly columns: readonly string[];
}

// ------------------------------------------------------------------------------------------------ metered storage

/** What {@link Database.computeStorage} gives. */
export interface ComputeStorageResult {
  /** The rows of the table. */
  readonly rows: number;
  /**
   * Their bytes as storage is metered [V9]: the key's names and values once a row; of every visible version the column's
   * name, the value, and 8 bytes for the version when the table keeps more than one or lets them expire.
   */
  readonly bytes: number;
}

// ------------------------------------------------------------------------------------------------ split points

/** What {@link Database.computeSplitPointsBySize} takes. */
export interface ComputeSplitPointsBySizeRequest extends TableRequest {
  /** How large a slice should be, in units. Slices are within 30 % of it; where no cut makes them so (a table of 1.35 times the size, a larger key), as near as may be. */
  readonly splitSize: number;
  /** Bytes of a unit, at least 1 MiB (1048576); 100 MB unless given. */
  readonly splitSizeUnitBytes?: number | undefined;
  /** Split points at most. */
  readonly splitPointLimit?: number | undefined;
}

/** One slice of a table: a range to read. */
export interface Split {
  /** The first key, included. */
  readonly lower: RangeKey;
  /** The key to stop before. */
  readonly upper: RangeKey;
  /** Where it lies: slices of one partition have the same hint. */
  readonly location: string;
}

/** What {@link Database.computeSplitPointsBySize} gives. */
export interface ComputeSplitPointsBySizeResult {
  /** The table's primary key, in schema order. */
  readonly primaryKey: readonly KeyColumn[];
  /** The slices, one after another; the whole table. */
  readonly splits: readonly Split[];
  /** Capacity units it cost: a read unit a slice. */
  readonly consumed: Consumed;
}
