//! A manifest: the segments, the parts of them that each partition reads, and the start of the log.
//!
//! The payload is a protobuf message, so tagged fields can be added without breaking old databases. Its messages are the
//! structs below. A manifest is whole, or holds changes of the one before. `engine/manifest` turns it into the engine's
//! form, which checks its invariants.

use super::message::{self, Field, Message};
use super::record::{self, Place};
use super::wire::Decoded;
use bytes::Bytes;

/// The stored form of a manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManifestRecord {
    /// The epoch of the leader that wrote it.
    pub epoch: u64,
    /// The first log record that is not completely in segments.
    pub log_start: u64,
    /// A seqno above all those in segments.
    pub next_seqno: u64,
    /// The device's clock when it was written, ms.
    pub clock: i64,
    /// The greatest stamp ever given.
    pub last_stamp: i64,
    /// The segments.
    pub segments: Vec<SegmentRecord>,
    /// The partitions of all trees, ascending by tree and by lower bound.
    pub trees: Vec<TreeRecord>,
    /// An id above every partition's so far; absent before version 2.
    pub next_partition: u64,
    /// The id of the manifest before, if this one holds changes; `segments` are then the new ones. Absent in whole
    /// manifests, and before version 3.
    pub base: u64,
    /// The changes, in this order.
    pub edits: Vec<EditRecord>,
}

impl Message for ManifestRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U64(&mut self.epoch),
            2 => Field::U64(&mut self.log_start),
            3 => Field::U64(&mut self.next_seqno),
            4 => Field::I64(&mut self.clock),
            5 => Field::I64(&mut self.last_stamp),
            6 => Field::Messages(&mut self.segments),
            7 => Field::Messages(&mut self.trees),
            8 => Field::U64(&mut self.next_partition),
            9 => Field::U64(&mut self.base),
            10 => Field::Messages(&mut self.edits),
            _ => return None,
        })
    }
}

/// A change of a manifest: its fields apply in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EditRecord {
    /// Dropped trees.
    pub dropped: Vec<u32>,
    /// Removed parts: each has its segment, and as entries the number of next partitions that it leaves too.
    pub removed: Vec<TreeRecord>,
    /// The tree of a partition to split and the start of the second one, with the shares before the cut of parts that it
    /// cuts: segment, bytes, entries. A part that is not listed is cut in half.
    pub split: Option<TreeRecord>,
    /// The partition to merge with the next one.
    pub merged: Option<TreeRecord>,
    /// Added parts, for the partitions in which they lie; in level 0, the newest last.
    pub added: Vec<TreeRecord>,
}

impl Message for EditRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::Numbers(&mut self.dropped),
            2 => Field::Messages(&mut self.removed),
            3 => Field::Messages(&mut self.split),
            4 => Field::Messages(&mut self.merged),
            5 => Field::Messages(&mut self.added),
            _ => return None,
        })
    }
}

/// A segment in a manifest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SegmentRecord {
    /// Its id.
    pub id: u64,
    /// Its data blocks; the record behind them is its index.
    pub blocks: u32,
    /// Stored bytes of all its records.
    pub bytes: u64,
    /// Entries in it.
    pub entries: u64,
    /// Stored bytes of its index record.
    pub index_bytes: u32,
    /// Entries that only delete. Absent in older manifests, like the fields below.
    pub tombstones: u64,
    /// The oldest version in it, ms, markers of rows included; absent if there is none.
    pub oldest: Option<i64>,
    /// The newest.
    pub newest: Option<i64>,
    /// The seqno of all entries of a loaded segment, which its entries do not have. 0 for others.
    pub seqno: u64,
}

impl Message for SegmentRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U64(&mut self.id),
            2 => Field::U32(&mut self.blocks),
            3 => Field::U64(&mut self.bytes),
            4 => Field::U64(&mut self.entries),
            5 => Field::U32(&mut self.index_bytes),
            6 => Field::U64(&mut self.seqno),
            7 => Field::U64(&mut self.tombstones),
            8 => Field::MaybeI64(&mut self.oldest),
            9 => Field::MaybeI64(&mut self.newest),
            _ => return None,
        })
    }
}

