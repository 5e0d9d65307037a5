/** The sessions that a leader has for followers: what becomes of them when one of both ends while they begin, or wakes too late. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { TabStoreError } from "../src/types/errors.js";
import type { OnResponses } from "../src/host/host.js";
import type { PortLike } from "../src/host/session.js";
import { live } from "../src/tabs/lock.js";
import { FakeEngine } from "./support/engine.js";
import { leader, type Led, tab, ticking } from "./support/following.js";
import { FakeLocks, giveLocks } from "./support/locks.js";
import { turn } from "./support/turn.js";
import { undo, undoAll } from "./support/undo.js";

afterEach(undoAll);

const row = (id: number) => ({ tableName: "t", primaryKey: { id }, attributes: { n: id } });
const ended = (code: string): TabStoreError => new TabStoreError({ code, status: 503, retryable: false, message: "The engine ends." });

/** From now on this leader's sessions begin when `go` is called, or fail. */
function slow(led: Led): { asked: Promise<void>; go(error?: Error): void; sessions: FakeEngine[] } {
  let told = (): void => {};
  const asked = new Promise<void>((resolve) => (told = resolve));
  let resolve = (): void => {};
  let reject = (_: Error): void => {};
  const gate = new Promise<void>((yes, no) => ([resolve, reject] = [yes, no]));
  const sessions: FakeEngine[] = [];
  Object.assign(led.engine, {
    sessionOfFollower: async (_life: number, _client: number, onResponses: OnResponses) => {
      told();
      await gate;
      const session = new FakeEngine(onResponses);
      sessions.push(session);
      return session;
    },
  });
  return { asked, go: (error) => (error === undefined ? resolve() : reject(error)), sessions };
}

for (const order of ["the session", "the channel"]) {
  test(`a leader that was busy for a second, and answers by ${order} first, keeps its sessions`, async (t) => {
    const { pass } = ticking(t);
    const { db, linked, takeovers } = tab(10);
    const one = leader(1);
    one.lead();
    await linked;
    const session = one.sessions.get(10)!;
    session.auto = false;
    const write = db.putRow(row(1));
    const { channel, seats } = one.leader as unknown as { channel: BroadcastChannel; seats: Map<number, { port: PortLike }> };
    const seat = seats.get(10)!;
    const ports: PortLike[] = [seat.port, channel];
    const hears = ports.map((port) => port.onmessage!);
    const late: MessageEvent[][] = [[], []];
    ports.forEach((port, i) => (port.onmessage = (event) => void late[i].push(event)));
    for (let ticks = 0; late[1].length === 0; ticks++) {
      assert.ok(ticks < 20, "it asks by the channel too");
      await pass(1);
    }
    for (const i of order === "the session" ? [0, 1] : [1, 0]) {
      ports[i].onmessage = hears[i];
      for (const event of late[i]) hears[i].call(ports[i], event);
      await turn(5);
    }
    for (let i = 0; i < 3; i++) {
      await pass(5);
      one.progress.count += 1;
    }
    assert.ok(seats.get(10) === seat, "it has the same session");
    assert.deepEqual([session.closed, takeovers], [false, []]);
    session.answer();
    await write;
  });
}

for (const code of ["Closed", "LeaderChanged"]) {
  test(`${code} of a leader that ends while it makes a session is no refusal: the follower waits for the next one`, async () => {
    const one = leader(1);
    const { asked, go } = slow(one);
    one.lead();
    const { db, linked, refused } = tab(10);
    await asked;
    void one.leader.close();
    go(ended(code));
    assert.equal(await Promise.race([refused, turn(50)]), undefined);
    one.leader.stop();
    const two = leader(2);
    two.lead();
    await linked;
    await db.putRow(row(1));
  });
}

test("a leader that refuses a session for another reason is believed", async () => {
  const one = leader(1);
  const { asked, go } = slow(one);
  one.lead();
  const { refused } = tab(10);
  await asked;
  go(ended("Unavailable"));
  assert.equal((await refused).code, "Unavailable");
});

test("a handle that is closed while its session begins leaves none behind", async () => {
  const one = leader(1);
  const { asked, go, sessions } = slow(one);
  one.lead();
  const { db } = tab(10);
  await asked;
  const closed = db.close();
  go();
  await closed;
  await turn(20);
  assert.deepEqual([sessions.length, sessions.every((session) => session.closed)], [1, true]);
  assert.equal((one.leader as unknown as { seats: Map<number, unknown> }).seats.size, 0);
  assert.ok(one.forgotten.includes(10));
});

