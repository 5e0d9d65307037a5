/** What may stand at a place of a line: commands, options, tables, columns, keys, files. */

import type { Database, InfMax, InfMin, KeyColumn, KeyValue, RangeKey } from "../index.js";
import { INF_MAX, INF_MIN } from "../types/values.js";
import { COMMANDS, type CommandSpec, commandOf, type OptionSpec } from "./commands.js";
import type { ShellHost } from "./context.js";
import { valueText } from "./help.js";
import { type Json, readJsonText } from "./json.js";
import { boundOf, jsonOfKeyValue } from "./values.js";
import { quote, type Word, wordsOf } from "./words.js";

/** A proposal. */
export interface Proposal {
  /** The text for the line, with quotes if it needs them. */
  readonly text: string;
  /** What it is, in a few words. */
  readonly help?: string;
}

/** Proposals for a stretch of the line. */
export interface Completion {
  /** The first character of the line that a proposal replaces, and the one behind the last. */
  readonly from: number;
  readonly to: number;
  readonly proposals: readonly Proposal[];
}

/** The most proposals of a kind that a read gives. */
const MOST = 20;

/** Where a completion happens. */
interface Place {
  readonly db: Database;
  readonly host: ShellHost;
  /** The table that the line is about. */
  readonly table: string | undefined;
  /** What stands there so far. */
  readonly typed: string;
}

const plain = (texts: readonly string[], typed: string, help?: string): Proposal[] =>
  texts.filter((text) => text.startsWith(typed)).map((text) => ({ text: quote(text), ...(help === undefined ? {} : { help }) }));

// ------------------------------------------------------------------------------------------------ columns and keys

/** The names of columns of a table: the defined ones, and those of its first rows. */
async function columnsOf({ db, table }: Place): Promise<string[]> {
  if (table === undefined) return [];
  const [{ definedColumns }, { rows }] = await Promise.all([db.describeTable({ tableName: table }), db.getRange({ tableName: table, limit: MOST })]);
  return [...new Set([...definedColumns.map(({ name }) => name), ...rows.flatMap(({ columnNames }) => columnNames)])].sort();
}

async function columnProposals(place: Place): Promise<Proposal[]> {
  const before = place.typed.slice(0, place.typed.lastIndexOf(",") + 1);
  const taken = before.split(",");
  const names = (await columnsOf(place)).filter((name) => !taken.includes(name));
  return plain(
    names.slice(0, 200).map((name) => before + name),
    place.typed,
    "column",
  );
}

/** The beginning of a key: its whole values, and how the next one begins. */
interface KeyStart {
  readonly whole: readonly Json[];
  readonly part: string | undefined;
}