/// A partition of a tree in a manifest. Before version 2 a tree had no partitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeRecord {
    /// The tree's id.
    pub id: u32,
    /// Its levels. In level 0, newest first; keys may overlap. In all others ascending by key, without overlap.
    pub levels: Vec<LevelRecord>,
    /// The partition's id; absent before version 2.
    pub partition: u64,
    /// Its least key, tree included. The first partition of a tree has the tree alone. Absent before version 2.
    pub from: Vec<u8>,
}

impl Message for TreeRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U32(&mut self.id),
            2 => Field::Messages(&mut self.levels),
            3 => Field::U64(&mut self.partition),
            4 => Field::Bytes(&mut self.from),
            _ => return None,
        })
    }
}

/// A level of a partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelRecord {
    /// The parts of segments in it.
    pub parts: Vec<PartRecord>,
}

impl Message for LevelRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::Messages(&mut self.parts),
            _ => return None,
        })
    }
}

/// The part of a segment that a partition reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartRecord {
    /// The segment.
    pub segment: u64,
    /// The least key, tree included.
    pub first_key: Vec<u8>,
    /// The greatest key, tree included.
    pub last_key: Vec<u8>,
    /// Stored bytes of the part, estimated.
    pub bytes: u64,
    /// Entries of the part, estimated.
    pub entries: u64,
    /// For an added part that reaches into several partitions: `bytes` and `entries` are those in the first, these are
    /// those in the others, two numbers each. Since version 4.
    pub behind: Vec<u32>,
}

impl Message for PartRecord {
    fn field(&mut self, tag: u32) -> Option<Field<'_>> {
        Some(match tag {
            1 => Field::U64(&mut self.segment),
            2 => Field::Bytes(&mut self.first_key),
            3 => Field::Bytes(&mut self.last_key),
            4 => Field::U64(&mut self.bytes),
            5 => Field::U64(&mut self.entries),
            6 => Field::Numbers(&mut self.behind),
            _ => return None,
        })
    }
}

impl ManifestRecord {
    /// The record to store at `place`. The message stays unchanged.
    #[must_use]
    pub fn seal(&mut self, place: Place) -> Bytes {
        record::seal(place, &message::encode(self))
    }

