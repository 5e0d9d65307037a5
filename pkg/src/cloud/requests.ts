/**
 * Requests about rows. Each is read when the call is made, so that the caller may change its arguments afterwards. It is sent once the
 * key columns of its table are known: the service wants them in their order, and a JavaScript object has none.
 */

import { COLUMN_OP, OP, READ_OPTIONS, RETURN_CONTENT } from "../codec/contract.js";
import { readFilter } from "./filter.js";
import type { BatchGetRow, BatchWriteRow, GetRange, GetRow, WriteRow } from "./messages.js";
import { type Cell, CELL_OP, TYPE, writeRow } from "./plain-buffer.js";
import type { Fields } from "./protobuf.js";
import type { Tokens } from "./tokens.js";

/** The names of key columns in the order of their table; `undefined` if they cannot be found out. */
export type KeyNames = readonly string[] | undefined;

/** A part of what one table's batch has. */
type RowOfBatch = NonNullable<NonNullable<NonNullable<Fields<typeof BatchWriteRow>["tables"]>[number]["rows"]>[number]>;
type TableOfRead = NonNullable<Fields<typeof BatchGetRow>["tables"]>[number];

/** Key columns in their table's order. Those that the table does not have come last: the service refuses them by name. */
export function inOrder(key: readonly Cell[], names: KeyNames): readonly Cell[] {
  if (names === undefined) return key;
  const place = ({ name }: Cell): number => {
    const at = names.indexOf(name);
    return at < 0 ? names.length : at;
  };
  return [...key].sort((a, b) => place(a) - place(b));
}

/** A key as text, the same for equal ones: operations on one row keep their order by it. */
export const rowId = (tableName: string, key: readonly Cell[]): string =>
  JSON.stringify([
    tableName,
    ...key
      .map(({ name, variant }) => [name, variant!.type, variant!.value instanceof Uint8Array ? variant!.value.join() : String(variant!.value)].join("\n"))
      .sort(),
  ]);

/** Reads a key. */
export function readKey(tokens: Tokens): Cell[] {
  return tokens.many(() => ({ name: tokens.text(), variant: tokens.variant() }));
}

/** A row to write. */
export interface Write {
  readonly op: number;
  readonly tableName: string;
  readonly key: readonly Cell[];
  readonly condition: { readonly existence: number; readonly column: Uint8Array | undefined };
  readonly returns: Fields<typeof WriteRow>["returns"];
  readonly cells: readonly Cell[];
}

function readReturns(tokens: Tokens): Write["returns"] {
  const type = tokens.number();
  if (type === RETURN_CONTENT.None) return undefined;
  return type === RETURN_CONTENT.AfterModify ? { type, columns: tokens.many(() => tokens.text()) } : { type };
}

function readChange(tokens: Tokens): Cell {
  const name = tokens.text();
  switch (tokens.number()) {
    case COLUMN_OP.Put:
      return { name, version: tokens.maybe(() => tokens.integer()), variant: tokens.variant() };
    case COLUMN_OP.DeleteVersion:
      return { name, op: CELL_OP.DELETE_ONE, version: tokens.integer() };
    case COLUMN_OP.DeleteColumn:
      return { name, op: CELL_OP.DELETE_ALL };
    default:
      return { name, op: CELL_OP.INCREMENT, variant: { type: TYPE.INTEGER, value: tokens.integer() } };
  }
}

/** Reads a write of one row, with its operation before it. */
export function readWrite(tokens: Tokens): Write {
  const op = tokens.number();
  const tableName = tokens.text();
  const key = readKey(tokens);
  const existence = tokens.number();
  const column = tokens.maybe(() => readFilter(tokens));
  const returns = readReturns(tokens);
  const put = (): Cell => ({ name: tokens.text(), version: tokens.maybe(() => tokens.integer()), variant: tokens.variant() });
  const cells = op === OP.PUT_ROW ? tokens.many(put) : op === OP.UPDATE_ROW ? tokens.many(() => readChange(tokens)) : [];
  return { op, tableName, key, condition: { existence, column }, returns, cells };
}

/** The row of a write, packed. */
const packed = ({ op, key, cells }: Write, names: KeyNames): Uint8Array => writeRow(inOrder(key, names), cells, op === OP.DELETE_ROW);

/** The request of a write. DeleteRow has the same fields as the others. */
export const writeRequest = (write: Write, names: KeyNames, transactionId?: string): Fields<typeof WriteRow> => ({
  tableName: write.tableName,
  row: packed(write, names),
  condition: write.condition,
  returns: write.returns,
  transactionId,
});

