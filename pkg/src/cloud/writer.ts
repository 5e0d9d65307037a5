/**
 * The writer of a connection: an unbounded stream of puts as batches, with bounded memory.
 *
 * If no batch is under way, one leaves at the end of the microtask. Otherwise rows collect until the answer comes or the batch is full.
 * A batch that the service refuses as a whole is cut in two, before any later operation on its rows (see {@link RowCalls.writeEach}).
 */

import { checkArguments, checkCall, checkName, checkPositive } from "../codec/check.js";
import { shown } from "../codec/kinds.js";
import { putRow } from "../codec/requests.js";
import { abortReason, signalOf, whenAborted } from "../client/signals.js";
import { BATCH_BYTES, BATCH_LIMIT, BATCH_ROWS, KEPT_FAILURES } from "../client/writer-sizes.js";
import { invalid, local, TabStoreError, toError } from "../types/errors.js";
import type { BatchWriteResult, Condition } from "../types/rows.js";
import { WriterError, type WriterFailure } from "../types/writer-error.js";
import type { NewRow, RowWriter, WriterOptions, WriterProgress, WriterResult } from "../types/writer.js";
import { utf8 } from "./bytes.js";
import { type Cell, TYPE } from "./plain-buffer.js";
import { rowId, type Write } from "./requests.js";
import { type RowCalls, taken } from "./row-calls.js";
import { readWrite } from "./requests.js";

const ROW = new Set(["primaryKey", "attributes"]);
const OPTIONS = new Set(["maxRowsInFlight", "maxBytesInFlight", "condition", "onProgress", "onFailure", "signal"]);
/** Batches under way at once: as many as a browser has connections to one server. */
const TOGETHER = 6;
const FIXED_BYTES = 8;

/** A row that waits for its batch. */
interface Waiting {
  readonly index: number;
  readonly write: Write;
  readonly bytes: number;
}

/** The bytes of a cell as the service counts them. */
function sizeOf({ name, variant }: Cell): number {
  const value = variant?.value;
  const length = typeof value === "string" ? utf8(value).length : value instanceof Uint8Array ? value.length : FIXED_BYTES;
  return utf8(name).length + length;
}

const isGiven = (key: readonly Cell[]): boolean => key.some(({ variant }) => variant?.type === TYPE.AUTO_INCREMENT);

/** A {@link RowWriter} of a connection. */
export class CloudWriter implements RowWriter {
  private readonly maxRows: number;
  private readonly maxBytes: number;
  private readonly condition: Condition | undefined;
  private readonly onProgress: WriterOptions["onProgress"];
  private readonly onFailure: WriterOptions["onFailure"];
  private rows: Waiting[] = [];
  private bytes = 0;
  private readonly ids = new Set<string>();
  /** Batches under way, and those that wait for one of them to end. */
  private underWay = 0;
  private readonly turns: (() => void)[] = [];
  private index = 0;
  private stored = 0;
  private storedBytes = 0;
  private failed = 0;
  private bytesOut = 0;
  private consumed = { read: 0, write: 0 };
  private readonly failures: WriterFailure[] = [];
  private fatal: unknown;
  private closed = false;
  private scheduled = false;
  private room: { readonly promise: Promise<void>; readonly resolve: () => void } | undefined;
  private drained: (() => void)[] = [];
  private forgetSignal: () => void = () => {};

  constructor(
    private readonly calls: RowCalls,
    private readonly tableName: string,
    options: WriterOptions = {},
  ) {
    checkName(tableName, "tableName");
    const { maxRowsInFlight, maxBytesInFlight, condition, onProgress, onFailure } = checkArguments(options, OPTIONS, "writer");
    checkPositive(maxRowsInFlight, "maxRowsInFlight");
    checkPositive(maxBytesInFlight, "maxBytesInFlight");
    for (const [name, listener] of Object.entries({ onProgress, onFailure })) {
      if (listener !== undefined && typeof listener !== "function") throw invalid(`The argument '${name}' is ${shown(listener)}; it must be a function.`);
    }
    this.maxRows = maxRowsInFlight ?? 20_000;
    this.maxBytes = maxBytesInFlight ?? 8 << 20;
    this.condition = condition;
    this.onProgress = onProgress;
    this.onFailure = onFailure;
    const signal = signalOf(options);
    if (signal?.aborted) this.fatal = abortReason(signal);
    else this.forgetSignal = whenAborted(signal, () => this.fail(abortReason(signal!)));
  }

  get progress(): WriterProgress {
    return { rows: this.stored, failed: this.failed, pending: this.pending, bytes: this.storedBytes };
  }

  private get pending(): number {
    return this.index - this.stored - this.failed;
  }

