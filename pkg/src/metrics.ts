/** The public types of what an instance tells of its inside. */

import type { InstanceKind } from "./types.js";

/** A level of a tree of segments. */
export interface LevelMetrics {
  /** The level; 0 holds what was flushed last. */
  readonly level: number;
  /** Segments in it. One that several partitions share counts once, at the level where most of it is read. */
  readonly segments: number;
  /** Stored bytes in it. */
  readonly bytes: number;
  /** Changes in it, as far as known. */
  readonly entries: number;
}

/** A table, seen from the engine. */
export interface TreeMetrics {
  /** The engine's number of it. */
  readonly tree: number;
  /** The table's name; `null` for the store's own trees: 0 is the catalogue, 4294967295 the capacity meter. */
  readonly tableName: string | null;
  /** Its levels that hold anything. */
  readonly levels: readonly LevelMetrics[];
  /** Its partitions, ascending by key; none as long as all of it is in memory. {@link Database.describeTable} tells where they begin. */
  readonly partitions: readonly PartitionMetrics[];
}

/** A partition, seen from the engine [P1]. */
export interface PartitionMetrics {
  /** Its id. */
  readonly partitionId: number;
  /** Stored bytes in it, about. */
  readonly bytes: number;
  /** Changes in it, about. */
  readonly entries: number;
  /** Operations a second on its rows in the last seconds, about. */
  readonly operationsPerSecond: number;
}

/** The operations that {@link Metrics} counts one by one. */
export type RowOperation =
  | "PutRow" | "UpdateRow" | "DeleteRow" | "GetRow" | "BatchGetRow" | "GetRange" | "BatchWriteRow"
  | "StartLocalTransaction" | "CommitTransaction" | "AbortTransaction";

/** What one operation does [I5]. */
export interface OperationMetrics {
  /** Requests answered since the instance was opened. */
  readonly requests: number;
  /** Those of them that were refused or failed; a batch only if it did as a whole. */
  readonly errors: number;
  /** Requests answered a second, in the last five seconds. */
  readonly requestsPerSecond: number;
  /** How long those took on average in the engine, in milliseconds; 0 if there were none. */
  readonly meanLatencyMs: number;
}

/** What {@link Database.metrics} gives: the inside of the engine at this moment. Sizes are bytes. */
export interface Metrics {
  /** The kind of the instance [I4]. */
  readonly kind: InstanceKind;
  /** Changes in memory, not yet in a segment; `frozen` memtables are being written. `budget` is the option `memtableBytes`. */
  readonly memtable: { readonly bytes: number; readonly entries: number; readonly frozen: number; readonly budget: number };
  /** The log that protects them. */
  readonly log: { readonly bytes: number; readonly records: number };
  /** All segments. */
  readonly segments: { readonly count: number; readonly bytes: number };
  /** What is kept for deletions on a full disk: what is stored of it now, and the option `reserveBytes`. In memory both are 0. */
  readonly reserve: { readonly bytes: number; readonly capacity: number };
  /** Segments by tree and level. */
  readonly trees: readonly TreeMetrics[];
  /** The cache of decompressed blocks; `capacity` is the option `cacheBytes`. */
  readonly cache: { readonly bytes: number; readonly capacity: number; readonly hits: number; readonly misses: number };
  /** What is asked of the rows, by operation (`PutRow`, ...); refreshed with every call [I5]. */
  readonly operations: Readonly<Record<RowOperation, OperationMetrics>>;
  /** Capacity units used since the instance was opened, and a second, in the last five seconds [I5]. */
  readonly capacity: { readonly read: number; readonly write: number; readonly readPerSecond: number; readonly writePerSecond: number };
  /** What has been done since the instance was opened. */
  readonly work: {
    /** Transactions of the storage that carried writes, loads too. */
    readonly commits: number;
    /** Writes that they carried. */
    readonly writes: number;
    /** Memtables that were written as segments. */
    readonly flushes: number;
    /** Stored bytes of segments that flushes and loads have written. */
    readonly bytesFlushed: number;
    /** Merges of segments into others. */
    readonly compactions: number;
    /** Bytes that compactions have read. */
    readonly bytesCompactedIn: number;
    /** Bytes that compactions have written. */
    readonly bytesCompacted: number;
    /** Compactions that have failed because a stored record is damaged; `health` says which. */
    readonly failedCompactions: number;
    /** Partitions that are passed over for a while since; all others are compacted. */
    readonly passedPartitions: number;
    /** The longest that flushes, compactions and other background work have kept the engine's thread at a time, in microseconds. */
    readonly longestSliceUs: number;
  };
  /** The number of the stored manifest. */
  readonly manifest: number;
  /** How often the instance has been taken over by an engine. */
  readonly epoch: number;
  /** The store's clock, milliseconds since 1970 UTC. */
  readonly now: number;
  /** Bytes of the WebAssembly memory; it never shrinks. */
  readonly wasmMemoryBytes: number;
}
