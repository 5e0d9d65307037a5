//! Which parts of a tree to compact next: a pure function of its levels.

use crate::engine::Shape;
use crate::engine::version::{Level, MAX_LEVELS, Part, TreeLevels};
use crate::storage::SegmentId;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Nothing overlaps: the parts change their level, no data is read.
    Move { from: usize, segments: Vec<SegmentId>, to: usize },
    /// These parts are merged into the level `to`. From newer to older.
    Merge { inputs: Vec<(usize, SegmentId)>, to: usize },
}

fn overlaps(a: &Part, b: &Part) -> bool {
    a.first_key <= b.last_key && b.first_key <= a.last_key
}

/// What should be done to a tree, most urgent first; `None` if it is in good shape.
pub(crate) fn pick(tree: &TreeLevels, shape: &Shape) -> Option<Choice> {
    let empty = Level::new();
    let level = |number: usize| tree.levels.get(number).unwrap_or(&empty);
    if level(0).len() >= shape.level0_parts {
        return Some(pick_level0(level(0), level(1)));
    }
    let mut most = shape.level1_bytes;
    for number in 1..MAX_LEVELS - 1 {
        let bytes: u64 = level(number).iter().map(|part| part.bytes).sum();
        if bytes > most {
            return pick_deeper(number, level(number), level(number + 1));
        }
        most = most.saturating_mul(shape.level_ratio);
    }
    pick_waste(tree)
}

/// A part of a segment of which most is used by nobody: once it is written anew, the segment's space is given back. Splits
/// leave such parts behind, and so do tables that are deleted.
fn pick_waste(tree: &TreeLevels) -> Option<Choice> {
    let mut parts =
        tree.levels.iter().enumerate().skip(1).flat_map(|(to, level)| level.iter().map(move |part| (to, part)));
    let (to, part) = parts.find(|(_, part)| part.segment.dead_bytes() > part.segment.live.get())?;
    Some(Choice::Merge { inputs: vec![(to, part.segment.id)], to })
}

fn pick_level0(level0: &Level, level1: &Level) -> Choice {
    let disjoint = level0.iter().enumerate().all(|(index, part)| {
        let others = level0.iter().skip(index + 1).chain(level1);
        !others.into_iter().any(|other| overlaps(part, other))
    });
    if disjoint {
        let segments = level0.iter().map(|part| part.segment.id).collect();
        return Choice::Move { from: 0, segments, to: 1 };
    }
    let mut inputs: Vec<_> = level0.iter().map(|part| (0, part.segment.id)).collect();
    // One of the segments that are written may reach over the gap between two parts: what lies there is merged too.
    let first = level0.iter().map(|part| &part.first_key).min();
    let last = level0.iter().map(|part| &part.last_key).max();
    let touched = level1.iter().filter(|part| Some(&part.first_key) <= last && first <= Some(&part.last_key));
    inputs.extend(touched.map(|part| (1, part.segment.id)));
    Choice::Merge { inputs, to: 1 }
}

/// The part that drags the least of the next level along, for its size.
fn pick_deeper(number: usize, level: &Level, next: &Level) -> Option<Choice> {
    let dragged = |part: &Part| -> u64 { next.iter().filter(|other| overlaps(part, other)).map(|o| o.bytes).sum() };
    let cost = |part: &Part| dragged(part).saturating_mul(1000) / part.bytes.max(1);
    let part = level.iter().min_by_key(|part| cost(part))?;
    let id = part.segment.id;
    let touched: Vec<_> =
        next.iter().filter(|other| overlaps(part, other)).map(|other| (number + 1, other.segment.id)).collect();
    if touched.is_empty() {
        return Some(Choice::Move { from: number, segments: vec![id], to: number + 1 });
    }
    let inputs = std::iter::once((number, id)).chain(touched).collect();
    Some(Choice::Merge { inputs, to: number + 1 })
}

