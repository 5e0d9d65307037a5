/** The picture of the store, and its words. */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { SegmentPart, StoredKey, TreeDescription } from "tabstore";

import { compareStored, eventText, figures, picture, stepText, storedKeyText, treeTitle, verdicts } from "../src/lib/inside.ts";

const key = (...values: StoredKey["values"]): StoredKey => ({ values, isBefore: false, isShortened: false });
const before = (...values: StoredKey["values"]): StoredKey => ({ ...key(...values), isBefore: true });

function part(segmentId: number, level: number, from: StoredKey, to: StoredKey, bytes = 100, partitionId = 1): SegmentPart {
  return {
    segmentId,
    level,
    partitionId,
    firstKey: from,
    lastKey: to,
    bytes,
    entries: 10,
    blocks: 1,
    deletes: 0,
    oldestVersion: null,
    newestVersion: null,
    indexBytes: 10,
    segmentBytes: bytes,
    segmentEntries: 10,
    sharedBy: 1,
    filterBits: null,
    oldestSeqno: null,
    newestSeqno: null,
  };
}

function tree(segments: readonly SegmentPart[], partitions: TreeDescription["partitions"] = []): TreeDescription {
  return { tree: 1, kind: "table", tableName: "t", primaryKey: ["id"], partitions, segments };
}

test("keys in the store sort as rows do, boundaries before the keys that begin with them", () => {
  const sorted = [key(), key(-1n), key(2n), key(2n, "a"), key(2n, "b"), before(10n), key(10n), key(10n, "a")];
  for (let i = 0; i < sorted.length; i++)
    for (let j = 0; j < sorted.length; j++) assert.equal(Math.sign(compareStored(sorted[i]!, sorted[j]!)), Math.sign(i - j), `${i} and ${j}`);
  assert.ok(compareStored(key("é"), key("z")) > 0, "texts by their bytes");
});

test("each segment stands between its keys, and level 0 has a lane for each", () => {
  const { lanes, bounds } = picture(
    tree(
      [
        part(9, 0, key(0n), key(9n), 400),
        part(8, 0, key(5n), before(7n), 100, 1),
        part(8, 0, key(7n), key(9n), 100, 2),
        part(3, 4, key(0n), key(4n)),
        part(4, 4, key(5n), key(9n), 100, 2),
      ],
      [
        { partitionId: 1, from: key() },
        { partitionId: 2, from: key(7n) },
      ],
    ),
  );
  assert.deepEqual(
    lanes.map(({ level, boxes }) => [level, boxes.map((box) => box.part.segmentId)]),
    [
      [0, [9]],
      [0, [8, 8]],
      [4, [3, 4]],
    ],
  );
  const [newest] = lanes[0]!.boxes;
  assert.deepEqual([newest!.to, newest!.height, newest!.newness], [1, 1, 1]);
  const [left, right] = lanes[1]!.boxes;
  assert.ok(left!.to <= right!.from && right!.from === bounds[0] && bounds.length === 1);
  const [first, second] = lanes[2]!.boxes;
  assert.ok(first!.from < first!.to && first!.to < second!.from && second!.to === 1);
  assert.ok(first!.height < 1 && first!.newness < second!.newness);
  assert.deepEqual(picture(tree([])).lanes, []);
  // Keys stand by their values: what begins a little later is drawn a little later.
  const wide = picture(tree([part(2, 0, key(1n), key(1000n)), part(1, 0, key(0n), key(999n))], [{ partitionId: 1, from: key() }]));
  assert.deepEqual(
    wide.lanes.map(({ boxes }) => [boxes[0]!.from, boxes[0]!.to]),
    [
      [0.001, 1],
      [0, 0.999],
    ],
  );
  const texts = picture(tree([part(2, 0, key("user-00"), key("user-ff")), part(1, 0, key("user-7f"), key("user-80"))])).lanes;
  assert.ok(texts[1]!.boxes[0]!.to - texts[1]!.boxes[0]!.from < 0.1 && texts[1]!.boxes[0]!.from > 0.05);
  // Where the first column says too little, they stand evenly.
  const even = picture(tree([part(2, 4, key("a", 1n), key("a", 2n)), part(1, 4, key("a", 3n), key("b", 0n))])).lanes[0]!.boxes;
  assert.ok(even[0]!.to < even[1]!.from && even[1]!.to === 1);
  const [alone] = picture(tree([part(1, 0, key(1n), key(1n))])).lanes[0]!.boxes;
  assert.ok(Number.isFinite(alone!.from) && Number.isFinite(alone!.to));
});

