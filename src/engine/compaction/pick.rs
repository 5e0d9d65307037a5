//! What to compact next: a pure function of the levels of one partition.
//!
//! Nearly everything lies in one level, the bottom; what is above it is at most a `level_ratio`-th of it, so space is
//! wasted in this proportion at most, and every byte is merged into the bottom about `level_ratio` times. Above it runs
//! are collected rather than merged: level 0 becomes a run in the deepest level that is free, and when none is free, the
//! newest ones become one, with all older ones that are not larger. So flushes that bring little to many partitions cost
//! little, and a read meets few runs. A bottom that is too large to be written as a whole takes the parts of the level
//! above it one by one.

use crate::engine::options::Shape;
use crate::engine::part::{Level, Part, TreeLevels};
use crate::storage::SegmentId;
use std::rc::Rc;

/// The bottom of a new partition. Between it and level 0 there is room for three runs.
pub(crate) const BOTTOM: usize = 4;

/// Of level 0 no more parts than this are merged in one go, the oldest: of each a block is in memory.
const MOST_RUNS: usize = 8;

/// More than so many segments are not written in one go.
const MOST_SEGMENTS: u64 = 16;

/// Parts that are smaller than this fraction of a segment are not moved to the bottom as they are: they would stay small.
const SMALL: u64 = 8;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All of it is expired, and nothing older lies below that would show again: forgotten, no data is read.
    Drop { parts: Vec<(usize, SegmentId)> },
    /// Nothing overlaps: the parts change their level, no data is read.
    Move { from: usize, segments: Vec<SegmentId>, to: usize },
    /// These parts are merged into the level `to`. From newer to older.
    Merge { inputs: Vec<(usize, SegmentId)>, to: usize },
}

/// What compaction may take away at this instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waste {
    /// Versions before this one (ms) are expired.
    pub(crate) expired_before: i64,
    /// Nobody reads at an older instant: what is to be taken away will be.
    pub(crate) quiet: bool,
}

fn overlaps(a: &Part, b: &Part) -> bool {
    a.first_key <= b.last_key && b.first_key <= a.last_key
}

fn bytes<'p>(parts: impl IntoIterator<Item = &'p Rc<Part>>) -> u64 {
    parts.into_iter().map(|part| part.bytes).sum()
}

/// What should be done to a partition, most urgent first; `None` if it is in good shape.
pub(crate) fn pick(levels: &TreeLevels, shape: &Shape, waste: Waste) -> Option<Choice> {
    Picker { levels: &levels.levels, shape }.pick(waste)
}

/// If nothing is to be done, nothing will be before versions behind this one (ms) are expired.
pub(crate) fn in_shape_until(levels: &TreeLevels, shape: &Shape) -> i64 {
    let until = levels.levels.iter().flatten().filter_map(|part| {
        let (oldest, newest) = (part.segment.oldest?, part.segment.newest?);
        // As much of it as is written anew, as `expired` counts it.
        let share = thousandth(oldest, newest).saturating_mul(1000 / shape.level_ratio.clamp(1, 1000).cast_signed());
        Some(oldest.saturating_add(share - 1).min(newest))
    });
    until.min().unwrap_or(i64::MAX)
}

/// Whether nothing of the partition lies below the level `to` in the range of `inputs`: then deletions have nothing to
/// hide any more.
pub(crate) fn is_bottom(levels: &TreeLevels, inputs: &[&Part], to: usize) -> bool {
    let mut deeper = levels.levels.iter().skip(to + 1).flatten();
    !deeper.any(|part| inputs.iter().any(|input| overlaps(part, input)))
}

/// Whether nothing of the partition that is not among the `inputs` lies above them in their range: then it is known what
/// hides what.
pub(crate) fn is_top(levels: &TreeLevels, inputs: &[(usize, SegmentId)], parts: &[&Part], to: usize) -> bool {
    let above = levels.levels.iter().enumerate().take(to);
    let mut others = above.flat_map(|(number, level)| level.iter().map(move |part| (number, part)));
    !others.any(|(number, part)| {
        !inputs.contains(&(number, part.segment.id)) && parts.iter().any(|input| overlaps(part, input))
    })
}

struct Picker<'a> {
    levels: &'a [Level],
    shape: &'a Shape,
}

