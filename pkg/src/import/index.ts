/**
 * Imports rows from objects and files. Loaded on first use, because the parsers are a third of the package.
 */

import { checkArguments, checkName, record as checkRecord } from "../codec/check.js";
import { kindOf, shown } from "../codec/kinds.js";
import { invalid, local, TabStoreError, toRecord, WriterError } from "../errors.js";
import type { Database } from "../interface.js";
import type { ImportOptions, ImportResult, ImportSource, NewRow, RowWriter } from "../loads.js";
import { abortReason, signalOf, unlessAborted } from "../signals.js";
import { Converter } from "./convert.js";
import { records, type SourceRow } from "./records.js";
import { isBytes, openSource, texts } from "./source.js";

export { inspectImport } from "./inspect.js";

const OPTIONS = new Set(["signal", "format", "columns", "rename", "rowNumber", "onError", "delimiter", "onProgress", "maxRowsInFlight", "maxBytesInFlight"]);
const KEPT_FAILURES = 100;

/**
 * The items of a source, until its signal aborts or the database ends: a source may wait for ever. `unlessEnded` watches
 * the database.
 */
async function* guarded<T>(source: AsyncGenerator<T, void, undefined>, signal: AbortSignal | undefined, unlessEnded: Guard): AsyncGenerator<T, void, undefined> {
  let done = false;
  try {
    for (;;) {
      const next: IteratorResult<T, void> = await unlessEnded(unlessAborted(source.next(), signal));
      if (next.done) break;
      yield next.value;
    }
    done = true;
  } finally {
    // Not awaited: a generator ends only after the read that it waits for.
    if (!done) void source.return().catch(() => {});
  }
}

/** The rows of a group. */
const GROUP = 256;

