//! A version: which segments there are and which tree reads which parts of them. Immutable.
//!
//! A change is an [`Edit`]; applying it builds the next version and checks its invariants, in release too, before
//! anything is persisted. Whoever reads holds on to the version it started with, and through it to the segments.

use super::TreeId;
use crate::error::{Error, Result};
use crate::format::manifest::{LevelRecord, ManifestRecord, PartRecord, SegmentRecord, TreeRecord};
use crate::model::small_map::SmallMap;
use crate::storage::{BlockId, LogNumber, SegmentId};
use std::rc::Rc;

/// Deeper levels than this are never made: each is ten times the one above.
pub(super) const MAX_LEVELS: usize = 7;

/// A segment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) id: SegmentId,
    /// Data blocks; the record behind them is the index.
    pub(super) blocks: u32,
    /// Stored bytes of all records.
    pub(super) bytes: u64,
    pub(super) entries: u64,
    pub(super) index_bytes: u32,
}

impl Segment {
    /// Where the segment's index lies.
    pub(super) fn meta(&self) -> BlockId {
        self.block(self.blocks)
    }

    pub(super) fn block(&self, block: u32) -> BlockId {
        BlockId { segment: self.id, block }
    }
}

/// The part of a segment that a tree reads.
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

/// One level of a tree. Level 0: newest first, keys may overlap. Others: ascending, no overlap.
pub(super) type Level = Vec<Rc<Part>>;

/// The levels of a tree.
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
}

/// A version.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    /// The first log record that is not wholly in segments.
    pub(super) log_start: LogNumber,
    /// Above every seqno in segments.
    pub(super) next_seqno: u64,
    pub(super) trees: SmallMap<TreeId, Rc<TreeLevels>>,
}

/// A change of a version.
#[derive(Clone, Debug, Default)]
pub(super) struct Edit {
    pub(super) remove: Vec<(TreeId, usize, SegmentId)>,
    pub(super) add: Vec<(TreeId, usize, Rc<Part>)>,
    pub(super) drop_trees: Vec<TreeId>,
    /// The log up to here is in segments now.
    pub(super) log_start: Option<LogNumber>,
    /// Above every seqno that the edit brings into segments.
    pub(super) next_seqno: u64,
}

impl Version {
    /// The next version.
    pub(super) fn apply(&self, edit: &Edit) -> Result<Self> {
        let mut next = self.clone();
        for tree in &edit.drop_trees {
            next.trees.remove(tree);
        }
        for (tree, level, segment) in &edit.remove {
            let Some(levels) = next.trees.get_mut(tree).map(Rc::make_mut) else { continue };
            if let Some(parts) = levels.levels.get_mut(*level) {
                parts.retain(|part| part.segment.id != *segment);
            }
        }
        for (tree, level, part) in &edit.add {
            let levels = Rc::make_mut(next.trees.entry(*tree));
            if levels.levels.len() <= *level {
                levels.levels.resize_with(level + 1, Vec::new);
            }
            if let Some(parts) = levels.levels.get_mut(*level) {
                let place =
                    if *level == 0 { 0 } else { parts.partition_point(|other| other.first_key < part.first_key) };
                parts.insert(place, Rc::clone(part));
            }
        }
        for levels in next.trees.values_mut() {
            if levels.levels.last().is_some_and(Vec::is_empty) {
                let levels = Rc::make_mut(levels);
                while levels.levels.last().is_some_and(Vec::is_empty) {
                    levels.levels.pop();
                }
            }
        }
        next.trees.retain(|_, levels| !levels.levels.is_empty());
        if let Some(start) = edit.log_start {
            next.log_start = next.log_start.max(start);
        }
        next.next_seqno = next.next_seqno.max(edit.next_seqno);
        next.check()?;
        Ok(next)
    }

    fn check(&self) -> Result<()> {
        for (tree, levels) in self.trees.iter() {
            if levels.levels.len() > MAX_LEVELS {
                return Err(Error::internal(format!("tree {} has {} levels", tree.0, levels.levels.len())));
            }
            for (number, level) in levels.levels.iter().enumerate() {
                let own = tree.0.to_be_bytes();
                if let Some(part) = level.iter().find(|part| {
                    part.first_key > part.last_key
                        || !part.first_key.starts_with(&own)
                        || !part.last_key.starts_with(&own)
                }) {
                    let id = part.segment.id.0;
                    return Err(Error::internal(format!("tree {} has a wrong part of segment {id}", tree.0)));
                }
                let overlap = level.windows(2).any(|pair| matches!(pair, [a, b] if a.last_key >= b.first_key));
                if number > 0 && overlap {
                    return Err(Error::internal(format!("level {number} of tree {} overlaps itself", tree.0)));
                }
            }
        }
        Ok(())
    }

    /// Every segment that is part of a tree.
    pub(super) fn segments(&self) -> SmallMap<SegmentId, Rc<Segment>> {
        let mut segments = SmallMap::default();
        for part in self.trees.values().flat_map(|tree| tree.levels.iter().flatten()) {
            segments.insert(part.segment.id, Rc::clone(&part.segment));
        }
        segments
    }

