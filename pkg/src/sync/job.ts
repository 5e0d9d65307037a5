/** A job: its stages, its tries after failures, its end. */

import type { Database, TabStoreError } from "../index.js";
import { type Release, turnOf } from "../tabs/turn.js";
import { Checkpoint, type Place } from "./checkpoint.js";
import { Feed, latest } from "./feed.js";
import type { Given } from "./options.js";
import { type Both, type Counts, TablePair } from "./pair.js";
import { prepare } from "./prepare.js";
import { mayPass, OutsideWindow, Side } from "./side.js";
import type { SyncEvents, SyncJob, SyncLossReason, SyncStage, SyncStatus } from "./types.js";

/** Ends what waits when the job is stopped. */
const STOPPED = Symbol("stopped");

/** Calls a function when a signal aborts, or at once if it has. Gives what takes it off. */
function whenAborted(signal: AbortSignal, abort: () => void): () => void {
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return () => signal.removeEventListener("abort", abort);
}

/** A promise, and what ends it. Nobody need handle its rejection. */
class Deferred {
  resolve!: () => void;
  reject!: (reason: unknown) => void;
  readonly promise = new Promise<void>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });

  constructor() {
    this.promise.catch(() => {});
  }
}

const isExpired = (error: unknown): boolean => (error as Partial<TabStoreError> | null)?.code === "OTSTrimmedDataAccess";

/** See the top of the file. Its listeners are those of any event target; {@link SyncJob} has their types. */
export class Job extends EventTarget implements Omit<SyncJob, "addEventListener" | "removeEventListener"> {
  private readonly counts: Counts = { rowsCopied: 0, changesRead: 0, rowsWritten: 0, conflicts: 0 };
  private readonly notKept: Record<SyncLossReason, number> = { maxVersions: 0, timeToLive: 0, maxVersionOffset: 0 };
  private stage: SyncStage = "queued";
  private error: SyncStatus["error"] = null;
  private retries = 0;
  private isReady = false;
  private readonly control = new AbortController();
  private readonly copied = new Deferred();
  private readonly ended = new Deferred();
  private waiters: { readonly deferred: Deferred; isBehind: boolean }[] = [];
  /** Ends a wait for changes, so that the job looks again. */
  private wake = new AbortController();
  /** Not `randomUUID`, which pages without TLS lack. */
  private readonly owner = crypto.getRandomValues(new Uint32Array(4)).join("-");
  private pair: TablePair | undefined;

  constructor(private readonly given: Given) {
    super();
    const { signal } = given;
    const off = signal && whenAborted(signal, () => this.halt(signal.reason));
    void this.run().finally(off);
  }

  get ready(): Promise<void> {
    return this.copied.promise;
  }

  get done(): Promise<void> {
    return this.ended.promise;
  }

  status(): SyncStatus {
    const { stage, counts, notKept, retries, error } = this;
    return { stage, ...counts, notKept: { ...notKept }, retries, lagMs: this.lag(), error };
  }

  caughtUp(): Promise<void> {
    const deferred = new Deferred();
    if (this.stage === "failed" || this.stage === "stopped") {
      deferred.reject(this.error ?? this.stopped());
    } else {
      this.waiters.push({ deferred, isBehind: false });
      this.wake.abort();
    }
    return deferred.promise;
  }

  async stop(): Promise<void> {
    this.halt(STOPPED);
    await this.ended.promise.catch(() => {});
  }

  private tell<K extends keyof SyncEvents>(event: SyncEvents[K]): void {
    const { type, ...members } = event;
    this.dispatchEvent(Object.assign(new Event(type), members));
  }

  private enter(stage: SyncStage, error: SyncStatus["error"] = null): void {
    if (this.stage === stage && this.error === error) return;
    this.stage = stage;
    this.error = error;
    this.tell<"stage">({ type: "stage", stage, error });
  }

  private lag(): number | null {
    if (!this.isReady) return null;
    const oldest = this.pair?.oldest;
    return oldest === undefined ? 0 : Math.max(0, this.given.clock() - oldest);
  }

  private halt(reason: unknown): void {
    this.control.abort(reason);
    this.wake.abort();
  }

