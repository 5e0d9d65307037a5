/**
 * Writes requests: checks that arguments have the right shape, by name, and lays them out. What the values mean (whether a
 * table exists, whether a key fits its schema, whether a limit is kept) is the engine's to judge.
 *
 * Layouts, after `uv request id | u8 op`; `name` is an index into the frame's dictionary:
 *
 * ```text
 * PUT_ROW       name table | key | condition | u8 return | uv cells | each: name, u8 has version, [sv version], value
 * UPDATE_ROW    name table | key | condition | u8 return, [uv count, names] | uv changes | each: name, u8 kind, its rest
 * DELETE_ROW    name table | key | condition | u8 return
 * GET_ROW       name table | key | read options
 * BATCH_GET     uv tables | each: name table, read options, uv keys, keys
 * GET_RANGE     name table | u8 direction | start key | end key (count 0: open) | uv limit (0: none) | read options
 * BATCH_WRITE   uv rows | each: u8 op, that op's layout
 * key           u8 columns | each: name, value
 * condition     u8 row existence | u8 0
 * read options  u8 flags | uv max versions | sv start, sv end | sv version | uv count, names | str start | str end
 * ```
 */

import { invalid } from "../errors.js";
import type {
  BatchGetItem, BatchWriteItem, Condition, DeleteRow, DeleteRowRequest, GetRangeRequest, GetRowRequest, PutRow,
  PutRowRequest, ReadOptions, UpdateRow, UpdateRowRequest,
} from "../types.js";
import type { FrameWriter } from "./frame.js";
import { kindOf, writeInteger, writeKey, writeValue } from "./value.js";

/** Numbers of operations. */
export const OP = { PUT_ROW: 1, UPDATE_ROW: 2, DELETE_ROW: 3, GET_ROW: 4, BATCH_GET: 5, GET_RANGE: 6, BATCH_WRITE: 7 } as const;

const READ = ["maxVersions", "timeRange", "columnsToGet", "startColumn", "endColumn"];
const PUT = new Set(["primaryKey", "attributes", "condition", "returnContent"]);
const UPDATE = new Set(["primaryKey", "put", "deleteVersions", "deleteColumns", "increment", "condition", "returnContent"]);
const DELETE = new Set(["primaryKey", "condition", "returnContent"]);
const call = (names: Iterable<string>): Set<string> => new Set([...names, "tableName", "signal"]);
const PUT_CALL = /* @__PURE__ */ call(PUT);
const UPDATE_CALL = /* @__PURE__ */ call(UPDATE);
const DELETE_CALL = /* @__PURE__ */ call(DELETE);
const GET_CALL = /* @__PURE__ */ call(["primaryKey", ...READ]);
const RANGE_CALL = /* @__PURE__ */ call(["direction", "start", "end", "limit", ...READ]);
const BATCH_GET_ITEM = new Set(["tableName", "primaryKeys", ...READ]);
const BATCH_WRITE_ITEM = new Set(["tableName", "put", "update", "delete"]);
const CONDITION = new Set(["rowExistence"]);
const EXISTENCE = ["IGNORE", "EXPECT_EXIST", "EXPECT_NOT_EXIST"];

/** Refuses what is no object of arguments, and arguments that nobody reads: most of those are misspelt. */
export function checkArguments(value: unknown, known: ReadonlySet<string>, what: string): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`The argument '${what}' is ${kindOf(value)}; it must be an object.`);
  }
  for (const name in value) {
    if (!known.has(name)) throw invalid(`Unknown argument '${name}' in '${what}'. Known are: ${[...known].join(", ")}.`);
  }
}

/** Refuses what is no name at all; whether a name is legal is the engine's to say. */
export function checkName(value: unknown, argument: string): asserts value is string {
  if (typeof value !== "string") throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be a string.`);
}

function list(value: unknown, argument: string): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be an array.`);
}

function record(value: unknown, argument: string): asserts value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(`The argument '${argument}' is ${kindOf(value)}; it must be an object of columns.`);
  }
}

function count(value: unknown, argument: string, least: number): asserts value is number {
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    throw invalid(`The argument '${argument}' is ${typeof value === "number" ? value : kindOf(value)}; it must be an integer of at least ${least}.`);
  }
}

