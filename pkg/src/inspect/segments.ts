/** What the store consists of, and what is in one segment. */

import type { Client } from "../client/client.js";
import { checkArguments, checkName, count } from "../codec/check.js";
import { kindOf, shown } from "../codec/kinds.js";
import { wrongArgument } from "../types/errors.js";
import type { SegmentDescription, SegmentPart, SegmentRequest, SegmentsRequest, StoreDescription, TreeDescription } from "../types/inspect.js";
import { withIntegers } from "./integers.js";
import { frameOf } from "./reads.js";

const SEGMENTS = new Set(["tableName", "details", "signal"]);
const SEGMENT = new Set(["block", "rows", "ask", "signal"]);
const ASK = new Set(["tableName", "primaryKey"]);
const ROWS = 20;
const MOST_ROWS = 1000;

/** What only reading a segment tells. */
type Details = Pick<SegmentPart, "filterBits" | "oldestSeqno" | "newestSeqno">;
const NONE: Details = { filterBits: null, oldestSeqno: null, newestSeqno: null };

/** The store as the engine tells it. */
type Told = Omit<StoreDescription, "trees"> & {
  readonly trees: readonly (Omit<TreeDescription, "segments"> & { readonly segments: readonly Omit<SegmentPart, keyof Details>[] })[];
};

/** The names of a table and of its indexes. */
async function namesOf(client: Client, tableName: string, call: SegmentsRequest): Promise<Set<string>> {
  const { indexes } = await client.admin<{ indexes: { indexName: string }[] }>("describeTable", { tableName }, call);
  return new Set([tableName, ...indexes.map(({ indexName }) => indexName)]);
}

/** The implementation of {@link Database.segments}. */
export async function segments(client: Client, request: SegmentsRequest = {}): Promise<StoreDescription> {
  const { tableName, details = false, signal } = checkArguments<SegmentsRequest>(request, SEGMENTS, "segments");
  if (typeof details !== "boolean") throw wrongArgument("details", kindOf(details), "true or false");
  if (tableName !== undefined) checkName(tableName, "tableName");
  const call = { signal };
  const names = tableName === undefined ? undefined : await namesOf(client, tableName, call);
  const told = await client.admin<Told>("describeStore", {}, call);
  const wanted = told.trees.filter((tree) => names === undefined || (tree.tableName !== null && names.has(tree.tableName)));
  const known = new Map<number, Details>();
  if (details)
    for (const { segmentId } of wanted.flatMap((tree) => tree.segments))
      if (!known.has(segmentId)) known.set(segmentId, await detailsOf(client, segmentId, call));
  const trees = wanted.map((tree) => ({ ...tree, segments: tree.segments.map((part) => ({ ...part, ...(known.get(part.segmentId) ?? NONE) })) }));
  return withIntegers({ ...told, trees }, client);
}

/** What one segment tells. A compaction may have removed it meanwhile. */
async function detailsOf(client: Client, segmentId: number, call: SegmentsRequest): Promise<Details> {
  const found = await client.admin<SegmentDescription | null>("describeSegment", { segmentId, block: 0, rows: 0, frame: undefined }, call);
  return found === null ? NONE : { filterBits: found.filter?.bits ?? null, oldestSeqno: found.oldestSeqno, newestSeqno: found.newestSeqno };
}

/** The implementation of {@link Database.segment}. */
export async function segment(client: Client, segmentId: number, request: SegmentRequest = {}): Promise<SegmentDescription | null> {
  if (!Number.isSafeInteger(segmentId) || segmentId < 0) throw wrongArgument("segmentId", shown(segmentId), "the number of a segment");
  const { block = 0, rows = ROWS, ask, signal } = checkArguments<SegmentRequest>(request, SEGMENT, "segment");
  count(block, "block", 0);
  count(rows, "rows", 0);
  if (rows > MOST_ROWS) throw wrongArgument("rows", shown(rows), `at most ${MOST_ROWS}`);
  const frame = ask === undefined ? undefined : frameOf(checkArguments(ask, ASK, "ask"));
  const found = await client.admin<SegmentDescription | null>("describeSegment", { segmentId, block, rows, frame }, { signal });
  return withIntegers(found, client);
}
