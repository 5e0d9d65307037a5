//! The traffic of each partition.
//!
//! No timer runs. One operation of 32 leaves its key as a sample. When such an operation, or a commit, finds that a
//! second of the steady clock is over, the samples are counted by partition. So a partition's operations a second are an
//! estimate, and the hot path pays one subtraction. Sampling is pseudo-random, so a regular order of keys makes no
//! difference.

use super::partition::{PartitionId, Partitions};
use crate::collections::small_map::SmallMap;
use crate::collections::sort::sort_by;
use crate::engine::rows::keys::{TREE_BYTES, partition_of, tree_of};
use crate::model::TreeId;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// One operation of about so many leaves a sample.
const EVERY: u32 = 32;

/// The most samples of a second; beyond that every other one is dropped.
const MOST_SAMPLES: usize = 1024;

/// The number of windows kept: a load has to last this long to split a partition.
pub(crate) const WINDOWS: usize = 3;

/// A window lasts this long, and longer while there are no operations, ms.
const WINDOW_MS: i64 = 1000;

/// After this time without load a partition is cold, and the load is forgotten, ms.
pub(crate) const MEMORY_MS: i64 = 30_000;

/// The traffic of all partitions.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// Operations until the next sample.
    left: Cell<u32>,
    /// The sampling interval in this window.
    every: Cell<u32>,
    chance: Cell<u32>,
    /// The start of counting, ms.
    opened: i64,
    /// The start of the window, ms.
    since: Cell<i64>,
    samples: RefCell<Vec<Box<[u8]>>>,
    past: RefCell<PastWindows>,
}

/// The traffic before the window.
#[derive(Debug, Default)]
struct PastWindows {
    /// Samples of the last windows: tree and partition key.
    samples: Vec<Vec<Box<[u8]>>>,
    partitions: SmallMap<(TreeId, PartitionId), PartitionTraffic>,
}

/// The traffic of a partition.
#[derive(Clone, Copy, Debug, Default)]
struct PartitionTraffic {
    /// Operations a second in the last window.
    rate: u64,
    /// The number of windows in which it was above the split threshold.
    hot: usize,
    /// When its load last justified a partition of its own, ms.
    warm_at: i64,
}

impl Traffic {
    /// The partitions that exist at `now` count as warm: their traffic is unknown.
    pub(crate) fn new(now: i64) -> Self {
        Self {
            left: Cell::new(EVERY),
            every: Cell::new(EVERY),
            chance: Cell::new(1),
            opened: now,
            since: Cell::new(now),
            samples: RefCell::default(),
            past: RefCell::default(),
        }
    }

    /// Counts an operation on a row. Returns whether it left a sample; then the clock should be checked.
    pub(crate) fn count(&self, key: &[u8]) -> bool {
        let left = self.left.get() - 1;
        self.left.set(left);
        if left > 0 {
            return false;
        }
        self.sample(key);
        true
    }