test("the amplifications have their operands", () => {
  const engine = (bytesFlushed: number, bytesCompacted: number) =>
    ({ work: { bytesFlushed, bytesCompacted, bytesCompactedIn: bytesCompacted }, segments: { bytes: 600 }, memtable: { budget: 1000 } }) as never;
  const [write, read, space] = figures(
    tree([part(3, 0, key(0n), key(9n)), part(2, 0, key(0n), key(9n)), part(1, 4, key(0n), key(9n), 400)]),
    2,
    engine(1000, 2000),
  );
  assert.deepEqual([write!.value, read!.value, space!.value], [3, 5, 1.5]);
  assert.equal(space!.operands, "600 bytes / 400 bytes");
  const [none, memory, nothing] = figures(undefined, 1, engine(10, 0));
  assert.deepEqual([none!.value, memory!.value, nothing!.value], [undefined, 1, undefined]);
  assert.equal(none!.awaited, "after 1,000 bytes; 10 bytes so far", "the panel says the same");
});

test("events, steps, keys and trees are told in words", () => {
  const dropped = { surplus: 312, expired: 0, deleted: 1 };
  const base = { position: 1, time: 0, tookMs: 1, tree: 1, kind: "table", tableName: "t" } as const;
  const inputs = [{ segmentId: 1, tree: 1, partitionId: 1, level: 0, bytes: 1, entries: 1 }] as const;
  assert.equal(
    eventText({ ...base, type: "compaction", reason: "level 0 full", inputs, toLevel: 4, outputs: inputs, bytesWritten: 10, dropped }),
    "Compaction: 1 part became 1 at level 4, because level 0 has enough segments; dropped 312 surplus, 1 deleted or overwritten",
  );
  assert.match(
    eventText({
      ...base,
      type: "compaction",
      reason: "expired",
      inputs,
      toLevel: null,
      outputs: [],
      bytesWritten: 0,
      dropped: { surplus: 0, expired: 0, deleted: 0 },
    }),
    /^Drop: 1 part became nothing, because all of it is expired$/,
  );
  assert.equal(eventText({ ...base, type: "split", reason: "size", partitionId: 1, newPartitionId: 2, at: key("7f") }), "Partition 1 was split at 7f, by size");
  assert.equal(storedKeyText(before("m")), "just before m");
  assert.equal(storedKeyText(key()), "the beginning");
  assert.equal(storedKeyText(key("", 1n)), "“” · 1");
  const found = {
    source: "segment",
    segmentId: 7,
    level: 0,
    verdict: "false positive",
    index: { from: "cache", bytes: 0 },
    blocks: [{ block: 3, entries: 0, fetch: { from: "storage", bytes: 2048 } }],
    fragments: 0,
    ends: false,
  } as const;
  assert.equal(stepText(found), "Segment 7, level 0: the filter says maybe, block 3 2.0 KB from the storage: not there");
  assert.deepEqual([...verdicts({ partitionId: 1, seqno: 1, steps: [found], fragments: 0, fetchedRecords: 1, fetchedBytes: 2048 })], [[7, "false-positive"]]);
  assert.equal(stepText({ source: "memtable", fragments: 1, ends: true }), "Memtable: 1 change, which hides all that is older");
  assert.equal(treeTitle({ tree: 5, kind: "stream", tableName: "t" }), "t: its stream");
  assert.equal(treeTitle({ tree: 4294967295, kind: "meter", tableName: null }), "used capacity units");
});
