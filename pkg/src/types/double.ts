/** Doubles without a fraction. Apart from the other values, because the name of a class keeps it in each bundle that has its module. */

import { shared } from "./named.js";
import { Operand } from "./values.js";

/** A number to store as a Double even without a fraction; made by {@link double}. */
export class Double extends Operand {
  /** The number. */
  readonly value: number;

  /** Wraps a number. */
  constructor(value: number) {
    super();
    this.value = value;
  }
}
shared(Double, "Double");

/**
 * Marks a number as a Double: `3` is stored as an Integer, `double(3)` is not.
 *
 * NaN and infinities are refused when the value is written; the error names the column.
 *
 * @example
 * ```ts
 * await db.putRow({ tableName, primaryKey, attributes: { ratio: double(1), count: 1 } });
 * ```
 */
export function double(value: number): Double {
  return new Double(value);
}
