/** Asks for lines in a terminal: with completion, and a history that the next run has too. */

import { createInterface, type Interface } from "node:readline";

import { LineHistory, type Shell } from "../shell/index.js";
import { writeHistory } from "./files.js";
import { print, printError } from "./output.js";

/** What a prompt needs. */
interface PromptOptions {
  readonly name: string;
  readonly historyFile: string;
  readonly history: readonly string[];
  readonly shell: () => Shell;
}

/** A prompt, and the lines that wait behind the one that is being run. */
export class Prompt {
  private readonly waiting: string[] = [];
  private readonly history: LineHistory;
  private readonly terminal: Interface;
  private running: AbortController | undefined;
  private isOver = false;
  private isAsking = false;
  private ended: () => void = () => {};

  constructor(private readonly options: PromptOptions) {
    this.history = new LineHistory(options.history);
    this.terminal = createInterface({
      input: process.stdin,
      output: process.stdout,
      terminal: true,
      history: [...options.history].reverse(),
      historySize: 500,
      completer: (line: string, done: (error: null, result: [string[], string]) => void) => {
        this.proposals(line).then(
          (result) => done(null, result),
          () => done(null, [[], line]),
        );
      },
    });
  }

  /** Proposals that go on with what is typed. */
  private async proposals(line: string): Promise<[string[], string]> {
    const { from, proposals } = await this.options.shell().complete(line);
    const typed = line.slice(from);
    const texts = proposals.map(({ text }) => text).filter((text) => text.startsWith(typed));
    return [texts.length === 1 ? [`${texts[0]} `] : texts, typed];
  }

  /** Asks a question that only `y` and `yes` agree to. */
  confirm(question: string): Promise<boolean> {
    this.isAsking = true;
    return new Promise((resolve) => {
      this.terminal.question(`${question} [y/N] `, (answer) => {
        this.isAsking = false;
        resolve(/^y(?:es)?$/i.test(answer.trim()));
      });
    });
  }

  private ask(): void {
    const { table } = this.options.shell();
    this.terminal.setPrompt(`${this.options.name}${table === undefined ? "" : `/${table}`}> `);
    this.terminal.prompt();
  }

  /** Runs a line. Gives whether more may come. */
  private async run(line: string): Promise<boolean> {
    this.history.add(line);
    this.running = new AbortController();
    try {
      const answer = await this.options.shell().run(line, { signal: this.running.signal });
      print(answer);
      return answer.kind !== "quit";
    } catch (error) {
      if (this.running.signal.aborted) console.error("Given up.");
      else printError(line, error);
      return true;
    } finally {
      this.running = undefined;
    }
  }

  private async work(): Promise<void> {
    for (let line = this.waiting.shift(); line !== undefined; line = this.waiting.shift()) {
      if (await this.run(line)) continue;
      this.terminal.close();
      return;
    }
    if (this.isOver) this.ended();
    else this.ask();
  }

  /** Ctrl+C gives up the line that runs, or the one that is typed. */
  private interrupt(): void {
    if (this.running !== undefined) {
      this.running.abort();
      return;
    }
    console.log("\n('quit' or Ctrl+D leaves)");
    (this.terminal as { line: string }).line = "";
    this.ask();
  }

  /** Asks until the end. */
  async talk(): Promise<void> {
    const end = new Promise<void>((resolve) => {
      this.ended = resolve;
    });
    this.terminal.on("line", (line) => {
      this.waiting.push(line);
      if (this.waiting.length === 1 && this.running === undefined) void this.work();
    });
    // An answer is no line of the history.
    this.terminal.on("history", (lines) => void (this.isAsking && lines.shift()));
    this.terminal.on("SIGINT", () => this.interrupt());
    this.terminal.on("close", () => {
      this.isOver = true;
      if (this.running === undefined) this.ended();
    });
    console.log(`'help' lists the commands, Tab completes, Ctrl+D leaves.`);
    this.ask();
    await end;
    await writeHistory(this.options.historyFile, this.history.lines);
  }
}
