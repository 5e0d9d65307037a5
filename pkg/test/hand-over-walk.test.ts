/**
 * Walks at random through what may happen to tabs that share an instance: leaders end, freeze and wake, words and ports are lost, tabs
 * are put aside and come back. Again and again all is well for a while. Then each handle must have a session, and each call an answer.
 */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";

import { Client } from "../src/client/client.js";
import { type LeadingEngine, OPENING } from "../src/host/host.js";
import type { PortLike } from "../src/host/session.js";
import { OpenDatabase } from "../src/open/database.js";
import type { Connect, Introduction, ToHub } from "../src/tabs/channel.js";
import { PROTOCOL } from "../src/tabs/channel.js";
import { Follower } from "../src/tabs/follower.js";
import { Following } from "../src/tabs/following-tab.js";
import { HANDLE, type HandleEvent, type HandleState } from "../src/tabs/hand-over.js";
import { Leader } from "../src/tabs/leader.js";
import { TICK } from "../src/tabs/leader-watch.js";
import { TabStoreError } from "../src/types/errors.js";
import { FakeChannel, giveChannels, rest, wire } from "./support/channels.js";
import { type Disk, FakeEngine, newDisk } from "./support/engine.js";
import { leadingEngine } from "./support/leading.js";
import { giveLocks, heldBy } from "./support/locks.js";
import { OPTIONS } from "./support/options.js";
import { randomFrom } from "./support/random.js";

const EVENTS = 6000;
/** Words on the common channel: by them the two find each other, and look after each other. */
const WORDS = ["seek", "heard", "lead", "ping", "pong", "takeOver"];
/** So many ticks after all is well, each call has its answer. A handle that has sought in vain waits longest. */
const SOON = 200;

const failure = (code: string): TabStoreError => new TabStoreError({ code, status: 400, retryable: false, message: "at random" });

/** The steps that handles have made. */
const made = new Set<string>();
const step = Follower.prototype.on;
Follower.prototype.on = function (event: HandleEvent, detail?: unknown): boolean {
  const { state } = this;
  const isKnown = step.call(this, event, detail);
  if (isKnown) made.add(`${state}: ${event}`);
  return isKnown;
};

/** A call, and what became of it. */
interface Asked {
  readonly what: string;
  outcome: string | undefined;
}

/** A tab with one handle. */
interface Tab {
  readonly client: Client;
  readonly db: OpenDatabase;
  readonly following: Following;
  readonly follower: Follower;
  /** The calls since all was well last. */
  readonly calls: Asked[];
  /** The puts that were acknowledged. */
  puts: number;
  /** Whether it was put aside since then, so that calls may be refused by name. */
  wasAside: boolean;
  /** Whether it is put aside now, was refused, or has gone on to an engine of its own. */
  part: "follows" | "aside" | "over";
}

interface Reign {
  readonly number: number;
  readonly leader: Leader;
  readonly engine: LeadingEngine;
  readonly sessions: Map<number, FakeEngine>;
  part: "opens" | "leads" | "closes" | "frozen";
}

class World {
  readonly tabs: Tab[] = [];
  private reign: Reign | undefined;
  private numbers = 0;
  private lastRow = 0;
  private readonly disks = new Map<number, Disk>();
  /** What the shared worker knows. */
  private known: { readonly leader: number; readonly port: PortLike } | undefined;
  /** Whether there is nothing against it: no message is lost, no option is refused. */
  isWell = false;
  takeovers = 0;

  constructor(
    private readonly t: TestContext,
    readonly random: () => number,
    readonly isSlow: boolean,
  ) {
    if (isSlow) {
      wire.turns = () => Math.floor(this.random() * (this.isWell ? 1.5 : 5));
      wire.times = ({ kind }) => (!this.isWell && WORDS.includes(kind!) && this.isLikely(0.1) ? 2 : 1);
    }
    wire.loses = (message) => !this.isWell && this.mayBeLost(message) && this.isLikely(message.kind === "pong" ? 0.3 : 0.06);
    for (let i = 0; i < 3; i++) this.open();
  }

