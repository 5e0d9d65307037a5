//! A version: the segments, the partitions of each tree, and the parts of segments that each partition reads. Immutable.
//!
//! A change is an [`Edit`]. Applying it builds the next version and checks its invariants, in release too, before
//! anything is stored. A reader holds the version it started with, and through it the segments.

use super::part::{Part, Segment, TreeLevels};
use super::partition::{Partition, PartitionId, Partitions, Share, difference, fault};
use crate::collections::small_map::SmallMap;
use crate::collections::sort::sort_by;
use crate::error::{Error, Result};
use crate::model::TreeId;
use crate::storage::{LogNumber, SegmentId};
use std::rc::Rc;

/// A version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Version {
    /// The first log record that is not completely in segments.
    pub(crate) log_start: LogNumber,
    /// Above every seqno in segments.
    pub(crate) next_seqno: u64,
    /// Above every partition's id; 0 stands for 1.
    pub(crate) next_partition: u64,
    /// Trees with parts or boundaries; any other tree is one empty partition.
    pub(crate) trees: SmallMap<TreeId, Rc<Partitions>>,
}

/// A removed part: its place and its segment.
pub(crate) type PartRemoval = (TreeId, PartitionId, usize, SegmentId);

/// A changed tree: its partitions before, and now.
type TreeChange<'a> = (TreeId, &'a [Rc<Partition>], &'a [Rc<Partition>]);

/// The effects of a version change on segments.
#[derive(Debug, Default)]
pub(crate) struct SegmentChanges {
    /// Segments that are no longer named.
    pub(crate) unused: Vec<Rc<Segment>>,
    /// A segment that is still named became mostly unused.
    pub(crate) left_over: bool,
}

/// A change of a version. It removes parts, splits and merges partitions, and adds parts, in this order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    pub(crate) remove: Vec<PartRemoval>,
    /// New parts. They go to the partitions in which they lie, cut at boundaries.
    pub(crate) add: Vec<(TreeId, usize, Rc<Part>)>,
    pub(crate) drop_trees: Vec<TreeId>,
    /// A partition to split.
    pub(crate) split: Option<Split>,
    /// This partition and the next one of the tree become one, if they still can.
    pub(crate) merge: Option<(TreeId, PartitionId)>,
    /// Segments now have the log up to here.
    pub(crate) log_start: Option<LogNumber>,
    /// Above every seqno that the edit brings into segments.
    pub(crate) next_seqno: u64,
    /// The seqno of all loaded entries: it comes after all writes below, and they are visible from then on.
    pub(crate) loaded: Option<u64>,
}

impl Edit {
    /// The removed parts, grouped by partition.
    pub(crate) fn removed_by_partition(&self) -> impl Iterator<Item = &[PartRemoval]> {
        self.remove.chunk_by(|(tree, partition, ..), (other, id, ..)| (tree, partition) == (other, id))
    }
}

/// The cut of a partition.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub(crate) tree: TreeId,
    /// Tree and partition key, the first one of the partition behind.
    pub(crate) at: Box<[u8]>,
    /// The share before the cut of parts that it cuts. A part that is not listed is cut in half.
    pub(crate) shares: Vec<Share>,
}

impl Version {
    /// The next version.
    pub(crate) fn apply(&self, edit: &Edit) -> Result<Self> {
        let mut next = self.clone();
        for tree in &edit.drop_trees {
            next.trees.remove(tree);
        }
        for parts in edit.removed_by_partition() {
            let Some(levels) = next.levels_of(parts) else { continue };
            for (_, _, level, segment) in parts {
                if let Some(parts) = levels.levels.get_mut(*level) {
                    parts.retain(|part| part.segment.id != *segment);
                }
            }
        }
        if let Some(split) = &edit.split {
            next.tree(split.tree);
            let id = next.new_partition();
            next.tree(split.tree).split(&split.at, id, &split.shares);
        }
        if let Some((tree, left)) = &edit.merge {
            next.tree(*tree).merge(*left);
        }
        for (tree, level, part) in &edit.add {
            next.tree(*tree).add(*level, part);
        }
        for parts in edit.removed_by_partition() {
            if let Some(levels) = next.levels_of(parts) {
                levels.trim();
            }
        }
        next.trees.retain(|_, partitions| !partitions.is_blank());
        if let Some(start) = edit.log_start {
            next.log_start = next.log_start.max(start);
        }
        next.next_seqno = next.next_seqno.max(edit.next_seqno);
        next.check(self)?;
        Ok(next)
    }

