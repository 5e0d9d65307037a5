/**
 * Writes requests: their fields in the order in which the contract declares them (src/session/codec/contract.rs). `request.ts` writes
 * single fields. test/contract.test.ts compares the bytes with those of the engine's own code.
 */

import { checkCall, list } from "./check.js";
import { OP } from "./contract.js";
import type { FrameWriter } from "./frame.js";
import {
  checkOne,
  READ,
  writeAttributes,
  writeChanges,
  writeCondition,
  writeDirection,
  writeFilterOrNone,
  writeKeys,
  writeLimit,
  writeOp,
  writeRangeEnd,
  writeReadOptions,
  writeReturn,
  writeReturnOrColumns,
  writeTable,
} from "./request.js";
import { writeKey } from "./value.js";
import type {
  BatchGetItem,
  BatchWriteItem,
  CountRowsRequest,
  DeleteRangeRequest,
  DeleteRow,
  DeleteRowRequest,
  GetRangeRequest,
  GetRowRequest,
  PutRow,
  PutRowRequest,
  StartLocalTransactionRequest,
  UpdateRow,
  UpdateRowRequest,
} from "../types/rows.js";

const PUT = /* @__PURE__ */ new Set(["primaryKey", "attributes", "condition", "returnContent"]);
const PUT_CALL = /* @__PURE__ */ new Set(["primaryKey", "attributes", "condition", "returnContent", "tableName", "signal"]);

/** PUT_ROW behind its key. */
export function writePutRest(w: FrameWriter, given: PutRow): void {
  writeCondition(w, given.condition);
  writeReturn(w, given.returnContent);
  writeAttributes(w, given.attributes);
}

/** PUT_ROW behind its table. */
export function writePut(w: FrameWriter, given: PutRow): void {
  writeKey(w, given.primaryKey, "primaryKey", "write");
  writePutRest(w, given);
}

const UPDATE = /* @__PURE__ */ new Set(["primaryKey", "put", "deleteVersions", "deleteColumns", "increment", "condition", "returnContent"]);
const UPDATE_CALL = /* @__PURE__ */ new Set([
  "primaryKey",
  "put",
  "deleteVersions",
  "deleteColumns",
  "increment",
  "condition",
  "returnContent",
  "tableName",
  "signal",
]);

/** UPDATE_ROW behind its key. */
export function writeUpdateRest(w: FrameWriter, given: UpdateRow): void {
  writeCondition(w, given.condition);
  writeReturnOrColumns(w, given.returnContent);
  writeChanges(w, given);
}

/** UPDATE_ROW behind its table. */
export function writeUpdate(w: FrameWriter, given: UpdateRow): void {
  writeKey(w, given.primaryKey, "primaryKey", "write");
  writeUpdateRest(w, given);
}

const DELETE = /* @__PURE__ */ new Set(["primaryKey", "condition", "returnContent"]);
const DELETE_CALL = /* @__PURE__ */ new Set(["primaryKey", "condition", "returnContent", "tableName", "signal"]);

/** DELETE_ROW behind its key. */
export function writeDeleteRest(w: FrameWriter, given: DeleteRow): void {
  writeCondition(w, given.condition);
  writeReturn(w, given.returnContent);
}

/** DELETE_ROW behind its table. */
export function writeDelete(w: FrameWriter, given: DeleteRow): void {
  writeKey(w, given.primaryKey, "primaryKey", "delete");
  writeDeleteRest(w, given);
}

const ROW = /* @__PURE__ */ new Set(["tableName", "put", "update", "delete"]);

