/** What to do instead of the calls that an instance of the service lacks. Loaded when one of them is refused. */

import type { TabStoreError } from "../types/errors.js";
import { unsupported } from "./errors.js";
import type { Refused } from "./refuse.js";

const ENGINE = "It shows the engine of an instance in this browser. The service has tools of its own for that.";
const KEYS = "The access keys of the service are those of its accounts, which its console manages.";
const CHANGES = "Read the table's changes, and keep the token of the last one: db.changes({ tableName, from: token }).";

const HINTS: Readonly<Record<Refused, string>> = {
  deleteRange: "Scan the keys of the range, and delete them by batchWriteRow, 200 a call.",
  computeStorage: "The service meters tables itself: see its console.",
  computeConsumed: "The service meters units itself: see its console. Each result has those that its call has consumed.",
  createAccessKey: KEYS,
  listAccessKeys: KEYS,
  updateAccessKey: KEYS,
  deleteAccessKey: KEYS,
  consumer: CHANGES,
  listConsumerGroups: CHANGES,
  missing: "Only an instance in this browser is opened with salvage.",
  verify: "It looks for texts that early builds of an instance in this browser damaged.",
  metrics: ENGINE,
  segments: ENGINE,
  segment: ENGINE,
  getStoredRow: ENGINE,
  getWorkEvents: ENGINE,
  workEvents: ENGINE,
  pauseWork: ENGINE,
  resumeWork: ENGINE,
  stepWork: ENGINE,
  storage: "The rows are not in this browser, so they take none of its space.",
  persist: "The rows are not in this browser, so it cannot lose them.",
  compact: "The service removes hidden and expired data by itself.",
  setClock: "The service has its own clock.",
};

/** The error of a call. */
export const refusal = (name: Refused): TabStoreError => unsupported(`db.${name}`, HINTS[name]);

/** The error of what `tabstore/azure` asks for. */
export const azureRefusal = (): TabStoreError => unsupported("The Azure Table service", "Give the Azure SDK the endpoint of the Azure Table service itself.");

/** The error of a read that is to be traced. */
export const traceRefusal = (): TabStoreError => unsupported("The trace of a read", "Only an instance in this browser shows how it reads: leave trace out.");
