/** The program of the console: its text, which a reload keeps, and what it has said. They outlast the view. */

import { effect, signal, untracked } from "@preact/signals";
import { TabStoreError, type Database } from "tabstore";

import { bodyOf, ProgramError, wrongLine } from "../lib/program.ts";
import { note } from "../state/calls.ts";
import { session } from "../state/session.ts";
import { readAgain } from "../state/tables.ts";
import type { MadeCall } from "./messages.ts";
import { ProgramWorker } from "./program-worker.ts";
import { served, serverAccess } from "../state/served.ts";
import { type Outcome, type Output, Runner } from "./runner.ts";
import { program } from "./text.ts";

/** What became of the program that was run last. */
export const outcome = signal<Outcome>({ kind: "none" });
/** What it has said, oldest first. */
export const output = signal<readonly Output[]>([]);
/** Older lines that are not kept. */
export const leftOut = signal(0);

/** Lines that are kept. */
const MOST = 1000;

function add(more: readonly Output[], missing: number): void {
  const all = [...output.value, ...more];
  const surplus = Math.max(all.length - MOST, 0);
  output.value = all.slice(surplus);
  leftOut.value += surplus + missing;
}

function noteCalls(made: readonly MadeCall[]): void {
  for (const { error, ...call } of made) {
    note({ ...call, error: error && new TabStoreError({ ...error, status: 0, retryable: false }) });
  }
}

const runner = new Runner(() => new ProgramWorker(), {
  outcome: (now) => {
    outcome.value = now;
    // It may have made tables. An effect that ends it is not one of the list.
    if (!["none", "starting", "running"].includes(now.kind)) untracked(readAgain);
  },
  output: add,
  calls: noteCalls,
});

/** The database that the program works on; it ends with it. */
let ofDatabase: Database | undefined;

effect(() => {
  const current = session.value;
  if (current.state === "open" && current.db === ofDatabase) return;
  runner.stop();
  ofDatabase = undefined;
});

// A page that waits in the back/forward cache must not keep a program that could lead other tabs, and is frozen.
addEventListener("pagehide", () => runner.stop());

/** Empties the output. */
export function clear(): void {
  output.value = [];
  leftOut.value = 0;
}

/** Runs the program on the open instance. */
export function run(db: Database): void {
  clear();
  const text = program.value;
  try {
    const body = bodyOf(text);
    const line = wrongLine(text);
    if (line !== undefined) throw new ProgramError("This is not JavaScript: a word or a bracket is wrong or missing here.", line);
    ofDatabase = db;
    runner.run(served === undefined ? db.name : serverAccess(), body);
  } catch (error) {
    if (!(error instanceof ProgramError)) throw error;
    runner.fail({ name: "SyntaxError", message: error.message, line: error.line });
  }
}

/** Ends it. */
export function stop(): void {
  runner.stop();
}
