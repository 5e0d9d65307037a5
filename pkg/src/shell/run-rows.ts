/** The commands about rows. */

import type { Consumed, GetRangeRequest, GetRangeResult, Row, ScanRequest, WriteResult } from "../index.js";
import type { AnswerCell } from "./answer.js";
import { type Context, sum, type Untimed } from "./context.js";
import { rowRequest, type TableKey } from "./request.js";
import { cellsOf, readToolRow, toolLine } from "./tool-rows.js";
import { jsonOfKeyValue } from "./values.js";
import { quote } from "./words.js";

/** The most rows of `scan` unless it says more: those of one call of the service. */
const MOST_ROWS = 5000;
/** The most columns of a table of rows. */
const MOST_COLUMNS = 200;

// ------------------------------------------------------------------------------------------------ rows as answers

const keyCells = (row: Row, { primaryKey }: TableKey): AnswerCell[] => primaryKey.map(({ name, type }) => ({ value: row.primaryKey[name], type }));

/** Rows with a column for each name. */
function wide(rows: readonly Row[], table: TableKey): Pick<Untimed & { kind: "table" }, "columns" | "rows" | "note"> {
  const names = [...new Set(rows.flatMap(({ columnNames }) => columnNames))].sort();
  const shown = names.slice(0, MOST_COLUMNS);
  const more = names.length - shown.length;
  return {
    columns: [...table.primaryKey.map(({ name }) => name), ...shown],
    rows: rows.map((row) => [
      ...keyCells(row, table),
      ...shown.map((name): AnswerCell => {
        const value = row.get(name);
        return value === undefined ? undefined : { value, type: row.type(name)! };
      }),
    ]),
    ...(more === 0 ? {} : { note: `${more} more columns are not shown: choose some with --columns.` }),
  };
}

/** Rows with a line for each version. */
function tall(rows: readonly Row[], table: TableKey): Pick<Untimed & { kind: "table" }, "columns" | "rows"> {
  return {
    columns: [...table.primaryKey.map(({ name }) => name), "column", "version", "value"],
    rows: rows.flatMap((row) =>
      cellsOf(row, "all").map(({ name, version, value, type }) => [
        ...keyCells(row, table),
        { value: name, type: "STRING" } as const,
        { value: version, type: "INTEGER" } as const,
        { value, type },
      ]),
    ),
  };
}

/** Rows as an answer: shown, and written to a file if asked for. */
async function rowsAnswer(context: Context, rows: readonly Row[], table: TableKey, consumed: Consumed, told: readonly string[] = []): Promise<Untimed> {
  const { options } = context;
  const isTall = ["max_version", "time_range_start", "time_range_specific"].some((name) => options.has(name));
  const lines = (): string[] => rows.map((row) => toolLine(row, isTall ? "all" : "newest"));
  const notes = [...told];
  if (options.has("output")) {
    const name = await context.outputText(lines().join("\n") + (rows.length === 0 ? "" : "\n"));
    notes.push(`Written to ${name}.`);
  }
  const note = (more?: string) => ([more, ...notes].some(Boolean) ? { note: [more, ...notes].filter(Boolean).join(" ") } : {});
  if (options.choice("print_format") === "json") return { kind: "json", json: `[${lines().join(",\n ")}]`, consumed, ...note() };
  const { note: more, ...shown } = isTall ? { ...tall(rows, table), note: undefined } : wide(rows, table);
  return { kind: "table", ...shown, consumed, ...note(more) };
}

// ------------------------------------------------------------------------------------------------ writes

/** A write in words: with the key that the store has given, or the counters behind it. */
function written(what: string, { row, consumed }: WriteResult, table: TableKey): Untimed {
  if (row === null) return { kind: "text", text: what, consumed };
  const key = table.primaryKey.map(({ name }) => row.primaryKey[name]).filter((value) => value !== undefined);
  const counters = row.columnNames.map((name) => `${name} is ${row.get(name)} now`);
  const note = key.length > 0 ? `Its key is [${key.map(jsonOfKeyValue).join(",")}].` : `${counters.join(", ")}.`;
  return { kind: "text", text: what, consumed, note };
}

/** `put`, `update` and `delete`. */
export async function write(context: Context): Promise<Untimed> {
  const { db, line, options, host, signal } = context;
  const table = await context.table();
  const file = options.has("input") ? await context.inputText((text) => readToolRow(text, table.primaryKey, host.double)) : undefined;
  const made = rowRequest(line, options, table, host.double, file);
  switch (made.operation) {
    case "putRow":
      return written("The row is put.", await db.putRow({ ...made.request, signal }), table);
    case "updateRow":
      return written("The row is updated.", await db.updateRow({ ...made.request, signal }), table);
    default:
      return written("The row is deleted.", await db.deleteRow({ ...(made.request as never as { primaryKey: never; tableName: string }), signal }), table);
  }
}

// ------------------------------------------------------------------------------------------------ reads

/** `get`. */
export async function get(context: Context): Promise<Untimed> {
  const { db, line, options, host, signal } = context;
  const table = await context.table();
  const made = rowRequest(line, options, table, host.double);
  if (made.operation !== "getRow") throw new Error("no get");
  const { row, consumed } = await db.getRow({ ...made.request, signal });
  return rowsAnswer(context, row === null ? [] : [row], table, consumed, row === null ? ["There is no such row."] : []);
}

/** The pages of a range, up to `limit` rows in all. */
export async function* pagesOf(context: Context, request: GetRangeRequest, limit: number): AsyncGenerator<GetRangeResult> {
  const { db, signal } = context;
  let { start } = request;
  for (let left = limit; left > 0; ) {
    const page = await db.getRange({ ...request, start, signal, ...(Number.isFinite(left) ? { limit: Math.min(left, MOST_ROWS) } : {}) });
    yield page;
    if (page.nextStartPrimaryKey === null) return;
    left -= page.rows.length;
    start = page.nextStartPrimaryKey;
  }
}

/** `scan`. */
export async function scan(context: Context): Promise<Untimed> {
  const { line, options, host } = context;
  const table = await context.table();
  const made = rowRequest(line, options, table, host.double);
  const { limit = MOST_ROWS, ...range } = made.request as ScanRequest;
  const rows: Row[] = [];
  let consumed: Consumed = { read: 0, write: 0 };
  let next: GetRangeResult["nextStartPrimaryKey"] = null;
  for await (const page of pagesOf(context, range, limit)) {
    rows.push(...page.rows);
    consumed = sum(consumed, page.consumed);
    next = page.nextStartPrimaryKey;
  }
  const more = next;
  const told = more === null ? [] : [`There is more: --begin ${quote(`[${table.primaryKey.map(({ name }) => jsonOfKeyValue(more[name])).join(",")}]`)}`];
  return rowsAnswer(context, rows, table, consumed, told);
}
