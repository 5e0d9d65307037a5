/** Handles that load, on engines that end. */

import { Client } from "../../src/client/client.js";
import { OpenDatabase } from "../../src/open/database.js";
import { TabStoreError } from "../../src/types/errors.js";
import { KeptRows } from "../../src/client/load-replay.js";
import type { BackOff } from "../../src/client/retry.js";
import { type Disk, FakeEngine, newDisk } from "./engine.js";

/** The error of calls that an engine may have done. */
export const gone = new TabStoreError({ code: "LeaderChanged", status: 503, retryable: false, message: "the leader has gone" });
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const LARGE = "x".repeat(2000);
export const row = (id: number) => ({ primaryKey: { id }, attributes: { n: id, text: LARGE } });

/** A handle whose engine is in another tab, and its leaders, one after another. */
export function follower(backOff?: BackOff): {
  db: OpenDatabase;
  client: Client;
  disk: Disk;
  lead(knows?: boolean, refuse?: FakeEngine["refuse"]): FakeEngine;
} {
  const client = new Client(7, false, backOff);
  client.kept = new KeptRows(() => client.role === "follower");
  const disk = newDisk();
  let before: FakeEngine | undefined;
  const lead = (knows = true, refuse: FakeEngine["refuse"] = () => undefined): FakeEngine => {
    const engine = Object.assign(new FakeEngine(client.receive, false, disk), { follows: true, loads: true, rowBytes: 0, refuse });
    if (before !== undefined) before.gone = true;
    client.attach(engine);
    if (before !== undefined) client.handOver(knows, gone);
    return (before = engine);
  };
  return { db: new OpenDatabase("demo", "indexeddb", client), client, disk, lead };
}

/** The requests of an engine: `12#` and a number for rows of a load, `s#` for a request to store them. */
export const sent = (engine: FakeEngine): string[] => engine.frames.flat().map(({ op, id }) => `${op === 13 ? "s" : op}#${id}`);

/** Answers all, and what it leads to. */
export async function answerAll(engine: FakeEngine, until = 5): Promise<void> {
  for (let idle = 0; idle < until; ) {
    idle = engine.open > 0 ? 0 : idle + 1;
    engine.answer();
    await turn();
  }
}
