//! Bytes to structs and back, for all stored data. `FORMAT.md` draws it.
//!
//! Synchronous and pure. Decoders never panic on any bytes, because bytes come from a disk. Bytes that they cannot read
//! are a [`Damage`](wire::Damage). The caller knows the source of the bytes and names the record.

#![deny(clippy::indexing_slicing)]

pub mod block;
pub mod block_columns;
pub mod block_slices;
pub mod columns;
pub mod fragment;
pub mod log;
mod lz4;
pub mod manifest;
pub mod message;
pub mod names;
pub mod record;
pub mod segment;
mod sorted_keys;
pub mod tally;
pub mod wire;