  private stopped(): TabStoreError {
    return this.given.host.error("Closed", "The job has been stopped.");
  }

  private get isHalted(): boolean {
    return this.control.signal.aborted;
  }

  /** The whole life of the job. Never rejects. */
  private async run(): Promise<void> {
    let release: Release | undefined;
    try {
      release = await this.turn();
      await this.work();
    } catch (error) {
      this.end(error);
    } finally {
      release?.();
    }
  }

  private end(error: unknown): void {
    const { signal } = this.control;
    const isStop = signal.aborted;
    const reason = isStop ? signal.reason : error instanceof OutsideWindow ? error.error : error;
    const failure = reason === STOPPED ? this.stopped() : reason;
    try {
      if (isStop) this.enter("stopped");
      else this.enter("failed", failure instanceof Error ? failure : new Error(String(failure), { cause: failure }));
    } finally {
      this.copied.reject(failure);
      for (const { deferred } of this.waiters.splice(0)) deferred.reject(failure);
      if (isStop) this.ended.resolve();
      else this.ended.reject(failure);
    }
  }

  /** Waits until no other job of this name runs. */
  private async turn(): Promise<Release> {
    const { to, name } = this.given;
    const turn = turnOf(to, `sync/${name}`);
    try {
      return await new Promise((resolve, reject) => {
        const off = whenAborted(this.control.signal, () => reject(STOPPED));
        turn.finally(off).then(resolve, reject);
      });
    } catch (error) {
      // The turn may come later all the same.
      void turn.then(
        (release) => release(),
        () => {},
      );
      throw error;
    }
  }

  private async work(): Promise<void> {
    await this.attempt("preparing", async () => (this.pair = await this.begin(false)));
    for (;;) {
      try {
        await this.round();
      } catch (error) {
        if (!isExpired(error)) throw error;
        this.isReady = false;
        await this.attempt("recopying", async () => (this.pair = await this.begin(true)), error as TabStoreError);
      }
    }
  }

  /** Copies a stretch, carries over what has changed, or waits for a change. */
  private async round(): Promise<void> {
    const pair = this.pair!;
    const stage = pair.isCopying ? (pair.isAgain ? "recopying" : "copying") : "following";
    if (pair.isCopying) await this.attempt(stage, () => pair.copy());
    for (const waiter of this.waiters) waiter.isBehind = true;
    do await this.attempt(stage, () => pair.follow());
    while (pair.isBehind);
    this.given.onProgress?.(this.status());
    if (pair.isCopying || !pair.isCaughtUp) return;
    this.isReady = true;
    this.copied.resolve();
    for (const waiter of this.waiters) if (waiter.isBehind) waiter.deferred.resolve();
    this.waiters = this.waiters.filter(({ isBehind }) => !isBehind);
    if (this.waiters.length === 0) await this.attempt("following", () => this.await(pair));
  }

  /** Waits until there may be changes. */
  private async await({ feeds }: TablePair): Promise<void> {
    this.wake = new AbortController();
    if (this.isHalted) throw STOPPED;
    // Called while `wake` was that of an earlier wait.
    if (this.waiters.length > 0) return;
    const { wake } = this;
    const waits = feeds.map((feed) => feed.wait(wake.signal));
    try {
      await Promise.race(waits);
    } catch (error) {
      // Broken off by `caughtUp`, or by the end.
      if (!wake.signal.aborted) throw error;
    } finally {
      wake.abort();
      await Promise.allSettled(waits);
    }
  }

  /** Does a step until it succeeds, fails for good, or the job is stopped. */
  private async attempt<T>(stage: SyncStage, step: () => Promise<T>, because: SyncStatus["error"] = null): Promise<T> {
    this.enter(stage, because);
    for (let tries = 0; ; tries++) {
      if (this.isHalted) throw STOPPED;
      try {
        const done = await step();
        if (tries > 0) this.enter(stage);
        return done;
      } catch (error) {
        const cause = error instanceof OutsideWindow ? error.error : error;
        if (this.isHalted || !(error instanceof OutsideWindow || mayPass(error))) throw error;
        this.retries += 1;
        this.enter("waiting", cause as TabStoreError);
        this.given.onProgress?.(this.status());
        const { minDelay, maxDelay } = this.given;
        await this.pause((Math.min(maxDelay, minDelay * 2 ** Math.min(tries, 40)) * (1 + Math.random())) / 2);
      }
    }
  }

