/**
 * The engine in a dedicated worker: the page's side.
 */

import { leaderChanged } from "../client/call-queue.js";
import { LOAD_HELP } from "../client/code.js";
import { local, type TabStoreError, toError, toRecord } from "../types/errors.js";
import { endOf, holderOf, PATIENCE, within } from "../tabs/lock.js";
import type { Connect } from "../tabs/channel.js";
import {
  type EngineEvents,
  type EngineHost,
  type EngineOptions,
  type FromWorker,
  isShared,
  type ModuleName,
  type OnResponses,
  type Opening,
  type RunningEngine,
  type ToWorker,
} from "./host.js";
import { type PortLike, PortSession } from "./session.js";

/** The part of a `Worker` that is used here; tests put a fake in its place. */
export interface WorkerLike extends PortLike {
  terminate(): void;
  onerror: ((event: ErrorEvent) => void) | null;
  onmessageerror: ((event: MessageEvent) => void) | null;
}

/** The hint for a browser that refuses to start a worker. Trusted Types refuse it with a `TypeError`, all else with a DOMException. */
const startHelp = (error: unknown): string =>
  error instanceof TypeError && "trustedTypes" in globalThis
    ? "This page requires Trusted Types: allow 'trusted-types tabstore' and import 'tabstore/inline', make a default policy, or open with worker: false."
    : LOAD_HELP;

class WorkerEngine implements RunningEngine {
  /** The session of the client that opens the engine. It needs no port of its own. */
  private readonly main: PortSession<FromWorker>;
  /** Sessions of other clients. */
  private readonly others = new Set<PortSession>();
  /** Whether the worker's code runs. */
  private loaded = false;
  /** Whether the engine runs. */
  private runs = false;
  /** Whether it waits for the end of another tab's engine. */
  waits = false;
  /** Whether the instance's lock was taken from the worker. */
  private isLost = false;
  /** The end of the worker, if a page can know it. */
  private ended: Promise<void> | undefined;

  constructor(
    private readonly worker: WorkerLike,
    private readonly options: EngineOptions,
    private readonly events: EngineEvents,
    private readonly connect: Connect,
  ) {
    this.main = new PortSession<FromWorker>(
      worker,
      () => {},
      (message) => this.receive(message),
    );
    worker.onerror = (event) => {
      event.preventDefault?.();
      const { message } = event;
      this.die(
        this.loaded
          ? local("OTSInternalServerError", `The engine's worker failed: ${message || "no reason given"}.`)
          : local("Unavailable", `The engine's worker could not be loaded${message ? `: ${message}` : ""}. ${LOAD_HELP}`),
      );
    };
    worker.onmessageerror = () => this.die(local("OTSInternalServerError", "A message of the engine's worker could not be read."));
  }

  private receive(message: FromWorker): void {
    this.loaded = true;
    if (message.kind === "failed") {
      this.fail(toError(message.error));
    } else if (message.kind === "dead") {
      this.die(toError(message.error));
    } else if (message.kind === "trouble") {
      this.events.onTrouble(message.error);
    } else if (message.kind === "needs") {
      void this.give(message.name);
    } else if (message.kind === "clock") {
      this.events.onClock(message.now);
    } else if (message.kind === "yield") {
      this.events.onYield();
    } else if (message.kind === "waiting") {
      this.waits = true;
      this.events.onWaiting();
    } else if (message.kind === "hub") {
      void this.connect()
        .catch(() => undefined)
        .then((port) => {
          this.worker.postMessage({ kind: "hub", port: port as MessagePort | undefined } satisfies ToWorker, port === undefined ? [] : [port as MessagePort]);
        });
    } else if (message.kind === "alive") {
      this.ended = endOf(this.options.client);
      void this.ended.then(() => this.gone());
    } else if (message.kind === "lost") {
      this.lose();
    } else if (message.kind === "replaced") {
      this.isLost = false;
      this.events.onReplaced();
      this.worker.terminate();
    }
  }

  /** The worker has ended, or leads no more. */
  private async gone(): Promise<void> {
    if (this.main.failure !== undefined && !this.isLost) return;
    if (isShared(this.options) && (await holderOf(this.options.place)) !== undefined) {
      this.lose();
      this.receive({ kind: "replaced" });
    } else {
      this.die(local("Closed", "The engine's worker has ended."));
    }
  }

  /** The instance's lock was taken from the worker. */
  private lose(): void {
    this.isLost = true;
    // First the calls on rows: they are asked again elsewhere.
    this.events.onLost();
    this.failSessions(leaderChanged(this.options.name));
  }

