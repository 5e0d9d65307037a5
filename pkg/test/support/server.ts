/** `npx tabstore serve`, started as a person starts it. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";

const PROGRAM = path.resolve("dist/cli.js");

/** A server that runs. */
export interface ServerProcess {
  readonly child: ChildProcess;
  /** The addresses of its doors, without a slash at the end. */
  readonly tablestore: string;
  readonly azure: string;
  readonly console: string;
  /** The lines that it has written so far. */
  readonly lines: readonly string[];
  /** Sends a signal, and waits for the end. Gives the exit code; `null` after a kill. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts a server on free ports, and waits until it listens. */
export async function serve(t: TestContext | undefined, ...args: string[]): Promise<ServerProcess> {
  const ports = ["--port", "0", "--azure-port", "0", "--console-port", "0"];
  const child = spawn(process.execPath, [PROGRAM, "serve", ...ports, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  t?.after(() => child.kill("SIGKILL"));
  const exited = once(child, "exit");
  const lines: string[] = [];
  let failure = "";
  child.stderr.on("data", (data) => (failure += data));
  const isReady = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      lines.push(line);
      // The last line but the snippets.
      if (/^(?:The access key is|Every request passes)/.test(line)) resolve();
    });
  });
  await Promise.race([isReady, exited.then(() => assert.fail(`the server has ended: ${failure}`))]);
  const of = (name: string): string | undefined =>
    lines.map((line) => new RegExp(`^ {2}${name} +(http://\\S+)`).exec(line)?.[1]).find((found) => found !== undefined);
  return {
    child,
    tablestore: of("Table Store")!,
    azure: of("Azure tables")!,
    console: of("Console")!,
    lines,
    async end(signal = "SIGTERM") {
      child.kill(signal);
      const [status] = (await exited) as [number | null];
      return status;
    },
  };
}
