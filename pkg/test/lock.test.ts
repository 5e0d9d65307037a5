/** Locks: their names never meet, whatever an instance is called, and nobody waits for one twice. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { PROTOCOL } from "../src/tabs/channel.js";
import { witness } from "../src/host/witness.js";
import { endOf, live, living, lockInstance, lockSoon, takeTurn } from "../src/tabs/lock.js";
import { FakeLocks, giveLocks } from "./support/locks.js";
import { checked, leads } from "./support/tab.js";
import { turn } from "./support/turn.js";
import { undo, undoAll } from "./support/undo.js";

afterEach(undoAll);

function locks(more: object = {}): FakeLocks {
  const made = new FakeLocks();
  undo.push(giveLocks(made, more));
  return made;
}

test("an instance called 'worker' is taken over, and the clients that live are still known", async () => {
  locks();
  await live(7, turn(50));
  let known: number[] = [];
  await takeTurn("worker", async () => {
    known = await living();
  });
  assert.deepEqual(known, [7]);
});

test("clients that take one lock over do so in turn, and wait no longer than a second for one that freezes meanwhile", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  locks();
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const order: string[] = [];
  let end = (): void => {};
  const first = takeTurn("Demo", async () => {
    order.push("first");
    await new Promise<void>((resolve) => (end = resolve));
    order.push("its end");
  });
  const second = takeTurn("demo", async () => void order.push("second"));
  await settle();
  assert.deepEqual(order, ["first"]);
  end();
  await Promise.all([first, second]);
  assert.deepEqual(order, ["first", "its end", "second"]);
  void takeTurn("demo", () => new Promise(() => {}));
  const last = takeTurn("demo", async () => void order.push("last"));
  await settle();
  assert.equal(order.at(-1), "second");
  t.mock.timers.tick(1000);
  await last;
  assert.equal(order.at(-1), "last");
});

test("an instance called 'witnesses' is open, and gets its witness", async () => {
  const files: string[] = [];
  const folder = { getFileHandle: async (name: string) => void files.push(name) };
  locks({ storage: { getDirectory: async () => ({ getDirectoryHandle: async () => folder }) } });
  const release = await lockInstance("witnesses");
  void witness("witnesses", true);
  await turn(20);
  assert.deepEqual(files, ["witnesses"]);
  await release();
});

test("a leader waits once for the end of a tab with many handles, and hears of it for all of them", async () => {
  const made = locks();
  let end = (): void => {};
  await live(7, new Promise((resolve) => (end = resolve)));
  const { leader, sessions } = leads(checked().engine, 1);
  const channel = new BroadcastChannel("tabstore/demo");
  undo.push(
    () => leader.stop(),
    () => channel.close(),
  );
  for (let client = 7; client < 12; client++) {
    for (let number = 1; number < 3; number++) channel.postMessage({ tabstore: PROTOCOL, kind: "seek", client, number, life: 7, hub: false });
  }
  await turn(30);
  assert.equal(sessions.filter(({ closed }) => !closed).length, 5);
  assert.equal(made.pending.length, 1);
  end();
  await turn(30);
  assert.deepEqual([sessions.filter(({ closed }) => !closed).length, made.pending.length], [0, 0]);
  // The same number may live again.
  await live(7, turn(20));
  await endOf(7);
});

test("Busy is not said for a lock that comes free in a moment: a worker that has just closed still seems to hold it", async () => {
  const made = locks();
  const release = await lockInstance("demo");
  setTimeout(() => void release(), 30);
  await (await lockSoon("demo"))();
  const held = await lockInstance("demo");
  await assert.rejects(lockSoon("demo"), { code: "Busy" });
  assert.equal(made.pending.length, 0, "it waits no more");
  await held();
});

test("a lock of life that was stolen is taken again, and is left if the browser refuses it then, as in a page that ends", async () => {
  const made = locks();
  await live(7);
  await made.request("tabstore/worker/7", { steal: true }, () => {});
  await turn();
  assert.deepEqual(await living(), [7]);
  let refused = 0;
  made.request = async () => {
    // Without an end of the test's own, a loop would never let it go on.
    if ((refused += 1) > 10) return new Promise(() => {});
    throw new DOMException("the document is not fully active", "InvalidStateError");
  };
  made.held[0].reject(new DOMException("the document ends", "AbortError"));
  await turn();
  assert.equal(refused, 1);
});
