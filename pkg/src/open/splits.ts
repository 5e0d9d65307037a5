/** Split points as callers get them. Loaded on first use. */

import { TAG } from "../codec/contract.js";
import { infinityOf } from "../codec/value.js";
import type { RangeKey } from "../types/rows.js";
import type { ComputeSplitPointsBySizeResult, KeyColumn, Split } from "../types/tables.js";
import { INF_MAX, INF_MIN } from "../types/values.js";

/** A slice as the engine tells it: its ends are the values of the key columns, in their order. */
type SplitValues = Omit<Split, "lower" | "upper"> & Record<"lower" | "upper", readonly unknown[]>;

/** The result as the engine tells it. */
export type ToldSplits = Omit<ComputeSplitPointsBySizeResult, "splits"> & { readonly splits: readonly SplitValues[] };

/**
 * An end of a slice with the package's own INF_MIN and INF_MAX, because a port delivers copies, and with the caller's
 * integers.
 */
function endOf(columns: readonly KeyColumn[], values: readonly unknown[], bigints: boolean): RangeKey {
  // Not by assignment: a column may be called `__proto__`.
  return Object.fromEntries(
    values.map((value, i) => {
      const { name } = columns[i];
      if (typeof value === "number" && bigints) return [name, BigInt(value)];
      const infinity = infinityOf(value);
      return [name, infinity === undefined ? value : infinity === TAG.INF_MIN ? INF_MIN : INF_MAX];
    }),
  ) as RangeKey;
}

/** The result with ends of ranges. */
export function resultOf(told: ToldSplits, bigints: boolean): ComputeSplitPointsBySizeResult {
  const end = (values: readonly unknown[]): RangeKey => endOf(told.primaryKey, values, bigints);
  return { ...told, splits: told.splits.map(({ lower, upper, location }) => ({ lower: end(lower), upper: end(upper), location })) };
}