/// Whether nothing of the tree lies below the level `to` in the range of `inputs`: then deletions have nothing to hide
/// any more.
pub(crate) fn is_bottom(tree: &TreeLevels, inputs: &[&Part], to: usize) -> bool {
    let mut deeper = tree.levels.iter().skip(to + 1).flatten();
    !deeper.any(|part| inputs.iter().any(|input| overlaps(part, input)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::version::Segment;
    use std::rc::Rc;

    const SHAPE: Shape = Shape { level0_parts: 2, level1_bytes: 100, level_ratio: 10, ..Shape::DEFAULT };

    fn part(segment: u64, first: &str, last: &str, bytes: u64) -> Rc<Part> {
        let live = std::cell::Cell::new(bytes);
        let segment = Segment { id: SegmentId(segment), blocks: 1, bytes, entries: 1, live, ..Segment::default() };
        let key = |text: &str| text.as_bytes().into();
        Rc::new(Part { segment: Rc::new(segment), first_key: key(first), last_key: key(last), bytes, entries: 1 })
    }

    fn tree(levels: Vec<Level>) -> TreeLevels {
        TreeLevels { levels }
    }

    #[test]
    fn a_tree_in_shape_is_left_alone() {
        assert_eq!(pick(&tree(vec![]), &SHAPE), None);
        let tree = tree(vec![vec![part(1, "a", "b", 50)], vec![part(2, "a", "b", 100)]]);
        assert_eq!(pick(&tree, &SHAPE), None);
    }

    #[test]
    fn what_is_left_of_a_segment_is_written_anew() {
        let tree = tree(vec![vec![part(1, "a", "b", 50)], vec![part(2, "a", "b", 50), part(3, "c", "d", 50)]]);
        let used = |segment: usize, bytes: u64| tree.levels[1][segment].segment.live.set(bytes);
        used(1, 25);
        assert_eq!(pick(&tree, &SHAPE), None, "half of it");
        used(1, 24);
        assert_eq!(pick(&tree, &SHAPE), Some(Choice::Merge { inputs: vec![(1, SegmentId(3))], to: 1 }));
    }

    #[test]
    fn sorted_loads_move_down_without_being_read() {
        let ids = vec![SegmentId(2), SegmentId(1)];
        let flushed = tree(vec![vec![part(2, "c", "d", 50), part(1, "a", "b", 50)]]);
        assert_eq!(pick(&flushed, &SHAPE), Some(Choice::Move { from: 0, segments: ids, to: 1 }));
        let full = tree(vec![vec![], vec![part(1, "a", "b", 70), part(2, "c", "d", 70)], vec![part(3, "a", "a", 9)]]);
        assert_eq!(pick(&full, &SHAPE), Some(Choice::Move { from: 1, segments: vec![SegmentId(2)], to: 2 }));
    }

    #[test]
    fn overlapping_flushes_merge_with_what_they_touch() {
        let level1 = vec![part(3, "a", "b", 1), part(4, "m", "n", 1), part(5, "x", "z", 1)];
        let tree = tree(vec![vec![part(2, "b", "m", 1), part(1, "a", "c", 1)], level1]);
        let inputs = [(0, 2), (0, 1), (1, 3), (1, 4)].map(|(level, id)| (level, SegmentId(id))).to_vec();
        assert_eq!(pick(&tree, &SHAPE), Some(Choice::Merge { inputs, to: 1 }));
    }

    /// The merged segment is one from a to z: nothing of level 1 may stay inside.
    #[test]
    fn what_lies_between_the_parts_of_level_0_is_merged_with_them() {
        let level1 = vec![part(3, "b", "c", 1), part(4, "m", "n", 1), part(5, "zz", "zz", 1)];
        let tree = tree(vec![vec![part(2, "x", "z", 1), part(1, "a", "b", 1)], level1]);
        let inputs = [(0, 2), (0, 1), (1, 3), (1, 4)].map(|(level, id)| (level, SegmentId(id))).to_vec();
        assert_eq!(pick(&tree, &SHAPE), Some(Choice::Merge { inputs, to: 1 }));
    }

    #[test]
    fn a_full_level_gives_the_part_that_drags_least() {
        let level1 = vec![part(1, "a", "f", 60), part(2, "m", "n", 60)];
        let level2 = vec![part(3, "a", "c", 90), part(4, "d", "f", 90), part(5, "m", "m", 10)];
        let tree = tree(vec![vec![], level1, level2]);
        let inputs = vec![(1, SegmentId(2)), (2, SegmentId(5))];
        assert_eq!(pick(&tree, &SHAPE), Some(Choice::Merge { inputs, to: 2 }));
    }

    #[test]
    fn the_bottom_is_where_nothing_lies_below() {
        let tree = tree(vec![vec![], vec![part(1, "a", "c", 1)], vec![part(2, "b", "d", 1)]]);
        let input = part(9, "c", "e", 1);
        assert!(!is_bottom(&tree, &[&input], 1));
        assert!(is_bottom(&tree, &[&input], 2));
        assert!(is_bottom(&tree, &[&part(9, "x", "y", 1)], 0));
    }
}
