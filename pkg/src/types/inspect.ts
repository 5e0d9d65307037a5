/**
 * The public types for a look inside the store: its segments, the path of a read, hidden versions, background work. They are
 * extensions of this store, which the service does not have, and code for them is loaded on first use.
 */

import type { CallOptions, PrimaryKey, Value } from "./data.js";
import type { Row } from "./row.js";
import type { GetRowRequest, GetRowResult, TableRequest } from "./rows.js";

/**
 * A key in the store, or a place between two keys. Texts are cut behind 128 characters, and binary values behind 128 bytes:
 * `isShortened` tells it.
 */
export interface StoredKey {
  /**
   * The values of the key columns, in their order. A place where partitions meet has the first one only, the beginning of a tree
   * none.
   */
  readonly values: readonly (string | number | bigint | Uint8Array)[];
  /** Whether it is the place just before this key: there a segment was cut between two partitions. */
  readonly isBefore: boolean;
  /** Whether a value is cut. */
  readonly isShortened: boolean;
}

/**
 * What a tree holds: rows of a table or of an index; the records of a table's stream; the store's own data, which is the list of
 * tables (`catalog`), used capacity units (`meter`), answers to other tabs (`answers`) and settings of Azure accounts
 * (`documents`); or what was `deleted`, and waits for a compaction.
 */
export type TreeKind = "table" | "index" | "stream" | "catalog" | "meter" | "answers" | "documents" | "deleted";

/** A tree of the engine: sorted rows of one kind. */
export interface TreeName {
  /** The engine's number of it. */
  readonly tree: number;
  /** What it holds. */
  readonly kind: TreeKind;
  /** The table or index; for a stream its table; `null` for the store's own trees. Azure tables are named `account/table`. */
  readonly tableName: string | null;
}

/** A memtable: the newest rows, in memory. All of it is also in the log. */
export interface MemtableDescription {
  /** Whether it takes no more writes and waits to be flushed. */
  readonly frozen: boolean;
  /** Its memory. */
  readonly bytes: number;
  /** Its entries: a row counts once for each write. */
  readonly entries: number;
  /** The log record from which on the log has its writes. */
  readonly logStart: number;
  /** The trees with rows here, and how many. */
  readonly trees: readonly { readonly tree: number; readonly rows: number }[];
}

/** The part of a segment that one partition of a tree reads. Most segments have one part. Sizes are stored bytes. */
export interface SegmentPart {
  /** The segment; {@link Database.segment} has more. Later segments have greater ids. */
  readonly segmentId: number;
  /** The level: 0 has the newest, of which several may have the same key. A deeper level does not overlap itself. */
  readonly level: number;
  /** The partition. */
  readonly partitionId: number;
  /** Its first key. */
  readonly firstKey: StoredKey;
  /** Its last key. */
  readonly lastKey: StoredKey;
  /** Its size, estimated if the segment has several parts. */
  readonly bytes: number;
  /** Its entries, estimated likewise: one for each row, with all versions that the segment has of it. */
  readonly entries: number;
  /** Blocks of the whole segment. */
  readonly blocks: number;
  /** Entries of the whole segment that only delete. */
  readonly deletes: number;
  /** The oldest version in the segment, milliseconds since 1970 UTC; `null` in segments of early releases. */
  readonly oldestVersion: number | null;
  /** The newest one. */
  readonly newestVersion: number | null;
  /** The segment's index, with its filter. */
  readonly indexBytes: number;
  /** The whole segment, with its index. */
  readonly segmentBytes: number;
  /** Entries of the whole segment. */
  readonly segmentEntries: number;
  /** Parts of all partitions and trees that share the segment: a flush writes one segment for all trees. */
  readonly sharedBy: number;
  /** Bits of its filter; `null` without {@link SegmentsRequest.details}, and for a segment without a filter. */
  readonly filterBits: number | null;
  /** The place among all writes of its oldest entry; `null` without {@link SegmentsRequest.details}. */
  readonly oldestSeqno: number | null;
  /** The same of its newest entry. */
  readonly newestSeqno: number | null;
}

/** A tree, and what it reads of segments. */
export interface TreeDescription extends TreeName {
  /** The names of the key columns. Those of a stream are `shardId` and `sequence`. */
  readonly primaryKey: readonly string[];
  /** Its partitions, ascending, and where each begins: the first one with the tree. None while all of it is in memory. */
  readonly partitions: readonly { readonly partitionId: number; readonly from: StoredKey }[];
  /** The parts, by partition, then by level. In level 0 the newest comes first, in deeper ones the least key. */
  readonly segments: readonly SegmentPart[];
}

