/** Leaders that follow one another on one disk, and a tab that follows them, without workers. */

import type { Client } from "../../src/client/client.js";
import type { OpenDatabase } from "../../src/open/database.js";
import type { Following } from "../../src/tabs/following-tab.js";
import type { EngineOptions } from "../../src/host/host.js";
import type { Leader } from "../../src/tabs/leader.js";
import { FakeEngine, newDisk } from "./engine.js";
import { follow } from "./following.js";
import { lead, leadingEngine } from "./leading.js";
import { checked } from "./tab.js";
import { undo } from "./undo.js";

/** Prepares the session of a leader. */
export type Setup = (engine: FakeEngine) => void;

/** Leaders of the instance, one after another. Their engines have one disk. */
export function leaders(options: EngineOptions): (setup?: Setup) => { leader: Leader; session(): FakeEngine } {
  const disk = newDisk();
  let number = 0;
  return (setup = () => {}) => {
    const sessions: FakeEngine[] = [];
    const engine = leadingEngine(async (_life, _client, onResponses) => {
      const session = new FakeEngine(onResponses, true, disk);
      setup(session);
      sessions.push(session);
      return session;
    });
    const leader = lead(options, ++number, engine);
    undo.push(() => leader.stop());
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
  let link = (): void => {};
  const linked = new Promise<void>((resolve) => (link = resolve));
  const next = leaders(checked().engine);
  const { db, client, following } = follow(10, undefined, { linked: link });
  const first = next(setup);
  await following.begin();
  await linked;
  return { db, client, following, first, lead: next };
}