/** A row of a batch, with its operation before it. */
function writeRow(w: FrameWriter, item: BatchWriteItem, what: string): void {
  const { tableName, put: asPut, update: asUpdate, delete: asDelete } = checkCall(item, ROW, what);
  checkOne([asPut, asUpdate, asDelete]);
  w.mark();
  if (asPut !== undefined) {
    const given = checkCall(asPut, PUT, "put");
    w.u8(OP.PUT_ROW);
    writeTable(w, tableName);
    writePut(w, given);
  } else if (asUpdate !== undefined) {
    const given = checkCall(asUpdate, UPDATE, "update");
    w.u8(OP.UPDATE_ROW);
    writeTable(w, tableName);
    writeUpdate(w, given);
  } else if (asDelete !== undefined) {
    const given = checkCall(asDelete, DELETE, "delete");
    w.u8(OP.DELETE_ROW);
    writeTable(w, tableName);
    writeDelete(w, given);
  }
}

/** PutRow (R1). `readWritten` reads the answer. */
export function putRow(w: FrameWriter, request: PutRowRequest, transaction?: string): void {
  const given = checkCall(request, PUT_CALL, "putRow");
  writeOp(w, OP.PUT_ROW, transaction);
  writeTable(w, given.tableName);
  writePut(w, given);
}

/** UpdateRow (R1). `readWritten` reads the answer. */
export function updateRow(w: FrameWriter, request: UpdateRowRequest, transaction?: string): void {
  const given = checkCall(request, UPDATE_CALL, "updateRow");
  writeOp(w, OP.UPDATE_ROW, transaction);
  writeTable(w, given.tableName);
  writeUpdate(w, given);
}

/** DeleteRow (R1). `readWritten` reads the answer. */
export function deleteRow(w: FrameWriter, request: DeleteRowRequest, transaction?: string): void {
  const given = checkCall(request, DELETE_CALL, "deleteRow");
  writeOp(w, OP.DELETE_ROW, transaction);
  writeTable(w, given.tableName);
  writeDelete(w, given);
}

const GET_ROW_CALL = /* @__PURE__ */ new Set(["primaryKey", ...READ, "tableName", "signal"]);

/** GetRow (R1). `readFound` reads the answer. */
export function getRow(w: FrameWriter, request: GetRowRequest, transaction?: string): void {
  const given = checkCall(request, GET_ROW_CALL, "getRow");
  writeOp(w, OP.GET_ROW, transaction);
  writeTable(w, given.tableName);
  writeKey(w, given.primaryKey, "primaryKey", "read");
  writeReadOptions(w, given);
}

const TABLE_READ = /* @__PURE__ */ new Set(["tableName", "primaryKeys", ...READ]);

/** BatchGetRow (R2). `readBatchFound` reads the answer. */
export function batchGetRow(w: FrameWriter, tables: readonly BatchGetItem[]): void {
  const all = list(tables, "tables") as BatchGetItem[];
  w.u8(OP.BATCH_GET_ROW);
  w.uv(all.length);
  for (const item of all) {
    const given = checkCall(item, TABLE_READ, "batchGetRow");
    writeTable(w, given.tableName);
    writeReadOptions(w, given);
    writeKeys(w, given.primaryKeys, "primaryKeys");
  }
}

const GET_RANGE_CALL = /* @__PURE__ */ new Set(["direction", "start", "end", "limit", ...READ, "tableName", "signal"]);

/** GetRange (R3). `readRange` reads the answer. */
export function getRange(w: FrameWriter, request: GetRangeRequest, transaction?: string): void {
  const given = checkCall(request, GET_RANGE_CALL, "getRange");
  writeOp(w, OP.GET_RANGE, transaction);
  writeTable(w, given.tableName);
  writeDirection(w, given.direction, "direction");
  writeRangeEnd(w, given.start, "start");
  writeRangeEnd(w, given.end, "end");
  writeLimit(w, given.limit, "limit");
  writeReadOptions(w, given);
}

/** BatchWriteRow (R2). `readBatchWritten` reads the answer. */
export function batchWriteRow(w: FrameWriter, rows: readonly BatchWriteItem[], transaction?: string): void {
  const all = list(rows, "rows") as BatchWriteItem[];
  writeOp(w, OP.BATCH_WRITE_ROW, transaction);
  w.uv(all.length);
  for (const item of all) writeRow(w, item, "batchWriteRow");
}

