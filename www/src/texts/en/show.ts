/** The texts of the show in English. */

import type { ReadStep } from "tabstore";

import { bytes, count, counted, elapsed, share } from "../../lib/format.ts";
import { reasonText, stepText, storedKeyText } from "../../lib/inside.ts";
import type { ShowTexts } from "../show.ts";

/** They are read as they are needed. */
export const TEXTS: ShowTexts = {
  title: "A database at work",
  opening: "Opening the instance …",
  step: (number, of) => `${number} of ${of}`,
  back: "Back",
  next: "Next",
  hold: "Hold the rows",
  go: "Let rows come",
  speed: "Speed",
  again: "Begin anew",
  leave: "All instances",
  keys: "Arrow keys: back and next. Space: hold the rows, or let them come.",
  waiting: (filled, budget) => `Not yet. The memtable is ${share(filled, budget)} full.`,
  steps: {
    log: {
      title: "A write goes into the log",
      text: ({ acknowledged }) =>
        `${count(acknowledged)} rows are acknowledged. Each one was written into the log before its answer, so it survives the end of this tab. What a segment has leaves the log.`,
    },
    memtable: {
      title: "Then into the memtable",
      text: ({ entries, filled, budget }) =>
        `The memtable keeps new rows in memory, sorted by key: now ${counted(entries, "entry", "entries")}, ${bytes(filled)} of ${bytes(budget)}.`,
    },
    flush: {
      title: "Full: it becomes a segment",
      text: ({ done }) =>
        done.flush &&
        `A full memtable is frozen and written as a segment: the last one had ${counted(done.flush.entries, "entry", "entries")} and took ${elapsed(done.flush.tookMs)}. Flushes so far: ${count(done.flushes)}.`,
    },
    merge: {
      title: "Segments are merged",
      text: ({ done }) =>
        done.merge &&
        `${count(done.merge.inputs.length)} parts became ${count(done.merge.outputs.length)} at level ${done.merge.toLevel}, because ${reasonText(done.merge.reason)}. ${counted(done.dropped, "old value")} fell out so far.`,
    },
    split: {
      title: "A partition splits",
      text: ({ done }) =>
        done.split && `Partition ${done.split.partitionId} held too much. It was split at ${storedKeyText(done.split.at)}; no write waited for it.`,
    },
    kill: {
      title: "Now kill this tab",
      text: ({ isMemory }) =>
        isMemory
          ? "This browser keeps nothing here, so the instance is in memory only and would be gone. Go on to the next step."
          : "The page ends in the middle of a write, and the engine gets no word of it. Then it is loaded again, and counts.",
    },
    found: {
      title: "Acknowledged means kept",
      text: ({ balance }) =>
        balance &&
        (balance.lost === 0
          ? "Every row has its last acknowledged write, or a newer one whose answer was still under way."
          : "Rows are missing. That is a fault: please report it."),
    },
    ask: { title: "Ask it", text: () => "Type a key. The picture shows where the read looked, and where a filter said no." },
  },
  waitingFor: { found: "Nothing was killed yet. Go back one step." },
  kill: "Kill this tab now",
  killing: "The tab is ending …",
  balance: { acknowledged: "Acknowledged writes", expected: "Rows written", found: "Rows found", lost: "Lost", opened: "Opened in" },
  facts: {
    caption: "The same in figures",
    rows: "Rows acknowledged",
    perSecond: "Rows a second",
    log: "Log records",
    memtable: "Memtable",
    flushes: "Flushes",
    merges: "Merges",
    dropped: "Old values dropped",
    segments: "Segments",
    partitions: "Partitions",
    none: "not measured yet",
  },
  table: "The segments as a table",
  ask: {
    key: "Key",
    submit: "Ask",
    present: "One that is there",
    absent: "One that is not",
    found: (row, units, ms) => `The row is there: ${row}. ${counted(units, "read unit")}, ${elapsed(ms)}.`,
    missing: (units, ms) => `There is no such row. ${counted(units, "read unit")}, ${elapsed(ms)}.`,
    path: "The path of the read",
    colours: "The rows are held. Green: found there. Brown: the filter said no. Red: it said maybe, for nothing. Grey: not asked.",
    step: (step: ReadStep) => stepText(step),
  },
  doors: {
    title: "And now",
    lesson: "Lesson 1",
    lessonAbout: "Rows and keys, in five minutes.",
    file: "My own file",
    fileAbout: "CSV, JSON or NDJSON. It stays in this browser.",
    code: "The same in code",
    copy: "Copy",
    copied: "Copied",
  },
};
