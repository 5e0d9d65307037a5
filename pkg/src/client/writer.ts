/**
 * The writer: an unbounded stream of puts as batches, with bounded memory.
 *
 * Rows are encoded as they come, into a BATCH_WRITE_ROW request of at most 200 rows [R2] in a frame of its own. If no frame
 * is in flight, a frame leaves at the end of the microtask. Otherwise rows collect until the answer comes or the frame is
 * full. So slow producers and fast ones both get batches of a good size.
 *
 * Many rows leave by the thousand as PUT_ROWS, and the engine takes those in key order into segments directly. They count
 * as stored when a STORE_ROWS has been answered. That is sent when there is enough for a segment, when no more come for a
 * while, before another call of the client leaves, and at the end. The engine stores them earlier if another write comes
 * among them. The rows that follow are then another load, with another number.
 */

import type { Client } from "./client.js";
import { FrameWriter } from "../codec/frame.js";
import { checkArguments, checkCall, checkName, checkPositive, LEGAL_NAME, lookAtPrototype } from "../codec/check.js";
import { OP } from "../codec/contract.js";
import { storeRows, writePutRest } from "../codec/requests.js";
import { readRowsStored } from "../codec/responses.js";
import { shown } from "../codec/kinds.js";
import { writeKey } from "../codec/value.js";
import { batchWriteResult, putRowsResult, type PutRowsResults, TAKEN } from "../codec/response.js";
import { invalid, local, TabStoreError, toError } from "../types/errors.js";
import type { NewRow, RowWriter, WriterOptions, WriterProgress, WriterResult } from "../types/writer.js";
import { isGiven, namesOf } from "./new-row.js";
import { abortReason, signalOf, whenAborted } from "./signals.js";
import { hasStack, needStack } from "./stack.js";
import type { BatchWriteResult, Condition, PutRow } from "../types/rows.js";
import { WriterError, type WriterFailure } from "../types/writer-error.js";
import {
  BATCH_ROWS,
  BATCH_BYTES,
  MOST_KEY,
  MOST_COLUMNS,
  BATCH_LIMIT,
  KEPT_FAILURES,
  FEW,
  FEW_BYTES,
  MANY,
  MANY_BYTES,
  LOAD_ROWS,
  LOAD_BYTES,
  STORE_BYTES,
  FIRST_STORE_BYTES,
  STORE_AFTER,
} from "./writer-sizes.js";
import type { Loaded } from "./loaded.js";

const ROW = new Set(["primaryKey", "attributes"]);
const OPTIONS = new Set(["maxRowsInFlight", "maxBytesInFlight", "condition", "onProgress", "onFailure", "signal"]);

/** Writers with unsent rows: the client lets them send before another call leaves. */
export type Writers = Set<Pick<Writer, "send" | "handOver" | "isBusy">>;

/** A {@link RowWriter} on a client. */
export class Writer implements RowWriter {
  private readonly frame = new FrameWriter();
  private readonly maxRows: number;
  private readonly maxBytes: number;
  private readonly onProgress: ((progress: WriterProgress) => void) | undefined;
  private readonly onFailure: ((failure: WriterFailure) => void) | undefined;
  private readonly condition: Condition | undefined;
  private batchRows = 0;
  private batchFirst = 0;
  private batchNames = 0;
  /** Whether its row must not have others beside it. */
  private alone = false;
  /** Hashes of the keys in the batch. */
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
  /** Whether the rows in the frame are to be loaded. */
  private loading = false;
  /** Loads whose rows were not asked for yet, and the number for asking. */
  private loaded: Loaded[] = [];
  /** All that are not settled: also those that were asked for. */
  private readonly unsettled = new Set<Loaded>();
  private loader = 0;
  /** Whether the last rows were written instead: taken rows need not wait for more. */
  private over = false;
  private taken = 0;
  /** The bytes of taken rows that the client keeps, because they may have to be put again. */
  private bytesKept = 0;
  private storeAt = FIRST_STORE_BYTES;
  /** The loaded rows and bytes that were asked for since another call last made the writer ask for them. */
  private askedRows = 0;
  private askedBytes = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private encoding = false;
  private room: { promise: Promise<void>; resolve(): void } | undefined;
  private drained: (() => void)[] = [];
  /** Removes the listener from the caller's signal, which may outlive the writer. */
  private forgetSignal: () => void = () => {};

