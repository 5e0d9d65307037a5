/** The states of handles and of tabs that follow: each step of the tables, by what really causes it. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { Client } from "../src/client/client.js";
import { OPENING } from "../src/host/host.js";
import { OpenDatabase } from "../src/open/database.js";
import { PROTOCOL } from "../src/tabs/channel.js";
import type { Follower } from "../src/tabs/follower.js";
import { Following } from "../src/tabs/following-tab.js";
import { type EngineState, HANDLE, type HandleAction, type HandleEvent, type HandleState, TAB, type TabEvent, type TabState } from "../src/tabs/hand-over.js";
import { TICK } from "../src/tabs/leader-watch.js";
import { TabStoreError, toRecord } from "../src/types/errors.js";
import { FakeChannel, FakePort, giveChannels, rest, wire } from "./support/channels.js";
import { FakeEngine } from "./support/engine.js";
import { leader, ownerOf } from "./support/following.js";
import { giveLocks, heldBy } from "./support/locks.js";
import { OPTIONS } from "./support/options.js";
import { randomFrom } from "./support/random.js";
import { WaitingTab } from "./support/tab.js";
import { undoAll } from "./support/undo.js";

const CLIENT = 10;
const LEADER = 1;
/** The longest wait for a port by way of the shared worker, in milliseconds. */
const HUB_PATIENCE = 1000;

type End = { postMessage(message: unknown): void; onmessage: ((event: { data: unknown }) => void) | null };

const error = (code: string): TabStoreError => new TabStoreError({ code, status: 400, retryable: false, message: "refused by the test" });

/** A tab with one handle, and all around it in the hands of the test. */
class World {
  readonly client = new Client(CLIENT, false);
  readonly db = new OpenDatabase("demo", "indexeddb", this.client);
  /** What was asked of the tab's owner. */
  readonly asked: string[] = [];
  /** Ends the comparison of options that is under way. */
  settle: { resolve(agrees: boolean): void; reject(reason: unknown): void } | undefined;
  /** What went by way of the shared worker. */
  readonly introduced: { readonly port: FakePort }[] = [];
  readonly following: Following;
  readonly follower: Follower;
  private readonly common = new FakeChannel("tabstore/demo");
  /** The leader's end of the handle's newest port. */
  private readonly ends = new Map<string, End>();

  /** `met` is awaited before there is a connection to the shared worker. */
  constructor(
    readonly hasHub = true,
    met: Promise<void> = Promise.resolve(),
  ) {
    const hub = { postMessage: (message: unknown) => void this.introduced.push(message as { port: FakePort }), onmessage: null };
    this.following = new Following("demo", CLIENT, () => met.then(() => (hasHub ? hub : undefined)), {
      agree: () => {
        this.asked.push("agree");
        return new Promise((resolve, reject) => (this.settle = { resolve, reject }));
      },
      onClock: () => {},
      linked: () => void this.asked.push("linked"),
      refuse: (_, { code }) => void this.asked.push(`refuse ${code}`),
      takeOver: (holder) => void this.asked.push(`takeOver ${holder}`),
    });
    this.follower = this.following.add(this.client);
    this.client.attach(this.follower);
  }

  /** A word of a leader. */
  async hears(message: object): Promise<void> {
    this.common.postMessage({ tabstore: PROTOCOL, leader: LEADER, ...message });
    await rest();
  }

  /** The seeks so far: by way of the shared worker or without. */
  get seeks(): boolean[] {
    return FakeChannel.said.flatMap(([, message]) => (message.kind === "seek" ? [(message as { hub: boolean }).hub] : []));
  }

  /** The leader's end of the newest port or channel. */
  get port(): End {
    const last = FakeChannel.said.map(([, message]) => message as { kind?: string; number: number; hub: boolean }).findLast(({ kind }) => kind === "seek");
    assert.ok(last !== undefined, "nothing was sought");
    if (last.hub) return this.introduced.at(-1)!.port;
    const name = `tabstore/demo/${CLIENT}/${last.number}`;
    if (!this.ends.has(name)) this.ends.set(name, new FakeChannel(name));
    return this.ends.get(name)!;
  }

  /** A message of the leader to the handle. */
  async says(message: object): Promise<void> {
    this.port.postMessage(message);
    await rest();
  }

  /** No session comes of the seek, because the leader refuses it, or the comparison of options fails. */
  async fails(code: string): Promise<void> {
    if (this.follower.state === "comparing") this.settle!.reject(error(code));
    else await this.says({ kind: "error", id: OPENING, error: toRecord(error(code)) });
  }

