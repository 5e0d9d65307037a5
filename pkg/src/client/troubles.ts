/** Problems that do not end an engine, for the health listeners. */

import type { TabStoreError } from "../types/errors.js";

/** The most problems that wait for a listener. */
const MOST = 16;

/** Problems as they come; `null`: a problem is over. Those without a listener wait for the first one. */
export class Troubles {
  private readonly early: (TabStoreError | null)[] = [];
  private tell: ((error: TabStoreError | null) => void) | undefined;

  add(error: TabStoreError | null): void {
    if (this.tell !== undefined) this.tell(error);
    else if (this.early.length < MOST) this.early.push(error);
  }

  /** Calls `tell` with each problem, and at once with earlier ones. */
  listen(tell: (error: TabStoreError | null) => void): void {
    if (this.tell !== undefined) return;
    this.tell = tell;
    for (const error of this.early.splice(0)) tell(error);
  }
}
