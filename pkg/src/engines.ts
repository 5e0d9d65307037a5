/**
 * The engines of this page. All handles on an instance share one engine, and each has a session of its own. An engine
 * is closed with its last handle.
 */

import { agree } from "./agree.js";
import type { Client } from "./client.js";
import { toError, type TabStoreError } from "./errors.js";
import type { EngineHost, EngineReports, RunningEngine } from "./host/host.js";
import { follow, lockName } from "./lock.js";
import type { Checked } from "./options.js";
import { abortReason, unlessAborted } from "./signals.js";

/** The engines that take more handles, by the names of their locks. */
const engines = new Map<string, PageEngine>();

/** The engine that this page has for an instance, if it takes more handles. */
export function engineOf(instance: string): PageEngine | undefined {
  return engines.get(lockName(instance));
}

/** An engine of this page, from its opening to its end. */
export class PageEngine {
  /** Those that use it: opening, open or closing. */
  private readonly clients = new Set<Client>();
  /** Gives the opening up. */
  private readonly control = new AbortController();
  private readonly running: Promise<RunningEngine>;
  /** The trouble that all handles should know of. */
  private trouble: TabStoreError | null = null;
  private readonly key: string;
  /** Whether it has run. */
  ran = false;

  /** Opens an engine. In memory each handle has an engine of its own; all others are shared. */
  constructor(readonly checked: Checked, start: (signal: AbortSignal, reports: EngineReports) => Promise<RunningEngine>) {
    this.key = lockName(checked.engine.name);
    if (checked.engine.storage !== "memory") engines.set(this.key, this);
    this.running = start(this.control.signal, {
      onFailure: (error) => this.fail(toError(error)),
      onTrouble: (error) => {
        this.trouble = error === null ? null : toError(error);
        for (const client of this.clients) client.trouble(this.trouble);
      },
    });
    this.running.then(() => (this.ran = true), () => this.retire());
  }

  /** Gives a client a session. */
  async join(client: Client, { given, engine: { name } }: Checked, signal: AbortSignal | undefined): Promise<void> {
    this.clients.add(client);
    client.laxNames = this.checked.engine.limits === "sdk";
    client.onFatal = (error) => this.fail(error);
    if (this.trouble !== null) client.trouble(this.trouble);
    let host: EngineHost | undefined;
    try {
      const running = await unlessAborted(client.waiting.unlessFailed(this.running), signal);
      const session = host = await running.session(client.number, client.receive);
      if (given !== this.checked.given) await agree(name, given, { ...this.checked.given, worker: this.checked.worker }, () => session.call("metrics", {}));
      if (signal?.aborted) throw abortReason(signal);
      client.attach(session, () => this.leave(client, session));
      if (client.closedBy !== undefined) throw client.closedBy;
    } catch (error) {
      await this.leave(client, host, error).catch(() => {});
      throw error;
    }
  }

  /** A client needs its session no more. The last one closes the engine. */
  private async leave(client: Client, host: EngineHost | undefined, reason?: unknown): Promise<void> {
    if (!this.clients.delete(client)) return;
    if (this.clients.size > 0) return host?.close();
    this.retire();
    this.control.abort(reason);
    const end = this.running.then((running) => running.close(), () => {});
    if (this.checked.engine.storage !== "memory") follow(this.key, end, false);
    return end;
  }

  /** Takes no more handles: the next opening starts another engine. */
  private retire(): void {
    if (engines.get(this.key) === this) engines.delete(this.key);
  }

  /** Takes no more handles if those that it has are about to go. */
  retireIfLeft(): void {
    for (const { closedBy } of this.clients) if (closedBy === undefined) return;
    this.retire();
  }

  /** It has failed, and all its handles with it. */
  private fail(error: TabStoreError): void {
    this.retire();
    for (const client of [...this.clients]) client.fail(error);
  }
}
