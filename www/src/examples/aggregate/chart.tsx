/** A bar chart of totals. It is a table too, for whoever cannot see the bars. */

import type { Totals } from "../../../../examples/aggregate/aggregate.ts";
import { count } from "../../lib/format.ts";

const money = (cents: number): string => (cents / 100).toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** A round number of money at the end of the axis, and the step of its lines. */
function axis(most: number): { readonly end: number; readonly step: number } {
  const size = 10 ** Math.floor(Math.log10(Math.max(1, most)));
  const step = [0.2, 0.5, 1, 2].map((part) => part * size).find((one) => most / one <= 5) ?? size * 2;
  return { end: Math.ceil(most / step) * step, step };
}

/** The chart: a bar for the sum of each group, in the order of their names. */
export function Chart({ totals }: { readonly totals: Totals }) {
  const groups = [...totals].toSorted(([a], [b]) => a.localeCompare(b, "en"));
  const { end, step } = axis(Math.max(...groups.map(([, { sum }]) => sum)) / 100);
  const lines = Array.from({ length: Math.round(end / step) + 1 }, (_, at) => at * step);
  return (
    <table class="chart">
      <thead>
        <tr>
          <th scope="col">City</th>
          <th scope="col" class="right">
            Orders
          </th>
          <th scope="col" class="right">
            Sum, €
          </th>
          <th aria-hidden="true" class="chart-axis">
            {lines.map((line) => (
              <span key={line} style={{ left: `${(line / end) * 100}%` }}>
                {count(line)}
              </span>
            ))}
          </th>
        </tr>
      </thead>
      <tbody>
        {groups.map(([name, { count: orders, sum }]) => (
          <tr key={name}>
            <th scope="row">{name === "" ? "(no name)" : name}</th>
            <td class="right">{count(orders)}</td>
            <td class="right">{money(sum)}</td>
            <td aria-hidden="true" class="chart-plot">
              <svg width="100%" height="100%">
                {lines.map((line) => (
                  <line key={line} x1={`${(line / end) * 100}%`} x2={`${(line / end) * 100}%`} y1="0" y2="100%" />
                ))}
                <rect y="22%" height="56%" rx="3" width="100%" style={{ transform: `scaleX(${Math.max(0, sum / 100 / end)})` }} />
              </svg>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
