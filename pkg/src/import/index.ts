/**
 * Imports rows from objects and files. Loaded on first use, because the parsers are a third of the package.
 */

import { checkArguments, checkName, record as checkRecord } from "../codec/check.js";
import { kindOf, shown } from "../codec/kinds.js";
import { invalid, local, TabStoreError, toRecord } from "../types/errors.js";
import type { ImportOptions, ImportResult, ImportSource, NewRow, RowWriter } from "../types/writer.js";
import { abortReason, signalOf } from "../client/signals.js";
import { Converter } from "./convert.js";
import { type Guard, guarded, known } from "./guarded.js";
import { records, type SourceRow } from "./records.js";
import { type ImportTarget, LOOK_ROWS, Replaced } from "./replaced-rows.js";
import { isBytes, openSource, texts } from "./source.js";
import { Unreadable } from "./unreadable.js";
import { WriterError, type WriterFailure } from "../types/writer-error.js";

export { inspectImport } from "./inspect.js";

const OPTIONS = new Set([
  "signal",
  "format",
  "columns",
  "rename",
  "rowNumber",
  "onError",
  "onDuplicate",
  "delimiter",
  "header",
  "comment",
  "map",
  "set",
  "onProgress",
  "maxRowsInFlight",
  "maxBytesInFlight",
]);
const KEPT_FAILURES = 100;
/** With those that the writer lost. */
const KEPT_LOST = 1000;

/** The rows of a group. */
const GROUP = 256;

/** Rows that are there together, or such as are to be taken one by one: the next one may come in the same object. */
type Batch = Iterable<SourceRow | Unreadable>;

/** Groups rows, so that not each of them is awaited. Those of an async source come singly. */
async function* groups(source: Iterable<unknown> | AsyncIterable<unknown>): AsyncGenerator<Batch, void, undefined> {
  if (Array.isArray(source)) {
    for (let at = 0; at < source.length; at += GROUP) yield source.slice(at, at + GROUP) as SourceRow[];
  } else if (Symbol.asyncIterator in source) {
    for await (const row of source) yield [row as SourceRow];
  } else {
    const rows = source[Symbol.iterator]();
    let ended = false;
    const some = function* (): Generator<SourceRow, void, undefined> {
      for (let count = 0; count < GROUP; count++) {
        // If it throws, it has ended too.
        ended = true;
        const next = rows.next();
        if (next.done === true) return;
        ended = false;
        yield next.value as SourceRow;
      }
    };
    try {
      while (!ended) yield some();
    } finally {
      if (!ended) rows.return?.();
    }
  }
}

/** Pieces of a batch whose rows may be read before the first of them is put. */
function* pieces(batch: Batch): Generator<readonly (SourceRow | Unreadable)[], void, undefined> {
  if (Array.isArray(batch)) for (let at = 0; at < batch.length; at += LOOK_ROWS) yield batch.slice(at, at + LOOK_ROWS);
  else for (const record of batch) yield [record];
}

function isIterable(source: unknown): source is Iterable<unknown> | AsyncIterable<unknown> {
  return typeof source === "object" && source !== null && !ArrayBuffer.isView(source) && (Symbol.asyncIterator in source || Symbol.iterator in source);
}

/** The hint of a row that `onDuplicate: "stop"` refuses. */
const DUPLICATE = 'Its primary key is in the table already, or an earlier row of the source has it. onDuplicate: "replace" puts it, "skip" leaves it out.';

/** A row that is not stored. */
interface Failure {
  /** Its place in the source, from 1. */
  readonly row: number;
  readonly error: TabStoreError;
}

/** A row of the source, or why it cannot be read: an error, or what the source has in its place. */
interface ReadRow {
  /** Its place in the source, from 1. */
  readonly number: number;
  readonly row: NewRow | undefined;
  readonly reason?: unknown;
}

