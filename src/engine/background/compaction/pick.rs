//! Picks the next compaction: a pure function of the levels of one partition.
//!
//! Nearly all data lies in one level, the bottom. The levels above hold at most a `level_ratio`-th of it. This bounds
//! wasted space, and every byte is merged into the bottom about `level_ratio` times. Above the bottom, runs are collected
//! rather than merged. Level 0 becomes a run in the deepest free level. If no level is free, the newest runs become one,
//! together with all older ones that are not larger. So flushes that bring little to many partitions cost little, and a
//! read meets few runs. A bottom too large to rewrite at once takes the parts of the level above one by one. A tiny partition
//! becomes one run with every second flush.

use crate::engine::base::options::Shape;
use crate::engine::rows::keys::partition_of;
use crate::engine::versions::part::{Level, Part, TreeLevels};
use crate::engine::work::CompactionReason;
use crate::storage::SegmentId;
use std::rc::Rc;

/// The bottom of a new partition. Between it and level 0 there is room for three runs.
pub(crate) const BOTTOM: usize = 4;

/// The most parts of level 0 in one merge, the oldest ones: a merge holds one block of each in memory.
const MOST_RUNS: usize = 8;

/// The most segments that one merge writes.
const MOST_SEGMENTS: u64 = 16;

/// A partition smaller than this fraction of what may lie above a bottom is merged into one run soon: that costs next to nothing, and
/// a row that was written several times is put together from fewer runs.
const TINY: u64 = 4;

/// So many parts of level 0 are merged then.
const TINY_PARTS: usize = 2;

/// Parts smaller than this fraction of a segment are not moved to the bottom unchanged: they would stay small. They wait for
/// a merge; larger ones beside them do not.
const SMALL: u64 = 8;

/// A choice of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// All data is expired, and nothing older lies below that would show again. The parts are dropped unread.
    Drop { parts: Vec<(usize, SegmentId)> },
    /// Nothing overlaps. The parts change their level unread.
    Move { from: usize, segments: Vec<SegmentId>, to: usize },
    /// These parts are merged into the level `to`, from newer to older.
    Merge { inputs: Vec<(usize, SegmentId)>, to: usize },
}

impl Choice {
    /// The levels and segments of its inputs.
    pub(crate) fn parts(&self) -> Vec<(usize, SegmentId)> {
        match self {
            Self::Drop { parts } => parts.clone(),
            Self::Move { from, segments, .. } => segments.iter().map(|&segment| (*from, segment)).collect(),
            Self::Merge { inputs, .. } => inputs.clone(),
        }
    }

    /// The level of its outputs, if there are any.
    pub(crate) fn level(&self) -> Option<usize> {
        match self {
            Self::Drop { .. } => None,
            Self::Move { to, .. } | Self::Merge { to, .. } => Some(*to),
        }
    }
}

/// The data that compaction may remove at this instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waste {
    /// Versions before this one (ms) are expired.
    pub(crate) expired_before: i64,
    /// No reader uses an older instant, so a merge does remove it.
    pub(crate) quiet: bool,
}

fn overlaps(a: &Part, b: &Part) -> bool {
    a.first_key <= b.last_key && b.first_key <= a.last_key
}

fn bytes<'p>(parts: impl IntoIterator<Item = &'p Rc<Part>>) -> u64 {
    parts.into_iter().map(|part| part.bytes).sum()
}

/// Whether [`pick`] may find work. It does not say which, so it is cheap and always there.
pub(crate) fn may_find(levels: &TreeLevels, shape: &Shape, expired_before: i64) -> bool {
    let picker = Picker { levels: &levels.levels, shape };
    let state = picker.state();
    let is_wholly_expired = |part: &Part| part.segment.newest.is_some_and(|newest| newest < expired_before);
    let mut parts = picker.parts(0..picker.levels.len());
    let mut bottom = picker.level(state.bottom.unwrap_or(picker.levels.len())).iter();
    state.is_due
        || state.presses
        || parts.any(|(_, part)| is_wholly_expired(part) || part.segment.is_left_over())
        || bottom.any(|part| picker.is_wasteful(part, expired_before))
}

/// The most urgent work on a partition; `None` if it is in good shape. A gate of
/// [`Module::Compaction`](crate::modules::Module::Compaction).
#[inline(never)]
pub(crate) fn pick(levels: &TreeLevels, shape: &Shape, waste: Waste) -> Option<Choice> {
    Picker { levels: &levels.levels, shape }.pick(waste)
}

