/** The events of an open instance. */

import type { TabStoreError } from "./errors.js";
import type { Role } from "./rows.js";

/** A change in the health of an open instance. */
export interface HealthEvent {
  /** The kind of event. */
  readonly type: "health";
  /**
   * `false`: the instance is unusable and must be opened again. `true`: it works, and `error` names a problem. The
   * device's clock has jumped (`ClockJumped`). The origin is full, so writes that add are refused until there is room
   * (`QuotaExceeded`). Compaction has met a damaged record (`Corrupt`) and skips its partition for a while. The index of
   * a segment is damaged (`Corrupt`): no row is lost, and `compact` stores it anew. A secondary index could not be built
   * (`QuotaExceeded`, `Unavailable`, `Corrupt`), which is tried again after a while. The code of compaction cannot be
   * loaded (`Unavailable`): rows are written and read, with more and more work a read, until a later try succeeds. The
   * engine has died, by a trap (`OTSInternalServerError`) or with its worker (`Closed`), and a fresh one is being opened.
   */
  readonly healthy: boolean;
  /**
   * The problem; `null` when a failed index build goes on ({@link IndexDescription.failure}), and when another engine
   * runs after a death. No event reports the end of
   * other problems. For a full origin, `metrics` shows it: `reserve.bytes` is `reserve.capacity` again.
   */
  readonly error: TabStoreError | null;
}

/** What a `leader` listener gets. */
export interface LeaderEvent {
  /** The kind of the event. */
  readonly type: "leader";
  /** The part of this tab from now on. */
  readonly role: Role;
}

/** The events of a {@link Database}, by name. */
export interface DatabaseEvents {
  /**
   * The engine has failed for good, another tab has taken the instance over, or its data was deleted: every later call
   * rejects with the error. It comes without a call. Problems that do not end the instance are reported too
   * (`healthy: true`). The first listener also gets earlier ones.
   */
  health: HealthEvent;
  /** The tab that led the instance has ended, and another tab leads, or this one ({@link Database.role}). */
  leader: LeaderEvent;
}
