/**
 * The engines of this page. All handles on an instance share one engine, and each has a session of its own. An engine
 * is closed with its last handle. If another tab has the engine, the handles follow that tab, until this one leads.
 */

import { CallQueue, leaderChanged } from "../client/call-queue.js";
import type { Client } from "../client/client.js";
import { loadCode, once } from "../client/code.js";
import type { AdminOperation } from "../codec/contract-administration.js";
import { local, toError, type TabStoreError } from "../types/errors.js";
import type { Following, Tab } from "../tabs/following-tab.js";
import type { Connect } from "../tabs/channel.js";
import type { EngineState } from "../tabs/hand-over.js";
import type { EngineHost, EngineOptions, EngineReports, Opening, RunningEngine } from "../host/host.js";
import { canFollow, live, lockName, registerWork, taken } from "../tabs/lock.js";
import type { Checked, Given } from "./options.js";
import { abortReason, unlessAborted } from "../client/signals.js";

/** The engines that take more handles, by the names of their locks. */
const engines = new Map<string, PageEngine>();

/** The engine that this page has for the instance of a place, if it takes more handles. */
export function engineOf(place: string): PageEngine | undefined {
  return engines.get(lockName(place));
}

/** The code of followers. A page that has the engine for itself does not load it. */
const loadSharing = once(() => loadCode(import("../tabs/following-tab.js")));

/** So many deaths of engines in a minute say that a fresh one will not live longer. */
const DEATHS = 3;

/** Starts to open an engine, until the signal aborts. */
export type Start = (options: EngineOptions, signal: AbortSignal, reports: EngineReports) => Omit<Opening, "waits">;

/** The opening of a page that is put aside. */
const ASIDE: ReturnType<Start> = {
  get engine() {
    return Promise.reject<RunningEngine>(local("Closed", "The page is put aside."));
  },
  inherit: () => {},
  takeOver: () => {},
  cut: async () => {},
};

/** A client that waits for its first session. */
interface Newcomer {
  resolve(host: EngineHost): void;
  reject(error: unknown): void;
}

/** An engine of this page, from its opening to its end. */
export class PageEngine implements Tab {
  /** Those that use it, opening, open or closing, with the options that they gave. */
  readonly clients = new Map<Client, Given>();
  private readonly newcomers = new Map<Client, Newcomer>();
  /** Gives the opening up. */
  private readonly control = new AbortController();
  opening!: ReturnType<Start>;
  /** Resolves when the engine runs, or another tab has it. */
  private decided!: Promise<void>;
  /** Ends the wait for an opening that is not begun yet. */
  private resume: ((opened: Promise<void>) => void) | undefined;
  private following: Following | undefined;
  /** Clients that have lost their sessions, until another tab leads, or this one again. */
  private readonly queues = new Map<Client, CallQueue>();
  /** The trouble that all handles should know of. */
  private trouble: TabStoreError | null = null;
  private readonly key: string;
  /** The options of the engine, and those among them that somebody gave. */
  options: EngineOptions;
  given: Given;
  /** See tabs/hand-over.ts. */
  state: EngineState = "opening";
  private alive: Promise<boolean> | undefined;
  /** The opening whose engine has lost its lock, until it is known why. */
  private lost: ReturnType<Start> | undefined;
  /** The times of the engines' deaths, and the cause of the last one. */
  private readonly deaths: number[] = [];
  /** The deaths since an engine of this page ran. */
  private unopened = 0;
  private death: TabStoreError | undefined;

  /** Opens an engine. In memory each handle has an engine of its own; all others are shared. */
  constructor(
    readonly checked: Checked,
    private readonly start: Start,
    private readonly connect: Connect,
  ) {
    this.options = checked.engine;
    this.given = checked.given;
    this.key = lockName(checked.place);
    if (this.options.storage !== "memory") {
      engines.set(this.key, this);
      this.whenPutAside(this.control.signal);
    }
    this.begin();
  }

