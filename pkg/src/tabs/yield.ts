/** The end of an engine that guests have, because another tab wants other options. */

import { type CallQueue, leaderChanged } from "../client/call-queue.js";
import type { Client } from "../client/client.js";
import type { Opening } from "../host/host.js";
import { PATIENCE, within } from "./lock.js";

/** How often to look whether calls are answered, in milliseconds. */
const LOOK = 5;

/** What has the engine: its page's handles, and what they do without it. */
interface Owner {
  readonly checked: { readonly engine: { readonly name: string } };
  readonly clients: { keys(): Iterable<Client> };
  /** Calls of a client wait from now on. */
  queue(client: Client): CallQueue;
  /** The engine is its own no more. */
  lose(state: "ending"): unknown;
  /** Opens again: it follows the other tab. */
  resumeAside(): void;
}

/**
 * Ends the engine in order, unless it `isOurs` no more because two tabs asked for that. Calls under way are answered first, and later
 * ones wait for the other tab. An engine that hangs is cut off, and its calls are refused.
 */
export async function giveUp(owner: Owner, { engine, cut }: Pick<Opening, "engine" | "cut">, isOurs: () => boolean): Promise<void> {
  if (!isOurs()) return;
  const clients = [...owner.clients.keys()].filter(({ isAttached }) => isAttached);
  const under = clients.map((client) => ({ client, calls: new Set(client.pending.values()), queue: owner.queue(client) }));
  owner.lose("ending");
  const isAnswered = (): boolean => under.every(({ client, calls }) => [...client.pending.values()].every((call) => !calls.has(call)));
  for (const until = performance.now() + PATIENCE; !isAnswered() && performance.now() < until; ) await new Promise((resolve) => setTimeout(resolve, LOOK));
  await within(
    engine.then((running) => running.close()),
    PATIENCE,
  );
  for (const { client, queue } of isAnswered() ? [] : under) {
    queue.dropFrames();
    client.handOver(false, leaderChanged(owner.checked.engine.name));
  }
  await cut();
  owner.resumeAside();
}
