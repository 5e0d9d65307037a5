/**
 * The writer: an unbounded stream of puts as batches, with bounded memory.
 *
 * Rows are encoded as they come, into a BATCH_WRITE request of at most 200 rows [R2] in a frame of its own. While nothing is
 * on its way a frame leaves at the end of the microtask; while something is, rows collect until the answer comes or the
 * frame is full, so that slow producers and fast ones both get batches of a good size.
 *
 * When there are many, rows leave by the thousand as PUT_ROWS, and the engine takes those that come in the order of their
 * keys into segments directly. They count as stored when a STORE_ROWS has been answered, which is sent when there is enough
 * for a segment, when no more come for a while, before another call of the client leaves, and at the end. The engine stores
 * them earlier when somebody else writes among them; the rows that follow are another load then, whose number tells.
 */

import type { Client } from "./client.js";
import { FrameWriter } from "./codec/frame.js";
import { checkArguments, checkCall, checkName, LEGAL_NAME, lookAtPrototype } from "./codec/check.js";
import { OP, storeRows, writePutRest } from "./codec/request.js";
import { shown } from "./codec/kinds.js";
import { isAutoIncrement, writeKey } from "./codec/value.js";
import { batchWriteResult, putRowsResult, type PutRowsResults, rowsStored, TAKEN } from "./codec/response.js";
import { invalid, local, TabStoreError, toError, WriterError, type WriterFailure } from "./errors.js";
import type { NewRow, RowWriter, WriterOptions, WriterProgress, WriterResult } from "./loads.js";
import { abortReason, signalOf } from "./signals.js";
import { hasStack, needStack } from "./stack.js";
import type { BatchWriteResult } from "./types.js";

/** Rows of a BATCH_WRITE request [R2]. */
const BATCH_ROWS = 200;
/** A batch that the service would count as this or more leaves at once. */
const BATCH_BYTES = 1 << 20;
/** A batch must not count more than this [R2]. Ours counts a little more than the service's, so it errs on the safe side. */
const BATCH_LIMIT = 4_000_000;
/**
 * What a cell may count beyond its encoded bytes and its name: an integer counts 8 bytes, and may be encoded in 1. So does a
 * version that is given [R8].
 */
const CELL_MARGIN = 8;
const KEPT_FAILURES = 1000;
/** So many rows or bytes are put in batches; what follows may be loaded. */
const FEW = 2000;
const FEW_BYTES = 256 << 10;
/** After less than a fourth of these had to be stored, so many rows or bytes go in batches: small segments are no gain. */
const MANY = 20_000;
const MANY_BYTES = 2 << 20;
/** Rows and bytes of a PUT_ROWS request, about. */
const LOAD_ROWS = 4096;
const LOAD_BYTES = 256 << 10;
/** So many bytes of a load are stored; of the first ones fewer, so that it shows that there is progress. */
const STORE_BYTES = 8 << 20;
const FIRST_STORE_BYTES = 1 << 20;
/** Rows that were taken wait so long for others, in ms; longer while there are always more. */
const STORE_AFTER = 300;

const ROW = new Set(["primaryKey", "attributes"]);
const OPTIONS = new Set(["maxRowsInFlight", "maxBytesInFlight", "onProgress", "signal"]);

function positive(value: number | undefined, name: string, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (!Number.isSafeInteger(value) || value < 1) throw invalid(`The argument '${name}' is ${shown(value)}; it must be a positive integer.`);
  return value;
}

/** A frame of rows to be loaded, and the places of those that were not taken. */
interface Loaded {
  readonly loader: number;
  readonly first: number;
  readonly rows: number;
  readonly bytes: number;
  others: Set<number> | undefined;
  /** The engine's load that took the others; 0 if none did, or it is not known yet. */
  load: number;
  /** What was taken was asked for, and it had not been answered: it will be asked for again. Or why nothing can be. */
  late: TabStoreError | boolean;
}

/** Writers that hold rows which have not been sent: the client asks them to send before another call leaves. */
export type Writers = Set<{ send(): void }>;

