/** Many rows in: writers and imports. */

import type { TabStoreError } from "./errors.js";
import type { Attributes, CallOptions, Consumed, InputPrimaryKey, ValueType } from "./data.js";

/** A row for {@link RowWriter.put} and {@link Database.importRows}. */
export interface NewRow {
  /** The whole primary key. */
  readonly primaryKey: InputPrimaryKey;
  /** The attribute columns. */
  readonly attributes?: Attributes | undefined;
}

/** Options of {@link Database.writer}. */
export interface WriterOptions {
  /** Rows that may be buffered or on their way to the engine; 20,000 unless given. */
  readonly maxRowsInFlight?: number | undefined;
  /** Encoded bytes that may be buffered or on their way; 8 MB unless given. */
  readonly maxBytesInFlight?: number | undefined;
  /** Called after each batch that has been stored. If it throws, the writer fails with that error. */
  readonly onProgress?: ((progress: WriterProgress) => void) | undefined;
  /** Stops the writer: what has not been sent is dropped, and `close` rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** How far a {@link RowWriter} is. */
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

/** What {@link RowWriter.close} gives. */
export interface WriterResult {
  /** Rows stored. */
  readonly rows: number;
  /** Encoded bytes stored. */
  readonly bytes: number;
  /** Capacity units all of it cost [C1]. */
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
   * Takes a row. Gives `undefined`, or, when too much is in flight, a promise to await before the next put; that promise
   * never rejects. Throws a {@link TabStoreError} when the row's arguments are wrong (nothing of it is taken), or when the
   * writer is closed or has failed for good.
   */
  put(row: NewRow): undefined | Promise<void>;
  /** Resolves when every row put so far is stored or has failed. */
  flush(): Promise<void>;
  /** Resolves when all of it is stored; rejects with a {@link WriterError} that holds what was not. */
  close(): Promise<WriterResult>;
  /** How far it is. */
  readonly progress: WriterProgress;
}

/** The formats that {@link Database.importRows} reads. */
export type ImportFormat = "csv" | "json" | "ndjson";

/** Where {@link Database.importRows} reads from: rows as objects, or bytes in one of the formats. */
export type ImportSource =
  | Iterable<NewRow | Readonly<Record<string, unknown>>>
  | AsyncIterable<NewRow | Readonly<Record<string, unknown>>>
  | Blob
  | Response
  | ReadableStream<Uint8Array>;

/** How a column of the source becomes a column of the table. */
export interface ImportColumn {
  /** The column's name in the table; the source's name unless given. */
  readonly name?: string | undefined;
  /**
   * The type to read it as. Unless given: the type that the table has defined for the column; else texts of a CSV file stay
   * strings, and JSON values keep their own type. A text read as BINARY is base64.
   */
  readonly type?: ValueType | undefined;
}

/** Options of {@link Database.importRows}. */
export interface ImportOptions extends CallOptions {
  /** The format of bytes; unless given, taken from the name of a `File` or from the media type. */
  readonly format?: ImportFormat | undefined;
  /** What to do with columns of the source, by name; `false` leaves a column out. Others come as they are. */
  readonly columns?: Readonly<Record<string, ImportColumn | false>> | undefined;
  /**
   * `"legal"` makes legal names [T2] of the source's: `_` for what is not allowed, and `_2`, `_3`, … behind a name that another
   * column has. They are those that {@link inspectImport} tells. Names given by `columns` go before. Rows with a `primaryKey`
   * keep their names. Unless given, a name that is not legal is refused.
   */
  readonly rename?: "legal" | undefined;
  /** A key column (INTEGER) to fill with the number of the row, from 1, when the source has no unique key. */
  readonly rowNumber?: string | undefined;
  /** What to do about a row that cannot be read or stored: `"stop"` (the default) rejects, `"skip"` counts it and goes on. */
  readonly onError?: "stop" | "skip" | undefined;
  /** The character between fields of a CSV file; found out unless given. */
  readonly delimiter?: string | undefined;
  /** Called after each batch that has been stored, and at the end. */
  readonly onProgress?: ((progress: ImportProgress) => void) | undefined;
  /** Limits of the writer underneath. */
  readonly maxRowsInFlight?: number | undefined;
  /** Limits of the writer underneath. */
  readonly maxBytesInFlight?: number | undefined;
}

/** How far an import is. */
export interface ImportProgress {
  /** Rows stored. */
  readonly rows: number;
  /** Bytes read of the source; 0 when it delivers objects. */
  readonly bytes: number;
  /** Bytes of the source in all, where known, else `undefined`. */
  readonly totalBytes: number | undefined;
}

/** What {@link Database.importRows} gives. */
export interface ImportResult {
  /** Rows stored. */
  readonly rows: number;
  /** Bytes read of the source. */
  readonly bytes: number;
  /** Rows left out under `onError: "skip"`. */
  readonly skipped: number;
  /** The first of them, at most 100, with the place of the row in the source (from 1). */
  readonly failures: readonly { readonly row: number; readonly error: TabStoreError }[];
  /** Capacity units all of it cost [C1]. */
  readonly consumed: Consumed;
}

/** What {@link inspectImport} finds out about a file. */
export interface ImportPreview {
  /** The format. */
  readonly format: ImportFormat;
  /** Its columns, in order of appearance. */
  readonly columns: readonly ImportPreviewColumn[];
  /** The rows that were looked at, as read. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** A column that {@link inspectImport} has seen. */
export interface ImportPreviewColumn {
  /** Its name in the source. */
  readonly source: string;
  /** A legal name for it in the table [T2]: the same, or with `_` in place of what is not allowed. */
  readonly name: string;
  /** The narrowest type that fits every value looked at. */
  readonly type: ValueType;
  /** Whether every row looked at has a value. */
  readonly complete: boolean;
  /** Whether no value occurred twice in the rows looked at. */
  readonly unique: boolean;
}
