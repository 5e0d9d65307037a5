/** The picture of the store: where each segment stands along the keys, and the figures under it. Plain functions. */

import type { CompactionReason, Fetch, Metrics, ReadStep, ReadTrace, SegmentPart, StoredKey, TreeDescription, WorkEvent } from "tabstore";

import { amplification, waitsFor } from "./figures.ts";
import { bytes, count, counted } from "./format.ts";
import { compareValues } from "./keys.ts";
import { shortText } from "./values.ts";

/** A segment in the picture. Places run from 0 to 1. */
export interface Box {
  readonly part: SegmentPart;
  readonly from: number;
  readonly to: number;
  /** Its height: 1 for the largest one. */
  readonly height: number;
  /** How new it is: 1 for the newest one. */
  readonly newness: number;
}

/** A line of boxes that do not overlap: a segment of level 0, or a deeper level. */
export interface Lane {
  readonly level: number;
  readonly boxes: readonly Box[];
}

/** Compares keys and places between keys. A boundary stands before all keys that begin with it. */
export function compareStored(a: StoredKey, b: StoredKey): number {
  const shared = Math.min(a.values.length, b.values.length);
  for (let at = 0; at < shared; at++) {
    const difference = compareValues(a.values[at] as never, b.values[at] as never);
    if (difference !== 0) return difference;
  }
  // What ends just before a boundary lies before all keys that begin with it.
  const isBefore = (key: StoredKey): number => Number(key.isBefore && key.values.length === shared);
  return isBefore(b) - isBefore(a) || a.values.length - b.values.length;
}

/** So many bytes of a text, behind what all have in common, say where it stands. */
const BYTES = 6;

/** Values of a column as numbers in their order. Texts and bytes that differ late may have the same one. */
function numbersOf(values: readonly StoredKey["values"][number][]): number[] {
  const encoder = new TextEncoder();
  const bytesOf = values.map((value) => (typeof value === "string" ? encoder.encode(value) : value instanceof Uint8Array ? value : undefined));
  const first = bytesOf.find((one) => one !== undefined);
  if (first === undefined) return values.map(Number);
  let common = 0;
  while (common < first.length && bytesOf.every((one) => one?.[common] === first[common])) common += 1;
  return bytesOf.map((one) => Array.from({ length: BYTES }, (_, at) => one?.[common + at] ?? 0).reduce((sum, byte) => sum * 256 + byte, 0));
}

/** Places by the values of the first column in which the keys differ, or nothing if it tells too few of them apart. */
function byValue(places: readonly StoredKey[]): number[] | undefined {
  const columns = Math.min(...places.map(({ values }) => values.length));
  const column = Array.from({ length: columns }, (_, at) => at).find((at) =>
    places.some(({ values }) => compareValues(values[at] as never, places[0]?.values[at] as never) !== 0),
  );
  if (column === undefined) return undefined;
  const numbers = numbersOf(places.map(({ values }) => values[column] as never));
  const [least, most] = [numbers[0] ?? 0, numbers.at(-1) ?? 0];
  return 2 * new Set(numbers).size <= places.length || most <= least ? undefined : numbers.map((number) => (number - least) / (most - least));
}

/** Where the keys of a tree stand, from 0 to 1: by their values, or evenly where these say too little. */
function axis(tree: TreeDescription): (key: StoredKey) => number {
  const bounds = [...tree.segments.flatMap(({ firstKey, lastKey }) => [firstKey, lastKey]), ...tree.partitions.map(({ from }) => from)];
  const keys = bounds.filter(({ values }) => values.length > 0).sort(compareStored);
  const places = keys.filter((key, at) => at === 0 || compareStored(keys[at - 1] as StoredKey, key) !== 0);
  const values = places.length === 0 ? undefined : byValue(places);
  const last = Math.max(places.length - 1, 1);
  return (key) => {
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareStored(places[middle] as StoredKey, key) < 0) low = middle + 1;
      else high = middle;
    }
    return values?.[low] ?? low / last;
  };
}

