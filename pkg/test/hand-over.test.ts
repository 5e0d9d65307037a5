/** Handles whose engine is in another tab: how tabs find each other, also when the leader goes or freezes. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { type Connect, PROTOCOL } from "../src/tabs/channel.js";
import type { PortLike } from "../src/host/session.js";
import { follow, freeze, leader, tab, ticking } from "./support/following.js";
import { code } from "./support/package.js";
import { turn } from "./support/turn.js";
import { undo, undoAll } from "./support/undo.js";

const put = (id: number) => ({ tableName: "t", primaryKey: { id }, attributes: { n: id } });
const get = (id: number) => ({ tableName: "t", primaryKey: { id } });

afterEach(undoAll);

test("a leader that has lost its lock, and has not ended yet, takes no follower from the next one", async () => {
  const [old, next] = [leader(1), leader(2)];
  old.lead();
  await turn();
  Object.assign(old.engine, { isLost: true });
  next.lead();
  const { db, linked } = tab(10);
  await linked;
  assert.deepEqual(await db.listTable(), ["of 2"]);
  await turn(20);
  assert.deepEqual([old.sessions.size, next.sessions.size], [0, 1]);
});

test("a leader that was frozen hears what was meant for the next one before it hears of its end: it takes no follower, and says nothing", async () => {
  const [old, next] = [leader(1), leader(2)];
  old.lead();
  await turn();
  const held: (() => void)[] = [];
  Object.assign(old.engine, { whenKnown: (run: () => void) => held.push(run) });
  next.lead();
  const heard: unknown[] = [];
  const channel = new BroadcastChannel("tabstore/demo");
  undo.push(() => channel.close());
  channel.onmessage = ({ data }: MessageEvent<{ leader?: number }>) => heard.push(data.leader);
  const { db, linked } = tab(10);
  await linked;
  channel.postMessage({ tabstore: PROTOCOL, kind: "ping", client: 10 });
  assert.deepEqual(await db.listTable(), ["of 2"]);
  await turn(20);
  assert.equal(held.length, 2, "a seek and a ping");
  Object.assign(old.engine, { isLost: true });
  for (const run of held) run();
  await turn(20);
  assert.deepEqual([old.sessions.size, next.sessions.size], [0, 1]);
  assert.ok(!heard.includes(1), JSON.stringify(heard));
});

test("a follower's calls wait for a leader, go to it, and to the next one when that ends", async () => {
  const { db, linked } = tab(10);
  const early = db.putRow(put(1));
  const tables = db.listTable();
  await turn(20);
  const one = leader(1);
  one.lead();
  await linked;
  await early;
  assert.deepEqual(await tables, ["of 1"]);
  assert.deepEqual([...one.sessions.keys()], [10]);
  // In order: what it has not answered is asked again.
  one.sessions.get(10)!.auto = false;
  const waits = db.putRow(put(2));
  await turn(20);
  await one.leader.close();
  await turn(20);
  const two = leader(2);
  two.lead();
  await waits;
  assert.equal(two.sessions.get(10)!.store.size, 1);
  // Without a word too: the next leader knows which were done.
  two.sessions.get(10)!.auto = false;
  const read = db.getRow(get(2));
  const write = db.putRow(put(3));
  const flush = db.flush();
  two.sessions.get(10)!.admin = () => new Promise(() => {});
  const create = db.createTable({ tableName: "u", primaryKey: [{ name: "id", type: "INTEGER" }] });
  await turn(20);
  two.leader.stop();
  const three = leader(3);
  three.lead();
  await Promise.all([create, read, write]);
  assert.equal(three.sessions.get(10)!.store.size, 1);
  await flush;
  await db.close();
  await turn(20);
  assert.ok(three.sessions.get(10)!.closed);
  assert.deepEqual(three.forgotten, [undefined, 10], "first those of tabs that have gone before");
});

test("a leader that is still opening answers, and followers of all tabs find it when it runs", async () => {
  const { lead, sessions } = leader(1);
  const tabs = [tab(10), tab(11), tab(12)];
  await turn(30);
  assert.equal(sessions.size, 0);
  lead();
  await Promise.all(tabs.map(({ linked }) => linked));
  await Promise.all(tabs.map(({ db }, i) => db.putRow(put(i))));
  assert.deepEqual([...sessions.keys()].sort(), [10, 11, 12]);
});

test("tabs of another version are refused by name, whichever of them leads", async () => {
  const channel = new BroadcastChannel("tabstore/demo");
  undo.push(() => channel.close());
  const { refused } = tab(10);
  channel.postMessage({ tabstore: 99, kind: "lead", leader: 1 });
  assert.ok(code("Busy", new RegExp(`another version of TabStore \\(protocol 99, here ${PROTOCOL}\\)`))(await refused));
  // And a follower of another version hears ours, and gets no session.
  const { lead, sessions } = leader(2);
  lead();
  const heard = new Promise<{ tabstore: number; ready: boolean }>((resolve) => {
    channel.onmessage = (event) => {
      const { data } = event as unknown as MessageEvent<{ kind: string; tabstore: number; ready: boolean }>;
      if (data.kind === "heard") resolve(data);
    };
  });
  channel.postMessage({ tabstore: 99, kind: "seek", client: 50, number: 1, life: 50, hub: false });
  const { tabstore, ready } = await heard;
  assert.deepEqual([tabstore, ready, sessions.has(50)], [PROTOCOL, false, false]);
});

test("a follower whose way by the shared worker leads nowhere takes a channel", async () => {
  const { lead, sessions } = leader(1);
  lead();
  const hub = { postMessage: () => assert.fail("the leader has no shared worker"), onmessage: null };
  const { db, following } = follow(10, async () => hub);
  await following.begin();
  await db.putRow(put(1));
  assert.equal(sessions.get(10)!.store.size, 1);
});

/** Ticks after which a frozen leader is certainly found. */
const SOON = 12;

