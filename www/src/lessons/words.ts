/** The lines of a lesson: those of the official tool, and a few words for what a tool never does to a store. */

import { type BatchWriteItem, type Database, double, inspectImport, type KeyValue, type PrimaryKey, type ReadTrace, type TableDescription } from "tabstore";
import { type Answer, type Shell, shell } from "tabstore/shell";

import { count, counted, instant } from "../lib/format.ts";
import { stepText } from "../lib/inside.ts";
import { text } from "../lib/values.ts";

/** Rows of one call: the most that the service takes. */
const BATCH = 200;

/** What a line needs of the page. */
export interface Place {
  readonly db: Database;
  readonly shell: Shell;
  /** Ends the page, with a note of the lines that are to run behind it. */
  readonly kill?: (() => Promise<void>) | undefined;
  /** Hears of a read whose path was traced. */
  readonly onTrace?: ((trace: ReadTrace | undefined) => void) | undefined;
}

/** A place for lines on a database. */
export function placeOf(db: Database, kill?: () => Promise<void>): Place {
  return { db, shell: shell(db, { double, inspectImport }), kill };
}

function wholeNumber(word: string | undefined, fallback?: number): number {
  const value = word === undefined ? fallback : /^[+-]?\d{1,9}$/.test(word) ? Number(word) : undefined;
  if (value === undefined) throw new Error("A whole number is missing: fill 300, clock +60, bytes 5000, transfer 10.");
  return value;
}

function usedTable({ shell: { table } }: Place): string {
  if (table === undefined) throw new Error("No table is chosen: say 'use -t table' first.");
  return table;
}

/** The key of row `n`: its first column has one of `keys` values, its last one tells rows apart. */
function keyOf({ primaryKey }: TableDescription, n: number, keys: number): PrimaryKey {
  const key: Record<string, KeyValue> = {};
  const last = primaryKey.length - 1;
  for (const [at, { name, type }] of primaryKey.entries()) {
    const number = at === last ? n : at === 0 ? n % keys : 0;
    key[name] = type === "INTEGER" ? BigInt(number) : `k${String(number).padStart(6, "0")}`;
  }
  return key;
}

async function fill(place: Place, [rows, keys]: readonly string[]): Promise<string> {
  const tableName = usedTable(place);
  const table = await place.db.describeTable(tableName);
  const from = (await place.db.count({ tableName })).count;
  const wanted = wholeNumber(rows);
  for (let done = 0; done < wanted; done += BATCH) {
    const items = Array.from({ length: Math.min(BATCH, wanted - done) }, (_, at): BatchWriteItem => {
      const n = from + done + at;
      return { tableName, put: { primaryKey: keyOf(table, n, wholeNumber(keys, wanted)), attributes: { n: BigInt(n), note: `${(n * 7919) % 100_003}` } } };
    });
    const refused = (await place.db.batchWriteRow(items)).find(({ ok }) => !ok);
    if (refused !== undefined) throw refused.error;
  }
  return `${counted(wanted, "row")} acknowledged.`;
}

async function trace(place: Place, [key = ""]: readonly string[]): Promise<string> {
  const tableName = usedTable(place);
  const { primaryKey } = await place.db.describeTable(tableName);
  const [{ name = "", type } = {}] = primaryKey;
  const read = await place.db.getRow({ tableName, primaryKey: { [name]: type === "INTEGER" ? BigInt(wholeNumber(key)) : key }, trace: true });
  place.onTrace?.(read.trace);
  return [...(read.trace?.steps ?? []).map(stepText), read.row === null ? "There is no such row." : "The row is there."].join("\n");
}

/** Does all background work that is due, so that nobody has to wait for it. */
async function work({ db }: Place): Promise<string> {
  let pieces = 0;
  for (let { next } = await db.pauseWork(); next !== null; pieces++) next = (await db.stepWork()).next;
  await db.resumeWork();
  return pieces === 0 ? "Nothing was due." : `${counted(pieces, "piece")} of background work done.`;
}

async function partitions({ db }: Place): Promise<string> {
  const { trees } = await db.segments();
  const lines = trees.filter(({ kind }) => kind === "table").map((tree) => `${tree.tableName}: ${counted(tree.partitions.length, "partition")}`);
  return lines.join("\n") || "There is no table with rows.";
}

async function clock({ db }: Place, [by]: readonly string[]): Promise<string> {
  const seconds = wholeNumber(by);
  const now = (await db.metrics()).now + seconds * 1000;
  await db.setClock(now);
  return `Moved by ${count(seconds)} s: the clock says ${instant(now)} UTC.`;
}