    /// The levels of the partition that these parts are in.
    fn levels_of(&mut self, parts: &[PartRemoval]) -> Option<&mut TreeLevels> {
        let (tree, partition, ..) = parts.first()?;
        let partition = Rc::make_mut(self.trees.get_mut(tree)?).get_mut(*partition)?;
        Some(&mut partition.levels)
    }

    pub(crate) fn new_partition(&mut self) -> PartitionId {
        let id = self.next_partition.max(1);
        self.next_partition = id + 1;
        PartitionId(id)
    }

    /// The partitions of a tree, for changes.
    fn tree(&mut self, tree: TreeId) -> &mut Partitions {
        let fresh = (!self.trees.contains_key(&tree)).then(|| self.new_partition());
        let partitions = Rc::make_mut(self.trees.entry(tree));
        if let Some(id) = fresh {
            *partitions = Partitions::of(vec![Rc::new(Partition::first(tree, id, TreeLevels::default()))]);
        }
        partitions
    }

    /// The changed trees.
    fn differences<'a>(&'a self, before: &'a Self) -> Vec<TreeChange<'a>> {
        let of = |version: &'a Self, tree: &TreeId| version.trees.get(tree);
        let lost = before.trees.keys().filter(|tree| !self.trees.contains_key(*tree));
        let trees = self.trees.keys().chain(lost).map(|tree| (*tree, of(before, tree), of(self, tree)));
        let changed =
            trees.filter(|(_, before, now)| before.zip(*now).is_none_or(|(before, now)| !Rc::ptr_eq(before, now)));
        let all = |partitions: Option<&'a Rc<Partitions>>| partitions.map_or(&[][..], |partitions| partitions.all());
        changed.map(|(tree, before, now)| (tree, all(before), all(now))).collect()
    }

    /// Checks the changes since `before`, which was valid.
    pub(crate) fn check(&self, before: &Self) -> Result<()> {
        let fresh = before.next_partition.max(1)..self.next_partition;
        for (tree, before, now) in self.differences(before) {
            if let (false, Some(fault)) = (now.is_empty(), fault(tree, before, now, &fresh)) {
                return Err(Error::internal(format!("tree {}: {fault}", tree.0)));
            }
        }
        Ok(())
    }

    /// Updates each segment's usage, now that this version follows `before`.
    pub(crate) fn follow(&self, before: &Self) -> SegmentChanges {
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        for (_, before, now) in self.differences(before) {
            let (old, new) = difference(before, now);
            gone.extend(old.iter().flat_map(|partition| partition.levels.levels.iter().flatten()));
            come.extend(
                new.iter().filter_map(|place| now.get(*place)).flat_map(|one| one.levels.levels.iter().flatten()),
            );
        }
        let mut touched: Vec<_> = gone.iter().map(|part| (&part.segment, part.segment.is_left_over())).collect();
        for part in gone {
            part.segment.live.set(part.segment.live.get().saturating_sub(part.bytes));
            part.segment.parts.set(part.segment.parts.get() - 1);
        }
        for part in come {
            part.segment.live.set(part.segment.live.get().saturating_add(part.bytes));
            part.segment.parts.set(part.segment.parts.get() + 1);
        }
        sort_by(&mut touched, |(a, _), (b, _)| a.id.cmp(&b.id));
        touched.dedup_by_key(|(segment, _)| segment.id);
        let mut followed = SegmentChanges::default();
        for (segment, was_left_over) in touched {
            if segment.is_new() {
                followed.unused.push(Rc::clone(segment));
            } else {
                followed.left_over |= !was_left_over && segment.is_left_over();
            }
        }
        followed
    }

    /// The starts of all partitions but the first of each tree, ascending.
    pub(crate) fn boundaries(&self) -> Rc<[Box<[u8]>]> {
        self.trees.values().flat_map(|partitions| partitions.all().iter().skip(1)).map(|one| one.from.clone()).collect()
    }

