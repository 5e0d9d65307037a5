//! A version: which segments there are, how trees are cut into partitions, and which parts of segments each of those
//! reads. Immutable.
//!
//! A change is an [`Edit`]; applying it builds the next version and checks its invariants, in release too, before
//! anything is persisted. Whoever reads holds on to the version it started with, and through it to the segments.

use super::partition::{Partition, PartitionId, Partitions, Share};
use super::{KeyRange, TreeId, within};
use crate::error::{Error, Result};
use crate::format::manifest::{LevelRecord, ManifestRecord, PartRecord, SegmentRecord, TreeRecord};
use crate::model::small_map::SmallMap;
use crate::model::sort::sort_by;
use crate::storage::{BlockId, LogNumber, SegmentId};
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
    /// The seqno of all its entries, whatever they say themselves: of a segment that was loaded (`ingest.rs`).
    pub(super) seqno: Option<u64>,
    /// Stored bytes that parts of the current version name, about; see [`Version::weigh_segments`].
    pub(super) live: Cell<u64>,
}

impl Segment {
    /// Where the segment's index lies.
    pub(super) fn meta(&self) -> BlockId {
        self.block(self.blocks)
    }

    pub(super) fn block(&self, block: u32) -> BlockId {
        BlockId { segment: self.id, block }
    }

