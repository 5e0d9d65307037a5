/** Answers that nobody waits for any longer than the caller wants, or than there can be one. */

import { local } from "./errors.js";

/** The rejection that a signal stands for. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? local("Aborted", "The call was given up.");
}

/** What `answer` gives, unless the caller gives up first. */
export function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return answer;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(abortReason(signal));
    signal.addEventListener("abort", abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Those who wait for an engine that may fail. */
export class Waiting {
  private readonly rejects = new Set<(error: unknown) => void>();

  /** What `answer` gives, unless the engine fails first: then it may never come. */
  unlessFailed<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.rejects.add(reject);
      answer.then(resolve, reject).finally(() => this.rejects.delete(reject));
    });
  }

  /** The engine has failed. */
  fail(error: unknown): void {
    for (const reject of this.rejects) reject(error);
  }
}