  put(row: NewRow): undefined | Promise<void> {
    if (this.fatal !== undefined) throw this.fatal;
    if (this.closed) throw local("Closed", `The writer of table '${this.tableName}' is closed.`);
    const { connection } = this.calls;
    if (connection.closedBy !== undefined) throw connection.closedBy;
    const given = checkCall(row, ROW, "put");
    let write = readWrite(taken(putRow, { tableName: this.tableName, ...given }));
    if (this.condition !== undefined && !isGiven(write.key))
      write = readWrite(taken(putRow, { tableName: this.tableName, ...given, condition: this.condition }));
    const bytes = [...write.key, ...write.cells].reduce((sum, cell) => sum + sizeOf(cell), 0);
    const id = rowId(this.tableName, write.key);
    // A table with indexes refuses a batch with a repeated row, and one with conditions too.
    if ((this.ids.has(id) && !isGiven(write.key)) || this.bytes + bytes > BATCH_LIMIT) this.send();
    this.rows.push({ index: this.index++, write, bytes });
    this.ids.add(id);
    this.bytes += bytes;
    this.bytesOut += bytes;
    connection.writers.add(this);
    if (this.rows.length >= BATCH_ROWS || this.bytes >= BATCH_BYTES) this.send();
    else if (this.underWay === 0) this.schedule();
    if (this.pending < this.maxRows && this.bytesOut < this.maxBytes) return undefined;
    this.schedule();
    this.room ??= deferred();
    return this.room.promise;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    queueMicrotask(() => {
      this.scheduled = false;
      if (this.underWay === 0 || this.room !== undefined) this.send();
    });
  }

  /** Sends the collected rows. */
  send(): void {
    const { connection } = this.calls;
    connection.writers.delete(this);
    const rows = this.rows.splice(0);
    this.bytes = 0;
    this.ids.clear();
    if (rows.length > 0) void connection.expect(this.store(rows));
  }

  /** Stores rows. */
  private async store(rows: readonly Waiting[]): Promise<void> {
    this.underWay += 1;
    let results: readonly BatchWriteResult[];
    try {
      results = await this.calls.writeEach(
        rows.map(({ write }) => write),
        () => this.turn(),
      );
    } catch (thrown) {
      const error = toError(thrown);
      results = rows.map(() => ({ ok: false, error }));
    }
    this.settle(rows, results);
    this.end();
  }

  /** Waits until there are few enough batches under way. */
  private turn(): Promise<void> {
    return this.underWay <= TOGETHER ? Promise.resolve() : new Promise((resolve) => this.turns.push(resolve));
  }

  /** A batch is over. */
  private end(): void {
    this.underWay -= 1;
    this.turns.shift()?.();
    if (this.underWay === 0) this.send();
  }

  private settle(rows: readonly Waiting[], results: readonly BatchWriteResult[]): void {
    rows.forEach(({ index, bytes }, i) => {
      const result = results[i];
      this.bytesOut -= bytes;
      if (!result.ok) {
        this.note(index, result.error);
        return;
      }
      this.stored += 1;
      this.storedBytes += bytes;
      this.consumed = { read: this.consumed.read + result.consumed.read, write: this.consumed.write + result.consumed.write };
    });
    if (this.pending <= this.maxRows / 2 && this.bytesOut <= this.maxBytes / 2) {
      this.room?.resolve();
      this.room = undefined;
    }
    // Its errors must not leave a caller waiting.
    try {
      this.onProgress?.(this.progress);
    } catch (error) {
      this.fail(error);
    }
    if (this.pending === 0) for (const resolve of this.drained.splice(0)) resolve();
  }

  /** Notes a row that was not stored. */
  private note(index: number, error: TabStoreError): void {
    this.failed += 1;
    const failure = { index, error };
    if (this.failures.length < KEPT_FAILURES) this.failures.push(failure);
    try {
      this.onFailure?.(failure);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  /** Fails: unsent rows are dropped. */
  private fail(reason: unknown): void {
    if (this.fatal !== undefined || this.closed) return;
    this.fatal = reason;
    this.calls.connection.writers.delete(this);
    for (const { index, bytes } of this.rows.splice(0)) {
      this.bytesOut -= bytes;
      this.note(index, local("Aborted", "The writer was stopped before this row was sent."));
    }
    this.room?.resolve();
    this.room = undefined;
    if (this.pending === 0) for (const resolve of this.drained.splice(0)) resolve();
  }

  async flush(): Promise<void> {
    this.send();
    if (this.pending > 0) await new Promise<void>((resolve) => this.drained.push(resolve));
  }

  async close(): Promise<WriterResult> {
    const given = this.fatal;
    await this.flush();
    this.closed = true;
    this.forgetSignal();
    const reason = given ?? this.fatal;
    if (reason !== undefined && !(reason instanceof TabStoreError)) throw reason;
    const { stored, failed, failures, consumed } = this;
    if (failed === 0 && reason === undefined) return { rows: stored, bytes: this.storedBytes, consumed };
    const cause = failures[0]?.error ?? toError(reason);
    const message = `${failed} of ${this.index} rows for table '${this.tableName}' were not stored. The first: ${cause.message}`;
    const { code, status, retryable, hint, requestId } = cause;
    throw new WriterError({ code, status, retryable, message, hint, requestId }, stored, failed, failures, consumed);
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
