/**
 * Turning pages of entities.
 *
 * The service goes forward only: each page tells where the next one begins. So the beginnings of the pages before are kept, and
 * the page before is read again from its own.
 */

import type { Continuation, EntityPage } from "./client.ts";

/** The beginnings of the pages up to one, its own last; that of the first is `undefined`. */
export type Starts = readonly (Continuation | undefined)[];

/** The beginning of the first page. */
export const FIRST: Starts = [undefined];

/** A page that is shown. */
export interface ShownPage extends EntityPage {
  readonly starts: Starts;
}

/** Reads the page that begins somewhere. */
export type ReadPage = (from: Continuation | undefined) => Promise<EntityPage>;

/** The turns. Only the page that was asked for last is shown. */
export class EntityTurns {
  private turn = 0;
  /** The page that was asked for and has not come. */
  private asked: Starts | undefined;
  private readonly show: (page: ShownPage | undefined, error: unknown) => void;

  constructor(show: (page: ShownPage | undefined, error: unknown) => void) {
    this.show = show;
  }

  /** Turns to the last of these pages. */
  to(read: ReadPage, starts: Starts): void {
    const mine = ++this.turn;
    this.asked = starts;
    const show = (page: ShownPage | undefined, error: unknown) => {
      if (mine !== this.turn) return;
      this.asked = undefined;
      this.show(page, error);
    };
    read(starts.at(-1)).then(
      (page) => show({ ...page, starts }, undefined),
      (error: unknown) => show(undefined, error),
    );
  }

  /** Reads what is shown again, or what was asked for and has not come. */
  again(read: ReadPage, shown: Starts): void {
    this.to(read, this.asked ?? shown);
  }
}
