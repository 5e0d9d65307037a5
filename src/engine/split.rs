//! Splitting and merging partitions: which, when and how (P1).
//!
//! It is looked for in the background, between compactions, whenever the version has changed, and when an operation or a
//! commit comes in another second of the store's clock than the one before. No request waits for it: the change is an edit
//! of the manifest like any other.
//!
//! A partition is split when it holds too much, where the blocks of its segments say that about half of it lies before; and
//! when too much was asked of it for some seconds, where half of that was asked before. Rows of one partition key stay
//! together (P2), so one that nearly everything is about or that holds everything is left as it is. Neighbours are merged
//! when together they hold little and little was asked of them for half a minute. What one rule does the other does not
//! undo: neighbours are merged below half of the size, and half of the load, that splits.

use super::partition::{Partition, Share};
use super::profile::partition_of;
use super::version::{Edit, Part, Split};
use super::{Engine, PartitionId, TreeId, full_key};
use crate::error::Result;
use crate::format::segment::SegmentMeta;
use crate::model::sort::sort_by;
use crate::storage::Storage;
use std::rc::Rc;

/// A tree of so many partitions is split no further by load.
const MOST_BY_LOAD: usize = 64;

/// A change of the partitions that is to be made.
#[derive(Debug)]
pub(super) enum Change {
    /// Cut in front of this key: too much is asked of what is there.
    Split(TreeId, Box<[u8]>),
    /// This partition holds too much.
    Halve(TreeId, Rc<Partition>),
    /// Make one of this partition and the next one.
    Merge(TreeId, PartitionId),
}

/// The first keys of the blocks that a part has rows in, ascending; `None` is the first block, if it begins before the
/// part. At least one.
fn blocks<'m>(part: &Part, meta: &'m SegmentMeta) -> Vec<Option<&'m [u8]>> {
    let first = meta.block_of(&part.first_key);
    let begins = (0..meta.blocks()).skip(first.unwrap_or(0) as usize).filter_map(|block| meta.first_key(block));
    let begins = begins.take_while(|key| **key <= *part.last_key);
    let found: Vec<_> = begins.map(|key| Some(key).filter(|key| **key >= *part.first_key)).collect();
    if found.is_empty() { vec![None] } else { found }
}

impl<S: Storage> Engine<S> {
    /// Cuts the partition of a tree that has the partition key `at`, encoded, in front of it. Nothing happens where a
    /// partition begins with it.
    ///
    /// # Errors
    /// What the storage says; then nothing is cut.
    pub async fn split_partition(&self, tree: TreeId, at: &[u8]) -> Result<()> {
        self.hold_compaction().await?;
        let split = self.split_at(tree, full_key(tree, at)).await;
        self.release_compaction();
        split
    }

    /// Makes one partition of this one and the next one of the tree, if there is one.
    ///
    /// # Errors
    /// What the storage says; then they stay two.
    pub async fn merge_partition(&self, tree: TreeId, left: PartitionId) -> Result<()> {
        self.hold_compaction().await?;
        let merged = self.merge_with_next(tree, left).await;
        self.release_compaction();
        merged
    }

    /// What should be done to the partitions: splits by load, splits by size, merges.
    pub(super) fn next_change(&self) -> Option<Change> {
        let (shape, now) = (&self.options.shape, self.now_ms());
        let state = self.state.borrow();
        for (tree, id) in self.load.hot() {
            let partitions = state.version.trees.get(&tree);
            let most = partitions.is_some_and(|partitions| partitions.all().len() >= MOST_BY_LOAD);
            let own = tree.0.to_be_bytes();
            let holds = |key: &[u8]| match partitions {
                Some(partitions) => partitions.holding(key).is_some_and(|one| one.id == id),
                None => true,
            };
            let at = self.load.median(|key| key.starts_with(&own) && holds(key));
            match at.filter(|_| !most && !state.dropped_trees.contains(&tree)) {
                Some(at) => return Some(Change::Split(tree, at)),
                None => self.load.start_anew(tree, id, now),
            }
        }
        // Less than half of what is split, or what was merged would be split again.
        let least = shape.merge_bytes.min(shape.partition_bytes / 2);
        for (&tree, partitions) in state.version.trees.iter() {
            if state.dropped_trees.contains(&tree) {
                continue;
            }
            let mut before: Option<(PartitionId, u64, bool)> = None;
            for partition in partitions.all() {
                let bytes = partition.bytes();
                if bytes > shape.partition_bytes && self.may_be_split(partition.id, bytes) {
                    return Some(Change::Halve(tree, Rc::clone(partition)));
                }
                if partitions.all().len() == 1 {
                    break;
                }
                let cold = self.load.is_cold(tree, partition.id, now);
                if let Some((id, other, true)) = before
                    && cold
                    && bytes + other < least
                {
                    return Some(Change::Merge(tree, id));
                }
                before = Some((partition.id, bytes, cold));
            }
        }
        None
    }

    /// Whether a partition has grown since it was found to be of one partition key.
    fn may_be_split(&self, id: PartitionId, bytes: u64) -> bool {
        self.of_one_key.borrow().get(&id).is_none_or(|found| bytes > found + found / 4)
    }

