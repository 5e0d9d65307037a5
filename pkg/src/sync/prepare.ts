/** Looks at the tables of a job, makes what is missing, and refuses by name what cannot be copied. */

import { ANY_OFFSET, spelt } from "../beside-tables.js";
import type { Database, TableDescription, TabStoreError } from "../index.js";
import type { Given } from "./options.js";
import type { SyncDirection } from "./types.js";

/** Hours that the records of a stream are kept which a job enables: the most that there are [ST3]. */
const STREAM_HOURS = 168;

/** The tables of a job. */
export interface Tables {
  readonly from: TableDescription;
  readonly to: TableDescription;
}

/** Refuses what a side cannot take. `isWritten`: the job writes to it. */
function checkSide({ host, direction }: Given, db: Database, table: TableDescription, isWritten: boolean): void {
  const refuse = (why: string, hint: string): TabStoreError =>
    host.error(
      "OTSParameterInvalid",
      `The table '${table.tableName}' of '${db.name}' cannot be copied ${isWritten ? (direction === "both" ? "both ways" : "into") : "from"}: ${why}.`,
      hint,
    );
  if (table.indexOf !== null) throw refuse(`it is an index of the table '${table.indexOf}'`, "Copy that table.");
  if (!isWritten) return;
  if (table.indexes.length > 0) {
    const hint = "In a table with an index the store gives all versions. Drop its indexes; a copy in one direction may come from a table that has some.";
    throw refuse(`it has the index '${table.indexes[0].indexName}'`, hint);
  }
  const given = table.primaryKey.find(({ autoIncrement }) => autoIncrement);
  if (given !== undefined) {
    const hint = "Two stores would give one key to two rows. A copy in one direction may come from such a table: its target has a plain INTEGER there.";
    throw refuse(`the store gives its rows their '${given.name}'`, hint);
  }
}

const plainKey = (table: TableDescription): TableDescription["primaryKey"] => table.primaryKey.map(({ name, type }) => ({ name, type }));

/** Refuses a target that differs from the source where it must not. */
function checkSame({ host, direction }: Given, from: TableDescription, to: TableDescription): void {
  const [wanted, there] = [spelt(plainKey(from)), spelt(plainKey(to))];
  let what = wanted === there ? undefined : `its primary key is (${there}), not (${wanted})`;
  for (const name of direction === "both" ? (["maxVersions", "timeToLive", "allowUpdate"] as const) : []) {
    if (from[name] !== to[name]) what ??= `its ${name} is ${to[name]}, not ${from[name]}`;
  }
  const defined = to.definedColumns.find(({ name, type }) => !from.definedColumns.some((column) => column.name === name && column.type === type));
  if (defined !== undefined) what ??= `it defines the column '${defined.name}' as ${defined.type}, which the source does not`;
  if (what !== undefined)
    throw host.error(
      "OTSObjectAlreadyExist",
      `The table '${to.tableName}' is in the target, and ${what}.`,
      "Change it by updateTable, or delete it: it is made again as it must be.",
    );
}

/** The table of the target, which is made if it is missing. It takes any version, because a copy has versions of any age. */
async function targetOf(db: Database, from: TableDescription, direction: SyncDirection, signal: AbortSignal): Promise<TableDescription> {
  const { tableName, timeToLive, maxVersions, allowUpdate } = from;
  if (!(await db.listTable({ signal })).includes(tableName)) {
    const options = { timeToLive, maxVersions, maxVersionOffset: ANY_OFFSET, allowUpdate: direction === "to" || allowUpdate };
    await db.createTable({ tableName, primaryKey: plainKey(from), ...options, ifNotExists: true, signal });
  }
  return db.describeTable({ tableName, signal });
}

async function enableStream(db: Database, { tableName, stream }: TableDescription, signal: AbortSignal): Promise<void> {
  if (stream === null) await db.updateTable({ tableName, stream: { enabled: true, expirationHours: STREAM_HOURS }, signal });
}

/** See the top of the file. */
export async function prepare(given: Given, signal: AbortSignal): Promise<Tables> {
  const { from, to, tableName, direction } = given;
  const isBoth = direction === "both";
  const source = await from.describeTable({ tableName, signal });
  checkSide(given, from, source, isBoth);
  const target = await targetOf(to, source, direction, signal);
  checkSide(given, to, target, true);
  checkSame(given, source, target);
  await enableStream(from, source, signal);
  if (isBoth) await enableStream(to, target, signal);
  return { from: source, to: target };
}
