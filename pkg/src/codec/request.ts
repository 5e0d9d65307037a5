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
 * BATCH_ATOMIC  as BATCH_WRITE
 * START         name table | key: the partition key
 * COMMIT, ABORT str transaction
 * PUT_ROWS      uv loader, a number of the client's | as BATCH_WRITE; written by `writer.ts`
 * STORE_ROWS    uv loader
 * key           u8 columns | each: name, value
 * condition     u8 row existence | u8 has column condition | [filter]
 * read options  u8 flags | uv max versions | sv start, sv end | sv version | uv count, names | str start | str end | filter
 * ```
 *
 * An operation of a transaction has bit 6 of its number set, and the transaction's id (str) after it. What a filter looks
 * like is in `filter.ts`.
 */

import { invalid } from "../errors.js";
import type {
  BatchGetItem, BatchWriteItem, Condition, DeleteRow, DeleteRowRequest, GetRangeRequest, GetRowRequest, InputCell, PutRow,
  PutRowRequest, ReadOptions, StartLocalTransactionRequest, UpdateRow, UpdateRowRequest,
} from "../types.js";
import { checkCall, checkName, count, has, list, record } from "./check.js";
import { writeFilter } from "./filter.js";
import type { FrameWriter } from "./frame.js";
import { kindOf, shown } from "./kinds.js";
import { writeInteger, writeKey, writeValue } from "./value.js";

/** Numbers of operations. */
export const OP = { PUT_ROW: 1, UPDATE_ROW: 2, DELETE_ROW: 3, GET_ROW: 4, BATCH_GET: 5, GET_RANGE: 6, BATCH_WRITE: 7, START: 8, COMMIT: 9, ABORT: 10, BATCH_ATOMIC: 11, PUT_ROWS: 12, STORE_ROWS: 13 } as const;
/** Added to the number of an operation that belongs to a transaction. */
export const IN_TRANSACTION = 0x40;

/** The names of read options. */
export const READ = ["maxVersions", "timeRange", "columnsToGet", "startColumn", "endColumn", "filter"];
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
const START_CALL = new Set(["tableName", "partitionKey", "signal"]);
const CONDITION = new Set(["rowExistence", "column"]);
const CELL = new Set(["value", "version"]);
const TIME_RANGE = new Set(["start", "end", "version"]);
const AFTER_MODIFY = new Set(["afterModify"]);
const EXISTENCE = ["IGNORE", "EXPECT_EXIST", "EXPECT_NOT_EXIST"];

/** Writes the number of an operation, and the transaction that it belongs to. */
function writeOp(w: FrameWriter, op: number, transaction: string | undefined): void {
  if (transaction === undefined) {
    w.u8(op);
  } else {
    w.u8(op | IN_TRANSACTION);
    w.str(transaction, "the transaction's id");
  }
}

function writeTable(w: FrameWriter, tableName: unknown): void {
  checkName(tableName, "tableName");
  w.name(tableName);
}

function writeCondition(w: FrameWriter, condition: Condition | undefined): void {
  if (condition === undefined) {
    w.u8(0);
    w.u8(0);
    return;
  }
  const { rowExistence = "IGNORE", column } = checkCall(condition, CONDITION, "condition");
  const index = EXISTENCE.indexOf(rowExistence);
  if (index < 0) throw invalid(`The argument 'condition.rowExistence' is ${shown(rowExistence)}; it must be one of ${EXISTENCE.join(", ")}.`);
  w.u8(index);
  w.u8(column === undefined ? 0 : 1);
  if (column !== undefined) writeFilter(w, column, "condition.column");
}

function writeReturn(w: FrameWriter, content: unknown): void {
  if (content === undefined || content === "NONE") w.u8(0);
  else if (content === "PRIMARY_KEY") w.u8(1);
  else throw invalid(`The argument 'returnContent' is ${shown(content)}; it must be NONE or PRIMARY_KEY.`);
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

/** Refuses what said one thing when it was counted, and another when it was written. */
function changed(argument: string): Error {
  return invalid(`The argument '${argument}' changed while it was read.`);
}

/** Writes the cells of columns, with `kind` before each when it is not negative. There must be `total`. */
function writeCells(w: FrameWriter, columns: Record<string, unknown>, names: readonly string[], kind: number, total: number): void {
  let left = total;
  for (const name of names) {
    const value = columns[name];
    if (typeof value === "object" && Array.isArray(value)) {
      for (const cell of value) {
        if (typeof cell !== "object" || cell === null || !has(cell as object, "value")) {
          throw invalid(`The value of column '${name}' is an array with ${kindOf(cell)} in it; it must hold { value, version } only.`);
        }
        left -= 1;
        w.name(name);
        if (kind >= 0) w.u8(kind);
        const { version, value: newest } = checkCall(cell as InputCell, CELL, `${kind < 0 ? "attributes" : "put"}.${name}[]`);
        if (version === undefined) {
          w.u8(0);
        } else {
          w.u8(1);
          writeVersion(w, version, name);
        }
        writeValue(w, newest, name, "attribute");
      }
    } else {
      left -= 1;
      w.name(name);
      if (kind >= 0) w.u8(kind);
      w.u8(0);
      writeValue(w, value, name, "attribute");
    }
  }
  if (left !== 0) throw changed(kind < 0 ? "attributes" : "put");
}

/** The part of PUT_ROW after the table. */
export function writePut(w: FrameWriter, row: PutRow): void {
  writeKey(w, row.primaryKey, "primaryKey", "write");
  writePutRest(w, row);
}

/** The part of PUT_ROW after the key. */
export function writePutRest(w: FrameWriter, row: PutRow): void {
  writeCondition(w, row.condition);
  writeReturn(w, row.returnContent);
  const { attributes } = row;
  if (attributes === undefined) {
    w.u8(0);
    return;
  }
  record(attributes, "attributes");
  const names = Object.keys(attributes);
  const total = cells(attributes, names);
  w.uv(total);
  writeCells(w, attributes, names, -1, total);
}

/** The part of UPDATE_ROW after the table. */
export function writeUpdate(w: FrameWriter, row: UpdateRow): void {
  writeKey(w, row.primaryKey, "primaryKey", "write");
  writeCondition(w, row.condition);
  const { returnContent, put, deleteVersions, deleteColumns, increment } = row;
  if (typeof returnContent === "object" && returnContent !== null) {
    w.u8(2);
    writeNames(w, checkCall(returnContent, AFTER_MODIFY, "returnContent").afterModify, "returnContent.afterModify");
  } else {
    writeReturn(w, returnContent);
  }
  let puts: string[] = [];
  let putCells = 0;
  if (put !== undefined) {
    record(put, "put");
    puts = Object.keys(put);
    putCells = cells(put, puts);
  }
  let total = putCells;
  const versions: [string, unknown[]][] = [];
  if (deleteVersions !== undefined) {
    record(deleteVersions, "deleteVersions");
    for (const name of Object.keys(deleteVersions)) {
      const some = list(deleteVersions[name], `deleteVersions.${name}`);
      versions.push([name, some]);
      total += some.length;
    }
  }
  const gone = deleteColumns === undefined ? [] : list(deleteColumns, "deleteColumns");
  let counters: string[] = [];
  if (increment !== undefined) {
    record(increment, "increment");
    counters = Object.keys(increment);
  }
  w.uv(total + gone.length + counters.length);
  if (put !== undefined) writeCells(w, put as Record<string, unknown>, puts, 1, putCells);
  for (const [name, some] of versions) {
    for (const version of some) {
      w.name(name);
      w.u8(2);
      writeVersion(w, version, name);
    }
  }
  for (const name of gone) {
    checkName(name, "deleteColumns");
    w.name(name);
    w.u8(3);
  }
  for (const name of counters) {
    w.name(name);
    w.u8(4);
    writeInteger(w, increment![name], () => `the increment of column '${name}'`);
  }
}

/** The part of DELETE_ROW after the table. */
export function writeDelete(w: FrameWriter, row: DeleteRow): void {
  writeKey(w, row.primaryKey, "primaryKey", "delete");
  writeCondition(w, row.condition);
  writeReturn(w, row.returnContent);
}

function writeNames(w: FrameWriter, value: unknown, argument: string): void {
  const names = list(value, argument);
  w.uv(names.length);
  for (const name of names) {
    checkName(name, argument);
    w.name(name);
  }
}

function writeReadOptions(w: FrameWriter, options: ReadOptions): void {
  const { columnsToGet, startColumn, endColumn, filter } = options;
  let { maxVersions, timeRange } = options;
  let exact = false;
  if (timeRange !== undefined) {
    if (typeof timeRange !== "object" || timeRange === null) throw invalid(`The argument 'timeRange' is ${kindOf(timeRange)}; it must be { start, end } or { version }.`);
    timeRange = checkCall(timeRange, TIME_RANGE, "timeRange");
    exact = timeRange.version !== undefined;
    if (exact ? timeRange.start !== undefined || timeRange.end !== undefined : timeRange.start === undefined || timeRange.end === undefined) {
      throw invalid(exact ? "Specific tiemstamp and time range cannot be given at the same time. The argument 'timeRange' has a version and an end."
        : "Start and end time must be given at the same time. The argument 'timeRange' lacks one.");
    }
  } else if (maxVersions === undefined) {
    maxVersions = 1;
  }
  const flags = (maxVersions === undefined ? 0 : 1) | (timeRange === undefined ? 0 : exact ? 4 : 2) | (columnsToGet === undefined ? 0 : 8)
    | (startColumn === undefined ? 0 : 16) | (endColumn === undefined ? 0 : 32) | (filter === undefined ? 0 : 64);
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
  if (columnsToGet !== undefined) writeNames(w, columnsToGet, "columnsToGet");
  if (startColumn !== undefined) {
    checkName(startColumn, "startColumn");
    w.str(startColumn, "startColumn");
  }
  if (endColumn !== undefined) {
    checkName(endColumn, "endColumn");
    w.str(endColumn, "endColumn");
  }
  if (filter !== undefined) writeFilter(w, filter, "filter");
}

/** Writes a row of a batch; `what` is the argument that it comes from. */
function writeRow<R>(w: FrameWriter, op: number, write: (w: FrameWriter, row: R) => void, known: ReadonlySet<string>, what: string, row: R, tableName: unknown): void {
  const given = checkCall(row, known, what);
  w.u8(op);
  writeTable(w, tableName);
  write(w, given);
}

/** A call about one row to write. */
function writeCall<R extends { readonly tableName: string }>(
  w: FrameWriter, op: number, write: (w: FrameWriter, row: R) => void, known: ReadonlySet<string>, what: string, request: R, transaction: string | undefined,
): void {
  const given = checkCall(request, known, what);
  writeOp(w, op, transaction);
  writeTable(w, given.tableName);
  write(w, given);
}

/** A PUT_ROW call, as all that follow perhaps in a transaction. */
export function putRow(w: FrameWriter, request: PutRowRequest, transaction?: string): void {
  writeCall(w, OP.PUT_ROW, writePut, PUT_CALL, "putRow", request, transaction);
}

/** An UPDATE_ROW call. */
export function updateRow(w: FrameWriter, request: UpdateRowRequest, transaction?: string): void {
  writeCall(w, OP.UPDATE_ROW, writeUpdate, UPDATE_CALL, "updateRow", request, transaction);
}

/** A DELETE_ROW call. */
export function deleteRow(w: FrameWriter, request: DeleteRowRequest, transaction?: string): void {
  writeCall(w, OP.DELETE_ROW, writeDelete, DELETE_CALL, "deleteRow", request, transaction);
}

/** A GET_ROW call. */
export function getRow(w: FrameWriter, request: GetRowRequest, transaction?: string): void {
  const given = checkCall(request, GET_CALL, "getRow");
  writeOp(w, OP.GET_ROW, transaction);
  writeTable(w, given.tableName);
  writeKey(w, given.primaryKey, "primaryKey", "read");
  writeReadOptions(w, given);
}

/** A GET_RANGE call. */
export function getRange(w: FrameWriter, request: GetRangeRequest, transaction?: string): void {
  const given = checkCall(request, RANGE_CALL, "getRange");
  const { direction = "FORWARD", start, end, limit } = given;
  if (direction !== "FORWARD" && direction !== "BACKWARD") {
    throw invalid(`The argument 'direction' is ${shown(direction)}; it must be FORWARD or BACKWARD.`);
  }
  writeOp(w, OP.GET_RANGE, transaction);
  writeTable(w, given.tableName);
  w.u8(direction === "FORWARD" ? 0 : 1);
  if (start === undefined) w.u8(0);
  else writeKey(w, start, "start", "range");
  if (end === undefined) w.u8(0);
  else writeKey(w, end, "end", "range");
  if (typeof limit === "number" && limit <= 0) throw invalid("The limit must be greater than 0.");
  if (limit !== undefined) count(limit, "limit", 1);
  w.uv(limit ?? 0);
  writeReadOptions(w, given);
}

/** A BATCH_GET call. */
export function batchGetRow(w: FrameWriter, tables: readonly BatchGetItem[]): void {
  const all = list(tables, "tables") as BatchGetItem[];
  w.u8(OP.BATCH_GET);
  w.uv(all.length);
  for (const asked of all) {
    const table = checkCall(asked, BATCH_GET_ITEM, "batchGetRow");
    writeTable(w, table.tableName);
    writeReadOptions(w, table);
    const keys = list(table.primaryKeys, "primaryKeys");
    w.uv(keys.length);
    for (const key of keys) writeKey(w, key, "primaryKeys", "read");
  }
}

function writeBatch(w: FrameWriter, op: number, rows: readonly BatchWriteItem[], transaction: string | undefined): void {
  const all = list(rows, "rows") as BatchWriteItem[];
  writeOp(w, op, transaction);
  w.uv(all.length);
  for (const item of all) {
    const { tableName, put, update, delete: remove } = checkCall(item, BATCH_WRITE_ITEM, "batchWriteRow");
    if ([put, update, remove].filter((one) => one !== undefined).length !== 1) {
      throw invalid("A row of 'batchWriteRow' must have exactly one of 'put', 'update' and 'delete'.");
    }
    w.mark();
    if (put !== undefined) writeRow(w, OP.PUT_ROW, writePut, PUT, "put", put, tableName);
    else if (update !== undefined) writeRow(w, OP.UPDATE_ROW, writeUpdate, UPDATE, "update", update, tableName);
    else writeRow(w, OP.DELETE_ROW, writeDelete, DELETE, "delete", remove!, tableName);
  }
}

/** A BATCH_WRITE call. */
export function batchWriteRow(w: FrameWriter, rows: readonly BatchWriteItem[], transaction?: string): void {
  writeBatch(w, OP.BATCH_WRITE, rows, transaction);
}

/** A BATCH_ATOMIC call. */
export function batchWriteAtomic(w: FrameWriter, rows: readonly BatchWriteItem[]): void {
  writeBatch(w, OP.BATCH_ATOMIC, rows, undefined);
}

/** A START call. */
export function startLocalTransaction(w: FrameWriter, request: StartLocalTransactionRequest): void {
  const given = checkCall(request, START_CALL, "startLocalTransaction");
  w.u8(OP.START);
  writeTable(w, given.tableName);
  writeKey(w, given.partitionKey, "partitionKey", "read");
}

/** A COMMIT or ABORT call. */
export function endTransaction(op: number): (w: FrameWriter, id: string) => void {
  return (w, id) => {
    w.u8(op);
    w.str(id, "the transaction's id");
  };
}

/** A STORE_ROWS call. */
export function storeRows(w: FrameWriter, loader: number): void {
  w.u8(OP.STORE_ROWS);
  w.uv(loader);
}
