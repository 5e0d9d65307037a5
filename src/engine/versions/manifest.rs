//! Manifests: how versions are stored.
//!
//! A manifest is whole, or holds the edits from the manifest before. So a version change costs what it changes, not what
//! is stored. A whole one is stored when the edits since the last outweigh it, which keeps opening fast and the storage
//! small. Applying an edit gives the same version at any time.

use super::part::{Part, Segment, TreeLevels};
use super::partition::{Partition, PartitionId, Partitions, Share};
use super::version::{Edit, PartRemoval, Split, Version};
use crate::collections::small_map::SmallMap;
use crate::collections::sort::sort_by;
use crate::engine::rows::keys::before;
use crate::error::{Error, Result};
use crate::format::log::LogHead;
use crate::format::manifest::{EditRecord, LevelRecord, ManifestRecord, PartRecord, SegmentRecord, TreeRecord};
use crate::format::record::Place;
use crate::model::TreeId;
use crate::storage::{LogNumber, ManifestId, SegmentId};
use bytes::Bytes;
use std::cell::Cell;
use std::rc::Rc;

/// The most edits behind a whole manifest: an opening applies them one by one.
const MOST_EDITS: usize = 128;

/// Segments by their ids.
pub(crate) type Segments = SmallMap<SegmentId, Rc<Segment>>;

/// The stored manifests, from the newest whole one on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manifests {
    pub(crate) newest: ManifestId,
    /// Stored bytes of the whole one.
    whole_bytes: usize,
    /// The number and stored bytes of the manifests behind it.
    edits: usize,
    edit_bytes: usize,
}

impl Manifests {
    /// The first of them.
    pub(crate) fn first(&self) -> ManifestId {
        ManifestId(self.newest.0 - self.edits as u64)
    }

    /// The next manifest, of a version to which these edits led. Also returns the stored manifests after it.
    pub(crate) fn next(self, version: &Version, edits: &[Edit], head: LogHead, last_stamp: i64) -> (Self, Bytes) {
        let id = ManifestId(self.newest.0 + 1);
        let seal = |record: ManifestRecord| {
            let (epoch, clock) = (head.epoch, head.clock);
            ManifestRecord { epoch, clock, last_stamp, ..record }.seal(Place::Manifest(id))
        };
        if self.edits < MOST_EDITS {
            let stored = seal(edits_record(self.newest, version, edits));
            let (edits, edit_bytes) = (self.edits + 1, self.edit_bytes + stored.len());
            if edit_bytes <= self.whole_bytes {
                return (Self { newest: id, edits, edit_bytes, ..self }, stored);
            }
        }
        let stored = seal(version.to_record());
        (Self { newest: id, whole_bytes: stored.len(), ..Self::default() }, stored)
    }
}

/// The content of manifests.
#[derive(Default)]
pub(crate) struct StoredVersion {
    pub(crate) manifests: Manifests,
    /// The newest record, for its fields beside the version.
    pub(crate) record: ManifestRecord,
    pub(crate) version: Version,
}

/// Reads manifests, which come newest first. Segments that are `known` already stay the same objects, for readers may
/// hold them. Without a manifest no segment holds data.
pub(crate) fn open(stored: &[(ManifestId, Bytes)], known: Segments) -> Result<StoredVersion> {
    let mut edits: Vec<ManifestRecord> = Vec::new();
    let (mut edit_bytes, mut segments, mut base) = (0, known, None);
    for (id, bytes) in stored {
        if base.is_some_and(|base| base != id.0) {
            break;
        }
        let place = Place::Manifest(*id);
        let record = ManifestRecord::open(place, bytes).map_err(|damage| Error::corrupt(place, damage))?;
        if record.base > 0 {
            base = Some(record.base);
            edit_bytes += bytes.len();
            edits.push(record);
            continue;
        }
        let mut opened = StoredVersion {
            manifests: Manifests { newest: *id, whole_bytes: bytes.len(), edits: edits.len(), edit_bytes },
            version: version_of(&record, &mut segments).map_err(|why| Error::corrupt(place, why))?,
            record,
        };
        for record in edits.into_iter().rev() {
            opened.manifests.newest.0 += 1;
            let next = edited(&opened.version, &record, &mut segments);
            opened.version = next.map_err(|why| Error::corrupt(Place::Manifest(opened.manifests.newest), why))?;
            opened.record = record;
        }
        return Ok(opened);
    }
    match base {
        Some(missing) => Err(Error::corrupt(Place::Manifest(ManifestId(missing)), "it is missing")),
        None => Ok(StoredVersion::default()),
    }
}

