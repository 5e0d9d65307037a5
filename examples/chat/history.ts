/** The part of a conversation that a page shows. It is read page by page, and grows in both directions. */

import type { PageOptions, SequenceId, TimelineEntry, TimelineQueue } from "tabstore/timeline";

import type { Message } from "./chat.ts";

/** A window on a timeline. Calls wait for the calls before them, so that no message comes twice. */
export class History {
  /** The messages, oldest first. */
  entries: readonly TimelineEntry<Message>[] = [];
  /** Whether there may be older ones. */
  hasOlder = false;
  /** Whether there may be newer ones. Without any the end is shown, and {@link History.newer} brings what has arrived. */
  hasNewer = false;

  private readonly queue;
  private readonly size;
  private turn: Promise<unknown> = Promise.resolve();

  /** Nothing is read yet. `size`: the messages of a page. */
  constructor(queue: TimelineQueue<Message>, size = 40) {
    this.queue = queue;
    this.size = size;
  }

  /** Shows the newest messages, and no others. */
  newest(): Promise<void> {
    return this.inTurn(async () => {
      const { entries, token } = await this.page({ direction: "BACKWARD" });
      this.entries = entries.toReversed();
      this.hasOlder = token !== null;
      this.hasNewer = false;
    });
  }

  /** Shows the oldest messages, and no others. */
  oldest(): Promise<void> {
    return this.inTurn(async () => {
      const { entries, token } = await this.page({ direction: "FORWARD" });
      this.entries = entries;
      this.hasOlder = false;
      this.hasNewer = token !== null;
    });
  }

  /** Shows the messages from an id on, and a page of older ones. */
  around(id: SequenceId): Promise<void> {
    return this.inTurn(async () => {
      const [before, behind] = await Promise.all([this.page({ direction: "BACKWARD", after: id }), this.page({ from: id })]);
      this.entries = [...before.entries.toReversed(), ...behind.entries];
      this.hasOlder = before.token !== null;
      this.hasNewer = behind.token !== null;
    });
  }

  /** Adds a page of older messages. */
  older(): Promise<void> {
    return this.inTurn(async () => {
      const after = this.entries[0]?.sequenceId;
      const { entries, token } = await this.page({ direction: "BACKWARD", after });
      this.entries = [...entries.toReversed(), ...this.entries];
      this.hasOlder = token !== null;
    });
  }

  /** Adds a page of newer messages, those that have arrived among them. */
  newer(): Promise<void> {
    return this.inTurn(async () => {
      const { entries, token } = await this.page({ after: this.entries.at(-1)?.sequenceId });
      this.entries = [...this.entries, ...entries];
      this.hasNewer = token !== null;
    });
  }

  /** Whether the end is shown without this message, which an inbox has. Then {@link History.newer} brings it. */
  lacks(id: SequenceId | undefined): boolean {
    const last = this.entries.at(-1)?.sequenceId;
    return id !== undefined && !this.hasNewer && (last === undefined || last < id);
  }

  private page(options: PageOptions) {
    return this.queue.page({ maxCount: this.size, ...options });
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.turn.then(work);
    this.turn = mine.catch(() => {});
    return mine;
  }
}
