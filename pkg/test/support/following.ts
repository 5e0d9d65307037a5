/** Leaders, and tabs that follow them, without workers: they find each other by channels. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";

import { Client } from "../../src/client/client.js";
import { OpenDatabase } from "../../src/open/database.js";
import type { TabStoreError } from "../../src/types/errors.js";
import { Following, type Tab } from "../../src/tabs/following-tab.js";
import type { Connect } from "../../src/tabs/channel.js";
import type { EngineOptions, LeadingEngine } from "../../src/host/host.js";
import { Leader } from "../../src/tabs/leader.js";
import type { PortLike } from "../../src/host/session.js";
import { TICK } from "../../src/tabs/leader-watch.js";
import { FakeEngine } from "./engine.js";
import { leadingEngine } from "./leading.js";
import { giveLocks, heldBy } from "./locks.js";
import { OPTIONS } from "./options.js";
import { turn } from "./turn.js";
import { undo } from "./undo.js";

/** A leader, from the other side. */
export interface Led {
  readonly leader: Leader;
  readonly engine: LeadingEngine;
  readonly sessions: Map<number, FakeEngine>;
  /** The clients whose answers it has forgotten. */
  readonly forgotten: (number | undefined)[];
  /** What its storage has done. */
  readonly progress: { count: number };
  /** Its engine runs. */
  lead(atOnce?: boolean): void;
}

/** A leader, with small engines for its sessions. */
export function leader(number: number, options: Partial<EngineOptions> = {}, connect: Connect = async () => undefined): Led {
  const opened = { ...OPTIONS, ...options, client: number };
  const progress = { count: 0 };
  const sessions = new Map<number, FakeEngine>();
  const forgotten: (number | undefined)[] = [];
  const engine = leadingEngine(
    async (life, client, onResponses) => {
      assert.equal(life, client, "one handle a tab");
      assert.ok(!sessions.has(client) || sessions.get(client)!.closed, "one session a client");
      const session = new FakeEngine(onResponses);
      session.admin = (op) => (op === "listTable" ? [`of ${number}`] : undefined);
      sessions.set(client, session);
      return session;
    },
    async (client) => void forgotten.push(client),
  );
  const made = new Leader(opened, connect, () => progress.count);
  undo.push(() => made.stop());
  return { leader: made, engine, sessions, forgotten, progress, lead: (atOnce = true) => made.lead(engine, opened, atOnce) };
}

/** The owner of a tab that follows. All options agree, and what a leader that lives does not cause fails the test, but for what is `taken`. */
export function ownerOf(taken: Partial<Tab> = {}): Tab {
  return {
    agree: async () => true,
    onClock: () => {},
    linked: () => {},
    refuse: (_, error) => assert.fail(error),
    takeOver: () => assert.fail("the leader lives"),
    ...taken,
  };
}

/** A tab that follows once it begins, with one handle. */
export function follow(
  number: number,
  connect: Connect = async () => undefined,
  taken: Partial<Tab> = {},
  instance = "demo",
): { db: OpenDatabase; client: Client; following: Following } {
  const client = new Client(number, false);
  const following = new Following(instance, number, connect, ownerOf(taken));
  client.attach(following.add(client));
  undo.push(() => {
    following.drop();
    void following.remove(client);
  });
  return { db: new OpenDatabase("demo", "indexeddb", client), client, following };
}

/** A tab that follows, with one handle. Names of instances are compared without case. */
export function tab(
  number: number,
  connect?: Connect,
): {
  db: OpenDatabase;
  linked: Promise<void>;
  refused: Promise<TabStoreError>;
  following: Following;
  takeovers: [holder: string, leader: number | undefined][];
} {
  let link = (): void => {};
  const takeovers: [string, number | undefined][] = [];
  let refuse = (_: TabStoreError): void => {};
  const linked = new Promise<void>((resolve) => (link = resolve));
  const refused = new Promise<TabStoreError>((resolve) => (refuse = resolve));
  const taken: Partial<Tab> = {
    linked: link,
    refuse: (_, error) => refuse(error),
    takeOver: (holder, leader) => takeovers.push([holder, leader]),
  };
  const { db, following } = follow(number, connect, taken, "Demo");
  void following.begin();
  return { db, linked, refused, following, takeovers };
}

/** A leader whose thread is stopped: it hears nothing, and says nothing. */
export function freeze({ leader: frozen }: Led): void {
  const { channel, seats } = frozen as unknown as { channel: BroadcastChannel; seats: Map<number, { port: PortLike }> };
  for (const port of [channel, ...[...seats.values()].map((seat) => seat.port)]) port.onmessage = null;
}

/** Ticks of all tabs, with time for messages between them. The lock is held by the client "holder". */
export function ticking(t: TestContext): { pass(ticks: number): Promise<void> } {
  t.mock.timers.enable({ apis: ["setInterval"] });
  undo.push(giveLocks(heldBy("holder")));
  return {
    async pass(ticks) {
      for (let tick = 0; tick < ticks; tick++) {
        t.mock.timers.tick(TICK);
        await turn(3);
      }
    },
  };
}