async function bytes(place: Place, [size]: readonly string[]): Promise<string> {
  const tableName = usedTable(place);
  const table = await place.db.describeTable(tableName);
  const n = (await place.db.count({ tableName })).count;
  const { consumed } = await place.db.putRow({ tableName, primaryKey: keyOf(table, n, n + 1), attributes: { v: "x".repeat(wholeNumber(size)) } });
  return `Stored. ${counted(consumed.write, "write unit")}, ${counted(consumed.read, "read unit")}.`;
}

async function bill(place: Place): Promise<string> {
  const { total } = await place.db.computeConsumed({ tableName: usedTable(place) });
  const line = (name: string, { read, write }: { readonly read: number; readonly write: number }) => `${name}: ${count(read)} read, ${count(write)} write`;
  return [line("Consumed units", total.consumed), line("Reserved units", total.reserved), line("On-demand units", total.onDemand), `Cost: ${total.cost}`].join(
    "\n",
  );
}

/** Moves money between two rows of one owner, both or none. */
async function transfer(place: Place, [owner = "", amount]: readonly string[]): Promise<string> {
  const tableName = usedTable(place);
  const by = BigInt(wholeNumber(amount));
  const tx = await place.db.startLocalTransaction({ tableName, partitionKey: { owner } });
  try {
    const { row } = await tx.getRow({ tableName, primaryKey: { owner, kind: "cash" } });
    if (Number(row?.columns["balance"]?.[0]?.value ?? 0) < Number(by)) throw new Error("There is not so much in cash: nothing was changed.");
    await tx.updateRow({ tableName, primaryKey: { owner, kind: "cash" }, increment: { balance: -by } });
    await tx.updateRow({ tableName, primaryKey: { owner, kind: "savings" }, increment: { balance: by } });
    await tx.commit();
  } catch (error) {
    await tx.abort().catch(() => {});
    throw error;
  }
  return "Committed: both rows, in one step.";
}

async function changes(place: Place): Promise<string> {
  const lines = [];
  for await (const { type, primaryKey, cells } of place.db.changes({ tableName: usedTable(place), once: true })) {
    const said = cells.map((cell) => (cell.op === "PUT" ? `${cell.name} = ${text(cell.value)}` : `${cell.name} deleted`));
    lines.push(`${type} ${Object.values(primaryKey).join(" ")}: ${said.join(", ")}`);
  }
  return lines.join("\n") || "No change yet.";
}

const WORDS: Readonly<Record<string, (place: Place, rest: readonly string[]) => Promise<string>>> = {
  flush: async ({ db }) => db.flush().then(() => "All of memory is in segments."),
  compact: async ({ db }) => db.compact().then(() => "Each partition is one run; what was hidden is gone."),
  count: async (place) => `${counted((await place.db.count({ tableName: usedTable(place) })).count, "row")}.`,
  kill: async ({ kill }) => {
    if (kill === undefined) throw new Error("Only lesson 4 kills the page.");
    await kill();
    return "The page ends.";
  },
  fill,
  trace,
  work,
  partitions,
  clock,
  bytes,
  bill,
  transfer,
  changes,
};

/** What follows a word in an example. */
const EXAMPLES: Readonly<Record<string, string>> = {
  fill: " 300",
  trace: " k000107",
  clock: " +60",
  bytes: " 5000",
  transfer: " ann 10",
};

/** The words that the official tool does not have, as examples. */
export const OWN_WORDS: readonly string[] = Object.keys(WORDS).map((word) => `${word}${EXAMPLES[word] ?? ""}`);

/** The help of the tool, with the lessons' own words. */
async function help({ shell }: Place, line: string): Promise<string> {
  const [, topic] = line.trim().split(/\s+/);
  if (topic !== undefined && Object.hasOwn(WORDS, topic)) return `${topic} is the lessons' own: ${topic}${EXAMPLES[topic] ?? ""}`;
  const said = await shell.run(line);
  const text = said.kind === "text" ? said.text : "";
  return topic === undefined ? `${text}\n\nLessons also know: ${OWN_WORDS.join(", ")}.` : text;
}

/** Runs a line. */
export async function runWords(place: Place, line: string): Promise<Answer> {
  const [word = "", ...rest] = line.trim().split(/\s+/);
  const own = word === "help" ? () => help(place, line) : Object.hasOwn(WORDS, word) ? WORDS[word] : undefined;
  if (own === undefined) return place.shell.run(line);
  const began = performance.now();
  return { kind: "text", text: await own(place, rest), ms: performance.now() - began };
}
