/** Runs lines on a database. */

import type { Database } from "../index.js";
import type { Answer } from "./answer.js";
import { type CommandName, commandOf } from "./commands.js";
import { type Completion, completeLine } from "./complete.js";
import { Context, type RunOptions, type ShellHost, type Untimed } from "./context.js";
import { ShellError } from "./errors.js";
import { helpOf, helpText, usageOf } from "./help.js";
import { type ParsedLine, parseLine } from "./parse.js";
import { exportRows, importRows } from "./run-files.js";
import { get, scan, write } from "./run-rows.js";
import { alter, create, desc, drop, list, use } from "./run-tables.js";

type Run = (context: Context) => Promise<Untimed> | Untimed;

function help({ line }: Context): Untimed {
  const topic = line.topic === undefined ? undefined : commandOf(line.topic)!;
  return { kind: "text", text: topic === undefined ? helpText() : `Usage: ${usageOf(topic)}\n${helpOf(topic)}` };
}

/** The commands. */
const RUN: Readonly<Record<CommandName, Run>> = {
  create,
  use,
  list,
  desc,
  alter,
  drop,
  put: write,
  update: write,
  delete: write,
  get,
  scan,
  export: exportRows,
  import: importRows,
  help,
  clear: () => ({ kind: "clear" }),
  quit: () => ({ kind: "quit" }),
};

/** A shell on an open database. Several may share one; each has a table of its own that is used. */
export class Shell {
  private used: string | undefined;

  /** @internal */
  constructor(
    private readonly db: Database,
    private readonly host: ShellHost,
  ) {}

  /** The table of `use`; `undefined` before. */
  get table(): string | undefined {
    return this.used;
  }

  /**
   * Runs a line. An empty one, and a comment behind `#`, answer `none`.
   *
   * @throws {@link ShellError} for a line that is wrong, with the place: nothing was done then. {@link TabStoreError} if the database
   * refuses it. The signal's reason.
   */
  async run(line: string, { signal }: RunOptions = {}): Promise<Answer> {
    const began = performance.now();
    const parsed = parseLine(line);
    const answer = parsed === undefined ? ({ kind: "none" } as const) : await this.answer(parsed, signal);
    return { ...answer, ms: performance.now() - began };
  }

  private async answer(parsed: ParsedLine, signal: AbortSignal | undefined): Promise<Untimed> {
    try {
      const context = new Context(this.db, this.host, parsed, this.used, signal);
      const answer = await RUN[parsed.command](context);
      this.follow(parsed, context);
      return answer;
    } catch (error) {
      throw error instanceof ShellError ? error.withUsage(usageOf(parsed.spec)) : error;
    }
  }

  /** What a line that has run changes about the shell. A new table is not used by itself, as in the official tool. */
  private follow({ command }: ParsedLine, { options }: Context): void {
    if (command === "use") this.used = options.text("table");
  }

  /** What may stand at a place of a line: at its end, unless told. Reads a few rows at most, and changes nothing. */
  complete(line: string, caret = line.length): Promise<Completion> {
    return completeLine(this.db, this.host, this.used, line, caret);
  }
}
