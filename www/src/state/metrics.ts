/** The inside of the engine, read again and again while somebody looks. */

import { batch, signal } from "@preact/signals";
import type { Database, Metrics, StorageInfo } from "tabstore";

import { type WritesAt, writesInLastSecond } from "../lib/figures.ts";
import { logged } from "./calls.ts";
import { settle } from "./health.ts";
import { navigate, route } from "./route.ts";
import { database, session } from "./session.ts";
import { rowsChanged } from "./tables.ts";

/** How often to read. */
const PERIOD_MS = 250;
/** How often while rows come in: so often that a memtable is seen to fill. */
const BUSY_PERIOD_MS = 60;
/** How often to ask for the space used, which changes slowly. */
const STORAGE_PERIOD_MS = 1000;
/** Readings that lie further apart say nothing of the last second: the page was hidden meanwhile. */
const GAP_MS = 2000;
/** Rates kept for the curve: one minute. */
export const RATES_KEPT = 60_000 / PERIOD_MS;

/** The newest reading. */
export const metrics = signal<Metrics | undefined>(undefined);
/** The writes of the second before each of the instants that the curve shows, oldest first. */
export const writeRates = signal<readonly number[]>([]);
/** The writes of the last second; `undefined` until a second has been watched. */
export const writeRate = signal<number | undefined>(undefined);
/** The space of the instance and of its origin. */
export const storage = signal<StorageInfo | undefined>(undefined);

/** The readings of the last second, and the one before them. */
let recent: readonly WritesAt[] = [];
let storageAt = Number.NEGATIVE_INFINITY;
/** When the last rate was kept for the curve. */
let rateAt = Number.NEGATIVE_INFINITY;

function remember(reading: Metrics): void {
  const at = performance.now();
  if (at - (recent.at(-1)?.at ?? at) > GAP_MS) recent = [];
  recent = [...recent, { at, writes: reading.work.writes, epoch: reading.epoch }];
  recent = recent.slice(
    Math.max(
      0,
      recent.findLastIndex((one) => one.at <= at - 1000),
    ),
  );
  const rate = writesInLastSecond(recent);
  batch(() => {
    writeRate.value = rate;
    if (rate !== undefined && at - rateAt >= PERIOD_MS) {
      rateAt = at;
      writeRates.value = [...writeRates.value.slice(1 - RATES_KEPT), rate];
    }
    metrics.value = reading;
  });
  settle(reading);
  followClock(reading.now);
}

/** The address has the time of an injected clock, so that a reload finds the same time. Any tab can move the clock. */
function followClock(now: number): void {
  const place = route.peek();
  if (place.clock === undefined || place.clock === now) return;
  navigate({ ...place, clock: now }, true);
  // Other rows may have expired now, or be back.
  rowsChanged.value += 1;
}

/** Reads the space of an instance. */
async function readStorage(db: Database): Promise<void> {
  storageAt = performance.now();
  const read = await db.storage();
  if (isOpen(db)) storage.value = read;
}

function isOpen(db: Database): boolean {
  return session.value.state === "open" && session.value.db === db;
}

/** Reads now. */
export async function readMetrics(): Promise<void> {
  if (session.value.state !== "open") return;
  const db = database();
  try {
    const storageDue = performance.now() - storageAt >= STORAGE_PERIOD_MS;
    const [reading] = await Promise.all([db.metrics(), storageDue ? readStorage(db) : undefined]);
    if (isOpen(db)) remember(reading);
  } catch {
    // A closed or failed engine has nothing to tell; the session says so elsewhere.
  }
}

/** Asks the browser to keep this origin's data, and gives its answer. */
export async function askToKeep(): Promise<boolean> {
  const db = database();
  const kept = await logged("Persist", location.host, () => db.persist());
  await readStorage(db);
  return kept;
}

/** Reads while the page is visible, until the returned function is called. */
export function watchMetrics(): () => void {
  recent = [];
  storageAt = Number.NEGATIVE_INFINITY;
  metrics.value = undefined;
  storage.value = undefined;
  writeRate.value = undefined;
  writeRates.value = [];
  let timer = 0;
  let stopped = false;
  const turn = async () => {
    if (!document.hidden) await readMetrics();
    const [before, last] = recent.slice(-2);
    const busy = last !== undefined && before?.writes !== last.writes;
    if (!stopped) timer = window.setTimeout(() => void turn(), busy ? BUSY_PERIOD_MS : PERIOD_MS);
  };
  void turn();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
