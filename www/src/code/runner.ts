/** Runs a program in a worker of its own, and ends the worker: when somebody stops it, when another program begins, or when it hangs. */

import type { Failure, FromWorker, MadeCall, Said, Target, ToWorker } from "./messages.ts";

/** The worker, as far as the runner needs it. */
export interface WorkerLike {
  postMessage(message: ToWorker): void;
  terminate(): void;
  set onmessage(heard: ((event: MessageEvent<FromWorker>) => void) | null);
  set onerror(failed: ((event: ErrorEvent) => void) | null);
}

/** What became of a program. */
export type Outcome =
  /** None was run. */
  | { readonly kind: "none" }
  /** Its worker or the instance is being opened. */
  | { readonly kind: "starting" }
  | { readonly kind: "running" }
  /** It has come to its end. What it has left running goes on. */
  | { readonly kind: "done"; readonly ms: number }
  | { readonly kind: "failed" }
  /** Somebody has stopped it. */
  | { readonly kind: "stopped" }
  /** It did not answer for so many seconds, and was ended. */
  | { readonly kind: "hung"; readonly seconds: number };

/** Something that a program has said, or an error of it. */
export type Output = (Said & { readonly id: number }) | { readonly level: "failure"; readonly id: number; readonly failure: Failure };

/** Whoever shows a program. */
export interface Audience {
  readonly outcome: (outcome: Outcome) => void;
  /** `leftOut`: lines before these that were too many. */
  readonly output: (output: readonly Output[], leftOut: number) => void;
  readonly calls: (calls: readonly MadeCall[]) => void;
}

/** How often a running worker is asked for a sign of life, in ms. */
export const ASK_MS = 1000;
/** Signs of life that may be missing, one after another. Questions are counted and not seconds: a sleeping machine asks none. */
export const PATIENCE = 5;

/** The runner. */
export class Runner {
  readonly #begin: () => WorkerLike;
  readonly #audience: Audience;
  #worker: WorkerLike | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #unanswered = 0;
  #lastId = 0;

  constructor(begin: () => WorkerLike, audience: Audience) {
    this.#begin = begin;
    this.#audience = audience;
  }

  /** Runs the body of a program on an instance, in place of the program before. */
  run(target: Target, body: string): void {
    this.#end();
    this.#audience.outcome({ kind: "starting" });
    const worker = this.#begin();
    this.#worker = worker;
    worker.onmessage = ({ data }) => {
      if (worker !== this.#worker) return;
      if (data.kind === "ready") {
        worker.postMessage({ kind: "run", target, body });
        this.#timer = setInterval(() => this.#ask(), ASK_MS);
      } else this.#hear(data);
    };
    // Its file could not be loaded, or it was ended by the browser.
    worker.onerror = (event) => {
      if (worker !== this.#worker) return;
      event.preventDefault();
      this.fail({ name: "Error", message: `The worker of the program did not start${event.message ? `: ${event.message}` : ""}. Is the network there?` });
    };
  }

  /** Ends the program before it has begun. */
  fail(failure: Failure): void {
    this.#end();
    this.#audience.output([{ level: "failure", id: ++this.#lastId, failure }], 0);
    this.#audience.outcome({ kind: "failed" });
  }

  /** Ends the program, and whatever it has left running. */
  stop(): void {
    if (this.#worker === undefined) return;
    this.#end();
    this.#audience.outcome({ kind: "stopped" });
  }

  #hear(data: FromWorker): void {
    switch (data.kind) {
      case "pong":
        this.#unanswered = 0;
        break;
      case "begun":
        this.#audience.outcome({ kind: "running" });
        break;
      case "said":
        this.#audience.output(
          data.lines.map((line) => ({ ...line, id: ++this.#lastId })),
          data.leftOut,
        );
        break;
      case "calls":
        this.#audience.calls(data.calls);
        break;
      case "done":
        this.#audience.outcome({ kind: "done", ms: data.ms });
        break;
      case "failed":
        this.#audience.output([{ level: "failure", id: ++this.#lastId, failure: data.failure }], 0);
        if (data.isEnd) this.#audience.outcome({ kind: "failed" });
    }
  }

  #ask(): void {
    if (this.#unanswered >= PATIENCE) {
      this.#end();
      this.#audience.outcome({ kind: "hung", seconds: (PATIENCE * ASK_MS) / 1000 });
      return;
    }
    this.#unanswered += 1;
    this.#worker?.postMessage({ kind: "ping" });
  }

  #end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#unanswered = 0;
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}
