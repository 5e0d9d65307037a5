//! PlainBuffer: rows as the service's clients send and get them.
//!
//! ```text
//! buffer     u32 0x75 | rows
//! row        01 cells of the key | 02 cells, unless there are none | 08 if the row is deleted | extension | 09 u8 checksum
//! cell       03 | 04 u32 length, name | 05 u32 length, value | 06 u8 op | 07 i64 version in ms | 0A u8 checksum
//!            value, op and version may be missing
//! value      u8 type | Integer, Double: 8 bytes · Boolean: 1 byte · String, Binary: u32 length, bytes · others: nothing
//! extension  0B u32 24 | 0C u32 19 | 0D i32 epoch | 0E i64 time in µs | 0F i32 number: in records of a stream alone
//! ```
//!
//! All numbers are little-endian. A cell's checksum is over its name, its value with the type, its version, then its op. A row's is
//! over the checksums of its cells, then 1 if it is deleted, else 0. Some clients send zeros behind the row, so what follows a
//! row is not looked at.

mod read;
mod write;

pub(super) use read::{Cell, Payload, Row, variant};
pub(super) use write::{Extension, RowWriter};

use crc::{CRC_8_SMBUS, Crc, Digest, Table};

/// The start of every buffer.
const HEADER: u32 = 0x75;

// The parts of a row.
const ROW_PK: u8 = 1;
const ROW_DATA: u8 = 2;
const CELL: u8 = 3;
const CELL_NAME: u8 = 4;
const CELL_VALUE: u8 = 5;
const CELL_OP: u8 = 6;
const CELL_TIMESTAMP: u8 = 7;
const DELETE_MARKER: u8 = 8;
const ROW_CHECKSUM: u8 = 9;
const CELL_CHECKSUM: u8 = 10;
const EXTENSION: u8 = 11;
const SEQ_INFO: u8 = 12;
const SEQ_EPOCH: u8 = 13;
const SEQ_TIME: u8 = 14;
const SEQ_ROW: u8 = 15;

// The types of values.
const INTEGER: u8 = 0;
const DOUBLE: u8 = 1;
const BOOLEAN: u8 = 2;
const STRING: u8 = 3;
const NULL: u8 = 6;
const BLOB: u8 = 7;
const INF_MIN: u8 = 9;
const INF_MAX: u8 = 10;
const AUTO_INCREMENT: u8 = 11;

/// The op of a cell that deletes all versions of its column.
pub(super) const DELETE_ALL: u8 = 1;
/// The op of a cell that deletes one version.
pub(super) const DELETE_ONE: u8 = 3;
/// The op of a cell that adds to its column.
pub(super) const INCREMENT: u8 = 4;

static CHECKSUM: Crc<u8, Table<1>> = Crc::<u8, Table<1>>::new(&CRC_8_SMBUS);

/// A checksum that grows.
struct Checksum(Digest<'static, u8, Table<1>>);

impl Checksum {
    fn new() -> Self {
        Self(CHECKSUM.digest())
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn end(self) -> u8 {
        self.0.finalize()
    }
}

#[cfg(test)]
mod tests;
