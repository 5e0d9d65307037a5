/** Answers that are awaited only as long as they can arrive. */

/** Callers that wait for an engine that may fail. */
export class Waiting {
  private readonly rejects = new Set<(error: unknown) => void>();

  /** The result of `answer`, unless the engine fails first: then it may never come. */
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