function writeTable(w: FrameWriter, tableName: unknown): void {
  checkName(tableName, "tableName");
  w.name(tableName);
}

function writeCondition(w: FrameWriter, condition: Condition | undefined): void {
  if (condition === undefined) {
    w.u8(0);
  } else {
    checkArguments(condition, CONDITION, "condition");
    const { rowExistence = "IGNORE" } = condition;
    const index = EXISTENCE.indexOf(rowExistence);
    if (index < 0) throw invalid(`The argument 'condition.rowExistence' is '${String(rowExistence)}'; it must be one of ${EXISTENCE.join(", ")}.`);
    w.u8(index);
  }
  w.u8(0);
}

function writeReturn(w: FrameWriter, content: "NONE" | "PRIMARY_KEY" | undefined): void {
  if (content === undefined || content === "NONE") w.u8(0);
  else if (content === "PRIMARY_KEY") w.u8(1);
  else throw invalid(`The argument 'returnContent' is '${typeof content === "object" ? kindOf(content) : String(content)}'; it must be NONE or PRIMARY_KEY.`);
}

/** How many cells a set of columns holds: columns with an array of versions count for each. */
function cells(columns: Record<string, unknown>, names: readonly string[]): number {
  let total = names.length;
  for (const name of names) {
    const value = columns[name];
    if (typeof value === "object" && Array.isArray(value)) {
      if (value.length === 0) throw invalid(`No value is given for column name: '${name}'. Its array of versions is empty.`);
      total += value.length - 1;
    }
  }
  return total;
}

/** Writes a version. Versions are read as numbers, so one that a number cannot hold (after the year 287,000) is refused. */
function writeVersion(w: FrameWriter, version: unknown, name: string): void {
  if ((typeof version === "bigint" || Number.isInteger(version)) && !Number.isSafeInteger(Number(version))) {
    throw invalid(`Timestamp must be in range [0, INT64_MAX/1000). Here it must be a safe integer too (at most 2^53 - 1): the version of column '${name}' is ${version}.`);
  }
  writeInteger(w, version, () => `the version of column '${name}'`);
}

/** Writes the cells of columns, with `kind` before each when it is not negative. */
function writeCells(w: FrameWriter, columns: Record<string, unknown>, names: readonly string[], kind: number): void {
  for (const name of names) {
    const value = columns[name];
    if (typeof value === "object" && Array.isArray(value)) {
      for (const cell of value) {
        if (typeof cell !== "object" || cell === null || !("value" in cell)) {
          throw invalid(`The value of column '${name}' is an array with ${kindOf(cell)} in it; it must hold { value, version } only.`);
        }
        w.name(name);
        if (kind >= 0) w.u8(kind);
        if (cell.version === undefined) {
          w.u8(0);
        } else {
          w.u8(1);
          writeVersion(w, cell.version, name);
        }
        writeValue(w, cell.value, name, "attribute");
      }
    } else {
      w.name(name);
      if (kind >= 0) w.u8(kind);
      w.u8(0);
      writeValue(w, value, name, "attribute");
    }
  }
}

/** The part of PUT_ROW after the table. */
export function writePut(w: FrameWriter, row: PutRow): void {
  writeKey(w, row.primaryKey, "primaryKey");
  writeCondition(w, row.condition);
  writeReturn(w, row.returnContent);
  const { attributes } = row;
  if (attributes === undefined) {
    w.u8(0);
    return;
  }
  record(attributes, "attributes");
  const names = Object.keys(attributes);
  w.uv(cells(attributes, names));
  writeCells(w, attributes, names, -1);
}