    /// Does what was found to be done.
    pub(super) async fn change_partitions(&self, change: Change) -> Result<()> {
        match change {
            Change::Split(tree, at) => self.split_at(tree, at).await,
            Change::Merge(tree, left) => self.merge_with_next(tree, left).await,
            Change::Halve(tree, partition) => match self.middle(&partition).await? {
                Some(at) => {
                    drop(partition);
                    self.split_at(tree, at).await
                }
                None => {
                    self.of_one_key.borrow_mut().insert(partition.id, partition.bytes());
                    Ok(())
                }
            },
        }
    }

    /// Looks at the clock: if a second is over, counts what was asked of each partition in it, and starts what follows.
    pub(super) fn tick(&self) {
        let now = self.now_ms();
        if !self.load.is_due(now) || !self.is_ready() {
            return;
        }
        let most = match self.options.shape.partition_operations {
            0 => u64::MAX,
            most => most,
        };
        self.load.close_window(now, &self.state.borrow().version.trees, most);
        if self.options.auto_compact && self.next_change().is_some() {
            self.state.borrow_mut().shape_changed = true;
            self.start_background();
        }
    }

    /// The partition key in front of which about half of a partition lies, tree included. `None` if it has only one.
    async fn middle(&self, partition: &Partition) -> Result<Option<Box<[u8]>>> {
        let parts: Vec<Rc<Part>> = partition.levels.levels.iter().flatten().map(Rc::clone).collect();
        let metas = self.metas(&parts).await?;
        // Partition keys that there are, with what the blocks hold that begin with them.
        let mut found: Vec<(&[u8], u64)> = Vec::new();
        for (part, meta) in parts.iter().zip(&metas) {
            let blocks = blocks(part, meta);
            let weight = part.bytes / blocks.len().max(1) as u64;
            found.extend(blocks.iter().map(|key| (partition_of(key.unwrap_or(&part.first_key)), weight)));
            // What a cut part begins with is the boundary, which need not be the key of a row.
            if blocks.first().is_some_and(Option::is_none)
                && let Some(first) = found.len().checked_sub(blocks.len())
            {
                found.remove(first);
            }
            let rows = meta.samples().map(|(key, _)| key).filter(|key| part.holds(key));
            found.extend(rows.map(|key| (partition_of(key), 0)));
        }
        sort_by(&mut found, Ord::cmp);
        let all: u64 = found.iter().map(|(_, weight)| weight).sum();
        let Some((first, _)) = found.first() else { return Ok(None) };
        let (mut before, mut best) = (0, None);
        for (at, (key, weight)) in found.iter().enumerate() {
            let begins = at.checked_sub(1).and_then(|last| found.get(last)).is_some_and(|(last, _)| last != key);
            let off = all.abs_diff(2 * before);
            if begins && key != first && **key > *partition.from && best.is_none_or(|(least, _)| off < least) {
                best = Some((off, *key));
            }
            before += weight;
        }
        Ok(best.map(|(_, key)| key.into()))
    }

    /// Cuts a partition at `at`, which is a tree and a partition key. Only what indexes of segments say is read.
    pub(super) async fn split_at(&self, tree: TreeId, at: Box<[u8]>) -> Result<()> {
        let cut: Vec<Rc<Part>> = {
            let state = self.state.borrow();
            let parts = state.version.trees.get(&tree).into_iter().flat_map(|partitions| partitions.parts());
            parts.filter(|part| part.first_key < at && at <= part.last_key).map(Rc::clone).collect()
        };
        let metas = self.metas(&cut).await?;
        let share = |(part, meta): (&Rc<Part>, &Rc<SegmentMeta>)| {
            let blocks = blocks(part, meta);
            let before = blocks.iter().filter(|key| key.is_none_or(|key| *key < *at)).count();
            // The last one of these reaches over the cut, with about half of it.
            let (left, all) = (2 * before as u64 - 1, 2 * blocks.len() as u64);
            let segment = part.segment.id;
            Share {
                segment,
                bytes: part.bytes.saturating_mul(left) / all,
                entries: part.entries.saturating_mul(left) / all,
            }
        };
        let shares = cut.iter().zip(&metas).map(share).collect();
        drop((cut, metas));
        let split = Split { tree, shares, at: at.clone() };
        self.commit_edit(Edit { split: Some(split), ..Edit::default() }).await?;
        // Both are given time to show what is asked of them.
        let state = self.state.borrow();
        let Some(partitions) = state.version.trees.get(&tree) else { return Ok(()) };
        let place = partitions.place_of(&at);
        for partition in partitions.all().iter().take(place + 1).skip(place.saturating_sub(1)) {
            self.load.start_anew(tree, partition.id, self.now_ms());
        }
        Ok(())
    }

    /// Makes one partition of two. If segments are cut up between them, what the first one holds is written anew before.
    pub(super) async fn merge_with_next(&self, tree: TreeId, left: PartitionId) -> Result<()> {
        let meet = {
            let state = self.state.borrow();
            let Some(partitions) = state.version.trees.get(&tree) else { return Ok(()) };
            let mut from = partitions.all().iter().skip_while(|partition| partition.id != left);
            let Some((left, next)) = from.next().zip(from.next()) else { return Ok(()) };
            left.merged(next).is_some()
        };
        if !meet {
            self.compact_partition(tree, left).await?;
        }
        self.commit_edit(Edit { merge: Some((tree, left)), ..Edit::default() }).await
    }
}
