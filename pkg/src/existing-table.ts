/** Compares a table that is there with the one that was to be created. Loaded on first use. */

import { TabStoreError } from "./errors.js";
import type { CreateTableRequest, TableDescription } from "./tables.js";

/** Options that a table always has. One that was not given may be anything. */
const OPTIONS = ["timeToLive", "maxVersions", "maxVersionOffset", "allowUpdate", "enableLocalTransaction"] as const;

/** What is different, in words; `undefined`: nothing that was given. */
function difference(wanted: CreateTableRequest, there: TableDescription): string | undefined {
  const key = (columns: CreateTableRequest["primaryKey"]): string => columns.map(({ name, type, autoIncrement }) => `${name} ${type}${autoIncrement ? " autoIncrement" : ""}`).join(", ");
  if (key(wanted.primaryKey) !== key(there.primaryKey)) return `its primary key is (${key(there.primaryKey)}), not (${key(wanted.primaryKey)})`;
  for (const { name, type } of wanted.definedColumns ?? []) {
    const found = there.definedColumns.find((column) => column.name === name);
    if (found?.type !== type) return `it defines ${found === undefined ? `no column '${name}'` : `the column '${name}' as ${found.type}, not ${type}`}`;
  }
  for (const { indexName, primaryKey } of wanted.indexes ?? []) {
    const found = there.indexes.find((index) => index.indexName === indexName);
    if (found === undefined) return `it has no index '${indexName}'`;
    const [has, wants] = [found.primaryKey.join(", "), primaryKey.join(", ")];
    if (has !== wants) return `the key of its index '${indexName}' is (${has}), not (${wants})`;
  }
  for (const name of OPTIONS) {
    if (wanted[name] !== undefined && wanted[name] !== there[name]) return `its ${name} is ${there[name]}, not ${wanted[name]}`;
  }
  if (wanted.stream !== undefined && wanted.stream.enabled !== (there.stream !== null)) return wanted.stream.enabled ? "it has no stream" : "it has a stream";
  return undefined;
}

/** Throws if the table that is there is another one than the wanted one. */
export function checkSchema(wanted: CreateTableRequest, there: TableDescription): void {
  const what = difference(wanted, there);
  if (what === undefined) return;
  throw new TabStoreError({
    code: "OTSObjectAlreadyExist", status: 409, retryable: false,
    message: `The table '${wanted.tableName}' is there, and ${what}.`,
    hint: "Change it by updateTable, addDefinedColumn or createIndex, delete it by deleteTable, or give what it has.",
  });
}
