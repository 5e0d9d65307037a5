/** Searches for stored damage. Loaded on first use. */

import { checkArguments } from "../codec/check.js";
import { shown } from "../codec/kinds.js";
import { invalid } from "../types/errors.js";
import type { Database } from "../types/database.js";
import type { DamagedText, VerifyOptions } from "../types/storage.js";
import type { Row } from "../types/row.js";
import { ALL_VERSIONS } from "../client/scan.js";
import { signalOf } from "../client/signals.js";

const OPTIONS = new Set(["texts", "signal"]);

/** Whether a value is a text that holds NULs only. */
function isBlank(value: unknown): value is string {
  return typeof value === "string" && /^\0+$/.test(value);
}

function* damagedIn(tableName: string, row: Row): Generator<DamagedText> {
  const { primaryKey } = row;
  for (const [column, value] of Object.entries(primaryKey)) {
    if (isBlank(value)) yield { tableName, primaryKey, place: "primaryKey", column, version: undefined, length: value.length };
  }
  const { columns } = row;
  for (const column of row.columnNames) {
    for (const { value, version } of columns[column]!) {
      if (isBlank(value)) yield { tableName, primaryKey, place: "attribute", column, version, length: value.length };
    }
  }
}

/** The implementation of {@link Database.verify}. */
export async function* verify(
  db: Pick<Database, "listTable" | "describeTable" | "scanPages">,
  options: VerifyOptions,
): AsyncGenerator<DamagedText, void, undefined> {
  const given = checkArguments<VerifyOptions>(options, OPTIONS, "verify");
  if (given.texts !== true) throw invalid(`The argument 'texts' is ${shown(given.texts)}; it must be true.`);
  const signal = signalOf(given);
  const call = signal === undefined ? {} : { signal };
  for (const tableName of await db.listTable(call)) {
    // An index's rows come from those of its table.
    if ((await db.describeTable({ tableName, ...call })).indexOf !== null) continue;
    for await (const rows of db.scanPages({ tableName, maxVersions: ALL_VERSIONS, ...call })) {
      for (const row of rows) yield* damagedIn(tableName, row);
    }
  }
}
