/** Compares a table that is there with the one that was to be created. Loaded on first use. */

import { TabStoreError } from "../types/errors.js";
import type { StreamDescription } from "../types/streams.js";
import type { CreateTableRequest, IndexDescription, IndexSpec, StreamSpec, TableDescription } from "../types/tables.js";

/** Options that a table always has. One that was not given may be anything. */
const OPTIONS = ["timeToLive", "maxVersions", "maxVersionOffset", "allowUpdate"] as const;

/** What is different, in words; `undefined`: nothing that was given. */
function difference(wanted: CreateTableRequest, there: TableDescription): string | undefined {
  if (there.indexOf !== null) return `it is an index of the table '${there.indexOf}'`;
  const key = (columns: CreateTableRequest["primaryKey"]): string =>
    columns.map(({ name, type, autoIncrement }) => `${name} ${type}${autoIncrement ? " autoIncrement" : ""}`).join(", ");
  if (key(wanted.primaryKey) !== key(there.primaryKey)) return `its primary key is (${key(there.primaryKey)}), not (${key(wanted.primaryKey)})`;
  for (const [at, { name, allowChosen }] of wanted.primaryKey.entries()) {
    // Tables of earlier versions allow it, and so more than was asked for.
    if (allowChosen && !there.primaryKey[at].allowChosen) return `its key column '${name}' has no allowChosen`;
  }
  for (const { name, type } of wanted.definedColumns ?? []) {
    const found = there.definedColumns.find((column) => column.name === name);
    if (found?.type !== type) return `it defines ${found === undefined ? `no column '${name}'` : `the column '${name}' as ${found.type}, not ${type}`}`;
  }
  for (const index of wanted.indexes ?? []) {
    const found = there.indexes.find(({ indexName }) => indexName === index.indexName);
    if (found === undefined) return `it has no index '${index.indexName}'`;
    const what = differentIndex(index, found);
    if (what !== undefined) return `of its index '${index.indexName}' ${what}`;
  }
  const { reservedThroughput: units, stream } = wanted;
  return (
    given(wanted, there, OPTIONS) ??
    // A table whose keys the store assigns allows none, whatever was asked for.
    (wanted.primaryKey.some(({ autoIncrement }) => autoIncrement) ? undefined : given(wanted, there, ["enableLocalTransaction"])) ??
    (units && given(units, there.reservedThroughput, ["read", "write"])) ??
    (stream && differentStream(stream, there.stream))
  );
}

/** What was given of some values, and is different. `null`: it is not known. */
function given<Name extends string>(
  wanted: { readonly [name in Name]?: unknown },
  there: { readonly [name in Name]: unknown },
  names: readonly Name[],
): string | undefined {
  const name = names.find((one) => wanted[one] !== undefined && there[one] !== null && String(wanted[one]) !== String(there[one]));
  return name === undefined ? undefined : `its ${name} is ${there[name]}, not ${wanted[name]}`;
}

function differentIndex(wanted: IndexSpec, there: IndexDescription): string | undefined {
  const [has, wants] = [there.primaryKey.join(", "), wanted.primaryKey.join(", ")];
  if (has !== wants) return `the key is (${has}), not (${wants})`;
  const missing = wanted.columns?.find((name) => !there.columns.includes(name) && !there.primaryKey.includes(name));
  return missing === undefined ? given(wanted, there, ["type", "timeToLive"]) : `the columns lack '${missing}'`;
}

function differentStream(wanted: StreamSpec, there: StreamDescription | null): string | undefined {
  if (!wanted.enabled) return there === null ? undefined : "it has a stream";
  if (there === null) return "it has no stream";
  const missing = wanted.originColumns?.find((name) => !there.originColumns.includes(name));
  return missing === undefined ? given(wanted, there, ["expirationHours"]) : `its stream keeps no old values of '${missing}'`;
}

/** Throws if the table that is there is another one than the wanted one. */
export function checkSchema(wanted: CreateTableRequest, there: TableDescription): void {
  const what = difference(wanted, there);
  if (what === undefined) return;
  throw new TabStoreError({
    code: "OTSObjectAlreadyExist",
    status: 409,
    retryable: false,
    message: `The table '${wanted.tableName}' is there, and ${what}.`,
    hint: "Change it by updateTable, addDefinedColumn or createIndex, delete it by deleteTable, or give what it has.",
  });
}
