/** The inside of the engine, read again and again while somebody looks. */

import { signal } from "@preact/signals";
import type { Metrics } from "tabstore";

import { database, session } from "./session.ts";

/** What `navigator.storage` says of this origin. */
export interface StorageUse {
  readonly usage: number;
  readonly quota: number;
  /** Whether the browser promised not to evict it. */
  readonly persisted: boolean;
}

/** A reading, and what happened since the one before. */
export interface Reading {
  readonly metrics: Metrics;
  readonly at: number;
}

/** How often to read: more than once a second, so that an import can be watched. */
const PERIOD_MS = 500;
/** Readings kept for the curve: one minute. */
const KEPT = 120;

/** The newest reading. */
export const metrics = signal<Metrics | undefined>(undefined);
/** Writes a second between readings, oldest first. */
export const writeRates = signal<readonly number[]>([]);
/** Space used; `undefined` where the browser does not say. */
export const storageUse = signal<StorageUse | undefined>(undefined);

let previous: Reading | undefined;

function remember(reading: Metrics): void {
  const at = performance.now();
  if (previous !== undefined) {
    const writes = reading.work.writes - previous.metrics.work.writes;
    writeRates.value = [...writeRates.value.slice(1 - KEPT), Math.max(0, (writes * 1000) / (at - previous.at))];
  }
  previous = { metrics: reading, at };
  metrics.value = reading;
}

async function readStorage(): Promise<void> {
  const storage = navigator.storage as StorageManager | undefined;
  if (storage?.estimate === undefined) return;
  const [{ usage = 0, quota = 0 }, persisted] = await Promise.all([storage.estimate(), storage.persisted?.() ?? false]);
  storageUse.value = { usage, quota, persisted };
}

/** Reads now. */
export async function readMetrics(): Promise<void> {
  if (session.value.state !== "open") return;
  const db = database();
  try {
    const [reading] = await Promise.all([db.metrics(), readStorage()]);
    if (session.value.state === "open" && session.value.db === db) remember(reading);
  } catch {
    // A closed or failed engine has nothing to tell; the session says so elsewhere.
  }
}

/** Asks the browser not to evict this origin's data. */
export async function askToKeep(): Promise<void> {
  await navigator.storage.persist();
  await readStorage();
}

/** Reads while the page is visible, until the returned function is called. */
export function watchMetrics(): () => void {
  previous = undefined;
  metrics.value = undefined;
  writeRates.value = [];
  let timer = 0;
  let stopped = false;
  const turn = async () => {
    if (!document.hidden) await readMetrics();
    if (!stopped) timer = window.setTimeout(() => void turn(), PERIOD_MS);
  };
  void turn();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