  /** Opens the engine. */
  private begin(): void {
    let onWaiting = (): void => {};
    const waits = new Promise<void>((resolve) => (onWaiting = resolve));
    this.lost = undefined;
    const isOurs = (): boolean => this.opening === opening || this.lost === opening;
    const opening = (this.opening = this.start(this.options, this.control.signal, {
      onFailure: (error) => {
        if (isOurs()) this.fail(toError(error));
      },
      onDeath: (error) => {
        if (isOurs()) this.die(toError(error));
      },
      onLost: () => {
        if (this.opening === opening) this.lost = this.lose("lost");
      },
      onReplaced: () => {
        if (this.lost === opening) this.reopen();
      },
      onTrouble: (error) => {
        if (isOurs()) this.tell(error === null ? null : toError(error));
      },
      onClock: (now) => this.onClock(now),
      onYield: () => {
        void loadSharing().then(({ giveUp }) => giveUp(this, opening, () => this.opening === opening));
      },
      onWaiting,
    }));
    const runs = opening.engine
      // One that was put aside is of no use any more.
      .then((running) => (this.opening === opening ? this.lead(running) : undefined))
      .catch((error: unknown) => {
        this.endOpening(opening, error);
      });
    this.decided = Promise.race([runs, waits.then(() => this.follow(opening)).catch((error: unknown) => this.endOpening(opening, error))]);
    this.decided.catch(() => {});
    this.resume?.(this.decided);
    this.resume = undefined;
  }

  /** Whether it opens, or waits for the end of another tab's. */
  get isOpening(): boolean {
    return this.state !== "leading" && this.opening !== ASIDE;
  }

  /** Tells all handles of a trouble, or of its end. */
  private tell(trouble: TabStoreError | null): void {
    this.trouble = trouble;
    for (const client of this.clients.keys()) client.troubles.add(trouble);
  }

  /** An opening has failed. */
  private endOpening(opening: ReturnType<Start>, error: unknown): void {
    // One that was put aside has no word any more.
    if (this.opening !== opening) return;
    this.retire();
    if (this.state !== "opening") this.fail(toError(error));
    throw error;
  }

  /**
   * Gives the engine up when the page is put into the back/forward cache, where it would keep the instance from other
   * tabs. A page that comes back leads or follows, as any other that opens.
   */
  private whenPutAside(signal: AbortSignal): void {
    if (globalThis.window === undefined) return;
    const on = (type: "pagehide" | "pageshow", run: () => void): void =>
      addEventListener(
        type,
        ({ persisted }) => {
          if (persisted) run();
        },
        { signal },
      );
    on("pagehide", () => {
      // An opening that has not come so far goes on when the page does.
      if (this.state !== "opening") void this.lose("aside").cut();
    });
    on("pageshow", () => {
      if (this.state === "aside") this.reopen();
    });
  }

  /** The opening, or its engine, is of no use any more: calls wait for the next one. */
  lose(state: "lost" | "aside" | "ending", died?: TabStoreError): ReturnType<Start> {
    const { opening } = this;
    this.opening = ASIDE;
    this.lost = undefined;
    this.state = state;
    if (this.resume === undefined) {
      this.decided = new Promise((resolve) => (this.resume = resolve));
      this.decided.catch(() => {});
    }
    // The next engine does not know what was done before: the life of this tab, which its answers go by, may have ended.
    for (const [client, queue] of this.queues) {
      if (!queue.isDoubtful) continue;
      queue.dropFrames();
      client.handOver(false, leaderChanged(this.options.name, died));
    }
    if (this.following !== undefined) this.following.suspend();
    else for (const client of this.clients.keys()) if (client.role === "leader" && client.isAttached) this.suspend(client, died);
    return opening;
  }

  /** Opens the engine again, or follows the tab that leads now. */
  private reopen(): void {
    this.state = "reopening";
    this.options = { ...this.options, create: false };
    this.begin();
  }

