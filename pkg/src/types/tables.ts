/** The public types of tables: keys, options, indexes, descriptions, split points. */

import type { TabStoreError } from "./errors.js";
import type { StreamDescription } from "./streams.js";
import type { CallOptions, Consumed, KeyType, KeyValue, RangeKey, TableRequest, ValueType } from "./rows.js";

/** A column of a primary key. The first is the partition key [T3]. */
export interface KeyColumn {
  /** Its name [T2]. */
  readonly name: string;
  /** Its type. */
  readonly type: KeyType;
  /**
   * Whether the store assigns the value if a row is put with {@link AUTO_INCREMENT}: one INTEGER column, not the first
   * [R6]. Default `false`.
   */
  readonly autoIncrement?: boolean | undefined;
  /**
   * With `autoIncrement`: whether a new row may have a value that the application chose, as rows of an import have. Without it a given
   * value names a row that is there, as in the service: PutRow and UpdateRow of another reject with `OTSConditionCheckFail`. The
   * store's own values are larger than chosen ones up to 2^53 - 1. The service does not have this option. Tables that an earlier version created have it. Default `false`.
   */
  readonly allowChosen?: boolean | undefined;
}

/**
 * An attribute column for use in indexes. Its values have one type from then on: a write of another type rejects with
 * `OTSParameterInvalid`. Other columns stay free. A DOUBLE takes `12.5` and {@link double}`(12)`, not `12`, which is an
 * Integer.
 */
export interface DefinedColumn {
  /** Its name [T2]. */
  readonly name: string;
  /** Its type. */
  readonly type: ValueType;
}

/**
 * A secondary index: a table that holds the rows of a base table in another order, under its own name. The store updates
 * it in the same step as the rows. It is read like a table and cannot be written. A row is in it if it has all of the key
 * columns. Its key columns are STRING, INTEGER or BINARY.
 *
 * It requires of its table [T8]: `maxVersions: 1`; a time to live of -1 or `allowUpdate: false`; only versions given by
 * the store. A {@link Database.batchWriteRow} with a repeated row is refused as a whole.
 */
export interface IndexSpec {
  /** The index table's name [T2]; it counts as a table of the instance [I3]. */
  readonly indexName: string;
  /** `"GLOBAL"` (the default): any key. `"LOCAL"`: its key begins with the base table's partition key. */
  readonly type?: "GLOBAL" | "LOCAL" | undefined;
  /** 1 to 4 key or defined columns; the other key columns of the base table are added behind them. */
  readonly primaryKey: readonly string[];
  /** Up to 32 defined columns that the index holds too; none by default. */
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
   * Seconds that a version lives; -1 (the default) for ever, else at least 86400. Expired data is hidden at once and
   * removed in the background [V4]: after the next flush, or ten minutes after it was found expired, if the store is in
   * use. Raising the time to live shows data that is not removed yet [V5].
   */
  readonly timeToLive?: number | undefined;
  /** Versions kept of a column; default 1, no upper limit, up to 500 advised. */
  readonly maxVersions?: number | undefined;
  /** The greatest distance, in seconds, between a given version and the clock; default 86400 [V6]. */
  readonly maxVersionOffset?: number | undefined;
  /** Whether `updateRow` works on this table; default `true` [T7]. */
  readonly allowUpdate?: boolean | undefined;
}

/** The stream of a table: its changes are recorded, and can be read for some hours [ST1]. */
export type StreamSpec = EnabledStream | DisabledStream;

/** A stream to enable or to change. */
export interface EnabledStream {
  /** Changes are recorded from now on. */
  readonly enabled: true;
  /** How long records are kept, 1 to 168 hours [ST3]. */
  readonly expirationHours: number;
  /** The columns whose values before a change its record has too; none by default. Each write then reads its row. */
  readonly originColumns?: readonly string[] | undefined;
}

/** No stream. */
export interface DisabledStream {
  /** No change is recorded, and the records that there are are deleted. */
  readonly enabled: false;
}

/** The parameters of {@link Database.createTable}. */
export interface CreateTableRequest extends TableOptions, CallOptions {
  /** The table's name [T2]. */
  readonly tableName: string;
  /** 1 to 4 columns, in the order in which rows sort [T3]. */
  readonly primaryKey: readonly KeyColumn[];
  /** Reserved throughput; default 0 and 0. */
  readonly reservedThroughput?: Throughput | undefined;
  /** Up to 32 attribute columns for use in indexes. */
  readonly definedColumns?: readonly DefinedColumn[] | undefined;
  /** Up to 5 secondary indexes. They need `maxVersions: 1`, and a time to live of -1 or `allowUpdate: false` [T8]. */
  readonly indexes?: readonly IndexSpec[] | undefined;
  /** Whether the table allows transactions; default `true`. Never with an auto-increment column [R7]. */
  readonly enableLocalTransaction?: boolean | undefined;
  /** Its stream [ST1]; none by default. */
  readonly stream?: StreamSpec | undefined;
  /**
   * With `true` a table that is there already is no error, if it has what is given here. One with another key, or that lacks a
   * defined column, an index or an option of these, is refused with `OTSObjectAlreadyExist`; the message says what is different.
   * What is not given may be anything. Ours, not the service's; default `false`.
   */
  readonly ifNotExists?: boolean | undefined;
}

/** The parameters of {@link Database.updateTable}: any of the options, one or several at once [T5]. */
export interface UpdateTableRequest extends TableOptions, CallOptions {
  /** The table's name. */
  readonly tableName: string;
  /** Reserved throughput, either or both; at most one change in 2 minutes [T6]. */
  readonly reservedThroughput?: Partial<Throughput> | undefined;
  /** The stream to enable, change or disable [ST1]. A table with an index may have one; an index may not. */
  readonly stream?: StreamSpec | undefined;
}

