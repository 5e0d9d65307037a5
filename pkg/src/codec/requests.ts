/**
 * Writes requests: their fields in the order in which the contract declares them (src/session/codec/contract.rs). `request.ts` writes
 * single fields. test/contract.test.ts compares the bytes with those of the engine's own code.
 */

import { checkCall, list } from "./check.js";
import { OP } from "./contract.js";
import type { FieldWriter } from "./frame.js";
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
const PUT_CALL = /* @__PURE__ */ new Set([...PUT, "tableName", "signal"]);

/** PUT_ROW behind its key. */
export function writePutRest(w: FieldWriter, given: PutRow): void {
  writeCondition(w, given.condition);
  writeReturn(w, given.returnContent);
  writeAttributes(w, given.attributes);
}

/** PUT_ROW behind its operation. */
export function writePut(w: FieldWriter, tableName: unknown, given: PutRow): void {
  writeTable(w, tableName);
  writeKey(w, given.primaryKey, "primaryKey", "write");
  writePutRest(w, given);
}

const UPDATE = /* @__PURE__ */ new Set(["primaryKey", "put", "deleteVersions", "deleteColumns", "increment", "condition", "returnContent"]);
const UPDATE_CALL = /* @__PURE__ */ new Set([...UPDATE, "tableName", "signal"]);

/** UPDATE_ROW behind its operation. */
function writeUpdate(w: FieldWriter, tableName: unknown, given: UpdateRow): void {
  writeTable(w, tableName);
  writeKey(w, given.primaryKey, "primaryKey", "write");
  writeCondition(w, given.condition);
  writeReturnOrColumns(w, given.returnContent);
  writeChanges(w, given);
}

const DELETE = /* @__PURE__ */ new Set(["primaryKey", "condition", "returnContent"]);
const DELETE_CALL = /* @__PURE__ */ new Set([...DELETE, "tableName", "signal"]);

/** DELETE_ROW behind its operation. */
function writeDelete(w: FieldWriter, tableName: unknown, given: DeleteRow): void {
  writeTable(w, tableName);
  writeKey(w, given.primaryKey, "primaryKey", "delete");
  writeCondition(w, given.condition);
  writeReturn(w, given.returnContent);
}

const ROW = /* @__PURE__ */ new Set(["tableName", "put", "update", "delete"]);

/** A row of a batch, with its operation before it. */
function writeRow(w: FieldWriter, item: BatchWriteItem, what: string): void {
  const { tableName, put: asPut, update: asUpdate, delete: asDelete } = checkCall(item, ROW, what);
  checkOne([asPut, asUpdate, asDelete]);
  w.mark();
  if (asPut !== undefined) {
    const given = checkCall(asPut, PUT, "put");
    w.u8(OP.PUT_ROW);
    writePut(w, tableName, given);
  } else if (asUpdate !== undefined) {
    const given = checkCall(asUpdate, UPDATE, "update");
    w.u8(OP.UPDATE_ROW);
    writeUpdate(w, tableName, given);
  } else if (asDelete !== undefined) {
    const given = checkCall(asDelete, DELETE, "delete");
    w.u8(OP.DELETE_ROW);
    writeDelete(w, tableName, given);
  }
}

/** A batch of rows: an operation on all of them. Errors name it as `what`. */
function writeBatch(w: FieldWriter, op: OP, rows: readonly BatchWriteItem[], what: string, transaction?: string): void {
  const all = list(rows, "rows") as BatchWriteItem[];
  writeOp(w, op, transaction);
  w.uv(all.length);
  for (const item of all) writeRow(w, item, what);
}

/** PutRow (R1). `readWritten` reads the answer. */
export function putRow(w: FieldWriter, request: PutRowRequest, transaction?: string): void {
  const given = checkCall(request, PUT_CALL, "putRow");
  writeOp(w, OP.PUT_ROW, transaction);
  writePut(w, given.tableName, given);
}

/** UpdateRow (R1). `readWritten` reads the answer. */
export function updateRow(w: FieldWriter, request: UpdateRowRequest, transaction?: string): void {
  const given = checkCall(request, UPDATE_CALL, "updateRow");
  writeOp(w, OP.UPDATE_ROW, transaction);
  writeUpdate(w, given.tableName, given);
}

/** DeleteRow (R1). `readWritten` reads the answer. */
export function deleteRow(w: FieldWriter, request: DeleteRowRequest, transaction?: string): void {
  const given = checkCall(request, DELETE_CALL, "deleteRow");
  writeOp(w, OP.DELETE_ROW, transaction);
  writeDelete(w, given.tableName, given);
}

const GET_ROW_CALL = /* @__PURE__ */ new Set(["primaryKey", ...READ, "tableName", "signal"]);

