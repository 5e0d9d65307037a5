//! Partitions: a tree is cut between partition keys, and each piece has levels of its own.
//!
//! Splitting and merging change only the parts: a part that spans the cut becomes two parts of one segment, and two such
//! parts become one again. No data is read or written. The log, the memtables and commits know no partitions. A flush's
//! segment is cut at the boundaries that exist at its commit.
//!
//! A cut part ends with the greatest key that can be stored before the boundary; the other part begins with the boundary.
//! So the keys show whether two parts of a segment meet.

use super::part::{Level, Part, TreeLevels, add_older};
use crate::collections::sort::sort_by;
use crate::engine::rows::keys::{KeyRange, before};
use crate::model::TreeId;
use crate::storage::SegmentId;
use std::cell::{Cell, RefCell};
use std::cmp::Ordering;
use std::ops::{Bound, Range};
use std::rc::{Rc, Weak};

/// The id of a partition; never reused in an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartitionId(pub u64);

/// A piece of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) id: PartitionId,
    /// Its lower bound: tree and partition key, the tree alone for the first partition. Its keys go up to the next
    /// partition's bound.
    pub(crate) from: Box<[u8]>,
    pub(crate) levels: TreeLevels,
    findings: Findings,
}

/// Cached findings about a partition of the current version. A changed partition is a new object without findings.
#[derive(Debug, Default)]
struct Findings {
    bytes: Cell<Option<u64>>,
    /// No compaction is due: valid for this count of left-over segments, until versions after this one (ms) expire.
    in_shape: Cell<Option<(u64, i64)>>,
}

impl Clone for Findings {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl PartialEq for Findings {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Findings {}

/// The estimated share of a part before its cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) segment: SegmentId,
    /// Stored bytes.
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
}

/// The partitions of a tree, ascending; at least one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Partitions(Vec<Rc<Partition>>);

/// Cuts a part at a boundary inside it.
fn cut(part: &Part, at: &[u8], bytes: u64, entries: u64) -> (Rc<Part>, Rc<Part>) {
    let (bytes, entries) = (bytes.min(part.bytes), entries.min(part.entries));
    let left = Part { last_key: before(at), bytes, entries, ..part.clone() };
    let right =
        Part { first_key: at.into(), bytes: part.bytes - bytes, entries: part.entries - entries, ..part.clone() };
    (Rc::new(left), Rc::new(right))
}

/// Joins two parts of a segment.
fn join(left: &Part, right: &Part) -> Rc<Part> {
    let (bytes, entries) = (left.bytes.saturating_add(right.bytes), left.entries.saturating_add(right.entries));
    Rc::new(Part { last_key: right.last_key.clone(), bytes, entries, ..left.clone() })
}

impl Partition {
    /// The first partition of a tree.
    pub(crate) fn first(tree: TreeId, id: PartitionId, levels: TreeLevels) -> Self {
        Self::new(id, tree.0.to_be_bytes().into(), levels)
    }

    pub(crate) fn new(id: PartitionId, from: Box<[u8]>, levels: TreeLevels) -> Self {
        Self { id, from, levels, findings: Findings::default() }
    }

    /// The number of parts in level 0.
    pub(crate) fn level0_len(&self) -> usize {
        self.levels.levels.first().map_or(0, Vec::len)
    }

    /// Stored bytes, estimated.
    pub(crate) fn bytes(&self) -> u64 {
        self.findings.bytes.get().unwrap_or_else(|| {
            let bytes = self.levels.levels.iter().flatten().map(|part| part.bytes).sum();
            self.findings.bytes.set(Some(bytes));
            bytes
        })
    }

    /// Whether an earlier search has found nothing to compact, and that still holds.
    pub(crate) fn is_in_shape(&self, left_over: u64, expired_before: i64) -> bool {
        self.findings.in_shape.get().is_some_and(|(known, until)| known == left_over && expired_before <= until)
    }