  /** Messages arrive: after as many turns where they are slow. */
  private async settle(turns: number): Promise<void> {
    for (let turn = 0; turn < (this.isSlow ? turns : 1); turn++) await rest();
  }

  private isLikely(chance: number): boolean {
    return this.random() < chance;
  }

  private oneOf<T>(all: readonly T[]): T {
    return all[Math.floor(this.random() * all.length)];
  }

  /** A port that works loses no call. */
  private mayBeLost({ kind, id }: { readonly kind?: string; readonly id?: number }): boolean {
    return WORDS.includes(kind!) || (kind === "result" && id === OPENING);
  }

  /** Connects to the shared worker, which is frozen at times, or not there. */
  private readonly connect: Connect = async () => {
    if (!this.isWell && this.isLikely(0.2)) return undefined;
    const port: PortLike = {
      onmessage: null,
      postMessage: (message) => {
        if (!this.isWell && this.isLikely(0.2)) return;
        const data = message as ToHub;
        if ("lead" in data) this.known = { leader: data.leader, port };
        else if (this.known?.leader === data.leader) this.pass(this.known.port, data);
      },
    };
    return port;
  };

  private pass(port: PortLike, data: Introduction): void {
    queueMicrotask(() => port.onmessage?.({ data } as MessageEvent));
  }

  /** Opens a tab. */
  open(): void {
    const client = new Client(++this.numbers, false);
    const following = new Following("demo", client.number, this.connect, {
      agree: async (_, __, ask) => {
        await ask("metrics");
        // It asks for the module that compares options, say.
        if (!this.isWell && this.isLikely(0.3)) await new Promise((resolve) => setTimeout(resolve, this.random() * 40 * TICK));
        if (!this.isWell && this.isLikely(0.1)) throw failure("OTSParameterInvalid");
        return this.isWell || !this.isLikely(0.1);
      },
      onClock: () => {},
      linked: () => {},
      refuse: (_, error) => {
        tab.part = "over";
        client.fail(error);
        void following.remove(client);
      },
      takeOver: () => {
        this.takeovers += 1;
        if (this.reign?.part === "frozen") this.end();
      },
    });
    const follower = following.add(client);
    client.attach(follower, () => following.remove(client));
    const tab: Tab = { client, following, follower, db: new OpenDatabase("demo", "indexeddb", client), calls: [], puts: 0, wasAside: false, part: "follows" };
    this.disks.set(client.number, newDisk());
    this.tabs.push(tab);
    void following.begin();
  }

  /** Another tab gets the lock. Its engine runs, or takes long to open. */
  private begin(): void {
    const number = ++this.numbers;
    const sessions = new Map<number, FakeEngine>();
    const engine = leadingEngine(async (_life, client, onResponses) => {
      assert.ok(sessions.get(client)?.closed !== false, "one session a client");
      if (!this.isWell && this.isLikely(0.1)) throw failure(this.isLikely(0.3) ? "OTSInternalServerError" : "Closed");
      const session = new FakeEngine(onResponses, true, this.disks.get(client));
      session.admin = (op) => {
        if (op === "metrics" && !this.isWell && this.isLikely(0.1)) throw failure("Closed");
        return op;
      };
      // It answers what it has, and then says nothing more.
      session.close = async () => {
        while (session.open > 0) session.answer();
        session.closed = session.gone = true;
      };
      sessions.set(client, session);
      return session;
    });
    const options = { ...OPTIONS, client: number };
    const leader = new Leader(options, this.connect, () => 0);
    this.reign = { number, leader, engine, sessions, part: "opens" };
  }

  private lead(): void {
    if (this.reign?.part !== "opens") return;
    this.reign.part = "leads";
    this.reign.leader.lead(this.reign.engine, { ...OPTIONS, client: this.reign.number }, true);
  }

  /** The leader ends without a word. */
  private end(): void {
    for (const session of this.reign?.sessions.values() ?? []) session.gone = true;
    this.reign?.leader.stop();
    this.reign = undefined;
  }

