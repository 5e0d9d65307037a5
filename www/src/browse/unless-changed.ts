/** Writes a row only if it still is as a person has read it. */

import type { Condition, PrimaryKey, Row, TableDescription } from "tabstore";

import { asError } from "../lib/ended-call.ts";
import { keyText } from "../lib/keys.ts";
import { conditionOf, isAsRead } from "../lib/row-changes.ts";
import { logged } from "../state/calls.ts";
import { database } from "../state/session.ts";

/** Reads a row with all its versions, or the newest ones, and writes the call down. */
export async function readRow({ tableName, maxVersions: all }: TableDescription, primaryKey: PrimaryKey, maxVersions = all): Promise<Row | null> {
  return (await logged("GetRow", `${tableName}, ${keyText(primaryKey)}`, () => database().getRow({ tableName, primaryKey, maxVersions }))).row;
}

/**
 * Calls `write` if the row is as it was read, or these columns of it are. Gives what is stored now if it is not: then nothing was
 * written. The write has a condition too, because another tab may come in between. `versions`: how many of each column were read.
 */
export async function unlessChanged(
  table: TableDescription,
  read: Row,
  write: (condition: Condition) => Promise<unknown>,
  names?: readonly string[],
  versions?: number,
): Promise<{ readonly now: Row | null } | undefined> {
  const look = () => readRow(table, read.primaryKey, versions);
  const before = await look();
  if (!isAsRead(read, before, names)) return { now: before };
  try {
    await write(conditionOf(read, names));
  } catch (error) {
    if (asError(error).code !== "OTSConditionCheckFail") throw error;
    return { now: await look() };
  }
  return undefined;
}
