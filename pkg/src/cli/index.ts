/** The program `npx tabstore`: runs lines on a database in files or in memory. */

import { existsSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

import { type Database, double, inspectImport, open } from "../index.js";
import { errorText, type Shell, type ShellHost, shell } from "../shell/index.js";
import { CONSOLE_HELP, consoleArguments, serveConsole } from "../console/program.js";
import type { ServeArguments } from "../serve/arguments.js";
import { type Arguments, argumentsOf, HELP } from "./arguments.js";
import { namesOf, readBlob, readHistory, writeStream } from "./files.js";
import { print, printError } from "./output.js";
import { Prompt } from "./prompt.js";

const versionOf = (): string => (JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }).version;

/** Opens the instance. A new one in a folder is told, because its name may be mistyped. */
async function openDatabase({ data, instance }: Arguments): Promise<Database> {
  if (data === undefined) return open(instance, { storage: "memory", integers: "bigint" });
  const isNew = !existsSync(path.join(data, instance.toLowerCase()));
  const db = await open(instance, { storage: "files", path: data, integers: "bigint" });
  if (isNew) console.error(`The instance ${instance} in ${data} is new.`);
  return db;
}

const FILES: ShellHost = { double, inspectImport, read: readBlob, write: writeStream, files: namesOf };

/** Runs lines one after another. Gives whether all went well. */
async function runAll(line: Shell, lines: Iterable<string> | AsyncIterable<string>, keepGoing: boolean): Promise<boolean> {
  let isWell = true;
  for await (const text of lines) {
    try {
      const answer = await line.run(text);
      if (answer.kind === "quit") break;
      print(answer);
    } catch (error) {
      printError(text, error);
      isWell = false;
      if (!keepGoing) break;
    }
  }
  return isWell;
}

/** Asks for lines in a terminal. */
async function talk(db: Database, { data, instance }: Arguments): Promise<void> {
  const historyFile = path.join(data ?? os.homedir(), ".tabstore_history");
  const prompt: Prompt = new Prompt({ name: instance, historyFile, history: await readHistory(historyFile), shell: () => line });
  const line = shell(db, { ...FILES, confirm: (question) => prompt.confirm(question) });
  await prompt.talk();
}

async function work(asked: Arguments): Promise<boolean> {
  const db = await openDatabase(asked);
  try {
    if (asked.lines.length === 0 && process.stdin.isTTY) {
      await talk(db, asked);
      return true;
    }
    const lines = asked.lines.length > 0 ? asked.lines : createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
    return await runAll(shell(db, FILES), lines, asked.keepGoing);
  } finally {
    await db.close();
  }
}

/** Arguments, and what they ask for beside the work. */
interface Asked {
  readonly help: boolean;
  readonly version?: boolean;
}

/** A program: how it reads its arguments, its help, and its work, which gives whether all went well. */
interface Program<A extends Asked> {
  readonly argumentsOf: (given: readonly string[]) => A;
  readonly help: string;
  readonly work: (asked: A) => Promise<boolean>;
}

const SHELL: Program<Arguments> = { argumentsOf, help: HELP, work };

const CONSOLE: Program<ReturnType<typeof consoleArguments>> = {
  argumentsOf: consoleArguments,
  help: CONSOLE_HELP,
  work: async (asked) => {
    await serveConsole(asked);
    return true;
  },
};

/** Runs a program. Gives its exit code: 2 for arguments that it does not know. */
async function run<A extends Asked>({ argumentsOf, help, work }: Program<A>, given: readonly string[]): Promise<number> {
  let asked: A;
  try {
    asked = argumentsOf(given);
  } catch (error) {
    console.error(`${(error as Error).message}\n${help.split("\n", 1)[0]}`);
    return 2;
  }
  if (asked.help || asked.version === true) {
    console.log(asked.help ? help : versionOf());
    return 0;
  }
  try {
    return (await work(asked)) ? 0 : 1;
  } catch (error) {
    console.error(errorText("", error));
    return 1;
  }
}

/** The server, whose code is loaded for it alone. */
async function server(): Promise<Program<ServeArguments>> {
  const { SERVE_HELP, serve, serveArguments } = await import("../serve/program.js");
  return {
    argumentsOf: serveArguments,
    help: SERVE_HELP,
    work: async (asked) => {
      await serve(asked);
      return true;
    },
  };
}

/** Runs what the arguments ask for. Gives the exit code. */
async function main(given: readonly string[]): Promise<number> {
  if (given[0] === "console") return run(CONSOLE, given.slice(1));
  if (given[0] === "serve") return run(await server(), given.slice(1));
  return run(SHELL, given);
}

// A reader such as `head` may leave early.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});
process.exitCode = await main(process.argv.slice(2));
