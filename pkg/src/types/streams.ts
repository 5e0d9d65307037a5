/** The public types of streams: the changes of a table [ST1] to [ST3]. */

import type { CallOptions, Consumed, KeyValue, Value } from "./rows.js";

/** A stream [ST1]. */
export interface StreamDescription {
  /** Its id. A stream that is enabled again has another one. */
  readonly streamId: string;
  /** Its table. */
  readonly tableName: string;
  /** How long records are kept, in hours [ST3]. */
  readonly expirationHours: number;
  /** When it was enabled, milliseconds since 1970 UTC. */
  readonly creationTime: number;
  /** The columns whose values before a change its record has too. */
  readonly originColumns: readonly string[];
}

/** A shard: the changes of one partition, from its beginning to its end [ST2]. */
export interface StreamShard {
  /** Its id. */
  readonly shardId: string;
  /** The shard that was cut to make this one, or the first of two that were merged; `null`: none. Read it first, if it is still kept. */
  readonly parentId: string | null;
  /** The second of two that were merged, or `null`. Read it first too. */
  readonly parentSiblingId: string | null;
  /** The least partition-key value in it; `null` in the first shard. */
  readonly lowerBound: KeyValue | null;
  /** The partition-key value that the next one begins with; `null` in the last shard. */
  readonly upperBound: KeyValue | null;
  /** Whether it gets no more records: its partition was cut or merged. */
  readonly closed: boolean;
}

/** The parameters of {@link Database.listStream}. */
export interface ListStreamRequest extends CallOptions {
  /** One table; by default all. */
  readonly tableName?: string | undefined;
}

/** The parameters of {@link Database.describeStream}. */
export interface DescribeStreamRequest extends CallOptions {
  /** The stream. */
  readonly streamId: string;
  /** The first shard of this page; by default the oldest. */
  readonly inclusiveStartShardId?: string | undefined;
  /** Shards at most, 1 to 100 (the default). */
  readonly shardLimit?: number | undefined;
}

/** The result of {@link Database.describeStream}. */
export interface DescribeStreamResult extends StreamDescription {
  /** Whether it can be read: at once. */
  readonly status: "ACTIVE";
  /** Its shards, parents before children. */
  readonly shards: readonly StreamShard[];
  /** The first shard of the next page; `null` on the last one. */
  readonly nextShardId: string | null;
  /** The instance's newest write: records of later changes have a higher {@link StreamRecord.sequence}. */
  readonly lastSequence: number;
}

/** The parameters of {@link Database.getShardIterator}. */
export interface GetShardIteratorRequest extends CallOptions {
  /** The stream. */
  readonly streamId: string;
  /** The shard. */
  readonly shardId: string;
  /** From the first record of this time on, milliseconds since 1970 UTC. By default from the oldest record on. */
  readonly timestamp?: number | undefined;
  /** Whether to begin behind all records that there are. */
  readonly latest?: boolean | undefined;
  /** Whether to begin at the very first record: `getStreamRecord` tells if that has expired. */
  readonly beginning?: boolean | undefined;
}

/** The parameters of {@link Database.getStreamRecord}. */
export interface GetStreamRecordRequest extends CallOptions {
  /** The place to read from. It may be used again, also after a reload, while what lies behind it is kept [ST3]. */
  readonly shardIterator: string;
  /** Records at most, 1 to 1000 (the default). About 1 MB of them come at once. */
  readonly limit?: number | undefined;
}

/** A changed cell of a record. */
export type ChangedCell =
  /** A version was put. `type` is there if the value is a Double without a fraction, which JavaScript does not tell from an Integer. */
  | { readonly op: "PUT"; readonly name: string; readonly version: number; readonly value: Value; readonly type?: "DOUBLE" }
  /** A version was deleted. */
  | { readonly op: "DELETE"; readonly name: string; readonly version: number }
  /** All versions of the column were deleted. */
  | { readonly op: "DELETE_ALL"; readonly name: string };

/** A change of a row [ST2]. */
export interface StreamRecord {
  /** `"PUT"`: the row has these cells now, and no others. `"UPDATE"`: these cells changed. `"DELETE"`: the row is gone. */
  readonly type: "PUT" | "UPDATE" | "DELETE";
  /** The row. */
  readonly primaryKey: Record<string, KeyValue>;
  /** Its changed cells, by name; increments with their results. None of a deleted row. */
  readonly cells: readonly ChangedCell[];
  /** The newest values before the change, of the columns in `originColumns`. */
  readonly original: Record<string, Value>;
  /** When it was recorded, milliseconds since 1970 UTC. */
  readonly timestamp: number;
  /** Ascends in a shard. Rows of one load share it. */
  readonly sequence: number;
}

/** The result of {@link Database.getStreamRecord}. */
export interface GetStreamRecordResult {
  /** The records, in the order of their commits. */
  readonly records: readonly StreamRecord[];
  /**
   * The place behind them. At the end of an open shard it is the same as before; `null` at the end of a closed shard: go
   * on with its children.
   */
  readonly nextShardIterator: string | null;
  /** Whether there are more already. */
  readonly mayMoreRecord: boolean;
  /** Capacity units it cost: a read unit for each 4 KB. */
  readonly consumed: Consumed;
}

/** The parameters of {@link Database.changes}. */
export interface ChangesRequest extends CallOptions {
  /** The table. Its stream must be enabled. */
  readonly tableName: string;
  /**
   * Where to begin: `"oldest"` (the default), `"latest"`, a time (milliseconds since 1970 UTC), or the `token` of a change, to go
   * on behind it, also after a reload.
   */
  readonly from?: string | number | undefined;
  /** Whether to end behind the changes that are there when the reader begins; default `false`: wait for more. */
  readonly once?: boolean | undefined;
}

/** A change, as {@link Database.changes} gives it. */
export interface Change extends StreamRecord {
  /** The place behind this change, for `from`. It is made when it is read. */
  readonly token: string;
}
