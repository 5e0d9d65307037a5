/** Readings of calls and capacity units, each second while somebody looks. */

import { batch, computed, signal } from "@preact/signals";
import type { ConsumedPeriod, ConsumedUnits, Database } from "tabstore";

import { everyPeriod, pricesOf, type Sample, type TypedPrices, withSample } from "../lib/monitoring.ts";
import { metrics, readMetrics } from "../state/metrics.ts";
import { route } from "../state/route.ts";
import { session } from "../state/session.ts";

/** Milliseconds of a second. */
export const SECOND_MS = 1000;
/** Milliseconds of an hour. */
export const HOUR_MS = 3_600_000;
/** How often to read. */
const PERIOD_MS = SECOND_MS;
/** How often to read hours, which change slowly. */
const HOURS_PERIOD_MS = 5000;
/** The seconds shown, the running one included. */
const SECONDS_SHOWN = 60;

/** The spans of hours that can be chosen: all that the meter keeps is the longest. */
export const SPANS = { "24": "the last 24 hours", "168": "the last 7 days", "720": "the last 30 days" } as const;
/** One of them: its number of hours. */
export type Span = keyof typeof SPANS;

/** Units by period, and their sum. */
export interface Consumption {
  readonly periods: readonly ConsumedPeriod[];
  readonly total: ConsumedUnits;
}

/** The units of a table in the running hour. */
export interface TableHour {
  readonly tableName: string;
  readonly units: ConsumedUnits;
}

/** The figures of the operations in the last two minutes, the oldest first. */
export const samples = signal<readonly Sample[]>([]);
/** The units of the last seconds of the store's clock. */
export const seconds = signal<Consumption | undefined>(undefined);
/** Those of the hours of {@link span}. */
export const hours = signal<Consumption | undefined>(undefined);
/** Those of each table in the running hour. */
export const tableHours = signal<readonly TableHour[]>([]);
/** Why the units could not be read. */
export const failure = signal<unknown>(undefined);
/** The hours that are shown. */
export const span = signal<Span>("24");
/** The prices as they are typed. */
export const prices = signal<TypedPrices>({ reservedRead: "", reservedWrite: "", onDemandRead: "", onDemandWrite: "" });
/** The table whose units are shown; none: all tables. */
export const shownTable = computed(() => route.value.table);

/** What one watch asks for: it ends when any of that changes. */
interface Watch {
  readonly db: Database;
  readonly tableName: string | undefined;
  stopped: boolean;
  hoursAt: number;
}

function sampled(): void {
  const reading = metrics.peek();
  if (reading === undefined) return;
  samples.value = withSample(samples.peek(), { at: performance.now() / 1000, epoch: reading.epoch, operations: reading.operations });
}

async function readSeconds({ db, tableName }: Watch, now: number): Promise<Consumption> {
  const from = (Math.floor(now / SECOND_MS) - SECONDS_SHOWN + 1) * SECOND_MS;
  const { periods, total } = await db.computeConsumed({ tableName, period: "second", start: from, prices: pricesOf(prices.peek()) });
  return { periods: everyPeriod(periods, from, now, SECOND_MS), total };
}

async function readHours({ db, tableName }: Watch, now: number): Promise<Consumption> {
  const from = (Math.floor(now / HOUR_MS) - Number(span.peek()) + 1) * HOUR_MS;
  const { periods, total } = await db.computeConsumed({ tableName, start: from, prices: pricesOf(prices.peek()) });
  return { periods: everyPeriod(periods, from, now, HOUR_MS), total };
}

async function readTableHours({ db }: Watch, now: number): Promise<readonly TableHour[]> {
  const start = Math.floor(now / HOUR_MS) * HOUR_MS;
  // Other tabs make tables too.
  const names = await db.listTable();
  const read = async (tableName: string) => ({
    tableName,
    units: (await db.computeConsumed({ tableName, start, prices: pricesOf(prices.peek()) })).total,
  });
  // A table may have been deleted since: the others are told.
  const settled = await Promise.allSettled(names.map(read));
  return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

async function read(watch: Watch): Promise<void> {
  await readMetrics();
  const now = metrics.peek()?.now;
  if (watch.stopped || now === undefined) return;
  sampled();
  const isDue = performance.now() - watch.hoursAt >= HOURS_PERIOD_MS;
  if (isDue) watch.hoursAt = performance.now();
  try {
    const [newSeconds, newHours, newTableHours] = await Promise.all([
      readSeconds(watch, now),
      isDue ? readHours(watch, now) : undefined,
      isDue ? readTableHours(watch, now) : undefined,
    ]);
    if (watch.stopped) return;
    batch(() => {
      failure.value = undefined;
      seconds.value = newSeconds;
      if (newHours !== undefined) hours.value = newHours;
      if (newTableHours !== undefined) tableHours.value = newTableHours;
    });
  } catch (error) {
    if (watch.stopped) return;
    batch(() => {
      failure.value = error;
      seconds.value = undefined;
      hours.value = undefined;
    });
  }
}

let sampledDb: Database | undefined;

/** Forgets what was read of another instance. */
function beginWith(db: Database): void {
  if (db === sampledDb) return;
  sampledDb = db;
  samples.value = [];
  seconds.value = undefined;
  hours.value = undefined;
  tableHours.value = [];
}

/** Reads while the page is visible, until the returned function is called. Depends on the choices of the reader. */
export function watchUnits(): (() => void) | undefined {
  const current = session.value;
  const tableName = shownTable.value;
  void [prices.value, span.value];
  if (current.state !== "open") return undefined;
  const watch: Watch = { db: current.db, tableName, stopped: false, hoursAt: Number.NEGATIVE_INFINITY };
  beginWith(current.db);
  let timer = 0;
  let running = false;
  const turn = async () => {
    if (running) return;
    clearTimeout(timer);
    running = true;
    const began = performance.now();
    if (!document.hidden) await read(watch);
    running = false;
    if (!watch.stopped) timer = window.setTimeout(() => void turn(), Math.max(0, PERIOD_MS - (performance.now() - began)));
  };
  // Whoever comes back sees the present at once.
  const onVisible = () => void (document.hidden || turn());
  document.addEventListener("visibilitychange", onVisible);
  void turn();
  return () => {
    watch.stopped = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", onVisible);
  };
}