/// Why a choice was made.
pub(crate) fn why(levels: &TreeLevels, shape: &Shape, choice: &Choice) -> CompactionReason {
    let picker = Picker { levels: &levels.levels, shape };
    let inputs = match choice {
        Choice::Drop { .. } => return CompactionReason::Expired,
        Choice::Move { .. } => return picker.why_above(),
        Choice::Merge { inputs, .. } => inputs,
    };
    let parts: Vec<_> = picker.parts(0..picker.levels.len()).collect();
    let chosen = |(level, part): &&(usize, &Rc<Part>)| inputs.contains(&(*level, part.segment.id));
    let State { is_due, presses, .. } = picker.state();
    if is_due || presses {
        picker.why_above()
    } else if parts.iter().filter(chosen).any(|(_, part)| part.segment.is_left_over()) {
        CompactionReason::LeftOver
    } else {
        CompactionReason::Waste
    }
}

/// If a partition needs no work now, it needs none until versions after this one (ms) are expired.
pub(crate) fn in_shape_until(levels: &TreeLevels, shape: &Shape) -> i64 {
    let until = levels.levels.iter().flatten().filter_map(|part| {
        let (oldest, newest) = (part.segment.oldest?, part.segment.newest?);
        // The fraction that triggers a rewrite, in the unit of `expired`.
        let share = thousandth(oldest, newest).saturating_mul(1000 / shape.level_ratio.clamp(1, 1000).cast_signed());
        Some(oldest.saturating_add(share - 1).min(newest))
    });
    until.min().unwrap_or(i64::MAX)
}

/// Whether the partition has nothing below the level `to` in the range of `inputs`. Then deletions have nothing left to
/// hide.
pub(crate) fn is_bottom(levels: &TreeLevels, inputs: &[&Part], to: usize) -> bool {
    let mut deeper = levels.levels.iter().skip(to + 1).flatten();
    !deeper.any(|part| inputs.iter().any(|input| overlaps(part, input)))
}

/// Whether the partition has nothing above the `inputs` in their range, other than inputs. Then all newer data is known.
pub(crate) fn is_top(levels: &TreeLevels, inputs: &[(usize, SegmentId)], parts: &[&Part], to: usize) -> bool {
    let mut above = levels.parts().take_while(|(number, _)| *number < to);
    !above.any(|(number, part)| {
        !inputs.contains(&(number, part.segment.id)) && parts.iter().any(|input| overlaps(part, input))
    })
}

/// The partition key, tree included, in front of a part of the bottom, about the middle one, that no part of the bottom spans.
pub(super) fn middle_of_bottom(levels: &TreeLevels) -> Option<Box<[u8]>> {
    let bottom = levels.levels.iter().skip(1).rev().find(|level| !level.is_empty())?;
    let cuts = bottom.windows(2).enumerate().filter_map(|(at, pair)| {
        let [left, right] = pair else { return None };
        let key = partition_of(&right.first_key);
        (*left.last_key < *key).then_some(((at + 1).abs_diff(bottom.len() / 2), key))
    });
    cuts.min().map(|(_, key)| key.into())
}

/// The state of a partition.
struct State {
    /// Its deepest level with data, below level 0.
    bottom: Option<usize>,
    /// Stored bytes there.
    stored: u64,
    /// Level 0 is full, or has several parts of a tiny partition.
    is_due: bool,
    /// Too much is wasted: hidden by what lies above. In a tiny partition any of it is too much.
    presses: bool,
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

    #[inline(never)]
    fn state(&self) -> State {
        // A segment that a flush wrote for several partitions is freed only when none of them keeps its part.
        let left_over = self.level(0).iter().any(|part| part.segment.is_left_over());
        let is_tiny = self.level(0).len() >= TINY_PARTS
            && bytes(self.parts(0..self.levels.len()).map(|(_, part)| part)) * TINY <= self.shape.level1_bytes;
        let is_due = self.level(0).len() >= self.shape.level0_parts || left_over || is_tiny;
        let bottom = (1..self.levels.len()).rev().find(|&number| !self.level(number).is_empty());
        let above = self.parts(0..bottom.unwrap_or(1));
        let below = bottom.map_or(self.level(0), |bottom| self.level(bottom));
        let stored = bytes(below);
        // Each remembered deleted row above hides one below.
        let deleted: u64 = above.clone().map(|(_, part)| tombstones(part)).sum();
        let entries: u64 = below.iter().map(|part| part.entries).sum();
        let mut wasted = deleted.saturating_mul(stored / entries.max(1));
        wasted += bottom.map_or(0, |_| bytes(above.map(|(_, part)| part)));
        let much = is_tiny || wasted.saturating_mul(self.shape.level_ratio) >= stored;
        State { bottom, stored, is_due, presses: much && (is_due || wasted >= self.shape.level1_bytes.max(1)) }
    }

    /// Why work above the bottom is due.
    fn why_above(&self) -> CompactionReason {
        let level0 = self.level(0);
        if level0.len() >= self.shape.level0_parts {
            CompactionReason::Level0Full
        } else if level0.iter().any(|part| part.segment.is_left_over()) {
            CompactionReason::LeftOver
        } else if self.state().is_due {
            CompactionReason::SmallPartition
        } else {
            CompactionReason::TooMuchAbove
        }
    }

