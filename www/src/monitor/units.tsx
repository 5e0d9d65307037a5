/** Capacity units by second and by hour, and what they cost [C2] [C3]. */

import { useMemo } from "preact/hooks";
import type { ConsumedPeriod, ReadWrite } from "tabstore";

import { count, instant } from "../lib/format.ts";
import { Chart } from "./chart.tsx";
import type { Axis, Line } from "./plot.ts";
import { HOUR_MS, hours, SECOND_MS, seconds } from "./readings.ts";

type Kind = keyof ReadWrite;

const CLOCK: Axis = { tick: (x) => instant(x * SECOND_MS).slice(11, 19), steps: [1, 5, 10, 15, 30] };
const BY_SECOND = {
  axis: CLOCK,
  across: "Second of the store's clock, UTC",
  heading: "Second, UTC",
  place: (x: number) => instant(x * SECOND_MS).slice(11, 19),
};
const HOURS: Axis = {
  tick: (x) => (x % 24 === 0 ? instant(x * HOUR_MS).slice(5, 10) : instant(x * HOUR_MS).slice(11, 16)),
  steps: [1, 2, 3, 6, 12, 24, 48, 120],
};
const BY_HOUR = { axis: HOURS, across: "Hour of the store's clock, UTC", heading: "Hour, UTC", place: (x: number) => instant(x * HOUR_MS).slice(0, 16) };

const FINE = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 5 });
/** Money, in whatever currency the prices are: small sums keep their digits. */
const MONEY = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 6 });

/** Units: whole ones, or the average of an hour. */
export const units = (value: number): string => (Number.isInteger(value) ? count(value) : FINE.format(value));
const WHOLE_MONEY = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
/** A cost. */
export const cost = (value: number): string => (value < 1 ? MONEY : WHOLE_MONEY).format(value);

/** Within the reserved units, and above them. */
const INK = { reserved: 5, within: 0, onDemand: 2 } as const;

function usedLines(periods: readonly ConsumedPeriod[], kind: Kind): readonly Line[] {
  const values = (of: (one: ConsumedPeriod) => number) => periods.map(of);
  return [
    { label: "Reserved", ink: INK.reserved, values: values(({ reserved }) => reserved[kind]), look: "step" },
    { label: "Used of those", ink: INK.within, values: values(({ consumed, onDemand }) => consumed[kind] - onDemand[kind]), look: "bar" },
    { label: "On-demand", ink: INK.onDemand, values: values(({ onDemand }) => onDemand[kind]), drawn: values(({ consumed }) => consumed[kind]), look: "bar" },
  ];
}

function bothKinds(periods: readonly ConsumedPeriod[], of: (one: ConsumedPeriod) => ReadWrite): readonly Line[] {
  const values = (kind: Kind) => periods.map((one) => of(one)[kind]);
  const sums = periods.map((one) => of(one).read + of(one).write);
  return [
    { label: "Read", ink: 0, values: values("read"), look: "bar" },
    { label: "Write", ink: 1, values: values("write"), drawn: sums, look: "bar" },
  ];
}

function Seconds({ kind, title }: { readonly kind: Kind; readonly title: string }) {
  const shown = seconds.value;
  const drawn = useMemo(() => {
    const periods = shown?.periods ?? [];
    return { x: periods.map(({ start }) => start / SECOND_MS), lines: usedLines(periods, kind) };
  }, [shown, kind]);
  return <Chart title={title} unit={`${kind} capacity units a second`} format={units} {...BY_SECOND} {...drawn} />;
}

/** Both kinds of units, second by second. */
export function SecondCharts() {
  return (
    <div class="charts">
      <Seconds kind="read" title="Read units by second" />
      <Seconds kind="write" title="Write units by second" />
    </div>
  );
}

/** Hour by hour: what was reserved, what was used above it, and the bill. */
export function HourCharts() {
  const shown = hours.value;
  const drawn = useMemo(() => {
    const periods = shown?.periods ?? [];
    const x = periods.map(({ start }) => start / HOUR_MS);
    const bill: Line = { label: "Cost", ink: 0, values: periods.map((one) => one.cost), look: "bar" };
    return {
      reserved: { x, lines: bothKinds(periods, ({ reserved }) => reserved) },
      onDemand: { x, lines: bothKinds(periods, ({ onDemand }) => onDemand) },
      bill: { x, lines: [bill] },
    };
  }, [shown]);
  return (
    <div class="charts">
      <Chart title="Reserved units by hour" unit="units a second, the average of the hour" format={units} {...BY_HOUR} {...drawn.reserved} />
      <Chart title="On-demand units by hour" unit="units above the reserved ones, the sum of the hour" format={units} {...BY_HOUR} {...drawn.onDemand} />
      <Chart title="Bill by hour" unit="cost, in the currency of the prices" format={cost} {...BY_HOUR} {...drawn.bill} />
    </div>
  );
}