  /** The engine has died: a fresh one opens from the storage, or another tab leads. In memory its data is lost. */
  private die(error: TabStoreError): void {
    const now = performance.now();
    const often = (this.deaths.push(now) >= DEATHS && now - this.deaths.at(-DEATHS)! < 60_000) || (this.unopened += 1) >= DEATHS;
    // A page runs no second engine after a trap. It does after the end of one that does not know what is stored.
    const isTrap = !this.checked.worker && error.code !== "Closed";
    // The first opening is refused by name.
    if (this.state === "opening" || isTrap || this.options.storage === "memory" || often) {
      this.fail(error);
      return;
    }
    this.tell((this.death = error));
    const died = this.lose("ending", error);
    // Later: it has calls to refuse.
    void Promise.resolve()
      .then(() => died.cut())
      .then(() => this.resumeAside());
  }

  /** A fresh engine runs, or another tab leads. */
  private heal(): void {
    if (this.trouble !== null && this.trouble === this.death) this.tell(null);
  }

  /** The engine finds that another one has written. Returns whether the handles go on. */
  private replaced(): boolean {
    if (this.options.storage !== "indexeddb" || !canFollow()) return false;
    const { opening } = this;
    // Later: the engine may be the caller.
    queueMicrotask(() => {
      if (this.opening !== opening || opening === ASIDE) return;
      void this.lose("ending").cut();
      this.reopen();
    });
    return true;
  }

  /** Opens again, unless the page is put aside or needs no engine any more. */
  resumeAside(): void {
    if (this.state === "ending" && !this.control.signal.aborted) this.reopen();
  }

  /** Calls of a client wait from now on. */
  queue(client: Client): CallQueue {
    const queue = new CallQueue();
    this.attach(client, queue);
    this.queues.set(client, queue);
    return queue;
  }

  /** A client has lost its session: its calls wait. */
  private suspend(client: Client, died?: TabStoreError): void {
    this.queue(client);
    client.handOver(false, leaderChanged(this.options.name, died));
  }

  /** Gives a client a session. */
  async join(client: Client, given: Given, signal: AbortSignal | undefined): Promise<void> {
    this.clients.set(client, given);
    client.onFatal = (error) => this.fail(error);
    client.onReplaced = () => this.replaced();
    if (this.trouble !== null) client.troubles.add(this.trouble);
    let host: EngineHost | undefined;
    let session: Promise<EngineHost> | undefined;
    const wait = <T>(work: Promise<T>): Promise<T> => unlessAborted(client.waiting.unlessFailed(work), signal);
    try {
      while (host === undefined) {
        const { decided } = this;
        await wait(decided);
        const { opening } = this;
        if (opening === ASIDE || decided !== this.decided) continue;
        session = this.following === undefined ? this.own(client) : this.newcomer(client, this.following);
        try {
          host = await wait(session);
        } catch (error) {
          // If the engine has died, another one comes.
          if (this.opening === opening || signal?.aborted || client.closedBy !== undefined) throw error;
        }
      }
      if (signal?.aborted) throw abortReason(signal);
      this.attach(client, host);
      if (client.closedBy !== undefined) throw client.closedBy;
    } catch (error) {
      // A session that comes too late must not keep its share of the engine.
      if (host === undefined) session?.then((late) => late.close()).catch(() => {});
      const left = this.leave(client, host, error).catch(() => {});
      // In a frame that is gone nothing is answered any more.
      if (client.closedBy === undefined) await left;
      throw error;
    }
  }

  /** A session of the engine in this page. */
  private async own(client: Client): Promise<EngineHost> {
    const {
      options,
      given,
      checked: { worker },
    } = this;
    const session = await (await this.opening.engine).session(client.number, client.receive, client.guest);
    const wanted = this.clients.get(client);
    try {
      if (wanted !== undefined && wanted !== given) {
        const { agree } = await loadSharing();
        await agree(options.name, wanted, { ...options, given: { ...given, worker } }, () => session.call("metrics", {}));
      }
    } catch (error) {
      void session.close().catch(() => {});
      throw error;
    }
    return session;
  }

  private newcomer(client: Client, following: Following): Promise<EngineHost> {
    return new Promise((resolve, reject) => {
      this.newcomers.set(client, { resolve, reject });
      following.add(client);
    });
  }

  private attach(client: Client, host: EngineHost): void {
    // First what waits: calls that are made now come behind it.
    this.queues.get(client)?.moveTo(host);
    this.queues.delete(client);
    client.laxNames = this.options.limits === "sdk";
    client.attach(host, () => this.leave(client, host));
  }