/** A write as part of a batch. PUT, UPDATE and DELETE have the same numbers as the codec's operations. */
export const writeInBatch = (write: Write, names: KeyNames): RowOfBatch => ({
  type: write.op,
  row: packed(write, names),
  condition: write.condition,
  returns: write.returns,
});

/** What of a row is to be read. */
export type ReadSelection = Pick<TableOfRead, "columnsToGet" | "timeRange" | "maxVersions" | "filter" | "startColumn" | "endColumn">;

/** Reads read options. */
function readSelection(tokens: Tokens): ReadSelection {
  const flags = tokens.number();
  const given = <T>(flag: number, read: () => T): T | undefined => ((flags & flag) === 0 ? undefined : read());
  return {
    maxVersions: given(READ_OPTIONS.maxVersions, () => tokens.number()),
    timeRange:
      given(READ_OPTIONS.range, () => ({ start: tokens.integer(), end: tokens.integer() })) ??
      given(READ_OPTIONS.version, () => ({ version: tokens.integer() })),
    columnsToGet: given(READ_OPTIONS.columns, () => tokens.many(() => tokens.text())),
    startColumn: given(READ_OPTIONS.startColumn, () => tokens.text()),
    endColumn: given(READ_OPTIONS.endColumn, () => tokens.text()),
    filter: given(READ_OPTIONS.filter, () => readFilter(tokens)),
  };
}

/** A row to read. */
export interface Read {
  readonly tableName: string;
  readonly key: readonly Cell[];
  readonly selection: ReadSelection;
}

/** Reads a GetRow, behind its operation. */
export const readGet = (tokens: Tokens): Read => ({ tableName: tokens.text(), key: readKey(tokens), selection: readSelection(tokens) });

/** The request of a read. */
export const getRequest = ({ tableName, key, selection }: Read, names: KeyNames, transactionId?: string): Fields<typeof GetRow> => ({
  tableName,
  key: writeRow(inOrder(key, names)),
  ...selection,
  transactionId,
});

/** Rows of one table to read. */
export interface TableRead {
  readonly tableName: string;
  readonly keys: readonly (readonly Cell[])[];
  readonly selection: ReadSelection;
}

/** Reads a BatchGetRow, behind its operation. */
export const readBatchGet = (tokens: Tokens): TableRead[] =>
  tokens.many(() => {
    const tableName = tokens.text();
    const selection = readSelection(tokens);
    return { tableName, selection, keys: tokens.many(() => readKey(tokens)) };
  });

/** The request of such reads of one table. */
export const batchGetRequest = ({ tableName, keys, selection }: TableRead, names: KeyNames): TableOfRead => ({
  tableName,
  keys: keys.map((key) => writeRow(inOrder(key, names))),
  ...selection,
});

/** A range to read. */
export interface Range {
  readonly tableName: string;
  readonly backward: boolean;
  /** The ends; `undefined`: from the first or to the last row. */
  readonly start: readonly Cell[] | undefined;
  readonly end: readonly Cell[] | undefined;
  readonly limit: number | undefined;
  readonly selection: ReadSelection;
}

/** Reads one end of a range: a missing one has no columns. */
function readEnd(tokens: Tokens): Cell[] | undefined {
  const key = readKey(tokens);
  return key.length === 0 ? undefined : key;
}

/** Reads a GetRange, behind its operation. */
export function readRange(tokens: Tokens): Range {
  const tableName = tokens.text();
  const backward = tokens.number() === 1;
  const start = readEnd(tokens);
  const end = readEnd(tokens);
  const limit = tokens.number();
  return { tableName, backward, start, end, limit: limit === 0 ? undefined : limit, selection: readSelection(tokens) };
}

/** The request of a range. An end that was left out is before all keys, or behind them. */
export function rangeRequest({ tableName, backward, start, end, limit, selection }: Range, names: KeyNames, transactionId?: string): Fields<typeof GetRange> {
  const beyond = (isMax: boolean): Cell[] => (names ?? []).map((name) => ({ name, variant: { type: isMax ? TYPE.INF_MAX : TYPE.INF_MIN } }));
  const request = {
    tableName,
    direction: Number(backward),
    limit,
    start: writeRow(inOrder(start ?? beyond(backward), names)),
    end: writeRow(inOrder(end ?? beyond(!backward), names)),
    transactionId,
  };
  return { ...request, ...selection };
}