  private freeze(): void {
    if (this.reign === undefined) return;
    const { channel, seats } = this.reign.leader as unknown as { channel: FakeChannel | undefined; seats: Map<number, { port: PortLike }> };
    for (const port of [channel, ...[...seats.values()].map((seat) => seat.port)]) if (port !== undefined) port.onmessage = null;
    this.reign.part = "frozen";
  }

  /** A session hears nothing any more, though its leader lives. */
  private deafen(): void {
    const { seats } = (this.reign?.leader ?? { seats: new Map() }) as unknown as { seats: Map<number, { port: PortLike; served: { end(): Promise<void> } }> };
    const all = [...seats.values()];
    if (all.length === 0) return;
    const { port, served } = this.oneOf(all);
    port.onmessage = null;
    void served.end();
  }

  /** A leader that was frozen says what it had to say before it hears that it leads no more. */
  private sayLate(): void {
    const channel = new FakeChannel("tabstore/demo");
    const { client } = this.oneOf(this.tabs);
    const leader = Math.ceil(this.random() * this.numbers);
    if (leader !== this.reign?.number)
      channel.postMessage({ tabstore: PROTOCOL, leader, kind: "heard", client: client.number, ready: true, hub: this.isLikely(0.5) });
    channel.close();
  }

  private call(tab: Tab): void {
    const id = ++this.lastRow;
    const key = { tableName: "t", primaryKey: { id } };
    const ways: readonly [string, () => Promise<unknown>][] = [
      [`put ${id}`, () => tab.db.putRow({ ...key, attributes: { n: id } })],
      [`get ${id}`, () => tab.db.getRow(key)],
      ["list", () => tab.db.listTable()],
      ["create", () => tab.db.createTable({ tableName: `t${id}`, primaryKey: [{ name: "id", type: "INTEGER" }] })],
    ];
    const [what, run] = this.oneOf(ways);
    const asked: Asked = { what, outcome: undefined };
    tab.calls.push(asked);
    run().then(
      () => {
        asked.outcome = "done";
        if (what.startsWith("put")) tab.puts += 1;
      },
      ({ code }: TabStoreError) => (asked.outcome = code),
    );
  }

  /** A session answers pings, and calls no more. */
  private slow(isSlow: boolean): void {
    for (const session of this.reign?.sessions.values() ?? []) {
      session.auto = !isSlow;
      while (!isSlow && session.open > 0) session.answer();
    }
  }

  /** A page goes away. */
  private leave(tab: Tab): void {
    if (tab.part === "over") return;
    tab.part = "over";
    tab.client.fail(failure("Closed"));
  }

  private suspend(tab: Tab): void {
    if (tab.part === "over") return;
    tab.following.suspend();
    tab.wasAside = true;
    tab.part = "aside";
  }

  private resume(tab: Tab): void {
    if (tab.part !== "aside") return;
    tab.part = "follows";
    void tab.following.begin();
  }

  /** The tab itself leads: what waits goes to its own engine. */
  private takeTheLead(tab: Tab): void {
    if (tab.part === "over") return;
    this.end();
    for (const follower of tab.following.end()) {
      const engine = new FakeEngine(tab.client.receive, true, this.disks.get(tab.client.number));
      tab.client.attach(engine);
      follower.moveTo(engine);
    }
    tab.part = "over";
  }

  private readonly events: readonly [weight: number, run: (tab: Tab) => unknown][] = [
    [30, (tab) => tab.part !== "over" && this.call(tab)],
    [30, () => this.t.mock.timers.tick(TICK)],
    [8, () => this.reign === undefined && this.begin()],
    [12, () => this.lead()],
    [4, () => this.end()],
    [3, () => this.reign?.part === "leads" && ((this.reign.part = "closes"), void this.reign.leader.close())],
    [2, () => this.freeze()],
    [3, () => this.deafen()],
    [3, () => this.sayLate()],
    [2, (tab) => this.suspend(tab)],
    [4, (tab) => this.resume(tab)],
    // Few doubt, and not for long.
    [1, (tab) => this.takeTheLead(this.tabs.find(({ follower }) => follower.state === "doubting") ?? tab)],
    [2, (tab) => this.leave(tab)],
    [4, () => this.slow(true)],
    [2, () => this.slow(false)],
    [2, () => this.tabs.length < 5 && this.open()],
  ];

