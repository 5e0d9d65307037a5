/** A tab whose engine does not start by itself, and leaders that it may follow. */

import { Client } from "../../src/client/client.js";
import { PageEngine, type Start } from "../../src/open/engines.js";
import type { EngineHost, EngineOptions, EngineReports, OnResponses, RunningEngine } from "../../src/host/host.js";
import type { Leader } from "../../src/tabs/leader.js";
import { type Checked, checkOpen } from "../../src/open/options.js";
import type { OpenOptions } from "../../src/types/rows.js";
import { FakeEngine } from "./engine.js";
import { lead, leadingEngine } from "./leading.js";
import { NO_MODULES, servingWorker } from "./worker.js";

/** The options of an opening, checked. */
export function checked(options: OpenOptions = {}, name = "demo"): Checked {
  return checkOpen(
    { modules: NO_MODULES, tabs: undefined, wasm: () => new Uint8Array(), worker: () => servingWorker(), thread: () => Promise.reject(new Error("loaded")) },
    name,
    options,
  );
}

/** A leader in another tab, which runs. Its sessions are small engines. */
export function leads(options: EngineOptions, number: number, metrics: object = {}): { leader: Leader; sessions: FakeEngine[] } {
  const sessions: FakeEngine[] = [];
  const engine = leadingEngine(async (_life, _client, onResponses) => {
    const session = new FakeEngine(onResponses);
    session.admin = (op) => (op === "metrics" ? metrics : undefined);
    sessions.push(session);
    return session;
  });
  return { leader: lead(options, number, engine), sessions };
}

/** A tab that waits for another one's engine, until it is told to lead. */
export class WaitingTab {
  readonly page: PageEngine;
  /** The options with which its engine was asked to open. */
  opened!: EngineOptions;
  /** The options with which its engine will open. */
  inherited: EngineOptions | undefined;
  /** The sessions of its own engine. */
  readonly own: FakeEngine[] = [];
  closed = false;
  private run!: (engine: RunningEngine) => void;
  private reports!: EngineReports;
  readonly checked: Checked;

  constructor(given: OpenOptions = {}) {
    const start: Start = (options, signal, reports) => {
      this.opened = options;
      this.reports = reports;
      queueMicrotask(() => reports.onWaiting());
      const engine = new Promise<RunningEngine>((resolve, reject) => {
        this.run = resolve;
        signal.addEventListener("abort", () => reject(signal.reason));
      });
      return { engine, inherit: (other) => (this.inherited = other), takeOver: () => {}, cut: async () => {} };
    };
    this.checked = checked(given);
    this.page = new PageEngine(this.checked, start, async () => undefined);
  }

  /** Opens a handle. */
  async join(options?: OpenOptions, signal?: AbortSignal): Promise<Client> {
    const { engine, given } = options === undefined ? this.checked : checked(options);
    const client = new Client(engine.client, false);
    await this.page.join(client, given, signal);
    return client;
  }

  /** Its engine runs. `before` is awaited before a session is given. */
  lead(before: (client: number) => Promise<void> = async () => {}, metrics: object = {}): void {
    const session = async (client: number, onResponses: OnResponses): Promise<EngineHost> => {
      await before(client);
      const host = new FakeEngine(onResponses);
      host.admin = (op) => (op === "metrics" ? metrics : undefined);
      this.own.push(host);
      return host;
    };
    this.run({ session, close: async () => void (this.closed = true) });
  }

  /** Another report of its engine. */
  get report(): EngineReports {
    return this.reports;
  }
}
