/** The failure of a writer or an import. */

import type { Consumed } from "./data.js";
import { type ErrorRecord, TabStoreError } from "./errors.js";
import { named, shared } from "./named.js";

/** A row that a {@link RowWriter} or an import could not store. */
export interface WriterFailure {
  /** Its place among the put rows, or among those of the import's source, from 0. */
  readonly index: number;
  /** The error. */
  readonly error: TabStoreError;
}

/**
 * The failure of {@link RowWriter.close} or {@link Database.importRows}, and the number of stored rows. Its `code` is
 * that of the first failure.
 *
 * @example
 * ```ts
 * try {
 *   await db.importRows("weather", file);
 * } catch (error) {
 *   if (error instanceof WriterError && error.code === "QuotaExceeded") show(`The disk is full: ${error.stored} rows are stored.`);
 *   else throw error;
 * }
 * ```
 */
export class WriterError extends TabStoreError {
  /** Stored rows, which can be read. A row with an unknown outcome (`Unavailable`) does not count. */
  readonly stored: number;
  /** Rows that were put, or read by an import, and are not stored. */
  readonly failed: number;
  /** The first of them, at most 1000. An import adds at most a hundred rows that it left out. */
  readonly failures: readonly WriterFailure[];
  /** Capacity units of the stored rows [C1]. */
  readonly consumed: Consumed;

  /** Makes an error; applications do not need it. */
  constructor(record: ErrorRecord, stored: number, failed: number, failures: readonly WriterFailure[], consumed: Consumed = { read: 0, write: 0 }) {
    super(record, { cause: failures[0]?.error });
    this.stored = stored;
    this.failed = failed;
    this.failures = failures;
    this.consumed = consumed;
  }
}
named(WriterError.prototype, "WriterError");
shared(WriterError, "WriterError");