/** The picture of a tree: its lanes, newest data first, and where its partitions meet. */
export function picture(tree: TreeDescription): { readonly lanes: readonly Lane[]; readonly bounds: readonly number[] } {
  const place = axis(tree);
  const most = Math.max(1, ...tree.segments.map((part) => part.bytes));
  const ids = [...new Set(tree.segments.map(({ segmentId }) => segmentId))].sort((a, b) => a - b);
  const box = (part: SegmentPart): Box => ({
    part,
    from: place(part.firstKey),
    to: place(part.lastKey),
    height: Math.sqrt(part.bytes / most),
    newness: (ids.indexOf(part.segmentId) + 1) / ids.length,
  });
  const lanes: Lane[] = [];
  for (const level of [...new Set(tree.segments.map((part) => part.level))].sort((a, b) => a - b)) {
    const boxes = tree.segments.filter((part) => part.level === level).map(box);
    if (level > 0) lanes.push({ level, boxes });
    else for (const group of groups(boxes)) lanes.push({ level, boxes: group });
  }
  return { lanes, bounds: tree.partitions.slice(1).map(({ from }) => place(from)) };
}

/** Boxes of level 0 in lanes, the newest first; those of one flush, cut between partitions, share one. */
function groups(boxes: readonly Box[]): Box[][] {
  const found = new Map<number, Box[]>();
  for (const box of [...boxes].sort((a, b) => b.part.segmentId - a.part.segmentId)) {
    const lane = found.get(box.part.segmentId);
    if (lane === undefined) found.set(box.part.segmentId, [box]);
    else lane.push(box);
  }
  return [...found.values()];
}

/** A key as people read it. */
export function storedKeyText({ values, isBefore }: StoredKey): string {
  if (values.length === 0) return "the beginning";
  const said = values.map((value) => (value === "" ? "“”" : shortText(value, 24))).join(" · ");
  return isBefore ? `just before ${said}` : said;
}

/** The facts of a segment in a line. */
export function partText(part: SegmentPart): string {
  const facts = [
    `Segment ${part.segmentId}`,
    `level ${part.level}`,
    `partition ${part.partitionId}`,
    `${storedKeyText(part.firstKey)} to ${storedKeyText(part.lastKey)}`,
    bytes(part.bytes),
    counted(part.entries, "row"),
    counted(part.blocks, "block"),
  ];
  return [...facts, ...(part.deletes > 0 ? [counted(part.deletes, "deletion")] : [])].join(", ");
}

/** A figure: its value, or why there is none yet, and how it is made. */
export interface Figure {
  readonly label: string;
  readonly value: number | undefined;
  /** What it waits for, if it says nothing yet. */
  readonly awaited?: string | undefined;
  readonly formula: string;
  readonly operands: string;
}

/** Write, read and space amplification. The first is that of the instance, the others of one tree. */
export function figures(tree: TreeDescription | undefined, memtables: number, metrics: Pick<Metrics, "work" | "segments" | "memtable">): readonly Figure[] {
  const { work } = metrics;
  const written = amplification(metrics);
  const parts = tree?.segments ?? [];
  const runs = (partition: number): number => {
    const own = parts.filter(({ partitionId }) => partitionId === partition);
    return own.filter(({ level }) => level === 0).length + new Set(own.filter(({ level }) => level > 0).map(({ level }) => level)).size;
  };
  const most = Math.max(0, ...new Set(parts.map(({ partitionId }) => runs(partitionId))));
  const stored = parts.reduce((sum, part) => sum + part.bytes, 0);
  const deepest = Math.max(...parts.map(({ level }) => level));
  const bottom = parts.filter(({ level }) => level === deepest).reduce((sum, part) => sum + part.bytes, 0);
  return [
    {
      label: "Write amplification",
      value: "value" in written ? written.value : undefined,
      awaited: "missing" in written ? waitsFor(written, metrics) : undefined,
      formula: "(flushed or loaded + compacted) / flushed or loaded, of the instance since it was opened",
      operands: `(${bytes(work.bytesFlushed)} + ${bytes(work.bytesCompacted)}) / ${bytes(work.bytesFlushed)}`,
    },
    {
      label: "Read amplification",
      value: memtables + most,
      formula: "memtables + segments of level 0 + deeper levels, in the partition with the most: where a read may have to look",
      operands: `${memtables} + ${most}`,
    },
    {
      label: "Space amplification",
      value: bottom === 0 ? undefined : stored / bottom,
      formula: "stored bytes of all levels / those of the deepest one",
      operands: `${bytes(stored)} / ${bytes(bottom)}`,
    },
  ];
}

