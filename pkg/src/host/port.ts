/**
 * The engine in a dedicated worker: the page's side of the port.
 */

import { local, toError } from "../errors.js";
import { endOf, PATIENCE, within } from "../lock.js";
import { type EngineEvents, type EngineHost, type EngineOptions, type FromWorker, OPENING, type Opening, type ToWorker, TRANSFER_FROM } from "./host.js";

/** The part of a `Worker` that is used here; tests put a fake in its place. */
export interface WorkerLike {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  terminate(): void;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  onmessageerror: ((event: MessageEvent) => void) | null;
}

/** The hint for files of the package that cannot be loaded. */
export const LOAD_HELP = "If your bundler or server does not ship the package's files, import 'tabstore/inline' instead of 'tabstore'"
  + " (worker and WebAssembly inside one file), or say where the module is: init(url | bytes | module), open(name, { worker: false }).";

/** The hint for a browser that refuses to start a worker. Trusted Types refuse it with a `TypeError`, all else with a DOMException. */
const startHelp = (error: unknown): string => error instanceof TypeError && "trustedTypes" in globalThis
  ? "This page requires Trusted Types: allow 'trusted-types tabstore' and import 'tabstore/inline', make a default policy, or open with worker: false."
  : LOAD_HELP;

class WorkerHost implements EngineHost {
  readonly direct = false;
  private calls = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  private lastCall = OPENING;
  private failure: unknown;
  /** Whether the worker's code runs. */
  private loaded = false;
  /** The end of the worker, if a page can know it. */
  private ended: Promise<void> | undefined;

  constructor(private readonly worker: WorkerLike, private readonly client: number, private readonly events: EngineEvents) {
    worker.onmessage = ({ data }: MessageEvent<FromWorker | Uint8Array>) => {
      if (data instanceof Uint8Array) events.onResponses(data);
      else this.receive(data);
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      const { message } = event;
      this.fail(this.loaded
        ? local("OTSInternalServerError", `The engine's worker failed: ${message || "no reason given"}.`)
        : local("Unavailable", `The engine's worker could not be loaded${message ? `: ${message}` : ""}. ${LOAD_HELP}`));
    };
    worker.onmessageerror = () => this.fail(local("OTSInternalServerError", "A message of the engine's worker could not be read."));
  }

  private receive(message: FromWorker): void {
    this.loaded = true;
    if (message.kind === "failed") {
      this.fail(toError(message.error));
    } else if (message.kind === "trouble") {
      this.events.onTrouble(message.error);
    } else if (message.kind === "alive") {
      this.ended = endOf(this.client);
      void this.ended.then(() => this.fail(local("Closed", "The engine's worker has ended without a word. Open the instance again.")));
    } else {
      const call = this.calls.get(message.id);
      this.calls.delete(message.id);
      if (message.kind === "result") call?.resolve(message.value);
      else call?.reject(toError(message.error));
    }
  }

  private fail(error: unknown): void {
    if (this.failure !== undefined) return;
    this.failure = error;
    this.rejectCalls(error);
    // A failed engine must not hold the instance's lock: the lock goes with the worker.
    this.worker.terminate();
    this.events.onFailure(error);
  }

  private rejectCalls(error: unknown): void {
    for (const call of this.calls.values()) call.reject(error);
    this.calls.clear();
  }

  /** Opens the engine as soon as its module is compiled. The module compiles while the worker starts. */
  async open(module: Promise<WebAssembly.Module>, options: EngineOptions): Promise<EngineHost> {
    try {
      await new Promise((resolve, reject) => {
        this.calls.set(OPENING, { resolve, reject });
        module.then((compiled) => this.worker.postMessage({ kind: "open", module: compiled, options } satisfies ToWorker)).catch(reject);
      });
    } catch (error) {
      void this.end();
      throw error;
    }
    return this;
  }

  /** Ends the worker in any state. Its locks are free then. */
  async end(): Promise<void> {
    // From here on, the worker's end is no failure.
    this.failure ??= local("Closed", "The database is closed.");
    this.worker.terminate();
    if (this.ended !== undefined) await within(this.ended, PATIENCE);
  }

  submit(frame: Uint8Array): void {
    // Always a copy, because the caller writes its next frame into the buffer. A transfer would take that buffer away,
    // and a clone of the view would carry all of it.
    const bytes = frame.slice();
    this.worker.postMessage(bytes, bytes.length >= TRANSFER_FROM ? [bytes.buffer] : []);
  }

  private ask(message: (id: number) => ToWorker): Promise<unknown> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    const id = ++this.lastCall;
    return new Promise((resolve, reject) => {
      this.calls.set(id, { resolve, reject });
      try {
        this.worker.postMessage(message(id));
      } catch (error) {
        this.calls.delete(id);
        reject(error);
      }
    });
  }

  call(op: string, args: unknown): Promise<unknown> {
    return this.ask((id) => ({ kind: "call", id, op, args }));
  }

  async close(): Promise<void> {
    if (this.failure !== undefined) return this.end();
    try {
      await this.ask((id) => ({ kind: "close", id }));
    } finally {
      void this.end();
      this.rejectCalls(local("Closed", "The database was closed while this call was under way."));
    }
  }
}

/** Opens an instance in a worker. */
export function openWorker(start: () => WorkerLike, module: Promise<WebAssembly.Module>, options: EngineOptions, events: EngineEvents): Opening {
  let worker: WorkerLike;
  try {
    worker = start();
  } catch (error) {
    module.catch(() => {});
    const refused = local("Unavailable", `The engine's worker could not be started: ${String(error).replace(/\.?$/, ".")} ${startHelp(error)}`, { cause: error });
    return { host: Promise.reject(refused), cut: async () => {} };
  }
  const host = new WorkerHost(worker, options.client, events);
  return { host: host.open(module, options), cut: () => host.end() };
}