const START_LOCAL_TRANSACTION_CALL = /* @__PURE__ */ new Set(["tableName", "partitionKey", "signal"]);

/** StartLocalTransaction (R7). `readStarted` reads the answer. */
export function startLocalTransaction(w: FrameWriter, request: StartLocalTransactionRequest): void {
  const given = checkCall(request, START_LOCAL_TRANSACTION_CALL, "startLocalTransaction");
  w.u8(OP.START_LOCAL_TRANSACTION);
  writeTable(w, given.tableName);
  writeKey(w, given.partitionKey, "partitionKey", "read");
}

/** CommitTransaction (R7). `readEnded` reads the answer. */
export function commitTransaction(w: FrameWriter, id: string): void {
  w.u8(OP.COMMIT_TRANSACTION);
  w.str(id, "the transaction's id");
}

/** AbortTransaction (R7). `readEnded` reads the answer. */
export function abortTransaction(w: FrameWriter, id: string): void {
  w.u8(OP.ABORT_TRANSACTION);
  w.str(id, "the transaction's id");
}

/** BatchWriteRow, all rows or none. `readBatchWritten` reads the answer. */
export function batchWriteRowAtomic(w: FrameWriter, rows: readonly BatchWriteItem[]): void {
  const all = list(rows, "rows") as BatchWriteItem[];
  w.u8(OP.BATCH_WRITE_ROW_ATOMIC);
  w.uv(all.length);
  for (const item of all) writeRow(w, item, "batchWriteRow");
}

/** Asks for the rows of PUT_ROWS to be stored. `readRowsStored` reads the answer. */
export function storeRows(w: FrameWriter, number: number): void {
  w.u8(OP.STORE_ROWS);
  w.uv(number);
}

const COUNT_ROWS_CALL = /* @__PURE__ */ new Set(["start", "end", "filter", "tableName", "signal"]);

/** CountRows: the rows of a range, as far as one call reads (R3). `readCounted` reads the answer. */
export function countRows(w: FrameWriter, request: CountRowsRequest): void {
  const given = checkCall(request, COUNT_ROWS_CALL, "countRows");
  w.u8(OP.COUNT_ROWS);
  writeTable(w, given.tableName);
  writeRangeEnd(w, given.start, "start");
  writeRangeEnd(w, given.end, "end");
  writeFilterOrNone(w, given.filter, "filter");
}

/** The client has all answers to requests below this number. It gets no answer to this. `readUnsigned` reads the answer. */
export function acknowledge(w: FrameWriter, number: number): void {
  w.u8(OP.ACKNOWLEDGE);
  w.uv(number);
}

/** A request to the door of the Azure Table service (Z2), as it came (`doors/mod.rs`). `readPassed` reads the answer. */
export function azure(w: FrameWriter, bytes: Uint8Array): void {
  w.u8(OP.AZURE);
  w.binary(bytes);
}

/** Writes of rows of any tables, all of them or none. The service has no such operation. `readBatchWritten` reads the answer. */
export function atomic(w: FrameWriter, rows: readonly BatchWriteItem[]): void {
  const all = list(rows, "rows") as BatchWriteItem[];
  w.u8(OP.ATOMIC);
  w.uv(all.length);
  for (const item of all) writeRow(w, item, "atomic");
}

const DELETE_RANGE_CALL = /* @__PURE__ */ new Set(["start", "end", "filter", "tableName", "signal"]);

/** Deletes the rows of a range, as far as one call goes. The service has no such operation. `readCounted` reads the answer. */
export function deleteRange(w: FrameWriter, request: DeleteRangeRequest): void {
  const given = checkCall(request, DELETE_RANGE_CALL, "deleteRange");
  w.u8(OP.DELETE_RANGE);
  writeTable(w, given.tableName);
  writeRangeEnd(w, given.start, "start");
  writeRangeEnd(w, given.end, "end");
  writeFilterOrNone(w, given.filter, "filter");
}
