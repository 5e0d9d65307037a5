//! Splitting and merging partitions: which ones, when and how (P1).
//!
//! The search runs in the background, between compactions, after each version change. It also runs when an operation or a
//! commit comes a second of the steady clock after the last search. No request waits for it: the change is an ordinary
//! edit of the manifest.
//!
//! A partition that holds too much is split where about half of its data lies before, by the blocks of its segments. A
//! partition with too much traffic for some seconds is split where half of that traffic lies before. Rows of one
//! partition key stay together (P2), so a partition is not split if one key has nearly all traffic or all data.
//! Neighbours are merged if together they hold little and had little traffic for half a minute. The rules do not undo
//! each other: neighbours merge below half of the size, and half of the load, that splits.

use super::{Change, Compactor};
use crate::collections::sort::sort_by;
use crate::engine::base::wiring::News;
use crate::engine::rows::keys::partition_of;
use crate::engine::versions::part::Part;
use crate::engine::versions::partition::{Partition, PartitionId, Share};
use crate::engine::versions::version::{Edit, Split};
use crate::engine::work::{CompactionReason, DoneWork, SplitReason, WorkLine};
use crate::error::Result;
use crate::format::segment::SegmentMeta;
use crate::model::TreeId;
use crate::modules::Module;
use std::rc::Rc;

/// A tree with this many partitions is not split by load any more.
const MOST_BY_LOAD: usize = 64;

/// A part, and the index of its segment.
type IndexedPart = (Rc<Part>, Rc<SegmentMeta>);

/// The first keys of the blocks in which a part has rows, ascending; at least one. The first block is `None` if it begins
/// before the part.
fn blocks((part, meta): &IndexedPart) -> Vec<Option<&[u8]>> {
    let mut found = Vec::new();
    for block in meta.blocks_of(&part.first_key).start..meta.blocks() {
        match meta.first_key(block) {
            Some(key) if *key > *part.last_key => break,
            Some(key) if *key >= *part.first_key => found.push(Some(key)),
            _ => found.push(None),
        }
    }
    if found.is_empty() {
        found.push(None);
    }
    found
}

/// The partition key, tree included, that has about half of a partition before it. `None` if there is only one partition
/// key.
fn middle(from: &[u8], parts: &[IndexedPart]) -> Option<Box<[u8]>> {
    // Partition keys at the start of blocks, with the size of these blocks.
    let mut found: Vec<(&[u8], u64)> = Vec::new();
    for indexed in parts {
        let (part, meta) = indexed;
        let blocks = blocks(indexed);
        let weight = part.bytes / blocks.len() as u64;
        // A block that begins before the part has no key that is known to be in the part.
        for key in blocks.into_iter().flatten() {
            found.push((partition_of(key), weight));
        }
        for (key, _) in meta.samples() {
            if part.holds(key) {
                found.push((partition_of(key), 0));
            }
        }
    }
    sort_by(&mut found, Ord::cmp);
    let (mut all, mut before, mut least) = (0, 0, u64::MAX);
    for (_, weight) in &found {
        all += weight;
    }
    let (mut last, mut best) = (None, None);
    for (key, weight) in found {
        let off = u64::abs_diff(all, 2 * before);
        if last.is_some_and(|last| last != key) && *key > *from && off < least {
            (least, best) = (off, Some(key));
        }
        last = Some(key);
        before += weight;
    }
    best.map(Into::into)
}

/// The shares before a cut of the parts that span it.
fn shares(at: &[u8], parts: &[IndexedPart]) -> Vec<Share> {
    let mut shares = Vec::new();
    for indexed in parts {
        let part = &indexed.0;
        if *part.first_key >= *at || *part.last_key < *at {
            continue;
        }
        let (mut left, mut all) = (0_u64, 0);
        for key in blocks(indexed) {
            all += 2;
            if key.is_none_or(|key| *key < *at) {
                left += 2;
            }
        }
        // The last block before the cut spans it, so about half of it counts.
        let of = |amount: u64| amount.saturating_mul(left.saturating_sub(1)) / all;
        shares.push(Share { segment: part.segment.id, bytes: of(part.bytes), entries: of(part.entries) });
    }
    shares
}