    /// Remembers that nothing is to be compacted until versions after `until` are expired.
    pub(crate) fn set_in_shape(&self, left_over: u64, until: i64) {
        self.findings.in_shape.set(Some((left_over, until)));
    }

    /// Entries, estimated.
    pub(crate) fn entries(&self) -> u64 {
        self.levels.levels.iter().flatten().map(|part| part.entries).sum()
    }

    /// This partition and the next one as one. `None` if two parts of a segment would not meet: then one of the
    /// partitions has to be compacted first.
    pub(crate) fn merged(&self, next: &Self) -> Option<Self> {
        let (none, depth) = (Level::new(), self.levels.levels.len().max(next.levels.levels.len()));
        let level = |of: &'_ Self, number: usize| of.levels.levels.get(number).unwrap_or(&none).clone();
        let mut levels = Vec::with_capacity(depth);
        for number in 0..depth {
            let (left, mut right) = (level(self, number), level(next, number));
            let mut merged = Level::with_capacity(left.len() + right.len());
            // Both lists keep the order in which segments came into level 0. Segments that do not reach into both
            // partitions may come in any order.
            for part in left {
                let same = right.iter().position(|other| other.segment.id == part.segment.id);
                match same.and_then(|at| Some((at, right.get(at)?))) {
                    Some((at, other)) if part.last_key == before(&other.first_key) => {
                        let joined = join(&part, other);
                        merged.extend(right.drain(..at));
                        right.remove(0);
                        merged.push(joined);
                    }
                    _ => merged.push(part),
                }
            }
            merged.append(&mut right);
            levels.push(merged);
        }
        let levels = TreeLevels { levels };
        levels.names_segments_once().then(|| Self::new(self.id, self.from.clone(), levels))
    }
}

/// The partitions of a tree as they were last looked at.
#[derive(Debug, Default)]
pub struct ShapeSeen(RefCell<Option<Weak<Partitions>>>);

impl ShapeSeen {
    /// Whether these are other partitions than the last ones; they are the last ones from now on.
    pub(in crate::engine) fn is_other(&self, partitions: Option<&Rc<Partitions>>) -> bool {
        let now = partitions.map(Rc::downgrade).unwrap_or_default();
        // It keeps its place in memory, so that no other one is taken for it.
        let before = self.0.borrow();
        if before.as_ref().is_some_and(|before| before.ptr_eq(&now)) {
            return false;
        }
        drop(before);
        self.0.replace(Some(now));
        true
    }
}

impl Partitions {
    /// From a list that ascends and is not empty.
    pub(crate) fn of(partitions: Vec<Rc<Partition>>) -> Self {
        Self(partitions)
    }

    /// All of them, ascending.
    pub(crate) fn all(&self) -> &[Rc<Partition>] {
        &self.0
    }

    /// Every part, by partition and level.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Rc<Part>> {
        self.parts_by_partition().map(|(_, part)| part)
    }

    pub(crate) fn parts_by_partition(&self) -> impl Iterator<Item = (PartitionId, &Rc<Part>)> {
        self.0.iter().flat_map(|of| of.levels.levels.iter().flatten().map(|part| (of.id, part)))
    }