  /** Whether the handle still hears the port. */
  async isOpen(port: End): Promise<boolean> {
    if (port instanceof FakePort) return !port.closed;
    return [...FakeChannel.open].some((other) => other !== port && other.name === (port as FakeChannel).name);
  }
}

/** What causes each event. */
const CAUSES: Record<HandleEvent, (world: World, t: TestContext) => unknown> = {
  begin: ({ following }) => following.begin(),
  lead: (world) => world.hears({ kind: "lead" }),
  heard: (world) => world.hears({ kind: "heard", client: CLIENT, ready: true, hub: true }),
  alone: (world) => world.hears({ kind: "heard", client: CLIENT, ready: true, hub: false }),
  late: (_, t) => t.mock.timers.tick(HUB_PATIENCE),
  welcome: (world) => world.says({ kind: "result", id: OPENING, value: { options: OPTIONS, trouble: null } }),
  agreed: ({ settle }) => settle!.resolve(true),
  yields: ({ settle }) => settle!.resolve(false),
  ended: (world) => world.fails("Closed"),
  refused: (world) => world.fails("OTSParameterInvalid"),
  bye: (world) => world.says({ kind: "bye" }),
  gone: (world) => world.hears({ kind: "heard", leader: LEADER + 1, client: -1, ready: false, hub: false }),
  pong: (world) => world.says({ kind: "pong", progress: 1 }),
  alive: (world) => world.hears({ kind: "pong", client: CLIENT, progress: 1 }),
  unheard: (world) => {
    for (let ping = 0; ping < 20; ping++) world.follower.ping();
    return CAUSES.alive(world, undefined!);
  },
  suspend: ({ following }) => following.suspend(),
  end: ({ following }) => following.end(),
  // The end of a session waits for the leader's answer.
  close: ({ following, client }) => void following.remove(client),
  move: ({ follower, client }) => follower.moveTo(new FakeEngine(client.receive)),
};

/** The events that lead to each state. */
const WAYS: Record<HandleState, readonly HandleEvent[]> = {
  suspended: [],
  seeking: ["begin"],
  connecting: ["begin", "heard"],
  comparing: ["begin", "heard", "welcome"],
  linked: ["begin", "heard", "welcome", "agreed"],
  doubting: ["begin", "heard", "welcome", "agreed", "alive"],
  waiting: ["begin", "heard", "welcome", "agreed", "bye"],
  refused: ["begin", "heard", "refused"],
  over: ["begin", "close"],
};
const STATES = Object.keys(HANDLE) as HandleState[];
const EVENTS = Object.keys(CAUSES) as HandleEvent[];

async function cause(world: World, event: HandleEvent, t: TestContext): Promise<void> {
  await CAUSES[event](world, t);
  await rest();
}

async function worldIn(state: HandleState, t: TestContext, hasHub = true): Promise<World> {
  FakeChannel.said.length = 0;
  const world = new World(hasHub);
  for (const event of WAYS[state]) await cause(world, event, t);
  assert.equal(world.follower.state, state);
  return world;
}

/** Events without a cause outside in a state: it has no port, compares nothing, or is no follower any more. */
const COMES = (state: HandleState, event: HandleEvent): boolean =>
  ["welcome", "ended", "refused", "bye", "pong"].includes(event)
    ? !["suspended", "seeking", "over"].includes(state)
    : ["agreed", "yields"].includes(event)
      ? WAYS[state].includes("welcome")
      : event === "unheard"
        ? HANDLE[state].alive === undefined
        : // Only a tab that leads has an engine.
          event !== "move" || state === "suspended";

/** What is seen of an action. `before` are the port and the number of seeks before it. */
const SEEN: Record<HandleAction, (world: World, before: { port: End | undefined; seeks: number }) => unknown> = {
  seek: (world, { seeks }) => assert.deepEqual(world.seeks.slice(seeks), [true]),
  takeChannel: async (world, { seeks }) => {
    assert.deepEqual(world.seeks.slice(seeks), [false]);
    assert.ok(await world.isOpen(world.port));
  },
  introduce: async (world) => {
    assert.equal(world.introduced.length, 1);
    assert.ok(await world.isOpen(world.port));
  },
  compare: (world) => assert.deepEqual(world.asked, ["agree"]),
  link: (world) => assert.deepEqual(world.asked, ["agree", "linked"]),
  lose: async (world, { port, seeks }) => assert.deepEqual([await world.isOpen(port!), world.seeks.length], [false, seeks]),
  loseAndSeek: async (world, { port, seeks }) => assert.deepEqual([await world.isOpen(port!), world.seeks.length], [false, seeks + 1]),
  giveUp: async (world, { port, seeks }) => assert.deepEqual([port !== undefined && (await world.isOpen(port)), world.seeks.length], [false, seeks]),
  refuse: (world) => assert.equal(world.asked.at(-1), "refuse OTSParameterInvalid"),
  cut: async (_, { port }) => assert.ok(port === undefined || !(await _.isOpen(port))),
  keep: async (_, { port }) => assert.ok(port === undefined || !(await _.isOpen(port))),
};

