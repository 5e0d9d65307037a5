/** Leaders without workers, and what leads behind them. */

import type { EngineOptions, LeadingEngine } from "../../src/host/host.js";
import { Leader } from "../../src/tabs/leader.js";

/** An engine of another tab, which has its lock and runs: `sessionOfFollower` makes its sessions. It has no handle in its own tab. */
export function leadingEngine(sessionOfFollower: LeadingEngine["sessionOfFollower"], forget: LeadingEngine["forget"] = async () => {}): LeadingEngine {
  return {
    isLost: false,
    whenKnown: (run) => run(),
    session: () => Promise.reject(new Error("its own sessions are not asked for")),
    sessionOfFollower,
    forget,
    close: async () => {},
  };
}

/** A leader whose engine runs, without a shared worker. `number` is that of its tab. */
export function lead(options: EngineOptions, number: number, engine: LeadingEngine): Leader {
  const opened = { ...options, client: number };
  const leader = new Leader(
    opened,
    async () => undefined,
    () => 0,
  );
  leader.lead(engine, opened, true);
  return leader;
}