/** Reads what is typed of a key; `undefined` where it is the beginning of none. */
function keyStart(typed: string): KeyStart | undefined {
  const text = typed.trim() === "" ? "[" : typed;
  for (const [close, isOpen] of [
    ["]", /[[,]\s*$/.test(text) ? false : !/["\]]\s*$/.test(text)],
    ['"]', true],
    ["null]", false],
  ] as const) {
    try {
      const json = readJsonText(text + close);
      if (json.kind !== "array") return undefined;
      const items = close === "null]" ? json.items.slice(0, -1) : json.items;
      const last = items.at(-1);
      if (!isOpen || last === undefined) return { whole: items, part: undefined };
      return { whole: items.slice(0, -1), part: last.kind === "text" || last.kind === "number" ? last.value : "" };
    } catch {
      // It ends in another way.
    }
  }
  return undefined;
}

/** The ends of the range of keys that begin so. */
function rangeOf({ whole, part }: KeyStart, columns: readonly KeyColumn[]): { start: RangeKey; end: RangeKey } {
  const array: Json = { kind: "array", items: whole, start: 0, end: 0 };
  const next = columns[whole.length];
  const ends = (rest: InfMin | InfMax, text: string | undefined): RangeKey => {
    const bound = boundOf(array, columns, rest);
    return text === undefined ? bound : { ...bound, [next.name]: text };
  };
  const isText = part !== undefined && part !== "" && next?.type === "STRING";
  return { start: ends(INF_MIN, isText ? part : undefined), end: ends(INF_MAX, isText ? `${part}\u{10ffff}` : undefined) };
}

/** Keys of the table that begin as typed: a bounded read. */
async function keyProposals({ db, table, typed }: Place): Promise<Proposal[]> {
  const start = keyStart(typed);
  if (table === undefined || start === undefined) return [];
  const { primaryKey } = await db.describeTable({ tableName: table });
  if (start.whole.length >= primaryKey.length && start.part === undefined) return [];
  const { rows } = await db.getRange({ tableName: table, ...rangeOf(start, primaryKey), limit: MOST });
  const at = start.whole.length;
  const fits = (values: readonly KeyValue[]): boolean => start.part === undefined || String(values[at]).startsWith(start.part);
  return rows
    .map((row) => primaryKey.map(({ name }) => row.primaryKey[name]))
    .filter(fits)
    .map((values) => ({ text: quote(`[${values.map(jsonOfKeyValue).join(",")}]`), help: "key" }));
}

// ------------------------------------------------------------------------------------------------ values and options

/** Proposals for the value of an option. */
async function valueProposals(option: OptionSpec, place: Place): Promise<Proposal[]> {
  const { typed, host, db } = place;
  const { type } = option;
  if (typeof type !== "string") return plain(type, typed);
  if (type === "table") return plain(await db.listTable(), typed, "table");
  if (type === "boolean") return plain(["true", "false"], typed);
  if (type === "columns") return columnProposals(place);
  if (type === "key" || type === "bound") return keyProposals(place);
  if (type === "file") return plain((await host.files?.(typed)) ?? [], typed, "file");
  // A form to fill in.
  return typed === "" && ["schema", "attributes", "cells", "counters", "filter"].includes(type) ? [{ text: valueText(option), help: "form" }] : [];
}

/** Proposals for an option that is not there yet. */
function optionProposals(spec: CommandSpec, words: readonly Word[], typed: string): Proposal[] {
  const given = new Set(words.map(({ text }) => optionOf(spec, text)?.name));
  return spec.options
    .filter(({ name }) => !given.has(name))
    .map((option) => ({ text: `--${option.name}`, short: option.short === undefined ? undefined : `-${option.short[0]}`, help: option.help }))
    .filter(({ text, short }) => text.startsWith(typed) || short === typed)
    .map(({ text, help }) => ({ text, help }));
}

const optionOf = (spec: CommandSpec, text: string): OptionSpec | undefined =>
  spec.options.find(({ name, short }) => text === `--${name}` || (short !== undefined && text.length === 2 && text[0] === "-" && short.includes(text[1])));

/** The table that a line is about: that of its `-t`, or of `use`. */
function tableOf(spec: CommandSpec, words: readonly Word[], used: string | undefined): string | undefined {
  const at = words.findIndex(({ text }) => optionOf(spec, text)?.name === "table");
  return at < 0 ? used : (words[at + 1]?.text ?? used);
}

/** What may stand at a place of a line. What cannot be read proposes nothing. */
export async function completeLine(db: Database, host: ShellHost, used: string | undefined, line: string, caret: number): Promise<Completion> {
  const head = line.slice(0, caret);
  const words = wordsOf(head);
  const last = words.at(-1);
  const isWithin = last !== undefined && (last.end === caret || last.open !== undefined);
  const before = isWithin ? words.slice(0, -1) : words;
  const typed = isWithin ? last.text : "";
  const made = (proposals: readonly Proposal[]): Completion => ({ from: isWithin ? last.start : caret, to: caret, proposals });
  const commands = (): Proposal[] => COMMANDS.filter(({ name }) => name.startsWith(typed)).map(({ name, help }) => ({ text: name, help }));
  if (before.length === 0) return made(commands());
  const spec = commandOf(before[0].text);
  if (spec === undefined) return made([]);
  if (spec.topic === true) return made(before.length === 1 ? commands() : []);
  const option = before.length > 1 ? optionOf(spec, before.at(-1)!.text) : undefined;
  if (option === undefined || option.type === "flag") return made(typed === "" || typed.startsWith("-") ? optionProposals(spec, before, typed) : []);
  const place: Place = { db, host, typed, table: option.name === "table" ? used : tableOf(spec, before, used) };
  return made(await valueProposals(option, place).catch(() => []));
}
