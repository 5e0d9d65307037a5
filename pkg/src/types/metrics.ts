/** The public types of an instance's metrics. */

import type { InstanceKind } from "./rows.js";

/** A level of a tree of segments. */
export interface LevelMetrics {
  /** The level; 0 holds the newest flushed data. */
  readonly level: number;
  /** Segments in it. A segment shared by several partitions counts once, at the level where most of it is read. */
  readonly segments: number;
  /** Stored bytes in it. */
  readonly bytes: number;
  /** Entries in it, estimated. */
  readonly entries: number;
}

/** A table as the engine sees it. */
export interface TreeMetrics {
  /** The engine's number of the table. */
  readonly tree: number;
  /**
   * The table's name; `null` for the store's own trees. 0 is the catalogue, 4294967295 the capacity meter, 4294967294 has the
   * answers to other tabs, 4294967293 the settings of Azure accounts. All others have the records of streams.
   */
  readonly tableName: string | null;
  /** Its levels with data. */
  readonly levels: readonly LevelMetrics[];
  /** Its partitions, ascending by key; none while all of it is in memory. {@link Database.describeTable} has their bounds. */
  readonly partitions: readonly PartitionMetrics[];
}

/** A partition as the engine sees it [P1]. */
export interface PartitionMetrics {
  /** Its id. */
  readonly partitionId: number;
  /** Stored bytes in it, estimated. */
  readonly bytes: number;
  /** Entries in it, estimated. */
  readonly entries: number;
  /** Operations a second on its rows in the last seconds, estimated. */
  readonly operationsPerSecond: number;
}

/**
 * The operations that {@link Metrics} counts separately. `AzureTable` are the requests to the Azure Table service, and `TableStore`
 * those in the wire protocol of the Table Store service, each as one. An answer with a status from 400 on is an error; the answer to an
 * Azure transaction that was refused has status 202, as that of the service.
 */
export type RowOperation =
  | "PutRow"
  | "UpdateRow"
  | "DeleteRow"
  | "GetRow"
  | "BatchGetRow"
  | "GetRange"
  | "BatchWriteRow"
  | "CountRows"
  | "StartLocalTransaction"
  | "CommitTransaction"
  | "AbortTransaction"
  | "AzureTable"
  | "TableStore"
  | "Atomic"
  | "DeleteRange";

/** The figures of one operation [I5]. */
export interface OperationMetrics {
  /** Requests answered since the instance was opened. */
  readonly requests: number;
  /** Refused or failed requests among them; a batch counts only if it failed as a whole. */
  readonly errors: number;
  /** Requests answered a second, in the last five seconds. */
  readonly requestsPerSecond: number;
  /** The mean time of those in the engine, in milliseconds; 0 if there were none. */
  readonly meanLatencyMs: number;
  /**
   * The time that half of those did not exceed, in milliseconds; 0 if there were none. It is at most 1/32 (3.1 %) away from the exact
   * one, which is the nearest rank: a request's own time, not a mean of two. Times above 134 seconds count as 134.
   */
  readonly p50LatencyMs: number;
  /** The time that 99 of 100 of those did not exceed, in milliseconds, as exactly; 0 if there were none. */
  readonly p99LatencyMs: number;
}

/** The result of {@link Database.metrics}: the current state of the engine. Sizes are bytes. */
export interface Metrics {
  /** The kind of the instance [I4]. */
  readonly kind: InstanceKind;
  /** Writes in memory, not yet in a segment; `frozen` memtables are being flushed. `budget` is the option `memtableBytes`. */
  readonly memtable: { readonly bytes: number; readonly entries: number; readonly frozen: number; readonly budget: number };
  /**
   * The log that protects them. `inFiles` tells whether the next record goes to a file. With the storage "indexeddb" that is so
   * where it is faster and can be done: in a worker of Chromium, but not in a private window, from some milliseconds after the
   * opening on.
   */
  readonly log: { readonly bytes: number; readonly records: number; readonly inFiles: boolean };
  /** All segments; `garbage` are the bytes in them that nothing uses any more, estimated. */
  readonly segments: { readonly count: number; readonly bytes: number; readonly garbage: number };
  /** The reserve for deletions on a full disk: its stored bytes, and the option `reserveBytes`. In memory both are 0. */
  readonly reserve: { readonly bytes: number; readonly capacity: number };
  /** Segments by tree and level. */
  readonly trees: readonly TreeMetrics[];
  /** The cache of decompressed blocks; `capacity` is the option `cacheBytes`. */
  readonly cache: { readonly bytes: number; readonly capacity: number; readonly hits: number; readonly misses: number };
  /** Requests on rows, by operation (`PutRow`, ...); refreshed with every call [I5]. */
  readonly operations: Readonly<Record<RowOperation, OperationMetrics>>;
  /** Capacity units used since the instance was opened, and a second, in the last five seconds [I5]. */
  readonly capacity: { readonly read: number; readonly write: number; readonly readPerSecond: number; readonly writePerSecond: number };
  /** Counters since the instance was opened. */
  readonly work: {
    /** Transactions of the storage with writes or loads. */
    readonly commits: number;
    /** Their writes. */
    readonly writes: number;
    /** Flushed memtables. */
    readonly flushes: number;
    /** Stored bytes of segments that flushes and loads have written. */
    readonly bytesFlushed: number;
    /** Merges of segments. */
    readonly compactions: number;
    /** Bytes that compactions have read. */
    readonly bytesCompactedIn: number;
    /** Bytes that compactions have written. */
    readonly bytesCompacted: number;
    /** Compactions that failed because of a damaged record; a `health` event names it. */
    readonly failedCompactions: number;
    /** Partitions that are skipped for a while since; all others are compacted. */
    readonly passedPartitions: number;
    /** The longest time that flushes, compactions and other background work have kept the engine's thread, in microseconds. */
    readonly longestSliceUs: number;
  };
  /** Open handles on the instance, in all tabs: this one is among them. */
  readonly sessions: number;
  /** The number of the stored manifest. */
  readonly manifest: number;
  /** How often an engine has taken the instance over. */
  readonly epoch: number;
  /** The store's clock, milliseconds since 1970 UTC. */
  readonly now: number;
  /** Bytes of the WebAssembly memory; it never shrinks. */
  readonly wasmMemoryBytes: number;
}