    pub(crate) fn get(&self, id: PartitionId) -> Option<&Rc<Partition>> {
        self.0.iter().find(|partition| partition.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: PartitionId) -> Option<&mut Partition> {
        self.0.iter_mut().find(|partition| partition.id == id).map(Rc::make_mut)
    }

    /// The place of the partition that has `key`.
    pub(crate) fn place_of(&self, key: &[u8]) -> usize {
        self.0.partition_point(|partition| *partition.from <= *key).saturating_sub(1)
    }

    /// The partition that has `key`.
    pub(crate) fn holding(&self, key: &[u8]) -> Option<&Rc<Partition>> {
        // Nearly all trees have one partition.
        if let [only] = &*self.0 { Some(only) } else { self.0.get(self.place_of(key)) }
    }

    /// The partitions that a range touches.
    fn touched(&self, range: &KeyRange) -> &[Rc<Partition>] {
        let first = match &range.lower {
            Bound::Included(key) | Bound::Excluded(key) => self.place_of(key),
            Bound::Unbounded => 0,
        };
        let behind = match &range.upper {
            Bound::Included(key) => self.0.partition_point(|partition| *partition.from <= **key),
            Bound::Excluded(key) => self.0.partition_point(|partition| *partition.from < **key),
            Bound::Unbounded => self.0.len(),
        };
        self.0.get(first..behind).unwrap_or_default()
    }

    /// The parts that a range reads, as runs that ascend without overlap, newest first for each key: parts of level 0 by
    /// [`add_older`], and each deeper level of all partitions. So partitions share their runs.
    pub(crate) fn runs(&self, range: &KeyRange) -> Vec<Level> {
        let touched = self.touched(range);
        let level = |partition: &Rc<Partition>, number: usize| -> Level {
            let parts = partition.levels.levels.get(number).map_or(&[][..], Vec::as_slice);
            parts.iter().filter(|part| part.touches(range)).map(Rc::clone).collect()
        };
        let mut runs: Vec<Level> = Vec::new();
        for partition in touched {
            level(partition, 0).into_iter().for_each(|part| add_older(&mut runs, part));
        }
        let depth = touched.iter().map(|partition| partition.levels.levels.len()).max().unwrap_or(0);
        for number in 1..depth {
            let run: Level = touched.iter().flat_map(|partition| level(partition, number)).collect();
            if !run.is_empty() {
                runs.push(run);
            }
        }
        runs
    }

    /// Adds a part to a level, cut at the boundaries that it spans. Parts of one segment come in ascending order.
    pub(crate) fn add(&mut self, level: usize, part: &Rc<Part>) {
        let mut part = Rc::clone(part);
        let (mut place, last) = (self.place_of(&part.first_key), self.place_of(&part.last_key));
        while place < last
            && let Some(next) = self.0.get(place + 1)
        {
            // No better estimate is known here.
            let pieces = (last - place + 1) as u64;
            let (left, right) = cut(&part, &next.from, part.bytes / pieces, part.entries / pieces);
            self.add_inside(place, level, left);
            part = right;
            place += 1;
        }
        self.add_inside(place, level, part);
    }

    fn add_inside(&mut self, place: usize, level: usize, part: Rc<Part>) {
        let Some(partition) = self.0.get_mut(place).map(Rc::make_mut) else { return };
        // A new segment was cut at a boundary that is gone: nothing of it lies between its parts.
        let parts = partition.levels.levels.get_mut(level).map_or(&mut [][..], Vec::as_mut_slice);
        match parts.iter_mut().find(|other| other.segment.id == part.segment.id) {
            Some(other) => *other = join(other, &part),
            None => partition.levels.add(level, part),
        }
    }

    /// Cuts the partition with the key `at` in two: keys from there on become the partition `id`. Returns whether there
    /// was something to cut.
    pub(crate) fn split(&mut self, at: &[u8], id: PartitionId, shares: &[Share]) -> bool {
        let place = self.place_of(at);
        let Some(partition) = self.0.get_mut(place).filter(|partition| *partition.from < *at) else { return false };
        let old = Rc::make_mut(partition);
        let mut right = Partition::new(id, at.into(), TreeLevels::default());
        for level in &mut old.levels.levels {
            let mut behind = Level::new();
            let mut keep = Level::new();
            for part in level.drain(..) {
                if *part.last_key < *at {
                    keep.push(part);
                } else if *part.first_key >= *at {
                    behind.push(part);
                } else {
                    let share = shares.iter().find(|share| share.segment == part.segment.id);
                    let (bytes, entries) =
                        share.map_or((part.bytes / 2, part.entries / 2), |share| (share.bytes, share.entries));
                    let (left, right) = cut(&part, at, bytes, entries);
                    keep.push(left);
                    behind.push(right);
                }
            }
            *level = keep;
            right.levels.levels.push(behind);
        }
        old.levels.trim();
        right.levels.trim();
        self.0.insert(place + 1, Rc::new(right));
        true
    }

    /// Merges the partition `left` and the one behind it. Returns whether that was possible.
    pub(crate) fn merge(&mut self, left: PartitionId) -> bool {
        let Some(place) = self.0.iter().position(|partition| partition.id == left) else { return false };
        let pair = self.0.get(place).zip(self.0.get(place + 1));
        let Some(merged) = pair.and_then(|(left, right)| left.merged(right)) else { return false };
        self.0.splice(place..place + 2, [Rc::new(merged)]);
        true
    }

    /// Whether the tree has no part and no boundary.
    pub(crate) fn is_blank(&self) -> bool {
        matches!(&*self.0, [only] if only.levels.levels.is_empty())
    }
}

/// The changes between the partitions of a tree `before` and `now`: the partitions that are gone or changed, and the
/// places of new or changed ones. Unchanged partitions are not examined.
pub(crate) fn difference<'a>(
    before: &'a [Rc<Partition>],
    now: &[Rc<Partition>],
) -> (Vec<&'a Rc<Partition>>, Vec<usize>) {
    let (mut gone, mut come, mut at, mut place) = (Vec::new(), Vec::new(), 0, 0);
    loop {
        let order = match (before.get(at), now.get(place)) {
            (Some(old), Some(new)) if Rc::ptr_eq(old, new) => {
                (at, place) = (at + 1, place + 1);
                continue;
            }
            (Some(old), Some(new)) => old.from.cmp(&new.from),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return (gone, come),
        };
        if order.is_le() {
            gone.extend(before.get(at));
            at += 1;
        }
        if order.is_ge() {
            come.push(place);
            place += 1;
        }
    }
}