/** The parameters of {@link Database.segments}. */
export interface SegmentsRequest extends CallOptions {
  /** Only the trees of this table: its rows, its stream, and its indexes. By default all trees. */
  readonly tableName?: string | undefined;
  /**
   * Also tells filters and sequence numbers. That reads every segment once, one after another; without it nothing is read.
   * Default `false`.
   */
  readonly details?: boolean | undefined;
}

/** The result of {@link Database.segments}: of what the store consists at one instant. */
export interface StoreDescription {
  /** The log of writes that no segment has: its records, their stored bytes, and the number of the first one. */
  readonly log: { readonly records: number; readonly bytes: number; readonly start: number; readonly inFiles: boolean };
  /** The place of the newest write among all writes. */
  readonly newestSeqno: number;
  /** The memtable that takes writes, then the frozen ones, newest first. */
  readonly memtables: readonly MemtableDescription[];
  /** The trees with segments, or with rows in a memtable. */
  readonly trees: readonly TreeDescription[];
  /** Whether {@link Database.pauseWork} holds background work. */
  readonly isPaused: boolean;
}

/** The options of {@link Database.segment}. */
export interface SegmentRequest extends CallOptions {
  /** The block whose rows to tell; 0 by default. */
  readonly block?: number | undefined;
  /** The most rows to tell: 20 by default, at most 1000. */
  readonly rows?: number | undefined;
  /** A row to ask the filter for. */
  readonly ask?: { readonly tableName: string; readonly primaryKey: PrimaryKey } | undefined;
}

/** A block of a segment: the unit of reading, checking and caching. */
export interface SegmentBlock extends TreeName {
  /** The key of its first row. */
  readonly firstKey: StoredKey;
  /** Its stored bytes. */
  readonly bytes: number;
  /** Its entries. */
  readonly entries: number;
  /** Whether it continues the last row of the block before, which is large. */
  readonly isContinued: boolean;
  /** Whether the cache has it now. */
  readonly isCached: boolean;
}

/** A cell in a segment: a version that was put, or the deletion of a version or of a whole column. */
export interface StoredCell {
  /** The column. */
  readonly name: string;
  /** What was done. */
  readonly op: "put" | "deleteVersion" | "deleteColumn";
  /** The version; `null` for a whole column. */
  readonly version: number | null;
  /** The value that was put; texts and binary values are cut as in {@link StoredKey}. */
  readonly value?: Value;
  /** Whether the value is cut. */
  readonly isShortened?: boolean;
}

/** An entry of a segment: the changes of one row. */
export interface SegmentRow extends TreeName {
  /** The row's key. */
  readonly key: StoredKey;
  /** The place of its newest change among all writes. */
  readonly seqno: number;
  /** `"put"` replaces the row and hides what is older, `"update"` changes it, `"delete"` hides what is older. */
  readonly change: "put" | "update" | "delete";
  /** The first 64 cells. */
  readonly cells: readonly StoredCell[];
  /** Whether there are more. */
  readonly hasMore: boolean;
}

/** The result of {@link Database.segment}. */
export interface SegmentDescription {
  /** The segment. */
  readonly segmentId: number;
  /** Its blocks. */
  readonly blocks: readonly SegmentBlock[];
  /** The stored bytes of its index, with the filter. */
  readonly indexBytes: number;
  /** Its filter; `null`: it has none, so every key may be there. About one of 256 answers "maybe" is wrong. */
  readonly filter: { readonly bits: number; readonly keys: number } | null;
  /** Its distinct keys. */
  readonly keys: number;
  /** Entries that only delete. */
  readonly deletes: number;
  /** The place of its oldest entry among all writes; `null` in an empty segment. */
  readonly oldestSeqno: number | null;
  /** The same of its newest entry. */
  readonly newestSeqno: number | null;
  /** Whether its rows came sorted and in great numbers, so that they went by no log and no memtable. They have one sequence number. */
  readonly isLoaded: boolean;
  /**
   * For `ask`: the filter says `"no"`, which is certain; or it says maybe, and the key was `"found"`, or that was a
   * `"false positive"`.
   */
  readonly answer: "no" | "found" | "false positive" | null;
  /** The first rows of the block. */
  readonly rows: readonly SegmentRow[];
}

/** Where a record came from, and the stored bytes that had to be fetched. */
export interface Fetch {
  /** The cache, or the storage. */
  readonly from: "cache" | "storage";
  /** 0 for the cache. */
  readonly bytes: number;
}

