/**
 * Writes the fields of requests: checks the shape of arguments by name, and lays them out. The engine judges their
 * values (whether a table exists, whether a key fits its schema, whether a limit is kept).
 *
 * The contract (src/session/codec/contract.rs) says which fields a request has, and in which order. `requests.ts` is
 * written by it, and calls the writers of this file. `filter.ts` has the layout of filters.
 */

import { invalid } from "../types/errors.js";
import type { Attributes, Condition, GetRangeRequest, InputCell, ReadOptions, UpdateRow } from "../types/rows.js";
import { checkCall, checkName, count, has, list, record } from "./check.js";
import { COLUMN_OP, DIRECTION, EXISTENCE, IN_TRANSACTION, READ_OPTIONS, RETURN_CONTENT } from "./contract.js";
import { writeFilter } from "./filter.js";
import type { FieldWriter } from "./frame.js";
import { kindOf, shown } from "./kinds.js";
import { ADVICE, writeInteger, writeKey, writeValue } from "./value.js";

/** The names of read options. */
export const READ = ["maxVersions", "timeRange", "columnsToGet", "startColumn", "endColumn", "filter"];
const CONDITION = new Set(["rowExistence", "column"]);
const CELL = new Set(["value", "version"]);
const TIME_RANGE = new Set(["start", "end", "version"]);
const AFTER_MODIFY = new Set(["afterModify"]);
const IGNORE = /* @__PURE__ */ EXISTENCE.indexOf("IGNORE");

/** Writes the number of an operation, and its transaction if it has one. */
export function writeOp(w: FieldWriter, op: number, transaction: string | undefined): void {
  if (transaction === undefined) {
    w.u8(op);
  } else {
    w.u8(op | IN_TRANSACTION);
    w.str(transaction, "the transaction's id");
  }
}

/** Writes the name of a table. */
export function writeTable(w: FieldWriter, tableName: unknown): void {
  checkName(tableName, "tableName");
  w.name(tableName);
}

/** Writes the row existence that a write expects, and the condition on the row's columns. */
export function writeCondition(w: FieldWriter, condition: Condition | undefined): void {
  if (condition === undefined) {
    w.u8(IGNORE);
    w.u8(0);
    return;
  }
  const { rowExistence = "IGNORE", column } = checkCall(condition, CONDITION, "condition");
  const index = EXISTENCE.indexOf(rowExistence);
  if (index < 0) throw invalid(`The argument 'condition.rowExistence' is ${shown(rowExistence)}; it must be one of ${EXISTENCE.join(", ")}.`);
  w.u8(index);
  writeFilterOrNone(w, column, "condition.column");
}

/** Writes a filter, or its absence. */
export function writeFilterOrNone(w: FieldWriter, filter: unknown, argument: string): void {
  w.u8(filter === undefined ? 0 : 1);
  if (filter !== undefined) writeFilter(w, filter, argument);
}

/** Writes the return content of a put or a deletion. */
export function writeReturn(w: FieldWriter, content: unknown): void {
  if (content === undefined || content === "NONE") w.u8(RETURN_CONTENT.None);
  else if (content === "PRIMARY_KEY") w.u8(RETURN_CONTENT.PrimaryKey);
  else throw invalid(`The argument 'returnContent' is ${shown(content)}; it must be NONE or PRIMARY_KEY.`);
}

/** Writes the return content of an update, which can also be columns. */
export function writeReturnOrColumns(w: FieldWriter, content: UpdateRow["returnContent"]): void {
  if (typeof content === "object" && content !== null) {
    w.u8(RETURN_CONTENT.AfterModify);
    writeNames(w, checkCall(content, AFTER_MODIFY, "returnContent").afterModify, "returnContent.afterModify");
  } else {
    writeReturn(w, content);
  }
}

/** The number of cells in a set of columns. A column with an array of versions has one for each. */
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

/** Writes a version. Versions are read as numbers, so one that is no safe integer (after the year 287,000) is refused. */
function writeVersion(w: FieldWriter, version: unknown, name: string): void {
  if ((typeof version === "bigint" || Number.isInteger(version)) && !Number.isSafeInteger(Number(version))) {
    throw invalid(
      `Timestamp must be in range [0, INT64_MAX/1000). Here it must be a safe integer too (at most 2^53 - 1): the version of column '${name}' is ${version}.`,
    );
  }
  writeInteger(w, version, () => `the version of column '${name}'`);
}

/** Refuses an argument that changed between counting and writing. */
function changed(argument: string): Error {
  return invalid(`The argument '${argument}' changed while it was read.`);
}

