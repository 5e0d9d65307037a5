//! Splitting and merging partitions: which, when and how (P1).
//!
//! It is looked for in the background, between compactions, whenever the version has changed, and when an operation or a
//! commit comes a second of the steady clock after the last look. No request waits for it: the change is an edit
//! of the manifest like any other.
//!
//! A partition is split when it holds too much, where the blocks of its segments say that about half of it lies before; and
//! when too much was asked of it for some seconds, where half of that was asked before. Rows of one partition key stay
//! together (P2), so one that nearly everything is about or that holds everything is left as it is. Neighbours are merged
//! when together they hold little and little was asked of them for half a minute. What one rule does the other does not
//! undo: neighbours are merged below half of the size, and half of the load, that splits.

use super::Engine;
use super::keys::{full_key, partition_of};
use super::part::Part;
use super::partition::PartitionId;
use super::partition::{Partition, Share};
use super::version::{Edit, Split};
use crate::collections::sort::sort_by;
use crate::error::Result;
use crate::format::segment::SegmentMeta;
use crate::model::TreeId;
use crate::storage::Storage;
use std::rc::Rc;

/// A tree of so many partitions is split no further by load.
const MOST_BY_LOAD: usize = 64;

/// A change of the partitions that is to be made.
#[derive(Debug)]
pub(super) enum Change {
    /// Cut this partition in front of this key, because too much is asked of it, or in halves, because it holds too much.
    Split(TreeId, Option<Rc<Partition>>, Option<Box<[u8]>>),
    /// Make one of this partition and the next one.
    Merge(TreeId, PartitionId),
}

impl Change {
    /// The tree and the partition that change first.
    pub(super) fn place(&self) -> (TreeId, PartitionId) {
        match self {
            Self::Split(tree, partition, _) => (*tree, partition.as_ref().map_or(PartitionId(0), |one| one.id)),
            Self::Merge(tree, left) => (*tree, *left),
        }
    }
}

/// A part, and the index of its segment.
type IndexedPart = (Rc<Part>, Rc<SegmentMeta>);

/// The first keys of the blocks that a part has rows in, ascending; `None` is the first block, if it begins before the
/// part. At least one.
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

/// The partition key in front of which about half of a partition lies, tree included. `None` if it has only one.
fn middle(from: &[u8], parts: &[IndexedPart]) -> Option<Box<[u8]>> {
    // Partition keys that there are, with what the blocks hold that begin with them.
    let mut found: Vec<(&[u8], u64)> = Vec::new();
    for indexed in parts {
        let (part, meta) = indexed;
        let blocks = blocks(indexed);
        let weight = part.bytes / blocks.len() as u64;
        // What begins before the part has no key that is known to be in it.
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

/// What lies before a cut, of the parts that reach over it.
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
        // The last block before the cut reaches over it, with about half of it.
        let of = |amount: u64| amount.saturating_mul(left.saturating_sub(1)) / all;
        shares.push(Share { segment: part.segment.id, bytes: of(part.bytes), entries: of(part.entries) });
    }
    shares
}

impl<S: Storage> Engine<S> {
    /// Cuts the partition of a tree that has the partition key `at`, encoded, in front of it. Nothing happens where a
    /// partition begins with it.
    ///
    /// # Errors
    /// What the storage says; then nothing is cut.
    pub async fn split_partition(&self, tree: TreeId, at: &[u8]) -> Result<()> {
        let at = full_key(tree, at);
        self.apart(async move |engine: Rc<Self>| {
            let _hold = engine.hold_compaction().await?;
            engine.split(tree, engine.partition_with(tree, &at), Some(at)).await
        })
        .await
    }

    /// Makes one partition of this one and the next one of the tree, if there is one.
    ///
    /// # Errors
    /// What the storage says; then they stay two.
    pub async fn merge_partition(&self, tree: TreeId, left: PartitionId) -> Result<()> {
        self.apart(async move |engine: Rc<Self>| {
            let _hold = engine.hold_compaction().await?;
            engine.merge_with_next(tree, left).await
        })
        .await
    }

    fn partition_with(&self, tree: TreeId, key: &[u8]) -> Option<Rc<Partition>> {
        self.view.borrow().version.trees.get(&tree).and_then(|all| all.holding(key)).map(Rc::clone)
    }

