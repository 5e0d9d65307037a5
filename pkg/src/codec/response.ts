/**
 * Reads response frames: `u8 version = 1`, then responses back to back, each `uv request id | u8 status | uv payload length |
 * payload`. Payloads:
 *
 * ```text
 * error                     str code | uv http status | u8 flags (1 retryable, 2 hint) | str message | [str hint]
 * PUT, UPDATE, DELETE_ROW   uv read | uv write | u8 has row | [page of one row]
 * GET_ROW                   uv read | uv write | page of no or one row
 * GET_RANGE                 uv read | uv write | u8 has next | [u8 count, values: the next start key] | page
 * BATCH_GET                 uv tables | each: uv keys | each: u8 (0 no row, 1 row, 2 error) | uv read or error | page of the rows
 * START                     uv read | uv write | str transaction
 * COMMIT, ABORT             uv read | uv write
 * STORE_ROWS                uv read | uv write | uv last load that is covered | uv loads that failed | each: uv load, error
 * BATCH_WRITE, BATCH_ATOMIC uv rows | each: u8 ok | uv read, uv write, u8 has row, or error | pages of the rows: one for each
 *                           stretch of rows with the same key columns, and at least one
 * PUT_ROWS                  u8 0 | uv load | uv its bytes so far | uv rows | uv refused | each: uv place, error;
 *                           or u8 1 | as BATCH_WRITE
 * ```
 */

import { local, TabStoreError } from "../errors.js";
import type { Row } from "../row.js";
import type { BatchGetResult, BatchWriteResult, Consumed, GetRangeResult, GetRowResult, KeyValue, WriteResult } from "../types.js";
import { Page, setField } from "./page.js";
import { Reader } from "./reader.js";
import { TAG } from "./value.js";

/** What decoding needs to know of the caller. */
export interface DecodeContext {
  /** Whether every integer becomes a bigint. */
  readonly bigints: boolean;
  /** The name of a request in errors. */
  requestId(id: number): string;
}

/** Turns the payload of request `id` into what the caller gets. */
export type Decode<T> = (reader: Reader, context: DecodeContext, id: number) => T;

/**
 * Splits a frame. `visit` gets the request's number, whether it went well, and a reader that stands at its payload and is
 * the same for all of them.
 */
export function eachResponse(frame: Uint8Array, visit: (id: number, ok: boolean, payload: Reader) => void): void {
  const reader = new Reader(frame);
  const version = reader.u8();
  if (version !== 1) throw local("OTSInternalServerError", `The engine answers in version ${version} of its protocol, this package knows version 1: their builds do not match.`);
  while (reader.at < reader.end) {
    const id = reader.uv();
    const status = reader.u8();
    const length = reader.uv();
    const end = reader.at + length;
    if (end > reader.end) throw local("OTSInternalServerError", "A response of the engine ends too early.");
    visit(id, status === 0, reader);
    reader.at = end;
  }
}

/** An error payload. */
export function readError(reader: Reader, requestId: string): TabStoreError {
  const code = reader.str();
  const status = reader.uv();
  const flags = reader.u8();
  const message = reader.str();
  return new TabStoreError({ code, status, retryable: (flags & 1) !== 0, message, hint: (flags & 2) === 0 ? undefined : reader.str(), requestId });
}

/** A page, and the reader moved past it. */
function readPage(reader: Reader, bigints: boolean): Page {
  const page = new Page(reader.bytes, reader.at, bigints);
  reader.at = page.next;
  return page;
}

/** What PUT_ROW, UPDATE_ROW and DELETE_ROW give. */
export const writeResult: Decode<WriteResult> = (reader, { bigints }) => {
  const consumed = { read: reader.uv(), write: reader.uv() };
  return { consumed, row: reader.u8() === 1 ? readPage(reader, bigints).row(0) : null };
};

/** What GET_ROW gives. */
export const getRowResult: Decode<GetRowResult> = (reader, { bigints }) => {
  const consumed = { read: reader.uv(), write: reader.uv() };
  const page = readPage(reader, bigints);
  return { row: page.length > 0 ? page.row(0) : null, consumed };
};

/** A value of a next start key: its strings are inline. */
function inlineValue(reader: Reader, bigints: boolean): KeyValue {
  switch (reader.u8()) {
    case TAG.INTEGER: {
      const value = reader.sv();
      return bigints ? BigInt(value) : value;
    }
    case TAG.STRING:
      return reader.str();
    case TAG.BINARY:
      return reader.binary();
    default:
      throw local("OTSInternalServerError", "A next start key of the engine holds a value that is no key value.");
  }
}

