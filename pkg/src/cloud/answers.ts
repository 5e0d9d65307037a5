/** Parts of answers about rows, as callers get them. */

import type { Consumed } from "../types/data.js";
import type { Row } from "../types/row.js";
import type { Connection } from "./connection.js";
import { ofWrite } from "./errors.js";
import type { RowAnswer } from "./messages.js";
import { readRows } from "./plain-buffer.js";
import type { Fields } from "./protobuf.js";
import { CloudRow } from "./row.js";

/** Capacity units for the caller. */
export const consumedOf = (consumed: Fields<typeof RowAnswer>["consumed"]): Consumed => ({
  read: Number(consumed?.units?.read ?? 0),
  write: Number(consumed?.units?.write ?? 0),
});

/** The row of an answer, if it has one. */
export function rowOf(bytes: Uint8Array | undefined, { bigints }: Connection): Row | null {
  const [row] = readRows(bytes);
  return row === undefined ? null : new CloudRow(row, bigints);
}

/** {@link rowOf}, of a write that was done. */
export function writtenRow(bytes: Uint8Array | undefined, connection: Connection): Row | null {
  try {
    return rowOf(bytes, connection);
  } catch (error) {
    throw ofWrite(error);
  }
}
