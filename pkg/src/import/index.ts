/**
 * Imports rows from objects and files. Loaded only when somebody imports, because the parsers are a third of the package.
 */

import { abortReason, signalOf } from "../client.js";
import { checkArguments, checkName } from "../codec/check.js";
import { kindOf, shown } from "../codec/value.js";
import { invalid, TabStoreError, toError, WriterError } from "../errors.js";
import type { Database, ImportFormat, ImportOptions, ImportResult, ImportSource, NewRow, RowWriter } from "../interface.js";
import { Converter, type SourceRow } from "./convert.js";
import { CsvSplitter } from "./csv.js";
import { ArraySplitter, LineSplitter } from "./json.js";
import { isBytes, openSource, texts } from "./source.js";

export { inspectImport } from "./inspect.js";

const OPTIONS = new Set(["signal", "format", "columns", "rowNumber", "onError", "delimiter", "onProgress", "maxRowsInFlight", "maxBytesInFlight"]);
const KEPT_FAILURES = 100;

/** The records of texts in a format. */
export async function* records(format: ImportFormat, delimiter: string | undefined, source: AsyncIterable<string>): AsyncGenerator<readonly SourceRow[], void, undefined> {
  const splitter = format === "csv" ? new CsvSplitter(delimiter) : format === "json" ? new ArraySplitter() : new LineSplitter();
  for await (const text of source) {
    const some = splitter.push(text) as SourceRow[];
    if (some.length > 0) yield some;
  }
  const last = splitter.end();
  if (last !== undefined && last.length > 0) yield last as SourceRow[];
}

/** Groups rows that come one by one, so that nothing is awaited for each of them further down. */
async function* groups(source: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<readonly SourceRow[], void, undefined> {
  if (Symbol.asyncIterator in source) {
    for await (const row of source) yield [row as SourceRow];
    return;
  }
  let some: SourceRow[] = [];
  for (const row of source) {
    if (some.push(row as SourceRow) < 256) continue;
    yield some;
    some = [];
  }
  if (some.length > 0) yield some;
}

function isIterable(source: unknown): source is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof source === "object" && source !== null && !ArrayBuffer.isView(source) && (Symbol.asyncIterator in source || Symbol.iterator in source);
}

/** Why a row was not imported, with its place in the source. */
function atRow(row: number, error: TabStoreError): TabStoreError {
  return new TabStoreError({ code: error.code, status: error.status, retryable: error.retryable, message: `Row ${row}: ${error.message}`, requestId: error.requestId }, { cause: error });
}

/** One import: what has been read and stored so far. */
class Import {
  private bytes = 0;
  private row = 0;
  private skipped = 0;
  /** For each row left out before it reached the writer, how many had reached it: the writer counts without them. */
  private readonly gaps: number[] = [];
  private put = 0;
  private readonly failures: { row: number; error: TabStoreError }[] = [];
  private totalBytes: number | undefined;
  private writer!: RowWriter;

  constructor(private readonly options: ImportOptions) {}

  private report(): void {
    this.options.onProgress?.({ rows: this.writer.progress.rows, bytes: this.bytes, totalBytes: this.totalBytes });
  }

  /** The place in the source of a row that the writer counts as `index`. */
  private place(index: number): number {
    let left = 0;
    while (left < this.gaps.length && this.gaps[left] <= index) left++;
    return index + left + 1;
  }

  async run(db: Pick<Database, "describeTable" | "writer">, tableName: string, source: ImportSource): Promise<ImportResult> {
    const { options } = this;
    const { onError = "stop" } = options;
    const signal = signalOf(options);
    if (onError !== "stop" && onError !== "skip") throw invalid(`The argument 'onError' is ${shown(onError)}; it must be stop or skip.`);
    signal?.throwIfAborted();
    let batches: AsyncGenerator<readonly SourceRow[], void, undefined>;
    let csv = false;
    if (isBytes(source)) {
      const opened = openSource(source, options.format);
      csv = opened.format === "csv";
      this.totalBytes = opened.totalBytes;
      batches = records(opened.format, options.delimiter ?? opened.delimiter, texts(opened.stream, (more) => (this.bytes += more), signal));
    } else if (isIterable(source)) {
      batches = groups(source);
    } else {
      throw invalid(`The argument 'source' is ${kindOf(source)}; it must be a Blob, File, Response, ReadableStream, or rows that can be iterated.`);
    }
    const { primaryKey } = await db.describeTable({ tableName, ...(signal === undefined ? {} : { signal }) });
    const converter = new Converter(primaryKey, options.columns ?? {}, options.rowNumber);
    this.writer = db.writer(tableName, {
      maxRowsInFlight: options.maxRowsInFlight, maxBytesInFlight: options.maxBytesInFlight, signal, onProgress: () => this.report(),
    });
    const { writer } = this;
    try {
      for await (const batch of batches) {
        for (const record of batch) {
          this.row += 1;
          let wait: undefined | Promise<void>;
          try {
            wait = writer.put(this.newRow(record, converter, csv));
          } catch (error) {
            if (!(error instanceof TabStoreError) || error.status !== 400) throw error;
            if (onError === "stop") throw atRow(this.row, error);
            this.skip(this.row, error);
            this.gaps.push(this.put);
            continue;
          }
          this.put += 1;
          if (wait !== undefined) await wait;
        }
        if (signal?.aborted) throw abortReason(signal);
        if (onError === "stop" && writer.progress.failed > 0) break;
      }
    } catch (error) {
      // What is on its way still lands: wait, so that the last progress is the truth.
      await writer.close().catch(() => {});
      this.report();
      throw signal?.aborted ? abortReason(signal) : error;
    }
    return this.finish(onError);
  }

  private newRow(record: SourceRow, converter: Converter, csv: boolean): NewRow {
    if (typeof record !== "object" || record === null || Array.isArray(record)) throw invalid(`It is ${kindOf(record)}; it must be an object.`);
    const { primaryKey } = record;
    if (typeof primaryKey === "object" && primaryKey !== null && this.options.columns === undefined) return record as unknown as NewRow;
    return converter.row(record, this.row, csv);
  }

  private skip(row: number, error: TabStoreError): void {
    this.skipped += 1;
    if (this.failures.length < KEPT_FAILURES) this.failures.push({ row, error: atRow(row, error) });
  }

  private async finish(onError: "stop" | "skip"): Promise<ImportResult> {
    const { writer } = this;
    let consumed = { read: 0, write: 0 };
    try {
      ({ consumed } = await writer.close());
    } catch (error) {
      this.report();
      if (!(error instanceof WriterError)) throw error;
      const first = error.failures[0];
      if (onError === "stop" || first === undefined || error.status !== 400) throw first === undefined ? error : atRow(this.place(first.index), toError(first.error));
      for (const failure of error.failures) this.skip(this.place(failure.index), failure.error);
      this.skipped += error.failed - error.failures.length;
      this.failures.sort((a, b) => a.row - b.row);
    }
    const { rows } = writer.progress;
    this.report();
    return { rows, bytes: this.bytes, skipped: this.skipped, failures: this.failures, consumed };
  }
}

/** What {@link Database.importRows} does. */
export async function importRows(db: Pick<Database, "describeTable" | "writer">, tableName: string, source: ImportSource, options: ImportOptions): Promise<ImportResult> {
  checkName(tableName, "tableName");
  checkArguments(options, OPTIONS, "importRows");
  return new Import(options).run(db, tableName, source);
}