/** Groups the rows of a plain iterable, so that later stages do not await each of them. Those of an async one come singly. */
async function* groups(source: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<readonly SourceRow[], void, undefined> {
  if (Symbol.asyncIterator in source) {
    for await (const row of source) yield [row as SourceRow];
    return;
  }
  let group: SourceRow[] = [];
  for (const row of source) {
    if (group.push(row as SourceRow) < GROUP) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

function isIterable(source: unknown): source is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof source === "object" && source !== null && !ArrayBuffer.isView(source) && (Symbol.asyncIterator in source || Symbol.iterator in source);
}

/** The error that ended an import. An error of the source's own code, or of a listener, is its cause. */
function known(reason: unknown): TabStoreError {
  if (reason instanceof TabStoreError) return reason;
  return local("Aborted", `The import was given up: ${reason instanceof Error ? `${reason.name}: ${reason.message}` : String(reason)}`, { cause: reason });
}

/** One import, with the numbers of rows read and stored so far. */
class Import {
  private bytes = 0;
  private row = 0;
  private skipped = 0;
  /** For each row that did not reach the writer, the number of rows that had: the indexes of the writer do not count it. */
  private readonly gaps: number[] = [];
  private put = 0;
  private readonly failures: { row: number; error: TabStoreError }[] = [];
  private totalBytes: number | undefined;
  private writer!: RowWriter;

  constructor(private readonly options: ImportOptions) {}

  private report(): void {
    this.options.onProgress?.({ rows: this.writer.progress.rows, bytes: this.bytes, totalBytes: this.totalBytes });
  }

  /** The place in the source of the writer's row `index`. */
  private place(index: number): number {
    let left = 0;
    while (left < this.gaps.length && this.gaps[left] <= index) left++;
    return index + left + 1;
  }

  async run(db: Pick<Database, "describeTable" | "writer">, tableName: string, source: ImportSource, unlessEnded: Guard): Promise<ImportResult> {
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
    const converter = new Converter(await db.describeTable({ tableName, ...(signal === undefined ? {} : { signal }) }), options);
    this.writer = db.writer(tableName, {
      maxRowsInFlight: options.maxRowsInFlight, maxBytesInFlight: options.maxBytesInFlight, signal, onProgress: () => this.report(),
    });
    const { writer } = this;
    try {
      for await (const batch of guarded(batches, signal, unlessEnded)) {
        // The first line of a CSV file names all columns. A column of the options that is not among them is misspelt.
        if (csv && this.row === 0) this.checkColumns(batch[0]);
        for (const record of batch) {
          this.row += 1;
          let wait: undefined | Promise<void>;
          try {
            wait = writer.put(this.newRow(record, converter, csv));
          } catch (error) {
            if (!(error instanceof TabStoreError) || error.status !== 400) throw error;
            const failure = this.atRow(this.row, error);
            this.skipped += 1;
            if (this.failures.length < KEPT_FAILURES) this.failures.push({ row: this.row, error: failure });
            if (onError === "stop") throw failure;
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
      return this.finish(onError, signal, error);
    }
    return this.finish(onError, signal);
  }

  private checkColumns(record: SourceRow): void {
    const there = Object.keys(record);
    const missing = Object.keys(this.options.columns ?? {}).find((name) => !there.includes(name));
    if (missing !== undefined) throw invalid(`The argument 'columns' names '${missing}', which is no column of the source. Its columns are: ${there.join(", ")}.`);
  }

  private newRow(record: SourceRow, converter: Converter, csv: boolean): NewRow {
    if (typeof record !== "object" || record === null || Array.isArray(record)) throw invalid(`It is ${kindOf(record)}; it must be an object.`);
    const primaryKey = Object.hasOwn(record, "primaryKey") ? record.primaryKey : undefined;
    // A row in the shape of `writer.put` is taken as it is, unless columns are renamed.
    if (typeof primaryKey === "object" && primaryKey !== null && this.options.columns === undefined) return converter.typed(record as unknown as NewRow);
    checkRecord(record, "row");
    return converter.row(record, this.row, csv);
  }

  /** The error of a row, with its place in the source. */
  private atRow(row: number, error: TabStoreError): TabStoreError {
    const how = this.options.rename === undefined && /^Invalid column name/.test(error.message) ? ' Give rename: "legal" for legal names, or another name by \'columns\'.' : "";
    return new TabStoreError({ ...toRecord(error), message: `Row ${row}: ${error.message}${how}`, requestId: error.requestId }, { cause: error });
  }

  /**
   * Waits until all put rows are stored or lost, so that the numbers are right. `thrown` has the error that ended the
   * reading early, if one did: `undefined` can be thrown too.
   */
  private async finish(onError: "stop" | "skip", signal: AbortSignal | undefined, ...thrown: unknown[]): Promise<ImportResult> {
    const { writer, failures } = this;
    const ends = thrown.map(known);
    let consumed = { read: 0, write: 0 };
    try {
      ({ consumed } = await writer.close());
    } catch (error) {
      const lost = error instanceof WriterError ? error.failures : [];
      if (error instanceof WriterError) ({ consumed } = error);
      for (const { index, error } of lost) failures.push({ row: this.place(index), error: this.atRow(this.place(index), error) });
      if (lost.length === 0) ends.push(known(error));
    }
    try {
      this.report();
    } catch (error) {
      ends.push(known(error));
    }
    failures.sort((a, b) => a.row - b.row);
    const { rows, failed } = writer.progress;
    const skipped = this.skipped + failed;
    // The first failed row in the source's order, even if another was noticed earlier.
    const end = failures.find(({ error }) => onError === "stop" || error.status !== 400)?.error ?? ends[0];
    if (end === undefined) return { rows, bytes: this.bytes, skipped, failures: failures.slice(0, KEPT_FAILURES), consumed };
    if (signal?.aborted) throw abortReason(signal);
    const message = `${end.message}${/[.!?]$/.test(end.message) ? "" : "."} Rows stored: ${rows}.`;
    throw Object.assign(new WriterError({ ...toRecord(end), message, requestId: end.requestId }, rows, skipped, failures.map(({ row, error }) => ({ index: row - 1, error })), consumed), { cause: end.cause ?? end });
  }
}

/** Waits for work, but no longer than the database is open. */
type Guard = <T>(work: Promise<T>) => Promise<T>;

/** The implementation of {@link Database.importRows}. */
export async function importRows(
  db: Pick<Database, "describeTable" | "writer">, tableName: string, source: ImportSource, options: ImportOptions, unlessEnded: Guard = (work) => work,
): Promise<ImportResult> {
  checkName(tableName, "tableName");
  const given = checkArguments(options, OPTIONS, "importRows");
  const { onProgress } = given;
  if (onProgress !== undefined && typeof onProgress !== "function") throw invalid(`The argument 'onProgress' is ${shown(onProgress)}; it must be a function.`);
  return new Import(given).run(db, tableName, source, unlessEnded);
}