test("a handle that is closed while its leader closes does not keep that from its end", async () => {
  const one = leader(1);
  one.lead();
  const tabs = [tab(10), tab(11)];
  await Promise.all(tabs.map(({ linked }) => linked));
  // The end of a session takes a moment. Whoever ends it a second time does not wait for that.
  let end = (): void => {};
  const ends = new Promise<void>((resolve) => (end = resolve));
  const session = one.sessions.get(10)!;
  session.close = async () => {
    if (session.closed) return;
    session.closed = true;
    await ends;
  };
  const closing = one.leader.close();
  await turn(5);
  await tabs[0].db.close();
  tabs[0].following.drop();
  end();
  await closing;
  const waits = tabs[1].db.putRow(row(1));
  one.leader.stop();
  const two = leader(2);
  two.lead();
  await waits;
  assert.deepEqual([...two.sessions.keys()], [11]);
});

test("a tab that ends while its session begins leaves none behind", async () => {
  const locks = new FakeLocks();
  undo.push(giveLocks(locks));
  const one = leader(1);
  const { asked, go, sessions } = slow(one);
  one.lead();
  let end = (): void => {};
  await live(77, new Promise<void>((resolve) => (end = resolve)));
  tab(77);
  await asked;
  end();
  await turn(20);
  go();
  await turn(20);
  assert.deepEqual([sessions.length, sessions.every((session) => session.closed)], [1, true]);
  assert.ok(one.forgotten.includes(77));
});

test("a leader that was still opening when its followers heard of it: their sessions with the last one end when it runs", async () => {
  const one = leader(1);
  one.lead();
  const { db, linked } = tab(10);
  await linked;
  await db.putRow(row(1));
  one.leader.stop();
  const two = leader(2);
  await turn(1100);
  const waits = db.putRow(row(2));
  await turn(20);
  two.lead();
  assert.notEqual(await Promise.race([waits, turn(200)]), undefined, "it need not find out by pings");
});

test("a tab whose own thread leads hears late of the leader before, and seeks it: its own leader gives it no session beside its own", async () => {
  const own = leader(10);
  own.lead();
  await turn(5);
  const { following } = tab(10);
  // Another tab, which comes at the same time, gets one.
  const { linked } = tab(11);
  await linked;
  await turn(20);
  assert.deepEqual([...own.sessions.keys()], [11]);
  assert.equal(following.end().length, 1, "its handles wait for the sessions of this tab");
});

/** The browser does not say yet who has the lock. */
function unknown(): { say(): void } {
  let say = (): void => {};
  const said = new Promise<void>((resolve) => (say = resolve));
  undo.push(giveLocks({ query: () => said.then(() => ({ held: [], pending: [] })), request: () => new Promise(() => {}) } as unknown as FakeLocks));
  return { say };
}

for (const when of ["opened", "closed"]) {
  test(`a leader that was frozen while it ${when}, and wakes before it hears of its end: followers of the next one keep their sessions`, async () => {
    const { say } = unknown();
    const [old, next] = [leader(1), leader(2)];
    if (when === "closed") {
      old.lead();
      await turn();
      await old.leader.close();
    }
    next.lead();
    const { db, linked } = tab(10);
    await linked;
    const session = next.sessions.get(10)!;
    // It says that it opens for long, or hears whoever comes next.
    if (when === "opened") await turn(1100);
    else await tab(11).linked;
    await turn(20);
    old.leader.stop();
    say();
    await turn(20);
    await db.putRow(row(1));
    assert.ok(next.sessions.get(10) === session && !session.closed);
  });
}

test("a leader that was frozen before it could say that it leads says so no more", async () => {
  const [old, next] = [leader(1), leader(2)];
  const held: (() => void)[] = [];
  Object.assign(old.engine, { whenKnown: (run: () => void) => held.push(run) });
  next.lead();
  const { db, linked } = tab(10);
  await linked;
  const session = next.sessions.get(10)!;
  old.lead(false);
  await turn(20);
  Object.assign(old.engine, { isLost: true });
  for (const run of held) run();
  await turn(20);
  await db.putRow(row(1));
  assert.ok(next.sessions.get(10) === session && !session.closed);
});

test("R5: a leader that has just answered a call, and does not know yet that its lock was taken, takes no follower from the next one", async () => {
  const [old, next] = [leader(1), leader(2)];
  old.lead();
  await turn();
  // The browser tells of the theft when it is asked.
  Object.assign(old.engine, {
    whenKnown: (run: () => void, look = false) => {
      if (look) Object.assign(old.engine, { isLost: true });
      run();
    },
  });
  next.lead();
  const { db, linked } = tab(10);
  await linked;
  // On a channel that both have, both would hear it: what the next one stores, the old one would not show.
  await db.putRow(row(1));
  assert.deepEqual(await db.listTable(), ["of 2"]);
  await turn(20);
  assert.deepEqual([old.sessions.size, next.sessions.size], [0, 1]);
});
