/** The way of a program's lines to the page: at once as long as they are few, then gathered, so that a loop cannot flood the page. */

import type { Said } from "./messages.ts";

/** Lines that are sent at once between two gatherings: those before a loop that never ends are seen. */
const AT_ONCE = 200;
/** Lines that are gathered; of more the oldest are left out. */
const MOST = 500;
/** How often they are sent, in ms. */
const EVERY_MS = 100;

/** The outlet. */
export class Outlet {
  readonly #send: (lines: readonly Said[], leftOut: number) => void;
  #sent = 0;
  #waiting: Said[] = [];
  #leftOut = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(send: (lines: readonly Said[], leftOut: number) => void) {
    this.#send = send;
  }

  say(line: Said): void {
    this.#timer ??= setTimeout(() => this.flush(), EVERY_MS);
    if (this.#sent < AT_ONCE) {
      this.#sent += 1;
      this.#send([line], 0);
      return;
    }
    this.#waiting.push(line);
    // Twice as many are held, so that they are not moved for each new one.
    if (this.#waiting.length >= 2 * MOST) this.#cut();
  }

  #cut(): void {
    const surplus = this.#waiting.length - MOST;
    if (surplus <= 0) return;
    this.#leftOut += surplus;
    this.#waiting = this.#waiting.slice(surplus);
  }

  /** Sends what waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#cut();
    if (this.#waiting.length > 0) this.#send(this.#waiting, this.#leftOut);
    this.#waiting = [];
    this.#leftOut = 0;
    this.#sent = 0;
  }
}
