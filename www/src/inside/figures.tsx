/** Amplification: the figures with their formulas, and what goes into them now. */

import type { StoreDescription, TreeDescription } from "tabstore";

import { figures } from "../lib/inside.ts";
import { metrics } from "../state/metrics.ts";

/** The figures. */
export function Figures({ reading, tree }: { readonly reading: StoreDescription; readonly tree: TreeDescription | undefined }) {
  const engine = metrics.value;
  if (engine === undefined) return null;
  return (
    <section class="inside-figures" aria-label="Amplification">
      {figures(tree, reading.memtables.length, engine).map(({ label, value, awaited, formula, operands }) => (
        <div key={label} class="figure">
          <h2>{label}</h2>
          <p class="figure-value">
            {value === undefined ? (
              <span class="faint">{awaited ?? "–"}</span>
            ) : (
              <data value={value}>{Number.isInteger(value) ? value : value.toFixed(2)}</data>
            )}
          </p>
          <p class="hint">
            {operands}
            <br />
            {formula}
          </p>
        </div>
      ))}
    </section>
  );
}
