/** What is wrong with a line, and where. */

/** A stretch of a line: from a character to the one behind the last, from 0. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

/**
 * A line that cannot be run: nothing was done. Its message says what is wrong with the stretch from `start` to `end` of the line, and
 * `usage` is the right form of the command, if the line names one. {@link errorText} shows all of it.
 */
export class ShellError extends Error {
  override readonly name = "ShellError";
  /** The first wrong character of the line, from 0. */
  readonly start: number;
  /** The character behind the last wrong one. */
  readonly end: number;
  /** The right form of the command; `undefined` if the line names none. */
  readonly usage: string | undefined;

  /** Makes an error; applications do not need it. */
  constructor(message: string, { start, end }: Stretch, usage?: string) {
    super(message);
    this.start = start;
    this.end = end;
    this.usage = usage;
  }

  /** The same error with the right form of the command that it was found in. */
  withUsage(usage: string): ShellError {
    return this.usage === undefined ? new ShellError(this.message, this, usage) : this;
  }
}

/** The number of single changes (a letter more, less, another one, two swapped) between two words. */
function distance(a: string, b: string): number {
  let [older, old] = [[] as number[], Array.from({ length: b.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(row[j - 1] + 1, old[j] + 1, old[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1), swapped ? older[j - 2] + 1 : Number.POSITIVE_INFINITY);
    }
    [older, old] = [old, row];
  }
  return old[b.length];
}

/** A question about the known word that is meant, or nothing: `; did you mean 'put'?`. */
export function meant(word: string, known: readonly string[]): string {
  const near = known.map((one) => [distance(word.toLowerCase(), one.toLowerCase()), one] as const).sort(([a], [b]) => a - b)[0];
  const isNear = near !== undefined && near[0] <= (word.length > 4 ? 2 : 1) && near[0] < word.length;
  return isNear ? `; did you mean '${near[1]}'?` : "";
}