for (const state of STATES) {
  test(`a handle that is ${state}: each event does what the table says, or nothing`, async (t) => {
    giveChannels(t);
    let known = 0;
    for (const event of EVENTS) {
      const step = HANDLE[state][event];
      if (step === undefined && !COMES(state, event)) continue;
      const world = await worldIn(state, t);
      // The newest port, whether it is heard or not.
      const port = WAYS[state].includes("heard") ? world.port : undefined;
      const before = { port, seeks: world.seeks.length };
      await cause(world, event, t);
      const [next, action] = step ?? [state];
      assert.equal(world.follower.state, next, `${state}: ${event}`);
      if (action !== undefined) await SEEN[action](world, before);
      else if (step === undefined) assert.equal(world.seeks.length, before.seeks, `${state}: ${event}`);
      known += step === undefined ? 0 : 1;
      world.following.drop();
    }
    assert.equal(known, Object.keys(HANDLE[state]).length);
  });
}

for (const event of ["bye", "gone", "end", "suspend"] as const) {
  test(`a call that the leader has not answered, after ${event}: ${event === "suspend" ? "it is refused by name" : "the next engine is asked"}`, async (t) => {
    giveChannels(t);
    const world = await worldIn("linked", t);
    const { db, client, port } = world;
    const frames: unknown[] = [];
    port.onmessage = ({ data }) => frames.push(data);
    const write = db.putRow({ tableName: "t", primaryKey: { id: 1 }, attributes: { n: 1 } });
    const seen = write.then(
      () => "done",
      ({ code }: TabStoreError) => code,
    );
    await rest();
    assert.equal(frames.length, 1, "the leader has it");
    await cause(world, event, t);
    if (event === "end") {
      const engine = new FakeEngine(client.receive);
      world.follower.moveTo(engine);
      t.mock.timers.tick(1);
      assert.deepEqual([await seen, engine.frames.length], ["done", 1]);
    } else if (event === "suspend") {
      assert.equal(await seen, "LeaderChanged");
    } else {
      for (const next of ["lead", "heard", "welcome"] as const) await cause(world, next, t);
      world.port.onmessage = ({ data }) => frames.push(data);
      await cause(world, "agreed", t);
      assert.equal(frames.length, 2);
      const engine = new FakeEngine((frame) => world.port.postMessage(frame), false);
      engine.submit(frames[1] as Uint8Array);
      engine.answer();
      assert.equal(await seen, "done");
    }
    world.following.drop();
  });
}

test("without a shared worker a handle seeks by a channel at once, and goes all the way", async (t) => {
  giveChannels(t);
  const world = new World(false);
  for (const [event, state] of [
    ["begin", "connecting"],
    ["heard", "connecting"],
    ["alone", "connecting"],
    ["late", "connecting"],
    ["welcome", "comparing"],
    ["agreed", "linked"],
  ] as const) {
    await cause(world, event, t);
    assert.equal(world.follower.state, state, event);
  }
  assert.deepEqual([world.seeks, world.introduced], [[false], []]);
  world.following.drop();
});

/** What causes each event of a tab. */
const TAB_CAUSES: Record<TabEvent, (world: World, meet: () => void) => unknown> = {
  begin: ({ following }) => void following.begin(),
  met: (_, meet) => meet(),
  lead: (world) => world.hears({ kind: "lead" }),
  takeOver: (world) => world.hears({ kind: "takeOver", leader: LEADER + 1 }),
  // The watch of the leader has tests of its own.
  frozen: ({ following }) => {
    following.watchLeader();
    (following as unknown as { on(event: TabEvent): void }).on("frozen");
  },
  leave: ({ following }) => following.drop(),
};