    /// Every segment that a tree uses. It visits every part.
    pub(crate) fn segments(&self) -> SmallMap<SegmentId, Rc<Segment>> {
        let parts = self.trees.values().flat_map(|partitions| partitions.parts());
        let mut found: Vec<_> = parts.map(|part| (part.segment.id, &part.segment)).collect();
        sort_by(&mut found, |(a, _), (b, _)| a.cmp(b));
        found.dedup_by_key(|(id, _)| *id);
        let mut segments = SmallMap::default();
        for (id, segment) in found {
            segments.insert(id, Rc::clone(segment));
        }
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::versions::manifest;
    use crate::engine::versions::part::Level;
    use crate::format::record::Place;
    use crate::storage::ManifestId;

    fn key(text: &str) -> Box<[u8]> {
        [&1u32.to_be_bytes()[..], text.as_bytes()].concat().into_boxed_slice()
    }

    fn part(segment: u64, first: &str, last: &str) -> Rc<Part> {
        let segment =
            Segment { id: SegmentId(segment), blocks: 1, bytes: 11, entries: 4, index_bytes: 1, ..Segment::default() };
        Rc::new(Part { segment: Rc::new(segment), first_key: key(first), last_key: key(last), bytes: 10, entries: 4 })
    }

    fn added(level: usize, parts: &[Rc<Part>]) -> Edit {
        Edit { add: parts.iter().map(|part| (TreeId(1), level, Rc::clone(part))).collect(), ..Edit::default() }
    }

    fn split(at: &str) -> Edit {
        let split = Split { tree: TreeId(1), at: key(at), shares: Vec::new() };
        Edit { split: Some(split), ..Edit::default() }
    }

    /// The ids of the segments of each partition's levels.
    fn ids(version: &Version) -> Vec<Vec<Vec<u64>>> {
        let level = |level: &Level| level.iter().map(|part| part.segment.id.0).collect();
        let partitions = version.trees.get(&TreeId(1)).expect("the tree").all();
        partitions.iter().map(|partition| partition.levels.levels.iter().map(level).collect()).collect()
    }

    fn stored_and_read(version: &Version) -> Version {
        let id = ManifestId(1);
        let stored = version.to_record().seal(Place::Manifest(id));
        manifest::open(&[(id, stored)], SmallMap::default()).expect("a version").version
    }

    #[test]
    fn flushed_parts_come_first_and_deeper_levels_are_sorted() {
        let version = Version::default().apply(&added(0, &[part(1, "a", "z"), part(2, "a", "c")])).expect("applies");
        let version = version.apply(&added(1, &[part(4, "m", "n"), part(3, "a", "b")])).expect("applies");
        assert_eq!(ids(&version), [[[2, 1], [3, 4]]]);
        assert_eq!(stored_and_read(&version).trees, version.trees);
    }

    #[test]
    fn an_overlap_below_level_0_is_refused() {
        let edit = added(1, &[part(1, "a", "m"), part(2, "m", "z")]);
        assert!(Version::default().apply(&edit).is_err());
    }

    #[test]
    fn a_tree_without_parts_is_gone_unless_it_is_cut() {
        let version = Version::default().apply(&added(2, &[part(1, "a", "b")])).expect("applies");
        let removed = |version: &Version| {
            let first = version.trees.get(&TreeId(1)).expect("the tree").all()[0].id;
            Edit { remove: vec![(TreeId(1), first, 2, SegmentId(1))], ..Edit::default() }
        };
        assert!(version.apply(&removed(&version)).expect("applies").trees.is_empty());
        let version = version.apply(&split("c")).expect("applies");
        let version = version.apply(&removed(&version)).expect("applies");
        assert_eq!(ids(&version), [const { Vec::<Vec<u64>>::new() }; 2]);
        assert_eq!(stored_and_read(&version).trees, version.trees);
        let dropped = Edit { drop_trees: vec![TreeId(1)], ..Edit::default() };
        assert!(version.apply(&dropped).expect("applies").trees.is_empty());
    }

    #[test]
    fn a_partition_gets_an_id_that_none_ever_had() {
        let version = Version::default().apply(&split("f")).expect("a tree without parts can be cut");
        let merge = |version: &Version| {
            let first = version.trees.get(&TreeId(1)).expect("the tree").all()[0].id;
            Edit { merge: Some((TreeId(1), first)), ..Edit::default() }
        };
        let merged = version.apply(&merge(&version)).expect("applies");
        assert!(merged.trees.is_empty());
        let again = stored_and_read(&merged).apply(&split("f")).expect("applies");
        let ids: Vec<u64> = again.trees.values().flat_map(|all| all.all()).map(|one| one.id.0).collect();
        assert_eq!(ids, [3, 4]);
    }

    #[test]
    fn segments_know_how_much_of_them_is_used() {
        let first = Version::default().apply(&added(1, &[part(1, "a", "z")])).expect("applies");
        let segment = Rc::clone(first.segments().get(&SegmentId(1)).expect("there"));
        assert!(segment.is_new());
        first.follow(&Version::default());
        let cut = first.apply(&split("f")).expect("applies");
        let followed = cut.follow(&first);
        assert_eq!((segment.dead_bytes(), followed.unused.len(), followed.left_over), (0, 0, false));
        let remove = |version: &Version, place: usize| {
            let one = version.trees.get(&TreeId(1)).expect("the tree").all()[place].id;
            let edit = Edit { remove: vec![(TreeId(1), one, 1, SegmentId(1))], ..Edit::default() };
            version.apply(&edit).expect("applies")
        };
        let half = remove(&cut, 1);
        let followed = half.follow(&cut);
        assert_eq!((segment.dead_bytes(), followed.unused.len(), followed.left_over), (5, 0, false));
        let none = remove(&half, 0);
        assert_eq!(none.follow(&half).unused, [Rc::clone(&segment)]);
        assert!(segment.is_new());
    }

    #[test]
    fn a_segment_becomes_left_over_once() {
        let first = Version::default().apply(&added(1, &[part(1, "a", "z")])).expect("applies");
        first.follow(&Version::default());
        let edit = Split {
            tree: TreeId(1),
            at: key("f"),
            shares: vec![Share { segment: SegmentId(1), bytes: 4, entries: 1 }],
        };
        let cut = first.apply(&Edit { split: Some(edit), ..Edit::default() }).expect("applies");
        cut.follow(&first);
        let last = cut.trees.get(&TreeId(1)).expect("the tree").all()[1].id;
        let edit = Edit { remove: vec![(TreeId(1), last, 1, SegmentId(1))], ..Edit::default() };
        let rest = cut.apply(&edit).expect("applies");
        assert!(rest.follow(&cut).left_over, "6 of 10 bytes are used by nobody");
        let more = rest.apply(&added(1, &[part(2, "b", "c")])).expect_err("they overlap");
        assert!(more.message().contains("overlaps"));
        let more = rest.apply(&added(0, &[part(2, "b", "c")])).expect("applies");
        assert!(!more.follow(&rest).left_over, "it was before");
    }

    /// Unchanged partitions were valid before, and stay the same objects.
    #[test]
    fn only_partitions_that_change_are_looked_at() {
        let version = Version::default().apply(&added(2, &[part(1, "a", "z")])).expect("applies");
        let version = version.apply(&split("f")).expect("applies").apply(&split("p")).expect("applies");
        let next = version.apply(&added(0, &[part(2, "g", "h")])).expect("applies");
        let (before, now) = (version.trees.get(&TreeId(1)).expect("cut"), next.trees.get(&TreeId(1)).expect("cut"));
        let (gone, come) = difference(before.all(), now.all());
        assert_eq!((gone.len(), come), (1, vec![1]));
        let merged =
            next.apply(&Edit { merge: Some((TreeId(1), now.all()[0].id)), ..Edit::default() }).expect("applies");
        let merged = merged.trees.get(&TreeId(1)).expect("cut");
        let (gone, come) = difference(now.all(), merged.all());
        assert_eq!((gone.len(), come), (2, vec![0]));
        let (gone, come) = difference(merged.all(), &[]);
        assert_eq!((gone.len(), come), (2, vec![]));
    }
}