/** The part of UPDATE_ROW after the table. */
export function writeUpdate(w: FrameWriter, row: UpdateRow): void {
  writeKey(w, row.primaryKey, "primaryKey");
  writeCondition(w, row.condition);
  const { returnContent, put, deleteVersions, deleteColumns, increment } = row;
  if (typeof returnContent === "object" && returnContent !== null && "afterModify" in returnContent) {
    list(returnContent.afterModify, "returnContent.afterModify");
    w.u8(2);
    writeNames(w, returnContent.afterModify, "returnContent.afterModify");
  } else {
    writeReturn(w, returnContent);
  }
  let total = 0;
  let puts: string[] = [];
  if (put !== undefined) {
    record(put, "put");
    puts = Object.keys(put);
    total += cells(put, puts);
  }
  if (deleteVersions !== undefined) {
    record(deleteVersions, "deleteVersions");
    for (const name of Object.keys(deleteVersions)) {
      const versions = (deleteVersions as Record<string, unknown>)[name];
      list(versions, `deleteVersions.${name}`);
      total += versions.length;
    }
  }
  if (deleteColumns !== undefined) {
    list(deleteColumns, "deleteColumns");
    total += deleteColumns.length;
  }
  if (increment !== undefined) {
    record(increment, "increment");
    total += Object.keys(increment).length;
  }
  w.uv(total);
  if (put !== undefined) writeCells(w, put as Record<string, unknown>, puts, 1);
  for (const name of Object.keys(deleteVersions ?? {})) {
    for (const version of deleteVersions![name] as readonly unknown[]) {
      w.name(name);
      w.u8(2);
      writeVersion(w, version, name);
    }
  }
  for (const name of deleteColumns ?? []) {
    checkName(name, "deleteColumns");
    w.name(name);
    w.u8(3);
  }
  for (const name of Object.keys(increment ?? {})) {
    w.name(name);
    w.u8(4);
    writeInteger(w, increment![name], () => `the increment of column '${name}'`);
  }
}

/** The part of DELETE_ROW after the table. */
export function writeDelete(w: FrameWriter, row: DeleteRow): void {
  writeKey(w, row.primaryKey, "primaryKey");
  writeCondition(w, row.condition);
  writeReturn(w, row.returnContent);
}

function writeNames(w: FrameWriter, names: readonly unknown[], argument: string): void {
  w.uv(names.length);
  for (const name of names) {
    checkName(name, argument);
    w.name(name);
  }
}

function writeReadOptions(w: FrameWriter, options: ReadOptions): void {
  const { timeRange, columnsToGet, startColumn, endColumn } = options;
  let { maxVersions } = options;
  let exact = false;
  if (timeRange !== undefined) {
    if (typeof timeRange !== "object" || timeRange === null) throw invalid(`The argument 'timeRange' is ${kindOf(timeRange)}; it must be { start, end } or { version }.`);
    exact = timeRange.version !== undefined;
    if (exact ? timeRange.start !== undefined || timeRange.end !== undefined : timeRange.start === undefined || timeRange.end === undefined) {
      throw invalid(exact ? "Specific tiemstamp and time range cannot be given at the same time. The argument 'timeRange' has a version and an end."
        : "Start and end time must be given at the same time. The argument 'timeRange' lacks one.");
    }
  } else if (maxVersions === undefined) {
    maxVersions = 1;
  }
  const flags = (maxVersions === undefined ? 0 : 1) | (timeRange === undefined ? 0 : exact ? 4 : 2) | (columnsToGet === undefined ? 0 : 8)
    | (startColumn === undefined ? 0 : 16) | (endColumn === undefined ? 0 : 32);
  w.u8(flags);
  if (maxVersions !== undefined) {
    if (Number.isSafeInteger(maxVersions) && maxVersions < 1) throw invalid(`Invalid max versions: ${maxVersions} . Reason: Max versions must be positive.`);
    count(maxVersions, "maxVersions", 1);
    w.uv(maxVersions);
  }
  if (timeRange !== undefined) {
    if (exact) {
      writeInteger(w, timeRange.version, () => "timeRange.version");
    } else {
      writeInteger(w, timeRange.start, () => "timeRange.start");
      writeInteger(w, timeRange.end, () => "timeRange.end");
    }
  }
  if (columnsToGet !== undefined) {
    list(columnsToGet, "columnsToGet");
    writeNames(w, columnsToGet, "columnsToGet");
  }
  if (startColumn !== undefined) {
    checkName(startColumn, "startColumn");
    w.str(startColumn, "startColumn");
  }
  if (endColumn !== undefined) {
    checkName(endColumn, "endColumn");
    w.str(endColumn, "endColumn");
  }
}

