/**
 * Reads responses: their fields in the order in which the contract declares them (src/session/codec/contract.rs). `parts.ts` reads
 * single fields. test/contract.test.ts reads the bytes of the engine's own code.
 */

import type { TabStoreError } from "../types/errors.js";
import type { Row } from "../types/row.js";
import type { Consumed, KeyValue } from "../types/rows.js";
import type { Page } from "./page.js";
import type { DecodeContext, Pages } from "./parts.js";
import { readConsumed, readFailure, readNamedKey, readNextKey, readPage, readPages, readReturnedRow, unknownOutcome } from "./parts.js";
import type { Reader } from "./reader.js";

/** The answer to PUT_ROW, UPDATE_ROW and DELETE_ROW. It has a row if the write returns one. */
export interface Written {
  readonly consumed: Consumed;
  readonly row: Row | null;
}

/** Reads {@link Written}. */
export function readWritten(reader: Reader, context: DecodeContext): Written {
  const consumed = readConsumed(reader);
  const row = reader.u8() === 1 ? readReturnedRow(reader, context) : null;
  return { consumed, row };
}

/** The answer to GET_ROW. Its page has the row, if there is one. */
export interface Found {
  readonly consumed: Consumed;
  readonly page: Page;
}

/** Reads {@link Found}. */
export function readFound(reader: Reader, context: DecodeContext): Found {
  const consumed = readConsumed(reader);
  const page = readPage(reader, context);
  return { consumed, page };
}

/** The answer to GET_RANGE. The range goes on at `next`, if there is one. */
export interface Range {
  readonly consumed: Consumed;
  readonly next: KeyValue[] | null;
  readonly page: Page;
}

/** Reads {@link Range}. */
export function readRange(reader: Reader, context: DecodeContext): Range {
  const consumed = readConsumed(reader);
  const next = reader.u8() === 1 ? readNextKey(reader, context) : null;
  const page = readPage(reader, context);
  return { consumed, next, page };
}

/** The answer to COUNT_ROWS and DELETE_RANGE. The range goes on at `next`, if there is one. */
export interface Counted {
  readonly consumed: Consumed;
  readonly rows: number;
  readonly next: Record<string, KeyValue> | null;
}

/** Reads {@link Counted}. */
export function readCounted(reader: Reader, context: DecodeContext): Counted {
  const consumed = readConsumed(reader);
  const rows = reader.uv();
  const next = reader.u8() === 1 ? readNamedKey(reader, context) : null;
  return { consumed, rows, next };
}

/** The answer to BATCH_GET_ROW. */
export interface BatchFound {
  readonly tables: TableFound[];
}

/** Reads {@link BatchFound}. */
export function readBatchFound(reader: Reader, context: DecodeContext, request: number): BatchFound {
  const tables: TableFound[] = [];
  for (let left = reader.uv(); left > 0; left--) tables.push(readTableFound(reader, context, request));
  return { tables };
}

/** The rows of one table of it. Those that are present are in the page, in their order. */
export interface TableFound {
  readonly rows: RowFound[];
  readonly page: Page;
}

/** Reads {@link TableFound}. */
function readTableFound(reader: Reader, context: DecodeContext, request: number): TableFound {
  const rows: RowFound[] = [];
  for (let left = reader.uv(); left > 0; left--) rows.push(readRowFound(reader, context, request));
  const page = readPage(reader, context);
  return { rows, page };
}

/** One row of it. */
export type RowFound =
  | { readonly kind: "Absent"; readonly read: number }
  | { readonly kind: "Present"; readonly read: number }
  | { readonly kind: "Failed"; readonly error: TabStoreError };

/** Reads {@link RowFound}. */
function readRowFound(reader: Reader, context: DecodeContext, request: number): RowFound {
  switch (reader.u8()) {
    case 0: {
      const read = reader.uv();
      return { kind: "Absent", read };
    }
    case 1: {
      const read = reader.uv();
      return { kind: "Present", read };
    }
    case 2: {
      const error = readFailure(reader, context, request);
      return { kind: "Failed", error };
    }
    default:
      throw unknownOutcome();
  }
}

