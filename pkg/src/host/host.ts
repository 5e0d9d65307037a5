/**
 * An engine and its sessions as the page sees them, wherever the engine runs. Frames go in and out of a session;
 * administration is by objects.
 */

import type { AdminOperation } from "../codec/contract-administration.js";
import type { ErrorRecord } from "../types/errors.js";
import type { WasmModules } from "../types/rows.js";

/** Where the data of an instance is. */
export type StorageKind = "indexeddb" | "files" | "memory";

/** The options with which the engine is opened. All of them can pass a message port. */
export interface EngineOptions {
  readonly name: string;
  readonly storage: StorageKind;
  /** The folder of folders of instances in files, in Node and Deno. */
  readonly path: string | undefined;
  /** The place of the instance: its name, or a name of its folder. It names its lock. */
  readonly place: string;
  readonly create: boolean;
  /** Whether a guest opens it, whose options give way to others. */
  readonly guest: boolean;
  readonly salvage: boolean;
  readonly lost: string;
  readonly kind: string | undefined;
  readonly durability: string;
  readonly cacheBytes: number | undefined;
  readonly memtableBytes: number | undefined;
  readonly reserveBytes: number | undefined;
  /** An injected clock's time; `undefined` for the device's clock. */
  readonly clock: number | undefined;
  /** The number of the client that opens it. It is unique among all clients. */
  readonly client: number;
  readonly limits: string;
  readonly quotas: Readonly<Record<string, number>>;
  readonly throttle: unknown;
  readonly partitions: unknown;
  readonly prices: unknown;
  /** Those among them that the opener gave, by their paths. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** Whether tabs share the instance: it is in the storage of a browser. */
export const isShared = ({ storage, path }: Pick<EngineOptions, "storage" | "path">): boolean => storage !== "memory" && path === undefined;

/** Takes a response frame: `bytes` from `start` to `end`, or all of them. They do not change any more. */
export type OnResponses = (bytes: Uint8Array, start?: number, end?: number) => void;

/** The modules of the engine that are loaded on first use. Rust names them in `src/modules.rs`, and the build compares. */
export type ModuleName = keyof WasmModules;

/** Gives a module, compiled. */
export type ModuleSource = (name: ModuleName) => Promise<WebAssembly.Module>;

/** What an engine reports. */
export interface EngineReports {
  /** The engine has ended for good: open requests get no answer. */
  onFailure(error: unknown): void;
  /** It has died, by a trap or with its worker. What is stored is as after the death of a tab, for a fresh one. */
  onDeath(error: unknown): void;
  /** There is trouble that does not end the engine; `null` when it is over. */
  onTrouble(error: unknown): void;
  /** Its injected clock was moved: the next engine begins there. */
  onClock(now: number): void;
  /** All its handles are guests, and another tab opens the instance with options of its own: it is to end in order. */
  onYield(): void;
  /** Another tab has the instance. The opening goes on when that one ends. */
  onWaiting(): void;
  /** Its lock was taken. It answers nothing any more; {@link onReplaced} or {@link onFailure} follows. */
  onLost(): void;
  /** Another tab leads. */
  onReplaced(): void;
}

/** The reports of an engine, and what it asks its page for. */
export interface EngineEvents extends EngineReports {
  /** It needs a module. */
  readonly module: ModuleSource;
}

/** A client's session of a running engine. */
export interface EngineHost {
  /** Whether the engine is in this thread. Then {@link submit} itself delivers the responses that are ready at once. */
  readonly direct: boolean;
  /** Whether another tab has the engine. Then answers may be missing for ever, and calls are kept to be asked again. */
  readonly follows?: boolean;
  /** Sets the engine to the caller's clock, before {@link submit}. Throws if the clock is wrong. */
  readonly tick?: (() => void) | undefined;
  /**
   * Hands over a request frame. The caller may overwrite the bytes as soon as this returns. If it throws, nothing has
   * happened.
   */
  submit(frame: Uint8Array): void;
  /** Called with the error of a frame that cannot be read. Without it the engine ends: its own page has lost calls. */
  onWrongFrame?: ((error: unknown) => void) | undefined;
  /**
   * Administration: an operation by name. Earlier frames are handled first. A change that an earlier engine may have done has the
   * number of its `request`, and is done once.
   */
  call(op: AdminOperation, args: unknown, request?: number): Promise<unknown>;
  /** Ends the session. Requests in progress are answered first. Other sessions go on. */
  close(): Promise<void>;
}

/** A running engine. Each of its clients has a session. */
export interface RunningEngine {
  /** Opens the session of a client. */
  session(client: number, onResponses: OnResponses, guest: boolean): Promise<EngineHost>;
  /** Ends all sessions, closes the engine and releases its lock. */
  close(): Promise<void>;
}

/** A running engine in this thread, which serves other tabs too. */
export interface LeadingEngine extends RunningEngine {
  /** Whether another tab has taken its lock, or may take it now. */
  readonly isLost: boolean;
  /**
   * Runs something once the lock is its own, at once if there was a call a moment ago; or once it is lost, and {@link isLost} says
   * so. With `look` it asks the browser in any case.
   */
  whenKnown(run: () => void, look?: boolean): void;
  /** Opens the session of a client in another tab, which may outlive the engine; `life` is the number of that tab's lock. */
  sessionOfFollower(life: number, client: number, onResponses: OnResponses, guest: boolean): Promise<EngineHost>;
  /** Such a client has gone, if one is given. What was stored for clients that have gone is deleted. */
  forget(client?: number): Promise<void>;
}

/** An engine that is being opened. */
export interface Opening {
  /** The engine, once it runs. */
  readonly engine: Promise<RunningEngine>;
  /** Whether it waits for the end of another tab's engine. */
  readonly waits: boolean;
  /** Sets the options with which it goes on then: those of that engine. */
  inherit(options: EngineOptions): void;
  /** Takes the lock from `holder`, unless it has gone meanwhile. `leader` is its number, if it is known. */
  takeOver(holder: string, leader: number | undefined): void;
  /** Ends the opening although it hangs. Resolves when another client may take its lock. */
  cut(): Promise<void>;
}

/** The number of the call that opens an engine or a session. */
export const OPENING = 0;

/** A message to a session; a bare `Uint8Array` is a request frame. */
export type ToSession =
  | { readonly kind: "call"; readonly id: number; readonly op: string; readonly args: unknown; readonly request?: number | undefined }
  /** Asks whether the engine's thread runs. Only a leader's followers do. */
  | { readonly kind: "ping" }
  /** Ends the session. */
  | { readonly kind: "leave"; readonly id: number };

/** A message from the page to the worker. The client that opens the engine has its session on this port. */
export type ToWorker =
  | ToSession
  | { readonly kind: "open"; readonly module: WebAssembly.Module; readonly options: EngineOptions }
  /** Opens another client's session, on a port of its own. */
  | { readonly kind: "join"; readonly client: number; readonly guest: boolean; readonly port: MessagePort }
  /** A module that the worker needs, or why it cannot be had. */
  | { readonly kind: "module"; readonly name: ModuleName; readonly module: WebAssembly.Module }
  | { readonly kind: "noModule"; readonly name: ModuleName; readonly error: ErrorRecord }
  /** A connection to the shared worker, if there is any. */
  | { readonly kind: "hub"; readonly port: MessagePort | undefined }
  | { readonly kind: "inherit"; readonly options: EngineOptions }
  | { readonly kind: "takeOver"; readonly holder: string; readonly leader: number | undefined }
  /** Closes the engine. */
  | { readonly kind: "close"; readonly id: number };

/** A message from a session; a bare `Uint8Array` is a response frame. {@link OPENING} is answered too. */
export type FromSession =
  | { readonly kind: "result"; readonly id: number; readonly value: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorRecord };

/** A message from the worker to the page. */
export type FromWorker =
  | FromSession
  /** The worker holds its lock. A waiter for that lock hears of the worker's end. */
  | { readonly kind: "alive" }
  | { readonly kind: "waiting" }
  | { readonly kind: "clock"; readonly now: number }
  | { readonly kind: "yield" }
  | { readonly kind: "lost" }
  | { readonly kind: "replaced" }
  /** Asks for a connection to the shared worker. */
  | { readonly kind: "hub" }
  | { readonly kind: "failed"; readonly error: ErrorRecord }
  | { readonly kind: "dead"; readonly error: ErrorRecord }
  /** The engine needs a module. */
  | { readonly kind: "needs"; readonly name: ModuleName }
  | { readonly kind: "trouble"; readonly error: ErrorRecord | null };

/** Bytes of at least this size are transferred over a port, smaller ones are cloned: a small transfer costs two clones. */
export const TRANSFER_FROM = 64 * 1024;
