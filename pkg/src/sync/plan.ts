/** Finds the writes that make a row of a side what it is to be. Pure. */

import type { BatchWriteItem, ChangedCell, InputCell, KeyColumn, PrimaryKey, StreamRecord, Value } from "../index.js";
import { type Columns, digest, inputOf, isSame, keyText, type TypedValue } from "./cells.js";

/** A cell to put. */
export interface NewCell {
  readonly name: string;
  readonly version: number;
  readonly value: TypedValue;
}

/** Writes to one row, in one call. */
export interface RowWrite {
  readonly key: PrimaryKey;
  /** `"put"` replaces the row. `"create"` does so too, but only where there is none. */
  readonly kind: "put" | "create" | "update" | "delete";
  readonly put: readonly NewCell[];
  readonly remove: readonly { readonly name: string; readonly version: number }[];
}

/** What a row is to be. */
export interface Wanted {
  /** The columns that are decided. */
  readonly columns: Columns;
  /** Whether columns that are not decided stay. */
  readonly keepsOthers: boolean;
  /** Whether the row is to be there without cells. */
  readonly exists: boolean;
}

/** Cells, and bytes, of a call at most: somewhat below what it takes [D1, R2]. */
const MOST_CELLS = 1000;
const MOST_BYTES = 3_500_000;

const bytesOf = ({ type, value }: TypedValue): number =>
  type === "STRING" ? 3 * (value as string).length : type === "BINARY" ? (value as Uint8Array).length : 8;

/** About how many bytes a write takes in a request, at most. */
export const sizeOf = ({ put, remove }: RowWrite): number =>
  put.reduce((sum, { name, value }) => sum + name.length + 32 + bytesOf(value), 4200) + remove.reduce((sum, { name }) => sum + name.length + 32, 0);

/** A write in so many pieces that a call takes each. Only updates can be cut. */
function pieces(write: RowWrite): RowWrite[] {
  if (write.put.length + write.remove.length <= MOST_CELLS && sizeOf(write) <= MOST_BYTES) return [write];
  const found: RowWrite[] = [];
  let [put, remove, bytes]: [NewCell[], { name: string; version: number }[], number] = [[], [], 0];
  const end = (): void => {
    if (put.length + remove.length > 0) found.push({ key: write.key, kind: "update", put, remove });
    [put, remove, bytes] = [[], [], 0];
  };
  // Deletions first: versions that are too many would go with them otherwise.
  for (const cell of write.remove) {
    if (remove.length === MOST_CELLS) end();
    remove.push(cell);
  }
  end();
  for (const cell of write.put) {
    const more = bytesOf(cell.value) + cell.name.length + 32;
    if (put.length === MOST_CELLS || (put.length > 0 && bytes + more > MOST_BYTES)) end();
    put.push(cell);
    bytes += more;
  }
  end();
  return found;
}

const cellsOf = (columns: Columns): NewCell[] =>
  [...columns].flatMap(([name, versions]) => [...versions].map(([version, value]) => ({ name, version, value })));

/** The writes that make `there` what is `wanted`. `null`: there is no such row. `allowUpdate`: the table takes updates. */
export function plan(key: PrimaryKey, there: Columns | null, wanted: Wanted, allowUpdate: boolean): RowWrite[] {
  const put: NewCell[] = [];
  const remove: { name: string; version: number }[] = [];
  const after: Columns = new Map(wanted.columns);
  for (const cell of cellsOf(wanted.columns)) if (!isSame(there?.get(cell.name)?.get(cell.version), cell.value)) put.push(cell);
  for (const [name, versions] of there ?? []) {
    const decided = wanted.columns.get(name);
    if (decided === undefined && wanted.keepsOthers) after.set(name, versions);
    else for (const version of versions.keys()) if (!decided?.has(version)) remove.push({ name, version });
  }
  const cells = cellsOf(after);
  const whole = (kind: RowWrite["kind"]): RowWrite[] => [{ key, kind, put: cells, remove: [] }];
  if (cells.length === 0) {
    if (!wanted.exists) return there === null ? [] : whole("delete");
    return there === null ? whole("create") : remove.length === 0 ? [] : whole("put");
  }
  if (put.length + remove.length === 0) return [];
  return allowUpdate ? pieces({ key, kind: "update", put, remove }) : whole("put");
}

/** A write as an item of a batch. */
export function itemOf(tableName: string, { key: primaryKey, kind, put, remove }: RowWrite): BatchWriteItem {
  if (kind === "delete") return { tableName, delete: { primaryKey } };
  const attributes: Record<string, InputCell[]> = Object.create(null) as Record<string, InputCell[]>;
  for (const { name, version, value } of put) (attributes[name] ??= []).push({ value: inputOf(value), version });
  if (kind === "create") return { tableName, put: { primaryKey, attributes, condition: { rowExistence: "EXPECT_NOT_EXIST" } } };
  if (kind === "put") return { tableName, put: { primaryKey, attributes } };
  const deleteVersions: Record<string, number[]> = Object.create(null) as Record<string, number[]>;
  for (const { name, version } of remove) (deleteVersions[name] ??= []).push(version);
  return { tableName, update: { primaryKey, put: attributes, deleteVersions } };
}

// ------------------------------------------------------------------------------------------------ records of the job's own writes

/** A value in a signature. A record may leave open whether a number is a Double; bytes are told by the first of them. */
const loose = (value: Value): string =>
  typeof value === "object" ? `b${value.length} ${value.subarray(0, 1000).join()}` : `${typeof value === "string"}${value}`;

/** What tells a record: its row, its kind and its cells. */
export function signatureOf(columns: readonly KeyColumn[], { primaryKey, type, cells }: Pick<StreamRecord, "primaryKey" | "type" | "cells">): string {
  const told = cells.map((cell) => [cell.op, cell.name, "version" in cell && cell.version, "value" in cell && loose(cell.value)].join());
  return digest([keyText(columns, primaryKey), type, ...told.sort()].join("\n"));
}

/** The signature that the record of a write will have. */
export function signatureOfWrite(columns: readonly KeyColumn[], { key, kind, put, remove }: RowWrite): string {
  const cells: ChangedCell[] = [
    ...put.map(({ name, version, value: { value } }): ChangedCell => ({ op: "PUT", name, version, value })),
    ...remove.map((cell): ChangedCell => ({ op: "DELETE", ...cell })),
  ];
  const type = kind === "update" ? "UPDATE" : kind === "delete" ? "DELETE" : "PUT";
  return signatureOf(columns, { primaryKey: key, type, cells });
}
