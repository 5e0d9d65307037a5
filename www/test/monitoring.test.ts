import assert from "node:assert/strict";
import { test } from "node:test";

import type { ConsumedPeriod, Metrics, OperationMetrics, RowOperation } from "tabstore";

import { readRequests } from "../src/lib/figures.ts";
import {
  askedOperations,
  busiest,
  errorsPerSecond,
  everyPeriod,
  KEPT_SECONDS,
  monthLike,
  parsePrice,
  pricesOf,
  type Sample,
  track,
  withSample,
} from "../src/lib/monitoring.ts";
import { formatRoute, parseRoute } from "../src/lib/route.ts";

const NAMES: readonly RowOperation[] = ["PutRow", "GetRow", "BatchGetRow", "GetRange", "CountRows", "DeleteRow"];

function operations(counts: Partial<Record<RowOperation, Partial<OperationMetrics>>>): Metrics["operations"] {
  const none = { requests: 0, errors: 0, requestsPerSecond: 0, meanLatencyMs: 0, p50LatencyMs: 0, p99LatencyMs: 0 };
  return Object.fromEntries(NAMES.map((name) => [name, { ...none, ...counts[name] }])) as unknown as Metrics["operations"];
}

const sample = (at: number, errors = 0, epoch = 1): Sample => ({ at, epoch, operations: operations({ GetRow: { requests: 10 * at, errors } }) });

test("I5: samples are kept for two minutes", () => {
  let samples: readonly Sample[] = [];
  for (let at = 0; at <= 200; at++) samples = withSample(samples, sample(at));
  assert.deepEqual([samples.length, samples[0]?.at, samples.at(-1)?.at], [KEPT_SECONDS + 1, 80, 200]);
});

test("I5: the operations that were asked for are shown in the engine's order, and the busiest one is found", () => {
  const counted = operations({ GetRow: { requests: 3 }, PutRow: { requests: 1 }, DeleteRow: { requests: 9 } });
  assert.deepEqual(askedOperations(counted), ["PutRow", "GetRow", "DeleteRow"]);
  assert.equal(busiest(counted), "DeleteRow");
  assert.equal(busiest(operations({})), undefined);
});

test("I5: a chart over time counts back from the newest sample, and has a gap where the page was hidden", () => {
  const samples = [sample(10), sample(11), sample(20), sample(21)];
  const { x, values } = track(samples, ({ at }, before) => (before === undefined ? null : at));
  assert.deepEqual(x, [-11, -10, -5.5, -1, 0]);
  assert.deepEqual(values, [null, 11, null, null, 21], "the sample behind a gap has none before it");
  assert.deepEqual(
    track([], () => 1),
    { x: [], values: [] },
  );
});

test("I5: errors a second lie between two samples of one engine", () => {
  assert.equal(errorsPerSecond("GetRow", sample(12, 7), sample(10, 3)), 2);
  assert.equal(errorsPerSecond("GetRow", sample(12, 7), undefined), null);
  assert.equal(errorsPerSecond("GetRow", sample(12, 0, 2), sample(10, 3, 1)), null, "another engine counts from its beginning");
  assert.equal(errorsPerSecond("GetRow", sample(10, 3), sample(10, 3)), null);
});

test("I5: only calls that read rows count as reads", () => {
  assert.equal(readRequests(operations({ PutRow: { requests: 9 }, DeleteRow: { requests: 9 } })), 0);
  assert.equal(readRequests(operations({ GetRow: { requests: 1 }, BatchGetRow: { requests: 2 }, GetRange: { requests: 3 }, CountRows: { requests: 4 } })), 10);
});

test("C2, C3: seconds and hours in which nothing was reserved or used are there, with zeros", () => {
  const used: ConsumedPeriod = { start: 7000, reserved: { read: 100, write: 0 }, onDemand: { read: 20, write: 0 }, consumed: { read: 120, write: 0 }, cost: 1 };
  const all = everyPeriod([used], 5999, 8001, 1000);
  assert.deepEqual(
    all.map(({ start, consumed, onDemand, cost }) => [start, consumed.read, onDemand.read, cost]),
    [
      [5000, 0, 0, 0],
      [6000, 0, 0, 0],
      [7000, 120, 20, 1],
      [8000, 0, 0, 0],
    ],
  );
  assert.deepEqual(
    everyPeriod([], -1, 0, 1000).map(({ start }) => start),
    [-1000, 0],
    "clocks may be set before 1970",
  );
  assert.deepEqual(everyPeriod([], 5000, 3000, 1000), []);
});

test("C3: thirty days are as many whole seconds or hours as there are in them; the running one does not count", () => {
  const none = { read: 0, write: 0 };
  const costs = (...all: readonly number[]) => all.map((cost, start) => ({ start, reserved: none, onDemand: none, consumed: none, cost }));
  assert.equal(monthLike(costs(2, 9), 3_600_000), 1440, "720 hours at 2");
  assert.equal(monthLike(costs(1, 0, 9), 1000), 0.5 * 2_592_000, "every second second costs 1");
  assert.deepEqual([monthLike(costs(9), 1000), monthLike([], 1000)], [undefined, undefined], "nothing is whole yet");
});

test("C3: a typed price is a number of at least 0; an empty one is the instance's", () => {
  assert.deepEqual(["", " ", "0", "0.004", ".5", "3.", "1,5"].map(parsePrice), [undefined, undefined, 0, 0.004, 0.5, 3, 1.5]);
  for (const nonsense of ["-1", "1e3", "free", "1.2.3", ".", "Infinity"]) assert.ok(Number.isNaN(parsePrice(nonsense)), nonsense);
  assert.deepEqual(pricesOf({ reservedRead: "1", reservedWrite: "", onDemandRead: "free", onDemandWrite: "0" }), {
    reserved: { read: 1 },
    onDemand: { write: 0 },
  });
});

test("I5: units and calls have an address, of all tables or of one", () => {
  for (const hash of ["#/demo?view=units", "#/demo/reading?view=units", "#/demo/reading?clock=5&view=units"]) {
    const route = parseRoute(hash);
    assert.deepEqual([route.instance, route.view, formatRoute(route)], ["demo", "units", hash]);
  }
  assert.equal(parseRoute("#/demo?view=nonsense").view, undefined);
  assert.equal(parseRoute("#/?view=units").view, undefined, "without an instance there is nothing to see");
});
