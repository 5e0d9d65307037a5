/**
 * Reads the fields of responses. The contract (src/session/codec/contract.rs) says which fields a response has, and in which
 * order. `responses.ts` is written by it, and calls the readers of this file.
 */

import { local, TabStoreError } from "../types/errors.js";
import type { Row } from "../types/row.js";
import type { Consumed, KeyValue } from "../types/rows.js";
import { TAG } from "./contract.js";
import { setField } from "./plain-object.js";
import { Page } from "./page.js";
import type { Reader } from "./reader.js";

/** The caller's settings for decoding. */
export interface DecodeContext {
  /** Whether every integer becomes a bigint. */
  readonly bigints: boolean;
  /** The name of a request in errors. */
  requestId(id: number): string;
}

/** An error: `str code | uv http status | u8 flags (1 retryable, 2 hint) | str message | [str hint]`. */
export function readError(reader: Reader, requestId: string): TabStoreError {
  const code = reader.str();
  const status = reader.uv();
  const flags = reader.u8();
  const message = reader.str();
  return new TabStoreError({ code, status, retryable: (flags & 1) !== 0, message, hint: (flags & 2) === 0 ? undefined : reader.str(), requestId });
}

/** The error of a request, or of a part of it. */
export function readFailure(reader: Reader, context: DecodeContext, request: number): TabStoreError {
  return readError(reader, context.requestId(request));
}

/** The engine has answered in a way that this package does not know. */
export function unknownOutcome(): Error {
  return local("OTSInternalServerError", "A response of the engine is of an unknown kind: its build and this package's do not match.");
}

/** Capacity units: `uv read | uv write`. */
export function readConsumed(reader: Reader): Consumed {
  return { read: reader.uv(), write: reader.uv() };
}

/** Reads a page, and moves the reader past it. */
export function readPage(reader: Reader, { bigints }: DecodeContext): Page {
  const page = new Page(reader.bytes, reader.at, bigints, reader.end);
  reader.at = page.next;
  return page;
}

/** The row of a page that holds one. */
export function readReturnedRow(reader: Reader, context: DecodeContext): Row {
  return readPage(reader, context).row(0);
}

/** Pages at the end of a response: one for each stretch of rows with the same key columns, and at least one. */
export interface Pages {
  /** The rows of the pages. The caller knows how many there are. */
  rows(count: number): Row[];
}

/** The pages. They are read once the number of their rows is known. */
export function readPages(reader: Reader, context: DecodeContext): Pages {
  return {
    rows(count) {
      const rows: Row[] = [];
      do rows.push(...readPage(reader, context).rows());
      while (rows.length < count);
      return rows;
    },
  };
}

/** A value of a next start key. Its strings are inline. */
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

/** A next start key: `u8 count | values`. */
export function readNextKey(reader: Reader, { bigints }: DecodeContext): KeyValue[] {
  const next: KeyValue[] = [];
  for (let left = reader.u8(); left > 0; left--) next.push(inlineValue(reader, bigints));
  return next;
}

/** A next start key with the names of its columns: `u8 count | each: str name, value`. */
export function readNamedKey(reader: Reader, { bigints }: DecodeContext): Record<string, KeyValue> {
  const next: Record<string, KeyValue> = {};
  for (let left = reader.u8(); left > 0; left--) setField(next, reader.str(), inlineValue(reader, bigints));
  return next;
}