/** One import, with the numbers of rows read and stored so far. */
class Import {
  private bytes = 0;
  private row = 0;
  private skipped = 0;
  /** For each row that did not reach the writer, the number of rows that had: the indexes of the writer do not count it. */
  private readonly gaps: number[] = [];
  private written = 0;
  private readonly failures: Failure[] = [];
  /** The first row that was lost for another reason than itself. It ends the import, however many failures came before. */
  private end: Failure | undefined;
  private totalBytes: number | undefined;
  private writer!: RowWriter;
  private converter!: Converter;
  private csv = false;
  /** Whether the columns of a CSV file were compared with those of the options. */
  private checked = false;
  /** Rows that the writer did not store, though they are as they should be. */
  private duplicates = 0;
  private readonly onError: "stop" | "skip";
  private readonly onDuplicate: "replace" | "stop" | "skip";

  constructor(private readonly options: ImportOptions) {
    const { onError = "stop", onDuplicate = "replace" } = options;
    if (onError !== "stop" && onError !== "skip") throw invalid(`The argument 'onError' is ${shown(onError)}; it must be stop or skip.`);
    if (!["replace", "stop", "skip"].includes(onDuplicate))
      throw invalid(`The argument 'onDuplicate' is ${shown(onDuplicate)}; it must be one of replace, stop, skip.`);
    if (options.set !== undefined) checkRecord(options.set, "set");
    if (options.map !== undefined && typeof options.map !== "function") throw invalid(`The argument 'map' is ${kindOf(options.map)}; it must be a function.`);
    this.onError = onError;
    this.onDuplicate = onDuplicate;
  }

  private report(): void {
    this.options.onProgress?.({ rows: this.writer.progress.rows, bytes: this.bytes, totalBytes: this.totalBytes });
  }

  /** The place in the source of the writer's row `index`. */
  private place(index: number): number {
    let left = 0;
    while (left < this.gaps.length && this.gaps[left] <= index) left++;
    return index + left + 1;
  }

  async run(db: ImportTarget, tableName: string, source: ImportSource, unlessEnded: Guard): Promise<ImportResult> {
    const { options } = this;
    const signal = signalOf(options);
    signal?.throwIfAborted();
    let batches: AsyncGenerator<Batch, void, undefined>;
    if (isBytes(source)) {
      const opened = openSource(source, options.format);
      this.csv = opened.format === "csv";
      this.totalBytes = opened.totalBytes;
      const csv = {
        delimiter: options.delimiter ?? opened.delimiter,
        header: options.header,
        comment: options.comment,
        numbered: options.rename !== undefined,
      };
      batches = records(
        opened.format,
        csv,
        texts(opened.stream, (more) => (this.bytes += more), signal),
      );
    } else if (isIterable(source)) {
      batches = groups(source);
    } else {
      throw invalid(`The argument 'source' is ${kindOf(source)}; it must be a Blob, File, Response, ReadableStream, or rows that can be iterated.`);
    }
    const given = signal === undefined ? {} : { signal };
    const described = await db.describeTable({ tableName, ...given });
    this.converter = new Converter(described, options);
    const replaced =
      this.onDuplicate === "replace"
        ? await Replaced.begin(
            db,
            tableName,
            described.primaryKey.map(({ name }) => name),
            given,
          )
        : undefined;
    this.writer = db.writer(tableName, {
      maxRowsInFlight: options.maxRowsInFlight,
      maxBytesInFlight: options.maxBytesInFlight,
      signal,
      condition: replaced === undefined ? { rowExistence: "EXPECT_NOT_EXIST" } : undefined,
      onProgress: () => this.report(),
      onFailure: (failure) => this.lost(failure),
    });
    try {
      for await (const batch of guarded(batches, signal, unlessEnded)) {
        // The first line of a CSV file names all columns. A column of the options that is not among them is misspelt.
        if (this.csv && !this.checked) this.checkColumns(batch);
        await this.take(batch, replaced, unlessEnded);
        if (signal?.aborted) throw abortReason(signal);
        if (this.end !== undefined || (this.onError === "stop" && this.writer.progress.failed > this.duplicates)) break;
      }
    } catch (error) {
      return this.finish(signal, undefined, error);
    }
    return this.finish(signal, replaced);
  }

