/** What checks read of the store. */

import type { Database, PrimaryKey, TreeDescription, Value } from "tabstore";

/** The rows of a table; none if there is no such table. */
export async function countRows(db: Database, tableName: string): Promise<number | undefined> {
  if (!(await db.listTable()).includes(tableName)) return undefined;
  return (await db.count({ tableName })).count;
}

/** The visible versions of a column, newest first; none if there is no such row. */
export async function versionsOf(
  db: Database,
  tableName: string,
  primaryKey: PrimaryKey,
  column: string,
  maxVersions = 1,
): Promise<readonly { readonly value: Value; readonly version: number }[]> {
  const { row } = await db.getRow({ tableName, primaryKey, maxVersions });
  return row?.columns[column] ?? [];
}

/** The newest value of a column as a number. */
export async function numberOf(db: Database, tableName: string, primaryKey: PrimaryKey, column: string): Promise<number | undefined> {
  const [newest] = await versionsOf(db, tableName, primaryKey, column);
  return newest === undefined ? undefined : Number(newest.value);
}

/** The tree of a table, and its rows that only memory and log have. */
export async function treeOf(db: Database, tableName: string): Promise<{ readonly tree: TreeDescription | undefined; readonly inMemory: number }> {
  const { trees, memtables } = await db.segments({ tableName });
  const tree = trees.find(({ kind }) => kind === "table");
  const own = memtables.flatMap((memtable) => memtable.trees.filter((one) => one.tree === tree?.tree));
  return { tree, inMemory: own.reduce((sum, { rows }) => sum + rows, 0) };
}