const TAB_WAYS: Record<TabState, readonly TabEvent[]> = {
  apart: [],
  meeting: ["begin"],
  following: ["begin", "met"],
  stealing: ["begin", "takeOver"],
  stolen: ["begin", "takeOver", "lead"],
};

for (const state of Object.keys(TAB) as TabState[]) {
  test(`a tab that is ${state}: each event does what the table says, or nothing`, async (t) => {
    giveChannels(t);
    t.after(giveLocks(heldBy("holder")));
    for (const event of Object.keys(TAB_CAUSES) as TabEvent[]) {
      const step = TAB[state][event];
      // A tab begins once, and its connection comes once.
      if (event === "begin" && state !== "apart") continue;
      let meet = (): void => {};
      const world = new World(true, new Promise((resolve) => (meet = resolve)));
      for (const way of TAB_WAYS[state]) await TAB_CAUSES[way](world, meet);
      await rest();
      assert.equal(world.following.state, state);
      await TAB_CAUSES[event](world, meet);
      await rest();
      assert.equal(world.following.state, step?.[0] ?? state, `${state}: ${event}`);
      if (step?.[1] === "steal") assert.deepEqual(world.asked, ["takeOver holder"]);
      meet();
      await rest();
      // However it came there, its handle seeks as soon as there is a connection.
      const isApart = world.following.state === "apart";
      const hears = [...FakeChannel.open].some(({ name, onmessage }) => name === "tabstore/demo" && onmessage !== null);
      assert.deepEqual([world.follower.state === "suspended", hears], [isApart && !TAB_WAYS[state].includes("met"), !isApart], `${state}: ${event}`);
      world.following.drop();
    }
  });
}

/** A tab with a handle, and a leader with an engine for each handle. */
async function shared(
  t: TestContext,
  hasHub: boolean,
  loses: typeof wire.loses = () => false,
): Promise<{ follower: Follower; db: OpenDatabase; following: Following; engines: Map<number, FakeEngine> }> {
  giveChannels(t);
  t.after(giveLocks(heldBy("holder")));
  wire.loses = loses;
  const one = leader(LEADER);
  t.after(undoAll);
  const engines = new Map<number, FakeEngine>();
  t.mock.method(one.engine, "sessionOfFollower", async (_: number, client: number, onResponses: (frame: Uint8Array) => void) => {
    const engine = new FakeEngine(onResponses, false);
    engines.set(client, engine);
    return engine;
  });
  one.lead();
  // The leader has none.
  const hub = { postMessage: () => {}, onmessage: null };
  const following = new Following("demo", CLIENT, async () => (hasHub ? hub : undefined), ownerOf());
  t.after(() => following.drop());
  await following.begin();
  const client = new Client(CLIENT, false);
  const follower = following.add(client);
  client.attach(follower);
  await rest();
  return { follower, db: new OpenDatabase("demo", "indexeddb", client), following, engines };
}

for (const [what, hasHub, isLost] of [
  ["its seek", false, (message: { kind?: string }) => message.kind === "seek"],
  ["its seek by way of the shared worker", true, (message: { kind?: string }) => message.kind === "seek"],
  ["the leader's word that it was heard", true, (message: { kind?: string }) => message.kind === "heard"],
  ["its session", false, (message: { kind?: string }) => message.kind === "result"],
] as const) {
  test(`a handle of which ${what} was lost seeks again, because the leader answers pings`, async (t) => {
    let lost = 0;
    const { follower } = await shared(t, hasHub, (message) => isLost(message) && lost++ === 0);
    assert.deepEqual([follower.state, lost], [hasHub ? "seeking" : "connecting", 1]);
    let ticks = 0;
    for (; follower.state !== "linked" && ticks < 40; ticks++) {
      t.mock.timers.tick(TICK);
      await rest();
    }
    assert.equal(follower.state, "linked");
    assert.ok(ticks > 20, "a leader that is only slow gets its time");
  });
}

test("a handle whose seek was lost is found while another one of its tab is always busy", async (t) => {
  const { follower, db, following, engines } = await shared(t, false);
  assert.equal(follower.state, "linked");
  wire.loses = ({ kind }) => kind === "seek";
  const late = following.add(new Client(CLIENT + 1, false));
  wire.loses = () => false;
  assert.equal(late.state, "connecting");
  const isFound = (): boolean => (late.state as HandleState) === "linked";
  const engine = engines.get(CLIENT)!;
  const answers: Promise<unknown>[] = [];
  const ask = async (id: number): Promise<void> => {
    answers.push(db.getRow({ tableName: "t", primaryKey: { id } }));
    await rest();
  };
  await ask(0);
  for (let tick = 1; !isFound() && tick < 40; tick++) {
    t.mock.timers.tick(TICK);
    // Each tick sees another call.
    await ask(tick);
    engine.answer();
    await rest();
  }
  assert.ok(isFound());
  engine.answer();
  await Promise.all(answers);
});