/// The first fault in the partitions of a tree, given that `before` had none. New partitions have `fresh` ids.
pub(crate) fn fault(
    tree: TreeId,
    before: &[Rc<Partition>],
    now: &[Rc<Partition>],
    fresh: &Range<u64>,
) -> Option<&'static str> {
    let own = tree.0.to_be_bytes();
    if now.first().is_none_or(|first| *first.from != own) {
        return Some("its first partition does not begin with it");
    }
    let (gone, come) = difference(before, now);
    let mut kept: Vec<PartitionId> = gone.iter().map(|partition| partition.id).collect();
    sort_by(&mut kept, Ord::cmp);
    let mut ids = Vec::with_capacity(come.len());
    for place in come {
        let Some(partition) = now.get(place) else { continue };
        let end = now.get(place + 1).map(|next| &*next.from);
        let inside = |key: &[u8]| key.starts_with(&own) && *key >= *partition.from && end.is_none_or(|end| key < end);
        let last = place.checked_sub(1).and_then(|last| now.get(last));
        if !inside(&partition.from) || last.is_some_and(|last| last.from >= partition.from) {
            return Some("its partitions do not ascend");
        }
        if !fresh.contains(&partition.id.0) && kept.binary_search(&partition.id).is_err() {
            return Some("a partition has an id that is none of a new one");
        }
        ids.push(partition.id);
        let mut parts = partition.levels.levels.iter().flatten();
        if parts.any(|part| part.first_key > part.last_key || !inside(&part.first_key) || !inside(&part.last_key)) {
            return Some("a part reaches out of its partition");
        }
        if let Some(fault) = partition.levels.fault() {
            return Some(fault);
        }
    }
    sort_by(&mut ids, Ord::cmp);
    ids.windows(2).any(|pair| matches!(pair, [a, b] if a == b)).then_some("a partition's id is used twice")
}

#[cfg(test)]
mod tests;
