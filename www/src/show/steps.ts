/** The steps of the show, and which events of the engine belong to them. Plain functions. */

import type { CompactionEvent, FlushEvent, SplitEvent, StoreDescription, TreeDescription, WorkEvent } from "tabstore";

import { TABLE } from "./rows.ts";

/** The steps, in their order. */
export const STEPS = ["log", "memtable", "flush", "merge", "split", "kill", "found", "ask"] as const;

/** A step. */
export type StepName = (typeof STEPS)[number];

/** The step of an address. */
export function stepAt(number: number | undefined): number {
  return Math.min(Math.max(number ?? 1, 1), STEPS.length);
}

/** What the background work has done since the show was opened. */
export interface WorkDone {
  readonly flushes: number;
  readonly merges: number;
  readonly splits: number;
  /** Old versions that merges have dropped. */
  readonly dropped: number;
  readonly flush?: FlushEvent;
  readonly merge?: CompactionEvent;
  readonly split?: SplitEvent;
}

/** Nothing yet. */
export const NOTHING_DONE: WorkDone = { flushes: 0, merges: 0, splits: 0, dropped: 0 };

/** Adds an event. Work of other trees, and moves that read nothing, are not told. */
export function addEvent(done: WorkDone, event: WorkEvent): WorkDone {
  if (event.type === "flush") return { ...done, flushes: done.flushes + 1, flush: event };
  if (event.tableName !== TABLE) return done;
  if (event.type === "split") return { ...done, splits: done.splits + 1, split: event };
  if (event.type !== "compaction" || event.bytesWritten === 0 || event.inputs.length < 2) return done;
  const { surplus, expired, deleted } = event.dropped;
  return { ...done, merges: done.merges + 1, dropped: done.dropped + surplus + expired + deleted, merge: event };
}

/** The tree of the show's table. */
export function treeOf(reading: StoreDescription | undefined): TreeDescription | undefined {
  return reading?.trees.find(({ kind, tableName }) => kind === "table" && tableName === TABLE);
}

/** The bytes of the memtable that takes writes. */
export function memtableBytes(reading: StoreDescription | undefined): number {
  return reading?.memtables.find(({ frozen }) => !frozen)?.bytes ?? 0;
}