impl<'a> Picker<'a> {
    fn level(&self, number: usize) -> &'a Level {
        const EMPTY: &Level = &Level::new();
        self.levels.get(number).unwrap_or(EMPTY)
    }

    /// The parts of some levels, with their levels, from newer to older.
    fn parts(&self, levels: std::ops::Range<usize>) -> impl Iterator<Item = (usize, &'a Rc<Part>)> + Clone {
        let (skip, take) = (levels.start, levels.len());
        let levels = self.levels.iter().enumerate().skip(skip).take(take);
        levels.flat_map(|(number, level)| level.iter().map(move |part| (number, part)))
    }

    fn pick(&self, waste: Waste) -> Option<Choice> {
        if let Some(choice) = self.drop_expired(waste) {
            return Some(choice);
        }
        // Of a segment that several partitions were flushed into, nothing is given back while one of them keeps its part.
        let left_over = self.level(0).iter().any(|part| part.segment.is_left_over());
        let due = self.level(0).len() >= self.shape.level0_parts || left_over;
        let bottom = (1..self.levels.len()).rev().find(|&number| !self.level(number).is_empty());
        let above = self.parts(0..bottom.unwrap_or(1));
        let below = bottom.map_or(self.level(0), |bottom| self.level(bottom));
        let stored = bytes(below);
        // Each deleted row that is remembered above hides one below.
        let deleted: u64 = above.clone().map(|(_, part)| tombstones(part)).sum();
        let entries: u64 = below.iter().map(|part| part.entries).sum();
        let mut wasted = deleted.saturating_mul(stored / entries.max(1));
        wasted += bottom.map_or(0, |_| bytes(above.map(|(_, part)| part)));
        let much = wasted.saturating_mul(self.shape.level_ratio) >= stored;
        let pressing = due || wasted >= self.shape.level1_bytes.max(1);
        match bottom {
            None if due || (much && pressing) => Some(self.merge(1, BOTTOM)),
            None => None,
            Some(bottom) if due && bottom < BOTTOM => {
                let segments = self.level(bottom).iter().map(|part| part.segment.id).collect();
                Some(Choice::Move { from: bottom, segments, to: BOTTOM })
            }
            Some(bottom) if much && pressing => Some(self.merge_to_bottom(bottom, stored)),
            Some(bottom) if due => Some(self.sink(bottom).unwrap_or_else(|| self.merge_above(bottom))),
            Some(bottom) => self.rewrite_left_over().or_else(|| self.rewrite(bottom, waste)),
        }
    }

    /// Parts that are wholly expired and have nothing below.
    fn drop_expired(&self, waste: Waste) -> Option<Choice> {
        let expired = |part: &Part| part.segment.newest.is_some_and(|newest| newest < waste.expired_before);
        let parts = self.parts(0..self.levels.len());
        let found = parts.clone().enumerate().filter(|(at, (number, part))| {
            // Levels other than the first do not overlap themselves, so what comes later is older or beside it.
            expired(part)
                && !parts
                    .clone()
                    .skip(at + 1)
                    .any(|(other, below)| (other > *number || *number == 0) && overlaps(part, below))
        });
        let parts: Vec<_> = found.map(|(_, (number, part))| (number, part.segment.id)).collect();
        (!parts.is_empty()).then_some(Choice::Drop { parts })
    }

    /// Moves level 0 as deep as it overlaps nothing: what comes in the order of its keys is written once.
    fn sink(&self, bottom: usize) -> Option<Choice> {
        let level0 = self.level(0);
        let disjoint = |part: &Part, others: &[Rc<Part>]| !others.iter().any(|other| overlaps(part, other));
        let apart = |number: &usize| level0.iter().all(|part| disjoint(part, self.level(*number)));
        let to = (1..=bottom).take_while(apart).last()?;
        let to = if to == bottom && level0.iter().any(|part| self.is_small(part)) { to - 1 } else { to };
        let itself =
            level0.iter().enumerate().all(|(at, part)| disjoint(part, level0.get(at + 1..).unwrap_or_default()));
        let segments = level0.iter().map(|part| part.segment.id).collect();
        (itself && to > 0).then_some(Choice::Move { from: 0, segments, to })
    }

    fn is_small(&self, part: &Part) -> bool {
        part.bytes < self.shape.segment_bytes / SMALL
    }

    /// Makes one run of level 0, and of runs below it if there is no room for another one.
    fn merge_above(&self, bottom: usize) -> Choice {
        let free = |number: usize| self.level(number).is_empty();
        // Levels before this one are merged.
        let mut end = 1;
        let mut merged = bytes(self.level(0));
        if bottom > 1 && !free(1) {
            while end < bottom && (end == 1 || bytes(self.level(end)) <= merged) {
                merged += bytes(self.level(end));
                end += 1;
            }
        }
        let next = (end..bottom).find(|&number| !free(number)).unwrap_or(bottom);
        self.merge(end, (next - 1).max(1))
    }

    fn merge_to_bottom(&self, bottom: usize, stored: u64) -> Choice {
        let above = bytes(self.parts(0..bottom).map(|(_, part)| part));
        let most = MOST_SEGMENTS * self.shape.segment_bytes;
        if stored + above <= most || bottom == 1 {
            return self.merge(bottom, bottom);
        }
        let last = bytes(self.level(bottom - 1));
        if (above - last).saturating_mul(self.shape.level_ratio) >= last {
            return self.merge(bottom - 1, bottom - 1);
        }
        self.push_down(bottom - 1)
    }

    /// Merges the levels before `end` into the level `to`, which is one of them, the next one that is not empty, or above it.
    fn merge(&self, end: usize, to: usize) -> Choice {
        let newer = self.parts(0..end).skip(self.level(0).len().saturating_sub(MOST_RUNS));
        let disjoint = newer.clone().enumerate().all(|(at, (_, part))| {
            let older = newer.clone().skip(at + 1).map(|(_, other)| other);
            let below = self.level(to).iter().filter(|_| to >= end);
            !older.chain(below).any(|other| overlaps(part, other))
        });
        let mut levels = newer.clone().map(|(number, _)| number);
        let from = levels.next().filter(|first| levels.all(|number| number == *first));
        if let Some(from) = from
            && disjoint
            && from != to
            && (to < BOTTOM || !newer.clone().any(|(_, part)| self.is_small(part)))
        {
            let segments = newer.map(|(_, part)| part.segment.id).collect();
            return Choice::Move { from, segments, to };
        }
        // One of the segments that are written may reach over the gap between two parts: what lies there is merged too.
        let first = newer.clone().map(|(_, part)| &part.first_key).min();
        let last = newer.clone().map(|(_, part)| &part.last_key).max();
        let touched = self.level(to).iter().filter(|_| to >= end);
        let touched = touched.filter(|part| Some(&part.first_key) <= last && first <= Some(&part.last_key));
        let inputs = newer.chain(touched.map(|part| (to, part)));
        Choice::Merge { inputs: inputs.map(|(number, part)| (number, part.segment.id)).collect(), to }
    }

    /// Gives the next level the part that drags the least of it along, for its size.
    fn push_down(&self, number: usize) -> Choice {
        let next = self.level(number + 1);
        let touched = |part: &Part| next.iter().filter(|other| overlaps(part, other)).collect::<Vec<_>>();
        let cost = |part: &Part| bytes(touched(part)).saturating_mul(1000) / part.bytes.max(1);
        let Some(part) = self.level(number).iter().min_by_key(|part| cost(part)) else {
            return self.merge(number + 1, number + 1);
        };
        let id = part.segment.id;
        let touched = touched(part);
        if touched.is_empty() {
            return Choice::Move { from: number, segments: vec![id], to: number + 1 };
        }
        let older = touched.into_iter().map(|other| (number + 1, other.segment.id));
        Choice::Merge { inputs: std::iter::once((number, id)).chain(older).collect(), to: number + 1 }
    }

    /// Writes a part anew that keeps a segment of which most is used by nobody. Splits leave such parts behind, and so do
    /// tables that are deleted.
    fn rewrite_left_over(&self) -> Option<Choice> {
        let (to, part) = self.parts(1..self.levels.len()).find(|(_, part)| part.segment.is_left_over())?;
        Some(Choice::Merge { inputs: vec![(to, part.segment.id)], to })
    }

    /// Writes parts of the bottom anew of which much is expired or deleted, and small ones behind them.
    fn rewrite(&self, bottom: usize, waste: Waste) -> Option<Choice> {
        let wasteful = |part: &Part| {
            tombstones(part).saturating_mul(self.shape.level_ratio) >= part.entries.max(1)
                || expired(part, waste.expired_before) * self.shape.level_ratio >= 1000
        };
        let level = self.level(bottom);
        let first = level.iter().position(|part| waste.quiet && wasteful(part))?;
        let mut written = 0;
        let run = level.iter().skip(first).enumerate().take_while(|(at, part)| {
            written += part.bytes;
            *at == 0
                || ((self.is_small(part) || wasteful(part)) && written <= self.shape.segment_bytes * MOST_SEGMENTS / 2)
        });
        Some(Choice::Merge { inputs: run.map(|(_, part)| (bottom, part.segment.id)).collect(), to: bottom })
    }
}

/// Tombstones in a part, about: its share of those in its segment.
fn tombstones(part: &Part) -> u64 {
    (part.segment.tombstones.saturating_mul(part.entries) / part.segment.entries.max(1)).min(part.entries)
}

/// How much of a part is expired, in thousandths, if its versions are spread evenly over time.
fn expired(part: &Part, before: i64) -> u64 {
    let (Some(oldest), Some(newest)) = (part.segment.oldest, part.segment.newest) else { return 0 };
    let span = newest.saturating_sub(oldest).saturating_add(1);
    let gone = before.saturating_sub(oldest).clamp(0, span);
    (gone / thousandth(oldest, newest)).unsigned_abs()
}

/// A thousandth of the time between two versions.
fn thousandth(oldest: i64, newest: i64) -> i64 {
    (newest.saturating_sub(oldest).saturating_add(1) / 1000).max(1)
}

#[cfg(test)]
mod tests;
