/** The defined columns, the indexes and the stream of a table as forms hold them, and the rules that they must keep [T8]. */

import type { CreateTableRequest, DefinedColumn, IndexSpec, KeyColumn, StreamSpec, TableOptions, ValueType } from "tabstore";

import { wholeNumber } from "./table-options.ts";

/** An index as a form holds it. */
export interface IndexText {
  readonly indexName: string;
  readonly type: "GLOBAL" | "LOCAL";
  /** Its key columns, in order. */
  readonly primaryKey: readonly string[];
  /** The other columns that it holds. */
  readonly columns: readonly string[];
}

/** An index that nothing was chosen for. */
export const NEW_INDEX: IndexText = { indexName: "", type: "GLOBAL", primaryKey: [""], columns: [] };

const MOST_INDEXES = 5;
const MOST_DEFINED = 32;
/** The most key columns that are chosen for an index. */
export const MOST_INDEX_KEYS = 4;
const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/;
const RULE_OF_NAMES = "1 to 255 letters, digits and _, first no digit";

/** The columns that the key of an index may have: those of the table's key, and the defined ones of a type that sorts. */
export function keyCandidates(key: readonly KeyColumn[], defined: readonly DefinedColumn[]): readonly string[] {
  const sorts: readonly ValueType[] = ["STRING", "INTEGER", "BINARY"];
  return [...key.map(({ name }) => name), ...defined.filter(({ type }) => sorts.includes(type)).map(({ name }) => name)].filter((name) => name !== "");
}

/** The rule that defined columns break, if they do. */
export function definedTrouble(key: readonly KeyColumn[], defined: readonly DefinedColumn[]): string | undefined {
  if (defined.length > MOST_DEFINED) return `A table has at most ${MOST_DEFINED} defined columns.`;
  for (const [at, { name }] of defined.entries()) {
    if (!NAME.test(name)) return `Defined column ${at + 1}: ${RULE_OF_NAMES}.`;
    if (key.some((one) => one.name === name)) return `Defined column ${name}: the key has a column of that name.`;
    if (defined.findIndex((one) => one.name === name) < at) return `Two defined columns are called ${name}.`;
  }
  return undefined;
}

/** The rule of a table's options that allows no index, if there is one. */
export function optionsTrouble({ maxVersions = 1, timeToLive = -1, allowUpdate = true }: TableOptions): string | undefined {
  if (maxVersions !== 1) return `A table with an index keeps one version of a column; max versions is ${maxVersions}.`;
  if (timeToLive !== -1 && allowUpdate) return "A table with an index and a time to live does not allow UpdateRow: one of the two has to go.";
  return undefined;
}

/** What an index is of. */
export interface IndexedTable {
  readonly primaryKey: readonly KeyColumn[];
  readonly definedColumns: readonly DefinedColumn[];
}

/** The rule that an index breaks, if it does. `others`: how many the table has besides. */
export function indexTrouble({ indexName, type, primaryKey }: IndexText, table: IndexedTable, others: number): string | undefined {
  if (others >= MOST_INDEXES) return `A table has at most ${MOST_INDEXES} indexes.`;
  if (!NAME.test(indexName)) return `The index's name: ${RULE_OF_NAMES}.`;
  const candidates = keyCandidates(table.primaryKey, table.definedColumns);
  for (const [at, name] of primaryKey.entries()) {
    if (!candidates.includes(name)) return `Index ${indexName}: choose key column ${at + 1}.`;
    if (primaryKey.indexOf(name) < at) return `Index ${indexName}: the key has ${name} twice.`;
  }
  const partition = table.primaryKey[0]?.name;
  if (type === "LOCAL" && primaryKey[0] !== partition)
    return `Index ${indexName}: the key of a local index begins with ${partition}, the table's partition key.`;
  if (type === "GLOBAL" && primaryKey.every((name, at) => table.primaryKey[at]?.name === name))
    return `Index ${indexName}: it would sort as the table does. Choose another first column.`;
  return undefined;
}

/** The index that a form without trouble stands for. Columns of its key are no others. */
export function toIndex({ indexName, type, primaryKey, columns }: IndexText): IndexSpec {
  const others = columns.filter((name) => !primaryKey.includes(name));
  return { indexName, type, primaryKey, ...(others.length === 0 ? {} : { columns: others }) };
}

/** The stream of a table as a form holds it: texts as typed. */
export interface StreamText {
  readonly enabled: boolean;
  readonly hours: string;
  /** Names of columns, with commas between them. */
  readonly originColumns: string;
}

/** No stream. */
export const NO_STREAM: StreamText = { enabled: false, hours: "24", originColumns: "" };

const MOST_HOURS = 168;

/** What is wrong with the hours of a stream, if something is. */
export function streamError({ enabled, hours }: StreamText): string | undefined {
  const value = wholeNumber(hours, 1);
  return enabled && (value === undefined || value > MOST_HOURS) ? `A whole number of hours, 1 to ${MOST_HOURS}.` : undefined;
}

/** The stream that a correct form stands for. */
export function toStream({ enabled, hours, originColumns }: StreamText): StreamSpec {
  if (!enabled) return { enabled };
  const names = originColumns
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  return { enabled, expirationHours: Number(hours), ...(names.length === 0 ? {} : { originColumns: names }) };
}

/** What else a new table can have. */
export interface MoreText {
  readonly definedColumns: readonly DefinedColumn[];
  readonly indexes: readonly IndexText[];
  readonly stream: StreamText;
  /** Whether it allows local transactions. */
  readonly transactions: boolean;
}

/** Nothing more than a key and options. */
export const NO_MORE: MoreText = { definedColumns: [], indexes: [], stream: NO_STREAM, transactions: true };

/** The rule that a new table breaks with it, if it does. */
export function moreTrouble(primaryKey: readonly KeyColumn[], options: TableOptions, { definedColumns, indexes, stream }: MoreText): string | undefined {
  const table = { primaryKey, definedColumns };
  return (
    definedTrouble(primaryKey, definedColumns) ??
    (indexes.length === 0 ? undefined : optionsTrouble(options)) ??
    indexes.map((index, at) => indexTrouble(index, table, at)).find((trouble) => trouble !== undefined) ??
    (streamError(stream) === undefined ? undefined : `The stream: ${streamError(stream)}`)
  );
}

/** What of it is sent. */
export function toMore({ definedColumns, indexes, stream, transactions }: MoreText): Partial<CreateTableRequest> {
  return {
    ...(definedColumns.length === 0 ? {} : { definedColumns }),
    ...(indexes.length === 0 ? {} : { indexes: indexes.map(toIndex) }),
    ...(stream.enabled ? { stream: toStream(stream) } : {}),
    ...(transactions ? {} : { enableLocalTransaction: false }),
  };
}

/** Tables in the order of the list: each index stands below its table. */
export function inFamilies<T extends { readonly tableName: string; readonly indexOf: string | null }>(tables: readonly T[]): readonly T[] {
  const names = new Set(tables.map(({ tableName }) => tableName));
  return tables
    .filter(({ indexOf }) => indexOf === null || !names.has(indexOf))
    .flatMap((base) => [base, ...tables.filter(({ indexOf }) => indexOf === base.tableName)]);
}
