/** Exports the rows of a table. Loaded on first use. */

import { checkName, checkPositive, list, takeArguments } from "../codec/check.js";
import type { CellRow } from "../codec/page.js";
import { copyFilter } from "../codec/filter.js";
import { kindOf, shown } from "../codec/kinds.js";
import { invalid } from "../types/errors.js";
import type { ExportOptions } from "../types/export.js";
import type { Database } from "../types/database.js";
import type { Filter } from "../types/filter.js";
import { ALL_VERSIONS, copyKey } from "../client/scan.js";
import { csv, exact, object, type RowPrinter } from "./rows.js";
import { byteStream } from "./stream.js";

const OPTIONS = new Set(["signal", "format", "shape", "versions", "columns", "start", "end", "filter", "limit", "onProgress"]);

/** The calls that an export needs. */
export type ExportSource = Pick<Database, "describeTable" | "scanPages">;

/** Refuses what is there and cannot be called. */
export function checkListener(onProgress: unknown): void {
  if (onProgress !== undefined && typeof onProgress !== "function") throw invalid(`The argument 'onProgress' is ${kindOf(onProgress)}; it must be a function.`);
}

/** A copy of the options: the caller may change its objects before they are used. */
function checked(options: ExportOptions): ExportOptions {
  const given = takeArguments(options, OPTIONS, "exportRows");
  const { format = "ndjson", shape = "row", versions, columns, onProgress } = given;
  if (!["ndjson", "json", "csv"].includes(format)) throw invalid(`The argument 'format' is ${shown(format)}; it must be one of ndjson, json, csv.`);
  if (shape !== "row" && shape !== "object") throw invalid(`The argument 'shape' is ${shown(shape)}; it must be row or object.`);
  if (versions !== "all") checkPositive(versions, "versions");
  if (versions !== undefined && (format === "csv" || shape === "object")) {
    throw invalid(
      `The argument 'versions' has no place in ${format === "csv" ? "a CSV file" : "the shape 'object'"}: only rows of the shape 'row' in NDJSON or JSON have versions.`,
    );
  }
  if (format === "csv" && given.shape === "row") throw invalid("The argument 'shape' is row; a CSV file has no shape.");
  checkPositive(given.limit, "limit");
  checkListener(onProgress);
  return {
    ...given,
    format,
    shape,
    columns: columns === undefined ? undefined : [...new Set(list(columns, "columns") as string[])],
    start: copyKey(given.start),
    end: copyKey(given.end),
    filter: copyFilter(given.filter, "filter") as Filter | undefined,
  };
}

/** The pages of the rows. */
export function pagesOf(db: ExportSource, tableName: string, keyNames: readonly string[], options: ExportOptions): AsyncIterable<readonly CellRow[]> {
  const { columns, versions, start, end, filter, limit, signal } = options;
  return db.scanPages({
    tableName,
    start,
    end,
    filter,
    limit,
    signal,
    maxVersions: versions === "all" ? ALL_VERSIONS : (versions ?? 1),
    // With a column of the key, rows without any of the columns come too. A filter reads others as well.
    columnsToGet: columns === undefined || filter !== undefined ? undefined : [...keyNames, ...columns],
  }) as AsyncIterable<readonly CellRow[]>;
}

/** The names of all attribute columns, in order of their names. */
async function columnNames(pages: AsyncIterable<readonly CellRow[]>): Promise<string[]> {
  const names = new Set<string>();
  let last: readonly string[] | undefined;
  for await (const rows of pages) {
    for (const { columnNames } of rows) {
      // Neighbours of one shape share the list.
      if (columnNames === last) continue;
      last = columnNames;
      for (const name of columnNames) names.add(name);
    }
  }
  return [...names].sort();
}

/** The lines of a CSV file. */
async function csvLines(
  db: ExportSource,
  tableName: string,
  keyNames: readonly string[],
  options: ExportOptions,
): Promise<{ readonly header: string; readonly line: RowPrinter }> {
  const { columns = await columnNames(pagesOf(db, tableName, keyNames, options)) } = options;
  return csv([...keyNames, ...columns.filter((name) => !keyNames.includes(name))], (name) => {
    if (options.columns !== undefined) return;
    throw invalid(
      `The column '${name}' came while the table was exported: the header of the file does not name it.`,
      'Give the names of the columns: exportRows(table, { format: "csv", columns }).',
    );
  });
}

/** What a file is made of. */
interface Form {
  readonly print: RowPrinter;
  readonly before: string;
  readonly between: string;
  readonly end: string;
  /** The text of a file without rows. */
  readonly none: string;
}

async function formOf(db: ExportSource, tableName: string, keyNames: readonly string[], options: ExportOptions): Promise<Form> {
  if (options.format === "csv") {
    const { header, line } = await csvLines(db, tableName, keyNames, options);
    return { print: line, before: `${header}\r\n`, between: "\r\n", end: "\r\n", none: `${header}\r\n` };
  }
  const only = options.columns && new Set(options.columns);
  const print = options.shape === "object" ? object(only) : exact(options.versions !== undefined, only);
  return options.format === "json"
    ? { print, before: "[\n", between: ",\n", end: "\n]\n", none: "[]\n" }
    : { print, before: "", between: "\n", end: "\n", none: "" };
}

/** The texts of a file. `count` hears of each page. */
async function* texts(
  pages: AsyncIterable<readonly CellRow[]>,
  form: () => Promise<Form>,
  count: (rows: number) => void,
): AsyncGenerator<string, void, undefined> {
  const { print, before, between, end, none } = await form();
  let isFirst = true;
  for await (const rows of pages) {
    yield (isFirst ? before : between) + rows.map(print).join(between);
    isFirst = false;
    count(rows.length);
  }
  yield isFirst ? none : end;
}

/** The implementation of {@link Database.exportRows}. */
export async function exportRows(db: ExportSource, tableName: string, options: ExportOptions): Promise<ReadableStream<Uint8Array>> {
  checkName(tableName, "tableName");
  const given = checked(options);
  const { signal, onProgress } = given;
  const { primaryKey } = await db.describeTable(signal === undefined ? { tableName } : { tableName, signal });
  const keyNames = primaryKey.map(({ name }) => name);
  let [rows, bytes] = [0, 0];
  const source = texts(
    pagesOf(db, tableName, keyNames, given),
    () => formOf(db, tableName, keyNames, given),
    (more) => (rows += more),
  );
  return byteStream(source, (more) => onProgress?.({ rows, bytes: (bytes += more) }));
}