  /** A writer for one table. It registers itself in `writers` while it holds rows. */
  constructor(
    private readonly client: Client,
    private readonly tableName: string,
    private readonly writers: Writers,
    options: WriterOptions = {},
  ) {
    checkName(tableName, "tableName");
    // The engine refuses a whole batch for one illegal name. So a row with such a name is not taken, and other rows are
    // safe.
    this.frame.isLegal = (name, bytes) => name === tableName || (client.laxNames ? bytes > 0 && bytes < 256 && name[0] !== "#" : LEGAL_NAME.test(name));
    const { maxRowsInFlight, maxBytesInFlight, condition, onProgress, onFailure } = checkArguments(options, OPTIONS, "writer");
    checkPositive(maxRowsInFlight, "maxRowsInFlight");
    checkPositive(maxBytesInFlight, "maxBytesInFlight");
    this.maxRows = maxRowsInFlight ?? 20_000;
    this.maxBytes = maxBytesInFlight ?? 8 << 20;
    this.onProgress = onProgress;
    this.onFailure = onFailure;
    for (const [name, listener] of Object.entries({ onProgress, onFailure })) {
      if (listener !== undefined && typeof listener !== "function") throw invalid(`The argument '${name}' is ${shown(listener)}; it must be a function.`);
    }
    this.condition = condition;
    // What is loaded goes into segments unread.
    if (condition !== undefined) this.loadFrom = this.loadFromByte = Infinity;
    const signal = signalOf(options);
    if (signal !== undefined) {
      const abort = () => this.fail(abortReason(signal));
      if (signal.aborted) abort();
      else {
        this.forgetSignal = whenAborted(signal, abort);
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
    const given: PutRow = checkCall(row, ROW, "put");
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
    let keyBytes = 0;
    // Removes a row that was refused, or cut off by the end of the caller's stack.
    frame.begin();
    const start = frame.length;
    this.encoding = true;
    try {
      if (first) {
        this.id = this.client.nextId();
        frame.uv(this.id);
        this.loading = this.index >= this.loadFrom || this.bytesLeft >= this.loadFromByte;
        frame.u8(this.loading ? OP.PUT_ROWS : OP.BATCH_WRITE_ROW);
        if (this.loading) {
          if (this.loader === 0) this.loader = this.id;
          frame.uv(this.loader);
        }
        this.countAt = frame.length;
        // The count is filled in when the batch is sent: always two bytes.
        frame.u8(0x80);
        frame.u8(0);
      }
      frame.mark();
      frame.u8(OP.PUT_ROW);
      frame.name(this.tableName);
      const key = frame.length;
      writeKey(frame, given.primaryKey, "primaryKey", "write");
      keyBytes = frame.length - key;
      if (this.loading) {
        // Each row of a load stands alone.
        writePutRest(frame, given);
        size = frame.length;
      } else {
        known = frame.hash(key);
        twice = this.keys.has(known) && !isGiven(given.primaryKey);
        writePutRest(frame, this.condition === undefined || isGiven(given.primaryKey) ? given : { ...given, condition: this.condition });
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
    // A row that may be beyond a limit is put alone: the engine would refuse the others with it.
    const large =
      !this.loading &&
      (frame.length - start >= BATCH_BYTES ||
        keyBytes > MOST_KEY ||
        (nameBytes - this.batchNames > MOST_COLUMNS && Object.keys(given.attributes ?? {}).length > MOST_COLUMNS));
    // Names may have characters of three bytes each.
    if ((size + 2 * nameBytes > BATCH_LIMIT || twice || large) && !first) {
      // Together they are too large, perhaps not alone: the others go first. The same if one of them seems to be the same
      // row: a table with indexes refuses a batch with a repeated row.
      needStack();
      this.leave();
      return this.put(row);
    }
    if (first) this.writers.add(this);
    if (!this.loading) this.keys.add(known);
    if (this.framesOut === 0) this.schedule();
    frame.seal();
    // The row is taken: no later step may fail.
    if (first) this.batchFirst = this.index;
    this.batchNames = nameBytes;
    this.alone = large;
    this.index += 1;
    this.batchRows += 1;
    if (this.isFull(size) && hasStack()) this.leave();
    if (this.index - this.stored - this.failed - this.taken < this.maxRows && this.bytesOut + this.bytesKept + frame.length < this.maxBytes) return undefined;
    if (!hasStack()) return undefined;
    // A full batch must leave: do not wait for more rows.
    this.schedule();
    this.room ??= deferred();
    return this.room.promise;
  }

  /** Whether a batch of this size leaves and takes no more rows. */
  private isFull(size: number): boolean {
    if (this.alone) return true;
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

  /** Sends collected rows, and asks for taken ones to be stored, before another call leaves. */
  send(): void {
    this.leave();
    if (!this.encoding) this.store();
  }

  /** Sends the collected rows. */
  private leave(): void {
    // A row that is being read is incomplete, so requests of its getters wait for it.
    if (this.encoding) return;
    this.frame.begin();
    if (!this.isBusy) this.writers.delete(this);
    if (this.batchRows === 0) return;
    const { frame, batchFirst: first, batchRows: rows, id } = this;
    frame.patch(this.countAt, (rows & 127) | 128);
    frame.patch(this.countAt + 1, rows >> 7);
    const bytes = frame.length;
    this.batchRows = 0;
    this.batchNames = 0;
    this.alone = false;
    this.keys.clear();
    this.framesOut += 1;
    this.bytesOut += bytes;
    this.bytesLeft += bytes;
    if (this.loading) {
      const loaded: Loaded = {
        id,
        loader: this.loader,
        first,
        rows,
        bytes,
        others: new Set(),
        answer: undefined,
        answered: false,
        kept: 0,
        load: 0,
        late: false,
      };
      this.loaded.push(loaded);
      this.unsettled.add(loaded);
      this.writers.add(this);
      this.timer ??= setTimeout(() => this.wake(), STORE_AFTER);
      const answer = this.client.submitFrame(frame, id, putRowsResult);
      this.client.kept?.watch(id, answer, (again) => {
        if (loaded.answered) this.untake(loaded);
        // Its rows are put again, so they are asked for once more, whatever became of them before.
        else if (loaded.late !== false) loaded.late = true;
        this.expect(loaded, again);
      });
      this.expect(loaded, answer);
      return;
    }
    this.client.submitFrame(frame, id, batchWriteResult).then(
      (results) => this.settle(first, results, bytes),
      (error: unknown) => this.lose(first, rows, bytes, error),
    );
  }

  private expect(loaded: Loaded, answer: Promise<PutRowsResults>): void {
    loaded.answer = answer;
    answer.then(
      (results) => {
        if (loaded.answer === answer) this.take(loaded, results);
      },
      (error: unknown) => {
        if (loaded.answer === answer) this.lose(loaded.first, loaded.rows, loaded.bytes, error, loaded);
      },
    );
  }

  private forget(loaded: Loaded): void {
    this.loaded = this.loaded.filter((other) => other !== loaded);
    this.settled(loaded);
  }

  /** Whether rows of loads are not settled. */
  get isBusy(): boolean {
    return this.unsettled.size > 0;
  }

  private settled(loaded: Loaded): void {
    this.unsettled.delete(loaded);
    this.client.kept?.free(loaded.id);
    if (!this.isBusy && this.batchRows === 0) this.writers.delete(this);
  }

  /** The leader that took rows has gone, and the next one is asked. */
  private untake(loaded: Loaded): void {
    this.taken -= loaded.rows - loaded.others.size;
    this.bytesKept -= loaded.kept;
    this.framesOut += 1;
    this.bytesOut += loaded.bytes;
    loaded.answered = false;
    loaded.late = false;
    loaded.load = 0;
  }

  /** The engine that took rows has gone: those that were not stored are lost. */
  handOver(error: TabStoreError): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.loaded = [];
    if (this.batchRows === 0) this.loader = 0;
    this.done([...this.unsettled], error);
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
      // One that was made in this thread says nothing of the engine that runs now.
      if (result.error.requestId !== undefined) this.client.notice(result.error);
    }
  }

  private lose(first: number, rows: number, bytes: number, error: unknown, loaded?: Loaded): void {
    if (loaded !== undefined) this.forget(loaded);
    for (let i = 0; i < rows; i++) if (!loaded?.others.has(i)) this.note(first + i, toError(error));
    this.landed(bytes);
  }

  /** The rows of a frame were taken, or written the normal way. */
  private take(loaded: Loaded, results: Readonly<PutRowsResults>): void {
    const { others } = loaded;
    for (let i = 0; i < results.length; i++) {
      if (results[i] === TAKEN || others.has(i)) continue;
      others.add(i);
      this.result(loaded.first + i, results[i]);
    }
    loaded.answered = true;
    loaded.load = results.load ?? 0;
    const taken = loaded.rows - others.size;
    this.taken += taken;
    loaded.kept = taken > 0 && this.client.role === "follower" ? loaded.bytes : 0;
    this.bytesKept += loaded.kept;
    if (taken === 0) {
      this.forget(loaded);
      this.storedBytes += loaded.bytes;
    } else if (loaded.late === true) {
      this.ask(loaded.loader, [loaded]);
    } else if (loaded.late !== false) {
      this.done([loaded], loaded.late);
    }
    if (loaded.loader === this.loader) {
      this.over = loaded.load === 0;
      // The load number changed, so the earlier load was stored because of others. It has to be counted.
      const others = (): boolean => this.loaded.some(({ load }) => load > 0 && load !== loaded.load);
      const isLarge = results.bytes! >= this.storeAt || this.bytesKept >= this.maxBytes / 2;
      if (!this.over && (isLarge || others())) this.store(isLarge);
    }
    this.landed(loaded.bytes);
  }

  /** Taken rows have waited long enough: they are asked for, unless more keep coming. */
  private wake(): void {
    this.timer = undefined;
    if (this.room === undefined || this.over) this.store();
    else this.timer = setTimeout(() => this.wake(), STORE_AFTER);
  }

  /** Asks for taken rows to be stored: because they are so many, or before another call. */
  private store(isLarge = false): void {
    // The rows in the frame belong to the same loader.
    this.leave();
    const { loaded, loader } = this;
    if (loaded.length === 0 || this.batchRows > 0 || this.client.isReading) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.loaded = [];
    this.loader = 0;
    this.over = false;
    for (const frame of loaded) {
      this.askedRows += frame.rows;
      this.askedBytes += frame.bytes;
    }
    if (!isLarge) {
      // Calls between rows make loads small. One that comes soon after a large load does not.
      if (this.askedRows < MANY / 4 && this.askedBytes < MANY_BYTES / 4) {
        this.loadFrom = this.index + MANY;
        this.loadFromByte = this.bytesLeft + MANY_BYTES;
      }
      this.askedRows = 0;
      this.askedBytes = 0;
    }
    this.storeAt = Math.min(this.storeAt * 2, STORE_BYTES);
    this.ask(loader, loaded);
  }

  private ask(loader: number, loaded: readonly Loaded[]): void {
    const { client } = this;
    client.sendLast(client.prepare(storeRows, loader), readRowsStored).then(
      ({ consumed, until, failed }) => {
        this.read += consumed.read;
        this.write += consumed.write;
        // A frame that waited behind retried rows may have come after the request.
        const later = loaded.filter((frame) => this.unsettled.has(frame) && frame.load > until);
        if (later.length > 0) this.ask(loader, later);
        for (const frame of loaded)
          if (this.unsettled.has(frame) && frame.load <= until) this.done([frame], failed.find(({ number }) => number === frame.load)?.error);
        for (const { error } of failed) client.notice(error);
      },
      (error: unknown) =>
        this.done(
          loaded.filter((frame) => this.unsettled.has(frame)),
          toError(error),
        ),
    );
  }

  /** The requested rows are stored, or have failed. */
  private done(loaded: readonly Loaded[], error?: TabStoreError): void {
    for (const frame of loaded) {
      const { first, rows, bytes, others } = frame;
      if (!frame.answered) {
        // It waited behind retried rows.
        if (typeof frame.late === "boolean") frame.late = error ?? true;
        continue;
      }
      this.settled(frame);
      this.taken -= rows - others.size;
      this.bytesKept -= frame.kept;
      frame.kept = 0;
      if (error === undefined) {
        this.stored += rows - others.size;
        // If none was taken, they were counted at that answer.
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
    try {
      this.onFailure?.({ index, error });
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  private landed(bytes: number): void {
    this.framesOut -= 1;
    this.bytesOut -= bytes;
    if (this.framesOut === 0) this.leave();
    // A caller waits for all of it.
    if (this.drained.length > 0) this.store();
    this.progressed();
  }

  private progressed(): void {
    const pending = this.index - this.stored - this.failed;
    if (this.room !== undefined && pending - this.taken <= this.maxRows / 2 && this.bytesOut + this.bytesKept <= this.maxBytes / 2) {
      const { resolve } = this.room;
      this.room = undefined;
      resolve();
    }
    if (pending === 0) for (const resolve of this.drained.splice(0)) resolve();
    // Last, and caught: its errors must not leave a caller waiting.
    try {
      this.onProgress?.(this.progress);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Fails: unsent rows are dropped. A row that is being read is not taken; its put then ends the writer. */
  private fail(reason: unknown): void {
    if (this.fatal !== undefined || this.closed) return;
    this.fatal = reason;
    if (!this.encoding) this.stop();
  }

  private stop(): void {
    const { batchFirst: first, batchRows: rows } = this;
    if (rows > 0) {
      if (!this.isBusy) this.writers.delete(this);
      this.batchRows = 0;
      this.keys.clear();
      this.frame.finish();
      // Last: a listener may flush, and what was dropped must not leave.
      for (let i = 0; i < rows; i++) this.note(first + i, local("Aborted", "The writer was stopped before this row was sent."));
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
      throw new WriterError(
        { code: cause.code, status: cause.status, retryable: cause.retryable, message, hint: cause.hint, requestId: cause.requestId },
        this.stored,
        this.failed,
        this.failures,
        { read: this.read, write: this.write },
      );
    }
    return { rows: this.stored, bytes: this.storedBytes, consumed: { read: this.read, write: this.write } };
  }
}

function deferred(): { promise: Promise<void>; resolve(): void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
