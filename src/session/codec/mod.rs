//! The bytes between a client and the engine: request frames, response frames, pages.
//!
//! All numbers are little-endian; `uv` is an unsigned LEB128 varint, `sv` a zigzag one, `str` a `uv` length and UTF-8.
//! Nothing here panics on any bytes. An error of damage names the field and the position.
//!
//! ```text
//! request frame   u8 version | u32 offset of the dictionary | requests | dictionary: uv count, each str
//! request         uv id | u8 op | payload; names of tables and columns are indexes into the dictionary
//!                 op + 0x40 (not BATCH_GET_ROW): in a transaction, whose id comes first: uv id | u8 op | str | payload
//! response frame  u8 version | responses, each: uv id | u8 status (0 ok, 1 error) | uv payload length | payload
//! ```
//!
//! The payloads are declared in the [contract], pages in [`PageWriter`].
#![deny(clippy::indexing_slicing)]

#[macro_use]
mod layout;

pub mod contract;
mod dictionary;
pub mod fields;
mod frame;
mod frame_writer;
mod numbers;
mod page;
mod page_reader;
mod request;
mod requests;
mod response;
pub mod response_fields;
mod response_reader;
pub mod values;

use crate::format::wire::{put_bytes, put_sv, put_uv};
use numbers::tag;

pub use crate::format::wire::{Damage, Reader};
pub use dictionary::Dictionary;
pub use frame::{Frame, RequestHead};
pub use frame_writer::FrameWriter;
pub use numbers::VERSION;
pub use page::PageWriter;
pub use page_reader::{Page, PageRow};

pub use fields::Field;
pub use request::{Read, RequestReader};
pub use response::ResponseWriter;
pub use response_fields::RemoteError;
pub use response_reader::{Response, Stored, Taken, responses};
