//! A manifest: which segments there are, which partition of which tree reads which part of them, and where the log starts.
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
    /// The partitions of all trees, ascending by tree and by lower bound.
    #[prost(message, repeated, tag = "7")]
    pub trees: Vec<TreeRecord>,
    /// Above the id of every partition there ever was; absent before version 2.
    #[prost(uint64, tag = "8")]
    pub next_partition: u64,
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

/// A partition of a tree in a manifest. Before version 2 a tree was one.
#[derive(Clone, PartialEq, Message)]
pub struct TreeRecord {
    /// The tree's id.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Its levels. In level 0, newest first; keys may overlap. In all others ascending by key, without overlap.
    #[prost(message, repeated, tag = "2")]
    pub levels: Vec<LevelRecord>,
    /// The partition's id; absent before version 2.
    #[prost(uint64, tag = "3")]
    pub partition: u64,
    /// Its least key, tree included: of the tree's first partition the tree alone. Absent before version 2.
    #[prost(bytes = "vec", tag = "4")]
    pub from: Vec<u8>,
}

/// A level of a partition.
#[derive(Clone, PartialEq, Message)]
pub struct LevelRecord {
    /// The parts of segments in it.
    #[prost(message, repeated, tag = "1")]
    pub parts: Vec<PartRecord>,
}

/// The part of a segment that a partition reads.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// What version 2 stores: a tree of two partitions that share a segment.
    #[test]
    fn golden_manifest_of_version_2() {
        let part = |first: &[u8], last: &[u8]| PartRecord {
            segment: 5,
            first_key: first.into(),
            last_key: last.into(),
            bytes: 40,
            entries: 4,
        };
        let partition = |partition: u64, from: &[u8], part: PartRecord| TreeRecord {
            id: 1,
            levels: vec![LevelRecord::default(), LevelRecord { parts: vec![part] }],
            partition,
            from: from.into(),
        };
        let record = ManifestRecord {
            epoch: 2,
            log_start: 3,
            next_seqno: 4,
            clock: -5,
            last_stamp: 6,
            segments: vec![SegmentRecord { id: 5, blocks: 1, bytes: 90, entries: 8, index_bytes: 10 }],
            trees: vec![
                partition(7, &[0, 0, 0, 1], part(b"a", b"c\xFF")),
                partition(8, &[0, 0, 0, 1, b'd'], part(b"d", b"e")),
            ],
            next_partition: 9,
        };
        let hex = record.encode_to_vec().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let expected = "0802100318042009280c320a08051001185a2008280a3a1d08011200120f0a0d08051201611a0263ff202828041807\
            2204000000013a1d08011200120e0a0c08051201641a0165202828041808220500000001644009";
        assert_eq!(hex, expected);
        assert_eq!(ManifestRecord::decode(&*record.encode_to_vec()), Ok(record));
    }
}