test("handles whose seeks were lost are found at once, not one after another", async (t) => {
  const { following } = await shared(t, false);
  wire.loses = ({ kind }) => kind === "seek";
  const all = Array.from({ length: 6 }, (_, at) => following.add(new Client(CLIENT + 1 + at, false)));
  await rest();
  wire.loses = () => false;
  let ticks = 0;
  for (; all.some(({ state }) => (state as HandleState) !== "linked") && ticks < 100; ticks++) {
    t.mock.timers.tick(TICK);
    await rest();
  }
  assert.ok(ticks < 40, `the last one waited for ${ticks} ticks`);
});

test("what others say on the channel harms neither leader nor followers", async (t) => {
  const { follower, following, engines } = await shared(t, false);
  const stranger = new FakeChannel("tabstore/demo");
  const messages = [null, "hello", 5, [], { kind: "seek", client: 50 }, { kind: "lead", leader: 7 }, { tabstore: PROTOCOL, kind: "ping" }];
  for (const message of messages) stranger.postMessage(message);
  await rest();
  assert.deepEqual([follower.state, following.state, [...engines.keys()]], ["linked", "following", [CLIENT]]);
});

/** The ways of the drawing: from each state of a page's engine. */
const ENGINE_WAYS: Readonly<Record<EngineState, readonly EngineState[]>> = {
  opening: ["following", "leading", "lost"],
  reopening: ["following", "leading", "lost", "aside", "ending"],
  following: ["leading", "lost", "aside", "ending"],
  leading: ["lost", "aside", "ending"],
  lost: ["reopening", "aside", "ending"],
  aside: ["reopening"],
  ending: ["reopening", "aside"],
};

/** Gives a page's engine a window, which goes into the back/forward cache and comes back. */
function giveWindow(t: TestContext): (type: "pagehide" | "pageshow") => void {
  type Heard = [type: string, run: (event: { persisted: boolean }) => void, options: { signal: AbortSignal }];
  const heard: Heard[] = [];
  const before = { window: globalThis.window, addEventListener: globalThis.addEventListener };
  Object.assign(globalThis, { window: {}, addEventListener: (...one: Heard) => void heard.push(one) });
  t.after(() => void Object.assign(globalThis, before));
  return (type) => {
    for (const [name, run, { signal }] of heard) if (name === type && !signal.aborted) run({ persisted: true });
  };
}

test("the engine of a page goes the ways of the drawing and no others, and answers in the end", async (t) => {
  giveChannels(t);
  const show = giveWindow(t);
  const random = randomFrom(5);
  const gone = new Set<string>();
  for (let walk = 0; walk < 200; walk++) {
    const tab = new WaitingTab();
    let state = tab.page.state;
    Object.defineProperty(tab.page, "state", {
      get: () => state,
      set: (next: EngineState) => {
        if (next !== state) gone.add(`${state} -> ${next}`);
        state = next;
      },
    });
    const joined = tab.join();
    // Three within a minute would end it. The first opening ends with its first.
    let deaths = 0;
    const events = [
      () => tab.lead(),
      () => tab.report.onLost(),
      () => tab.report.onReplaced(),
      () => state !== "opening" && deaths++ < 2 && tab.report.onDeath(error("OTSInternalServerError")),
      () => show("pagehide"),
      () => show("pageshow"),
    ];
    for (let event = 0; event < 8; event++) {
      events[Math.floor(random() * events.length)]();
      if (random() < 0.7) await rest();
    }
    await rest();
    show("pageshow");
    // Its rival says that it leads.
    tab.report.onReplaced();
    tab.lead();
    const db = new OpenDatabase("demo", "indexeddb", await joined);
    assert.equal(await db.listTable(), undefined, "the small engine has no tables");
    assert.equal(tab.page.state, "leading");
    await db.close();
  }
  const all = Object.entries(ENGINE_WAYS).flatMap(([from, ways]) => ways.map((to) => `${from} -> ${to}`));
  assert.deepEqual([...gone].sort(), all.sort());
});