  /** Puts rows of the source. */
  private async take(batch: Batch, replaced: Replaced | undefined, unlessEnded: Guard): Promise<void> {
    if (replaced?.looks !== true) {
      for (const record of batch) {
        const wait = this.put(this.read(record), replaced);
        if (wait !== undefined) await wait;
      }
      return;
    }
    for (const piece of pieces(batch)) {
      const rows = piece.map((record) => this.read(record));
      await unlessEnded(
        replaced.look(
          rows.flatMap(({ row }) => row ?? []),
          () => this.settled(),
        ),
      );
      for (const row of rows) {
        const wait = this.put(row, replaced);
        if (wait !== undefined) await wait;
      }
    }
  }

  /** The rows of this import that are stored, once all so far are stored or lost. */
  private async settled(): Promise<number> {
    await this.writer.flush();
    return this.writer.progress.rows;
  }

  /** Reads the next row of the source. */
  private read(record: SourceRow | Unreadable): ReadRow {
    const number = ++this.row;
    if (record instanceof Unreadable) return { number, row: undefined, reason: record };
    try {
      const { map } = this.options;
      if (map === undefined) return { number, row: this.newRow(record, number) };
      // What is no object is refused as without `map`, which takes objects alone.
      const row = Object(record) === record ? this.mapped(record as SourceRow, number) : record;
      return { number, row: row === undefined ? undefined : this.newRow(row as SourceRow, number) };
    } catch (reason) {
      return { number, row: undefined, reason };
    }
  }

  /** What `map` makes of a record. An error of its own ends the import, and names the row. */
  private mapped(record: SourceRow, number: number): unknown {
    try {
      return this.options.map!(record, number);
    } catch (error) {
      if (error instanceof TabStoreError) throw error;
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      throw local("Aborted", `The import was given up: map failed at row ${number}: ${text}`, { cause: error });
    }
  }

  /** Puts a row, or leaves it out. */
  private put({ number, row, reason }: ReadRow, replaced: Replaced | undefined): undefined | Promise<void> {
    if (row === undefined && reason === undefined) {
      this.gaps.push(this.written);
      return undefined;
    }
    if (row === undefined) return this.leaveOut(number, reason);
    let wait: undefined | Promise<void>;
    try {
      wait = this.writer.put(row);
    } catch (error) {
      return this.leaveOut(number, error);
    }
    this.written += 1;
    replaced?.see(row);
    return wait;
  }

  /** Leaves out a row that cannot be read, or ends the import with its error. */
  private leaveOut(number: number, reason: unknown): undefined {
    const unread = reason instanceof Unreadable ? reason : undefined;
    const error = unread?.error ?? reason;
    if (unread?.isLast === true || !(error instanceof TabStoreError) || error.status !== 400) throw error;
    // What cannot be read names its place.
    const failure = unread === undefined ? this.atRow(number, error) : error;
    this.skipped += 1;
    if (this.failures.length < KEPT_FAILURES) this.failures.push({ row: number, error: failure });
    if (this.onError === "stop") throw failure;
    this.gaps.push(this.written);
    return undefined;
  }

  /** A row that the writer did not store. */
  private lost({ index, error }: WriterFailure): void {
    const row = this.place(index);
    const isDuplicate = this.onDuplicate !== "replace" && error.code === "OTSConditionCheckFail";
    if (isDuplicate && this.onDuplicate === "skip") {
      this.duplicates += 1;
      return;
    }
    const failure = { row, error: this.atRow(row, error, isDuplicate ? DUPLICATE : error.hint) };
    // A given id of a row that is not there is a fault of that row.
    const isOfRow = error.status === 400 || (error.code === "OTSConditionCheckFail" && !isDuplicate);
    if (!isOfRow && (this.end === undefined || row < this.end.row)) this.end = failure;
    if (this.failures.length < KEPT_LOST) this.failures.push(failure);
  }

