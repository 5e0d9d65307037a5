//! Response frames.
//!
//! ```text
//! error            str code | uv http status | u8 flags (1 retryable, 2 hint) | str message | [str hint]
//! PUT, UPDATE, DELETE_ROW  uv read | uv write | u8 has row | [page of one row]
//! GET_ROW          uv read | uv write | page of no or one row
//! GET_RANGE        uv read | uv write | u8 has next | [u8 count, values: the next start key] | page
//! BATCH_GET_ROW    uv tables | each: uv keys | each: u8 (0 no row, 1 row, 2 error) | uv read or error | page of the rows
//! START_LOCAL_TRANSACTION  uv read | uv write | str id
//! COMMIT, ABORT_TRANSACTION  uv read | uv write
//! BATCH_WRITE_ROW  uv rows | each: u8 ok | uv read, uv write, u8 has row, or error | pages of the rows, in order
//! PUT_ROWS         u8 0 | uv load | uv its bytes so far | uv rows | uv refused | each: uv place, error;
//!                  or u8 1 | as BATCH_WRITE_ROW
//! STORE_ROWS       uv read | uv write | uv last load that is covered | uv loads that failed | each: uv load, error
//! ```
//!
//! A page is of one table, so a batch that gives back rows of several has several pages, back to back; one at least.

use super::page::PageWriter;
use super::{VERSION, put_bytes, put_sv, put_uv, tag};
use crate::error::Error;
use crate::model::{CellRef, Consumed, KeyValue, RowSink, ValueRef};
use crate::tablestore::{Found, Outcome, PutRows, RangeRead, ReturnedRow, StoreRows, Written};
use std::rc::Rc;

/// Collects responses and makes frames of them.
#[derive(Debug, Default)]
pub struct ResponseWriter {
    /// Empty, or a frame.
    bytes: Vec<u8>,
}

/// A payload of less than 128 bytes, such as a few numbers.
const SHORT: usize = 1;
/// A payload of any length: the varint of its length is padded, so that it need not be moved once its length is known.
const LONG: usize = 5;

impl ResponseWriter {
    /// Whether there is no response.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The frame of all responses so far.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Takes a buffer to write the next frame into.
    pub fn reuse(&mut self, mut buffer: Vec<u8>) {
        if self.bytes.capacity() == 0 {
            buffer.clear();
            self.bytes = buffer;
        }
    }

    /// A refused request.
    pub fn error(&mut self, id: u64, error: &Error) {
        self.respond(id, 1, LONG, |out| put_error(out, error));
    }

    /// PUT_ROW, UPDATE_ROW, DELETE_ROW.
    pub fn written(&mut self, id: u64, written: &Written) {
        let length = if written.row.is_some() { LONG } else { SHORT };
        self.respond(id, 0, length, |out| {
            put_consumed(out, written.consumed);
            out.push(u8::from(written.row.is_some()));
            if let Some(row) = &written.row {
                put_returned(out, std::iter::once(row));
            }
        });
    }

    /// GET_ROW.
    pub fn found(&mut self, id: u64, found: Found, page: &PageWriter) {
        self.respond(id, 0, LONG, |out| {
            put_consumed(out, found.consumed);
            page.encode(out);
        });
    }

    /// GET_RANGE.
    pub fn range(&mut self, id: u64, range: &RangeRead, page: &PageWriter) {
        self.respond(id, 0, LONG, |out| {
            put_consumed(out, range.consumed);
            out.push(u8::from(range.next.is_some()));
            if let Some(next) = &range.next {
                out.push(next.len() as u8);
                next.iter().for_each(|value| put_key_value(out, value));
            }
            page.encode(out);
        });
    }

    /// BATCH_GET_ROW.
    pub fn batch_found(&mut self, id: u64, tables: &[Vec<Outcome<Found>>], pages: &[PageWriter]) {
        self.respond(id, 0, LONG, |out| {
            put_uv(tables.len() as u64, out);
            for (rows, page) in tables.iter().zip(pages) {
                put_uv(rows.len() as u64, out);
                for row in rows {
                    match row {
                        Ok(found) => {
                            out.push(u8::from(found.row));
                            put_uv(u64::from(found.consumed.read), out);
                        }
                        Err(failure) => {
                            out.push(2);
                            put_error(out, &failure.error);
                        }
                    }
                }
                page.encode(out);
            }
        });
    }

    /// BATCH_WRITE_ROW.
    pub fn batch_written(&mut self, id: u64, rows: &[Outcome<Written>]) {
        self.respond(id, 0, LONG, |out| put_batch(out, rows));
    }

    /// PUT_ROWS.
    pub fn rows_put(&mut self, id: u64, rows: &PutRows) {
        self.respond(id, 0, LONG, |out| match rows {
            PutRows::Taken { load, bytes, rows, refused } => {
                out.push(0);
                put_uv(*load, out);
                put_uv(*bytes, out);
                put_uv(*rows as u64, out);
                put_errors(out, refused.iter().map(|(row, failure)| (*row as u64, &failure.error)));
            }
            PutRows::Written(rows) => {
                out.push(1);
                put_batch(out, rows);
            }
        });
    }