/** A {@link RowWriter} on a client. */
export class Writer implements RowWriter {
  private readonly frame = new FrameWriter();
  private readonly maxRows: number;
  private readonly maxBytes: number;
  private readonly onProgress: ((progress: WriterProgress) => void) | undefined;
  private batchRows = 0;
  private batchFirst = 0;
  private batchNames = 0;
  /** What the keys in the batch look like. */
  private readonly keys = new Set<number>();
  private countAt = 0;
  private id = 0;
  private framesOut = 0;
  private bytesOut = 0;
  private index = 0;
  /** Bytes of all frames that have left. */
  private bytesLeft = 0;
  private stored = 0;
  private storedBytes = 0;
  private failed = 0;
  private read = 0;
  private write = 0;
  private readonly failures: WriterFailure[] = [];
  private fatal: unknown;
  private closed = false;
  private scheduled = false;
  /** From this row or byte on, rows may be loaded. */
  private loadFrom = FEW;
  private loadFromByte = FEW_BYTES;
  /** Whether the rows in the frame are. */
  private loading = false;
  /** What has been loaded and not been asked for, and the number by which it will be. */
  private loaded: Loaded[] = [];
  private loader = 0;
  /** Whether the rows that were put last were written instead: those that were taken need not wait for more. */
  private over = false;
  private taken = 0;
  private storeAt = FIRST_STORE_BYTES;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private encoding = false;
  private room: { promise: Promise<void>; resolve(): void } | undefined;
  private drained: (() => void)[] = [];
  /** Ends the listening to the caller's signal, which may outlive the writer. */
  private forgetSignal: () => void = () => {};

  /** A writer for one table; `writers` is where it says that it holds rows. */
  constructor(private readonly client: Client, private readonly tableName: string, private readonly writers: Writers, options: WriterOptions = {}) {
    checkName(tableName, "tableName");
    // The engine refuses a whole batch for a wrong name: so that other rows do not go with it, no such row is taken.
    this.frame.isLegal = (name, bytes) => name === tableName || (client.laxNames ? bytes > 0 && bytes < 256 && name[0] !== "#" : LEGAL_NAME.test(name));
    const { maxRowsInFlight, maxBytesInFlight, onProgress } = checkArguments(options, OPTIONS, "writer");
    this.maxRows = positive(maxRowsInFlight, "maxRowsInFlight", 20_000);
    this.maxBytes = positive(maxBytesInFlight, "maxBytesInFlight", 8 << 20);
    this.onProgress = onProgress;
    if (onProgress !== undefined && typeof onProgress !== "function") throw invalid(`The argument 'onProgress' is ${shown(onProgress)}; it must be a function.`);
    const signal = signalOf(options);
    if (signal !== undefined) {
      const abort = () => this.fail(abortReason(signal));
      if (signal.aborted) abort();
      else {
        signal.addEventListener("abort", abort, { once: true });
        this.forgetSignal = () => signal.removeEventListener("abort", abort);
      }
    }
  }

  get progress(): WriterProgress {
    return { rows: this.stored, failed: this.failed, pending: this.index - this.stored - this.failed, bytes: this.storedBytes };
  }

