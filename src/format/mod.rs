//! Bytes to structs and back: everything that is stored. `FORMAT.md` draws it.
//!
//! Synchronous and pure. Decoders never panic, whatever the bytes: they come from a disk. What they do not understand
//! is a [`Damage`](wire::Damage); the caller, who knows where the bytes came from, names the record.

#![deny(clippy::indexing_slicing)]

pub mod block;
pub mod columns;
pub mod fragment;
pub mod log;
mod lz4;
pub mod manifest;
pub mod message;
pub mod names;
pub mod record;
pub mod segment;
pub mod tally;
pub mod wire;
