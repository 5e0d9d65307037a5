//! Writes rows for answers.

use super::*;
use crate::model::ValueRef;

/// Writes the rows of a buffer.
#[derive(Default)]
pub(in super::super) struct RowWriter {
    pub(in super::super) bytes: Vec<u8>,
}

/// Where the row of a stream's record stands in its stream.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Extension {
    /// It ascends over all records of a shard, together with the two others.
    pub(in super::super) epoch: i32,
    /// In µs since 1970 UTC.
    pub(in super::super) time: i64,
    /// Among the records of one epoch.
    pub(in super::super) row: i32,
}

impl RowWriter {
    /// Begins a buffer.
    pub(in super::super) fn begin(&mut self) {
        self.bytes.extend(HEADER.to_le_bytes());
    }

    /// Begins a row and its key.
    pub(in super::super) fn row(&mut self) -> RowParts<'_> {
        RowParts { bytes: &mut self.bytes, checksum: Checksum::new(), part: 0 }
    }
}

/// A row that is being written.
pub(in super::super) struct RowParts<'w> {
    bytes: &'w mut Vec<u8>,
    checksum: Checksum,
    /// The part that was begun.
    part: u8,
}

impl RowParts<'_> {
    fn begin(&mut self, part: u8) {
        if self.part != part {
            self.bytes.push(part);
            self.part = part;
        }
    }

    /// Adds a column of the key; all of them come first.
    pub(in super::super) fn key(&mut self, name: &str, value: ValueRef<'_>) {
        self.begin(ROW_PK);
        self.cell(name, Some(value), None, None);
    }

    /// Adds a cell; `op` is what was done to it, if it was not put.
    pub(in super::super) fn attribute(
        &mut self,
        name: &str,
        value: Option<ValueRef<'_>>,
        op: Option<u8>,
        version: Option<i64>,
    ) {
        self.begin(ROW_DATA);
        self.cell(name, value, op, version);
    }

    fn cell(&mut self, name: &str, value: Option<ValueRef<'_>>, op: Option<u8>, version: Option<i64>) {
        let Self { bytes, checksum, .. } = self;
        let mut own = Checksum::new();
        bytes.extend([CELL, CELL_NAME]);
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend(name.as_bytes());
        own.add(name.as_bytes());
        if let Some(value) = value {
            bytes.push(CELL_VALUE);
            let place = bytes.len();
            bytes.extend([0; 4]);
            put_variant(value, bytes);
            let written = bytes.get(place + 4..).unwrap_or_default();
            own.add(written);
            let length = (written.len() as u32).to_le_bytes();
            if let Some(place) = bytes.get_mut(place..place + 4) {
                place.copy_from_slice(&length);
            }
        }
        if let Some(op) = op {
            bytes.extend([CELL_OP, op]);
        }
        if let Some(version) = version {
            bytes.push(CELL_TIMESTAMP);
            bytes.extend(version.to_le_bytes());
            own.add(&version.to_le_bytes());
        }
        if let Some(op) = op {
            own.add(&[op]);
        }
        let own = own.end();
        bytes.extend([CELL_CHECKSUM, own]);
        checksum.add(&[own]);
    }

    /// Ends the row.
    pub(in super::super) fn end(mut self, extension: Option<Extension>) {
        if let Some(Extension { epoch, time, row }) = extension {
            self.bytes.push(EXTENSION);
            self.bytes.extend(24_u32.to_le_bytes());
            self.bytes.push(SEQ_INFO);
            self.bytes.extend(19_u32.to_le_bytes());
            self.bytes.push(SEQ_EPOCH);
            self.bytes.extend(epoch.to_le_bytes());
            self.bytes.push(SEQ_TIME);
            self.bytes.extend(time.to_le_bytes());
            self.bytes.push(SEQ_ROW);
            self.bytes.extend(row.to_le_bytes());
        }
        self.checksum.add(&[0]);
        self.bytes.extend([ROW_CHECKSUM, self.checksum.end()]);
    }
}

/// Appends a value behind its type.
fn put_variant(value: ValueRef<'_>, out: &mut Vec<u8>) {
    let sized = |tag: u8, bytes: &[u8], out: &mut Vec<u8>| {
        out.push(tag);
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend(bytes);
    };
    match value {
        ValueRef::Integer(value) => {
            out.push(INTEGER);
            out.extend(value.to_le_bytes());
        }
        ValueRef::Double(value) => {
            out.push(DOUBLE);
            out.extend(value.to_le_bytes());
        }
        ValueRef::Boolean(value) => out.extend([BOOLEAN, u8::from(value)]),
        ValueRef::String(value) => sized(STRING, value.as_bytes(), out),
        ValueRef::Binary(value) => sized(BLOB, value, out),
    }
}
