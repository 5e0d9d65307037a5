/**
 * Carries calls to the engine and answers back to their callers.
 *
 * All calls of one microtask leave in one frame, in call order, so operations of one caller on one row happen in that
 * order. Writers (`writer.ts`) make frames of their own; {@link Client.before} keeps the order between the two.
 */

import { Administration } from "./administration.js";
import { type Call, frameOf, promised, type Sent } from "./call.js";
import { lookAtPrototype } from "../codec/check.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import { FrameWriter } from "../codec/frame.js";
import { acknowledge } from "../codec/requests.js";
import { type DecodeContext, readError } from "../codec/parts.js";
import type { Reader } from "../codec/reader.js";
import { type Decode, eachResponse } from "../codec/response.js";
import { invalid, local, type TabStoreError, toError } from "../types/errors.js";
import type { EngineHost } from "../host/host.js";
import { afterLeader, BackOff, FATAL, type Kept, Retries, type Sender } from "./retry.js";
import { abortReason, signalOf, unlessAborted } from "./signals.js";
import { hasEngineStack, hasStack, needStack } from "./stack.js";
import { Troubles } from "./troubles.js";
import type { BatchWriteResult, CallOptions, Role } from "../types/rows.js";
import { Waiting } from "./waiting.js";

/** Writes operation and payload of a request. */
export type Encode<A> = (w: FrameWriter, argument: A, transaction?: string) => void;

/** A request in a frame of its own. */
export interface Prepared {
  readonly id: number;
  readonly frame: Uint8Array;
  readonly marks: readonly number[];
}

/** A frame of this size does not wait for the end of the microtask, so the engine's worker can begin with it. */
const FULL = 64 << 10;

/** After so many calls a frame of a writer or a transaction is preceded by one that says which answers are here. */
const MANY = 32;
const NOTHING: ReadonlySet<number> = new Set();
const NO_MARKS: readonly number[] = [];
const RESOLVED = /* @__PURE__ */ Promise.resolve();

/** The calls of one open instance. */
export class Client implements DecodeContext, Sender {
  private readonly frame = new FrameWriter();
  /** Shared by the calls of the current frame: its bytes, once it has left, for retries. */
  private sent: Sent = { bytes: undefined, calls: 0 };
  /** Whether arguments are being read: the caller's code may run then. */
  private encoding = false;
  /** The calls without an answer. */
  readonly pending = new Map<number, Call>();
  private readonly retries: Retries;
  private readonly administration: Administration;
  private lastId = 0;
  /** The newest call when the leader was told last which answers are here. */
  private told = 0;
  /** The number of the call that is being written; 0: none. If it stays, writing stopped in the middle, and the call is removed. */
  private torn = 0;
  private scheduled = false;
  /** Work that enters an engine in this thread on an empty stack. The caller's may be nearly full: it could stop in the middle. */
  private engineQueue: (() => void)[] = [];
  private host: EngineHost | undefined;
  private end: (() => Promise<void>) | undefined;
  /** Callers of `close` that wait until no call is in flight. */
  private idleWaiters: (() => void)[] = [];
  /** Why the engine has failed. */
  private failure: TabStoreError | undefined;
  /** Why calls are refused since `close` was called. */
  private closing: TabStoreError | undefined;
  /** The end of an engine that has failed. */
  private ended: Promise<void> | undefined;
  /** Callers that wait for something else than the engine, such as the source of an import, while the database is open. */
  readonly sources = new Waiting();
  private readonly requestPrefix: string;
  /** Whether columns may have the names that the official SDKs allow: the option `limits: "sdk"`. */
  laxNames = false;
  /** Whether it is a guest: the option `guest`. */
  guest = false;
  /** Called before a call is written into the shared frame: writers send their rows. It may have to check the stack first. */
  before: ((look: boolean) => void) | undefined;
  /** Callers that wait for something from the engine other than a response. */
  readonly waiting = new Waiting();
  /** Called when no more calls are accepted. `onFailure` is called once, when the engine has failed. */
  onEnd: (() => void) | undefined;
  onFailure: ((error: TabStoreError) => void) | undefined;
  /** Called when the leader has gone, and rows that it took for a load are lost. */
  onHandOver: ((error: TabStoreError) => void) | undefined;
  /** Whether writers are about to ask for more. */
  isBusy: (() => boolean) | undefined;
  /** Set once another tab has had the engine. */
  kept: Kept | undefined;
  /** Called when another tab leads, or this one. */
  onLeader: (() => void) | undefined;
  /** Called when its own engine says that another tab leads. Returns whether that tab will serve it. */
  onReplaced: (() => boolean) | undefined;
  /** Called with an error after which the engine gives no other answer to anyone. */
  onFatal: ((error: TabStoreError) => void) | undefined;
  readonly troubles = new Troubles();