    /// What should be done to the partitions: splits by load, splits by size, merges.
    pub(super) fn next_change(&self) -> Option<Change> {
        let (shape, now) = (&self.options.shape, self.clock.steady_ms());
        let view = self.view.borrow();
        for (tree, id) in self.traffic.hot() {
            let partitions = view.version.trees.get(&tree);
            let many = partitions.is_some_and(|partitions| partitions.all().len() >= MOST_BY_LOAD);
            if !many && !view.dropped_trees.contains(tree) && !self.house.compactions.quarantine.holds(id, now) {
                let own = tree.0.to_be_bytes();
                let holder =
                    |key: &[u8]| partitions.and_then(|all| all.holding(key)).map_or(PartitionId(0), |one| one.id);
                if let Some(at) = self.traffic.median(&|key| key.starts_with(&own) && holder(key) == id) {
                    return Some(Change::Split(tree, partitions.and_then(|all| all.get(id)).map(Rc::clone), Some(at)));
                }
            }
            self.traffic.start_anew(tree, id, now);
        }
        // Less than half of what is split, or what was merged would be split again.
        let least = shape.merge_bytes.min(shape.partition_bytes / 2);
        for (&tree, partitions) in view.version.trees.iter() {
            if view.dropped_trees.contains(tree) {
                continue;
            }
            let is_cold = |id| self.traffic.is_cold(tree, id, now);
            let mut before: Option<(PartitionId, u64)> = None;
            for partition in partitions.all() {
                if self.house.compactions.quarantine.holds(partition.id, now) {
                    before = None;
                    continue;
                }
                let (id, bytes) = (partition.id, partition.bytes());
                if bytes > shape.partition_bytes && self.may_be_split(id, bytes) {
                    return Some(Change::Split(tree, Some(Rc::clone(partition)), None));
                }
                if let Some((other, others)) = before.replace((id, bytes))
                    && bytes + others < least
                    && is_cold(other)
                    && is_cold(id)
                {
                    return Some(Change::Merge(tree, other));
                }
            }
        }
        None
    }

    /// Whether a partition has grown since it was found to be of one partition key.
    fn may_be_split(&self, id: PartitionId, bytes: u64) -> bool {
        self.house.compactions.of_one_key.borrow().get(&id).is_none_or(|found| bytes > found + found / 4)
    }

    /// Does what was found to be done.
    pub(super) async fn change_partitions(&self, change: Change) -> Result<()> {
        match change {
            Change::Split(tree, partition, at) => self.split(tree, partition, at).await,
            Change::Merge(tree, left) => self.merge_with_next(tree, left).await,
        }
    }

    /// Looks at the clock: if a second is over, counts what was asked of each partition in it, and starts what follows,
    /// what time has made due, and what was due when the store was opened.
    pub(super) fn tick(&self) {
        let now = self.clock.steady_ms();
        if !self.traffic.is_due(now) || !self.is_ready() {
            return;
        }
        let most = match self.options.shape.partition_operations {
            0 => u64::MAX,
            most => most,
        };
        self.clock.watch(&self.health);
        self.traffic.close_window(now, &self.view.borrow().version.trees, most);
        if self.options.auto_compact && (self.next_change().is_some() || self.is_overdue(now)) {
            self.house.compactions.is_due.set(true);
            self.start_background();
        } else if !self.house.is_awake.get() {
            self.start_background();
        }
    }

    /// Cuts a partition at `at`, which is a tree and a partition key, or else in halves. Only indexes of segments are read.
    async fn split(&self, tree: TreeId, partition: Option<Rc<Partition>>, at: Option<Box<[u8]>>) -> Result<()> {
        let (mut parts, mut from, mut id, mut bytes) = (Vec::new(), [].into(), PartitionId(0), 0);
        if let Some(partition) = partition {
            parts.extend(partition.levels.levels.iter().flatten().map(Rc::clone));
            (from, id, bytes) = (partition.from.clone(), partition.id, partition.bytes());
        }
        let metas = self.metas(&parts).await?;
        let parts: Vec<IndexedPart> = parts.into_iter().zip(metas).collect();
        let Some(at) = at.or_else(|| middle(&from, &parts)) else {
            let (view, mut found) = (self.view.borrow(), self.house.compactions.of_one_key.borrow_mut());
            // Of those that are gone nobody will ask.
            found.retain(|id, _| view.version.trees.values().any(|all| all.get(*id).is_some()));
            found.insert(id, bytes);
            return Ok(());
        };
        let split = Split { tree, shares: shares(&at, &parts), at: at.clone() };
        drop(parts);
        self.commit_edit(Edit { split: Some(split), ..Edit::default() }).await?;
        // Both are given time to show what is asked of them.
        let view = self.view.borrow();
        if let Some(partitions) = view.version.trees.get(&tree) {
            let place = partitions.place_of(&at);
            for partition in partitions.all().get(place.saturating_sub(1)..=place).unwrap_or_default() {
                self.traffic.start_anew(tree, partition.id, self.clock.steady_ms());
            }
        }
        Ok(())
    }

    /// Makes one partition of two. If segments are cut up between them, what the first one holds is written anew before.
    pub(super) async fn merge_with_next(&self, tree: TreeId, left: PartitionId) -> Result<()> {
        let meet = {
            let view = self.view.borrow();
            let Some(partitions) = view.version.trees.get(&tree) else { return Ok(()) };
            let mut from = partitions.all().iter().skip_while(|partition| partition.id != left);
            let Some((left, next)) = from.next().zip(from.next()) else { return Ok(()) };
            left.merged(next).is_some()
        };
        if !meet {
            self.compact_partition(tree, left, self.clock.expiry_ms(&self.health)).await?;
        }
        self.commit_edit(Edit { merge: Some((tree, left)), ..Edit::default() }).await
    }
}
