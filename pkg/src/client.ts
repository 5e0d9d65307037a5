/**
 * Carries calls to the engine and answers back to their callers.
 *
 * All calls of one microtask leave in one frame, in call order, so operations of one caller on one row happen in that
 * order. Writers (`writer.ts`) make frames of their own; {@link Client.before} keeps the order between the two.
 */

import { FrameWriter } from "./codec/frame.js";
import type { Reader } from "./codec/reader.js";
import { type Decode, type DecodeContext, eachResponse, readError } from "./codec/response.js";
import { local, TabStoreError, toError } from "./errors.js";
import type { EngineHost } from "./host/host.js";

interface Pending {
  readonly decode: Decode<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** A frame of so many bytes does not wait for the end of the microtask: the engine's worker can begin with it. */
const FULL = 64 << 10;

/** Codes after which an engine answers nothing else any more. */
const FATAL = new Set(["LeaderChanged", "Closed"]);

/** The rejection that a signal stands for. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? local("Aborted", "The call was given up.");
}

/** The calls of one open instance. */
export class Client implements DecodeContext {
  private readonly frame = new FrameWriter();
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  private scheduled = false;
  private host: EngineHost | undefined;
  private idle: (() => void)[] = [];
  private failure: TabStoreError | undefined;
  private closing: TabStoreError | undefined;
  /** The end of an engine that has failed. */
  private ended: Promise<void> | undefined;
  private readonly requestPrefix: string;
  /** Called before a call is written into the shared frame: writers send what they hold. */
  before: (() => void) | undefined;
  /** Called once, when the engine has failed. */
  onFailure: ((error: TabStoreError) => void) | undefined;

  /** `client` tells this caller from all others; `bigints` is the option `integers: "bigint"`. */
  constructor(client: number, readonly bigints: boolean) {
    this.requestPrefix = `${client.toString(36)}-`;
  }

  requestId(id: number): string {
    return this.requestPrefix + id;
  }

  /** Sets the engine that answers. */
  attach(host: EngineHost): void {
    this.host = host;
  }

  /** Why no call is taken any more, if so. */
  get closedBy(): TabStoreError | undefined {
    return this.failure ?? this.closing;
  }

  /** A request of its own: `encode` writes operation and payload, `decode` reads the answer. */
  request<A, T>(encode: (w: FrameWriter, argument: A) => void, argument: A, decode: Decode<T>, signal?: AbortSignal): Promise<T> {
    const { closedBy } = this;
    if (closedBy !== undefined) return Promise.reject(closedBy);
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    this.before?.();
    const { frame } = this;
    const start = frame.length;
    const id = ++this.lastId;
    try {
      frame.uv(id);
      encode(frame, argument);
    } catch (error) {
      frame.rollBack(start);
      return Promise.reject(error);
    }
    if (!this.scheduled) {
      this.scheduled = true;
      queueMicrotask(() => this.flush());
    }
    // Registered first: an engine in this thread answers at once.
    const answer = this.wait(id, decode, signal);
    if (frame.length >= FULL) this.flush();
    return answer;
  }

  private wait<T>(id: number, decode: Decode<T>, signal: AbortSignal | undefined): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (signal === undefined) {
        this.pending.set(id, { decode, resolve: resolve as (value: unknown) => void, reject });
        return;
      }
      const abort = () => reject(abortReason(signal));
      signal.addEventListener("abort", abort, { once: true });
      this.pending.set(id, {
        decode,
        resolve: (value) => {
          signal.removeEventListener("abort", abort);
          resolve(value as T);
        },
        reject: (error) => {
          signal.removeEventListener("abort", abort);
          reject(error);
        },
      });
    });
  }

  /** Hands the shared frame over, if there is anything in it. */
  flush(): void {
    this.scheduled = false;
    if (!this.frame.isEmpty) this.submit(this.frame.finish());
  }

  /** The number of a request that a writer puts into a frame of its own. */
  nextId(): number {
    return ++this.lastId;
  }

  /** Hands a writer's frame over, after all calls that were made before. */
  submitFrame<T>(frame: FrameWriter, id: number, decode: Decode<T>): Promise<T> {
    const { closedBy } = this;
    if (closedBy !== undefined) return Promise.reject(closedBy);
    this.flush();
    const answer = this.wait(id, decode, undefined);
    this.submit(frame.finish());
    return answer;
  }

  private submit(frame: Uint8Array): void {
    try {
      this.host!.submit(frame);
    } catch (error) {
      this.fail(toError(error));
    }
  }

  /** Administration. Calls made before are handed over before. */
  async call<T>(op: string, args: unknown, signal?: AbortSignal): Promise<T> {
    const { closedBy } = this;
    if (closedBy !== undefined) throw closedBy;
    signal?.throwIfAborted();
    this.before?.();
    this.flush();
    const answer = this.host!.call(op, args).catch((error: unknown) => {
      const known = toError(error);
      this.notice(known);
      throw known;
    });
    if (signal === undefined) return (await answer) as T;
    return new Promise<T>((resolve, reject) => {
      const abort = () => reject(abortReason(signal));
      signal.addEventListener("abort", abort, { once: true });
      (answer as Promise<T>).then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }

  /** Takes a response frame. */
  readonly receive = (frame: Uint8Array): void => {
    try {
      eachResponse(frame, this.settle);
    } catch (error) {
      this.fail(toError(error));
    }
    if (this.pending.size === 0 && this.idle.length > 0) for (const resolve of this.idle.splice(0)) resolve();
  };

  private readonly settle = (id: number, ok: boolean, payload: Reader): void => {
    const pending = this.pending.get(id);
    if (pending === undefined) return;
    this.pending.delete(id);
    try {
      if (ok) {
        pending.resolve(pending.decode(payload, this, id));
      } else {
        const error = readError(payload, this.requestId(id));
        pending.reject(error);
        this.notice(error);
      }
    } catch (error) {
      pending.reject(toError(error));
    }
  };

  /** An engine that says it is fenced off or closed will say nothing else: tell the health listeners once. */
  private notice(error: TabStoreError): void {
    if (FATAL.has(error.code)) this.fail(error);
  }

  /** The engine has failed: everything that waits, and every later call, rejects. */
  fail(error: TabStoreError): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    const waiting = [...this.pending.values()];
    this.pending.clear();
    for (const { reject } of waiting) reject(error);
    for (const resolve of this.idle.splice(0)) resolve();
    // It must not keep the instance's lock: others may open it. Later, because the engine may be the one that calls.
    this.ended = Promise.resolve().then(() => this.host?.close()).catch(() => {});
    if (this.closing === undefined) this.onFailure?.(error);
  }

  /** Takes no calls any more, waits for those on their way, then closes the engine. */
  async close(): Promise<void> {
    if (this.closedBy !== undefined) return this.ended;
    this.before?.();
    this.flush();
    this.closing = local("Closed", "The database is closed.");
    if (this.pending.size > 0) await new Promise<void>((resolve) => this.idle.push(resolve));
    await (this.failure === undefined ? this.host!.close() : this.ended);
  }
}
