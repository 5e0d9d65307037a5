/** Rows that several tests write. */

import { double } from "../../src/types/double.js";

/** A row with a value of each type, and with two versions of a column. */
export const ROW_OF_EACH_TYPE = {
  primaryKey: { id: "k", at: -1n },
  attributes: {
    i: 300,
    d: 1.5,
    e: double(2),
    y: true,
    n: false,
    s: "ä",
    b: Uint8Array.of(1, 2),
    v: [
      { value: "new", version: 1000 },
      { value: "old", version: 999n },
    ],
  },
} as const;
