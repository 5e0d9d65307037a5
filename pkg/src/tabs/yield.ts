/** The end of an engine that guests have, because another tab wants other options. */

import type { Client } from "../client/client.js";
import type { RunningEngine } from "../host/host.js";
import { PATIENCE, within } from "./lock.js";

/** How often to look whether calls are answered, in milliseconds. */
const LOOK = 5;

/**
 * Notes the calls under way. The returned function waits for their answers, then closes the engine. It gives whether all were answered:
 * an engine that hangs answers nothing.
 */
export function endInOrder(clients: readonly Client[]): (engine: Promise<RunningEngine>) => Promise<boolean> {
  const under = clients.map((client) => ({ client, calls: client.unanswered }));
  const isAnswered = (): boolean => under.every(({ client, calls }) => calls.every((call) => !client.unanswered.includes(call)));
  return async (engine) => {
    for (const until = performance.now() + PATIENCE; !isAnswered() && performance.now() < until; ) await new Promise((resolve) => setTimeout(resolve, LOOK));
    await within(
      engine.then((running) => running.close()),
      PATIENCE,
    );
    return isAnswered();
  };
}