/** A block of a step. */
export interface TracedBlock {
  /** Its number in the segment. */
  readonly block: number;
  /** Entries of the row in it. */
  readonly entries: number;
  /** Where it came from; `null`: it has only columns or versions of a large row that the read does not need. */
  readonly fetch: Fetch | null;
}

/** A step of a read: a place where it looked, or need not look. `ends`: something there hides all that is older. */
export type ReadStep =
  /** A memtable, and how many changes of the row it has. */
  | { readonly source: "memtable" | "frozen"; readonly fragments: number; readonly ends: boolean }
  /** The remembered merge of a row of many pieces, which stands for all that is older. */
  | { readonly source: "image"; readonly fragments: number; readonly ends: true }
  /** A level of the partition: so many segments do not have the key between their first and their last one. */
  | { readonly source: "level"; readonly level: number; readonly segments: number; readonly outOfRange: number }
  /** A segment whose range has the key. */
  | {
      readonly source: "segment";
      readonly segmentId: number;
      readonly level: number;
      /** `"no"` and `"false positive"` are about the filter. `"not needed"`: something newer hides all that is older. */
      readonly verdict: "not needed" | "no" | "found" | "false positive";
      /** Its index, which has the filter; `null` if it was not needed. */
      readonly index: Fetch | null;
      /** The blocks that the index named. */
      readonly blocks: readonly TracedBlock[];
      /** Changes of the row, or several merged ones. */
      readonly fragments: number;
      readonly ends: boolean;
    };

/** The path of a read. */
export interface ReadTrace {
  /** The partition; `null` while all of the table is in memory. */
  readonly partitionId: number | null;
  /** The read saw all writes up to this place. */
  readonly seqno: number;
  /** The steps, newest data first. */
  readonly steps: readonly ReadStep[];
  /** The pieces of the row that were put together. */
  readonly fragments: number;
  /**
   * Records (blocks and indexes) that came from the storage. A read asks in one trip for all that it may need, so some of them may
   * belong to a segment that was `"not needed"` in the end.
   */
  readonly fetchedRecords: number;
  /** Their stored bytes. */
  readonly fetchedBytes: number;
}

/** The parameters of {@link Database.getRow}. */
export interface TracedGetRowRequest extends GetRowRequest {
  /** Also tells the path of the read; by default not. */
  readonly trace?: boolean | undefined;
}

/** The result of {@link Database.getRow}. */
export interface TracedGetRowResult extends GetRowResult {
  /** The path of the read, if it was asked for. */
  readonly trace?: ReadTrace | undefined;
}

/** The parameters of {@link Database.getStoredRow}. */
export interface GetStoredRowRequest extends TableRequest {
  /** The whole primary key. */
  readonly primaryKey: PrimaryKey;
  /** The columns; by default all. */
  readonly columnsToGet?: readonly string[] | undefined;
}

/** A version that is stored. */
export interface StoredVersion {
  /** The value. */
  readonly value: Value;
  /** The version: milliseconds since 1970 UTC. */
  readonly version: number;
  /**
   * Why a read does not give it: it is older than the time to live (`"expired"`), or the column has as many newer versions as
   * the table keeps (`"surplus"`). One that is both is expired. `null`: a read gives it.
   */
  readonly hidden: "expired" | "surplus" | null;
}

/** The result of {@link Database.getStoredRow}. */
export interface GetStoredRowResult {
  /** The row with all stored versions; `null` if nothing of it is stored. */
  readonly row: Row | null;
  /** Whether a plain read gives the row now. */
  readonly exists: boolean;
  /** The versions of each column, newest first, in an object without a prototype. */
  readonly versions: Readonly<Record<string, readonly StoredVersion[]>>;
}

/** Cells that a flush or a compaction did not write again, by why. */
export interface DroppedCells {
  /** More versions than the table keeps. */
  readonly surplus: number;
  /** Older than the time to live. */
  readonly expired: number;
  /** Hidden by a deletion, or by a newer write of the row or of the same version. */
  readonly deleted: number;
}

/** A part of a segment that background work took or made. */
export interface WorkPart {
  readonly segmentId: number;
  /** The tree; {@link Database.segments} has their names. */
  readonly tree: number;
  /** The partition that read it; `null` for new ones, which are cut where partitions meet. */
  readonly partitionId: number | null;
  readonly level: number;
  /** Stored bytes, estimated. */
  readonly bytes: number;
  /** Entries, estimated. */
  readonly entries: number;
}

