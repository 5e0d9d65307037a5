//! The metrics of an engine.

use super::background::housekeeping::Housekeeping;
use super::rows::keys::own_key;
use super::space::Space;
use super::store::Store;
use super::versions::partition::{PartitionId, Partitions};
use crate::collections::sort::sort_by;
use crate::model::TreeId;
use crate::storage::SegmentId;

/// The engine's current state and its counters since the opening. Sizes are in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Memory of the memtable that takes writes.
    pub memtable_bytes: u64,
    /// Entries in it.
    pub memtable_entries: u64,
    /// Memtables that wait to be flushed.
    pub frozen_memtables: u64,
    /// Log records in the storage.
    pub log_records: u64,
    /// Their stored bytes.
    pub log_bytes: u64,
    /// Whether the next one goes to a file.
    pub log_in_files: bool,
    /// Segments.
    pub segments: u64,
    /// Their stored bytes.
    pub segment_bytes: u64,
    /// Those that no part names any more, estimated. They are freed when their whole segment goes.
    pub dead_bytes: u64,
    /// Stored bytes of the reserve.
    pub reserve_bytes: u64,
    /// The newest manifest.
    pub manifest: u64,
    /// The leader's epoch.
    pub epoch: u64,
    /// Memory of the block cache.
    pub cache_bytes: u64,
    /// Cache hits.
    pub cache_hits: u64,
    /// Cache misses.
    pub cache_misses: u64,
    /// Commits that carried writes.
    pub commits: u64,
    /// Durable writes.
    pub writes: u64,
    /// Memtables flushed.
    pub flushes: u64,
    /// Stored bytes that flushes and loads wrote.
    pub flushed_bytes: u64,
    /// Compactions that rewrote data.
    pub compactions: u64,
    /// Stored bytes that compactions read.
    pub compacted_bytes_read: u64,
    /// Stored bytes that compactions wrote.
    pub compacted_bytes_written: u64,
    /// Compaction jobs that failed because of a damaged record.
    pub failed_compactions: u64,
    /// Partitions that compaction skips for a while since.
    pub passed_partitions: u64,
    /// The longest time that background work has kept the thread, in us. No call gets an answer meanwhile.
    pub longest_slice_us: u64,
    /// The trees.
    pub trees: Vec<TreeMetrics>,
}

/// A tree's data in segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeMetrics {
    /// The tree.
    pub tree: TreeId,
    /// Its levels, from 0, summed over all partitions.
    pub levels: Vec<LevelMetrics>,
    /// Its partitions, ascending.
    pub partitions: Vec<PartitionMetrics>,
}

/// A partition, and its data in segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionMetrics {
    /// Its id.
    pub id: PartitionId,
    /// Its least key, a partition key, encoded; the first partition's is empty.
    pub from: Vec<u8>,
    /// Stored bytes, estimated.
    pub bytes: u64,
    /// Entries, estimated: rows, or more if rows were written several times.
    pub entries: u64,
    /// Recent operations a second on its rows, estimated.
    pub operations_per_second: u64,
    /// Whether it was found too large and not split, because it has only one partition key.
    pub of_one_key: bool,
}

/// A level's data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelMetrics {
    /// Its segments. A segment shared by partitions, levels or trees counts once: where most of it is read.
    pub segments: u64,
    /// Stored bytes, estimated.
    pub bytes: u64,
    /// Entries, estimated.
    pub entries: u64,
}

impl PartitionMetrics {
    /// Those of a tree, ascending.
    pub(super) fn of(partitions: &Partitions, tree: TreeId, store: &Store, house: &Housekeeping) -> Vec<Self> {
        let now = store.runtime.clock.steady_ms();
        let metrics = partitions.all().iter().map(|partition| Self {
            id: partition.id,
            from: own_key(&partition.from).to_vec(),
            bytes: partition.bytes(),
            entries: partition.entries(),
            operations_per_second: store.traffic.rate(tree, partition.id, now),
            of_one_key: house.compactions.oversized_keys.borrow().contains_key(&partition.id),
        });
        metrics.collect()
    }
}

impl Metrics {
    /// The metrics of an engine with these components.
    pub(super) fn of(store: &Store, space: &Space, house: &Housekeeping) -> Self {
        let view = store.view.borrow();
        let segments = view.version.segments();
        let (cache_bytes, cache_hits, cache_misses) = store.cache.stats();
        let counters = &store.runtime.counters;
        // The place of the largest part of each segment: its size, tree and level.
        let mut homes: Vec<(SegmentId, u64, usize, usize)> = Vec::new();
        let trees = view.version.trees.iter().zip(0..).map(|((&tree, partitions), place)| {
            let mut levels: Vec<LevelMetrics> = Vec::new();
            for (number, level) in partitions.all().iter().flat_map(|one| one.levels.levels.iter().enumerate()) {
                levels.resize_with(levels.len().max(number + 1), LevelMetrics::default);
                if let Some(sum) = levels.get_mut(number) {
                    sum.bytes += level.iter().map(|part| part.bytes).sum::<u64>();
                    sum.entries += level.iter().map(|part| part.entries).sum::<u64>();
                }
                homes.extend(level.iter().map(|part| (part.segment.id, part.bytes, place, number)));
            }
            TreeMetrics { tree, levels, partitions: PartitionMetrics::of(partitions, tree, store, house) }
        });
        let mut trees: Vec<TreeMetrics> = trees.collect();
        sort_by(&mut homes, |a, b| b.cmp(a));
        homes.dedup_by_key(|(segment, ..)| *segment);
        for (_, _, tree, level) in homes {
            if let Some(level) = trees.get_mut(tree).and_then(|tree| tree.levels.get_mut(level)) {
                level.segments += 1;
            }
        }
        let [failed_compactions, passed_partitions] = house.compactions.quarantine.counts();
        Self {
            memtable_bytes: view.memtable.bytes() as u64,
            memtable_entries: view.memtable.entries(),
            frozen_memtables: view.frozen.len() as u64,
            log_records: view.log.len() as u64,
            log_bytes: view.log.iter().map(|(_, bytes)| bytes).sum(),
            log_in_files: store.runtime.storage.has_log_in_files(),
            segments: segments.len() as u64,
            segment_bytes: segments.values().map(|segment| segment.bytes).sum(),
            dead_bytes: segments.values().map(|segment| segment.dead_bytes()).sum(),
            reserve_bytes: space.reserve.bytes(),
            manifest: view.manifests.newest.0,
            epoch: store.leadership.epoch(),
            cache_bytes,
            cache_hits,
            cache_misses,
            commits: counters.commits.get(),
            writes: counters.writes.get(),
            flushes: counters.flushes.get(),
            flushed_bytes: counters.flushed_bytes.get(),
            compactions: counters.compactions.get(),
            compacted_bytes_read: counters.compacted_bytes_read.get(),
            compacted_bytes_written: counters.compacted_bytes_written.get(),
            failed_compactions,
            passed_partitions,
            longest_slice_us: store.runtime.slices.longest_us(),
            trees,
        }
    }
}