    /// Opens the record stored at `place`.
    pub fn open(place: Place, record: &[u8]) -> Decoded<Self> {
        message::decode(&record::open(place, record)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ManifestId;
    use std::fmt::Write;

    /// The bytes of version 2: a tree of two partitions that share a segment.
    #[test]
    fn golden_manifest_of_version_2() {
        let part = |first: &[u8], last: &[u8]| PartRecord {
            segment: 5,
            first_key: first.into(),
            last_key: last.into(),
            bytes: 40,
            entries: 4,
            behind: vec![],
        };
        let partition = |partition: u64, from: &[u8], part: PartRecord| TreeRecord {
            id: 1,
            levels: vec![LevelRecord::default(), LevelRecord { parts: vec![part] }],
            partition,
            from: from.into(),
        };
        let mut record = ManifestRecord {
            epoch: 2,
            log_start: 3,
            next_seqno: 4,
            clock: -5,
            last_stamp: 6,
            segments: vec![SegmentRecord {
                id: 5,
                blocks: 1,
                bytes: 90,
                entries: 8,
                index_bytes: 10,
                ..SegmentRecord::default()
            }],
            trees: vec![
                partition(7, &[0, 0, 0, 1], part(b"a", b"c\xFF")),
                partition(8, &[0, 0, 0, 1, b'd'], part(b"d", b"e")),
            ],
            next_partition: 9,
            ..ManifestRecord::default()
        };
        let hex = message::encode(&mut record).iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let expected = "0802100318042009280c320a08051001185a2008280a3a1d08011200120f0a0d08051201611a0263ff202828041807\
            2204000000013a1d08011200120e0a0c08051201641a0165202828041808220500000001644009";
        assert_eq!(hex, expected);
        assert_eq!(message::decode(&message::encode(&mut record)), Ok(record));
    }

    /// The bytes of version 3 for a change.
    #[test]
    fn golden_manifest_of_version_3() {
        let level = |part: PartRecord| vec![LevelRecord { parts: vec![part] }];
        let removed = PartRecord { segment: 5, ..PartRecord::default() };
        let share = PartRecord { segment: 6, bytes: 7, entries: 8, ..PartRecord::default() };
        let added = PartRecord { first_key: b"a".into(), last_key: b"b".into(), ..share.clone() };
        let edit = EditRecord {
            dropped: vec![3],
            removed: vec![TreeRecord { id: 1, levels: level(removed), partition: 7, from: vec![] }],
            split: Some(TreeRecord { id: 1, levels: level(share), partition: 0, from: b"d".into() }),
            merged: Some(TreeRecord { id: 2, partition: 9, ..TreeRecord::default() }),
            added: vec![TreeRecord { id: 1, levels: level(added), ..TreeRecord::default() }],
        };
        let mut record = ManifestRecord { epoch: 2, base: 4, edits: vec![edit], ..ManifestRecord::default() };
        let expected = [
            8, 2, 72, 4, 82, 58, // epoch, base, an edit
            10, 1, 3, // dropped
            18, 10, 8, 1, 18, 4, 10, 2, 8, 5, 24, 7, // removed
            26, 15, 8, 1, 18, 8, 10, 6, 8, 6, 32, 7, 40, 8, 34, 1, 100, // split
            34, 4, 8, 2, 24, 9, // merged
            42, 18, 8, 1, 18, 14, 10, 12, 8, 6, 18, 1, 97, 26, 1, 98, 32, 7, 40, 8, // added
        ];
        assert_eq!(message::encode(&mut record), expected);
        assert_eq!(message::decode(&expected), Ok(record.clone()));
        let sealed = record.seal(Place::Manifest(ManifestId(5)));
        assert_eq!(sealed[4], 4, "builds that know no edits, or none of several partitions, refuse it by its version");
    }

    /// The bytes of version 4 for a segment that is added to three partitions, and one that is removed from four.
    #[test]
    fn golden_manifest_of_version_4() {
        let level = |part: PartRecord| vec![LevelRecord { parts: vec![part] }];
        let removed = PartRecord { segment: 5, entries: 3, ..PartRecord::default() };
        let added = PartRecord {
            segment: 6,
            first_key: b"a".into(),
            last_key: b"b".into(),
            bytes: 7,
            entries: 8,
            behind: vec![200, 9, 10, 1],
        };
        let edit = EditRecord {
            removed: vec![TreeRecord { id: 1, levels: level(removed), partition: 7, from: vec![] }],
            added: vec![TreeRecord { id: 1, levels: level(added), ..TreeRecord::default() }],
            ..EditRecord::default()
        };
        let mut record = ManifestRecord { epoch: 2, base: 4, edits: vec![edit], ..ManifestRecord::default() };
        let expected = [
            8, 2, 72, 4, 82, 41, // epoch, base, an edit
            18, 12, 8, 1, 18, 6, 10, 4, 8, 5, 40, 3, 24, 7, // removed
            42, 25, 8, 1, 18, 21, 10, 19, 8, 6, 18, 1, 97, 26, 1, 98, 32, 7, 40, 8, 50, 5, 200, 1, 9, 10,
            1, // added
        ];
        assert_eq!(message::encode(&mut record), expected);
        assert_eq!(message::decode(&expected), Ok(record));
    }

    #[test]
    fn golden_segment_with_what_is_in_it() {
        let mut known = SegmentRecord {
            id: 5,
            blocks: 1,
            bytes: 90,
            entries: 8,
            index_bytes: 10,
            tombstones: 2,
            oldest: Some(-3),
            newest: Some(5),
            ..SegmentRecord::default()
        };
        let expected = [8, 5, 16, 1, 24, 90, 32, 8, 40, 10, 56, 2, 64, 5, 72, 10];
        assert_eq!(message::encode(&mut known), expected);
        assert_eq!(message::decode(&expected), Ok(known));
        let before: SegmentRecord = message::decode(&expected[..10]).expect("decodes");
        assert_eq!((before.tombstones, before.oldest, before.newest), (0, None, None));
    }

    #[test]
    fn golden_segment_that_was_loaded() {
        let mut record = SegmentRecord {
            id: 5,
            blocks: 1,
            bytes: 90,
            entries: 8,
            index_bytes: 10,
            seqno: 300,
            ..SegmentRecord::default()
        };
        assert_eq!(message::encode(&mut record), [8, 5, 16, 1, 24, 90, 32, 8, 40, 10, 48, 0xac, 2]);
    }
}