  put(row: NewRow): undefined | Promise<void> {
    if (this.fatal !== undefined) throw this.fatal;
    if (this.closed) throw local("Closed", `The writer of table '${this.tableName}' is closed.`);
    if (this.client.closedBy !== undefined) throw this.client.closedBy;
    if (this.batchRows === 0) lookAtPrototype();
    const given = checkCall(row, ROW, "put");
    if (this.encoding) throw invalid("A row was put while the arguments of another one were being read, by one of their getters.");
    const { frame } = this;
    // A full batch had to stay, because the stack of the row before was nearly full.
    if (this.isFull(frame.length + this.batchNames)) {
      needStack();
      this.leave();
    }
    const first = this.batchRows === 0;
    let size: number;
    let nameBytes = 0;
    let known = 0;
    let twice = false;
    // What was refused, or cut off by the end of the caller's stack, is forgotten now.
    frame.begin();
    const start = frame.length;
    this.encoding = true;
    try {
      if (first) {
        this.id = this.client.nextId();
        frame.uv(this.id);
        this.loading = this.index >= this.loadFrom || this.bytesLeft >= this.loadFromByte;
        frame.u8(this.loading ? OP.PUT_ROWS : OP.BATCH_WRITE);
        if (this.loading) {
          if (this.loader === 0) this.loader = this.id;
          frame.uv(this.loader);
        }
        this.countAt = frame.length;
        // The count is patched in when the batch is sent: two bytes, whatever it will be.
        frame.u8(0x80);
        frame.u8(0);
      }
      frame.mark();
      frame.u8(OP.PUT_ROW);
      frame.name(this.tableName);
      const key = frame.length;
      writeKey(frame, given.primaryKey, "primaryKey", "write");
      if (this.loading) {
        // Each row of a load is for itself.
        writePutRest(frame, given);
        size = frame.length;
      } else {
        known = frame.hash(key);
        twice = this.keys.has(known) && !isGiven(given.primaryKey);
        writePutRest(frame, given);
        nameBytes = this.batchNames + namesOf(given);
        size = frame.length + nameBytes;
      }
    } finally {
      this.encoding = false;
    }
    // A getter of the row has aborted the writer's signal.
    if (this.fatal !== undefined) {
      this.stop();
      throw this.fatal;
    }
    // A row that may be too large is put alone: the engine would refuse the others with it.
    const large = !this.loading && frame.length - start >= BATCH_BYTES;
    // Names may be of characters that take three bytes each.
    if ((size + 2 * nameBytes > BATCH_LIMIT || twice || large) && !first) {
      // Too much together, perhaps not alone: the others go first. So they do when one of them seems to be the same row: a
      // table with indexes takes no row twice in a batch, and would refuse all of it.
      needStack();
      this.leave();
      return this.put(row);
    }
    if (first) this.writers.add(this);
    if (!this.loading) this.keys.add(known);
    if (this.framesOut === 0) this.schedule();
    frame.seal();
    // It is taken: nothing of what follows may fail.
    if (first) this.batchFirst = this.index;
    this.batchNames = nameBytes;
    this.index += 1;
    this.batchRows += 1;
    if (this.isFull(size) && hasStack()) this.leave();
    if (this.index - this.stored - this.failed - this.taken < this.maxRows && this.bytesOut + frame.length < this.maxBytes) return undefined;
    if (!hasStack()) return undefined;
    // What is full must drain: do not wait for more rows to fill the batch.
    this.schedule();
    this.room ??= deferred();
    return this.room.promise;
  }

  /** Whether a batch of this size leaves, and takes no more rows. */
  private isFull(size: number): boolean {
    return this.loading ? this.batchRows >= LOAD_ROWS || size >= LOAD_BYTES : this.batchRows >= BATCH_ROWS || size >= BATCH_BYTES;
  }

  private schedule(): void {
    if (this.scheduled) return;
    queueMicrotask(() => {
      this.scheduled = false;
      if (this.framesOut === 0 || this.room !== undefined) this.leave();
    });
    this.scheduled = true;
  }

  /** Sends the rows that have been collected, and asks for those that were taken: another call is about to leave. */
  send(): void {
    this.leave();
    if (!this.encoding) this.store();
  }

  /** Sends the rows that have been collected. */
  private leave(): void {
    // A row that is being read is not whole: what its getters ask for waits for it.
    if (this.encoding) return;
    this.frame.begin();
    if (this.loaded.length === 0) this.writers.delete(this);
    if (this.batchRows === 0) return;
    const { frame, batchFirst: first, batchRows: rows, id } = this;
    frame.patch(this.countAt, (rows & 127) | 128);
    frame.patch(this.countAt + 1, rows >> 7);
    const bytes = frame.length;
    this.batchRows = 0;
    this.batchNames = 0;
    this.keys.clear();
    this.framesOut += 1;
    this.bytesOut += bytes;
    this.bytesLeft += bytes;
    if (this.loading) {
      const loaded: Loaded = { loader: this.loader, first, rows, bytes, others: undefined, load: 0, late: false };
      this.loaded.push(loaded);
      this.writers.add(this);
      this.timer ??= setTimeout(() => this.wake(), STORE_AFTER);
      this.client.submitFrame(frame, id, putRowsResult).then(
        (results) => this.take(loaded, results),
        (error: unknown) => this.lose(loaded.first, rows, bytes, error, loaded),
      );
      return;
    }
    this.client.submitFrame(frame, id, batchWriteResult).then(
      (results) => this.settle(first, results, bytes),
      (error: unknown) => this.lose(first, rows, bytes, error),
    );
  }

