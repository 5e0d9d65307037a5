//! Background work as an observer hears of it. It costs nothing unless somebody observes.
//!
//! The engine knows one observer, and tells it of work that has begun and that is done. What it makes of that is in
//! [`inspect`](super::inspect), which is a module of its own. Only code of that module makes observers, so the engine can call them.

use super::memory::memtable::Memtable;
use super::rows::row::{DatedFragment, Keep};
use super::store::Store;
use super::versions::part::Part;
use super::versions::partition::{Partition, PartitionId};
use crate::model::TreeId;
use crate::storage::SegmentId;
use std::rc::Rc;

/// The kinds of work that run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkLine {
    Flush,
    Compaction,
    IndexBuild,
}

/// Hears of background work.
pub(super) trait WorkObserver {
    /// Merging begins: what the line did before and did not store is void.
    fn begins(&self, store: &Store, line: WorkLine);

    /// These fragments of a row are merged, newest first, and the row is written as `keep` says.
    fn merges(&self, store: &Store, line: WorkLine, fragments: &[DatedFragment<'_>], keep: Keep);

    /// A compaction has merged a piece of a large row: so many cells, to so many, of which so many were expired or surplus.
    fn merges_piece(&self, puts: u64, merged: u64, expired: u64, surplus: u64);

    /// Some work is done, and about to be stored.
    fn done(&self, store: &Store, done: DoneWork<'_>);

    /// The work that was done last is stored.
    fn stored(&self, store: &Store, line: WorkLine);
}

/// Why compaction does something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionReason {
    /// Level 0 has as many parts as make it due.
    Level0Full,
    /// The partition is small: it becomes one run early, which costs little.
    SmallPartition,
    /// Above the bottom lies too much, compared with the bottom.
    TooMuchAbove,
    /// All versions in the parts are expired.
    Expired,
    /// Much of a part of the bottom is deleted or expired.
    Waste,
    /// The larger part of a segment is read by nobody.
    LeftOver,
    /// Somebody asked for it.
    Asked,
    /// The partition is about to be merged with its neighbour.
    PartitionMerge,
}

/// Why a partition was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitReason {
    /// It holds too much.
    Size,
    /// It has too much traffic, or there is no room to merge all of it, or somebody asked for it.
    Place,
}

/// Parts of a partition that are merged: their levels and segments.
pub(super) type MergedParts<'a> = Vec<(PartitionId, usize, &'a Part)>;

/// A new part, with its tree and level.
pub(super) type NewPart = (TreeId, usize, Rc<Part>);

/// Work that is done.
pub(super) enum DoneWork<'a> {
    /// A memtable was written into these parts, of so many stored bytes.
    Flush { memtable: &'a Memtable, parts: &'a [NewPart], written: u64 },
    /// Parts were merged into new ones, or changed their level, or were dropped.
    Compaction {
        tree: TreeId,
        reason: CompactionReason,
        inputs: MergedParts<'a>,
        to: Option<usize>,
        outputs: &'a [NewPart],
        written: u64,
    },
    /// A partition was cut in front of this key.
    Split { tree: TreeId, left: PartitionId, right: PartitionId, at: &'a [u8], reason: SplitReason },
    /// A partition and the one behind it became one.
    Merge { tree: TreeId, left: PartitionId, right: PartitionId },
    /// An index was built over so many rows.
    Index { tree: TreeId, rows: u64 },
}

/// The parts of these segments, by level.
pub(super) fn merged_parts<'a>(partition: &'a Partition, chosen: &[(usize, SegmentId)]) -> MergedParts<'a> {
    partition.levels.chosen(chosen).map(|(level, part)| (partition.id, level, &**part)).collect()
}
