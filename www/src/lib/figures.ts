/** Figures of the engine that follow from others: plain functions of the result of `metrics`. */

import type { Metrics, RowOperation, TreeMetrics } from "tabstore";

import { bytes } from "./format.ts";

/** How many writes there had been at an instant, milliseconds. */
export interface WritesAt {
  readonly at: number;
  readonly writes: number;
  /** The engine that counted them: each counts from its beginning. */
  readonly epoch: number;
}

const SECOND_MS = 1000;

/**
 * How many of the writes were made in the second before the last reading. Between two readings they are taken as spread
 * evenly. `undefined` as long as the readings do not cover a second.
 */
export function writesInLastSecond(all: readonly WritesAt[]): number | undefined {
  const last = all.at(-1);
  if (last === undefined) return undefined;
  const readings = all.filter(({ epoch }) => epoch === last.epoch);
  const from = last.at - SECOND_MS;
  const place = readings.findLastIndex(({ at }) => at <= from);
  const before = readings[place];
  const after = readings[place + 1];
  if (before === undefined || after === undefined) return undefined;
  const share = (from - before.at) / (after.at - before.at);
  return Math.round(last.writes - before.writes - share * (after.writes - before.writes));
}

/** The bytes in segments, by level and in all. */
export interface SegmentSums {
  /** Segments of all levels of all trees. */
  readonly count: number;
  /** Bytes of rows in them. */
  readonly bytes: number;
  /** The other bytes in the segments: their indexes, and rows that a compaction has merged into other segments. */
  readonly rest: number;
}

/** Adds up the levels. */
export function segmentSums({ trees, segments }: Pick<Metrics, "trees" | "segments">): SegmentSums {
  const levels = trees.flatMap((tree) => tree.levels);
  const bytes = levels.reduce((sum, level) => sum + level.bytes, 0);
  return { count: levels.reduce((sum, level) => sum + level.segments, 0), bytes, rest: segments.bytes - bytes };
}

/** The store's own trees. Those that have no name and no place here hold the records of streams. */
const OWN_TREES: ReadonlyMap<number, string> = new Map([
  [0, "catalogue"],
  [4_294_967_295, "capacity meter"],
  [4_294_967_294, "answers to other tabs"],
  [4_294_967_293, "settings of Azure accounts"],
]);

/** What a tree is called, and whether that is the name of a table. Several streams, or what is left of them, are told apart by number. */
export function treeName({ tree, tableName }: Pick<TreeMetrics, "tree" | "tableName">): { readonly name: string; readonly isTable: boolean } {
  return tableName === null ? { name: OWN_TREES.get(tree) ?? `records of a stream, tree ${tree}`, isTable: false } : { name: tableName, isTable: true };
}

/** Bytes written into segments for each byte that came out of memory or was loaded, or why that says nothing yet. */
export type Amplification = { readonly value: number } | { readonly missing: "writes" | "compactions" | "new data" };

/**
 * The write amplification. It means something if at least a memtable was written. Compactions must have read at least
 * half of that, else they are behind. And at least half of the stored data must have been written since: otherwise they
 * rewrite older data, and there is nothing to compare their work with.
 */
export function amplification({ work, segments, memtable }: Pick<Metrics, "work" | "segments" | "memtable">): Amplification {
  const { bytesFlushed, bytesCompacted, bytesCompactedIn } = work;
  if (bytesFlushed < memtable.budget) return { missing: "writes" };
  if (2 * bytesCompactedIn < bytesFlushed) return { missing: "compactions" };
  if (2 * bytesFlushed < segments.bytes) return { missing: "new data" };
  return { value: (bytesFlushed + bytesCompacted) / bytesFlushed };
}

/** What the write amplification waits for, in a few words. */
export function waitsFor({ missing }: Amplification & { missing: string }, { work, memtable }: Pick<Metrics, "work" | "memtable">): string {
  if (missing === "writes") return `after ${bytes(memtable.budget)}; ${bytes(work.bytesFlushed)} so far`;
  return missing === "compactions" ? "after more compactions" : "most data is older";
}

/** The operations that read rows and do nothing else. */
const READS: readonly RowOperation[] = ["GetRow", "BatchGetRow", "GetRange", "CountRows"];

/** The requests to read rows since the instance was opened. */
export function readRequests(operations: Metrics["operations"]): number {
  return READS.reduce((sum, name) => sum + operations[name].requests, 0);
}
