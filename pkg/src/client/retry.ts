/**
 * Retries calls that the engine refused for now, with nothing stored: a row that a transaction holds, a partition key
 * over its limit, table operations too close together.
 *
 * Operations of one caller on one row must still happen in call order. So while a call waits here, later calls on its
 * rows wait behind it. If a later call had left before the refusal and has been answered, the refused one fails: it can
 * no longer come first. Reads of many rows (ranges, `batchGetRow`) do not wait.
 *
 * None of this costs anything until a call is refused, except a copy of each frame that leaves.
 */

import { Call, orderOf } from "./call.js";
import { checkArguments } from "../codec/check.js";
import { IN_TRANSACTION, isRepeatable, OP } from "../codec/contract.js";
import { shown } from "../codec/kinds.js";
import { passes } from "./passing.js";
import { writeResult } from "../codec/response.js";
import { invalid, type TabStoreError, toError } from "../types/errors.js";
import type { BatchWriteResult, RetryOptions, WriteResult } from "../types/rows.js";

/** After these codes an engine gives no other answer. */
export const FATAL = new Set(["LeaderChanged", "Closed"]);

const NAMES = new Set(["attempts", "minDelay", "maxDelay"]);

/** The times and the number of retries. */
export class BackOff {
  private constructor(
    private readonly attempts: number,
    private readonly least: number,
    private readonly most: number,
  ) {}

  /** From the option `retry` of `open`. */
  static from(option: RetryOptions | false | undefined): BackOff {
    if (option === false) return new BackOff(1, 0, 0);
    const { attempts = 10, minDelay = 25, maxDelay = 1000 } = checkArguments<RetryOptions>(option ?? Object.create(null), NAMES, "retry");
    for (const [name, value, least] of [
      ["attempts", attempts, 1],
      ["minDelay", minDelay, 0],
      ["maxDelay", maxDelay, 0],
    ] as const) {
      if (!Number.isSafeInteger(value) || value < least)
        throw invalid(`The argument 'retry.${name}' is ${shown(value)}; it must be an integer of at least ${least}.`);
    }
    return new BackOff(attempts, minDelay, maxDelay);
  }

  /** Whether retries are on. */
  get on(): boolean {
    return this.attempts > 1;
  }

  /** Milliseconds until the next try after `tries` refusals, or `undefined` if there is none. */
  delay(error: TabStoreError, tries: number): number | undefined {
    if (tries >= this.attempts || !passes(error)) return undefined;
    // A random time in the upper half, so that calls refused together do not return together.
    return (Math.min(this.most, this.least * 2 ** Math.min(tries - 1, 52)) * (1 + Math.random())) / 2;
  }
}

/** What a client with an engine in another tab keeps of calls that were answered (`load-replay.ts`). */
export interface Kept {
  /** Notes an answer. Returns whether it is none: the leader ends, and the next one will be asked. */
  answered(call: Call, value: unknown): boolean;
  /** The lowest number of a kept call, if it is below `before`. */
  oldest(before: number): number;
  /** If rows of this request are taken, and the leader goes, `again` gets the new answer instead of the one that it gave. */
  watch<T>(id: number, answer: Promise<T>, again: (answer: Promise<T>) => void): void;
  /** Its writer needs it no more. */
  free(id: number): void;
  /** The leader has gone. If the next one `knows` what was done, the kept calls are put back among those in flight. */
  again(knows: boolean, flying: Map<number, Call>, retries: Retries): void;
}

/** The part of the client that {@link Retries} uses. */
export interface Sender {
  /** The calls in flight. */
  flying(): Iterable<Call>;
  /** Sends calls again, in this order. */
  sendAgain(calls: readonly Call[]): void;
  /** Ends a call with its last answer. */
  giveUp(call: Call): void;
}

/** The calls that wait for a retry, and those behind them. */
export class Retries {
  /** In call order. */
  private waiting: Call[] = [];
  /** The number of kept calls on each row; later calls queue up behind them. */
  private readonly kept = new Map<string, number>();
  private keptCalls = 0;
  /** The number of calls in flight on each row; only while any call is kept. */
  private flying = new Map<string, number>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private pumping = false;

  /** `sender` sends. */
  constructor(
    readonly backOff: BackOff,
    private readonly sender: Sender,
  ) {}

  /** Whether calls must be passed to {@link hold}, and answers to {@link landed} and {@link settled}. */
  get active(): boolean {
    return this.keptCalls > 0;
  }

  /** A call has been answered, in any way. */
  landed(call: Call): void {
    add(this.flying, call.rows, -1);
  }

  /** Takes a refused call; `false` if it will not be tried again. */
  refused(call: Call, error: TabStoreError): boolean {
    const delay = call.signal?.aborted ? undefined : this.backOff.delay(error, call.tries + 1);
    if (delay === undefined) return false;
    const first = !this.active;
    call.tries += 1;
    call.error = error;
    call.due = performance.now() + delay;
    // Keep it first: unsent calls leave now, and an engine in this thread answers them at once.
    this.keep(call);
    if (first) {
      const others = this.sender.flying();
      this.flying = new Map();
      for (const other of others) add(this.flying, other.rows, 1);
    }
    return true;
  }

