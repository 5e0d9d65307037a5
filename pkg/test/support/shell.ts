/** Shells for tests: on the real engine in memory, with files in a map. */

import type { Database } from "../../src/index.js";
import { answerText, type Answer, shell, type Shell, ShellError } from "../../src/shell/index.js";
import { load, open } from "./package.js";

/** A shell, its database and its files. */
export interface TestShell {
  readonly db: Database;
  readonly shell: Shell;
  readonly files: Map<string, string>;
  /** Runs lines, one after another; gives the last answer. */
  run(...lines: string[]): Promise<Answer>;
  /** The answer as text, without its time. */
  text(line: string): Promise<string>;
  /** The stretch of a wrong line, its message and its usage. */
  wrong(line: string): Promise<{ readonly at: string; readonly message: string; readonly usage: string | undefined }>;
}

/** Makes a shell. The clock stands at `now`, if given. */
export async function testShell({ now, confirm }: { now?: number; confirm?: (question: string) => Promise<boolean> } = {}): Promise<TestShell> {
  const { double, inspectImport } = await load();
  const db = await open({ integers: "bigint", ...(now === undefined ? {} : { clock: { now } }) });
  const files = new Map<string, string>();
  const made = shell(db, {
    double,
    inspectImport,
    confirm,
    read: async (name) => {
      const text = files.get(name);
      if (text === undefined) throw new Error(`there is no file ${name}`);
      return new Blob([text]);
    },
    write: async (name, content) => void files.set(name, await new Response(content).text()),
    files: async (prefix) => [...files.keys()].filter((name) => name.startsWith(prefix)),
  });
  const run = async (...lines: string[]): Promise<Answer> => {
    let answer: Answer | undefined;
    for (const line of lines) answer = await made.run(line);
    return answer!;
  };
  return {
    db,
    shell: made,
    files,
    run,
    text: async (line) => answerText(await made.run(line)).replace(/,? ?[\d.]+ ms$/, ""),
    wrong: async (line) => {
      try {
        await made.run(line);
      } catch (error) {
        if (!(error instanceof ShellError)) throw error;
        return { at: line.slice(error.start, error.end), message: error.message, usage: error.usage };
      }
      throw new Error(`it was taken: ${line}`);
    },
  };
}