impl Version {
    /// The stored form, without the fields that are not the version's own.
    pub(crate) fn to_record(&self) -> ManifestRecord {
        let trees = self.trees.iter().flat_map(|(tree, partitions)| {
            partitions.all().iter().map(|partition| TreeRecord {
                id: tree.0,
                levels: partition.levels.levels.iter().map(|level| level_record(level)).collect(),
                partition: partition.id.0,
                from: partition.from.to_vec(),
            })
        });
        ManifestRecord {
            segments: self.segments().values().map(|segment| segment_record(segment)).collect(),
            trees: trees.collect(),
            ..numbers_record(self)
        }
    }
}

/// The fields of a version beside trees.
fn numbers_record(version: &Version) -> ManifestRecord {
    ManifestRecord {
        log_start: version.log_start.0,
        next_seqno: version.next_seqno,
        next_partition: version.next_partition,
        ..ManifestRecord::default()
    }
}

fn segment_record(segment: &Segment) -> SegmentRecord {
    SegmentRecord {
        id: segment.id.0,
        blocks: segment.blocks,
        bytes: segment.bytes,
        entries: segment.entries,
        index_bytes: segment.index_bytes,
        tombstones: segment.tombstones,
        oldest: segment.oldest,
        newest: segment.newest,
        seqno: segment.seqno.unwrap_or_default(),
    }
}

fn part_record(part: &Part) -> PartRecord {
    PartRecord {
        segment: part.segment.id.0,
        first_key: part.first_key.to_vec(),
        last_key: part.last_key.to_vec(),
        bytes: part.bytes,
        entries: part.entries,
        behind: Vec::new(),
    }
}

fn level_record(parts: &[Rc<Part>]) -> LevelRecord {
    LevelRecord { parts: parts.iter().map(|part| part_record(part)).collect() }
}

/// The record of edits that lead from the manifest `base` to `version`.
fn edits_record(base: ManifestId, version: &Version, edits: &[Edit]) -> ManifestRecord {
    let mut segments = Segments::default();
    for (_, _, part) in edits.iter().flat_map(|edit| &edit.add) {
        if part.segment.is_new() {
            segments.insert(part.segment.id, Rc::clone(&part.segment));
        }
    }
    // If partitions stay the same, one record stands for parts that are added to, or removed from, several of them.
    let moves = |edit: &Edit| edit.split.is_some() || edit.merge.is_some() || !edit.drop_trees.is_empty();
    let fixed = (!edits.iter().any(moves)).then_some(version);
    ManifestRecord {
        base: base.0,
        segments: segments.values().map(|segment| segment_record(segment)).collect(),
        edits: edits.iter().map(|edit| edit_record(edit, fixed)).collect(),
        ..numbers_record(version)
    }
}

/// The record of an edit; `fixed` has the partitions if the edit leaves them as they are.
fn edit_record(edit: &Edit, fixed: Option<&Version>) -> EditRecord {
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for ((tree, partition, level, segment), further) in runs_of(edit, fixed) {
        let part = PartRecord { segment: segment.0, entries: further, ..PartRecord::default() };
        add_part(&mut removed, (tree.0, partition.0), level, part);
    }
    let mut last: Option<&(TreeId, usize, Rc<Part>)> = None;
    for one in &edit.add {
        let (tree, level, part) = one;
        let continued = last.filter(|last| continues(last, one, fixed)).and_then(|_| last_part(&mut added, *level));
        match (continued, u32::try_from(part.bytes), u32::try_from(part.entries)) {
            (Some(record), Ok(bytes), Ok(entries)) => {
                record.last_key = part.last_key.to_vec();
                record.behind.extend([bytes, entries]);
            }
            _ => add_part(&mut added, (tree.0, 0), *level, part_record(part)),
        }
        last = Some(one);
    }
    let split = edit.split.as_ref().map(|split| {
        let share = |share: &Share| PartRecord {
            segment: share.segment.0,
            bytes: share.bytes,
            entries: share.entries,
            ..PartRecord::default()
        };
        let levels = vec![LevelRecord { parts: split.shares.iter().map(share).collect() }];
        TreeRecord { id: split.tree.0, levels, from: split.at.to_vec(), ..TreeRecord::default() }
    });
    let merged = edit.merge.map(|(tree, left)| TreeRecord { id: tree.0, partition: left.0, ..TreeRecord::default() });
    let dropped = edit.drop_trees.iter().map(|tree| tree.0).collect();
    EditRecord { dropped, removed, split, merged, added }
}

