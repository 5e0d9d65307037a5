/** `export` and `import`: rows in files. */

import type { Consumed, ImportColumn, ImportFormat, ImportResult, KeyColumn } from "../index.js";
import { type Context, sum, textDecoder, type Untimed } from "./context.js";
import { ShellError } from "./errors.js";
import { rangeOf, type TableKey } from "./request.js";
import { pagesOf } from "./run-rows.js";
import { isToolLine, readToolRow, type ToolRow, toolLine } from "./tool-rows.js";
import { counted } from "./text.js";

// ------------------------------------------------------------------------------------------------ export

/** The format that the name of a file tells. */
const formatOf = (name: string): ImportFormat | undefined => /\.(csv|json|ndjson)$/i.exec(name)?.[1].toLowerCase() as ImportFormat | undefined;

/** The format that the beginning of a file tells. */
const formatOfText = (text: string): ImportFormat => (/^\ufeff?\s*\[/.test(text) ? "json" : /^\ufeff?\s*\{/.test(text) ? "ndjson" : "csv");

/** What an export has done so far. */
interface Progress {
  rows: number;
  bytes: number;
  consumed: Consumed;
}

/** The lines of the official tool. */
function toolStream(context: Context, table: TableKey, progress: Progress): ReadableStream<Uint8Array> {
  const { options } = context;
  const encoder = new TextEncoder();
  const request = { tableName: table.tableName, ...rangeOf(options, table, false), columnsToGet: options.names("columns") };
  const pages = pagesOf(context, request, options.integer("limit", 1) ?? Number.POSITIVE_INFINITY);
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { done, value: page } = await pages.next();
        if (done === true) return controller.close();
        progress.rows += page.rows.length;
        progress.consumed = sum(progress.consumed, page.consumed);
        if (page.rows.length === 0) continue;
        const bytes = encoder.encode(page.rows.map((row) => `${toolLine(row, "newest")}\n`).join(""));
        progress.bytes += bytes.length;
        return controller.enqueue(bytes);
      }
    },
    async cancel() {
      await pages.return(undefined);
    },
  });
}

/** `export`. */
export async function exportRows(context: Context): Promise<Untimed> {
  const { db, options, signal } = context;
  const table = await context.table();
  const format = options.choice("format") ?? formatOf(options.text("output")!) ?? "tool";
  const progress: Progress = { rows: 0, bytes: 0, consumed: { read: 0, write: 0 } };
  const onProgress = ({ rows, bytes }: { rows: number; bytes: number }): void => void Object.assign(progress, { rows, bytes });
  const content =
    format === "tool"
      ? toolStream(context, table, progress)
      : await db.exportRows(table.tableName, {
          format: format as ImportFormat,
          columns: options.names("columns"),
          limit: options.integer("limit", 1),
          ...rangeOf(options, table, false),
          onProgress,
          signal,
        });
  const name = await context.output(content);
  const { consumed } = progress;
  return {
    kind: "text",
    text: `${counted(progress.rows, "row")} (${counted(progress.bytes, "byte")}) are written to ${name}.`,
    ...(consumed.read > 0 ? { consumed } : {}),
  };
}

// ------------------------------------------------------------------------------------------------ import

/** The lines of a text that arrives in pieces. */
async function* linesOf(blob: Blob, decode: (bytes: Uint8Array | undefined, isLast: boolean) => string): AsyncGenerator<string> {
  const reader = blob.stream().getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    rest += decode(value, done);
    const lines = rest.split(/\r?\n/);
    rest = done ? "" : (lines.pop() ?? "");
    yield* lines;
    if (done) return;
  }
}

/** What an import leaves out. */
interface LeftOut {
  lines: number;
  first: string | undefined;
}

/** The rows of a file of the official tool. */
async function* toolRows(context: Context, name: string, blob: Blob, columns: readonly KeyColumn[], left: LeftOut): AsyncGenerator<ToolRow> {
  const { options, host } = context;
  const limit = options.integer("limit", 1) ?? Number.POSITIVE_INFINITY;
  let [line, rows] = [0, 0];
  for await (const text of linesOf(blob, textDecoder(name, options.word("input")!))) {
    line += 1;
    if (text.trim() === "") continue;
    if (rows++ >= limit) return;
    try {
      yield readToolRow(text, columns, host.double, options.has("ignore_ts"));
    } catch (error) {
      if (!(error instanceof ShellError)) throw error;
      const message = `${name}, line ${line}: ${error.message}`;
      if (!options.has("ignore_failed")) throw new ShellError(message, options.word("input")!);
      left.lines += 1;
      left.first ??= message;
    }
  }
}

/** The types of the columns of a CSV file, by what stands in it. */
async function columnsOf({ host, signal }: Context, blob: Blob, format: ImportFormat): Promise<Record<string, ImportColumn> | undefined> {
  if (format !== "csv" || host.inspectImport === undefined) return undefined;
  const { columns } = await host.inspectImport(blob, { format, signal });
  return Object.fromEntries(columns.map(({ source, name, type }) => [source, { name, type }]));
}

/** The first `limit` records of a source. */
function first(limit: number | undefined) {
  if (limit === undefined) return {};
  let rows = 0;
  return { map: (record: Readonly<Record<string, unknown>>) => (rows++ < limit ? record : undefined) };
}

async function importPlain(context: Context, { tableName, primaryKey }: TableKey, blob: Blob, format: ImportFormat): Promise<ImportResult> {
  const { db, options, signal } = context;
  const columns = await columnsOf(context, blob, format);
  for (const { name: key, type } of primaryKey) if (columns !== undefined && Object.hasOwn(columns, key)) columns[key] = { ...columns[key], type };
  return db.importRows(tableName, blob, {
    format,
    onError: options.has("ignore_failed") ? "skip" : "stop",
    ...(columns === undefined ? {} : { columns }),
    ...first(options.integer("limit", 1)),
    signal,
  });
}

/** The error behind an import's: that of the row or of the line. */
function reason(error: unknown, { options }: Context): unknown {
  for (let inner = error; inner instanceof Error; inner = inner.cause) if (inner instanceof ShellError) return inner;
  const { message } = error as Error;
  if (!/Invalid timestamp/.test(message) || options.has("ignore_ts")) return error;
  return new ShellError(`${message} A version of the file is outside the table's window: --ignore_ts gives new ones`, options.word("input")!);
}

/** `import`. */
export async function importRows(context: Context): Promise<Untimed> {
  const { db, options, signal } = context;
  const table = await context.table();
  const { name, blob } = await context.input();
  const left: LeftOut = { lines: 0, first: undefined };
  try {
    const head = await blob.slice(0, 4096).text();
    const onError = options.has("ignore_failed") ? ("skip" as const) : ("stop" as const);
    const result = isToolLine(head)
      ? await db.importRows(table.tableName, toolRows(context, name, blob, table.primaryKey, left), { onError, signal })
      : await importPlain(context, table, blob, formatOf(name) ?? formatOfText(head));
    const { rows, replaced, skipped, failures, consumed } = result;
    const parts = [
      `${counted(rows, "row")} of ${name} ${rows === 1 ? "is" : "are"} stored`,
      ...(replaced === 0 ? [] : [`${replaced} of them replaced another one`]),
      ...(skipped + left.lines === 0 ? [] : [`${skipped + left.lines} failed`]),
    ];
    const why = left.first ?? failures[0]?.error.message;
    return { kind: "text", text: `${parts.join("; ")}.`, consumed, ...(why === undefined ? {} : { note: `The first failure: ${why}` }) };
  } catch (error) {
    throw reason(error, context);
  }
}
