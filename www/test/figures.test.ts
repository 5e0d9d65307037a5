import assert from "node:assert/strict";
import { test } from "node:test";

import type { Metrics } from "tabstore";

import { bookedFlights, uuidOf } from "../build/booked-flights.ts";
import { amplification, segmentSums, treeName, type WritesAt, writesInLastSecond } from "../src/lib/figures.ts";

const readings = (...list: readonly (readonly [number, number])[]): WritesAt[] => list.map(([at, writes]) => ({ at, writes, epoch: 1 }));

test("the writes of the last second are those, whatever lies between the readings", () => {
  assert.equal(writesInLastSecond([]), undefined);
  assert.equal(writesInLastSecond(readings([0, 5])), undefined);
  assert.equal(writesInLastSecond(readings([0, 0], [999, 5])), undefined, "a second has not been watched yet");
  assert.equal(writesInLastSecond(readings([0, 0], [1000, 5])), 5);
  // All at once, just before the last reading: all of them, not twice as many.
  assert.equal(writesInLastSecond(readings([0, 0], [500, 0], [1000, 0], [1500, 560])), 560);
  assert.equal(writesInLastSecond(readings([0, 0], [500, 560], [1000, 560], [1500, 560])), 0);
  // Evenly, with readings that come too late.
  assert.equal(writesInLastSecond(readings([0, 0], [700, 700], [1400, 1400], [2100, 2100])), 1000);
  // A quarter of the bytes was written before the window began, and is not in it.
  assert.equal(writesInLastSecond(readings([0, 0], [400, 400], [1100, 400])), 300);
});

test("I5, W1: each of the store's own trees has a name of its own, and streams are told apart", () => {
  const names = [0, 8, 9, 4294967293, 4294967294, 4294967295].map((tree) => treeName({ tree, tableName: null }).name);
  assert.equal(new Set(names).size, names.length, names.join(", "));
  assert.deepEqual([names[0], names[1], names[5]], ["catalogue", "records of a stream, tree 8", "capacity meter"]);
  assert.deepEqual(treeName({ tree: 3, tableName: "events" }), { name: "events", isTable: true });
});

test("an engine that has taken over counts from the beginning: its writes are not compared with those of the one before", () => {
  const moved = [...readings([0, 500], [500, 600]), { at: 900, writes: 0, epoch: 2 }, { at: 1400, writes: 7, epoch: 2 }];
  assert.equal(writesInLastSecond(moved), undefined);
  assert.equal(writesInLastSecond([...moved, { at: 1900, writes: 9, epoch: 2 }]), 9);
});

const engine = (bytesFlushed: number, bytesCompactedIn: number, bytesCompacted: number, stored: number): Parameters<typeof amplification>[0] => ({
  memtable: { bytes: 0, entries: 0, frozen: 0, budget: 1000 },
  segments: { count: 1, bytes: stored, garbage: 0 },
  work: { commits: 0, writes: 0, flushes: 0, bytesFlushed, compactions: 1, bytesCompactedIn, bytesCompacted, longestSliceUs: 0 } as Metrics["work"],
});

test("the write amplification is told once it means something, and else what it waits for", () => {
  assert.deepEqual(amplification(engine(0, 0, 0, 0)), { missing: "writes" });
  assert.deepEqual(amplification(engine(999, 999, 999, 999)), { missing: "writes" }, "less than a memtable");
  assert.deepEqual(amplification(engine(4000, 1999, 1999, 4000)), { missing: "compactions" }, "compactions are behind");
  assert.deepEqual(amplification(engine(4000, 9000, 9000, 8001)), { missing: "new data" }, "they rewrite what was there before");
  assert.deepEqual(amplification(engine(4000, 9000, 8000, 8000)), { value: 3 });
});

test("levels are added up, and what is in segments beside their rows is told apart", () => {
  const level = (segments: number, bytes: number) => ({ level: 0, segments, bytes, entries: 0 });
  const tree = (...levels: ReturnType<typeof level>[]) => ({ tree: 1, tableName: "t", levels, partitions: [] });
  assert.deepEqual(segmentSums({ trees: [tree(level(2, 30), level(1, 60)), tree(level(0, 5))], segments: { count: 3, bytes: 100, garbage: 0 } }), {
    count: 3,
    bytes: 95,
    rest: 5,
  });
});

test("the flights under bookings are the flights, each under a UUID of its own, in no order", () => {
  const flights = Array.from({ length: 5000 }, (_, delay) => ({ delay, time: delay / 2 }));
  const [head, ...lines] = bookedFlights(JSON.stringify(flights)).trimEnd().split("\n");
  assert.equal(head, "booking,delay,time");
  assert.deepEqual(
    lines.map((line) => line.replace(/^[^,]*/, "")),
    flights.map(({ delay, time }) => `,${delay},${time}`),
  );
  const keys = lines.map((line) => line.split(",", 1)[0] ?? "");
  assert.ok(keys.every((key) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(key)));
  assert.equal(new Set(keys).size, keys.length);
  const ascents = keys.filter((key, at) => at > 0 && key > (keys[at - 1] ?? "")).length;
  assert.ok(Math.abs(ascents - keys.length / 2) < 200, `${ascents} of ${keys.length} keys ascend`);
  assert.equal(uuidOf(7), uuidOf(7));
});
