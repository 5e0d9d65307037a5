import assert from "node:assert/strict";
import { mock, test } from "node:test";

import type { FromWorker, Said, ToWorker } from "../src/code/messages.ts";
import { Outlet } from "../src/code/outlet.ts";
import { ASK_MS, type Outcome, type Output, PATIENCE, Runner, type WorkerLike } from "../src/code/runner.ts";

/** A worker that does what the test says. */
class FakeWorker implements WorkerLike {
  onmessage: WorkerLike["onmessage"] = null;
  onerror: WorkerLike["onerror"] = null;
  readonly heard: ToWorker[] = [];
  isOver = false;

  postMessage(message: ToWorker): void {
    this.heard.push(message);
  }

  terminate(): void {
    this.isOver = true;
  }

  say(data: FromWorker): void {
    this.onmessage?.({ data } as MessageEvent<FromWorker>);
  }
}

function stage() {
  const workers: FakeWorker[] = [];
  const outcomes: Outcome[] = [];
  const outputs: Output[] = [];
  const runner = new Runner(
    () => {
      const worker = new FakeWorker();
      workers.push(worker);
      return worker;
    },
    { outcome: (one) => outcomes.push(one), output: (more) => outputs.push(...more), calls: () => {} },
  );
  return { workers, outcomes, outputs, runner, kinds: () => outcomes.map(({ kind }) => kind) };
}

test("W1: a program runs in a worker of its own, and the one before it is ended", () => {
  const { workers, runner, outputs, kinds } = stage();
  runner.run("demo", "body 1");
  workers[0]!.say({ kind: "ready" });
  assert.deepEqual(workers[0]!.heard, [{ kind: "run", target: "demo", body: "body 1" }]);
  workers[0]!.say({ kind: "begun" });
  workers[0]!.say({ kind: "said", lines: [{ level: "log", text: "a" }], leftOut: 0 });
  runner.run("demo", "body 2");
  assert.equal(workers[0]!.isOver, true);
  workers[0]!.say({ kind: "said", lines: [{ level: "log", text: "late" }], leftOut: 0 });
  workers[1]!.say({ kind: "ready" });
  workers[1]!.say({ kind: "done", ms: 3 });
  assert.deepEqual(kinds(), ["starting", "running", "starting", "done"]);
  assert.equal(outputs.length, 1, "what an ended worker says is not heard");
  assert.equal(workers[1]!.isOver, false, "what the program has left running goes on");
  runner.stop();
  assert.deepEqual([workers[1]!.isOver, kinds().at(-1)], [true, "stopped"]);
  runner.stop();
  assert.equal(kinds().length, 5, "nothing is there to stop");
});

test("W1: a worker that gives no sign of life is ended, and one that does is not", () => {
  mock.timers.enable({ apis: ["setInterval"] });
  try {
    const { workers, runner, outcomes } = stage();
    runner.run("demo", "body");
    mock.timers.tick(60_000);
    assert.equal(workers[0]!.isOver, false, "nothing is asked of it while it is being loaded");
    workers[0]!.say({ kind: "ready" });
    for (let asked = 0; asked < 20; asked++) {
      mock.timers.tick(ASK_MS);
      workers[0]!.say({ kind: "pong" });
    }
    assert.equal(workers[0]!.isOver, false);
    // A loop may say things. It answers nothing.
    workers[0]!.say({ kind: "said", lines: [{ level: "log", text: "a" }], leftOut: 0 });
    mock.timers.tick(ASK_MS * PATIENCE);
    workers[0]!.say({ kind: "said", lines: [{ level: "log", text: "b" }], leftOut: 0 });
    assert.equal(workers[0]!.isOver, false);
    mock.timers.tick(ASK_MS);
    assert.equal(workers[0]!.isOver, true);
    assert.deepEqual(outcomes.at(-1), { kind: "hung", seconds: 5 });
  } finally {
    mock.timers.reset();
  }
});

test("W1: a worker that cannot be loaded is told of", () => {
  const { workers, runner, outputs, kinds } = stage();
  runner.run("demo", "body");
  workers[0]!.onerror?.({ message: "", preventDefault: () => {} } as ErrorEvent);
  assert.equal(kinds().at(-1), "failed");
  assert.match(JSON.stringify(outputs), /did not start/);
});

test("W1: the first lines of a loop are sent at once, of too many the last ones", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const got: Said[] = [];
    let missing = 0;
    const outlet = new Outlet((lines, leftOut) => {
      got.push(...lines);
      missing += leftOut;
    });
    for (let n = 0; n < 5000; n++) outlet.say({ level: "log", text: String(n) });
    assert.equal(got.length, 200, "before any timer has run");
    mock.timers.tick(100);
    assert.deepEqual([got.length, missing, got.at(-1)?.text, got[200]?.text], [700, 4300, "4999", "4500"]);
    outlet.say({ level: "log", text: "again" });
    assert.equal(got.at(-1)?.text, "again");
  } finally {
    mock.timers.reset();
  }
});