test("frozen: a leader that is silent while a call waits is replaced; one that answers pings is not, however long the call takes", async (t) => {
  const { pass } = ticking(t);
  const { db, linked, takeovers } = tab(10);
  const one = leader(1);
  one.lead();
  await linked;
  one.sessions.get(10)!.auto = false;
  db.putRow(put(1)).catch(() => {});
  for (let i = 0; i < 3; i++) {
    await pass(SOON);
    one.progress.count += 1;
  }
  assert.deepEqual(takeovers, []);
  freeze(one);
  await pass(SOON);
  assert.deepEqual(takeovers, [["holder", 1]]);
});

test("frozen: a leader that has no calls to answer is never asked, and no timer runs", async (t) => {
  const { pass } = ticking(t);
  const { db, linked, following, takeovers } = tab(10);
  const one = leader(1);
  one.lead();
  await linked;
  await db.putRow(put(1));
  await pass(1);
  assert.equal((following as unknown as { ticks: unknown }).ticks, undefined);
  freeze(one);
  await pass(SOON);
  assert.deepEqual(takeovers, []);
});

test("frozen: administration that waits finds it too", async (t) => {
  const { pass } = ticking(t);
  const { db, linked, takeovers } = tab(10);
  const one = leader(1);
  one.lead();
  await linked;
  one.sessions.get(10)!.admin = () => new Promise(() => {});
  db.flush().catch(() => {});
  await turn();
  freeze(one);
  await pass(SOON);
  assert.deepEqual(takeovers, [["holder", 1]]);
});

test("frozen: so does a tab that is being opened, whatever the leader has said before", async (t) => {
  const { pass } = ticking(t);
  const silent = tab(10);
  await pass(SOON);
  assert.deepEqual(silent.takeovers, [["holder", undefined]]);
  // It was heard, and gets no session.
  const one = leader(1);
  t.mock.method(one.engine, "sessionOfFollower", () => {
    freeze(one);
    return new Promise(() => {});
  });
  one.lead();
  await pass(SOON);
  assert.deepEqual(silent.takeovers.at(-1), ["holder", 1]);
});

test("frozen: a leader that is still opening answers, until it freezes", async (t) => {
  const { pass } = ticking(t);
  const opening = leader(1);
  await turn(1100);
  const { takeovers } = tab(10);
  await pass(SOON);
  assert.deepEqual(takeovers, []);
  freeze(opening);
  await pass(SOON);
  assert.deepEqual(takeovers, [["holder", 1]]);
});

for (const when of ["has said goodbye, and closes", "opens for long"]) {
  for (const asked of ["row", "administration"] as const) {
    test(`frozen: a leader that ${when} when nothing waits for it is replaced if it freezes, and a call comes then (${asked})`, async (t) => {
      const { pass } = ticking(t);
      const { db, linked, takeovers } = tab(10);
      const one = leader(1);
      one.lead();
      await linked;
      await db.putRow(put(1));
      // Nobody watches any more.
      await pass(2);
      let last = one;
      if (when.startsWith("opens")) {
        one.leader.stop();
        last = leader(2);
        await turn(1100);
      } else {
        await one.leader.close();
        await turn(20);
      }
      freeze(last);
      (asked === "row" ? db.putRow(put(2)) : db.listTable()).catch(() => {});
      await turn();
      await pass(SOON);
      assert.deepEqual(takeovers[0], ["holder", last === one ? 1 : 2]);
    });
  }
}

test("frozen: a tab that hears of another one's takeover waits for that one", async (t) => {
  const { pass } = ticking(t);
  const { takeovers } = tab(10);
  const channel = new BroadcastChannel("tabstore/demo");
  undo.push(() => channel.close());
  for (let i = 0; i < 4; i++) {
    await pass(5);
    channel.postMessage({ tabstore: PROTOCOL, kind: "takeOver", leader: 5 });
    await turn(5);
  }
  assert.deepEqual(takeovers, []);
});

test("frozen: a leader that lives, and has no session for a follower any more, gives it another", async (t) => {
  const { pass } = ticking(t);
  const { db, linked, takeovers } = tab(10);
  const one = leader(1);
  one.lead();
  await linked;
  const { seats } = one.leader as unknown as { seats: Map<number, { port: PortLike; served: { end(): Promise<void> } }> };
  const { port, served } = seats.get(10)!;
  await served.end();
  port.onmessage = null;
  const read = db.getRow(get(1));
  await pass(SOON);
  await read;
  assert.deepEqual(takeovers, []);
});

