/** What the page and the worker in which a program runs say to each other. */

import type { TabStoreError } from "tabstore";

import type { EndedCall } from "../lib/ended-call.ts";
import type { ServerAccess } from "../state/served.ts";

/** How a line was said: by `console.log`, by `console.warn` or `console.error`, or as the program's last value. */
export type Level = "log" | "warn" | "error" | "value";

/** A line that a program has said. */
export interface Said {
  readonly level: Level;
  readonly text: string;
}

/** An error of a program. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  /** What helps with it. */
  readonly hint?: string | undefined;
  /** The line of the program, from 1; none if the error has no place in it. */
  readonly line?: number | undefined;
}

/** A call of the database that a program has made. */
export interface MadeCall extends Omit<EndedCall, "error"> {
  /** What is left of its error on the way. */
  readonly error: Pick<TabStoreError, "code" | "message"> | undefined;
}

/** The instance that a program gets: one of this browser by its name, or that of a server. */
export type Target = string | ServerAccess;

/** What the page says. */
export type ToWorker = { readonly kind: "run"; readonly target: Target; readonly body: string } | { readonly kind: "ping" };

/** What the worker says. */
export type FromWorker =
  /** It listens. */
  | { readonly kind: "ready" }
  /** The answer to a ping: no loop holds its thread. */
  | { readonly kind: "pong" }
  /** The instance is open, and the program runs. */
  | { readonly kind: "begun" }
  /** Lines, behind so many that were left out because there were too many. */
  | { readonly kind: "said"; readonly lines: readonly Said[]; readonly leftOut: number }
  | { readonly kind: "calls"; readonly calls: readonly MadeCall[] }
  /** The program has come to its end. */
  | { readonly kind: "done"; readonly ms: number }
  /** It threw, or something that it has started did so later. */
  | { readonly kind: "failed"; readonly failure: Failure; readonly isEnd: boolean };