/** What GET_RANGE gives. */
export const getRangeResult: Decode<GetRangeResult> = (reader, { bigints }) => {
  const consumed = { read: reader.uv(), write: reader.uv() };
  let next: KeyValue[] | null = null;
  if (reader.u8() === 1) {
    next = [];
    for (let left = reader.u8(); left > 0; left--) next.push(inlineValue(reader, bigints));
  }
  const page = readPage(reader, bigints);
  let nextStartPrimaryKey: Record<string, KeyValue> | null = null;
  if (next !== null) {
    nextStartPrimaryKey = {};
    const names = page.keyNames;
    for (let i = 0; i < next.length; i++) setField(nextStartPrimaryKey, names[i], next[i]);
  }
  return { rows: page.rows(), nextStartPrimaryKey, consumed };
};

/** A result of a batch while it is put together: rows come after the results. */
interface Result {
  ok: boolean;
  row?: Row | null;
  consumed?: { read: number; write: number };
  error?: TabStoreError;
}

/** What BATCH_GET gives. */
export const batchGetResult: Decode<BatchGetResult[][]> = (reader, context, id) => {
  const tables: BatchGetResult[][] = [];
  for (let left = reader.uv(); left > 0; left--) {
    const found: number[] = [];
    const results: Result[] = [];
    for (let keys = reader.uv(); keys > 0; keys--) {
      const kind = reader.u8();
      if (kind === 2) {
        results.push({ ok: false, error: readError(reader, context.requestId(id)) });
      } else {
        if (kind === 1) found.push(results.length);
        results.push({ ok: true, row: null, consumed: { read: reader.uv(), write: 0 } });
      }
    }
    const rows = readPage(reader, context.bigints).rows();
    for (let i = 0; i < found.length; i++) results[found[i]].row = rows[i];
    tables.push(results as unknown as BatchGetResult[]);
  }
  return tables;
};

/** What BATCH_WRITE gives. */
export const batchWriteResult: Decode<BatchWriteResult[]> = (reader, context, id) => {
  const found: number[] = [];
  const results: Result[] = [];
  for (let left = reader.uv(); left > 0; left--) {
    if (reader.u8() === 1) {
      const consumed = { read: reader.uv(), write: reader.uv() };
      if (reader.u8() === 1) found.push(results.length);
      results.push({ ok: true, consumed, row: null });
    } else {
      results.push({ ok: false, error: readError(reader, context.requestId(id)) });
    }
  }
  // A page for every run of rows with the same key columns; one at least.
  const rows: Row[] = [];
  do rows.push(...readPage(reader, context.bigints).rows());
  while (rows.length < found.length);
  for (let i = 0; i < found.length; i++) results[found[i]].row = rows[i];
  return results as unknown as BatchWriteResult[];
};

/** The result of a row that was taken: it is stored when that is asked for, or earlier. */
export const TAKEN: BatchWriteResult = { ok: true, consumed: { read: 0, write: 0 }, row: null };

/** What PUT_ROWS gives: of rows that were taken, which load of the engine's took them, and how many bytes it has so far. */
export type PutRowsResults = BatchWriteResult[] & { load?: number; bytes?: number };

/** Reads {@link PutRowsResults}. */
export const putRowsResult: Decode<PutRowsResults> = (reader, context, id) => {
  if (reader.u8() === 1) return batchWriteResult(reader, context, id);
  const load = reader.uv();
  const bytes = reader.uv();
  const results = new Array<BatchWriteResult>(reader.uv()).fill(TAKEN);
  for (let left = reader.uv(); left > 0; left--) results[reader.uv()] = { ok: false, error: readError(reader, context.requestId(id)) };
  return Object.assign(results, { load, bytes });
};

/** What COMMIT and ABORT give, and START before the transaction's id. */
export const consumedUnits: Decode<Consumed> = (reader) => ({ read: reader.uv(), write: reader.uv() });

/** What STORE_ROWS gives: what loads up to `until` took is stored, but for those that `failed`. */
export interface RowsStored extends Consumed {
  readonly until: number;
  readonly failed: ReadonlyMap<number, TabStoreError>;
}

/** Reads {@link RowsStored}. */
export const rowsStored: Decode<RowsStored> = (reader, context, id) => {
  const [read, write, until] = [reader.uv(), reader.uv(), reader.uv()];
  const failed = new Map<number, TabStoreError>();
  for (let left = reader.uv(); left > 0; left--) failed.set(reader.uv(), readError(reader, context.requestId(id)));
  return { read, write, until, failed };
};