const REASONS: Readonly<Record<CompactionReason, string>> = {
  "level 0 full": "level 0 has enough segments",
  "small partition": "the partition is small",
  "too much above the bottom": "too much lies above the bottom",
  expired: "all of it is expired",
  "deleted or expired data": "much of it is deleted or expired",
  "left over": "most of a segment is read by nobody",
  asked: "somebody asked",
  "merge of partitions": "two partitions are about to become one",
};
const FLUSHES = {
  "memtable full": "the memtable was full",
  "log long": "the log was long",
  "asked or idle": "somebody asked, or nothing was written",
} as const;

/** Why compaction does something. */
export const reasonText = (reason: CompactionReason): string => REASONS[reason];

/** An event in a sentence. */
export function eventText(event: WorkEvent): string {
  switch (event.type) {
    case "flush":
      return `Flush of ${counted(event.entries, "entry", "entries")} into ${counted(event.outputs.length, "part")}: ${FLUSHES[event.reason]}`;
    case "compaction": {
      const inputs = counted(event.inputs.length, "part");
      const outputs = event.toLevel === null ? "nothing" : `${count(event.outputs.length)} at level ${event.toLevel}`;
      return `${event.bytesWritten > 0 ? "Compaction" : event.toLevel === null ? "Drop" : "Move"}: ${inputs} became ${outputs}, because ${REASONS[event.reason]}${droppedText(event.dropped)}`;
    }
    case "split":
      return `Partition ${event.partitionId} was split at ${storedKeyText(event.at)}, by ${event.reason}`;
    case "merge":
      return `Partitions ${event.partitionId} and ${event.mergedPartitionId} became one`;
    case "indexBuild":
      return `The index was built over ${counted(event.rows, "row")}`;
  }
}

function droppedText({ surplus, expired, deleted }: { readonly surplus: number; readonly expired: number; readonly deleted: number }): string {
  const gone = [
    [surplus, "surplus"],
    [expired, "expired"],
    [deleted, "deleted or overwritten"],
  ] as const;
  const said = gone.filter(([number]) => number > 0).map(([number, why]) => `${count(number)} ${why}`);
  return said.length === 0 ? "" : `; dropped ${said.join(", ")}`;
}

const fetched = (fetch: Fetch | null): string =>
  fetch === null ? "not needed" : fetch.from === "cache" ? "from the cache" : `${bytes(fetch.bytes)} from the storage`;

/** A step of a read in a sentence. */
export function stepText(step: ReadStep): string {
  switch (step.source) {
    case "memtable":
    case "frozen": {
      const place = step.source === "memtable" ? "Memtable" : "Frozen memtable";
      return `${place}: ${step.fragments === 0 ? "nothing" : counted(step.fragments, "change")}${step.ends ? ", which hides all that is older" : ""}`;
    }
    case "image":
      return "A remembered merge stands for all that is older";
    case "level":
      return `Level ${step.level}: by their ranges ${count(step.segments - step.outOfRange)} of ${counted(step.segments, "segment")} may have the key`;
    case "segment": {
      const blocks = step.blocks.map(({ block, fetch }) => `block ${block} ${fetched(fetch)}`).join(", ");
      const index = step.index?.from === "storage" ? `, index ${fetched(step.index)}` : "";
      const said = {
        "not needed": "not asked, what was found already hides all that is older",
        no: `the filter says no${index}`,
        found: `the filter says maybe${index}, ${blocks}: found`,
        "false positive": `the filter says maybe${index}, ${blocks}: not there`,
      };
      return `Segment ${step.segmentId}, level ${step.level}: ${said[step.verdict]}`;
    }
  }
}

/** What came of each segment that a read met, by its id. */
export function verdicts(trace: ReadTrace | undefined): ReadonlyMap<number, string> {
  const steps = trace?.steps.filter((step) => step.source === "segment") ?? [];
  return new Map(steps.map(({ segmentId, verdict }) => [segmentId, verdict.replaceAll(" ", "-")]));
}

const KINDS = {
  catalog: "the list of tables",
  meter: "used capacity units",
  answers: "answers to other tabs",
  documents: "settings of Azure accounts",
  deleted: "deleted, waits for a compaction",
} as const;

/** What a tree is called. */
export function treeTitle({ kind, tableName, tree }: Pick<TreeDescription, "kind" | "tableName" | "tree">): string {
  if (kind === "table") return `${tableName}`;
  if (kind === "index") return `${tableName} (index)`;
  if (kind === "stream") return `${tableName}: its stream`;
  return kind === "deleted" ? `tree ${tree}: ${KINDS.deleted}` : KINDS[kind];
}
