/** The common part of all clients: the instance, the clock that travels, times, and the reaction to a wrong answer. */

import type { Database } from "tabstore";
import { random } from "../data.js";
import { Latencies } from "./latency.js";

/** A client: works until the scene is over, and can say at the end whether everything is there. */
export interface Client {
  run(): Promise<void>;
  /** Compares all stored data with the acknowledged writes. No client writes meanwhile. */
  verify(): Promise<void>;
}

/** The part of a run that all clients see. */
export class Scene {
  over = false;
  readonly latencies = new Latencies();
  /** Rows that were read and compared. */
  compared = 0;
  /** The store's clock. Only the client of expiring rows moves it. */
  now: number;

  constructor(
    public db: Database,
    now: number,
  ) {
    this.now = now;
  }

  time<T>(kind: string, work: () => Promise<T>): Promise<T> {
    return this.latencies.time(kind, work);
  }
}

/** Stops everything: a read has returned impossible data. */
export function wrong(what: string, found: unknown, expected: unknown): never {
  throw new Error(`${what}: ${JSON.stringify(found)?.slice(0, 300)} was read; expected: ${JSON.stringify(expected)?.slice(0, 300)}`);
}

const TEXT = 1 << 17;
const LETTERS = "abcdefghijklmnopqrstuvwxyzäöüß0123456789 ,.-";
const text = (() => {
  const next = random(42);
  return Array.from({ length: TEXT }, () => LETTERS[next() % LETTERS.length]).join("");
})();

/** A text that a number repeats; it does not compress to nothing. */
export function textOf(seed: number, length: number): string {
  const from = (Math.imul(seed, 2654435761) >>> 0) % (TEXT - length);
  return text.slice(from, from + length);
}

/** A place of a client's keys as a key: 20 rows share a partition key, and keys are in the order of places. */
export function keyOf(prefix: string, place: number): { group: string; n: number } {
  return { group: `${prefix}/${String(Math.floor(place / 20)).padStart(6, "0")}`, n: place % 20 };
}

/** The place of a key. */
export function placeOf({ group, n }: Record<string, unknown>): number {
  return Number((group as string).slice((group as string).lastIndexOf("/") + 1)) * 20 + Number(n);
}

/** The key columns of all tables here. */
export const PRIMARY_KEY = [
  { name: "group", type: "STRING" },
  { name: "n", type: "INTEGER" },
] as const;