    /// STORE_ROWS.
    pub fn rows_stored(&mut self, id: u64, stored: &StoreRows) {
        self.respond(id, 0, LONG, |out| {
            put_consumed(out, stored.consumed);
            put_uv(stored.until, out);
            put_errors(out, stored.failed.iter().map(|(load, error)| (*load, error)));
        });
    }

    /// START_LOCAL_TRANSACTION, which gives an id; COMMIT_TRANSACTION, ABORT_TRANSACTION.
    pub fn transacted(&mut self, id: u64, consumed: Consumed, transaction: Option<&str>) {
        self.respond(id, 0, SHORT, |out| {
            put_consumed(out, consumed);
            transaction.iter().for_each(|transaction| put_bytes(transaction.as_bytes(), out));
        });
    }

    fn respond(&mut self, id: u64, status: u8, length: usize, payload: impl FnOnce(&mut Vec<u8>)) {
        let out = &mut self.bytes;
        if out.is_empty() {
            out.push(VERSION);
        }
        put_uv(id, out);
        out.push(status);
        let before = out.len();
        out.resize(before + length, 0);
        let start = out.len();
        payload(out);
        let size = out.len() - start;
        debug_assert!(length == LONG || size <= 0x7f);
        patch(out, before, length, size);
    }
}

/// Writes a varint of exactly `length` bytes.
fn patch(out: &mut [u8], at: usize, length: usize, mut value: usize) {
    for (place, byte) in out.iter_mut().skip(at).take(length).enumerate() {
        *byte = (value & 0x7f) as u8 | if place + 1 < length { 0x80 } else { 0 };
        value >>= 7;
    }
}

fn put_consumed(out: &mut Vec<u8>, consumed: Consumed) {
    put_uv(u64::from(consumed.read), out);
    put_uv(u64::from(consumed.write), out);
}

fn put_batch(out: &mut Vec<u8>, rows: &[Outcome<Written>]) {
    put_uv(rows.len() as u64, out);
    for row in rows {
        out.push(u8::from(row.is_ok()));
        match row {
            Ok(written) => {
                put_consumed(out, written.consumed);
                out.push(u8::from(written.row.is_some()));
            }
            Err(failure) => put_error(out, &failure.error),
        }
    }
    put_returned(out, rows.iter().flatten().filter_map(|written| written.row.as_ref()));
}

fn put_error(out: &mut Vec<u8>, error: &Error) {
    put_bytes(error.code().as_str().as_bytes(), out);
    put_uv(u64::from(error.code().status()), out);
    out.push(u8::from(error.retryable()) | if error.hint().is_some() { 2 } else { 0 });
    put_bytes(error.message().as_bytes(), out);
    error.hint().into_iter().for_each(|hint| put_bytes(hint.as_bytes(), out));
}

/// Errors by numbers of what they are about.
fn put_errors<'e>(out: &mut Vec<u8>, errors: impl ExactSizeIterator<Item = (u64, &'e Error)>) {
    put_uv(errors.len() as u64, out);
    for (number, error) in errors {
        put_uv(number, out);
        put_error(out, error);
    }
}

fn put_key_value(out: &mut Vec<u8>, value: &KeyValue) {
    match value {
        KeyValue::Integer(v) => {
            out.push(tag::INTEGER);
            put_sv(*v, out);
        }
        KeyValue::String(v) => {
            out.push(tag::STRING);
            put_bytes(v.as_bytes(), out);
        }
        KeyValue::Binary(v) => {
            out.push(tag::BINARY);
            put_bytes(v, out);
        }
    }
}

/// Pages of rows that writes give back: a new one wherever the key's columns change.
fn put_returned<'r>(out: &mut Vec<u8>, rows: impl Iterator<Item = &'r ReturnedRow>) {
    let mut page = PageWriter::default();
    let mut current: Option<&ReturnedRow> = None;
    for row in rows {
        let same = |last: &ReturnedRow| {
            last.key.len() == row.key.len() && (row.key.is_empty() || Rc::ptr_eq(&last.schema, &row.schema))
        };
        if !current.is_some_and(same) {
            if current.is_some() {
                page.encode(out);
                page.clear();
            }
            if !row.key.is_empty() {
                page.start(&row.schema);
            }
        }
        current = Some(row);
        let key = row.key.iter().map(KeyValue::as_value).collect::<Vec<ValueRef<'_>>>();
        let cell = |(column, version, value): &'r (String, i64, crate::model::Value)| CellRef {
            column,
            version: *version,
            value: value.as_ref(),
        };
        page.row(&key, &row.cells.iter().map(cell).collect::<Vec<_>>());
    }
    page.encode(out);
}