    /// Stored bytes of its blocks that no part names any more, about: they are given back when all of it goes.
    pub(super) fn dead_bytes(&self) -> u64 {
        self.bytes.saturating_sub(u64::from(self.index_bytes)).saturating_sub(self.live.get())
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

/// A version.
#[derive(Clone, Debug, Default)]
pub(super) struct Version {
    /// The first log record that is not wholly in segments.
    pub(super) log_start: LogNumber,
    /// Above every seqno in segments.
    pub(super) next_seqno: u64,
    /// Above every partition's id; 0 stands for 1.
    next_partition: u64,
    /// Trees with parts or boundaries; another one is a single partition that is empty.
    pub(super) trees: SmallMap<TreeId, Rc<Partitions>>,
}

/// A change of a version. Parts go, partitions are split and merged, parts come, in this order.
#[derive(Clone, Debug, Default)]
pub(super) struct Edit {
    pub(super) remove: Vec<(TreeId, PartitionId, usize, SegmentId)>,
    /// They go to the partitions in which they lie, cut where they reach over a boundary.
    pub(super) add: Vec<(TreeId, usize, Rc<Part>)>,
    pub(super) drop_trees: Vec<TreeId>,
    /// A partition becomes two.
    pub(super) split: Option<Split>,
    /// This partition and the next one of the tree become one, if they still can.
    pub(super) merge: Option<(TreeId, PartitionId)>,
    /// The log up to here is in segments now.
    pub(super) log_start: Option<LogNumber>,
    /// Above every seqno that the edit brings into segments.
    pub(super) next_seqno: u64,
    /// The seqno of all that the edit loads: it comes after all writes below, and is seen from then on.
    pub(super) loaded: Option<u64>,
}

/// Where a partition is cut in two.
#[derive(Clone, Debug)]
pub(super) struct Split {
    pub(super) tree: TreeId,
    /// Tree and partition key, the first one of the partition behind.
    pub(super) at: Box<[u8]>,
    /// What lies before, of parts that are cut. Of those that are not listed half does.
    pub(super) shares: Vec<Share>,
}

impl Version {
    /// The next version.
    pub(super) fn apply(&self, edit: &Edit) -> Result<Self> {
        let mut next = self.clone();
        for tree in &edit.drop_trees {
            next.trees.remove(tree);
        }
        for (tree, partition, level, segment) in &edit.remove {
            let Some(partitions) = next.trees.get_mut(tree).map(Rc::make_mut) else { continue };
            let Some(levels) = partitions.get_mut(*partition).map(|partition| &mut partition.levels) else { continue };
            if let Some(parts) = levels.levels.get_mut(*level) {
                parts.retain(|part| part.segment.id != *segment);
            }
        }
        if let Some(split) = &edit.split {
            next.tree(split.tree);
            let id = next.next_partition();
            next.tree(split.tree).split(&split.at, id, &split.shares);
        }
        if let Some((tree, left)) = &edit.merge {
            next.tree(*tree).merge(*left);
        }
        for (tree, level, part) in &edit.add {
            next.tree(*tree).add(*level, part);
        }
        for (tree, partition, ..) in &edit.remove {
            if let Some(partition) = next.trees.get_mut(tree).and_then(|tree| Rc::make_mut(tree).get_mut(*partition)) {
                partition.levels.trim();
            }
        }
        next.trees.retain(|_, partitions| !partitions.is_blank());
        if let Some(start) = edit.log_start {
            next.log_start = next.log_start.max(start);
        }
        next.next_seqno = next.next_seqno.max(edit.next_seqno);
        next.check()?;
        Ok(next)
    }

    fn next_partition(&mut self) -> PartitionId {
        let id = self.next_partition.max(1);
        self.next_partition = id + 1;
        PartitionId(id)
    }

    /// The partitions of a tree, to change them.
    fn tree(&mut self, tree: TreeId) -> &mut Partitions {
        let fresh = (!self.trees.contains_key(&tree)).then(|| self.next_partition());
        let partitions = Rc::make_mut(self.trees.entry(tree));
        if let Some(id) = fresh {
            *partitions = Partitions::of(vec![Rc::new(Partition::first(tree, id, TreeLevels::default()))]);
        }
        partitions
    }

    fn check(&self) -> Result<()> {
        let next = PartitionId(self.next_partition);
        match self.trees.iter().find_map(|(tree, partitions)| Some((tree, partitions.fault(*tree, next)?))) {
            Some((tree, fault)) => Err(Error::internal(format!("tree {}: {fault}", tree.0))),
            None => Ok(()),
        }
    }

    /// Says to each segment how much of it is used.
    pub(super) fn weigh_segments(&self) {
        let parts = || self.trees.values().flat_map(|partitions| partitions.parts());
        parts().for_each(|part| part.segment.live.set(0));
        parts().for_each(|part| part.segment.live.set(part.segment.live.get() + part.bytes));
    }

    /// Where partitions begin that are not the first ones of their trees, ascending.
    pub(super) fn boundaries(&self) -> Rc<[Box<[u8]>]> {
        self.trees.values().flat_map(|partitions| partitions.all().iter().skip(1)).map(|one| one.from.clone()).collect()
    }

    /// Every segment that is part of a tree.
    pub(super) fn segments(&self) -> SmallMap<SegmentId, Rc<Segment>> {
        let mut segments = SmallMap::default();
        for part in self.trees.values().flat_map(|partitions| partitions.parts()) {
            segments.insert(part.segment.id, Rc::clone(&part.segment));
        }
        segments
    }

    /// The stored form, but for what is not the version's own.
    pub(super) fn to_record(&self) -> ManifestRecord {
        let trees = self.trees.iter().flat_map(|(tree, partitions)| {
            partitions.all().iter().map(|partition| {
                let levels = partition.levels.levels.iter();
                TreeRecord {
                    id: tree.0,
                    levels: levels
                        .map(|level| LevelRecord { parts: level.iter().map(part_record).collect() })
                        .collect(),
                    partition: partition.id.0,
                    from: partition.from.to_vec(),
                }
            })
        });
        let segments = self.segments();
        let segments = segments.values().map(|segment| SegmentRecord {
            id: segment.id.0,
            blocks: segment.blocks,
            bytes: segment.bytes,
            entries: segment.entries,
            index_bytes: segment.index_bytes,
            tombstones: segment.tombstones,
            oldest: segment.oldest,
            newest: segment.newest,
            seqno: segment.seqno.unwrap_or_default(),
        });
        ManifestRecord {
            log_start: self.log_start.0,
            next_seqno: self.next_seqno,
            segments: segments.collect(),
            trees: trees.collect(),
            next_partition: self.next_partition,
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
                    tombstones: segment.tombstones,
                    oldest: segment.oldest,
                    newest: segment.newest,
                    live: Cell::default(),
                    seqno: (segment.seqno > 0).then_some(segment.seqno),
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
        let mut version = Self {
            log_start: LogNumber(record.log_start),
            next_seqno: record.next_seqno,
            next_partition: record.next_partition,
            trees: SmallMap::default(),
        };
        let mut trees: SmallMap<TreeId, Vec<Rc<Partition>>> = SmallMap::default();
        for tree in &record.trees {
            let levels = tree.levels.iter().map(|level| level.parts.iter().map(part).collect());
            let levels = TreeLevels { levels: levels.collect::<Result<_, _>>()? };
            let id = TreeId(tree.id);
            let partition = if tree.partition == 0 {
                // Of version 1, which knew no partitions.
                Partition::first(id, version.next_partition(), levels)
            } else {
                Partition { id: PartitionId(tree.partition), from: tree.from.clone().into(), levels }
            };
            trees.entry(id).push(Rc::new(partition));
        }
        for (tree, partitions) in trees.iter() {
            version.trees.insert(*tree, Rc::new(Partitions::of(partitions.clone())));
        }
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
        Version::from_record(&version.to_record(), &SmallMap::default()).expect("a version")
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
        let version = Version::default().apply(&added(1, &[part(1, "a", "z")])).expect("applies");
        let version = version.apply(&split("f")).expect("applies");
        version.weigh_segments();
        let segment = Rc::clone(version.segments().get(&SegmentId(1)).expect("there"));
        assert_eq!(segment.dead_bytes(), 0);
        let last = version.trees.get(&TreeId(1)).expect("the tree").all()[1].id;
        let edit = Edit { remove: vec![(TreeId(1), last, 1, SegmentId(1))], ..Edit::default() };
        version.apply(&edit).expect("applies").weigh_segments();
        assert_eq!(segment.dead_bytes(), 5);
    }

    /// A manifest as version 1 wrote it: its trees are one partition each, with everything they had.
    #[test]
    fn p1_a_manifest_of_version_1_opens() {
        let place = Place::Manifest(ManifestId(3));
        let stored = hex(V1);
        let record = ManifestRecord::open(place, &stored).expect("opens");
        let version = Version::from_record(&record, &SmallMap::default()).expect("a version");
        assert_eq!(ids(&version), [[vec![2], vec![], vec![1, 3]]]);
        let partitions: Vec<_> = version.trees.values().flat_map(|all| all.all()).collect();
        let ids: Vec<(u64, &[u8])> = partitions.iter().map(|one| (one.id.0, &*one.from)).collect();
        assert_eq!(ids, [(1, &[0, 0, 0, 1][..]), (2, &[0, 0, 0, 9])]);
        assert_eq!(stored_and_read(&version).trees, version.trees);
    }

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("hex"), 16).expect("hex"))
            .collect()
    }

    const V1: &str = "5461625301040100a8000000e9c44f83d47941f8f002080310111890032080a0abfef96228f6a10700f109320b080110
        0218cc08200a2864320b0802100218b41020140d00f10d031002189c18201e28643a4d080112170a1508021205000000
        01611a0700e96d20d00f28141200122e0a1508011b00a26320e807280a0a150803170012643200a77a20b817281e3a1b
        08094f0012094f0070096220d00f2814";
}