test("a client that seeks again while its first session has not ended gets one session at a time", async () => {
  const { db, linked } = tab(10);
  const one = leader(1);
  one.lead();
  await linked;
  // The end of this session waits for a request.
  const first = one.sessions.get(10)!;
  let end = (): void => {};
  const close = first.close.bind(first);
  first.close = () => new Promise<void>((resolve) => (end = resolve)).then(close);
  const channel = new BroadcastChannel("tabstore/demo");
  undo.push(() => channel.close());
  for (let number = 1000; number < 1003; number++) {
    channel.postMessage({ tabstore: PROTOCOL, kind: "seek", client: 10, number, life: 10, hub: false });
    await turn(5);
  }
  assert.equal(one.sessions.get(10), first);
  end();
  await turn(20);
  assert.notEqual(one.sessions.get(10), first);
  await db.close();
});

test("a leader whose page makes no connection to the shared worker, because it is frozen, serves by a channel", async () => {
  const { lead, sessions } = leader(1, {}, () => new Promise(() => {}));
  lead();
  const hub = { postMessage: () => assert.fail("the leader has no shared worker"), onmessage: null };
  const { db, following } = follow(10, async () => hub);
  await following.begin();
  await db.putRow(put(1));
  assert.equal(sessions.get(10)!.store.size, 1);
});

test("a leader that takes long to close still answers that it lives, and its followers wait for the next one", async (t) => {
  const { pass } = ticking(t);
  const { db, linked, takeovers } = tab(10);
  const one = leader(1);
  one.lead();
  await linked;
  await one.leader.close();
  await turn();
  let answered = false;
  const read = db.getRow(get(1)).then(() => (answered = true));
  // It stores what is in memory, say.
  for (let i = 0; i < 3; i++) {
    await pass(SOON);
    one.progress.count += 1;
  }
  assert.deepEqual(takeovers, []);
  assert.equal(answered, false, "nobody asks a leader that has said goodbye");
  one.leader.stop();
  const two = leader(2);
  two.lead();
  await read;
});

test("with each leader a follower connects to the shared worker anew: the process of that may have ended with the last one", async () => {
  let lives = 0;
  let leading: PortLike;
  const connect: Connect = async () => {
    const life = lives;
    const port: PortLike = {
      onmessage: null,
      postMessage(message: object) {
        if (life !== lives) return;
        if ("lead" in message) leading = port;
        else leading.onmessage?.({ data: message } as MessageEvent);
      },
    };
    return port;
  };
  const seeks: boolean[] = [];
  const channel = new BroadcastChannel("tabstore/demo");
  undo.push(() => channel.close());
  channel.onmessage = (event) => {
    const { data } = event as unknown as MessageEvent<{ kind: string; hub: boolean }>;
    if (data.kind === "seek") seeks.push(data.hub);
  };
  const one = leader(1, {}, connect);
  one.lead();
  const { db, linked } = tab(10, connect);
  await linked;
  await db.putRow(put(1));
  one.leader.stop();
  lives += 1;
  const two = leader(2, {}, connect);
  two.lead();
  await db.putRow(put(2));
  assert.equal(two.sessions.get(10)!.store.size, 1);
  assert.ok(seeks.length >= 2 && seeks.every((hub) => hub), `it sought by ${seeks.join()}`);
});

test("frozen: a follower does not wait a second for a shared worker that may be frozen with the last leader, and takes it again with the next one", async (t) => {
  let [isFrozen, leading]: [boolean, PortLike | undefined] = [false, undefined];
  const connect: Connect = async () => {
    const port: PortLike = {
      onmessage: null,
      postMessage(message: object) {
        if (isFrozen) return;
        if ("lead" in message) leading = port;
        else leading!.onmessage?.({ data: message } as MessageEvent);
      },
    };
    return port;
  };
  const channel = new BroadcastChannel("tabstore/demo");
  undo.push(() => channel.close());
  const seeks: boolean[] = [];
  channel.onmessage = (event) => {
    const { data } = event as unknown as MessageEvent<{ kind: string; hub: boolean }>;
    if (data.kind === "seek") seeks.push(data.hub);
  };
  const leaders = [1, 2, 3].map((number) => leader(number, {}, connect));
  leaders[0].lead();
  const { db, linked } = tab(10, connect);
  await linked;
  leaders[0].leader.stop();
  isFrozen = true;
  channel.postMessage({ tabstore: PROTOCOL, kind: "takeOver", leader: 2 });
  await turn(5);
  leaders[1].lead();
  const waits = t.mock.method(globalThis, "setTimeout").mock;
  await db.putRow(put(2));
  assert.ok(
    waits.calls.some(({ arguments: [, wait] }) => wait === 250),
    "it waits for a quarter of a second",
  );
  leaders[1].leader.stop();
  isFrozen = false;
  leaders[2].lead();
  await db.putRow(put(3));
  assert.deepEqual(seeks, [true, true, false, true]);
});
