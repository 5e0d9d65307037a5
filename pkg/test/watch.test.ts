/** When a leader that does not answer is taken for frozen: only time counts in which this tab ran itself. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { TICK, type Verdict, Watch } from "../src/tabs/leader-watch.js";

/** A watch whose ticks come at intervals of the caller. */
function watched(): { watch: Watch; tick(oldest: unknown, after?: number): Verdict; now(): number } {
  const watch = new Watch();
  let now = 1000;
  watch.begin(now);
  return { watch, now: () => now - 1000, tick: (oldest, after = TICK) => watch.tick((now += after), oldest) };
}

/** Ticks until the leader is found frozen. Returns the time that takes, in milliseconds. */
function silence(tick: (oldest: unknown, after?: number) => Verdict, now: () => number, after = TICK): number {
  for (let ticks = 0; ticks < 1000; ticks++) if (tick("call", after) === "frozen") return now();
  return Infinity;
}

test("frozen: a call that waits for a second is followed by pings, and a second of pings without an answer is enough", () => {
  const { tick } = watched();
  assert.deepEqual(
    Array.from({ length: 8 }, () => tick("call")),
    ["wait", "wait", "wait", "ping", "ping", "ping", "ping", "frozen"],
  );
});

test("frozen: answers to calls begin anew, and when nothing waits there are no more ticks", () => {
  const { tick } = watched();
  for (let call = 0; call < 100; call++) assert.equal(tick(call), "wait");
  assert.equal(tick(undefined), "rest");
});

test("frozen: a leader that answers pings and whose storage works is busy, however long a call takes", () => {
  const { watch, tick } = watched();
  for (let ticks = 0; ticks < 10_000; ticks++) {
    const verdict = tick("call");
    assert.notEqual(verdict, "frozen");
    if (verdict === "ping") watch.pong(ticks);
  }
});

test("frozen: one answer in a second is enough", () => {
  const { watch, tick } = watched();
  for (let ticks = 0; ticks < 1000; ticks++) {
    if (tick("call") === "frozen") assert.fail(`after ${ticks} ticks`);
    if (ticks % 4 === 0) watch.pong(ticks);
  }
});

test("frozen: a leader that answers, and whose storage does nothing for longer than a minute, hangs", () => {
  const { watch, tick, now } = watched();
  for (;;) {
    const verdict = tick("call");
    if (verdict === "frozen") break;
    if (verdict === "ping") watch.pong(7);
  }
  assert.ok(now() > 61_000 && now() < 90_000, `${now()} ms`);
});

test("frozen: a tab that did not run itself takes over from nobody: it slept, or was busy, while pings were out", () => {
  for (let asleep = 0; asleep < 12; asleep++) {
    const { watch, tick } = watched();
    for (let ticks = 0; ticks < Math.min(asleep, 7); ticks++) tick("call");
    assert.notEqual(tick("call", 3_600_000), "frozen");
    // The leader has slept too, and answers a little later.
    for (let ticks = 0; ticks < 3; ticks++) assert.notEqual(tick("call"), "frozen");
    watch.pong(1);
    for (let ticks = 0; ticks < 3; ticks++) assert.notEqual(tick("call"), "frozen");
  }
});

test("frozen: a tab whose timers are throttled takes over later", () => {
  for (const [after, least, most] of [
    [TICK, 1900, 2100],
    [1000, 6000, 10_000],
    [60_000, 300_000, 600_000],
  ]) {
    const { tick, now } = watched();
    const took = silence(tick, now, after);
    assert.ok(took >= least && took <= most, `${took} ms with ticks every ${after} ms`);
  }
});