impl Compactor {
    /// Whether there is a next change, for as long as its code is not there: all but where a partition with too much traffic can be
    /// cut. So a store whose partitions are in good shape does not ask for the code.
    pub(super) fn may_need_change(&self) -> bool {
        let (view, now) = (self.store.view.borrow(), self.runtime.clock.steady_ms());
        let mut trees = view.version.trees.iter().filter(|(tree, _)| !view.dropped_trees.contains(**tree));
        !self.store.traffic.hot().is_empty()
            || trees.any(|(&tree, partitions)| {
                let mut pairs = partitions.all().windows(2);
                partitions.all().iter().any(|one| self.is_too_large(one))
                    || pairs.any(|pair| matches!(pair, [left, next] if self.may_merge(tree, [left, next], now)))
            })
    }

    /// Whether a partition holds too much, and has grown since it was found to have one partition key.
    fn is_too_large(&self, partition: &Partition) -> bool {
        let bytes = partition.bytes();
        let grown_from = |found: &u64| bytes > found + found / 4;
        bytes > self.runtime.options.shape.partition_bytes
            && self.house.compactions.oversized_keys.borrow().get(&partition.id).is_none_or(grown_from)
    }

    /// Whether two neighbours hold little together, and had little traffic for a while.
    fn may_merge(&self, tree: TreeId, pair: [&Partition; 2], now: i64) -> bool {
        let shape = &self.runtime.options.shape;
        // Less than half of the split size, or merged partitions would be split again.
        pair.iter().map(|one| one.bytes()).sum::<u64>() < shape.merge_bytes.min(shape.partition_bytes / 2)
            && pair.iter().all(|one| self.store.traffic.is_cold(tree, one.id, now))
    }

    /// The next change of partitions: splits by load, splits by size, merges. A gate of [`Module::Compaction`], which must be
    /// loaded.
    #[inline(never)]
    pub(super) fn next_change(&self) -> Option<Change> {
        let (view, now) = (self.store.view.borrow(), self.runtime.clock.steady_ms());
        for (tree, id) in self.store.traffic.hot() {
            let partitions = view.version.trees.get(&tree);
            let many = partitions.is_some_and(|partitions| partitions.all().len() >= MOST_BY_LOAD);
            if !many && !view.dropped_trees.contains(tree) && !self.house.compactions.quarantine.holds(id, now) {
                let own = tree.0.to_be_bytes();
                let holder =
                    |key: &[u8]| partitions.and_then(|all| all.holding(key)).map_or(PartitionId(0), |one| one.id);
                if let Some(at) = self.store.traffic.median(&|key| key.starts_with(&own) && holder(key) == id) {
                    return Some(Change::Split(tree, partitions.and_then(|all| all.get(id)).map(Rc::clone), Some(at)));
                }
            }
            self.store.traffic.start_anew(tree, id, now);
        }
        for (&tree, partitions) in view.version.trees.iter() {
            if view.dropped_trees.contains(tree) {
                continue;
            }
            let mut before: Option<&Partition> = None;
            for partition in partitions.all() {
                if self.house.compactions.quarantine.holds(partition.id, now) {
                    before = None;
                    continue;
                }
                if self.is_too_large(partition) {
                    return Some(Change::Split(tree, Some(Rc::clone(partition)), None));
                }
                if let Some(left) = before.replace(partition)
                    && self.may_merge(tree, [left, partition], now)
                    && !self.house.compactions.quarantine.is_full(now)
                {
                    return Some(Change::Merge(tree, left.id));
                }
            }
        }
        None
    }