/** The answer to BATCH_WRITE_ROW, BATCH_WRITE_ROW_ATOMIC and ATOMIC. The pages have the returned rows, in their order. */
export interface BatchWritten {
  readonly rows: RowWritten[];
  readonly pages: Pages;
}

/** Reads {@link BatchWritten}. */
export function readBatchWritten(reader: Reader, context: DecodeContext, request: number): BatchWritten {
  const rows: RowWritten[] = [];
  for (let left = reader.uv(); left > 0; left--) rows.push(readRowWritten(reader, context, request));
  const pages = readPages(reader, context);
  return { rows, pages };
}

/** One row of it. */
export type RowWritten =
  | { readonly kind: "Failed"; readonly error: TabStoreError }
  | { readonly kind: "Done"; readonly consumed: Consumed; readonly returns: boolean };

/** Reads {@link RowWritten}. */
function readRowWritten(reader: Reader, context: DecodeContext, request: number): RowWritten {
  switch (reader.u8()) {
    case 0: {
      const error = readFailure(reader, context, request);
      return { kind: "Failed", error };
    }
    case 1: {
      const consumed = readConsumed(reader);
      const returns = reader.u8() === 1;
      return { kind: "Done", consumed, returns };
    }
    default:
      throw unknownOutcome();
  }
}

/** The answer to START_LOCAL_TRANSACTION. */
export interface Started {
  readonly consumed: Consumed;
  readonly id: string;
}

/** Reads {@link Started}. */
export function readStarted(reader: Reader): Started {
  const consumed = readConsumed(reader);
  const id = reader.str();
  return { consumed, id };
}

/** The answer to COMMIT_TRANSACTION and ABORT_TRANSACTION. */
export interface Ended {
  readonly consumed: Consumed;
}

/** Reads {@link Ended}. */
export function readEnded(reader: Reader): Ended {
  const consumed = readConsumed(reader);
  return { consumed };
}

/** The answer to PUT_ROWS: a load has taken the rows, or they are written as those of a batch. */
export type RowsPut =
  | { readonly kind: "Taken"; readonly load: number; readonly bytes: number; readonly rows: number; readonly refused: Refusal[] }
  | { readonly kind: "Written"; readonly batch: BatchWritten };

/** Reads {@link RowsPut}. */
export function readRowsPut(reader: Reader, context: DecodeContext, request: number): RowsPut {
  switch (reader.u8()) {
    case 0: {
      const load = reader.uv();
      const bytes = reader.uv();
      const rows = reader.uv();
      const refused: Refusal[] = [];
      for (let left = reader.uv(); left > 0; left--) refused.push(readRefusal(reader, context, request));
      return { kind: "Taken", load, bytes, rows, refused };
    }
    case 1: {
      const batch = readBatchWritten(reader, context, request);
      return { kind: "Written", batch };
    }
    default:
      throw unknownOutcome();
  }
}

/** The answer to STORE_ROWS: the loads up to `until` are stored, but those that failed. */
export interface RowsStored {
  readonly consumed: Consumed;
  readonly until: number;
  readonly failed: Refusal[];
}

/** Reads {@link RowsStored}. */
export function readRowsStored(reader: Reader, context: DecodeContext, request: number): RowsStored {
  const consumed = readConsumed(reader);
  const until = reader.uv();
  const failed: Refusal[] = [];
  for (let left = reader.uv(); left > 0; left--) failed.push(readRefusal(reader, context, request));
  return { consumed, until, failed };
}

/** The answer to AZURE, as the service lays it out. */
export interface Passed {
  readonly response: Uint8Array;
}

/** Reads {@link Passed}. */
export function readPassed(reader: Reader): Passed {
  const response = reader.binary();
  return { response };
}

/** A row of PUT_ROWS, or a load of STORE_ROWS, that was refused. */
export interface Refusal {
  readonly number: number;
  readonly error: TabStoreError;
}

/** Reads {@link Refusal}. */
function readRefusal(reader: Reader, context: DecodeContext, request: number): Refusal {
  const number = reader.uv();
  const error = readFailure(reader, context, request);
  return { number, error };
}