/** Writes a row to put, update or delete; `what` is the argument that it comes from, `item` names its table. */
function writeRow<R>(w: FrameWriter, op: number, write: (w: FrameWriter, row: R) => void, known: ReadonlySet<string>, what: string, row: R, item: { readonly tableName: string }): void {
  checkArguments(row, known, what);
  w.u8(op);
  writeTable(w, item.tableName);
  write(w, row);
}

/** A PUT_ROW call. */
export function putRow(w: FrameWriter, request: PutRowRequest): void {
  writeRow(w, OP.PUT_ROW, writePut, PUT_CALL, "putRow", request, request);
}

/** An UPDATE_ROW call. */
export function updateRow(w: FrameWriter, request: UpdateRowRequest): void {
  writeRow(w, OP.UPDATE_ROW, writeUpdate, UPDATE_CALL, "updateRow", request, request);
}

/** A DELETE_ROW call. */
export function deleteRow(w: FrameWriter, request: DeleteRowRequest): void {
  writeRow(w, OP.DELETE_ROW, writeDelete, DELETE_CALL, "deleteRow", request, request);
}

/** A GET_ROW call. */
export function getRow(w: FrameWriter, request: GetRowRequest): void {
  checkArguments(request, GET_CALL, "getRow");
  w.u8(OP.GET_ROW);
  writeTable(w, request.tableName);
  writeKey(w, request.primaryKey, "primaryKey");
  writeReadOptions(w, request);
}

/** A GET_RANGE call. */
export function getRange(w: FrameWriter, request: GetRangeRequest): void {
  checkArguments(request, RANGE_CALL, "getRange");
  const { direction = "FORWARD", start, end, limit } = request;
  if (direction !== "FORWARD" && direction !== "BACKWARD") {
    throw invalid(`The argument 'direction' is '${String(direction)}'; it must be FORWARD or BACKWARD.`);
  }
  w.u8(OP.GET_RANGE);
  writeTable(w, request.tableName);
  w.u8(direction === "FORWARD" ? 0 : 1);
  if (start === undefined) w.u8(0);
  else writeKey(w, start, "start", true);
  if (end === undefined) w.u8(0);
  else writeKey(w, end, "end", true);
  if (limit !== undefined && !(limit > 0)) throw invalid("The limit must be greater than 0.");
  if (limit !== undefined) count(limit, "limit", 1);
  w.uv(limit ?? 0);
  writeReadOptions(w, request);
}

/** A BATCH_GET call. */
export function batchGetRow(w: FrameWriter, tables: readonly BatchGetItem[]): void {
  list(tables, "tables");
  w.u8(OP.BATCH_GET);
  w.uv(tables.length);
  for (const table of tables) {
    checkArguments(table, BATCH_GET_ITEM, "batchGetRow");
    writeTable(w, table.tableName);
    writeReadOptions(w, table);
    list(table.primaryKeys, "primaryKeys");
    w.uv(table.primaryKeys.length);
    for (const key of table.primaryKeys) writeKey(w, key, "primaryKeys");
  }
}

/** A BATCH_WRITE call. */
export function batchWriteRow(w: FrameWriter, rows: readonly BatchWriteItem[]): void {
  list(rows, "rows");
  w.u8(OP.BATCH_WRITE);
  w.uv(rows.length);
  for (const item of rows) {
    checkArguments(item, BATCH_WRITE_ITEM, "batchWriteRow");
    const { put, update, delete: remove } = item;
    if ([put, update, remove].filter((one) => one !== undefined).length !== 1) {
      throw invalid("A row of 'batchWriteRow' must have exactly one of 'put', 'update' and 'delete'.");
    }
    if (put !== undefined) writeRow(w, OP.PUT_ROW, writePut, PUT, "put", put, item);
    else if (update !== undefined) writeRow(w, OP.UPDATE_ROW, writeUpdate, UPDATE, "update", update, item);
    else writeRow(w, OP.DELETE_ROW, writeDelete, DELETE, "delete", remove!, item);
  }
}