  private settle(first: number, results: readonly BatchWriteResult[], bytes: number): void {
    for (let i = 0; i < results.length; i++) this.result(first + i, results[i]);
    this.storedBytes += bytes;
    this.landed(bytes);
  }

  private result(index: number, result: BatchWriteResult): void {
    if (result.ok) {
      this.stored += 1;
      this.read += result.consumed.read;
      this.write += result.consumed.write;
    } else {
      this.note(index, result.error);
      this.client.notice(result.error);
    }
  }

  private lose(first: number, rows: number, bytes: number, error: unknown, loaded?: Loaded): void {
    if (loaded !== undefined) this.loaded = this.loaded.filter((other) => other !== loaded);
    for (let i = 0; i < rows; i++) this.note(first + i, toError(error));
    this.landed(bytes);
  }

  /** The rows of a frame were taken, or written as they came. */
  private take(loaded: Loaded, results: Readonly<PutRowsResults>): void {
    const others = new Set<number>();
    for (let i = 0; i < results.length; i++) {
      if (results[i] === TAKEN) continue;
      others.add(i);
      this.result(loaded.first + i, results[i]);
    }
    loaded.others = others;
    loaded.load = results.load ?? 0;
    const taken = loaded.rows - others.size;
    this.taken += taken;
    if (taken === 0) {
      this.loaded = this.loaded.filter((other) => other !== loaded);
      this.storedBytes += loaded.bytes;
    } else if (loaded.late === true) {
      this.ask(loaded.loader, [loaded]);
    } else if (loaded.late !== false) {
      this.done([loaded], loaded.late);
    }
    if (loaded.loader === this.loader) {
      this.over = loaded.load === 0;
      // Another load than the one before: that one was stored because of others, which is to be counted.
      const others = (): boolean => this.loaded.some(({ load }) => load > 0 && load !== loaded.load);
      if (!this.over && (results.bytes! >= this.storeAt || others())) this.store();
    }
    this.landed(loaded.bytes);
  }

  /** Rows that were taken have waited: unless there are always more to be taken, they are asked for. */
  private wake(): void {
    this.timer = undefined;
    if (this.room === undefined || this.over) this.store();
    else this.timer = setTimeout(() => this.wake(), STORE_AFTER);
  }

  /** Asks for what was taken. */
  private store(): void {
    // The rows in the frame are of the same loader.
    this.leave();
    const { loaded, loader } = this;
    if (loaded.length === 0 || this.batchRows > 0 || this.client.isReading) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.loaded = [];
    this.loader = 0;
    this.over = false;
    this.writers.delete(this);
    let rows = 0;
    let bytes = 0;
    for (const frame of loaded) {
      rows += frame.rows;
      bytes += frame.bytes;
    }
    if (rows < MANY / 4 && bytes < MANY_BYTES / 4) {
      this.loadFrom = this.index + MANY;
      this.loadFromByte = this.bytesLeft + MANY_BYTES;
    }
    this.storeAt = Math.min(this.storeAt * 2, STORE_BYTES);
    this.ask(loader, loaded);
  }

  private ask(loader: number, loaded: readonly Loaded[]): void {
    const { client } = this;
    client.sendLast(client.prepare(storeRows, loader), rowsStored).then(
      ({ read, write, until, failed }) => {
        this.read += read;
        this.write += write;
        // A frame that waited behind rows that are tried again may have come after the question.
        const later = loaded.filter(({ load }) => load > until);
        if (later.length > 0) this.ask(loader, later);
        for (const frame of loaded) if (frame.load <= until) this.done([frame], failed.get(frame.load));
        for (const failure of failed.values()) client.notice(failure);
      },
      (error: unknown) => this.done(loaded, toError(error)),
    );
  }