  /** Another tab has the engine. */
  private async follow(opening: ReturnType<Start>): Promise<void> {
    const {
      engine: { client },
      place,
      worker,
    } = this.checked;
    const { signal } = this.control;
    if (signal.aborted) return;
    // A worker has this lock already.
    if (!worker) await (this.alive ??= live(client, new Promise((resolve) => signal.addEventListener("abort", () => resolve()))));
    if (this.state === "leading" || signal.aborted || this.opening !== opening) return;
    this.state = "following";
    const { Following } = await loadSharing();
    if (this.state !== "following" || signal.aborted || this.opening !== opening) return;
    this.heal();
    const following = (this.following ??= new Following(place, client, this.connect, this));
    for (const suspended of [...this.queues.keys()]) this.attach(suspended, following.add(suspended));
    void following.begin();
  }

  /** The engine runs, at once or because the leader has gone. */
  private async lead(running: RunningEngine): Promise<void> {
    this.state = "leading";
    this.unopened = 0;
    this.heal();
    // If this engine ends at once, they go on with the next one.
    for (const follower of this.following?.end() ?? []) this.queues.set(follower.client, follower);
    this.following = undefined;
    const { opening } = this;
    for (const client of [...this.queues.keys()]) {
      try {
        this.linked(client, await (this.newcomers.has(client) ? this.own(client) : running.session(client.number, client.receive, client.guest)));
      } catch (error) {
        if (this.opening !== opening) return;
        this.refuse(client, toError(error));
      }
    }
  }

  async agree(client: Client, options: EngineOptions, ask: (op: AdminOperation) => Promise<unknown>): Promise<boolean> {
    const { settle } = await loadSharing();
    return settle(this, client, options, ask);
  }

  onClock(clock: number): void {
    this.options = { ...this.options, clock };
    this.opening.inherit(this.options);
  }

  takeOver(holder: string, leader: number | undefined): void {
    this.opening.takeOver(holder, leader);
  }

  linked(client: Client, host: EngineHost): void {
    const newcomer = this.newcomers.get(client);
    this.newcomers.delete(client);
    if (newcomer !== undefined) {
      newcomer.resolve(host);
    } else if (this.clients.has(client)) {
      this.attach(client, host);
      client.onLeader?.();
    } else {
      // It was closed meanwhile.
      void host.close();
    }
  }

  refuse(client: Client, error: TabStoreError): void {
    const newcomer = this.newcomers.get(client);
    this.newcomers.delete(client);
    if (newcomer !== undefined) newcomer.reject(error);
    else client.fail(error);
  }

  /** A client needs its session no more. The last one closes the engine. */
  private async leave(client: Client, host: EngineHost | undefined, reason?: unknown): Promise<void> {
    if (!this.clients.delete(client)) return;
    this.newcomers.delete(client);
    void this.queues.get(client)?.close();
    this.queues.delete(client);
    const { following } = this;
    if (this.clients.size > 0) return following === undefined ? host?.close() : following.remove(client);
    this.retire();
    const end = (async (): Promise<void> => {
      await following?.remove(client);
      following?.drop();
      this.control.abort(reason);
      await this.opening.engine.then(
        (running) => running.close(),
        () => {},
      );
    })();
    if (this.options.storage !== "memory") registerWork(this.checked.place, end, false);
    return end;
  }

  /** Takes no more handles: the next opening starts another engine. */
  private retire(): void {
    if (engines.get(this.key) === this) engines.delete(this.key);
  }

  /** Takes no more handles if those that it has are about to go. */
  retireIfLeft(): void {
    for (const { closedBy } of this.clients.keys()) if (closedBy === undefined) return;
    this.retire();
  }

  /** It has failed, and all its handles with it. */
  private fail(error: TabStoreError): void {
    this.retire();
    // The fence may notice before the tab that took the instance is heard.
    const told = error.code === "LeaderChanged" && !canFollow() ? taken(this.options.name) : error;
    for (const client of [...this.clients.keys()]) client.fail(told);
  }
}
