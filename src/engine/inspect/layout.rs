//! What the store consists of at one instant, without reading a block: the log, the memtables, and the parts of segments that
//! each tree reads.

use super::Inspector;
use crate::collections::sort::sort_by;
use crate::engine::memory::memtable::Memtable;
use crate::engine::rows::keys::{KeyRange, own_key, tree_range};
use crate::engine::versions::part::Part;
use crate::engine::versions::partition::{Partition, PartitionId, Partitions};
use crate::model::TreeId;
use std::rc::Rc;

/// The log, the memtables and the trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Log records in the storage.
    pub log_records: u64,
    /// Their stored bytes.
    pub log_bytes: u64,
    /// The number of the oldest of them that no segment covers.
    pub log_start: u64,
    /// Whether the next one goes to a file.
    pub log_in_files: bool,
    /// The seqno of the newest write that reads see.
    pub seqno: u64,
    /// Newest first: the one that takes writes, then those that wait to be flushed.
    pub memtables: Vec<MemtableLayout>,
    /// The trees with segments, or with rows in a memtable.
    pub trees: Vec<TreeLayout>,
}

/// A memtable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemtableLayout {
    /// Whether it waits to be flushed.
    pub is_frozen: bool,
    /// Its memory.
    pub bytes: u64,
    /// Its entries: rows count once for each write.
    pub entries: u64,
    /// The log record from which on its writes are in the log.
    pub log_start: u64,
    /// The trees with rows here, and the number of these rows.
    pub rows: Vec<(TreeId, u64)>,
}

/// A tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLayout {
    /// The tree.
    pub tree: TreeId,
    /// The ids of its partitions and where each begins, ascending. The first one begins with the tree: an empty key.
    pub partitions: Vec<(PartitionId, Vec<u8>)>,
    /// What it reads of segments: by partition, then level, then as the level is ordered.
    pub parts: Vec<PartLayout>,
}

/// The part of a segment that a partition reads. Keys are encoded, without their tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartLayout {
    /// The segment's id.
    pub segment: u64,
    /// The partition that reads it.
    pub partition: PartitionId,
    /// Its level there.
    pub level: usize,
    /// Its first key, or the boundary at which it was cut.
    pub first_key: Vec<u8>,
    /// Its last key, or the greatest one before a cut.
    pub last_key: Vec<u8>,
    /// Stored bytes, estimated if the segment has several parts.
    pub bytes: u64,
    /// Entries, estimated likewise.
    pub entries: u64,
    /// Blocks of the whole segment.
    pub blocks: u32,
    /// Stored bytes of the whole segment, with its index.
    pub segment_bytes: u64,
    /// Entries of the whole segment.
    pub segment_entries: u64,
    /// Stored bytes of the segment's index with its filter.
    pub index_bytes: u64,
    /// Entries of the whole segment that only delete.
    pub deletes: u64,
    /// The oldest and the newest version in the segment, ms. Unknown in segments of early releases.
    pub versions: Option<(i64, i64)>,
    /// The parts of all partitions and trees that share the segment.
    pub shared_by: u32,
}

impl Inspector<'_> {
    /// The state of the store. Reads no record.
    #[must_use]
    pub fn layout(self) -> Layout {
        let view = self.store.view.borrow();
        let mut memtables = vec![describe(&view.memtable, false)];
        memtables.extend(view.frozen.iter().rev().map(|memtable| describe(memtable, true)));
        let mut trees: Vec<TreeLayout> = view.version.trees.iter().map(|(&tree, all)| tree_layout(tree, all)).collect();
        for &(tree, _) in memtables.iter().flat_map(|memtable| &memtable.rows) {
            let place = trees.partition_point(|other| other.tree < tree);
            if trees.get(place).is_none_or(|other| other.tree != tree) {
                trees.insert(place, TreeLayout { tree, partitions: Vec::new(), parts: Vec::new() });
            }
        }
        Layout {
            log_records: view.log.len() as u64,
            log_bytes: view.log.iter().map(|(_, bytes)| bytes).sum(),
            log_start: view.version.log_start.0,
            log_in_files: self.store.runtime.storage.has_log_in_files(),
            seqno: view.visible_seqno(),
            memtables,
            trees,
        }
    }
}

fn describe(memtable: &Memtable, is_frozen: bool) -> MemtableLayout {
    let rows = memtable.rows();
    let count = |tree: TreeId| {
        let all = tree_range(tree, KeyRange::ALL);
        let (lower, upper) = all.bounds();
        rows.range(lower, upper).count() as u64
    };
    let mut trees = memtable.trees();
    sort_by(&mut trees, Ord::cmp);
    trees.dedup();
    MemtableLayout {
        is_frozen,
        bytes: memtable.bytes() as u64,
        entries: memtable.entries(),
        log_start: memtable.first_log.0,
        rows: trees.into_iter().map(|tree| (tree, count(tree))).collect(),
    }
}

fn tree_layout(tree: TreeId, partitions: &Partitions) -> TreeLayout {
    let from = |partition: &Rc<Partition>| (partition.id, own_key(&partition.from).to_vec());
    TreeLayout {
        tree,
        partitions: partitions.all().iter().map(from).collect(),
        parts: partitions.all().iter().flat_map(parts_of).collect(),
    }
}

fn parts_of(partition: &Rc<Partition>) -> impl Iterator<Item = PartLayout> {
    partition.levels.parts().map(move |(level, part)| part_layout(partition.id, level, part))
}

fn part_layout(partition: PartitionId, level: usize, part: &Part) -> PartLayout {
    let segment = &part.segment;
    PartLayout {
        segment: segment.id.0,
        partition,
        level,
        first_key: own_key(&part.first_key).to_vec(),
        last_key: own_key(&part.last_key).to_vec(),
        bytes: part.bytes,
        entries: part.entries,
        blocks: segment.blocks,
        segment_bytes: segment.bytes,
        segment_entries: segment.entries,
        index_bytes: u64::from(segment.index_bytes),
        deletes: segment.tombstones,
        versions: segment.oldest.zip(segment.newest),
        shared_by: segment.parts.get(),
    }
}
