/**
 * Copies a table between two databases, and keeps the copy up to date: one way, or both ways.
 *
 * This module is the entry `tabstore/sync`. It works on the public interface of two {@link Database}s alone: instances in a browser, in
 * files of Node, or behind a connection.
 *
 * @module
 */

import { Job } from "./job.js";
import { check } from "./options.js";
import type { SyncJob, SyncOptions } from "./types.js";

export type * from "./types.js";

/**
 * Starts a job that copies a table: first the rows that are there, by ranges, then what changes, by the table's stream. All versions and
 * types are kept. It runs until it is stopped, or fails for good. Started again under its name, it goes on where it was.
 *
 * @throws `OTSParameterInvalid` for a wrong argument. All later errors end the job: {@link SyncJob.done} rejects with them.
 * @example
 * ```ts
 * import { syncTable } from "tabstore/sync";
 *
 * const job = syncTable({ from: db, to: other, tableName: "reading" });
 * job.addEventListener("stage", ({ stage, error }) => console.log(stage, error));
 * await job.ready;                                    // all rows are there
 * await db.putRow({ tableName: "reading", primaryKey: { station: "SEA", at: 9 }, attributes: { wet: true } });
 * await job.caughtUp();                               // and this one
 * await job.stop();
 * ```
 */
export function syncTable(options: SyncOptions): SyncJob {
  return new Job(check(options)) as EventTarget as Job & SyncJob;
}
