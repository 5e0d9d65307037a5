//! Segments, the parts of them that partitions read, and the levels that these make.

use super::keys::{KeyRange, within};
use crate::collections::sort::sort_by;
use crate::storage::{BlockId, SegmentId};
use std::cell::Cell;
use std::ops::Bound;
use std::rc::Rc;

/// A version has at most so many levels; compaction fills fewer, and a manifest that names more is damaged.
pub(super) const MAX_LEVELS: usize = 7;

/// A segment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) id: SegmentId,
    /// Data blocks; the record behind them is the index.
    pub(super) blocks: u32,
    /// Stored bytes of all records.
    pub(super) bytes: u64,
    pub(super) entries: u64,
    pub(super) index_bytes: u32,
    /// Entries that are nothing but deletions.
    pub(super) tombstones: u64,
    /// The oldest version in it (ms), markers of rows included; of segments that are older than this nothing is known.
    pub(super) oldest: Option<i64>,
    /// The newest.
    pub(super) newest: Option<i64>,
    /// The seqno of all its entries, whatever they say themselves: of a segment that was loaded (`bulk_loader.rs`).
    pub(super) seqno: Option<u64>,
    /// Stored bytes that parts of the current version name, about; see [`Version::follow`](super::version::Version::follow).
    pub(super) live: Cell<u64>,
    /// How many parts of the current version name it.
    pub(super) parts: Cell<u32>,
}

impl Segment {
    /// Where the segment's index lies.
    pub(super) fn meta(&self) -> BlockId {
        self.block(self.blocks)
    }

    pub(super) fn block(&self, block: u32) -> BlockId {
        BlockId { segment: self.id, block }
    }

    /// Whether the current version does not name it.
    pub(super) fn is_new(&self) -> bool {
        self.parts.get() == 0
    }

    /// Stored bytes of its blocks that no part names any more, about: they are given back when all of it goes.
    pub(super) fn dead_bytes(&self) -> u64 {
        self.bytes.saturating_sub(u64::from(self.index_bytes)).saturating_sub(self.live.get())
    }

    /// Whether most of it is used by nobody.
    pub(super) fn is_left_over(&self) -> bool {
        self.dead_bytes() > self.live.get()
    }
}

/// The part of a segment that a partition reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) segment: Rc<Segment>,
    pub(super) first_key: Box<[u8]>,
    pub(super) last_key: Box<[u8]>,
    /// Stored bytes, about.
    pub(super) bytes: u64,
    /// Entries, about.
    pub(super) entries: u64,
}

impl Part {
    /// Whether a key lies in its range.
    pub(super) fn holds(&self, key: &[u8]) -> bool {
        *self.first_key <= *key && *key <= *self.last_key
    }

    /// Whether some of its keys may lie in a range.
    pub(super) fn touches(&self, range: &KeyRange) -> bool {
        let (lower, upper) = range.bounds();
        within((lower, Bound::Unbounded), &self.last_key) && within((Bound::Unbounded, upper), &self.first_key)
    }
}

/// One level of a partition. Level 0: newest first, keys may overlap. Others: ascending, no overlap.
pub(super) type Level = Vec<Rc<Part>>;

/// The levels of a partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeLevels {
    pub(super) levels: Vec<Level>,
}

impl TreeLevels {
    /// The chosen parts (`choose` gets the level's number and the part), newest first, as runs that ascend without
    /// overlap: each part of level 0 alone, deeper levels whole.
    pub(super) fn runs(&self, choose: impl Fn(usize, &Part) -> bool) -> Vec<Level> {
        let mut runs = Vec::new();
        for (number, level) in self.levels.iter().enumerate() {
            let chosen = level.iter().filter(|part| choose(number, part)).map(Rc::clone);
            if number == 0 {
                runs.extend(chosen.map(|part| vec![part]));
            } else {
                runs.push(chosen.collect());
            }
        }
        runs.retain(|run: &Level| !run.is_empty());
        runs
    }

    /// Adds a part; to level 0 as the newest.
    pub(super) fn add(&mut self, level: usize, part: Rc<Part>) {
        if self.levels.len() <= level {
            self.levels.resize_with(level + 1, Vec::new);
        }
        if let Some(parts) = self.levels.get_mut(level) {
            let place = if level == 0 { 0 } else { parts.partition_point(|other| other.first_key < part.first_key) };
            parts.insert(place, part);
        }
    }

    /// Forgets empty levels at the bottom.
    pub(super) fn trim(&mut self) {
        while self.levels.last().is_some_and(Vec::is_empty) {
            self.levels.pop();
        }
    }

    /// Whether each segment has one part here at most, which is named by the segment then.
    pub(super) fn names_segments_once(&self) -> bool {
        let mut segments: Vec<SegmentId> = self.levels.iter().flatten().map(|part| part.segment.id).collect();
        sort_by(&mut segments, Ord::cmp);
        !segments.windows(2).any(|pair| matches!(pair, [a, b] if a == b))
    }

    /// What is wrong with them.
    pub(super) fn fault(&self) -> Option<&'static str> {
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
