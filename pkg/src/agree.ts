/** Compares the options of an opener with those of an engine that runs already. */

import { shown } from "./codec/kinds.js";
import { invalid } from "./errors.js";
import type { Metrics } from "./metrics.js";
import type { Given } from "./options.js";

const DEFAULTS: Given = { durability: "relaxed", limits: "document", salvage: false };

/** Options that metrics tell. They depend on the kind, which is stored. */
const FIGURES: Readonly<Record<string, (metrics: Metrics) => unknown>> = {
  kind: ({ kind }) => kind,
  cacheBytes: ({ cache }) => cache.capacity,
  memtableBytes: ({ memtable }) => memtable.budget,
  reserveBytes: ({ reserve }) => reserve.capacity,
};

function equal(one: unknown, other: unknown): boolean {
  return one === other || (typeof one !== "function" && typeof other !== "function" && String(one) === String(other));
}

function told(value: unknown): string {
  return value === undefined ? "the default" : typeof value === "function" ? "another function" : shown(value);
}

/**
 * Refuses options other than those of the engine. Options that were left out agree with any. `has` are the options with
 * which the engine was opened, and `metrics` asks for its figures.
 */
export async function agree(instance: string, wanted: Given, has: Given, metrics: () => Promise<unknown>): Promise<void> {
  for (const [option, value] of Object.entries(wanted)) {
    if (equal(value, has[option])) continue;
    const real = FIGURES[option]?.((await metrics()) as Metrics) ?? has[option] ?? DEFAULTS[option];
    if (equal(value, real)) continue;
    throw invalid(
      `The argument '${option}' is ${typeof value === "function" ? "a function" : shown(value)}, but the instance '${instance}' is open already, with ${told(real)}.`,
      `Leave '${option}' out to share the open engine as it is, or close it first.`,
    );
  }
}