  /** `number` is unique among all clients; `bigints` is the option `integers: "bigint"`. */
  constructor(
    readonly number: number,
    readonly bigints: boolean,
    backOff = BackOff.from(undefined),
  ) {
    this.requestPrefix = `${number.toString(36)}-`;
    this.retries = new Retries(backOff, this);
    this.administration = new Administration(
      backOff,
      (op, args) => this.ask(op, args),
      () => this.follows,
    );
  }

  requestId(id: number): string {
    return this.requestPrefix + id;
  }

  /** The call that has waited longest for an answer. */
  get oldest(): unknown {
    for (const call of this.pending.values()) return call;
    return undefined;
  }

  /** Whether its engine is in another tab. */
  private get follows(): boolean {
    return this.host?.follows === true;
  }

  /** Whether it has a session. */
  get isAttached(): boolean {
    return this.host !== undefined;
  }

  /** The part of this tab, as far as this client is concerned. */
  get role(): Role {
    return this.follows ? "follower" : "leader";
  }

  /** Sets the session that answers. `end` ends it when the client is closed or has failed. */
  attach(host: EngineHost, end = (): Promise<void> => host.close()): void {
    this.host = host;
    this.end = end;
    if (this.failure !== undefined) this.ended = end();
  }

  /** Why no more calls are accepted, if so. */
  get closedBy(): TabStoreError | undefined {
    return this.failure ?? this.closing;
  }

  /**
   * Makes a request: `encode` writes operation and payload, `decode` reads the answer. A request that `scans` ends with
   * the database: closing does not wait for the rest of a range.
   */
  request<A, T>(encode: Encode<A>, argument: A, decode: Decode<T>, options?: CallOptions, scans = false): Promise<T> {
    const { closedBy, frame } = this;
    if (closedBy !== undefined) return Promise.reject(closedBy);
    try {
      const signal = signalOf(options);
      if (signal?.aborted) return Promise.reject(abortReason(signal));
      this.before?.(true);
      if (this.retries.active) {
        needStack();
        return this.send(this.prepare(encode, argument), decode, signal, scans);
      }
      this.enter();
      if (this.follows && frame.isEmpty) this.acknowledge();
      const id = ++this.lastId;
      this.torn = id;
      let body: number;
      try {
        frame.uv(id);
        body = frame.length;
        encode(frame, argument);
      } finally {
        this.encoding = false;
      }
      // The database must still be open, whatever code ran meanwhile.
      if (this.closedBy !== undefined) throw this.closedBy;
      const marks = frame.marks.length === 0 ? NO_MARKS : frame.marks.splice(0);
      const call = promised(id, this.sent, body, frame.length, marks, decode, signal, scans, this.afterAbort);
      this.pending.set(id, call);
      // Schedule before the request is complete: a complete one must leave.
      this.schedule();
      frame.seal();
      this.torn = 0;
      // The engine can begin with it. If the stack is nearly full, it leaves at the end of the microtask.
      if (frame.length >= FULL && hasStack()) this.flush();
      return call.answer as Promise<T>;
    } catch (error) {
      // An incomplete call is removed later: the caller's stack may have no room for that now.
      return Promise.reject(error);
    }
  }

  /** Begins a frame: the leader may forget the answers that are here. */
  private acknowledge(): void {
    // A writer's frame has its number long before it leaves, so the oldest call is not always the first one.
    let least = (this.told = this.lastId) + 1;
    for (const id of this.pending.keys()) if (id < least) least = id;
    this.frame.uv(0);
    acknowledge(this.frame, this.kept?.oldest(least) ?? least);
    this.frame.seal();
  }

  /** After many requests without a shared frame, a frame says which answers are here. */
  private tellMany(): void {
    if (!this.follows || this.encoding || this.lastId - this.told <= MANY) return;
    this.acknowledge();
    this.leave();
  }