    /// A second is over. Counts each partition's operations, and starts the background work that follows, that has been due
    /// for the grace period, or that was due at the opening.
    pub(crate) fn end_second(&self) {
        let now = self.runtime.clock.steady_ms();
        let most = match self.runtime.options.shape.partition_operations {
            0 => u64::MAX,
            most => most,
        };
        self.runtime.clock.watch(&self.runtime.health);
        self.store.traffic.close_window(now, &self.store.view.borrow().version.trees, most);
        let is_loaded = self.runtime.env.has(Module::Compaction);
        let compactions = &self.house.compactions;
        if self.runtime.options.auto_compact && (is_loaded && self.next_change().is_some() || self.is_overdue(now)) {
            self.store.must_search.set(true);
            self.runtime.tell(News::WorkDue);
        } else if !is_loaded && compactions.may_load(now) && self.may_need_change() {
            compactions.may_need_change.set(true);
            self.runtime.tell(News::WorkDue);
        } else if !self.house.has_started.get() {
            self.runtime.tell(News::WorkDue);
        }
    }

    /// Cuts a partition at `at` (a tree and a partition key), or in halves. Reads only indexes of segments.
    pub(crate) async fn split(
        &self,
        tree: TreeId,
        partition: Option<Rc<Partition>>,
        at: Option<Box<[u8]>>,
    ) -> Result<()> {
        let (mut parts, mut from, mut id, mut bytes) = (Vec::new(), [].into(), PartitionId(0), 0);
        if let Some(partition) = partition {
            parts.extend(partition.levels.levels.iter().flatten().map(Rc::clone));
            (from, id, bytes) = (partition.from.clone(), partition.id, partition.bytes());
        }
        let metas = self.reader.metas(&parts).await?;
        let parts: Vec<IndexedPart> = parts.into_iter().zip(metas).collect();
        let reason = if at.is_some() { SplitReason::Place } else { SplitReason::Size };
        let Some(at) = at.or_else(|| middle(&from, &parts)) else {
            let (view, mut found) = (self.store.view.borrow(), self.house.compactions.oversized_keys.borrow_mut());
            // Partitions that are gone need no entry.
            found.retain(|id, _| view.version.trees.values().any(|all| all.get(*id).is_some()));
            found.insert(id, bytes);
            return Ok(());
        };
        let split = Split { tree, shares: shares(&at, &parts), at: at.clone() };
        drop(parts);
        self.commits.commit_edit(Edit { split: Some(split), ..Edit::default() }).await?;
        // Both halves get time to show their own traffic.
        let view = self.store.view.borrow();
        if let Some(partitions) = view.version.trees.get(&tree) {
            let place = partitions.place_of(&at);
            let halves = partitions.all().get(place.saturating_sub(1)..=place).unwrap_or_default();
            for partition in halves {
                self.store.traffic.start_anew(tree, partition.id, self.runtime.clock.steady_ms());
            }
            if let [left, right] = halves
                && *right.from == *at
            {
                let done = DoneWork::Split { tree, left: left.id, right: right.id, at: &at, reason };
                self.house.tell_done(WorkLine::Compaction, done);
            }
        }
        Ok(())
    }

    /// Merges two partitions. If segments are interleaved between them, the first one is compacted before.
    pub(crate) async fn merge_with_next(&self, tree: TreeId, left: PartitionId) -> Result<()> {
        let (meet, right) = {
            let view = self.store.view.borrow();
            let Some(partitions) = view.version.trees.get(&tree) else { return Ok(()) };
            let mut from = partitions.all().iter().skip_while(|partition| partition.id != left);
            let Some((left, next)) = from.next().zip(from.next()) else { return Ok(()) };
            (left.merged(next).is_some(), next.id)
        };
        if !meet {
            let now = self.runtime.expiry_ms();
            self.compact_partition(tree, left, now, CompactionReason::PartitionMerge).await?;
        }
        self.commits.commit_edit(Edit { merge: Some((tree, left)), ..Edit::default() }).await?;
        self.house.tell_done(WorkLine::Compaction, DoneWork::Merge { tree, left, right });
        Ok(())
    }
}
