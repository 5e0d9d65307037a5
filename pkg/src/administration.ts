/** Administrative calls that the engine refuses for now: they are tried again, those about tables in call order. */

import { TabStoreError } from "./errors.js";
import type { BackOff } from "./retry.js";

/** Operations that change tables. They keep their order if the engine finds them too frequent. */
const ORDERED = /Table|Index|Column/;

/** The administrative calls of a client. */
export class Administration {
  /** The operations on tables that wait for a retry, one after another. */
  private turns: Promise<unknown> | undefined;

  /** `ask` asks the engine once. */
  constructor(private readonly backOff: BackOff, private readonly ask: (op: string, args: unknown) => Promise<unknown>) {}

  /** Asks the engine, and asks again if it finds the call too frequent: one call after another, in call order. */
  async call(op: string, args: unknown, signal: AbortSignal | undefined): Promise<unknown> {
    let tries = 0;
    const once = (): Promise<unknown> => this.ask(op, args);
    const again = async (reason: unknown): Promise<unknown> => {
      const delay = this.backOff.delay(reason as TabStoreError, ++tries);
      if (delay === undefined || signal?.aborted) throw reason;
      await new Promise((resolve) => setTimeout(resolve, delay));
      if (signal?.aborted) throw reason;
      return once().catch(again);
    };
    if (this.turns === undefined || !ORDERED.test(op)) {
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
    const end = mine.catch(() => {}).then(() => {
      if (this.turns === end) this.turns = undefined;
    });
    this.turns = end;
    return mine;
  }
}