    /// The stored form, but for what is not the version's own.
    pub(super) fn to_record(&self) -> ManifestRecord {
        let trees = self.trees.iter().map(|(id, tree)| TreeRecord {
            id: id.0,
            levels: tree
                .levels
                .iter()
                .map(|level| LevelRecord { parts: level.iter().map(part_record).collect() })
                .collect(),
        });
        let segments = self.segments();
        let segments = segments.values().map(|segment| SegmentRecord {
            id: segment.id.0,
            blocks: segment.blocks,
            bytes: segment.bytes,
            entries: segment.entries,
            index_bytes: segment.index_bytes,
        });
        ManifestRecord {
            log_start: self.log_start.0,
            next_seqno: self.next_seqno,
            segments: segments.collect(),
            trees: trees.collect(),
            ..ManifestRecord::default()
        }
    }

    /// The version that a manifest describes; segments that are `known` stay the same objects. The message says what is
    /// wrong with a manifest that describes none.
    pub(super) fn from_record(
        record: &ManifestRecord,
        known: &SmallMap<SegmentId, Rc<Segment>>,
    ) -> Result<Self, String> {
        let mut segments = SmallMap::default();
        for segment in &record.segments {
            let id = SegmentId(segment.id);
            let fresh = || {
                Rc::new(Segment {
                    id,
                    blocks: segment.blocks,
                    bytes: segment.bytes,
                    entries: segment.entries,
                    index_bytes: segment.index_bytes,
                })
            };
            segments.insert(segment.id, known.get(&id).map_or_else(fresh, Rc::clone));
        }
        let part = |part: &PartRecord| -> Result<Rc<Part>, String> {
            let segment =
                segments.get(&part.segment).ok_or_else(|| format!("segment {} is not listed", part.segment))?;
            Ok(Rc::new(Part {
                segment: Rc::clone(segment),
                first_key: part.first_key.clone().into(),
                last_key: part.last_key.clone().into(),
                bytes: part.bytes,
                entries: part.entries,
            }))
        };
        let mut trees = SmallMap::default();
        for tree in &record.trees {
            let levels = tree.levels.iter().map(|level| level.parts.iter().map(part).collect());
            trees.insert(TreeId(tree.id), Rc::new(TreeLevels { levels: levels.collect::<Result<_, _>>()? }));
        }
        let version = Self { log_start: LogNumber(record.log_start), next_seqno: record.next_seqno, trees };
        version.check().map_err(|error| error.message().to_owned())?;
        Ok(version)
    }
}

fn part_record(part: &Rc<Part>) -> PartRecord {
    PartRecord {
        segment: part.segment.id.0,
        first_key: part.first_key.to_vec(),
        last_key: part.last_key.to_vec(),
        bytes: part.bytes,
        entries: part.entries,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(segment: u64, first: &str, last: &str) -> Rc<Part> {
        let key = |text: &str| [&1u32.to_be_bytes()[..], text.as_bytes()].concat().into_boxed_slice();
        let segment = Segment { id: SegmentId(segment), blocks: 1, bytes: 10, entries: 1, index_bytes: 1 };
        Rc::new(Part { segment: Rc::new(segment), first_key: key(first), last_key: key(last), bytes: 10, entries: 1 })
    }

    fn added(level: usize, parts: &[Rc<Part>]) -> Edit {
        Edit { add: parts.iter().map(|part| (TreeId(1), level, Rc::clone(part))).collect(), ..Edit::default() }
    }

    #[test]
    fn flushed_parts_come_first_and_deeper_levels_are_sorted() {
        let version = Version::default().apply(&added(0, &[part(1, "a", "z"), part(2, "a", "c")])).expect("applies");
        let version = version.apply(&added(1, &[part(4, "m", "n"), part(3, "a", "b")])).expect("applies");
        let ids: Vec<Vec<u64>> = version
            .trees
            .get(&TreeId(1))
            .expect("the tree")
            .levels
            .iter()
            .map(|l| l.iter().map(|p| p.segment.id.0).collect())
            .collect();
        assert_eq!(ids, [[2, 1], [3, 4]]);
        let back = Version::from_record(&version.to_record(), &SmallMap::default()).expect("a version");
        assert_eq!(back.trees, version.trees);
    }

    #[test]
    fn an_overlap_below_level_0_is_refused() {
        let edit = added(1, &[part(1, "a", "m"), part(2, "m", "z")]);
        assert!(Version::default().apply(&edit).is_err());
    }

    #[test]
    fn a_tree_without_parts_is_gone() {
        let version = Version::default().apply(&added(2, &[part(1, "a", "b")])).expect("applies");
        let edit = Edit { remove: vec![(TreeId(1), 2, SegmentId(1))], ..Edit::default() };
        assert!(version.apply(&edit).expect("applies").trees.is_empty());
    }
}