  private pause(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        off();
        resolve();
      }, delay);
      const off = whenAborted(this.control.signal, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Looks at the tables and at the stored place, from which the work goes on. `isAgain`: everything is to be copied again. */
  private async begin(isAgain: boolean): Promise<TablePair> {
    const { from, to, tableName, direction, name, outsideWindow, clock } = this.given;
    const { signal } = this.control;
    const tables = await prepare(this.given, signal);
    const sideOf = (db: Database, table: typeof tables.from): Side =>
      new Side(
        db,
        table,
        outsideWindow === "skip",
        clock,
        (reason, primaryKey, { name: column, version }) => {
          this.notKept[reason] += 1;
          this.tell<"notKept">({ type: "notKept", reason, database: db.name, primaryKey, column, version });
        },
        signal,
      );
    const sides = [sideOf(from, tables.from), sideOf(to, tables.to)] as const;
    const isBoth = direction === "both";
    if (outsideWindow === "raise") for (const side of isBoth ? sides : [sides[1]]) await side.raise();
    const checkpoint = new Checkpoint(to, name, this.owner, this.given.host, signal);
    const made = [tables.from.creationTime, tables.to.creationTime] as const;
    const mayReplace = !isBoth && this.given.replace;
    const stored = await checkpoint.take((place) => {
      if (place.made[0] !== made[0] && !mayReplace) throw this.foreign();
    });
    const goesOn = !isAgain && stored !== undefined && stored.direction === direction && stored.made.join() === made.join();
    if (!goesOn && !isAgain && !isBoth && !mayReplace && !(await sides[1].isEmpty())) throw this.occupied();
    const databases = isBoth ? [from, to] : [from];
    const place = goesOn ? stored : { direction, made, cursor: "", again: isAgain, rowsCopied: 0, ...(await this.placesOf(databases)) };
    const feeds = databases.map((db, i) => new Feed(db, tableName, tables.from.primaryKey, place.tokens[i], place.own[i], clock, signal));
    this.counts.rowsCopied = place.rowsCopied;
    const pair = new TablePair(sides[0], sides[1], feeds as [Feed], checkpoint, place, this.counts, isBoth ? await this.rules() : undefined);
    if (!goesOn) await pair.store();
    return pair;
  }

  private async rules(): Promise<Both> {
    try {
      return await import("./both.js");
    } catch (cause) {
      // It is tried again.
      throw this.given.host.error("Unavailable", `The code of a job that goes both ways cannot be loaded: ${String(cause)}`, undefined, { retryable: true });
    }
  }

  /** Where the streams are read from when the copy begins: those that had not expired go on. */
  private async placesOf(databases: readonly Database[]): Promise<Pick<Place, "tokens" | "own">> {
    const kept = databases.map((_, i) => this.pair?.feeds[i]).map((feed) => (feed?.isExpired ? undefined : feed));
    const tokens = databases.map((db, i) => kept[i]?.place ?? latest(db, this.given.tableName, this.control.signal));
    return { tokens: await Promise.all(tokens), own: kept.map((feed) => feed?.own ?? []) };
  }

  private foreign(): TabStoreError {
    const { host, from, name, direction } = this.given;
    return host.error(
      "OTSObjectAlreadyExist",
      `The place of the job '${name}' is that of another table than the one of '${from.name}': of another device, or from before it was made again.`,
      `Give the job a 'name' of its own${direction === "both" ? "" : ", or replace: true"}.`,
    );
  }

  private occupied(): TabStoreError {
    const { host, from, to, tableName } = this.given;
    return host.error(
      "OTSObjectAlreadyExist",
      `The table '${tableName}' of '${to.name}' has rows that do not come from the table of '${from.name}'.`,
      'Give replace: true to delete those that the source does not have, or direction: "both" to unite the two tables.',
    );
  }
}
