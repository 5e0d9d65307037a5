/** Administrative calls that are asked again: those that the engine refuses for now, and those that a leader has not answered. */

import { isAskedAgain, isOrdered } from "../codec/administration.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import { TabStoreError } from "../types/errors.js";
import type { BackOff } from "./retry.js";

/** The administrative calls of a client. */
export class Administration {
  /** The operations that wait for a retry, one after another. */
  private turns: Promise<unknown> | undefined;

  /** `ask` asks the engine once. `follows` tells whether another engine than that one will answer now. */
  constructor(
    private readonly backOff: BackOff,
    private readonly ask: (op: AdminOperation, args: unknown) => Promise<unknown>,
    private readonly follows: () => boolean,
  ) {}

  /**
   * Asks the engine, and asks again if it finds the call too frequent: one call after another, in call order. If the engine has gone
   * without an answer, a `repeatable` operation is asked again of the next one. Those that are done `once` are in tabs/follower.ts.
   */
  async call(op: AdminOperation, args: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    let tries = 0;
    const once = async (): Promise<unknown> => {
      for (;;) {
        try {
          return await this.ask(op, args);
        } catch (error) {
          if ((error as TabStoreError).code !== "LeaderChanged" || !isAskedAgain(op) || !this.follows()) throw error;
        }
      }
    };
    const again = async (reason: unknown): Promise<unknown> => {
      const delay = this.backOff.delay(reason as TabStoreError, ++tries);
      if (delay === undefined || signal?.aborted) throw reason;
      await new Promise((resolve) => setTimeout(resolve, delay));
      if (signal?.aborted) throw reason;
      return once().catch(again);
    };
    if (this.turns === undefined || !isOrdered(op)) {
      try {
        return await once();
      } catch (error) {
        if (!(error instanceof TabStoreError) || this.backOff.delay(error, 1) === undefined) throw error;
        return this.inTurn(() => again(error));
      }
    }
    return this.inTurn(() => once().catch(again));
  }

  private inTurn(work: () => Promise<unknown>): Promise<unknown> {
    const mine = this.turns === undefined ? work() : this.turns.then(work);
    const end = mine
      .catch(() => {})
      .then(() => {
        if (this.turns === end) this.turns = undefined;
      });
    this.turns = end;
    return mine;
  }
}
