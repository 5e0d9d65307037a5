/** The shell of the open instance: its lines and answers, and the history that a reload keeps. */

import { signal } from "@preact/signals";
import type { Database } from "tabstore";
import { type Answer, LineHistory, type Shell, shell } from "tabstore/shell";

import { route } from "../state/route.ts";
import { storedText, storeText } from "../state/stored-text.ts";
import { readAgain } from "../state/tables.ts";
import { HOST, noted } from "./host.ts";

/** A line, and what became of it. */
export interface Entry {
  readonly id: number;
  readonly line: string;
  readonly answer?: Answer;
  readonly error?: unknown;
}

/** The lines that were run, oldest first. */
export const entries = signal<readonly Entry[]>([]);
/** Whether a line is being run. */
export const running = signal<AbortController | undefined>(undefined);
/** The table of `use`. */
export const usedTable = signal<string | undefined>(undefined);

const PLACE = "tabstore-console-lines";
const MOST_ENTRIES = 100;
const MOST_LINES = 200;
/** Longer lines are not kept: a page has little room for such. */
const MOST_LENGTH = 4000;

function stored(): string[] {
  try {
    const lines: unknown = JSON.parse(storedText(PLACE) ?? "[]");
    return Array.isArray(lines) ? lines.filter((line): line is string => typeof line === "string") : [];
  } catch {
    // Others may write there.
    return [];
  }
}

/** The lines of before. */
export const history = new LineHistory(stored(), MOST_LINES);

function keep(line: string): void {
  history.add(line);
  storeText(PLACE, JSON.stringify(history.lines.filter(({ length }) => length <= MOST_LENGTH)));
}

let current: { readonly db: Database; readonly shell: Shell } | undefined;
let lastId = 0;

/** The shell of a database. A new one begins with the table that is shown. */
export function shellOf(db: Database): Shell {
  if (current?.db === db) return current.shell;
  current = { db, shell: shell(noted(db), HOST) };
  entries.value = [];
  usedTable.value = undefined;
  return current.shell;
}

/** Uses the table that is shown, unless one is used already. */
export async function useShownTable(made: Shell): Promise<void> {
  const { table } = route.peek();
  if (made.table !== undefined || table === undefined || /['\\]/.test(table)) return;
  // A table that is gone is told where it is shown.
  await made.run(`use -t '${table}'`).catch(() => {});
  usedTable.value = made.table;
}

const READS = /^\s*(?:use|list|desc|get|scan|export|help|clear|quit|exit|#|$)/;

/** Runs a line. Its answer, or why it failed, comes to the entries. */
export async function runLine(made: Shell, line: string): Promise<void> {
  keep(line);
  const id = ++lastId;
  const abort = new AbortController();
  running.value = abort;
  const add = (entry: Omit<Entry, "id" | "line">) => {
    entries.value = [...entries.value.slice(1 - MOST_ENTRIES), { id, line, ...entry }];
  };
  try {
    const answer = await made.run(line, { signal: abort.signal });
    if (answer.kind === "clear") entries.value = [];
    else add({ answer });
  } catch (error) {
    add({ error });
  } finally {
    running.value = undefined;
    usedTable.value = made.table;
    // What failed may have done a part.
    if (!READS.test(line)) readAgain();
  }
}