  /** Called before arguments are read. */
  private enter(): void {
    if (this.encoding) throw invalid("A call was made while the arguments of another one were being read, by one of their getters.");
    this.mend();
    if (this.frame.isEmpty) lookAtPrototype();
    this.encoding = true;
  }

  /** Removes a call that was not completed: its arguments were wrong, or the caller's stack ended in the middle. */
  private mend(): void {
    // A call that is being read now may still be completed.
    if (this.torn === 0 || this.encoding) return;
    this.frame.begin();
    this.pending.delete(this.torn);
    this.torn = 0;
  }

  /** Reads the arguments of a request that leaves later. Throws their error. */
  prepare<A>(encode: Encode<A>, argument: A, transaction?: string): Prepared {
    const frame = new FrameWriter();
    this.enter();
    const id = ++this.lastId;
    try {
      frame.uv(id);
      encode(frame, argument, transaction);
    } finally {
      this.encoding = false;
    }
    const marks = frame.marks.splice(0);
    return { id, frame: frame.finish(), marks };
  }

  /**
   * Sends a prepared request, after all earlier calls, unless it has to wait for one of them. The caller has checked the
   * stack for it.
   */
  send<T>(prepared: Prepared, decode: Decode<T>, signal: AbortSignal | undefined, scans = false): Promise<T> {
    if (this.closing !== undefined) return Promise.reject(this.closedBy);
    return this.sendLast(prepared, decode, signal, scans);
  }

