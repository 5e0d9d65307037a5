/** Leaders that follow one another on one disk, and a tab that follows them, without workers. */

import assert from "node:assert/strict";

import { Client } from "../../src/client/client.js";
import { OpenDatabase } from "../../src/open/database.js";
import { Following } from "../../src/tabs/following.js";
import type { EngineHost, EngineOptions, LeadingEngine } from "../../src/host/host.js";
import { Leader } from "../../src/tabs/leader.js";
import { FakeEngine, newDisk } from "./engine.js";
import { checked } from "./tab.js";

/** What is to be closed, so that the test ends. */
export const undo: (() => unknown)[] = [];

/** Ends the leaders and followers of a test. */
export async function endSuccession(): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}

/** Prepares the session of a leader. */
export type Setup = (engine: FakeEngine) => void;

/** Leaders of the instance, one after another. Their engines have one disk. */
export function leaders(options: EngineOptions): (setup?: Setup) => { leader: Leader; session(): FakeEngine } {
  const disk = newDisk();
  let number = 0;
  return (setup = () => {}) => {
    const sessions: FakeEngine[] = [];
    const engine: LeadingEngine = {
      isLost: false,
      whenKnown: (run) => run(),
      session: () => assert.fail("followers may outlive it"),
      async sessionOfFollower(_life, _client, onResponses): Promise<EngineHost> {
        const session = new FakeEngine(onResponses, true, disk);
        setup(session);
        sessions.push(session);
        return session;
      },
      forget: async () => {},
      close: async () => {},
    };
    const opened = { ...options, client: ++number };
    const leader = new Leader(
      opened,
      async () => undefined,
      () => 0,
    );
    undo.push(() => leader.stop());
    leader.lead(engine, opened, true);
    return { leader, session: () => sessions.at(-1)! };
  };
}

/** A tab that follows, and leaders for it. */
export async function follower(setup?: Setup): Promise<{
  db: OpenDatabase;
  client: Client;
  following: Following;
  first: ReturnType<ReturnType<typeof leaders>>;
  lead: ReturnType<typeof leaders>;
}> {
  const client = new Client(10, false);
  let link = (): void => {};
  const linked = new Promise<void>((resolve) => (link = resolve));
  const lead = leaders(checked().engine);
  const following = new Following("demo", 10, async () => undefined, {
    agree: async () => true,
    onClock: () => {},
    linked: () => link(),
    refuse: (_, error) => assert.fail(error),
    takeOver: () => assert.fail("it lives"),
  });
  client.attach(following.add(client));
  undo.push(
    () => following.drop(),
    () => void following.remove(client),
  );
  const first = lead(setup);
  await following.begin();
  await linked;
  return { db: new OpenDatabase("demo", "indexeddb", client), client, following, first, lead };
}
