//! Response frames: `u8 version`, then responses, each `uv id | u8 status (0 ok, 1 error) | uv payload length | payload`.
//! The payloads are in the [contract](super::contract).

use super::contract::{
    BatchFound, BatchWritten, Ended, RowFoundGiven, RowWrittenGiven, RowsPut, RowsPutGiven, RowsStored, Started,
    Written,
};
use super::page::PageWriter;
use super::response_fields::{Failure, ResponseField};
use super::{VERSION, put_uv};
use crate::error::Error;
use crate::model::Consumed;
use crate::tablestore::{self, Outcome, PutRows, StoreRows};

/// Collects responses and makes frames of them.
#[derive(Debug, Default)]
pub struct ResponseWriter {
    /// Empty, or a frame.
    bytes: Vec<u8>,
}

/// The length prefix of a payload below 128 bytes.
const SHORT: usize = 1;
/// The length prefix of any payload. Its varint is padded, so the payload is not moved once its length is known.
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
        self.respond(id, 1, LONG, |out| Failure::put(error, out));
    }

    /// A response of this layout.
    pub fn response<P: ResponseField>(&mut self, id: u64, given: P::Given<'_>) {
        self.respond(id, 0, LONG, |out| P::put(given, out));
    }

    /// PUT_ROW, UPDATE_ROW, DELETE_ROW.
    pub fn written(&mut self, id: u64, written: &tablestore::Written) {
        let length = if written.row.is_some() { LONG } else { SHORT };
        self.respond(id, 0, length, |out| Written::put((written.consumed, written.row.as_ref()), out));
    }

    /// BATCH_GET_ROW.
    pub fn batch_found(&mut self, id: u64, tables: &[Vec<Outcome<tablestore::Found>>], pages: &[PageWriter]) {
        let tables = tables.iter().zip(pages);
        let tables = tables.map(|(rows, page)| (rows.iter().map(found_of).collect(), page)).collect();
        self.response::<BatchFound>(id, (tables,));
    }

    /// BATCH_WRITE_ROW.
    pub fn batch_written(&mut self, id: u64, rows: &[Outcome<tablestore::Written>]) {
        self.response::<BatchWritten>(id, batch_of(rows));
    }

    /// PUT_ROWS.
    pub fn rows_put(&mut self, id: u64, rows: &PutRows) {
        let given = match rows {
            PutRows::Taken { load, bytes, rows, refused } => RowsPutGiven::Taken {
                load: *load,
                bytes: *bytes,
                rows: *rows as u64,
                refused: refused.iter().map(|(row, failure)| (*row as u64, &failure.error)).collect(),
            },
            PutRows::Written(rows) => RowsPutGiven::Written { batch: batch_of(rows) },
        };
        self.response::<RowsPut>(id, given);
    }

    /// STORE_ROWS.
    pub fn rows_stored(&mut self, id: u64, stored: &StoreRows) {
        let failed = stored.failed.iter().map(|(load, error)| (*load, error)).collect();
        self.response::<RowsStored>(id, (stored.consumed, stored.until, failed));
    }

    /// START_LOCAL_TRANSACTION, which gives an id; COMMIT_TRANSACTION, ABORT_TRANSACTION.
    pub fn transacted(&mut self, id: u64, consumed: Consumed, transaction: Option<&str>) {
        self.respond(id, 0, SHORT, |out| match transaction {
            Some(transaction) => Started::put((consumed, transaction), out),
            None => Ended::put((consumed,), out),
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

type BatchGiven<'a> = <BatchWritten as ResponseField>::Given<'a>;

fn batch_of(rows: &[Outcome<tablestore::Written>]) -> BatchGiven<'_> {
    let returned = rows.iter().flatten().filter_map(|written| written.row.as_ref());
    (rows.iter().map(row_of).collect(), returned.collect())
}

fn found_of(row: &Outcome<tablestore::Found>) -> RowFoundGiven<'_> {
    match row {
        Ok(found) if found.row => RowFoundGiven::Present { read: found.consumed.read.into() },
        Ok(found) => RowFoundGiven::Absent { read: found.consumed.read.into() },
        Err(failure) => RowFoundGiven::Failed { error: &failure.error },
    }
}

fn row_of(row: &Outcome<tablestore::Written>) -> RowWrittenGiven<'_> {
    match row {
        Ok(written) => RowWrittenGiven::Done { consumed: written.consumed, returns: written.row.is_some() },
        Err(failure) => RowWrittenGiven::Failed { error: &failure.error },
    }
}