  /** {@link send} for a request that ends earlier calls: it may still leave while the database is closing. */
  sendLast<T>({ id, frame, marks }: Prepared, decode: Decode<T>, signal?: AbortSignal, scans = false): Promise<T> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    this.flush();
    this.tellMany();
    const end = new DataView(frame.buffer, frame.byteOffset).getUint32(1, true);
    let start = 5;
    while (frame[start++] > 127);
    const call = promised(id, { bytes: frame, calls: 0 }, start, end, marks, decode, signal, scans, this.afterAbort);
    const answer = call.answer as Promise<T>;
    if (this.retries.active && this.retries.hold(call)) return answer;
    this.pending.set(id, call);
    try {
      this.submit(frame, [call]);
    } catch (error) {
      this.refuse([call], error);
    }
    return answer;
  }

  /** A caller has cancelled its call: it waits no longer. */
  private readonly afterAbort = (): void => {
    this.retries.drop();
    this.rest();
  };

  /** Sends the shared frame at the end of the microtask, on an empty stack. */
  private schedule(): void {
    if (this.scheduled) return;
    // This costs a tenth of `queueMicrotask`.
    void RESOLVED.then(this.flushSoon);
    this.scheduled = true;
  }

  private readonly flushSoon = (): void => {
    this.scheduled = false;
    this.advance();
    this.leave();
  };

  /** Lets waiting work enter the engine, piece by piece: an answer may add more. */
  private advance(): void {
    if (this.encoding) return;
    for (let leave = this.engineQueue.shift(); leave !== undefined; leave = this.engineQueue.shift()) leave();
  }

  /** Hands the shared frame over, if it has any requests. */
  private leave(): void {
    // While arguments are being read, its last request is incomplete. It has its own turn later.
    if (this.encoding) return;
    this.mend();
    if (this.frame.isEmpty) return;
    const { sent, host } = this;
    const frame = this.frame.finish();
    this.sent = { bytes: undefined, calls: 0 };
    try {
      this.tick();
      sent.bytes = host!.direct ? frame : frame.slice();
      host!.submit(frame);
      // Calls that were answered at once need no copy.
      if (host!.direct && sent.calls > 0) sent.bytes = frame.slice();
    } catch (error) {
      this.refuse(this.callsOf(sent), error);
    }
  }

  /** The calls of a frame that are in flight. */
  private callsOf(sent: Sent): Call[] {
    return [...this.pending.values()].filter((call) => call.sent === sent);
  }

  /**
   * Hands the shared frame over before other work. If the engine is in this thread and the stack is nearly full, both
   * wait for an empty stack.
   */
  flush(): void {
    if (this.encoding) return;
    this.mend();
    if (this.frame.isEmpty && this.engineQueue.length === 0) return;
    if (!this.host!.direct || hasEngineStack()) {
      this.advance();
      this.leave();
      return;
    }
    if (this.frame.isEmpty) return;
    const { sent } = this;
    const frame = this.frame.finish().slice();
    sent.bytes = frame;
    this.sent = { bytes: undefined, calls: 0 };
    this.schedule();
    this.engineQueue.push(() => this.enterEngine(frame, () => this.callsOf(sent)));
  }

  /** Hands over a finished frame. */
  private submit(frame: Uint8Array, calls: readonly Call[]): void {
    if (!this.host!.direct) {
      this.host!.submit(frame);
    } else if (!this.encoding && this.engineQueue.length === 0 && hasEngineStack()) {
      this.enterEngine(frame, () => calls);
    } else {
      this.schedule();
      this.engineQueue.push(() => this.enterEngine(frame, () => calls));
    }
  }

  /** Passes a frame to the engine in this thread, unless the caller's clock fails. */
  private enterEngine(frame: Uint8Array, calls: () => readonly Call[]): void {
    if (this.failure !== undefined) return;
    try {
      this.tick();
      this.host!.submit(frame);
    } catch (error) {
      this.refuse(calls(), error);
    }
  }

  /** Tells the engine the time of the caller's clock. That is the caller's code, which cannot make calls. */
  private tick(): void {
    if (this.host!.tick === undefined) return;
    this.encoding = true;
    try {
      this.host!.tick();
    } finally {
      this.encoding = false;
    }
  }

  /** Rejects calls. Those that have reached the engine get no other answer. */
  private refuse(calls: readonly Call[], error: unknown): void {
    const known = toError(error);
    for (const call of calls) {
      if (!this.pending.delete(call.id)) continue;
      if (this.retries.active) this.retries.landed(call);
      call.reject(known);
      call.sent.calls -= 1;
      if (this.retries.active) this.retries.settled(call, NOTHING);
    }
    this.rest();
  }

  /** The number of a request that is in no shared frame. */
  nextId(): number {
    return ++this.lastId;
  }

  /** Whether the arguments of the newest call were accepted. */
  get isTaken(): boolean {
    return this.torn === 0;
  }

  /** Whether the arguments of a call are being read. */
  get isReading(): boolean {
    return this.encoding;
  }

  /** Hands a writer's frame over, after all earlier calls. */
  submitFrame<T>(writer: FrameWriter, id: number, decode: Decode<T>): Promise<T> {
    const marks = writer.marks.splice(0);
    return this.send({ id, frame: writer.finish().slice(), marks }, decode, undefined);
  }

  flying(): Iterable<Call> {
    this.flush();
    return this.pending.values();
  }

  sendAgain(calls: readonly Call[]): void {
    if (this.failure !== undefined) {
      for (const { reject } of calls) reject(this.failure);
      return;
    }
    for (const call of calls) this.pending.set(call.id, call);
    try {
      this.submit(frameOf(calls), calls);
    } catch (error) {
      this.refuse(calls, error);
    }
  }

  giveUp(call: Call): void {
    if (call.results === undefined) call.reject(call.error);
    else call.resolve(call.results);
  }

  /** An administrative call. Earlier calls are handed over first. */
  async admin<T>(op: AdminOperation, args: unknown, options?: CallOptions): Promise<T> {
    const { closedBy } = this;
    if (closedBy !== undefined) throw closedBy;
    needStack();
    const signal = signalOf(options);
    if (signal?.aborted) throw abortReason(signal);
    this.before?.(false);
    this.flush();
    this.tellMany();
    return unlessAborted(this.waiting.unlessFailed(this.administration.call(op, args, signal) as Promise<T>), signal);
  }

  /** Asks the engine once. */
  private async ask(op: AdminOperation, args: unknown): Promise<unknown> {
    if (this.closedBy !== undefined) throw this.closedBy;
    try {
      return await this.inEngine(() => (this.failure === undefined ? this.host!.call(op, args) : Promise.reject(this.failure)));
    } catch (error) {
      const known = toError(error);
      this.notice(known);
      throw known;
    }
  }

  /** Asks the engine; in this thread, when it is its turn. */
  private inEngine<T>(ask: () => Promise<T>): Promise<T> {
    if (!this.host!.direct) return ask();
    return new Promise((resolve) => {
      this.schedule();
      this.engineQueue.push(() => resolve(ask()));
    });
  }

  /** The policy for retries. */
  get backOff(): BackOff {
    return this.retries.backOff;
  }

  /** Takes a response frame, which lies in these bytes. */
  readonly receive = (bytes: Uint8Array, start = 0, end = bytes.length): void => {
    try {
      eachResponse(bytes, this.settle, start, end);
    } catch (error) {
      this.fail(toError(error));
    }
    this.rest();
  };

  /** Wakes those who wait until no call is in flight. */
  private rest(): void {
    if (this.idleWaiters.length > 0 && this.pending.size === 0 && !this.retries.active) for (const resolve of this.idleWaiters.splice(0)) resolve();
  }

  private readonly settle = (id: number, ok: boolean, payload: Reader): void => {
    const call = this.pending.get(id);
    if (call === undefined) return;
    const { retries } = this;
    let value: unknown;
    let error: TabStoreError | undefined;
    try {
      if (ok) value = call.decode(payload, this, id);
      else error = readError(payload, this.requestId(id));
    } catch (thrown) {
      error = toError(thrown);
    }
    // The leader ends: this is no answer. Another one will be asked.
    if (error === undefined ? this.kept?.answered(call, value) : this.isLeaders(error)) return;
    this.pending.delete(id);
    if (retries.active) retries.landed(call);
    if (error !== undefined) {
      if (!ok && retries.refused(call, error)) return;
      call.reject(error);
    } else if (call.marks.length > 0 && Array.isArray(value) && retries.refusedRows(call, value as BatchWriteResult[], () => this.nextId())) {
      return;
    } else {
      call.resolve(value);
    }
    call.sent.calls -= 1;
    if (retries.active) retries.settled(call, NOTHING);
    if (error !== undefined) this.notice(error);
  };

  /** An engine that is fenced off or closed gives no other answer: tell the health listeners once. */
  notice(error: TabStoreError): void {
    // After a failure it is not news, and during an orderly close no failure.
    if (this.closedBy !== undefined || !FATAL.has(error.code) || this.isLeaders(error)) return;
    this.fail(error);
    this.onFatal?.(error);
  }

  /** Whether an error says that the engine ends, and the handle goes on with the one of another tab. */
  private isLeaders({ code }: TabStoreError): boolean {
    return this.follows ? FATAL.has(code) : code === "LeaderChanged" && this.onReplaced?.() === true;
  }

  /**
   * The engine has gone, and another one follows. If that `knows` which calls were done, they are asked again: it gives
   * the same answer then. Otherwise calls that may have been done are refused with `error`.
   */
  handOver(knows: boolean, error: TabStoreError): void {
    this.kept?.again(knows, this.pending, this.retries);
    if (!knows) this.onHandOver?.(error);
    // Those of the shared frame have not left yet.
    const { again, lost } = afterLeader(
      [...this.pending.values()].filter(({ sent }) => sent !== this.sent),
      knows,
    );
    this.refuse(lost, error);
    for (const calls of again) this.sendAgain(calls);
  }

  /** The engine has failed: every waiting and every later call rejects. */
  fail(error: TabStoreError): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    const waiting = [...this.pending.values(), ...this.retries.clear()];
    this.pending.clear();
    for (const { reject } of waiting) reject(error);
    this.waiting.fail(error);
    this.onEnd?.();
    for (const resolve of this.idleWaiters.splice(0)) resolve();
    this.sources.fail(error);
    // It must not keep the instance's lock, so that others can open it. Later, because the engine may be the caller.
    this.ended = Promise.resolve()
      .then(() => this.end?.())
      .catch(() => {});
    if (this.closing === undefined) this.onFailure?.(error);
  }

  /** Accepts no more calls, waits for those in flight except range reads, then closes the engine. */
  async close(): Promise<void> {
    if (this.closedBy !== undefined) return this.ended;
    this.before?.(false);
    this.flush();
    this.mend();
    this.closing = local("Closed", "The database is closed.");
    this.sources.fail(this.closing);
    this.refuse(
      [...this.pending.values()].filter(({ scans }) => scans),
      this.closing,
    );
    // An answer may require one more request.
    const isOut = (): boolean => this.pending.size > 0 || this.retries.active;
    while (this.failure === undefined && (isOut() || this.isBusy?.()))
      await new Promise<void>((resolve) => (isOut() ? this.idleWaiters.push(resolve) : setTimeout(resolve)));
    try {
      const end = async (): Promise<void> => (this.failure === undefined ? this.end!() : this.ended);
      await (this.failure === undefined ? this.waiting.unlessFailed(this.inEngine(end)) : this.ended);
    } finally {
      this.onEnd?.();
    }
  }
}