/** The result of {@link Database.describeTable} and {@link Database.updateTable}. */
export interface TableDescription {
  /** Its name. */
  readonly tableName: string;
  /** Its primary key, in schema order. */
  readonly primaryKey: readonly KeyColumn[];
  /** Seconds that a version lives, or -1. */
  readonly timeToLive: number;
  /** Versions kept of a column. */
  readonly maxVersions: number;
  /** The greatest distance, in seconds, between a given version and the clock. */
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
  /** The attribute columns for use in indexes. */
  readonly definedColumns: readonly DefinedColumn[];
  /** The secondary indexes. */
  readonly indexes: readonly IndexDescription[];
  /** The base table's name, if this is an index table, else `null`. Through a connection of `tabstore/cloud` always `null`. */
  readonly indexOf: string | null;
  /** Whether the table allows transactions. `null` through a connection of `tabstore/cloud`: the service does not tell. */
  readonly enableLocalTransaction: boolean | null;
  /** Its stream, or `null` [ST1]. */
  readonly stream: StreamDescription | null;
  /** Its partitions, ascending by key; at least one [P1]. Through a connection of `tabstore/cloud` none: the service does not tell them. */
  readonly partitions: readonly PartitionDescription[];
}

/**
 * A partition of a table: a range of partition-key values whose rows the engine stores and compacts on their own. Rows
 * with one partition-key value are never in two [P2].
 */
export interface PartitionDescription {
  /** Its id; 0 while all rows of the table are in memory. */
  readonly partitionId: number;
  /** The least partition-key value in it; `null` in the first partition. */
  readonly lowerBound: KeyValue | null;
  /** The partition-key value that the next one begins with; `null` in the last partition. */
  readonly upperBound: KeyValue | null;
  /** Stored bytes, estimated, without data in memory. */
  readonly bytes: number;
  /** Entries in them, estimated: rows, or more if rows were written several times lately. */
  readonly entries: number;
  /** Operations a second on its rows in the last seconds, estimated. */
  readonly operationsPerSecond: number;
  /** Whether its only partition-key value holds more than the advised 10 GB. Nothing is refused [P3]. */
  readonly exceedsAdvice: boolean;
}

/** A secondary index in {@link Database.describeTable}. */
export interface IndexDescription {
  /** The index table's name. */
  readonly indexName: string;
  /** Its kind. */
  readonly type: "GLOBAL" | "LOCAL";
  /** The given key columns, without those that were added behind them. */
  readonly primaryKey: readonly string[];
  /** The other columns. */
  readonly columns: readonly string[];
  /** Seconds that a version lives in it, or -1. */
  readonly timeToLive: number;
  /** `"FULL"` while it is built over older rows and cannot be read; then `"INCR"`. */
  readonly phase: "FULL" | "INCR";
  /** Older rows that the build has processed so far. Through a connection of `tabstore/cloud` 0. */
  readonly builtRows: number;
  /**
   * Milliseconds that the index is behind its table: 0 once it is built, because both are written in one step. Through a connection of
   * `tabstore/cloud` also 0, though the service writes a global index a moment later.
   */
  readonly lagMs: number;
  /**
   * Why the last try of the build failed, such as `QuotaExceeded`, else `null`. It is tried again automatically: after a
   * second, then after twice as long each time, up to ten minutes. If a stored record is damaged (`Corrupt`), after a
   * minute and up to a day. `compact` tries at once.
   */
  readonly failure: TabStoreError | null;
}

/** The parameters of {@link Database.createIndex}. */
export interface CreateIndexRequest extends TableRequest {
  /** The index. */
  readonly index: IndexSpec;
  /** Whether it is also built over existing rows; default `true`. The index can be read when they are in it. */
  readonly includeBaseData?: boolean | undefined;
}

/** The parameters of {@link Database.dropIndex}. */
export interface DropIndexRequest extends TableRequest {
  /** The index table's name. */
  readonly indexName: string;
}

/** The parameters of {@link Database.addDefinedColumn}. */
export interface AddDefinedColumnRequest extends TableRequest {
  /** The columns to add. */
  readonly columns: readonly DefinedColumn[];
}

/** The parameters of {@link Database.deleteDefinedColumn}. */
export interface DeleteDefinedColumnRequest extends TableRequest {
  /** The names of the columns to delete from the definition; existing values stay. */
  readonly columns: readonly string[];
}

// ------------------------------------------------------------------------------------------------ metered storage

/** The result of {@link Database.computeStorage}. */
export interface ComputeStorageResult {
  /** The rows of the table. */
  readonly rows: number;
  /**
   * Their bytes in metered storage [V9]. The key's names and values count once a row. Every visible version counts the
   * column's name, the value, and 8 bytes if the table keeps more than one version or lets them expire.
   */
  readonly bytes: number;
}

// ------------------------------------------------------------------------------------------------ split points

/** The parameters of {@link Database.computeSplitPointsBySize}. */
export interface ComputeSplitPointsBySizeRequest extends TableRequest {
  /**
   * The wanted size of a slice, in units. Slices are within 30 % of it. If no cut allows that (a table of 1.35 times the
   * size, a larger key), they are as near as possible.
   */
  readonly splitSize: number;
  /** Bytes of a unit, at least 1 MiB (1048576); default 100 MB. */
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
  /** Its location: slices of one partition have the same hint. */
  readonly location: string;
}

/** The result of {@link Database.computeSplitPointsBySize}. */
export interface ComputeSplitPointsBySizeResult {
  /** The table's primary key, in schema order. */
  readonly primaryKey: readonly KeyColumn[];
  /** The slices, one after another; the whole table. */
  readonly splits: readonly Split[];
  /** Capacity units it cost: a read unit a slice. */
  readonly consumed: Consumed;
}
