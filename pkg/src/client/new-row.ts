/** What a writer has to know of a row beside its encoded bytes. */

import { isAutoIncrement } from "../codec/value.js";
import type { NewRow } from "../types/writer.js";

/**
 * The most that a cell may count beyond its encoded bytes and its name: an integer counts 8 bytes, and may be encoded in
 * 1. So does a given version [R8].
 */
const CELL_MARGIN = 8;

/** Whether the store assigns a part of the key, so no other row has it. */
export function isGiven(key: NewRow["primaryKey"]): boolean {
  return Object.values(key).some(isAutoIncrement);
}

/** The size of a row's column names, which the encoding does not show. */
export function namesOf(row: NewRow): number {
  let size = 0;
  for (const name in row.primaryKey) size += name.length + CELL_MARGIN;
  for (const name in row.attributes) {
    const value = row.attributes[name];
    if (typeof value === "object" && Array.isArray(value)) size += value.length * (name.length + 2 * CELL_MARGIN);
    else size += name.length + CELL_MARGIN;
  }
  return size;
}
