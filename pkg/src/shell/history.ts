/** The lines of before, as arrow keys walk through them. */

/** The most lines that are kept unless told otherwise. */
const KEPT = 500;

/**
 * The lines of before. `older` and `newer` walk through them from the line that is being typed, which comes back at the end.
 *
 * @example
 * ```ts
 * import { LineHistory } from "tabstore/shell";
 *
 * const history = new LineHistory(["list"]);
 * history.add("desc -t mytable");
 * history.older("ge")                                 // "desc -t mytable"
 * history.older("desc -t mytable")                    // "list"
 * ```
 */
export class LineHistory {
  private readonly kept: string[];
  private at: number;
  private typed = "";

  /** Takes lines, oldest first, and the most that are kept: 500 unless given. */
  constructor(
    lines: readonly string[] = [],
    private readonly most = KEPT,
  ) {
    this.kept = lines.slice(-most);
    this.at = this.kept.length;
  }

  /** The lines, oldest first. */
  get lines(): readonly string[] {
    return this.kept;
  }

  /** Adds a line that was run, and goes back to the end. Not twice the same in a row. */
  add(line: string): void {
    if (line.trim() !== "" && line !== this.kept.at(-1)) this.kept.push(line);
    if (this.kept.length > this.most) this.kept.shift();
    this.at = this.kept.length;
    this.typed = "";
  }

  /** The line before this one; `undefined` at the oldest. */
  older(current: string): string | undefined {
    if (this.at === 0) return undefined;
    if (this.at === this.kept.length) this.typed = current;
    return this.kept[--this.at];
  }

  /** The line behind this one, at last the one that is being typed; `undefined` behind that. */
  newer(): string | undefined {
    if (this.at === this.kept.length) return undefined;
    this.at += 1;
    return this.at === this.kept.length ? this.typed : this.kept[this.at];
  }
}