/** Writes the cells of columns, with `kind` before each unless it is negative. There must be `total` of them. */
function writeCells(w: FieldWriter, columns: Record<string, unknown>, names: readonly string[], kind: number, total: number): void {
  let left = total;
  for (const name of names) {
    const value = columns[name];
    if (typeof value === "object" && Array.isArray(value)) {
      for (const cell of value) {
        if (typeof cell !== "object" || cell === null || !has(cell as object, "value")) {
          throw invalid(`The value of column '${name}' is an array with ${kindOf(cell)} in it; it must hold { value, version } only.`, ADVICE);
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

/** Writes the cells of a put. */
export function writeAttributes(w: FieldWriter, attributes: Attributes | undefined): void {
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

/** Writes the changes of an update. */
export function writeChanges(w: FieldWriter, { put, deleteVersions, deleteColumns, increment }: UpdateRow): void {
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
  if (put !== undefined) writeCells(w, put as Record<string, unknown>, puts, COLUMN_OP.Put, putCells);
  for (const [name, some] of versions) {
    for (const version of some) {
      w.name(name);
      w.u8(COLUMN_OP.DeleteVersion);
      writeVersion(w, version, name);
    }
  }
  for (const name of gone) {
    checkName(name, "deleteColumns");
    w.name(name);
    w.u8(COLUMN_OP.DeleteColumn);
  }
  for (const name of counters) {
    w.name(name);
    w.u8(COLUMN_OP.Increment);
    writeInteger(w, increment![name], () => `the increment of column '${name}'`);
  }
}

function writeNames(w: FieldWriter, value: unknown, argument: string): void {
  const names = list(value, argument);
  w.uv(names.length);
  for (const name of names) {
    checkName(name, argument);
    w.name(name);
  }
}

/** Writes read options. */
export function writeReadOptions(w: FieldWriter, options: ReadOptions): void {
  const { columnsToGet, startColumn, endColumn, filter } = options;
  let { maxVersions, timeRange } = options;
  let exact = false;
  if (timeRange !== undefined) {
    if (typeof timeRange !== "object" || timeRange === null)
      throw invalid(`The argument 'timeRange' is ${kindOf(timeRange)}; it must be { start, end } or { version }.`);
    timeRange = checkCall(timeRange, TIME_RANGE, "timeRange");
    exact = timeRange.version !== undefined;
    if (exact ? timeRange.start !== undefined || timeRange.end !== undefined : timeRange.start === undefined || timeRange.end === undefined) {
      throw invalid(
        exact
          ? "Specific tiemstamp and time range cannot be given at the same time. The argument 'timeRange' has a version and an end."
          : "Start and end time must be given at the same time. The argument 'timeRange' lacks one.",
      );
    }
  } else if (maxVersions === undefined) {
    maxVersions = 1;
  }
  const flags =
    (maxVersions === undefined ? 0 : READ_OPTIONS.maxVersions) |
    (timeRange === undefined ? 0 : exact ? READ_OPTIONS.version : READ_OPTIONS.range) |
    (columnsToGet === undefined ? 0 : READ_OPTIONS.columns) |
    (startColumn === undefined ? 0 : READ_OPTIONS.startColumn) |
    (endColumn === undefined ? 0 : READ_OPTIONS.endColumn) |
    (filter === undefined ? 0 : READ_OPTIONS.filter);
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

/** Writes the direction of a range. */
export function writeDirection(w: FieldWriter, direction: GetRangeRequest["direction"] = "FORWARD", argument: string): void {
  const number = DIRECTION.indexOf(direction);
  if (number < 0) throw invalid(`The argument '${argument}' is ${shown(direction)}; it must be FORWARD or BACKWARD.`);
  w.u8(number);
}

/** Writes an end of a range. A missing end is open. */
export function writeRangeEnd(w: FieldWriter, key: unknown, argument: string): void {
  if (key === undefined) w.u8(0);
  else writeKey(w, key, argument, "range");
}

/** Writes a limit; 0 for none. */
export function writeLimit(w: FieldWriter, limit: unknown, argument: string): void {
  if (typeof limit === "number" && limit <= 0) throw invalid("The limit must be greater than 0.");
  if (limit !== undefined) count(limit, argument, 1);
  w.uv(limit ?? 0);
}

/** Writes the keys of rows to read. */
export function writeKeys(w: FieldWriter, value: unknown, argument: string): void {
  const keys = list(value, argument);
  w.uv(keys.length);
  for (const key of keys) writeKey(w, key, argument, "read");
}

/** Refuses a row of a batch with several ways of writing, or with none. */
export function checkOne(writes: readonly unknown[]): void {
  if (writes.filter((one) => one !== undefined).length !== 1) {
    throw invalid("A row of 'batchWriteRow' must have exactly one of 'put', 'update' and 'delete'.");
  }
}