    fn pick(&self, waste: Waste) -> Option<Choice> {
        if let Some(choice) = self.drop_expired(waste) {
            return Some(choice);
        }
        let State { bottom, stored, is_due: due, presses } = self.state();
        match bottom {
            None if due || presses => Some(self.merge(1, BOTTOM)),
            None => None,
            Some(bottom) if due && bottom < BOTTOM => {
                let segments = self.level(bottom).iter().map(|part| part.segment.id).collect();
                Some(Choice::Move { from: bottom, segments, to: BOTTOM })
            }
            Some(bottom) if presses && !self.collects_first(bottom, stored) => {
                Some(self.merge_to_bottom(bottom, stored))
            }
            Some(bottom) if due || presses => Some(self.sink(bottom).unwrap_or_else(|| self.merge_above(bottom))),
            Some(bottom) => self.rewrite_left_over().or_else(|| self.rewrite(bottom, waste)),
        }
    }

    /// Parts that are wholly expired and have no data below.
    fn drop_expired(&self, waste: Waste) -> Option<Choice> {
        let expired = |part: &Part| part.segment.newest.is_some_and(|newest| newest < waste.expired_before);
        let parts = self.parts(0..self.levels.len());
        let found = parts.clone().enumerate().filter(|(at, (number, part))| {
            // Levels other than 0 do not overlap themselves, so a later part is older or beside this one.
            expired(part)
                && !parts
                    .clone()
                    .skip(at + 1)
                    .any(|(other, below)| (other > *number || *number == 0) && overlaps(part, below))
        });
        let parts: Vec<_> = found.map(|(_, (number, part))| (number, part.segment.id)).collect();
        (!parts.is_empty()).then_some(Choice::Drop { parts })
    }

    /// Moves level 0 down as far as it overlaps nothing, so data in key order is written once.
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

    /// Whether much of a part of the bottom is deleted or expired.
    fn is_wasteful(&self, part: &Part, expired_before: i64) -> bool {
        tombstones(part).saturating_mul(self.shape.level_ratio) >= part.entries.max(1)
            || expired(part, expired_before) * self.shape.level_ratio >= 1000
    }

    fn is_small(&self, part: &Part) -> bool {
        part.bytes < self.shape.segment_bytes / SMALL
    }

    /// Makes one run of level 0. If no level is free, runs below it are merged too.
    fn merge_above(&self, bottom: usize) -> Choice {
        let free = |number: usize| self.level(number).is_empty();
        // The merge takes the levels before this one.
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

    /// Whether level 0 has more parts than one merge takes, and a level below is free for them. So writes that come faster than
    /// they are merged rewrite the bottom once for several merges. A small bottom need not be spared.
    fn collects_first(&self, bottom: usize, stored: u64) -> bool {
        bottom > 1 && stored > self.shape.level1_bytes && self.level(0).len() > MOST_RUNS && self.level(1).is_empty()
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

    /// Merges the levels before `end` into the level `to`. This is one of them, the next level that is not empty, or a
    /// level above that.
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
        {
            let movable = newer.clone().filter(|(_, part)| to < BOTTOM || !self.is_small(part));
            let segments: Vec<_> = movable.map(|(_, part)| part.segment.id).collect();
            if !segments.is_empty() {
                return Choice::Move { from, segments, to };
            }
        }
        // A written segment may span the gap between two parts, so data in the gap is merged too.
        let first = newer.clone().map(|(_, part)| &part.first_key).min();
        let last = newer.clone().map(|(_, part)| &part.last_key).max();
        let touched = self.level(to).iter().filter(|_| to >= end);
        let touched = touched.filter(|part| Some(&part.first_key) <= last && first <= Some(&part.last_key));
        let inputs = newer.chain(touched.map(|part| (to, part)));
        Choice::Merge { inputs: inputs.map(|(number, part)| (number, part.segment.id)).collect(), to }
    }

    /// Moves the part into the next level that overlaps the least data there, relative to its size.
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

    /// Rewrites a part whose segment is mostly unused. Splits and deleted tables leave such parts behind.
    fn rewrite_left_over(&self) -> Option<Choice> {
        let (to, part) = self.parts(1..self.levels.len()).find(|(_, part)| part.segment.is_left_over())?;
        Some(Choice::Merge { inputs: vec![(to, part.segment.id)], to })
    }

    /// Rewrites parts of the bottom with much expired or deleted data, and small parts behind them.
    fn rewrite(&self, bottom: usize, waste: Waste) -> Option<Choice> {
        let wasteful = |part: &Part| self.is_wasteful(part, waste.expired_before);
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

/// The estimated tombstones of a part: its share of those in its segment.
fn tombstones(part: &Part) -> u64 {
    (part.segment.tombstones.saturating_mul(part.entries) / part.segment.entries.max(1)).min(part.entries)
}

/// The expired share of a part, in thousandths, if its versions are spread evenly over time.
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
