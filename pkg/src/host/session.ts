/**
 * A session of an engine in another thread: this side of its port.
 */

import type { AdminOperation } from "../codec/contract-administration.js";
import { local, toError } from "../types/errors.js";
import { type EngineHost, type FromSession, OPENING, type OnResponses, type ToSession, TRANSFER_FROM } from "./host.js";

/** The part of a `MessagePort` or a `Worker` that is used here; tests put a fake in its place. */
export interface PortLike {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent) => void) | null;
  /** Only ports of their own are closed. */
  close?(): void;
}

/** See the top of the file. `M` are the messages from the other side. */
export class PortSession<M extends { readonly kind: string } = FromSession> implements EngineHost {
  readonly direct = false;
  private readonly calls = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  private lastCall = OPENING;
  private opening: Promise<unknown> | undefined;
  /** Why the other side gives no more answers. */
  failure: unknown;
  /** Whether the session has ended by itself. */
  ended = false;

  /** `onOther` gets the messages that are no answers. */
  constructor(
    private readonly port: PortLike,
    public onResponses: OnResponses,
    onOther: (message: M) => void = () => {},
  ) {
    port.onmessage = ({ data }: MessageEvent<FromSession | M | Uint8Array>) => {
      if (data instanceof Uint8Array) {
        // What was on its way when the other side was given up is no answer any more.
        if (this.failure === undefined) this.onResponses(data);
      } else if (data.kind === "result") this.answered((data as FromSession).id)?.resolve((data as FromSession & { kind: "result" }).value);
      else if (data.kind === "error") this.answered((data as FromSession).id)?.reject(toError((data as FromSession & { kind: "error" }).error));
      else onOther(data as M);
    };
  }

  private answered(id: number): { resolve(value: unknown): void; reject(error: unknown): void } | undefined {
    const call = this.calls.get(id);
    this.calls.delete(id);
    return call;
  }

  /** Asks a leader whether it runs. */
  ping(): void {
    this.port.postMessage({ kind: "ping" } satisfies ToSession);
  }

  /** Rejects all calls, those in progress and later ones. The first reason stays. */
  fail(error: unknown): void {
    this.failure ??= error;
    this.reject(error, Infinity);
    this.port.close?.();
  }

  /** Rejects the calls before the one of this number. */
  private reject(error: unknown, before: number): void {
    for (const [id, call] of this.calls) {
      if (id >= before) continue;
      this.calls.delete(id);
      call.reject(error);
    }
  }

  submit(frame: Uint8Array): void {
    // Always a copy, because the caller writes its next frame into the buffer. A transfer would take that buffer away,
    // and a clone of the view would carry all of it.
    const bytes = frame.slice();
    this.port.postMessage(bytes, bytes.length >= TRANSFER_FROM ? [bytes.buffer] : []);
  }

  /** The answer to {@link OPENING}. */
  opened(): Promise<unknown> {
    return (this.opening ??= new Promise((resolve, reject) => this.calls.set(OPENING, { resolve, reject })));
  }

  /** Asks by a message that has the given number. */
  ask(message: (id: number) => { readonly kind: string; readonly id: number }): Promise<unknown> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const id = ++this.lastCall;
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      try {
        this.port.postMessage(message(id));
      } catch (error) {
        this.calls.delete(id);
        reject(error);
      }
    });
  }

  call(op: AdminOperation, args: unknown, request?: number): Promise<unknown> {
    return this.ask((id): ToSession & { id: number } => ({ kind: "call", id, op, args, request }));
  }

  async close(): Promise<void> {
    if (this.failure !== undefined) return;
    let mine = 0;
    try {
      await this.ask((id): ToSession & { id: number } => ({ kind: "leave", id: (mine = id) }));
    } catch (error) {
      // One that has failed meanwhile is closed.
      if (this.failure === undefined) throw error;
    } finally {
      this.ended = true;
      this.reject(local("Closed", "The database was closed while this call was under way."), mine);
      this.port.close?.();
    }
  }
}
