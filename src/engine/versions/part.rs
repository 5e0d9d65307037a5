//! Segments, the parts of them that partitions read, and the levels of these parts.

use crate::collections::sort::sort_by;
use crate::engine::rows::keys::{KeyRange, within};
use crate::storage::{BlockId, SegmentId};
use std::cell::Cell;
use std::ops::Bound;
use std::rc::Rc;

/// The most levels of a version. Compaction fills fewer, and a manifest with more is damaged.
pub(crate) const MAX_LEVELS: usize = 7;

/// A segment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) id: SegmentId,
    /// Data blocks; the record behind them is the index.
    pub(crate) blocks: u32,
    /// Stored bytes of all records.
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    pub(crate) index_bytes: u32,
    /// Entries that only delete.
    pub(crate) tombstones: u64,
    /// The oldest version in it (ms), markers of rows included. Unknown for segments from before this field.
    pub(crate) oldest: Option<i64>,
    /// The newest.
    pub(crate) newest: Option<i64>,
    /// For a loaded segment (`bulk_loader.rs`): the seqno of all its entries, which replaces the stored ones.
    pub(crate) seqno: Option<u64>,
    /// Estimated stored bytes that parts of the current version name; see
    /// [`Version::follow`](super::version::Version::follow).
    pub(crate) live: Cell<u64>,
    /// The number of the current version's parts that name it.
    pub(crate) parts: Cell<u32>,
}

impl Segment {
    /// The place of the segment's index.
    pub(crate) fn meta(&self) -> BlockId {
        self.block(self.blocks)
    }

    pub(crate) fn block(&self, block: u32) -> BlockId {
        BlockId { segment: self.id, block }
    }

    /// Whether the current version does not name it.
    pub(crate) fn is_new(&self) -> bool {
        self.parts.get() == 0
    }

    /// Estimated stored bytes of its blocks that no part names. They are freed when the whole segment goes.
    pub(crate) fn dead_bytes(&self) -> u64 {
        self.bytes.saturating_sub(u64::from(self.index_bytes)).saturating_sub(self.live.get())
    }

    /// Whether it is mostly unused.
    pub(crate) fn is_left_over(&self) -> bool {
        self.dead_bytes() > self.live.get()
    }
}

/// The part of a segment that a partition reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) segment: Rc<Segment>,
    pub(crate) first_key: Box<[u8]>,
    pub(crate) last_key: Box<[u8]>,
    /// Stored bytes, estimated.
    pub(crate) bytes: u64,
    /// Entries, estimated.
    pub(crate) entries: u64,
}

impl Part {
    /// Whether a key lies in its range.
    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        *self.first_key <= *key && *key <= *self.last_key
    }

    /// Whether some of its keys may lie in a range.
    pub(crate) fn touches(&self, range: &KeyRange) -> bool {
        let (lower, upper) = range.bounds();
        within((lower, Bound::Unbounded), &self.last_key) && within((Bound::Unbounded, upper), &self.first_key)
    }
}

/// One level of a partition. Level 0: newest first, keys may overlap. Others: ascending, no overlap.
pub(crate) type Level = Vec<Rc<Part>>;

/// Adds a part of level 0 to runs that have only newer ones: to the first run behind all that it overlaps. Parts that do
/// not overlap share a run, because a read pays for each run, and leaders that end early leave many parts.
pub(crate) fn add_older(runs: &mut Vec<Level>, part: Rc<Part>) {
    let overlaps = |run: &Level| {
        let next = run.partition_point(|other| other.last_key < part.first_key);
        run.get(next).is_some_and(|other| other.first_key <= part.last_key)
    };
    let place = runs.iter().rposition(overlaps).map_or(0, |above| above + 1);
    match runs.get_mut(place) {
        Some(run) => run.insert(run.partition_point(|other| other.first_key < part.first_key), part),
        None => runs.push(vec![part]),
    }
}

/// The levels of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TreeLevels {
    pub(crate) levels: Vec<Level>,
}

impl TreeLevels {
    /// The chosen parts as runs that ascend without overlap, newest first for each key: parts of level 0 by
    /// [`add_older`], deeper levels whole. `choose` gets the level's number and the part.
    pub(crate) fn runs(&self, choose: impl Fn(usize, &Part) -> bool) -> Vec<Level> {
        let mut runs = Vec::new();
        for (number, level) in self.levels.iter().enumerate() {
            let chosen = level.iter().filter(|part| choose(number, part)).map(Rc::clone);
            if number == 0 {
                chosen.for_each(|part| add_older(&mut runs, part));
            } else {
                runs.push(chosen.collect());
            }
        }
        runs.retain(|run: &Level| !run.is_empty());
        runs
    }

    /// Every part with the number of its level, from newer to older.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, &Rc<Part>)> {
        let levels = self.levels.iter().enumerate();
        levels.flat_map(|(number, level)| level.iter().map(move |part| (number, part)))
    }

    /// The parts of these segments, which are named with their levels.
    pub(crate) fn chosen(&self, segments: &[(usize, SegmentId)]) -> impl Iterator<Item = (usize, &Rc<Part>)> {
        self.parts().filter(|(number, part)| segments.contains(&(*number, part.segment.id)))
    }

    /// Adds a part; to level 0 as the newest.
    pub(crate) fn add(&mut self, level: usize, part: Rc<Part>) {
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Vec::new);
        }
        if let Some(parts) = self.levels.get_mut(level) {
            let place = if level == 0 { 0 } else { parts.partition_point(|other| other.first_key < part.first_key) };
            parts.insert(place, part);
        }
    }

    /// Removes empty levels at the bottom.
    pub(crate) fn trim(&mut self) {
        while self.levels.last().is_some_and(Vec::is_empty) {
            self.levels.pop();
        }
    }

    /// Whether each segment has at most one part here. Then a segment's id names its part.
    pub(crate) fn names_segments_once(&self) -> bool {
        let mut segments: Vec<SegmentId> = self.levels.iter().flatten().map(|part| part.segment.id).collect();
        sort_by(&mut segments, Ord::cmp);
        !segments.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
    }

    /// A description of the first fault, if there is one.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let overlap = |level: &Level| level.windows(2).any(|pair| matches!(pair, [a, b] if a.last_key >= b.first_key));
        if self.levels.len() > MAX_LEVELS {
            Some("it has too many levels")
        } else if self.levels.iter().skip(1).any(overlap) {
            Some("a level overlaps itself")
        } else if !self.names_segments_once() {
            Some("a segment has two parts in one partition")
        } else {
            None
        }
    }
}
