/** What is drawn of calls and of capacity units: plain functions of the results of `metrics` and `computeConsumed`. */

import type { ConsumedPeriod, Metrics, Prices, RowOperation } from "tabstore";

/** The figures of all operations at an instant. */
export interface Sample {
  /** Seconds of this page's clock, which only goes forward. */
  readonly at: number;
  /** The engine that counted: each counts from its beginning. */
  readonly epoch: number;
  readonly operations: Metrics["operations"];
}

/** Samples are kept for two minutes. */
export const KEPT_SECONDS = 120;
/** Samples that lie further apart have nothing between them: the page was hidden. */
const GAP_SECONDS = 3;

/** Adds a sample, and forgets those that are too old. */
export function withSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples.filter(({ at }) => at >= sample.at - KEPT_SECONDS), sample];
}

/** The operations that somebody has asked for, in the order of the engine. */
export function askedOperations(operations: Metrics["operations"]): readonly RowOperation[] {
  return (Object.keys(operations) as RowOperation[]).filter((name) => operations[name].requests > 0);
}

/** The operation with the most requests. */
export function busiest(operations: Metrics["operations"]): RowOperation | undefined {
  return askedOperations(operations).reduce<RowOperation | undefined>(
    (most, one) => (most === undefined || operations[one].requests > operations[most].requests ? one : most),
    undefined,
  );
}

/** Points of a chart over time; `null` is a gap. */
export interface Track<Value> {
  /** Seconds before the newest sample: 0 or below. */
  readonly x: readonly number[];
  readonly values: readonly (Value | null)[];
}

/** A value for each sample and the one before it, with a gap where the page was hidden. */
export function track<Value>(samples: readonly Sample[], of: (sample: Sample, before: Sample | undefined) => Value | null): Track<Value> {
  const now = samples.at(-1)?.at ?? 0;
  const [x, values]: [number[], (Value | null)[]] = [[], []];
  samples.forEach((sample, i) => {
    const last = samples[i - 1];
    const far = last !== undefined && sample.at - last.at > GAP_SECONDS;
    if (far) {
      x.push((last.at + sample.at) / 2 - now);
      values.push(null);
    }
    x.push(sample.at - now);
    values.push(of(sample, far ? undefined : last));
  });
  return { x, values };
}

/** The failed requests of an operation a second, between two samples; `null` if they say nothing of each other. */
export function errorsPerSecond(name: RowOperation, sample: Sample, before: Sample | undefined): number | null {
  if (before === undefined || before.epoch !== sample.epoch || sample.at <= before.at) return null;
  return (sample.operations[name].errors - before.operations[name].errors) / (sample.at - before.at);
}

const NONE = { read: 0, write: 0 };

/**
 * All periods of a stretch of time, the oldest first: the meter leaves out those in which nothing was reserved or used. All are
 * milliseconds; `from` and `to` (included) lie anywhere in their periods.
 */
export function everyPeriod(periods: readonly ConsumedPeriod[], from: number, to: number, length: number): readonly ConsumedPeriod[] {
  const known = new Map(periods.map((one) => [one.start, one]));
  const first = Math.floor(from / length);
  return Array.from({ length: Math.max(0, Math.floor(to / length) - first + 1) }, (_, i) => {
    const start = (first + i) * length;
    return known.get(start) ?? { start, reserved: NONE, onDemand: NONE, consumed: NONE, cost: 0 };
  });
}

const MONTH_MS = 30 * 86_400_000;

/**
 * The cost of 30 days if all of them were like these periods, each `length` milliseconds long. The last one still runs, and is left
 * out; `undefined` if there is no other.
 */
export function monthLike(periods: readonly ConsumedPeriod[], length: number): number | undefined {
  const whole = periods.slice(0, -1);
  if (whole.length === 0) return undefined;
  return (whole.reduce((sum, { cost }) => sum + cost, 0) / whole.length) * (MONTH_MS / length);
}

/** Prices as they are typed, in the order of the fields. An empty text is the price with which the instance was opened. */
export interface TypedPrices {
  readonly reservedRead: string;
  readonly reservedWrite: string;
  readonly onDemandRead: string;
  readonly onDemandWrite: string;
}

/** The price that a text says: `undefined` for none, `NaN` for nonsense. A comma is a point to many people. */
export function parsePrice(text: string): number | undefined {
  const trimmed = text.trim().replace(",", ".");
  if (trimmed === "") return undefined;
  return /^(?:\d+(?:\.\d*)?|\.\d+)$/.test(trimmed) ? Number(trimmed) : Number.NaN;
}

/** The typed prices, as far as they are prices. */
export function pricesOf(typed: TypedPrices): Prices {
  const pair = (read: string, write: string) => {
    const prices = { read: parsePrice(read), write: parsePrice(write) };
    return Object.fromEntries(Object.entries(prices).filter(([, price]) => price !== undefined && !Number.isNaN(price)));
  };
  return { reserved: pair(typed.reservedRead, typed.reservedWrite), onDemand: pair(typed.onDemandRead, typed.onDemandWrite) };
}