  /** Something happens. */
  async happen(): Promise<void> {
    let at = this.random() * this.events.reduce((sum, [weight]) => sum + weight, 0);
    const [, run] = this.events.find(([weight]) => (at -= weight) < 0)!;
    run(this.oneOf(this.tabs));
    if (this.isLikely(0.7)) await rest();
  }

  private get isDone(): boolean {
    // A doubt ends with the next call that waits.
    const hasSession = ({ part, follower }: Tab): boolean => part === "over" || follower.state === "linked" || follower.state === "doubting";
    return this.tabs.every((tab) => hasSession(tab) && tab.calls.every(({ outcome }) => outcome !== undefined));
  }

  /** All is well for a while. Returns the ticks until each call had an answer. */
  async recover(): Promise<number> {
    this.isWell = true;
    // What was on its way arrives.
    await this.settle(30);
    for (const tab of this.tabs) this.resume(tab);
    if (this.reign?.part !== "leads") {
      this.end();
      this.begin();
      this.lead();
    }
    this.slow(false);
    let ticks = 0;
    let takeovers = 0;
    for (; ticks < 3 || (!this.isDone && ticks < SOON); ticks++) {
      // Those that found the leader silent before may have been about to take over.
      if (ticks < 3) takeovers = this.takeovers;
      this.t.mock.timers.tick(TICK);
      await this.settle(6);
    }
    const open = this.tabs.map(({ calls, follower, part }) => [
      part,
      follower.state,
      calls.filter(({ outcome }) => outcome === undefined).map(({ what }) => what),
    ]);
    assert.ok(this.isDone, `after ${ticks} ticks: ${JSON.stringify(open)}`);
    assert.equal(this.takeovers, takeovers, "nobody takes the lock from a leader that lives");
    for (const tab of this.tabs.splice(0)) {
      if (tab.part === "over") tab.following.drop();
      for (const { what, outcome } of tab.calls.splice(0)) {
        assert.ok(
          outcome === "done" ||
            (tab.wasAside && outcome === "LeaderChanged") ||
            (tab.part === "over" && ["OTSParameterInvalid", "OTSInternalServerError", "Closed"].includes(outcome!)),
          `${what}: ${outcome}`,
        );
      }
      const { written } = this.disks.get(tab.client.number)!;
      for (const [key, times] of written) assert.equal(times, 1, key);
      assert.ok(written.size >= tab.puts, `${tab.puts} puts were acknowledged, ${written.size} rows are stored`);
      tab.wasAside = false;
      if (tab.part !== "over") this.tabs.push(tab);
    }
    while (this.tabs.length < 3) this.open();
    this.isWell = false;
    return ticks;
  }

  close(): void {
    this.end();
    for (const { following } of this.tabs) following.drop();
  }
}

for (const [seed, isSlow] of [
  [1, false],
  [2, false],
  [3, true],
  [4, true],
] as const) {
  test(`a walk of ${EVENTS} events at random: no handle stays without a way on, and no call without an answer (seed ${seed}${isSlow ? ", words come late and twice" : ""})`, async (t) => {
    giveChannels(t);
    t.after(giveLocks(heldBy("holder")));
    const world = new World(t, randomFrom(seed), isSlow);
    let most = 0;
    for (let event = 1; event <= EVENTS; event++) {
      await world.happen();
      if (event % 50 === 0) most = Math.max(most, await world.recover());
    }
    world.close();
    t.diagnostic(`the longest way back took ${most} ticks; ${world.takeovers} leaders were found frozen`);
  });
}

test("the walks have made each step of the table", () => {
  const all = (Object.keys(HANDLE) as HandleState[]).flatMap((state) => Object.keys(HANDLE[state]).map((event) => `${state}: ${event}`));
  assert.deepEqual(
    all.filter((one) => !made.has(one)),
    [],
  );
});
