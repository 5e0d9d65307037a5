/** The arguments of a job, checked and copied. */

import { BesideChecks } from "../beside.js";
import { shown } from "../codec/kinds.js";
import type { Database } from "../index.js";
import type { SyncDirection, SyncOptions, SyncStatus } from "./types.js";

const OPTIONS = ["from", "to", "tableName", "direction", "name", "replace", "outsideWindow", "retry", "clock", "signal", "onProgress"];

/** The arguments, with their defaults. */
export interface Given {
  /** The errors of the entry that has opened `from`. */
  readonly host: BesideChecks;
  readonly from: Database;
  readonly to: Database;
  readonly tableName: string;
  readonly direction: SyncDirection;
  readonly name: string;
  readonly replace: boolean;
  readonly outsideWindow: "retry" | "skip" | "raise";
  readonly minDelay: number;
  readonly maxDelay: number;
  readonly clock: () => number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((status: SyncStatus) => void) | undefined;
}

/** Checks the arguments of `syncTable`. */
export function check(options: SyncOptions): Given {
  const host = new BesideChecks(options?.from, "from");
  const given = host.options(options, OPTIONS, "syncTable");
  const { from, to, tableName, direction = "to", name = `${from.name}/${tableName}`, replace = false, outsideWindow = "retry" } = given;
  const { clock = Date.now, signal, onProgress } = given;
  const need = (isRight: boolean, value: unknown, argument: string, expected: string): void => {
    if (!isRight) throw host.wrong(argument, shown(value), expected);
  };
  need(typeof (to as Partial<Database> | undefined)?.batchWriteRow === "function", to, "to", "an open Database");
  need(from !== to, to, "to", "another database than 'from'");
  host.text(tableName, "tableName");
  need(!tableName.includes("/"), tableName, "tableName", "no Azure table: only tabstore/azure reads their rows");
  host.check(direction, ["to", "both"], "direction");
  host.text(name, "name");
  need(typeof replace === "boolean", replace, "replace", "true or false");
  host.check(outsideWindow, ["retry", "skip", "raise"], "outsideWindow");
  need(typeof clock === "function", clock, "clock", "a function");
  need(typeof (onProgress ?? clock) === "function", onProgress, "onProgress", "a function");
  need(signal === undefined || typeof (signal as AbortSignal | null)?.addEventListener === "function", signal, "signal", "an AbortSignal");
  const { minDelay = 100, maxDelay = 30_000 } = host.options(given.retry, ["minDelay", "maxDelay"], "retry");
  for (const [argument, value] of Object.entries({ minDelay, maxDelay }))
    need(Number.isSafeInteger(value) && value >= 0, value, `retry.${argument}`, "an integer of at least 0");
  return { host, from, to, tableName, direction, name, replace, outsideWindow, minDelay, maxDelay, clock, signal, onProgress };
}
