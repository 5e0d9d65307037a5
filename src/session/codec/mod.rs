//! The bytes between a client and the engine: request frames, response frames, pages.
//!
//! All numbers are little-endian; `uv` is an unsigned LEB128 varint, `sv` a zigzag one, `str` a `uv` length and UTF-8.
//! Nothing here panics on any bytes: damage is reported by what and where.
//!
//! ```text
//! request frame   u8 version | u32 offset of the dictionary | requests | dictionary: uv count, each str
//! request         uv id | u8 op | payload; names of tables and columns are indexes into the dictionary
//!                 op + 0x40 (not BATCH_GET_ROW): in a transaction, whose id comes first: uv id | u8 op | str | payload
//! response frame  u8 version | responses, each: uv id | u8 status (0 ok, 1 error) | uv payload length | payload
//! ```
//!
//! The payloads of requests are in [`request`](RequestReader), those of responses in [`ResponseWriter`], pages in
//! [`PageWriter`].
#![deny(clippy::indexing_slicing)]

mod dictionary;
mod frame;
mod frame_writer;
mod page;
mod page_reader;
mod request;
mod response;
mod response_reader;

use crate::format::wire::{put_bytes, put_sv, put_uv};

pub use crate::format::wire::{Damage, Reader};
pub use dictionary::Dictionary;
pub use frame::{Frame, RequestHead};
pub use frame_writer::FrameWriter;
pub use page::PageWriter;
pub use page_reader::{Page, PageRow};

pub use request::RequestReader;
pub use response::ResponseWriter;
pub use response_reader::{RemoteError, Response, responses};

/// The version of both kinds of frame.
pub const VERSION: u8 = 1;

/// What a request asks for.
pub mod op {
    /// PutRow.
    pub const PUT_ROW: u8 = 1;
    /// UpdateRow.
    pub const UPDATE_ROW: u8 = 2;
    /// DeleteRow.
    pub const DELETE_ROW: u8 = 3;
    /// GetRow.
    pub const GET_ROW: u8 = 4;
    /// BatchGetRow.
    pub const BATCH_GET_ROW: u8 = 5;
    /// GetRange.
    pub const GET_RANGE: u8 = 6;
    /// BatchWriteRow.
    pub const BATCH_WRITE_ROW: u8 = 7;
    /// StartLocalTransaction.
    pub const START_LOCAL_TRANSACTION: u8 = 8;
    /// CommitTransaction.
    pub const COMMIT_TRANSACTION: u8 = 9;
    /// AbortTransaction.
    pub const ABORT_TRANSACTION: u8 = 10;
    /// BatchWriteRow, all rows or none.
    pub const BATCH_WRITE_ROW_ATOMIC: u8 = 11;
    /// Puts of rows by the thousand, stored when asked for.
    pub const PUT_ROWS: u8 = 12;
    /// Asks for the rows of PUT_ROWS to be stored.
    pub const STORE_ROWS: u8 = 13;
    /// Added to an operation that is part of a transaction.
    pub const IN_TRANSACTION: u8 = 0x40;
}

/// The tags of values.
mod tag {
    pub(super) const INTEGER: u8 = 1;
    pub(super) const DOUBLE: u8 = 2;
    pub(super) const FALSE: u8 = 3;
    pub(super) const TRUE: u8 = 4;
    pub(super) const STRING: u8 = 5;
    pub(super) const BINARY: u8 = 6;
    pub(super) const INF_MIN: u8 = 7;
    pub(super) const INF_MAX: u8 = 8;
    pub(super) const AUTO_INCREMENT: u8 = 9;
}