/// The removed parts. Parts of one segment in one level of neighbouring partitions are one record: the first, and the
/// number of the others.
fn runs_of(edit: &Edit, fixed: Option<&Version>) -> Vec<(PartRemoval, u64)> {
    let place = |(tree, id, ..): &PartRemoval| {
        let all = fixed.and_then(|version| version.trees.get(tree));
        all.and_then(|partitions| partitions.all().iter().position(|partition| partition.id == *id))
    };
    let mut placed: Vec<(Option<usize>, PartRemoval)> = Vec::with_capacity(edit.remove.len());
    for parts in edit.removed_by_partition() {
        let at = parts.first().and_then(place);
        placed.extend(parts.iter().map(|part| (at, *part)));
    }
    sort_by(&mut placed, |(at, (tree, _, level, segment)), (other_at, (other, _, other_level, other_segment))| {
        (tree, segment, level, at).cmp(&(other, other_segment, other_level, other_at))
    });
    let mut runs: Vec<(PartRemoval, u64)> = Vec::new();
    let mut next = None;
    for (at, one) in placed {
        let (tree, _, level, segment) = one;
        match runs.last_mut() {
            Some((_, further)) if at.is_some() && next == Some((tree, level, segment, at)) => *further += 1,
            _ => runs.push((one, 0)),
        }
        next = Some((tree, level, segment, at.map(|at| at + 1)));
    }
    runs
}

/// Whether a part begins where the one before it ends, and the next partition begins there too. Then one record holds
/// both.
fn continues(
    (tree, level, last): &(TreeId, usize, Rc<Part>),
    (next_tree, next_level, part): &(TreeId, usize, Rc<Part>),
    fixed: Option<&Version>,
) -> bool {
    if (tree, level, last.segment.id) != (next_tree, next_level, part.segment.id) {
        return false;
    }
    let Some(partitions) = fixed.and_then(|version| version.trees.get(tree)) else { return false };
    let behind = partitions.all().get(partitions.place_of(&last.first_key) + 1..).unwrap_or_default();
    let ends_inside = behind.get(1).is_none_or(|next| part.last_key < next.from);
    behind.first().is_some_and(|next| part.first_key == next.from)
        && ends_inside
        && last.last_key == before(&part.first_key)
}

/// The part that was added to the records last, if it is in this level.
fn last_part(records: &mut [TreeRecord], level: usize) -> Option<&mut PartRecord> {
    records.last_mut()?.levels.get_mut(level)?.parts.last_mut()
}

/// Adds a part to the last record, or to a new one if it is of another partition.
fn add_part(records: &mut Vec<TreeRecord>, (id, partition): (u32, u64), level: usize, part: PartRecord) {
    if records.last().is_none_or(|last| (last.id, last.partition) != (id, partition)) {
        records.push(TreeRecord { id, partition, ..TreeRecord::default() });
    }
    let Some(levels) = records.last_mut().map(|last| &mut last.levels) else { return };
    levels.resize_with(levels.len().max(level + 1), LevelRecord::default);
    if let Some(level) = levels.get_mut(level) {
        level.parts.push(part);
    }
}

/// Each part of a record, with its level.
fn parts(record: &TreeRecord) -> impl Iterator<Item = (usize, &PartRecord)> {
    let levels = record.levels.iter().enumerate();
    levels.flat_map(|(number, level)| level.parts.iter().map(move |part| (number, part)))
}

fn add_segments(record: &ManifestRecord, segments: &mut Segments) {
    for segment in &record.segments {
        let id = SegmentId(segment.id);
        if !segments.contains_key(&id) {
            let fresh = Segment {
                id,
                blocks: segment.blocks,
                bytes: segment.bytes,
                entries: segment.entries,
                index_bytes: segment.index_bytes,
                tombstones: segment.tombstones,
                oldest: segment.oldest,
                newest: segment.newest,
                seqno: (segment.seqno > 0).then_some(segment.seqno),
                live: Cell::default(),
                parts: Cell::default(),
            };
            segments.insert(id, Rc::new(fresh));
        }
    }
}

fn part_of(part: &PartRecord, segments: &Segments) -> Result<Part, String> {
    let segment =
        segments.get(&SegmentId(part.segment)).ok_or_else(|| format!("segment {} is not listed", part.segment))?;
    Ok(Part {
        segment: Rc::clone(segment),
        first_key: part.first_key.clone().into(),
        last_key: part.last_key.clone().into(),
        bytes: part.bytes,
        entries: part.entries,
    })
}

