/** The public types of `tabstore/sync`. */

import type { Database, PrimaryKey, TabStoreError } from "../index.js";

/**
 * Which way rows go. `"to"`: the table of `to` becomes, and stays, a copy of the one of `from`. `"both"`: what changes on either side
 * changes on the other.
 */
export type SyncDirection = "to" | "both";

/**
 * What a job does. `"queued"`: another job of this name runs, here or in another tab, and this one goes on when that one ends.
 * `"preparing"`: it looks at both tables and makes what is missing. `"copying"`: it copies the rows that are there. `"recopying"`: the
 * same again, because changes that it had not read have expired. `"following"`: it carries over what changes. `"waiting"`: a call has
 * failed that may succeed later ({@link SyncStatus.error}); it is tried again. `"stopped"`: by `stop` or its signal. `"failed"`: by an
 * error that does not pass.
 */
export type SyncStage = "queued" | "preparing" | "copying" | "recopying" | "following" | "waiting" | "stopped" | "failed";

/** Why a side does not keep a value that the other one has: the option of its table that stands against it. */
export type SyncLossReason = "maxVersions" | "timeToLive" | "maxVersionOffset";

/** How a job tries again after a failure that may pass. */
export interface SyncRetry {
  /** Milliseconds before the first try; default 100. Each further wait is twice as long. */
  readonly minDelay?: number | undefined;
  /** The longest wait in milliseconds; default 30,000. */
  readonly maxDelay?: number | undefined;
}

/** The parameters of {@link syncTable}. */
export interface SyncOptions {
  /** The database with the table. Its stream is enabled, for 168 hours, if it has none. */
  readonly from: Database;
  /** The other database. The job keeps its place there, in the table `__tabstore_sync`. */
  readonly to: Database;
  /** The table. It must be in `from`; in `to` it is made if it is missing. */
  readonly tableName: string;
  /** Which way rows go; default `"to"`. */
  readonly direction?: SyncDirection | undefined;
  /**
   * The name under which the job keeps its place; default: the name of `from`, `/`, and the table. Jobs of one name take turns. Where several
   * devices have one `to`, give each a name of its own: the place of another device's table is refused.
   */
  readonly name?: string | undefined;
  /**
   * Whether a first copy in the direction `"to"` may delete rows of the target that the source does not have. Default `false`: a target
   * with rows is refused.
   */
  readonly replace?: boolean | undefined;
  /**
   * What to do with a value whose version the table's `maxVersionOffset` refuses, because it is too old or too new by the store's clock.
   * `"retry"` (the default): the job waits, says so, and tries again, until the clock or the option has changed. `"skip"`: the value is
   * left out and told by a `notKept` event. `"raise"`: when it begins, the job raises the option of each table that it writes to, so that
   * any version fits.
   */
  readonly outsideWindow?: "retry" | "skip" | "raise" | undefined;
  /** When to try again. */
  readonly retry?: SyncRetry | undefined;
  /** The clock for {@link SyncStatus.lagMs} and for what has expired, in milliseconds since 1970 UTC; default `Date.now`. */
  readonly clock?: (() => number) | undefined;
  /** Stops the job, as `stop` does; `ready` then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each step. If it throws, the job ends with that error. */
  readonly onProgress?: ((status: SyncStatus) => void) | undefined;
}

/** How far a job is. */
export interface SyncStatus {
  /** What it does. */
  readonly stage: SyncStage;
  /** Rows of `from` that the copy has passed, also before a restart. */
  readonly rowsCopied: number;
  /** Changes that were read from streams since the job was started, without those that the job itself has made. */
  readonly changesRead: number;
  /** Rows that were written since the job was started, on both sides. */
  readonly rowsWritten: number;
  /** Values that both sides had changed, of which one side's was taken, since the job was started. */
  readonly conflicts: number;
  /** Values that could not be kept since the job was started, by the option that stands against them. */
  readonly notKept: Readonly<Record<SyncLossReason, number>>;
  /** Failures after which it has tried again. */
  readonly retries: number;
  /**
   * How old the oldest change is that it has read and not carried over yet, in milliseconds; 0 if there is none. `null` before the copy is
   * done. It compares the job's clock with those of the stores.
   */
  readonly lagMs: number | null;
  /** The last error; `null` once a step has succeeded. */
  readonly error: TabStoreError | Error | null;
}

/** A change of the stage. */
export interface SyncStageEvent {
  /** The kind of event. */
  readonly type: "stage";
  /** The new stage. */
  readonly stage: SyncStage;
  /** Why, if it waits, copies again or has failed. */
  readonly error: TabStoreError | Error | null;
}

/** A value that a side does not keep. */
export interface SyncLossEvent {
  /** The kind of event. */
  readonly type: "notKept";
  /** The option that stands against it. */
  readonly reason: SyncLossReason;
  /** The name of the database that does not keep it. */
  readonly database: string;
  /** Its row. */
  readonly primaryKey: PrimaryKey;
  /** Its column. */
  readonly column: string;
  /** Its version, in milliseconds since 1970 UTC. */
  readonly version: number;
}

/** The events of a {@link SyncJob}, by name. */
export interface SyncEvents {
  /** The job does something else. */
  stage: SyncStageEvent;
  /** A value is not kept. It may come again when its row is written again. */
  notKept: SyncLossEvent;
}

/** A job that copies a table. It runs until it is stopped or fails. */
export interface SyncJob {
  /**
   * Resolves when the copy is done, and what had changed meanwhile is carried over. Rejects with the error that ended the job before. You
   * need not handle it: `done` tells the same.
   */
  readonly ready: Promise<void>;
  /** Resolves when the job was stopped; rejects with the error that ended it. You need not handle it: the stage is `"failed"` then. */
  readonly done: Promise<void>;
  /** How far it is. */
  status(): SyncStatus;
  /** Resolves when all that was stored on the source (or on both sides) before this call is carried over. Rejects if the job ends before. */
  caughtUp(): Promise<void>;
  /** Ends the job behind the calls that are under way. The next one of its name goes on from its place. Never rejects. */
  stop(): Promise<void>;
  /** Calls a listener at each event of a kind, until it is taken off or the signal aborts. */
  addEventListener<K extends keyof SyncEvents>(
    type: K,
    listener: (event: SyncEvents[K]) => void,
    options?: { readonly once?: boolean | undefined; readonly signal?: AbortSignal | undefined },
  ): void;
  /** Takes a listener off. */
  removeEventListener<K extends keyof SyncEvents>(type: K, listener: (event: SyncEvents[K]) => void): void;
}
