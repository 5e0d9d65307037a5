/** Many rows in: writers and imports. */

import type { TabStoreError } from "./errors.js";
import type { WriterFailure } from "./writer-error.js";
import type { Attributes, CallOptions, Consumed, InputPrimaryKey, InputValue, ValueType } from "./data.js";
import type { Condition } from "./rows.js";

/** A row for {@link RowWriter.put} and {@link Database.importRows}. */
export interface NewRow {
  /** The whole primary key. */
  readonly primaryKey: InputPrimaryKey;
  /** The attribute columns. */
  readonly attributes?: Attributes | undefined;
}

/** Options of {@link Database.writer}. */
export interface WriterOptions {
  /** The most rows in the buffer or in flight; default 20,000. */
  readonly maxRowsInFlight?: number | undefined;
  /** The most encoded bytes in the buffer or in flight; default 8 MB. In a follower also those that its leader has not stored. */
  readonly maxBytesInFlight?: number | undefined;
  /**
   * The condition of each put. `{ rowExistence: "EXPECT_NOT_EXIST" }` replaces no row: one that is there fails with
   * `OTSConditionCheckFail`, also if the same writer has put it before. A row of which the store assigns a part of the key has
   * none. Rows with a condition are read, so sorted ones are not stored faster than others.
   */
  readonly condition?: Condition | undefined;
  /** Called after each stored batch. If it throws, the writer fails with that error. */
  readonly onProgress?: ((progress: WriterProgress) => void) | undefined;
  /** Called for each row that was not stored, soon after it is known. If it throws, the writer fails with that error. */
  readonly onFailure?: ((failure: WriterFailure) => void) | undefined;
  /** Stops the writer: unsent rows are dropped, and `close` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The progress of a {@link RowWriter}. */
export interface WriterProgress {
  /** Rows stored. */
  readonly rows: number;
  /** Rows refused or lost. */
  readonly failed: number;
  /** Rows buffered or on their way. */
  readonly pending: number;
  /** Encoded bytes stored. */
  readonly bytes: number;
}

/** The result of {@link RowWriter.close}. */
export interface WriterResult {
  /** Rows stored. */
  readonly rows: number;
  /** Encoded bytes stored. */
  readonly bytes: number;
  /** Capacity units of all rows [C1]. */
  readonly consumed: Consumed;
}

/**
 * An unbounded stream of puts into one table, in batches, with bounded memory.
 *
 * @example
 * ```ts
 * const writer = db.writer("reading");
 * for (const r of readings) {
 *   const wait = writer.put({ primaryKey: { station: r.station, at: r.at }, attributes: { tempMax: double(r.tempMax) } });
 *   if (wait) await wait;                       // too much in flight: let it drain
 * }
 * await writer.close();                         // all of it is stored
 * ```
 */
export interface RowWriter {
  /**
   * Takes a row. Returns `undefined`, or, if too much is in flight, a promise to await before the next put; that promise
   * never rejects. Throws a {@link TabStoreError} if the row's arguments are wrong (nothing of it is taken), or if the
   * writer is closed or has failed for good.
   */
  put(row: NewRow): undefined | Promise<void>;
  /** Resolves when every row put so far is stored or has failed. */
  flush(): Promise<void>;
  /** Resolves when all rows are stored; rejects with a {@link WriterError} that lists the others. */
  close(): Promise<WriterResult>;
  /** Its progress. */
  readonly progress: WriterProgress;
}

/** The formats that {@link Database.importRows} reads. */
export type ImportFormat = "csv" | "json" | "ndjson";

/** The source of {@link Database.importRows}: rows as objects, or bytes in one of the formats. */
export type ImportSource =
  | Iterable<NewRow | Readonly<Record<string, unknown>>>
  | AsyncIterable<NewRow | Readonly<Record<string, unknown>>>
  | Blob
  | Response
  | ReadableStream<Uint8Array>;

/** Rules for a column of the source. */
export interface ImportColumn {
  /** The column's name in the table; by default the source's name. */
  readonly name?: string | undefined;
  /**
   * The type of the column. By default the type that the table has defined; otherwise texts of a CSV file stay strings,
   * and JSON values keep their own type. A text read as BINARY is base64.
   */
  readonly type?: ValueType | undefined;
}

/** Options of {@link Database.importRows}. */
export interface ImportOptions extends CallOptions {
  /** The format of bytes; by default from the name of a `File` or from the media type. */
  readonly format?: ImportFormat | undefined;
  /** Rules for columns of the source, by name; `false` leaves a column out. Others are imported unchanged. */
  readonly columns?: Readonly<Record<string, ImportColumn | false>> | undefined;
  /**
   * `"legal"` makes legal names [T2] from the source's: `_` for characters that are not allowed, `_2`, `_3`, … behind
   * a name that another column has, and `_1`, `_2`, … for the first, second, … column of a CSV file if it has no name. {@link inspectImport} shows the same names. Names in `columns` take precedence. Rows
   * with a `primaryKey` keep their names. By default an illegal name is refused.
   */
  readonly rename?: "legal" | undefined;
  /** A key column (INTEGER) to fill with the number of the row, from 1, for a source without a unique key. */
  readonly rowNumber?: string | undefined;
  /**
   * The reaction to a row that cannot be read or stored: `"stop"` (the default) rejects, `"skip"` counts it and goes on. Rows before
   * it are stored in both cases. What is no JSON within a JSON array ends the import in both cases too: nothing tells where the
   * next element begins. A quote of a CSV file that is not closed takes all of the text behind it.
   */
  readonly onError?: "stop" | "skip" | undefined;
  /**
   * What to do with a row whose key the table has already, or whose key an earlier row of the source has. `"replace"` (the default)
   * puts it, and the result tells how many were replaced. `"skip"` keeps the first one, and counts the others as
   * `skippedDuplicates`. `"stop"` rejects with `OTSConditionCheckFail`, and nothing is replaced. The last two read each key, so
   * they take longer.
   */
  readonly onDuplicate?: "replace" | "stop" | "skip" | undefined;
  /** The character between fields of a CSV file; by default detected, or told by a first line like `sep=;`. */
  readonly delimiter?: string | undefined;
  /** Whether the first line of a CSV file names the columns (the default). If not, they are `_1`, `_2`, `_3`, … */
  readonly header?: boolean | undefined;
  /**
   * Makes a row of a record of the source, or `undefined` to leave it out: `({ name, ...rest }) => ({ ...rest, title: name, kind: "city" })`.
   * Texts of a CSV file come as they are in the file; rules of `columns` are for the columns that this returns. What it throws ends the
   * import, unless it is a {@link TabStoreError} of a wrong value, which `onError` decides.
   */
  readonly map?: ((record: Readonly<Record<string, unknown>>, row: number) => NewRow | Readonly<Record<string, unknown>> | undefined) | undefined;
  /**
   * Columns that each row gets, in place of those of the source, as in `{ country: "NO" }`: columns of the key, or attributes. Their values
   * are stored as they are.
   */
  readonly set?: Readonly<Record<string, InputValue>> | undefined;
  /** The beginning of lines of a CSV file to skip, as in `"#"`; by default no line is skipped, but empty ones. */
  readonly comment?: string | undefined;
  /** Called after each stored batch, and at the end. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** As {@link WriterOptions.maxRowsInFlight}. */
  readonly maxRowsInFlight?: number | undefined;
  /** As {@link WriterOptions.maxBytesInFlight}. */
  readonly maxBytesInFlight?: number | undefined;
}

/** The progress of an import. */
export interface ImportProgress {
  /** Rows stored. */
  readonly rows: number;
  /** Bytes read of the source; 0 when it delivers objects. */
  readonly bytes: number;
  /** Total bytes of the source, if known, else `undefined`. */
  readonly totalBytes: number | undefined;
}

/** The result of {@link Database.importRows}. */
export interface ImportResult {
  /** Rows stored. */
  readonly rows: number;
  /** Bytes read of the source. */
  readonly bytes: number;
  /** Rows left out under `onError: "skip"`. */
  readonly skipped: number;
  /**
   * Rows that replaced another one: of the table, or an earlier one of the source. So the table has `rows - replaced` more rows
   * than before. Exact where nobody else writes the table meanwhile, and the engine refuses no row.
   */
  readonly replaced: number;
  /** Rows left out under `onDuplicate: "skip"`. */
  readonly skippedDuplicates: number;
  /** The first rows that `skipped` counts, at most 100, with their places in the source (from 1). */
  readonly failures: readonly { readonly row: number; readonly error: TabStoreError }[];
  /** Capacity units of all rows [C1]. */
  readonly consumed: Consumed;
}

/** Options of {@link inspectImport}. */
export interface InspectOptions extends Pick<ImportOptions, "format" | "delimiter" | "header" | "comment" | "signal"> {
  /** The most rows to read; default 10,000. */
  readonly rows?: number | undefined;
}

/** The result of {@link inspectImport}. */
export interface ImportPreview {
  /** The format. */
  readonly format: ImportFormat;
  /** Its columns, in order of appearance. */
  readonly columns: readonly ImportPreviewColumn[];
  /** The rows of the preview, as read. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  /** Whether these are all rows of the source. If not, later ones may have other types, gaps, or keys that come twice. */
  readonly whole: boolean;
}

/** A column that {@link inspectImport} has seen. */
export interface ImportPreviewColumn {
  /** Its name in the source. */
  readonly source: string;
  /** A legal name for it in the table [T2]: the same, or with `_` for characters that are not allowed. */
  readonly name: string;
  /**
   * The narrowest type that keeps every value of the preview as it is: DOUBLE only if each text comes back the same, but for `.0` and the
   * digits of a long integer that a double holds exactly.
   */
  readonly type: ValueType;
  /** Whether every row of the preview has a value. */
  readonly complete: boolean;
  /** Whether no value occurs twice in the preview. */
  readonly unique: boolean;
}
