/** The stream of rows of the show: so many a second as somebody chose, until it is stopped. */

import type { Database } from "tabstore";

import { itemAt } from "./rows.ts";

/** Rows a second at the speed 1: a memtable takes about two seconds to fill, so that eyes can follow. */
const ROWS_A_SECOND = 250;
/** How often rows are sent, in ms. */
const TURN_MS = 100;
/** Rows of one call: the most that the service takes. */
const BATCH = 200;

/** The speeds to choose from. */
export const SPEEDS = [1, 5, 50] as const;

/** A speed. */
export type Speed = (typeof SPEEDS)[number];

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** What a feed tells. */
interface FeedListener {
  /** So many writes, counted from the first one, are acknowledged. */
  readonly onAcknowledged: (writes: number) => void;
  readonly onError: (error: unknown) => void;
}

/** A feed. */
export class Feed {
  speed: Speed = 1;
  isHeld = false;
  /** Called once, when rows are on their way and not yet acknowledged. */
  onSent: (() => void) | undefined;
  #isStopped = false;

  /** The writes that are there. */
  acknowledged: number;
  readonly #db: Database;
  readonly #listener: FeedListener;

  /** @param acknowledged the writes that are there already. */
  constructor(db: Database, acknowledged: number, listener: FeedListener) {
    this.#db = db;
    this.acknowledged = acknowledged;
    this.#listener = listener;
  }

  /** Sends rows until the feed is stopped, or a write is refused. */
  async run(): Promise<void> {
    try {
      while (!this.#isStopped) {
        const began = performance.now();
        if (!this.isHeld) await this.#send(Math.round((ROWS_A_SECOND * this.speed * TURN_MS) / 1000));
        await pause(Math.max(0, TURN_MS - (performance.now() - began)));
      }
    } catch (error) {
      if (!this.#isStopped) this.#listener.onError(error);
    }
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #send(rows: number): Promise<void> {
    const calls = [];
    for (let from = 0; from < rows; from += BATCH) {
      const size = Math.min(BATCH, rows - from);
      calls.push(this.#db.batchWriteRow(Array.from({ length: size }, (_, at) => itemAt(this.acknowledged + from + at))));
    }
    const sent = this.onSent;
    this.onSent = undefined;
    sent?.();
    const refused = (await Promise.all(calls)).flat().find(({ ok }) => !ok);
    if (refused !== undefined) throw refused.error;
    this.acknowledged += rows;
    this.#listener.onAcknowledged(this.acknowledged);
  }
}
