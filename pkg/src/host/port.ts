/**
 * The engine in a dedicated worker: the page's side of the port.
 */

import { local, toError } from "../errors.js";
import { type EngineEvents, type EngineHost, type EngineOptions, type FromWorker, type ToWorker, TRANSFER_FROM } from "./host.js";

/** The part of a `Worker` that is used here; tests put a fake in its place. */
export interface WorkerLike {
  postMessage(message: unknown, transfer?: Transferable[]): void;
  terminate(): void;
  onmessage: ((event: MessageEvent) => void) | null;
  onerror: ((event: ErrorEvent) => void) | null;
  onmessageerror: ((event: MessageEvent) => void) | null;
}

/** What to do when the package's own files cannot be loaded. */
export const LOAD_HELP = "If your bundler or server does not ship the package's files, import 'tabstore/inline' instead of 'tabstore'"
  + " (worker and WebAssembly inside one file), or say where the module is: init(url | bytes | module), open(name, { worker: false }).";

/** What to do when the browser refuses to start a worker: a `TypeError` is what Trusted Types give, all else is a DOMException. */
const startHelp = (error: unknown): string => error instanceof TypeError && "trustedTypes" in globalThis
  ? "This page requires Trusted Types: allow 'trusted-types tabstore' and import 'tabstore/inline', make a default policy, or open with worker: false."
  : LOAD_HELP;

class WorkerHost implements EngineHost {
  readonly direct = false;
  private calls = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  private lastCall = 0;
  private failure: unknown;

  constructor(private readonly worker: WorkerLike, private readonly events: EngineEvents) {
    worker.onmessage = ({ data }: MessageEvent<FromWorker | Uint8Array>) => {
      if (data instanceof Uint8Array) events.onResponses(data);
      else this.receive(data);
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      this.fail(local("OTSInternalServerError", `The engine's worker failed: ${event.message || "no reason given"}.`));
    };
    worker.onmessageerror = () => this.fail(local("OTSInternalServerError", "A message of the engine's worker could not be read."));
  }

  private receive(message: FromWorker): void {
    if (message.kind === "failed") {
      this.fail(toError(message.error));
    } else if (message.kind === "result" || message.kind === "error") {
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

  submit(frame: Uint8Array): void {
    // Always a copy: the caller writes its next frame into the buffer, which a transfer would take away, and of which a
    // clone of the view would carry all.
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
    if (this.failure !== undefined) return;
    try {
      await this.ask((id) => ({ kind: "close", id }));
    } finally {
      this.worker.terminate();
      this.rejectCalls(local("Closed", "The database was closed while this call was under way."));
    }
  }
}

/** Opens an instance in a worker. The module compiles while the worker starts. */
export async function openWorker(
  start: () => WorkerLike, module: Promise<WebAssembly.Module>, options: EngineOptions, events: EngineEvents,
): Promise<EngineHost> {
  let worker: WorkerLike;
  try {
    worker = start();
  } catch (error) {
    module.catch(() => {});
    throw local("Unavailable", `The engine's worker could not be started: ${String(error).replace(/\.?$/, ".")} ${startHelp(error)}`, { cause: error });
  }
  try {
    await new Promise<void>((resolve, reject) => {
      worker.onerror = (event) => {
        event.preventDefault?.();
        reject(local("Unavailable", `The engine's worker could not be loaded${event.message ? `: ${event.message}` : ""}. ${LOAD_HELP}`));
      };
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        if (data.kind === "opened") resolve();
        else if (data.kind === "refused") reject(toError(data.error));
      };
      module.then((compiled) => worker.postMessage({ kind: "open", module: compiled, options } satisfies ToWorker)).catch(reject);
    });
  } catch (error) {
    worker.terminate();
    throw error;
  }
  return new WorkerHost(worker, events);
}
