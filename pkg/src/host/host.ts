/**
 * The engine as the client sees it, wherever it runs: frames go in, frames come out, administration is by objects.
 */

import type { ErrorRecord } from "../errors.js";

/** What the engine is opened with. Everything in it survives a message port. */
export interface EngineOptions {
  readonly name: string;
  readonly storage: "indexeddb" | "memory";
  readonly create: boolean;
  readonly salvage: boolean;
  readonly kind: string | undefined;
  readonly durability: string;
  readonly cacheBytes: number | undefined;
  readonly memtableBytes: number | undefined;
  readonly reserveBytes: number | undefined;
  /** An injected clock's time; `undefined` for the device's clock. */
  readonly clock: number | undefined;
  /** The number of the client that opens it, unique among all clients. */
  readonly client: number;
  readonly limits: string;
  readonly quotas: Readonly<Record<string, number>>;
  readonly throttle: unknown;
  readonly partitions: unknown;
  readonly prices: unknown;
}

/** What an engine tells the client without being asked. */
export interface EngineEvents {
  /** A response frame. Its bytes belong to the receiver. */
  onResponses(frame: Uint8Array): void;
  /** The engine has died: nothing that is on its way will be answered. */
  onFailure(error: unknown): void;
  /** Something is wrong that does not end the engine; `null`: that is over. */
  onTrouble(error: unknown): void;
}

/** A running engine. */
export interface EngineHost {
  /** Whether the engine is in this thread: then {@link submit} itself gives the responses that are ready at once. */
  readonly direct: boolean;
  /** Tells the engine what the caller's clock says now, before {@link submit}. Throws what is wrong with the clock. */
  tick?(): void;
  /**
   * Hands over a request frame. The bytes may be overwritten as soon as this returns. Throws when it could not be handed
   * over: then nothing has happened.
   */
  submit(frame: Uint8Array): void;
  /** Administration: an operation by name. Frames submitted before are handled before. */
  call(op: string, args: unknown): Promise<unknown>;
  /** Closes the engine and gives its lock back. */
  close(): Promise<void>;
}

/** An engine that is being opened. */
export interface Opening {
  /** The engine, once it runs. */
  readonly host: Promise<EngineHost>;
  /** Ends the opening although it hangs; resolves when another may have its lock. */
  cut(): Promise<void>;
}

/** The number of the call that opens the engine. */
export const OPENING = 0;

/** A message from the page to the worker; a bare `Uint8Array` is a request frame. */
export type ToWorker =
  | { readonly kind: "open"; readonly module: WebAssembly.Module; readonly options: EngineOptions }
  | { readonly kind: "call"; readonly id: number; readonly op: string; readonly args: unknown }
  | { readonly kind: "close"; readonly id: number };

/** A message from the worker to the page; a bare `Uint8Array` is a response frame. {@link OPENING} is answered too. */
export type FromWorker =
  /** It holds its lock: whoever waits for that hears of its end. */
  | { readonly kind: "alive" }
  | { readonly kind: "result"; readonly id: number; readonly value: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorRecord }
  | { readonly kind: "failed"; readonly error: ErrorRecord }
  | { readonly kind: "trouble"; readonly error: ErrorRecord | null };

/** Bytes from this size on are transferred over a port, smaller ones are cloned: a small transfer costs two clones. */
export const TRANSFER_FROM = 64 * 1024;
