/**
 * How consumers divide the channels of a group: each decides for itself what it takes and gives back, from the same rows. It knows
 * neither storage nor timers.
 */

import type { ConsumerRow, Seen } from "./store.js";

/** What is known of another consumer. */
interface Watched {
  readonly beat: number;
  /** How long this consumer has been running since it saw that heartbeat first. */
  readonly quiet: number;
  /** So many looks that count have seen it again. */
  readonly looks: number;
}

/** So many looks at least. Another consumer may have a timeout that is shorter than the time between two of them. */
const LOOKS = 3;

/**
 * Judges by its silence which other consumers have gone. Only time counts in which this consumer itself was running: if a look comes
 * late, this tab was frozen, throttled or busy, and the other one may have been too. Where all looks come late, each counts as one
 * that is in time.
 */
export class Watchers {
  private readonly others = new Map<string, Watched>();
  private last: number | undefined;
  private wasLate = false;

  constructor(private readonly interval: number) {}

  /** A look at the heartbeats. Returns the consumers that have gone. `now`: milliseconds of this tab. */
  look(consumers: ReadonlyMap<string, ConsumerRow>, self: string, now: number): Set<string> {
    const passed = this.last === undefined ? 0 : now - this.last;
    const late = passed > 2 * this.interval;
    const counts = late && !this.wasLate ? 0 : Math.min(passed, this.interval);
    this.last = now;
    this.wasLate = late;
    const gone = new Set<string>();
    for (const id of this.others.keys()) if (!consumers.has(id)) this.others.delete(id);
    for (const [id, { beat, timeout }] of consumers) {
      if (id === self) continue;
      const before = this.others.get(id);
      const [quiet, looks] = before?.beat === beat ? [before.quiet + counts, before.looks + Number(counts > 0)] : [0, 0];
      this.others.set(id, { beat, quiet, looks });
      if (quiet >= timeout && looks >= LOOKS) gone.add(id);
    }
    return gone;
  }
}

/** What a consumer has to do. */
export interface Share {
  /** How many channels it should have. */
  readonly target: number;
  /** Channels that nobody has. */
  readonly free: readonly string[];
}

/**
 * The share of a consumer. All channels that can be read are divided evenly; those who have most keep most, so that as few as
 * possible change hands.
 */
export function shareOf({ channels, consumers }: Seen, open: readonly string[], gone: ReadonlySet<string>, self: string): Share {
  const held = new Map([...consumers.keys()].filter((id) => !gone.has(id)).map((id) => [id, 0]));
  held.set(self, 0);
  const free: string[] = [];
  for (const id of open) {
    const owner = channels.get(id)?.owner ?? "";
    const count = held.get(owner);
    if (count === undefined) free.push(id);
    else held.set(owner, count + 1);
  }
  const order = [...held].sort(([a, most], [b, least]) => least - most || (a < b ? -1 : 1)).map(([id]) => id);
  const target = Math.floor(open.length / order.length) + (order.indexOf(self) < open.length % order.length ? 1 : 0);
  return { target, free };
}
