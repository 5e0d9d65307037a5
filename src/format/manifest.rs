//! A manifest: which segments there are, which tree reads which part of them, and where the log starts.
//!
//! The payload is a protobuf message (tagged fields can be added without breaking old databases); its messages are the
//! structs below. `engine/version` turns it into the form the engine works with and checks its invariants.

use super::record::{self, Place};
use super::wire::{Damage, Decoded};
use bytes::Bytes;
use prost::Message;

/// The stored form of a manifest.
#[derive(Clone, PartialEq, Message)]
pub struct ManifestRecord {
    /// The epoch of the leader that wrote it.
    #[prost(uint64, tag = "1")]
    pub epoch: u64,
    /// The first log record that is not wholly in segments.
    #[prost(uint64, tag = "2")]
    pub log_start: u64,
    /// A seqno above that of everything in segments.
    #[prost(uint64, tag = "3")]
    pub next_seqno: u64,
    /// The store's clock when it was written, ms.
    #[prost(sint64, tag = "4")]
    pub clock: i64,
    /// The greatest stamp ever given.
    #[prost(sint64, tag = "5")]
    pub last_stamp: i64,
    /// The segments.
    #[prost(message, repeated, tag = "6")]
    pub segments: Vec<SegmentRecord>,
    /// The trees, ascending by id.
    #[prost(message, repeated, tag = "7")]
    pub trees: Vec<TreeRecord>,
}

/// A segment in a manifest.
#[derive(Clone, PartialEq, Message)]
pub struct SegmentRecord {
    /// Its id.
    #[prost(uint64, tag = "1")]
    pub id: u64,
    /// Its data blocks; the record behind them is its index.
    #[prost(uint32, tag = "2")]
    pub blocks: u32,
    /// Stored bytes of all its records.
    #[prost(uint64, tag = "3")]
    pub bytes: u64,
    /// Entries in it.
    #[prost(uint64, tag = "4")]
    pub entries: u64,
    /// Stored bytes of its index record.
    #[prost(uint32, tag = "5")]
    pub index_bytes: u32,
}

/// A tree in a manifest.
#[derive(Clone, PartialEq, Message)]
pub struct TreeRecord {
    /// Its id.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Its levels. In level 0, newest first; keys may overlap. In all others ascending by key, without overlap.
    #[prost(message, repeated, tag = "2")]
    pub levels: Vec<LevelRecord>,
}

/// A level of a tree.
#[derive(Clone, PartialEq, Message)]
pub struct LevelRecord {
    /// The parts of segments in it.
    #[prost(message, repeated, tag = "1")]
    pub parts: Vec<PartRecord>,
}

/// The part of a segment that a tree reads.
#[derive(Clone, PartialEq, Message)]
pub struct PartRecord {
    /// The segment.
    #[prost(uint64, tag = "1")]
    pub segment: u64,
    /// The least key, tree included.
    #[prost(bytes = "vec", tag = "2")]
    pub first_key: Vec<u8>,
    /// The greatest key, tree included.
    #[prost(bytes = "vec", tag = "3")]
    pub last_key: Vec<u8>,
    /// Stored bytes of the part, about.
    #[prost(uint64, tag = "4")]
    pub bytes: u64,
    /// Entries in the part, about.
    #[prost(uint64, tag = "5")]
    pub entries: u64,
}

impl ManifestRecord {
    /// The record to store at `place`.
    #[must_use]
    pub fn seal(&self, place: Place) -> Bytes {
        record::seal(place, &self.encode_to_vec())
    }

    /// Opens the record stored at `place`.
    pub fn open(place: Place, record: &[u8]) -> Decoded<Self> {
        Self::decode(record::open(place, record)?).map_err(|_| Damage { what: "the message cannot be read", at: 0 })
    }
}