  /** Takes the refused rows of a batch, each as a call with a number of its own; `false` if there are none. */
  refusedRows(call: Call, results: BatchWriteResult[], nextId: () => number): boolean {
    if (!this.backOff.on || results.every(({ ok }) => ok)) return false;
    const op = call.sent.bytes![call.start];
    if (op === OP.BATCH_WRITE_ROW_ATOMIC || op === OP.ATOMIC) {
      // All rows have failed, for the error of one of them.
      call.results = results;
      return this.refused(call, results[0].error!);
    }
    const again = new Set<number>();
    // Rows of a transaction stay in order: it makes one call after another.
    if (call.rows.length !== results.length) return false;
    let left = 0;
    results.forEach(({ error }, i) => {
      if (error === undefined) return;
      const settle = (result: BatchWriteResult): void => {
        results[i] = result;
        left -= 1;
        if (left === 0) call.resolve(results);
      };
      const row = new Call(
        nextId(),
        orderOf(call, i),
        call.sent,
        call.marks[i],
        call.marks[i + 1] ?? call.end,
        [],
        call.signal,
        writeResult,
        (value) => settle({ ok: true, ...(value as WriteResult) }),
        (reason) => settle({ ok: false, error: toError(reason) }),
      );
      if (!this.refused(row, error)) return;
      again.add(i);
      left += 1;
    });
    if (left === 0) return false;
    this.settled(call, again);
    return true;
  }

  /** Takes a new call if it must wait for others on its rows. Otherwise the call is now in flight. */
  hold(call: Call): boolean {
    if (call.rows.some((row) => this.kept.has(row))) {
      this.keep(call);
      return true;
    }
    this.left(call);
    return false;
  }

  /** A call has left. */
  left(call: Call): void {
    add(this.flying, call.rows, 1);
  }

  private keep(call: Call): void {
    if (!call.kept) {
      call.kept = true;
      this.keptCalls += 1;
      add(this.kept, call.rows, 1);
    }
    let at = this.waiting.length;
    while (at > 0 && this.waiting[at - 1].order > call.order) at--;
    this.waiting.splice(at, 0, call);
    this.pumpSoon();
  }

  /** Releases a call for good. */
  private release(call: Call): void {
    if (!call.kept) return;
    call.kept = false;
    this.keptCalls -= 1;
    add(this.kept, call.rows, -1);
  }

  /**
   * A call has its final answer for all rows but those in `again`. An earlier refused call that waits for one of these
   * rows now comes too late, unless both only read.
   */
  settled(call: Call, again: ReadonlySet<number>): void {
    this.release(call);
    call.rows.forEach((row, i) => {
      if (again.has(i) || !this.kept.has(row)) return;
      const order = orderOf(call, i);
      for (const late of this.waiting.filter(
        (other) => other.error !== undefined && other.order < order && other.rows.includes(row) && !(call.reads && other.reads),
      )) {
        this.remove(late);
        this.sender.giveUp(late);
      }
    });
    this.pumpSoon();
  }

  private remove(call: Call): void {
    this.waiting.splice(this.waiting.indexOf(call), 1);
    this.release(call);
  }

  /** Removes calls that their callers have cancelled. */
  drop(): void {
    for (const call of this.waiting.filter(({ signal }) => signal?.aborted)) this.remove(call);
    this.pumpSoon();
  }

  /** Removes and returns all waiting calls: the engine has failed. */
  clear(): Call[] {
    clearTimeout(this.timer);
    this.kept.clear();
    this.keptCalls = 0;
    return this.waiting.splice(0);
  }

  private pumpSoon(): void {
    if (this.pumping || this.waiting.length === 0) return;
    this.pumping = true;
    queueMicrotask(() => this.pump());
  }

  /** Sends each call whose time has come, if no earlier call is about one of its rows. */
  private pump(): void {
    this.pumping = false;
    clearTimeout(this.timer);
    const now = performance.now();
    const before = new Set<string>();
    const ready: Call[] = [];
    const stay: Call[] = [];
    let next = Infinity;
    for (const call of this.waiting) {
      const free = !call.rows.some((row) => this.flying.has(row) || before.has(row));
      if (free && call.due <= now) {
        ready.push(call);
      } else {
        stay.push(call);
        if (free) next = Math.min(next, call.due);
      }
      for (const row of call.rows) if (row !== "") before.add(row);
    }
    this.waiting = stay;
    if (next < Infinity) this.timer = setTimeout(() => this.pump(), Math.ceil(next - now));
    for (const call of ready) add(this.flying, call.rows, 1);
    for (const calls of byFrame(ready)) this.sender.sendAgain(calls);
  }
}

/** The calls in their order, those of the same frame together. */
function byFrame(calls: readonly Call[]): Call[][] {
  const groups: Call[][] = [];
  for (const call of calls) {
    const last = groups.at(-1);
    if (last?.[0].sent === call.sent) last.push(call);
    else groups.push([call]);
  }
  return groups;
}

/**
 * The calls without an answer of an engine that has gone: those to ask the next one, and those that may have been done
 * and cannot be asked again. `knows` tells whether the next one knows the answers of the last one.
 */
export function afterLeader(calls: Iterable<Call>, knows: boolean): { again: Call[][]; lost: Call[] } {
  const again: Call[] = [];
  const lost: Call[] = [];
  for (const call of calls) {
    const op = call.sent.bytes?.[call.start];
    const may = op !== undefined && (knows || isRepeatable(op % IN_TRANSACTION) || call.reads);
    (may ? again : lost).push(call);
  }
  return { again: byFrame(again), lost };
}

function add(counts: Map<string, number>, rows: readonly string[], more: number): void {
  for (const row of rows) {
    if (row === "") continue;
    const count = (counts.get(row) ?? 0) + more;
    if (count > 0) counts.set(row, count);
    else counts.delete(row);
  }
}
