/** A chart with its legend, its units and, for those who read it, a table with the same facts. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";

import { theme } from "../state/theme.ts";
import { type Axis, dashOf, INKS, type Line, makePlot, plotData } from "./plot.ts";

/** The props of a chart. */
export interface ChartProps {
  readonly title: string;
  /** What its values are, with their unit. */
  readonly unit: string;
  readonly x: readonly number[];
  readonly lines: readonly Line[];
  readonly axis: Axis;
  /** What the axis below it is, with its unit; and in few words, for the table. */
  readonly across: string;
  readonly heading: string;
  /** How a value is written. */
  readonly format: (value: number) => string;
  /** How a place is written in the table, in full. */
  readonly place: (x: number) => string;
  /** Stands beside the title. */
  readonly children?: ComponentChildren;
}

const NOTHING = "–";

function written(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? NOTHING : format(value);
}

/** The dashes and the colour of a line. */
function Swatch({ ink, look }: Pick<Line, "ink" | "look">) {
  const dash = look === "step" ? "5 4" : dashOf(ink).join(" ");
  return (
    <svg class={`swatch ink-${ink % INKS}`} viewBox="0 0 22 12" width="22" height="12" aria-hidden="true">
      {look === "bar" ? (
        <rect x="5" y="0" width="12" height="12" rx="2" fill="currentColor" />
      ) : (
        <line x1="0" y1="6" x2="22" y2="6" stroke="currentColor" stroke-width="2.5" stroke-dasharray={dash || undefined} />
      )}
    </svg>
  );
}

/** Redraws in other colours when the page has them. */
function useColours(plot: { readonly current: uPlot | undefined }): void {
  const chosen = theme.value;
  useEffect(() => {
    // The paths of bars keep their colours, so they are made anew.
    const redraw = () => plot.current?.redraw(true);
    redraw();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", redraw);
    return () => dark.removeEventListener("change", redraw);
  }, [chosen]);
}

interface DrawnProps extends Pick<ChartProps, "x" | "lines" | "axis"> {
  /** What it shows, for those who do not see it. */
  readonly label: string;
  readonly legend: { readonly current: HTMLElement | null };
  readonly onPoint: (place: number | null) => void;
}

function Drawn({ x, lines, axis, label, legend, onPoint }: DrawnProps) {
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shape = lines.map((line) => `${line.label} ${line.look}`).join("|");
  useLayoutEffect(() => {
    if (host.current === null) return undefined;
    const swatches = () => [...(legend.current?.querySelectorAll(".swatch") ?? [])];
    const made = makePlot({ host: host.current, lines, axis, swatches, onPoint });
    plot.current = made;
    return () => {
      plot.current = undefined;
      made.destroy();
    };
  }, [shape]);
  useLayoutEffect(() => plot.current?.setData(plotData(x, lines)), [x, lines, shape]);
  useColours(plot);
  return <div ref={host} class="plot" role="img" aria-label={label} />;
}

function Facts({ title, heading, x, lines, format, place }: ChartProps) {
  const rows = x.map((at, i) => ({ at, i })).filter(({ i }) => lines.some(({ values }) => values[i] !== null));
  return (
    <div class="grid-scroll chart-table" tabIndex={0} role="region" aria-label={`${title} as a table`}>
      <table class="grid">
        <thead>
          <tr>
            <th scope="col">{heading}</th>
            {lines.map(({ label }) => (
              <th key={label} scope="col" class="right">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.toReversed().map(({ at, i }) => (
            <tr key={at}>
              <th scope="row">{place(at)}</th>
              {lines.map(({ label, values }) => (
                <td key={label} class="right">
                  {written(values[i], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The chart. */
export function Chart(props: ChartProps) {
  const { title, unit, x, lines, axis, across, format, place, children } = props;
  const [point, setPoint] = useState<number | null>(null);
  const [open, setOpen] = useState(false);
  const legend = useRef<HTMLUListElement>(null);
  const at = point !== null && point < x.length ? point : x.length - 1;
  const isAt = x[at];
  return (
    <figure class="figure">
      <figcaption class="chart-head">
        <h3>{title}</h3>
        {children}
      </figcaption>
      <p class="chart-unit">
        <span>{unit}</span>
        <span class="faint push">{isAt === undefined ? "" : place(isAt)}</span>
      </p>
      <Drawn x={x} lines={lines} axis={axis} legend={legend} onPoint={setPoint} label={`Chart: ${title}, ${unit}. The table below it has the same figures.`} />
      <p class="chart-across">{across}</p>
      <ul class="chart-legend" ref={legend} aria-label={`${title}: lines and their values`}>
        {lines.map(({ label, ink, look, values }) => (
          <li key={label}>
            <Swatch ink={ink} look={look} /> {label} <b>{written(values[at], format)}</b>
          </li>
        ))}
      </ul>
      <div>
        <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {title} as a table
        </button>
      </div>
      {open && <Facts {...props} />}
    </figure>
  );
}