/** GetRow (R1). `readFound` reads the answer. */
export function getRow(w: FieldWriter, request: GetRowRequest, transaction?: string): void {
  const given = checkCall(request, GET_ROW_CALL, "getRow");
  writeOp(w, OP.GET_ROW, transaction);
  writeTable(w, given.tableName);
  writeKey(w, given.primaryKey, "primaryKey", "read");
  writeReadOptions(w, given);
}

const TABLE_READ = /* @__PURE__ */ new Set(["tableName", "primaryKeys", ...READ]);

/** BatchGetRow (R2). `readBatchFound` reads the answer. */
export function batchGetRow(w: FieldWriter, tables: readonly BatchGetItem[]): void {
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
export function getRange(w: FieldWriter, request: GetRangeRequest, transaction?: string): void {
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
export function batchWriteRow(w: FieldWriter, rows: readonly BatchWriteItem[], transaction?: string): void {
  writeBatch(w, OP.BATCH_WRITE_ROW, rows, "batchWriteRow", transaction);
}

const START_LOCAL_TRANSACTION_CALL = /* @__PURE__ */ new Set(["tableName", "partitionKey", "signal"]);

/** StartLocalTransaction (R7). `readStarted` reads the answer. */
export function startLocalTransaction(w: FieldWriter, request: StartLocalTransactionRequest): void {
  const given = checkCall(request, START_LOCAL_TRANSACTION_CALL, "startLocalTransaction");
  w.u8(OP.START_LOCAL_TRANSACTION);
  writeTable(w, given.tableName);
  writeKey(w, given.partitionKey, "partitionKey", "read");
}

/** CommitTransaction (R7). `readEnded` reads the answer. */
export function commitTransaction(w: FieldWriter, id: string): void {
  w.u8(OP.COMMIT_TRANSACTION);
  w.str(id, "the transaction's id");
}

/** AbortTransaction (R7). `readEnded` reads the answer. */
export function abortTransaction(w: FieldWriter, id: string): void {
  w.u8(OP.ABORT_TRANSACTION);
  w.str(id, "the transaction's id");
}

/** BatchWriteRow, all rows or none. `readBatchWritten` reads the answer. */
export function batchWriteRowAtomic(w: FieldWriter, rows: readonly BatchWriteItem[]): void {
  writeBatch(w, OP.BATCH_WRITE_ROW_ATOMIC, rows, "batchWriteRow");
}

/** Asks for the rows of PUT_ROWS to be stored. `readRowsStored` reads the answer. */
export function storeRows(w: FieldWriter, number: number): void {
  w.u8(OP.STORE_ROWS);
  w.uv(number);
}

const RANGE_CALL = /* @__PURE__ */ new Set(["start", "end", "filter", "tableName", "signal"]);

/** An operation on the rows of a range that pass a filter. Errors name it as `what`. */
function writeRange(w: FieldWriter, op: OP, request: CountRowsRequest | DeleteRangeRequest, what: string): void {
  const given = checkCall(request, RANGE_CALL, what);
  w.u8(op);
  writeTable(w, given.tableName);
  writeRangeEnd(w, given.start, "start");
  writeRangeEnd(w, given.end, "end");
  writeFilterOrNone(w, given.filter, "filter");
}

/** CountRows: the rows of a range, as far as one call reads (R3). `readCounted` reads the answer. */
export function countRows(w: FieldWriter, request: CountRowsRequest): void {
  writeRange(w, OP.COUNT_ROWS, request, "countRows");
}

/** The client has all answers to requests below this number. It gets no answer to this. `readUnsigned` reads the answer. */
export function acknowledge(w: FieldWriter, number: number): void {
  w.u8(OP.ACKNOWLEDGE);
  w.uv(number);
}

/** A request to the door of the Azure Table service (Z2), as it came (`doors/mod.rs`). `readPassed` reads the answer. */
export function azure(w: FieldWriter, bytes: Uint8Array): void {
  w.u8(OP.AZURE);
  w.binary(bytes);
}

/** A request to the door of the Table Store service, as it came (`doors/mod.rs`). `readPassed` reads the answer. */
export function tableStore(w: FieldWriter, bytes: Uint8Array): void {
  w.u8(OP.TABLE_STORE);
  w.binary(bytes);
}

/** Writes of rows of any tables, all of them or none. The service has no such operation. `readBatchWritten` reads the answer. */
export function atomic(w: FieldWriter, rows: readonly BatchWriteItem[]): void {
  writeBatch(w, OP.ATOMIC, rows, "atomic");
}

/** Deletes the rows of a range, as far as one call goes. The service has no such operation. `readCounted` reads the answer. */
export function deleteRange(w: FieldWriter, request: DeleteRangeRequest): void {
  writeRange(w, OP.DELETE_RANGE, request, "deleteRange");
}