/**
 * Why compaction did something: level 0 has as many segments as make it due; a small partition becomes one run early; too much
 * lies above the bottom level; all of it is expired; much of the bottom is deleted or expired; the larger part of a segment is read by
 * nobody; somebody called `compact`; the partition was about to be merged with its neighbour.
 */
export type CompactionReason =
  | "level 0 full"
  | "small partition"
  | "too much above the bottom"
  | "expired"
  | "deleted or expired data"
  | "left over"
  | "asked"
  | "merge of partitions";

/** What all events have. */
interface WorkEventBase {
  /** Its number, from 1 on. */
  readonly position: number;
  /** When it was done by the store's clock, milliseconds since 1970 UTC. */
  readonly time: number;
  /** How long it took; 0 for what reads and writes no segment. */
  readonly tookMs: number;
}

/** A memtable became segments. */
export interface FlushEvent extends WorkEventBase {
  readonly type: "flush";
  /** It was full; or the log was long, and an opening has to replay it; or somebody asked, or nothing was written for a while. */
  readonly reason: "memtable full" | "log long" | "asked or idle";
  /** The memtable's memory. */
  readonly bytes: number;
  /** Its entries. */
  readonly entries: number;
  /** The new parts. */
  readonly outputs: readonly WorkPart[];
  /** Stored bytes of the new segments. */
  readonly bytesWritten: number;
  readonly dropped: DroppedCells;
}

/** Segments were merged, or changed their level unread, or were dropped. */
export interface CompactionEvent extends WorkEventBase, TreeName {
  readonly type: "compaction";
  readonly reason: CompactionReason;
  /** The parts that went. */
  readonly inputs: readonly WorkPart[];
  /** The level of the outputs; `null`: the inputs were dropped unread. */
  readonly toLevel: number | null;
  /** The parts that came. With 0 `bytesWritten` they are the inputs, at another level. */
  readonly outputs: readonly WorkPart[];
  readonly bytesWritten: number;
  readonly dropped: DroppedCells;
}

/** A partition was split. */
export interface SplitEvent extends WorkEventBase, TreeName {
  readonly type: "split";
  /** It held too much; or it had too much traffic, or its merge needed more room than there is. */
  readonly reason: "size" | "load";
  /** The partition that keeps its id: the part in front of `at`. */
  readonly partitionId: number;
  readonly newPartitionId: number;
  /** The partition key with which the new one begins. */
  readonly at: StoredKey;
}

/** Two neighbouring partitions became one. */
export interface MergeEvent extends WorkEventBase, TreeName {
  readonly type: "merge";
  /** The partition that stays. */
  readonly partitionId: number;
  /** The one that is gone. */
  readonly mergedPartitionId: number;
}

/** An index was built over existing rows. */
export interface IndexBuildEvent extends WorkEventBase, TreeName {
  readonly type: "indexBuild";
  /** The rows of its table that were read. */
  readonly rows: number;
}

/** A piece of background work that is done and stored. */
export type WorkEvent = FlushEvent | CompactionEvent | SplitEvent | MergeEvent | IndexBuildEvent;

/** The parameters of {@link Database.getWorkEvents} and {@link Database.workEvents}. */
export interface WorkEventsRequest extends CallOptions {
  /** Only events behind this position; 0 by default. */
  readonly position?: number | undefined;
}

/** The result of {@link Database.getWorkEvents}. */
export interface GetWorkEventsResult {
  /** The events, oldest first: at most the last 500. */
  readonly events: readonly WorkEvent[];
  /** The position of the next call. */
  readonly position: number;
  /** Events behind the given position that are kept no more. */
  readonly lost: number;
}

/** The piece of background work that comes next. */
export type DueWork =
  | { readonly type: "flush"; readonly bytes: number }
  | (TreeName & { readonly type: "compaction"; readonly reason: CompactionReason; readonly inputs: readonly WorkPart[]; readonly toLevel: number | null })
  | (TreeName & { readonly type: "split" | "merge"; readonly partitionId: number });

/** The result of {@link Database.pauseWork} and {@link Database.stepWork}. */
export interface StepResult {
  /** What was done by this step. */
  readonly done: readonly WorkEvent[];
  /** What the next step would do; `null`: nothing is due. */
  readonly next: DueWork | null;
}