    #[cold]
    fn sample(&self, key: &[u8]) {
        let mut samples = self.samples.borrow_mut();
        samples.push(partition_of(key).into());
        if samples.len() >= MOST_SAMPLES {
            let mut odd = false;
            samples.retain(|_| {
                odd = !odd;
                odd
            });
            self.every.set(self.every.get().saturating_mul(2).min(1 << 24));
        }
        self.chance.set(self.chance.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        // From 1 on, with the interval as its mean.
        self.left.set(1 + (self.chance.get() >> 4) % (2 * self.every.get() - 1));
    }

    /// Whether a window is over.
    pub(crate) fn is_due(&self, now: i64) -> bool {
        let lasted = now.saturating_sub(self.since.get());
        if lasted < 0 {
            // The clock was set back.
            self.since.set(now);
        }
        lasted >= WINDOW_MS
    }

    /// Ends a window: counts its samples by partition. A partition with more than `most` operations a second is split.
    pub(crate) fn close_window(&self, now: i64, trees: &SmallMap<TreeId, Rc<Partitions>>, most: u64) {
        let lasted = now.saturating_sub(self.since.replace(now)).max(1).unsigned_abs();
        let weight = u64::from(self.every.replace(EVERY));
        let samples = std::mem::take(&mut *self.samples.borrow_mut());
        let mut past = self.past.borrow_mut();
        let PastWindows { samples: kept, partitions } = &mut *past;
        for load in partitions.values_mut() {
            load.rate = 0;
        }
        for key in &samples {
            let Some(tree) = tree_of(key) else { continue };
            let id = trees.get(&tree).and_then(|all| all.holding(key)).map_or(PartitionId(0), |one| one.id);
            partitions.entry((tree, id)).rate += weight;
        }
        for load in partitions.values_mut() {
            load.rate = load.rate.saturating_mul(1000) / lasted;
            load.hot = if load.rate > most { load.hot + 1 } else { 0 };
            // Two such neighbours have half of the load that splits a partition.
            if load.rate > most / 4 {
                load.warm_at = now;
            }
        }
        partitions.retain(|_, load| load.rate > 0 || now.saturating_sub(load.warm_at) < MEMORY_MS);
        kept.push(samples);
        if kept.len() > WINDOWS {
            kept.remove(0);
        }
    }

    /// Recent operations a second on a partition.
    pub(crate) fn rate(&self, tree: TreeId, id: PartitionId, now: i64) -> u64 {
        // A window that stayed open this long is long over.
        if now.saturating_sub(self.since.get()) > 5 * WINDOW_MS {
            return 0;
        }
        self.past.borrow().partitions.get(&(tree, id)).map_or(0, |load| load.rate)
    }

    /// The partitions whose load was too high for long enough to split them.
    pub(crate) fn hot(&self) -> Vec<(TreeId, PartitionId)> {
        let past = self.past.borrow();
        past.partitions.iter().filter(|(_, load)| load.hot >= WINDOWS).map(|(name, _)| *name).collect()
    }

    /// Whether a partition had little load for a while.
    pub(crate) fn is_cold(&self, tree: TreeId, id: PartitionId, now: i64) -> bool {
        let past = self.past.borrow();
        let warm_at = past.partitions.get(&(tree, id)).map_or(self.opened, |load| load.warm_at.max(self.opened));
        now.saturating_sub(warm_at) >= MEMORY_MS
    }

    /// Resets a partition that is new, or that was hot and could not be split.
    pub(crate) fn start_anew(&self, tree: TreeId, id: PartitionId, now: i64) {
        let load = PartitionTraffic { rate: self.rate(tree, id, now), hot: 0, warm_at: now };
        self.past.borrow_mut().partitions.insert((tree, id), load);
    }

    /// The partition key that halves a partition's traffic: tree and partition key, the first one behind the cut. `None`
    /// if one key has nearly all traffic.
    pub(crate) fn median(&self, holds: &dyn Fn(&[u8]) -> bool) -> Option<Box<[u8]>> {
        let past = self.past.borrow();
        let mut keys: Vec<&[u8]> = Vec::new();
        for key in past.samples.iter().flatten() {
            if holds(key) {
                keys.push(key);
            }
        }
        sort_by(&mut keys, Ord::cmp);
        let (mut last, mut best, mut most) = (None, None, 0);
        for (place, key) in keys.iter().enumerate() {
            // Bounds of ranges may also be before or behind all partition keys.
            let real = key.get(TREE_BYTES).is_some_and(|tag| *tag > 0x01 && *tag < 0xFE);
            let least = place.min(keys.len() - place);
            if real && last != Some(key) && least > most {
                (best, most) = (Some(*key), least);
            }
            last = Some(key);
        }
        best.filter(|_| most * 8 >= keys.len()).map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::versions::part::TreeLevels;
    use crate::engine::versions::partition::Partition;

    const TREE: TreeId = TreeId(1);

    fn key(text: &str) -> Vec<u8> {
        [&TREE.0.to_be_bytes()[..], text.as_bytes()].concat()
    }

    /// Accesses each of the keys in turn, this many times in all.
    fn ask(load: &Traffic, keys: &[&str], times: usize) {
        let keys: Vec<Vec<u8>> = keys.iter().map(|text| key(text)).collect();
        for key in keys.iter().cycle().take(times) {
            load.count(key);
        }
    }

    fn trees() -> SmallMap<TreeId, Rc<Partitions>> {
        let mut partitions =
            Partitions::of(vec![Rc::new(Partition::first(TREE, PartitionId(1), TreeLevels::default()))]);
        partitions.split(&key("m"), PartitionId(2), &[]);
        let mut trees = SmallMap::default();
        trees.insert(TREE, Rc::new(partitions));
        trees
    }

    #[test]
    fn operations_a_second_are_about_right_however_many_there_are() {
        for times in [40_000, 160_000, 900_000] {
            let load = Traffic::new(0);
            ask(&load, &["a", "b", "c", "n", "a"], times);
            assert!(!load.is_due(999));
            assert!(load.is_due(2000));
            load.close_window(2000, &trees(), 1000);
            let (left, right) = (load.rate(TREE, PartitionId(1), 2000), load.rate(TREE, PartitionId(2), 2000));
            let (all, off) = (times as u64 / 2, (left + right).abs_diff(times as u64 / 2));
            assert!(off * 10 <= all, "{left} and {right} of {all}");
            assert!((right * 5).abs_diff(all) * 5 <= all, "{left} and {right} of {all}");
            assert_eq!(load.rate(TREE, PartitionId(1), 20_000), 0, "long ago");
        }
    }

    #[test]
    fn p1_a_partition_is_hot_after_some_seconds_and_cold_after_more() {
        let load = Traffic::new(0);
        for second in 1..=3 {
            assert_eq!(load.hot(), []);
            ask(&load, &["a", "b"], 6400);
            load.close_window(second * 1000, &trees(), 5000);
        }
        assert_eq!(load.hot(), [(TREE, PartitionId(1))]);
        assert_eq!(load.median(&|key| *key < *super::tests::key("m")), Some(key("b").into()));
        assert!(!load.is_cold(TREE, PartitionId(1), 32_999));
        assert!(load.is_cold(TREE, PartitionId(1), 33_000));
        assert!(!load.is_cold(TREE, PartitionId(2), 29_999), "nobody knows what was asked of it before");
        assert!(load.is_cold(TREE, PartitionId(2), 30_000), "nothing was ever asked of it");
        load.close_window(4000, &trees(), 5000);
        assert_eq!(load.hot(), []);
    }

    #[test]
    fn p1_a_load_on_one_key_cannot_be_split() {
        let load = Traffic::new(0);
        ask(&load, &["a"], 3200);
        load.close_window(1000, &trees(), 100);
        assert_eq!(load.median(&|_| true), None);
        ask(&load, &["b"], 320);
        load.close_window(2000, &trees(), 100);
        assert_eq!(load.median(&|_| true), None, "nearly all on one");
        ask(&load, &["c"], 3200);
        load.close_window(3000, &trees(), 100);
        assert!(load.median(&|_| true).is_some());
    }
}