  /** Gives a module to the worker: the page knows where its files are. */
  private async give(name: ModuleName): Promise<void> {
    const answer = (message: ToWorker): void => this.worker.postMessage(message);
    try {
      answer({ kind: "module", name, module: await this.events.module(name) });
    } catch (error) {
      // A module may also be one that cannot be posted.
      answer({ kind: "noModule", name, error: toRecord(error) });
    }
  }

  /** The engine has died. */
  private die(error: TabStoreError): void {
    if (this.main.failure !== undefined) {
      this.fail(error);
      return;
    }
    // First the calls on rows, as above.
    this.events.onDeath(error);
    this.failSessions(this.runs ? leaderChanged(this.options.name, error) : error);
    this.worker.terminate();
  }

  private fail(error: unknown): void {
    if (this.main.failure !== undefined && !this.isLost) return;
    this.isLost = false;
    this.failSessions(error);
    // A failed engine must not hold the instance's lock: the lock goes with the worker.
    this.worker.terminate();
    this.events.onFailure(error);
  }

  private failSessions(error: unknown): void {
    for (const session of [this.main, ...this.others]) session.fail(error);
    this.others.clear();
  }

  /** Opens the engine as soon as its module is compiled. The module compiles while the worker starts. */
  async open(module: Promise<WebAssembly.Module>, options: EngineOptions): Promise<RunningEngine> {
    const opened = this.main.opened();
    module
      .then((compiled) => this.worker.postMessage({ kind: "open", module: compiled, options } satisfies ToWorker))
      .catch((error: unknown) => this.main.fail(error));
    try {
      await opened;
    } catch (error) {
      void this.end();
      throw error;
    }
    this.loaded = this.runs = true;
    this.waits = false;
    return this;
  }

  takeOver(holder: string, leader: number | undefined): void {
    this.worker.postMessage({ kind: "takeOver", holder, leader } satisfies ToWorker);
  }

  inherit(options: EngineOptions): void {
    this.worker.postMessage({ kind: "inherit", options } satisfies ToWorker);
  }

  async session(client: number, onResponses: OnResponses, guest: boolean): Promise<EngineHost> {
    if (client === this.options.client) {
      this.main.onResponses = onResponses;
      return this.main;
    }
    if (this.main.failure !== undefined) throw this.main.failure;
    for (const session of this.others) if (session.ended) this.others.delete(session);
    const { port1, port2 } = new MessageChannel();
    const session = new PortSession(port1, onResponses);
    this.others.add(session);
    const opened = session.opened();
    this.worker.postMessage({ kind: "join", client, guest, port: port2 } satisfies ToWorker, [port2]);
    await opened;
    return session;
  }

  /** Ends the worker in any state. Its locks are free then. */
  async end(): Promise<void> {
    // From here on, the worker's end is no failure.
    this.failSessions(local("Closed", "The database was closed while this call was under way."));
    this.worker.terminate();
    if (this.ended !== undefined) await within(this.ended, PATIENCE);
  }

  async close(): Promise<void> {
    if (this.main.failure !== undefined) return this.end();
    try {
      await this.main
        .ask((id): ToWorker & { id: number } => ({ kind: "close", id }))
        .catch((error: unknown) => {
          // If it has died, it is closed.
          if (toError(error).code !== "LeaderChanged") throw error;
        });
    } finally {
      void this.end();
    }
  }
}

/** Opens an instance in a worker. */
export function openWorker(
  start: () => WorkerLike,
  module: Promise<WebAssembly.Module>,
  options: EngineOptions,
  events: EngineEvents,
  connect: Connect,
): Opening {
  let worker: WorkerLike;
  try {
    worker = start();
  } catch (error) {
    module.catch(() => {});
    const refused = local("Unavailable", `The engine's worker could not be started: ${String(error).replace(/\.?$/, ".")} ${startHelp(error)}`, {
      cause: error,
    });
    return { engine: Promise.reject(refused), waits: false, inherit: () => {}, takeOver: () => {}, cut: async () => {} };
  }
  const engine = new WorkerEngine(worker, options, events, connect);
  return {
    engine: engine.open(module, options),
    get waits() {
      return engine.waits;
    },
    inherit: (other) => engine.inherit(other),
    takeOver: (holder, leader) => engine.takeOver(holder, leader),
    cut: () => engine.end(),
  };
}