/** A look inside the store, for tools and lessons: a part of {@link Database}. */
export interface Inspection {
  /**
   * Of what the store consists: the log, the memtables, and the segments of each tree by partition and level. Reads nothing, unless
   * `details` are asked for. For tools and lessons, as the calls below; they cost no capacity units.
   *
   * @throws `OTSObjectNotExist` for an unknown table.
   * @example
   * ```ts
   * const { memtables, trees } = await db.segments({ tableName: "reading" });
   * console.log(memtables[0]?.entries);
   * for (const { level, firstKey, lastKey, bytes } of trees[0]?.segments ?? []) console.log(level, firstKey.values, lastKey.values, bytes);
   * ```
   */
  segments(request?: SegmentsRequest): Promise<StoreDescription>;
  /**
   * One segment: its blocks, its index, what its filter says of a key, and rows of a block. Reads the whole segment. `null` if there
   * is none with this id: a compaction may have replaced it.
   *
   * @throws `Corrupt` with a damaged record; `OTSObjectNotExist`, `OTSInvalidPK` for `ask`.
   * @example
   * ```ts
   * const { trees } = await db.segments();
   * for (const { segmentId } of trees.flatMap((tree) => tree.segments)) console.log(await db.segment(segmentId, { rows: 5 }));
   * ```
   */
  segment(segmentId: number, request?: SegmentRequest): Promise<SegmentDescription | null>;
  /**
   * All versions of a row that are stored, those that reads do not give too, each with its reason by the store's clock. Hidden ones
   * come back when `maxVersions` or `timeToLive` is raised, until a compaction removes them for good [V3], [V5]. Only here: no door,
   * batch or transaction has it. It costs no capacity units.
   *
   * @throws as {@link Database.getRow}.
   * @example
   * ```ts
   * const { versions } = await db.getStoredRow({ tableName: "reading", primaryKey: { station: "SEA", at: 1 } });
   * for (const { version, value, hidden } of versions.tempMax ?? []) console.log(version, value, hidden ?? "visible");
   * ```
   */
  getStoredRow(request: GetStoredRowRequest): Promise<GetStoredRowResult>;
  /**
   * What was done in the background and why: flushes, compactions with what they dropped, splits and mergers of partitions, index
   * builds. The engine collects the last 500 events from the first call on, because nobody else should pay for it: there are
   * none of the time before. A new engine, as after a reload or when another tab leads, begins anew at position 0.
   *
   * @example
   * ```ts
   * const { position } = await db.getWorkEvents();
   * await db.compact();
   * for (const event of (await db.getWorkEvents({ position })).events) if (event.type === "compaction") console.log(event.reason, event.dropped);
   * ```
   */
  getWorkEvents(request?: WorkEventsRequest): Promise<GetWorkEventsResult>;
  /**
   * The same, one after another: those behind `position`, then each new one. Breaking off ends it.
   *
   * @throws the signal's reason; `Closed` with the database.
   * @example
   * ```ts
   * await db.getWorkEvents();                           // collected from now on
   * await db.putRow({ tableName: "reading", primaryKey: { station: "SEA", at: 1 }, attributes: { wet: true } });
   * await db.flush();
   * for await (const event of db.workEvents()) {
   *   console.log(event.type, event.tookMs);
   *   break;                                            // without it the loop waits for more
   * }
   * ```
   */
  workEvents(request?: WorkEventsRequest): AsyncIterableIterator<WorkEvent>;
  /**
   * Holds background work, to watch it piece by piece: for sandboxes with `storage: "memory"` only, because no other instance may
   * depend on who forgets to let it go on. It resolves when nothing is under way, with what would come next. `flush` and `compact` work
   * as ever. A flush that writes wait for is done too, so no write waits for the end of a pause.
   *
   * @throws `OTSParameterInvalid` for an instance in another storage; `Unavailable` if the code of compaction cannot be loaded. Then
   * nothing is paused.
   * @example
   * ```ts
   * const sandbox = await open("sandbox", { storage: "memory", memtableBytes: 65536 });
   * await sandbox.pauseWork();
   * // ... writes; then one piece after another:
   * for (let { next } = await sandbox.pauseWork(); next !== null; ) {
   *   const step = await sandbox.stepWork();
   *   console.log(step.done);
   *   next = step.next;
   * }
   * await sandbox.close();                              // or resumeWork, to go on
   * ```
   */
  pauseWork(options?: CallOptions): Promise<StepResult>;
  /** Lets background work go on. @throws as {@link Database.pauseWork}. */
  resumeWork(options?: CallOptions): Promise<void>;
  /**
   * Does the next piece of background work: the oldest frozen memtable is flushed, or a partition is split or merged, or a compaction
   * runs. Nothing is done if nothing is due. @throws as {@link Database.pauseWork}, and when work is not paused.
   */
  stepWork(options?: CallOptions): Promise<StepResult>;
}
