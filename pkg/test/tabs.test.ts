/** The shared worker: introduces followers to leaders, and forgets both. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import type { ToHub } from "../src/tabs/channel.js";
import { lockInstance, lockName, registerWork, settled } from "../src/tabs/lock.js";
import { FakeLocks, giveLocks } from "./support/locks.js";
import { turn } from "./support/turn.js";
import { undo, undoAll } from "./support/undo.js";

/** The shared worker's code. Tabs connect by an event. */
const connections = new EventTarget();
const scope = globalThis as unknown as { addEventListener?: unknown };
scope.addEventListener = connections.addEventListener.bind(connections);
await import("../src/tabs.js");
delete scope.addEventListener;

afterEach(undoAll);

/** A tab's connection to the shared worker. */
function connect(): { tell(message: ToHub, ports?: MessagePort[]): void; got: ToHub[] } {
  const { port1, port2 } = new MessageChannel();
  connections.dispatchEvent(Object.assign(new Event("connect"), { ports: [port2] }));
  const got: ToHub[] = [];
  port1.onmessage = ({ data }: MessageEvent<ToHub>) => void got.push(data);
  undo.push(() => port1.close());
  return { tell: (message, ports = []) => port1.postMessage(message, ports), got };
}

/** A follower's port for a leader, and whether it was closed. */
function follow(instance: string, leader: number, client = 10): { message: ToHub; port: MessagePort; closed: () => boolean } {
  const { port1, port2 } = new MessageChannel();
  let isClosed = false;
  (port1 as unknown as { on(event: "close", run: () => void): void }).on("close", () => (isClosed = true));
  port1.start();
  undo.push(() => port1.close());
  return {
    message: { follow: lockName(instance), leader, seek: { tabstore: 0, kind: "seek", client, number: 1, life: client, hub: true }, port: port2 },
    port: port2,
    closed: () => isClosed,
  };
}

test("a follower's port goes to its leader, also if it comes first, and never to another one", async () => {
  const [one, two, tab] = [connect(), connect(), connect()];
  const first = follow("demo", 2);
  tab.tell(first.message, [first.port]);
  one.tell({ lead: lockName("demo"), leader: 1 });
  await turn(20);
  assert.deepEqual([one.got.length, two.got.length], [0, 0]);
  two.tell({ lead: lockName("demo"), leader: 2 });
  const second = follow("demo", 2, 11);
  tab.tell(second.message, [second.port]);
  await turn(20);
  assert.deepEqual(
    two.got.map((message) => "seek" in message && message.seek.client),
    [10, 11],
  );
  assert.deepEqual([one.got.length, first.closed(), second.closed()], [0, false, false]);
});

test("a port whose leader does not come is given up", async () => {
  const tab = connect();
  const ports = Array.from({ length: 20 }, (_, i) => follow("nobody", 5, i));
  for (const { message, port } of ports) tab.tell(message, [port]);
  await turn(50);
  assert.ok(ports.every(({ closed }) => !closed()));
  await turn(2100);
  assert.ok(ports.every(({ closed }) => closed()));
  // Who comes later has its own.
  const late = connect();
  late.tell({ lead: lockName("nobody"), leader: 5 });
  await turn(20);
  assert.deepEqual(late.got, []);
});

/** Locks that come free a while after their work has ended, as browsers' do. */
class SlowLocks extends FakeLocks {
  override request(name: string, ...rest: unknown[]): Promise<unknown> {
    const run = rest.pop() as (lock: unknown) => unknown;
    const slow = async (lock: unknown): Promise<unknown> => {
      const done = await run(lock);
      if (lock !== null) await new Promise((resolve) => setTimeout(resolve, 5));
      return done;
    };
    return super.request(name, ...rest, slow);
  }
}

test("a lock is free for another one as soon as its release has resolved", async () => {
  undo.push(giveLocks(new SlowLocks()));
  for (let times = 0; times < 3; times++) await (await lockInstance("demo"))();
  const release = await lockInstance("demo");
  await assert.rejects(lockInstance("demo"), { code: "Busy" });
  await release();
});

test("I2: instances whose names differ in case alone have one lock", async () => {
  undo.push(giveLocks(new FakeLocks()));
  const release = await lockInstance("Demo");
  await assert.rejects(lockInstance("demo"), { code: "Busy" });
  await release();
});

test("an opening waits for this page's earlier work with the instance, and not for what came after it", async () => {
  const ended: string[] = [];
  let end = (): void => {};
  const earlier = new Promise<void>((resolve) => {
    end = () => (ended.push("earlier"), resolve());
  });
  registerWork("demo", earlier, true);
  const own = registerWork("demo", new Promise(() => {}), true);
  registerWork("demo", new Promise(() => {}), true);
  const waited = settled("demo", () => own).then(() => ended.push("waited"));
  await turn(5);
  assert.deepEqual(ended, []);
  end();
  await waited;
  assert.deepEqual(ended, ["earlier", "waited"]);
});

test("leaders that have gone are forgotten when another one comes", async () => {
  const locks = new FakeLocks();
  undo.push(giveLocks(locks));
  const lead = async (instance: string, leader: number) => {
    const release = await lockInstance(instance);
    const tab = connect();
    tab.tell({ lead: lockName(instance), leader });
    await turn(10);
    return { tab, release };
  };
  const gone = await lead("gone", 1);
  const lives = await lead("lives", 2);
  await gone.release();
  await lead("newest", 3);
  const asks = connect();
  for (const [instance, leader] of [
    ["gone", 1],
    ["lives", 2],
  ] as const) {
    const { message, port } = follow(instance, leader);
    asks.tell(message, [port]);
  }
  await turn(20);
  assert.deepEqual([gone.tab.got.length, lives.tab.got.length], [0, 1]);
});