/// The pieces of a part, one in each partition that it reaches into.
fn pieces_of(record: &PartRecord, partitions: &[Rc<Partition>], segments: &Segments) -> Result<Vec<Part>, String> {
    let mut pieces = vec![part_of(record, segments)?];
    let behind = partitions.partition_point(|partition| *partition.from <= *record.first_key);
    let mut boundaries = partitions.iter().skip(behind).map(|partition| &partition.from);
    for share in record.behind.chunks(2) {
        let (Some(boundary), [bytes, entries], Some(last)) = (boundaries.next(), share, pieces.last_mut()) else {
            return Err(format!("segment {} reaches into partitions that do not exist", record.segment));
        };
        let (bytes, entries) = (u64::from(*bytes), u64::from(*entries));
        let next = Part { first_key: boundary.clone(), bytes, entries, ..last.clone() };
        last.last_key = before(boundary);
        pieces.push(next);
    }
    Ok(pieces)
}

/// The version in a whole manifest, or a message that says what is wrong.
fn version_of(record: &ManifestRecord, segments: &mut Segments) -> Result<Version, String> {
    add_segments(record, segments);
    let mut version = Version {
        log_start: LogNumber(record.log_start),
        next_seqno: record.next_seqno,
        next_partition: record.next_partition,
        trees: SmallMap::default(),
    };
    let mut trees: SmallMap<TreeId, Vec<Rc<Partition>>> = SmallMap::default();
    for tree in &record.trees {
        let part = |part: &PartRecord| part_of(part, segments).map(Rc::new);
        let level = |level: &LevelRecord| level.parts.iter().map(part).collect();
        let levels = TreeLevels { levels: tree.levels.iter().map(level).collect::<Result<_, _>>()? };
        let id = TreeId(tree.id);
        let partition = if tree.partition == 0 {
            // Version 1 knew no partitions.
            Partition::first(id, version.new_partition(), levels)
        } else {
            Partition::new(PartitionId(tree.partition), tree.from.clone().into(), levels)
        };
        trees.entry(id).push(Rc::new(partition));
    }
    for (tree, partitions) in trees.iter() {
        version.trees.insert(*tree, Rc::new(Partitions::of(partitions.clone())));
    }
    version.check(&Version::default()).map_err(|error| error.message().to_owned())?;
    Ok(version)
}

/// The version to which the edits of a manifest lead.
fn edited(version: &Version, record: &ManifestRecord, segments: &mut Segments) -> Result<Version, String> {
    add_segments(record, segments);
    let mut version = version.clone();
    for edit in &record.edits {
        let edit = edit_of(edit, &version, segments)?;
        version = version.apply(&edit).map_err(|error| error.message().to_owned())?;
    }
    if version.next_partition != record.next_partition {
        return Err("its partitions are others than it says".to_owned());
    }
    version.log_start = LogNumber(record.log_start);
    version.next_seqno = record.next_seqno;
    Ok(version)
}

/// The edit of a version that a record describes.
fn edit_of(record: &EditRecord, version: &Version, segments: &Segments) -> Result<Edit, String> {
    let partitions = |tree: &TreeRecord| version.trees.get(&TreeId(tree.id)).map_or(&[][..], |all| all.all());
    let mut edit = Edit { drop_trees: record.dropped.iter().map(|tree| TreeId(*tree)).collect(), ..Edit::default() };
    let mut several = false;
    for tree in &record.removed {
        for (level, part) in parts(tree) {
            let one = |id: PartitionId| (TreeId(tree.id), id, level, SegmentId(part.segment));
            let first = PartitionId(tree.partition);
            edit.remove.push(one(first));
            if part.entries > 0 {
                let behind = partitions(tree).iter().skip_while(|partition| partition.id != first).skip(1);
                edit.remove.extend(behind.take(part.entries as usize).map(|partition| one(partition.id)));
                several = true;
            }
        }
    }
    if several {
        sort_by(&mut edit.remove, |(tree, id, ..), (other, other_id, ..)| (tree, id).cmp(&(other, other_id)));
    }
    for tree in &record.added {
        for (level, part) in parts(tree) {
            let pieces = pieces_of(part, partitions(tree), segments)?;
            edit.add.extend(pieces.into_iter().map(|piece| (TreeId(tree.id), level, Rc::new(piece))));
        }
    }
    edit.split = record.split.as_ref().map(|split| {
        let share = |(_, part): (usize, &PartRecord)| Share {
            segment: SegmentId(part.segment),
            bytes: part.bytes,
            entries: part.entries,
        };
        Split { tree: TreeId(split.id), at: split.from.clone().into(), shares: parts(split).map(share).collect() }
    });
    edit.merge = record.merged.as_ref().map(|merged| (TreeId(merged.id), PartitionId(merged.partition)));
    Ok(edit)
}

#[cfg(test)]
mod tests;