  private checkColumns(batch: Batch): void {
    const record = Array.from(batch).find((one) => !(one instanceof Unreadable));
    if (record === undefined) return;
    this.checked = true;
    const there = Object.keys(record);
    const missing = Object.keys(this.options.columns ?? {}).find((name) => !there.includes(name));
    if (missing !== undefined)
      throw invalid(`The argument 'columns' names '${missing}', which is no column of the source. Its columns are: ${there.join(", ")}.`);
  }

  private newRow(record: SourceRow, number: number): NewRow {
    const {
      converter,
      options: { set },
    } = this;
    if (typeof record !== "object" || record === null || Array.isArray(record)) throw invalid(`It is ${kindOf(record)}; it must be an object.`);
    const primaryKey = Object.hasOwn(record, "primaryKey") ? record.primaryKey : undefined;
    // A row in the shape of `writer.put` is taken as it is, unless columns are renamed.
    if (typeof primaryKey === "object" && primaryKey !== null && this.options.columns === undefined)
      return converter.with(set, converter.typed(record as unknown as NewRow));
    checkRecord(record, "row");
    return converter.with(set, converter.row(record, number, this.csv, set));
  }

  /** The error of a row, with its place in the source. */
  private atRow(row: number, error: TabStoreError, hint = error.hint): TabStoreError {
    const how =
      this.options.rename === undefined && /^Invalid column name/.test(error.message)
        ? " Give rename: \"legal\" for legal names, or another name by 'columns'."
        : "";
    return new TabStoreError({ ...toRecord(error), message: `Row ${row}: ${error.message}${how}`, hint, requestId: error.requestId }, { cause: error });
  }

  /**
   * Waits until all put rows are stored or lost, so that the numbers are right. `thrown` has the error that ended the
   * reading early, if one did: `undefined` can be thrown too.
   */
  private async finish(signal: AbortSignal | undefined, replaced: Replaced | undefined, ...thrown: unknown[]): Promise<ImportResult> {
    const { writer, failures, onError } = this;
    const ends = thrown.map(known);
    let consumed = { read: 0, write: 0 };
    try {
      ({ consumed } = await writer.close());
    } catch (error) {
      if (error instanceof WriterError) ({ consumed } = error);
      if (!(error instanceof WriterError && error.failures.length > 0)) ends.push(known(error));
    }
    try {
      this.report();
    } catch (error) {
      ends.push(known(error));
    }
    const { rows, failed } = writer.progress;
    let replacedRows = 0;
    if (ends.length === 0 && this.end === undefined && replaced !== undefined) {
      try {
        replacedRows = await replaced.end(rows);
      } catch (error) {
        ends.push(known(error));
      }
    }
    failures.sort((a, b) => a.row - b.row);
    const skipped = this.skipped + failed - this.duplicates;
    // The first failed row in the source's order, even if another was noticed earlier.
    const end = (onError === "stop" ? failures[0] : this.end)?.error ?? ends[0];
    if (end === undefined) {
      return {
        rows,
        bytes: this.bytes,
        skipped,
        replaced: replacedRows,
        skippedDuplicates: this.duplicates,
        failures: failures.slice(0, KEPT_FAILURES),
        consumed,
      };
    }
    if (signal?.aborted) throw abortReason(signal);
    const message = `${end.message}${/[.!?]$/.test(end.message) ? "" : "."} Rows stored: ${rows}.`;
    throw Object.assign(
      new WriterError(
        { ...toRecord(end), message, requestId: end.requestId },
        rows,
        skipped,
        failures.map(({ row, error }) => ({ index: row - 1, error })),
        consumed,
      ),
      { cause: end.cause ?? end },
    );
  }
}

/** The implementation of {@link Database.importRows}. */
export async function importRows(
  db: ImportTarget,
  tableName: string,
  source: ImportSource,
  options: ImportOptions,
  unlessEnded: Guard = (work) => work,
): Promise<ImportResult> {
  checkName(tableName, "tableName");
  const given = checkArguments(options, OPTIONS, "importRows");
  const { onProgress } = given;
  if (onProgress !== undefined && typeof onProgress !== "function") throw invalid(`The argument 'onProgress' is ${shown(onProgress)}; it must be a function.`);
  return new Import(given).run(db, tableName, source, unlessEnded);
}