  /** What was asked for is stored, or could not be. */
  private done(loaded: readonly Loaded[], error?: TabStoreError): void {
    for (const frame of loaded) {
      const { first, rows, bytes, others } = frame;
      if (others === undefined) {
        // It waited behind rows that are tried again.
        frame.late = error ?? true;
        continue;
      }
      this.taken -= rows - others.size;
      if (error === undefined) {
        this.stored += rows - others.size;
        // Where none was taken they were counted when that was told.
        if (others.size < rows) this.storedBytes += bytes;
      } else {
        for (let i = 0; i < rows; i++) if (!others.has(i)) this.note(first + i, error);
      }
    }
    this.progressed();
  }

  private note(index: number, error: TabStoreError): void {
    this.failed += 1;
    if (this.failures.length < KEPT_FAILURES) this.failures.push({ index, error });
  }

  private landed(bytes: number): void {
    this.framesOut -= 1;
    this.bytesOut -= bytes;
    if (this.framesOut === 0) this.leave();
    // Somebody waits for all of it.
    if (this.drained.length > 0) this.store();
    this.progressed();
  }

  private progressed(): void {
    const pending = this.index - this.stored - this.failed;
    if (this.room !== undefined && pending - this.taken <= this.maxRows / 2 && this.bytesOut <= this.maxBytes / 2) {
      const { resolve } = this.room;
      this.room = undefined;
      resolve();
    }
    if (pending === 0) for (const resolve of this.drained.splice(0)) resolve();
    // Last, and caught: its mistakes must not leave anybody waiting.
    try {
      this.onProgress?.(this.progress);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Gives up: what has not been sent is dropped. A row that is being read is not taken; its put ends the writer then. */
  private fail(reason: unknown): void {
    if (this.fatal !== undefined || this.closed) return;
    this.fatal = reason;
    if (!this.encoding) this.stop();
  }

  private stop(): void {
    if (this.batchRows > 0) {
      this.writers.delete(this);
      for (let i = 0; i < this.batchRows; i++) this.note(this.batchFirst + i, local("Aborted", "The writer was stopped before this row was sent."));
      this.batchRows = 0;
      this.keys.clear();
      this.frame.finish();
    }
    this.store();
    this.room?.resolve();
    this.room = undefined;
    if (this.index - this.stored - this.failed === 0) for (const resolve of this.drained.splice(0)) resolve();
  }

  async flush(): Promise<void> {
    needStack();
    this.send();
    if (this.index - this.stored - this.failed > 0) await new Promise<void>((resolve) => this.drained.push(resolve));
  }

  async close(): Promise<WriterResult> {
    const given = this.fatal;
    await this.flush();
    this.closed = true;
    this.forgetSignal();
    const reason = given ?? this.fatal;
    if (reason !== undefined && !(reason instanceof TabStoreError)) throw reason;
    if (this.failed > 0 || reason !== undefined) {
      const cause = this.failures[0]?.error ?? toError(reason);
      const message = `${this.failed} of ${this.index} rows for table '${this.tableName}' were not stored. The first: ${cause.message}`;
      throw new WriterError({ code: cause.code, status: cause.status, retryable: cause.retryable, message, hint: cause.hint, requestId: cause.requestId }, this.stored, this.failed, this.failures, { read: this.read, write: this.write });
    }
    return { rows: this.stored, bytes: this.storedBytes, consumed: { read: this.read, write: this.write } };
  }
}

/** Whether the store gives a part of a key: then it is nobody else's. */
function isGiven(key: NewRow["primaryKey"]): boolean {
  return Object.values(key).some(isAutoIncrement);
}

/** What the names of a row's columns count, which the encoding does not show. */
function namesOf(row: NewRow): number {
  let size = 0;
  for (const name in row.primaryKey) size += name.length + CELL_MARGIN;
  for (const name in row.attributes) {
    const value = row.attributes[name];
    if (typeof value === "object" && Array.isArray(value)) size += value.length * (name.length + 2 * CELL_MARGIN);
    else size += name.length + CELL_MARGIN;
  }
  return size;
}

function deferred(): { promise: Promise<void>; resolve(): void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
