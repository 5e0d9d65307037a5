/**
 * Reads response frames: `u8 version = 1`, then responses back to back, each `uv request id | u8 status | uv payload length |
 * payload`. `responses.ts` reads the payloads, and `parts.ts` an error. This file makes the caller's results of them.
 */

import { local, type TabStoreError } from "../types/errors.js";
import type { Row } from "../types/row.js";
import type { BatchGetResult, BatchWriteResult, GetRangeResult, GetRowResult, KeyValue, WriteResult } from "../types/rows.js";
import { type BatchWritten, readBatchFound, readBatchWritten, readFound, readRange, readRowsPut, readWritten } from "./responses.js";
import { setField } from "./plain-object.js";
import type { DecodeContext } from "./parts.js";
import { Reader } from "./reader.js";

/** Turns the payload of request `id` into the caller's result. */
export type Decode<T> = (reader: Reader, context: DecodeContext, id: number) => T;

/**
 * Splits a frame, which lies in `bytes`. `visit` gets the request's number, whether it succeeded, and a reader at its payload. All
 * calls of `visit` get the same reader.
 */
export function eachResponse(bytes: Uint8Array, visit: (id: number, ok: boolean, payload: Reader) => void, start = 0, end = bytes.length): void {
  const reader = new Reader(bytes, start, end);
  const version = reader.u8();
  if (version !== 1)
    throw local("OTSInternalServerError", `The engine answers in version ${version} of its protocol, this package knows version 1: their builds do not match.`);
  while (reader.at < reader.end) {
    const id = reader.uv();
    const status = reader.u8();
    const length = reader.uv();
    reader.need(length);
    const end = reader.at + length;
    visit(id, status === 0, reader);
    reader.at = end;
  }
}

/** The result of PUT_ROW, UPDATE_ROW and DELETE_ROW. */
export const writeResult: Decode<WriteResult> = readWritten;

/** The result of GET_ROW. */
export const getRowResult: Decode<GetRowResult> = (reader, context) => {
  const { consumed, page } = readFound(reader, context);
  return { row: page.length > 0 ? page.row(0) : null, consumed };
};

/** The result of GET_RANGE. */
export const getRangeResult: Decode<GetRangeResult> = (reader, context) => {
  const { consumed, next, page } = readRange(reader, context);
  let nextStartPrimaryKey: Record<string, KeyValue> | null = null;
  if (next !== null) {
    nextStartPrimaryKey = {};
    const names = page.keyNames;
    for (let i = 0; i < next.length; i++) setField(nextStartPrimaryKey, names[i], next[i]);
  }
  return { rows: page.rows(), nextStartPrimaryKey, consumed };
};

/** A result of a batch under construction: rows come after the results. */
interface Result {
  ok: boolean;
  row?: Row | null;
  consumed?: { read: number; write: number };
  error?: TabStoreError;
}

/** What BATCH_GET_ROW gives. */
export const batchGetResult: Decode<BatchGetResult[][]> = (reader, context, id) =>
  readBatchFound(reader, context, id).tables.map(({ rows, page }) => {
    const found = page.rows();
    let next = 0;
    const result = (row: (typeof rows)[number]): Result =>
      row.kind === "Failed"
        ? { ok: false, error: row.error }
        : { ok: true, row: row.kind === "Present" ? found[next++] : null, consumed: { read: row.read, write: 0 } };
    return rows.map(result) as unknown as BatchGetResult[];
  });

function written({ rows, pages }: BatchWritten): BatchWriteResult[] {
  let returned = 0;
  for (const row of rows) if (row.kind === "Done" && row.returns) returned += 1;
  const given = pages.rows(returned);
  let next = 0;
  const result = (row: (typeof rows)[number]): Result =>
    row.kind === "Failed" ? { ok: false, error: row.error } : { ok: true, consumed: row.consumed, row: row.returns ? given[next++] : null };
  return rows.map(result) as unknown as BatchWriteResult[];
}

/** The result of BATCH_WRITE_ROW and BATCH_WRITE_ROW_ATOMIC. */
export const batchWriteResult: Decode<BatchWriteResult[]> = (reader, context, id) => written(readBatchWritten(reader, context, id));

/** The result of a row that a load took: it is stored on request, or earlier. */
export const TAKEN: BatchWriteResult = { ok: true, consumed: { read: 0, write: 0 }, row: null };

/** The result of PUT_ROWS: for taken rows, the engine's load that took them, and its bytes so far. */
export type PutRowsResults = BatchWriteResult[] & { load?: number; bytes?: number };

/** Reads {@link PutRowsResults}. */
export const putRowsResult: Decode<PutRowsResults> = (reader, context, id) => {
  const put = readRowsPut(reader, context, id);
  if (put.kind === "Written") return written(put.batch);
  const { load, bytes } = put;
  const results = new Array<BatchWriteResult>(put.rows).fill(TAKEN);
  for (const { number, error } of put.refused) results[number] = { ok: false, error };
  return Object.assign(results, { load, bytes });
};
