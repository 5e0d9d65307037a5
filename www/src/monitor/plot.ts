/** One chart on a canvas, by uPlot. Colours come from the elements of its legend, so that the page's styles say them once. */

import "./language.ts";

import uPlot from "uplot";

/** The values of a line are `null` where there are none. */
export type Values = readonly (number | null)[];

/** A line of a chart, or one part of its bars. */
export interface Line {
  readonly label: string;
  /** The number of its colour and of its dashes. */
  readonly ink: number;
  /** What is told of it. */
  readonly values: Values;
  /** What is drawn, if it is not that: the upper end of a part that stands on others. */
  readonly drawn?: Values | undefined;
  readonly look: "line" | "step" | "bar";
}

/** The dashes of lines: none, long ones, dots. */
const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3]];
/** Colours of lines; the styles have them by number. */
export const INKS = 6;
/** The dashes of an ink: after the last colour the first one comes again, with other dashes. */
export const dashOf = (ink: number): readonly number[] => DASHES[Math.floor(ink / INKS) % DASHES.length] ?? [];

/** The axis below a chart. */
export interface Axis {
  /** How a place on it is written. */
  readonly tick: (x: number) => string;
  /** Possible distances of its ticks, ascending. */
  readonly steps: readonly number[];
  /** The least part of it that is shown, if the values do not reach as far. */
  readonly reach?: readonly [number, number] | undefined;
}

const HEIGHT = 190;
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const NUMBERS = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });

const ink = (element: Element | undefined): string => (element === undefined ? "gray" : getComputedStyle(element).color);

/** What a plot is made of. */
interface PlotOptions {
  readonly host: HTMLElement;
  readonly lines: readonly Line[];
  readonly axis: Axis;
  /** The elements that have the colours of the lines. */
  readonly swatches: () => readonly Element[];
  /** The place that the pointer is at; `null` if it is elsewhere. */
  readonly onPoint: (place: number | null) => void;
}

function series(lines: readonly Line[], swatches: () => readonly Element[]): uPlot.Series[] {
  // The first one is drawn last, above the others.
  return lines.toReversed().map(({ look, ink: number }, i) => {
    const colour = () => ink(swatches()[lines.length - 1 - i]);
    const common = { stroke: colour, points: { show: false } };
    if (look === "bar") return { ...common, width: 0, fill: colour, paths: uPlot.paths.bars!({ size: [0.72, 48] }) };
    const paths = look === "step" ? uPlot.paths.stepped!({ align: 1 }) : uPlot.paths.linear!();
    return { ...common, width: 2, dash: [...(look === "step" ? [5, 4] : dashOf(number))], paths };
  });
}

function axes(host: HTMLElement, { tick, steps }: Axis): uPlot.Axis[] {
  const stroke = () => ink(host);
  const grid = { stroke: () => getComputedStyle(host).borderTopColor, width: 1 };
  const common = { stroke, font: FONT, grid, ticks: { ...grid, size: 4 } };
  return [
    { ...common, incrs: [...steps], space: 64, size: 28, values: (_, splits) => splits.map(tick) },
    { ...common, size: 50, values: (_, splits) => splits.map((value) => NUMBERS.format(value)) },
  ];
}

/** The part of the axis that is shown: all values, with half a bar at each end. There may be none. */
function stretch({ reach }: Axis, from: number | null, to: number | null, half: number): [number, number] {
  const ends = [...(reach ?? []), ...(from === null || to === null ? [] : [from, to])];
  return ends.length === 0 ? [0, 1] : [Math.min(...ends) - half, Math.max(...ends) + half];
}

/** Makes the plot in its host. It follows the width of the host until it is destroyed. */
export function makePlot({ host, lines, axis, swatches, onPoint }: PlotOptions): uPlot {
  const isBars = lines.some(({ look }) => look === "bar");
  const half = isBars ? 0.5 : 0;
  const plot = new uPlot(
    {
      width: Math.max(host.clientWidth, 120),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { show: !isBars } },
      scales: {
        x: { time: false, range: (_, from, to) => stretch(axis, from, to, half) },
        y: { range: (_, __, max) => [0, (max ?? 0) > 0 ? max * 1.08 : 1] },
      },
      axes: axes(host, axis),
      series: [{}, ...series(lines, swatches)],
      hooks: { setCursor: [(self) => onPoint(self.cursor.idx ?? null)] },
    },
    undefined,
    host,
  );
  const observer = new ResizeObserver(() => {
    if (host.clientWidth > 0 && host.clientWidth !== plot.width) plot.setSize({ width: host.clientWidth, height: HEIGHT });
  });
  observer.observe(host);
  plot.hooks.destroy = [...(plot.hooks.destroy ?? []), () => observer.disconnect()];
  return plot;
}

/** The numbers in the order in which {@link makePlot} draws them. */
export function plotData(x: readonly number[], lines: readonly Line[]): uPlot.AlignedData {
  return [[...x], ...lines.toReversed().map(({ values, drawn }) => [...(drawn ?? values)])] as unknown as uPlot.AlignedData;
}
