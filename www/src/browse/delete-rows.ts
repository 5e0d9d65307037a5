/** Deletes rows that a person has chosen, each only if it still is as it was read. */

import type { Consumed, Database, Row, TabStoreError, TableDescription } from "tabstore";

import { keyOf } from "../lib/keys.ts";
import { conditionOf, isAsRead } from "../lib/row-changes.ts";

/** What became of the rows. */
export interface Deletion {
  readonly deleted: number;
  /** Rows that were changed meanwhile: as they are now. They stay. */
  readonly changed: readonly Row[];
  /** Rows that stay because their deletion failed. */
  readonly failed: readonly { readonly row: Row; readonly error: TabStoreError }[];
  readonly consumed: Consumed;
}

/** Rows of a call: as many keys as a read of them takes [R2], and less than the rows of a batch. */
const MOST_ROWS = 100;

type Batch = Pick<Database, "batchGetRow" | "batchWriteRow">;

/** Deletes up to {@link MOST_ROWS} rows. A row that is gone already counts as deleted. */
async function deletePart(db: Batch, tableName: string, rows: readonly Row[]): Promise<Deletion> {
  const [looked = []] = await db.batchGetRow([{ tableName, primaryKeys: rows.map(keyOf) }]);
  const consumed = { read: 0, write: 0 };
  const changed: Row[] = [];
  const failed: { row: Row; error: TabStoreError }[] = [];
  const same: Row[] = [];
  let deleted = 0;
  rows.forEach((row, at) => {
    const found = looked[at];
    if (found === undefined || !found.ok) {
      if (found !== undefined) failed.push({ row, error: found.error });
      return;
    }
    consumed.read += found.consumed.read;
    if (found.row === null) deleted += 1;
    else if (isAsRead(row, found.row)) same.push(row);
    else changed.push(found.row);
  });
  // The conditions hold between the look and the batch.
  const written =
    same.length === 0 ? [] : await db.batchWriteRow(same.map((row) => ({ tableName, delete: { primaryKey: keyOf(row), condition: conditionOf(row) } })));
  same.forEach((row, at) => {
    const result = written[at];
    if (result?.ok) {
      deleted += 1;
      consumed.write += result.consumed.write;
    } else if (result?.error.code === "OTSConditionCheckFail") changed.push(row);
    else if (result !== undefined) failed.push({ row, error: result.error });
  });
  return { deleted, changed, failed, consumed };
}

/** Deletes the rows, as many calls as it takes. `rows`: with the newest value of each column. */
export async function deleteRows(db: Batch, { tableName }: Pick<TableDescription, "tableName">, rows: readonly Row[]): Promise<Deletion> {
  let all: Deletion = { deleted: 0, changed: [], failed: [], consumed: { read: 0, write: 0 } };
  for (let at = 0; at < rows.length; at += MOST_ROWS) {
    const part = await deletePart(db, tableName, rows.slice(at, at + MOST_ROWS));
    all = {
      deleted: all.deleted + part.deleted,
      changed: [...all.changed, ...part.changed],
      failed: [...all.failed, ...part.failed],
      consumed: { read: all.consumed.read + part.consumed.read, write: all.consumed.write + part.consumed.write },
    };
  }
  return all;
}
