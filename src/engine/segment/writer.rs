//! Writes a segment: sorted rows in, records out.

use super::cache::{BlockCache, DecodedRecord};
use super::sampler::{Sampler, weigh, weigh_cell, weigh_row};
use crate::engine::base::options::Shape;
use crate::engine::rows::keys::{before, tree_of};
use crate::engine::rows::row::MergedRow;
use crate::engine::versions::part::{Part, Segment};
use crate::error::{Error, Result};
use crate::format::block::{Block, BlockBuilder};
use crate::format::columns::Form;
use crate::format::fragment::{self, FragmentHead};
use crate::format::record::{MAX_COLUMNS_RAW, Place};
use crate::format::segment::{Cut, SampleWeight, SegmentMetaBuilder};
use crate::format::wire::Damage;
use crate::model::{CellChange, CellOp, TreeId, ValueRef};
use crate::storage::{BlockId, STAGE_BYTES, SegmentId};
use bytes::Bytes;
use std::rc::Rc;

/// The least and greatest ratio of a block's raw size to its stored size, and a guess. The guess is for the first block
/// of a segment, which has no predecessor.
const MIN_RATIO: usize = 1;
const MAX_RATIO: usize = 5;
const FIRST_RATIO: usize = 3;

/// A block may exceed its target by a row of this size and still be split into columns.
const OVERSHOOT: usize = 40 << 10;

/// The most entries of a segment. Its filter is built at once, which takes some milliseconds at this size.
const SEGMENT_ENTRIES: u64 = 1 << 16;

/// Builds one segment.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    id: SegmentId,
    block: BlockBuilder,
    block_bytes: usize,
    form: Form,
    raw_target: usize,
    meta: SegmentMetaBuilder,
    next_block: u32,
    ready: Vec<(u32, Bytes)>,
    ready_bytes: usize,
    decoded: Vec<(BlockId, DecodedRecord)>,
    parts: Vec<PartBuilder>,
    /// The starts of partitions, ascending, and the next one that no key has reached.
    cuts: Rc<[Box<[u8]>]>,
    next_cut: usize,
    last_key: Vec<u8>,
    sampler: Sampler,
    bytes: u64,
    entries: u64,
    tombstones: u64,
    oldest: Option<i64>,
    newest: Option<i64>,
    /// The entry whose cells arrive one by one.
    open: Option<OpenEntry>,
}

/// An entry whose cells arrive one by one, up to the current one. Its finished blocks do not go through the cache: the
/// entry may be larger than that.
#[derive(Debug)]
struct OpenEntry {
    seqno: u64,
    head: FragmentHead,
    /// Whether it is not the first of its row.
    older: bool,
    /// Its part in the open block: where it begins, its cells, whether it continues an earlier one.
    begins_at: usize,
    part_cells: usize,
    continues: bool,
    /// The current column, and its number of puts.
    column: String,
    rank: u64,
    /// The weight of its puts.
    puts: Option<u64>,
    versions: Versions,
}

/// The oldest and the newest version of an entry, its marker included.
#[derive(Debug)]
struct Versions {
    oldest: Option<i64>,
    newest: Option<i64>,
}

impl Versions {
    fn of(head: FragmentHead) -> Self {
        Self { oldest: head.marker, newest: head.marker }
    }

    fn add(&mut self, cell: &CellChange<'_>) {
        if let CellOp::Put(version, _) = cell.op {
            self.oldest = Some(self.oldest.map_or(version, |oldest| oldest.min(version)));
            self.newest = self.newest.max(Some(version));
        }
    }
}

/// The approximate bytes of a cell beside its value.
const CELL_BYTES: usize = 8;

/// The approximate bytes of cells in a block.
fn size(cells: &[CellChange<'_>]) -> usize {
    let value = |cell: &CellChange<'_>| match cell.op {
        CellOp::Put(_, ValueRef::String(text)) => text.len(),
        CellOp::Put(_, ValueRef::Binary(bytes)) => bytes.len(),
        _ => 0,
    };
    cells.iter().map(|cell| CELL_BYTES + value(cell)).sum()
}

#[derive(Debug)]
struct PartBuilder {
    tree: TreeId,
    first_key: Box<[u8]>,
    last_key: Box<[u8]>,
    raw: u64,
    entries: u64,
}

/// A finished segment and its parts by tree.
pub(crate) struct FinishedSegment {
    pub(crate) parts: Vec<(TreeId, Rc<Part>)>,
    pub(crate) bytes: u64,
}

impl SegmentWriter {
    /// A segment whose parts are cut at `cuts`, the boundaries between partitions.
    pub(crate) fn new(id: SegmentId, block_bytes: usize, form: Form, cuts: Rc<[Box<[u8]>]>) -> Self {
        Self {
            id,
            block: BlockBuilder::default(),
            block_bytes,
            form,
            raw_target: block_bytes * FIRST_RATIO,
            meta: SegmentMetaBuilder::default(),
            next_block: 0,
            ready: Vec::new(),
            ready_bytes: 0,
            decoded: Vec::new(),
            parts: Vec::new(),
            cuts,
            next_cut: 0,
            last_key: Vec::new(),
            sampler: Sampler::default(),
            bytes: 0,
            entries: 0,
            tombstones: 0,
            oldest: None,
            newest: None,
            open: None,
        }
    }

    /// Stored bytes so far, without the open block.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether it takes no more rows. Even rows that compress very well must not make an endless segment: their hashes are kept
    /// until it ends.
    pub(crate) fn is_full(&self, shape: &Shape) -> bool {
        self.bytes() >= shape.segment_bytes || self.entries() >= SEGMENT_ENTRIES
    }

    /// Entries so far.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes that wait to be staged.
    pub(crate) fn ready_bytes(&self) -> usize {
        self.ready_bytes
    }

    /// A row with more bytes than this goes over several blocks.
    fn most_of_row(&self) -> usize {
        self.block_bytes * MAX_RATIO
    }

    /// Adds a row's fragments: `rows` are newest first, with their seqnos. Keys ascend; each comes once.
    pub(crate) fn push(&mut self, key: &[u8], rows: &[(u64, MergedRow<'_>)]) -> Result<(), Damage> {
        let weight = rows.first().map(|(_, row)| weigh(key, row.head, &row.cells)).unwrap_or_default();
        let alone = rows.len() == 1 && rows.iter().all(|(_, row)| self.surely_fits(weight, &row.cells));
        if !alone && rows.iter().map(|(_, row)| size(&row.cells)).sum::<usize>() > self.most_of_row() {
            for (at, (seqno, row)) in rows.iter().enumerate() {
                self.push_large(key, *seqno, at > 0, row.head, &row.cells)?;
            }
            return Ok(());
        }
        self.start_row(key, weight)?;
        for (seqno, row) in rows {
            self.add(key, *seqno, row.head, &row.cells);
        }
        Ok(())
    }

    /// Adds a row of one fragment, as [`SegmentWriter::push`] does.
    pub(crate) fn put(&mut self, key: &[u8], head: FragmentHead, cells: &[CellChange<'_>]) -> Result<(), Damage> {
        let weight = weigh(key, head, cells);
        if !self.surely_fits(weight, cells) && size(cells) > self.most_of_row() {
            return self.push_large(key, 0, false, head, cells);
        }
        self.start_row(key, weight)?;
        self.add(key, 0, head, cells);
        Ok(())
    }

    /// Whether a row is surely not large, judged by values that are known anyway.
    fn surely_fits(&self, weight: SampleWeight, cells: &[CellChange<'_>]) -> bool {
        weight.bytes + (cells.len() * CELL_BYTES) as u64 <= self.most_of_row() as u64
    }

    fn push_large(
        &mut self,
        key: &[u8],
        seqno: u64,
        older: bool,
        head: FragmentHead,
        cells: &[CellChange<'_>],
    ) -> Result<(), Damage> {
        self.open(key, seqno, older, head)?;
        cells.iter().try_for_each(|cell| self.add_cell(cell))?;
        self.close_entry();
        Ok(())
    }

    /// Begins an entry whose cells arrive one by one, in order; it may go over several blocks. An `older` entry belongs
    /// to the same row as the entry before.
    pub(crate) fn open(&mut self, key: &[u8], seqno: u64, older: bool, head: FragmentHead) -> Result<(), Damage> {
        if older {
            self.cut_block()?;
            self.meta.continue_block(key, None);
        } else {
            self.start_row(key, SampleWeight::default())?;
        }
        self.open = Some(OpenEntry {
            seqno,
            head,
            older,
            begins_at: 0,
            part_cells: 0,
            continues: false,
            column: String::new(),
            rank: 0,
            puts: None,
            versions: Versions::of(head),
        });
        self.open_part(false);
        Ok(())
    }

    fn open_part(&mut self, continues: bool) {
        let Some(open) = &mut self.open else { return };
        (open.begins_at, open.part_cells, open.continues) = (self.block.len(), 0, continues);
        self.block.open(&self.last_key, open.seqno, open.head, continues);
    }

    fn close_part_of_entry(&mut self) {
        self.block.close();
        if let (Some(open), Some(part)) = (&self.open, self.parts.last_mut()) {
            part.raw += (self.block.len() - open.begins_at) as u64;
        }
    }

    /// Adds the next cell of the open entry.
    pub(crate) fn add_cell(&mut self, cell: &CellChange<'_>) -> Result<(), Damage> {
        let most = match &self.open {
            Some(open) if open.continues => self.raw_target,
            _ => self.most_of_row(),
        };
        let full = self.block.open_len() + size(std::slice::from_ref(cell)) > most;
        let Some(open) = &mut self.open else { return Ok(()) };
        if open.column != cell.column {
            open.column.clear();
            open.column.push_str(cell.column);
            open.rank = 0;
        }
        let cut = Cut { place: cell.place(), rank: open.rank };
        if let Some(weight) = weigh_cell(cell) {
            open.puts = Some(open.puts.unwrap_or(0) + weight);
            open.rank += 1;
        }
        open.versions.add(cell);
        let stamp = open.head.stamp;
        if full && open.part_cells > 0 {
            self.close_part_of_entry();
            self.cut_block()?;
            self.meta.continue_block(&self.last_key, Some(cut));
            self.open_part(true);
        }
        self.block.add_cell(stamp, *cell);
        if let Some(open) = &mut self.open {
            open.part_cells += 1;
        }
        Ok(())
    }

    /// Ends the open entry.
    pub(crate) fn close_entry(&mut self) {
        self.close_part_of_entry();
        let Some(open) = self.open.take() else { return };
        if !open.older {
            // The first entry is the newest, so its weight counts for the row.
            self.sampler.grow(weigh_row(&self.last_key, open.head, open.puts));
        }
        self.entries += 1;
        if let Some(part) = self.parts.last_mut() {
            part.entries += 1;
        }
        self.count(&open.versions);
    }

    fn start_row(&mut self, key: &[u8], weight: SampleWeight) -> Result<(), Damage> {
        if self.block.len() >= self.raw_target {
            self.cut_block()?;
        }
        if self.block.is_empty() {
            self.meta.start_block(key);
        }
        self.meta.add_key(key);
        if let Some(sample) = self.sampler.add(&self.last_key, key, weight) {
            self.meta.add_sample(&self.last_key, sample);
        }
        let tree = tree_of(key).unwrap_or(TreeId(0));
        let passed = self.next_cut;
        while self.cuts.get(self.next_cut).is_some_and(|cut| **cut <= *key) {
            self.next_cut += 1;
        }
        let cuts = self.cuts.get(passed..self.next_cut).unwrap_or_default();
        let same_tree = self.parts.last().is_some_and(|part| part.tree == tree);
        if !same_tree || !cuts.is_empty() {
            let (mut ended, mut begins) = (self.last_key.as_slice().into(), key.into());
            if same_tree && let (Some(first), Some(last)) = (cuts.first(), cuts.last()) {
                // As for a part that is cut later: the keys show that the two meet.
                (ended, begins) = (before(first), last.clone());
            }
            self.close_part(ended);
            self.parts.push(PartBuilder { tree, first_key: begins, last_key: Box::default(), raw: 0, entries: 0 });
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }

    fn add(&mut self, key: &[u8], seqno: u64, head: FragmentHead, cells: &[CellChange<'_>]) {
        let before = self.block.len();
        self.block.push(key, seqno, head.stamp, |base, names, out| {
            fragment::encode(head, cells.iter().copied(), base, names, out);
        });
        self.entries += 1;
        let mut versions = Versions::of(head);
        cells.iter().for_each(|cell| versions.add(cell));
        self.count(&versions);
        if let Some(part) = self.parts.last_mut() {
            part.raw += (self.block.len() - before) as u64;
            part.entries += 1;
        }
    }

    fn count(&mut self, entry: &Versions) {
        self.tombstones += u64::from(entry.newest.is_none());
        self.newest = self.newest.max(entry.newest);
        self.oldest = self.oldest.into_iter().chain(entry.oldest).min();
    }

    /// Ends the open part.
    fn close_part(&mut self, last_key: Box<[u8]>) {
        if let Some(part) = self.parts.last_mut() {
            part.last_key = last_key;
        }
    }

    fn cut_block(&mut self) -> Result<(), Damage> {
        if self.block.is_empty() {
            return Ok(());
        }
        let raw = self.block.len().max(1);
        let id = BlockId { segment: self.id, block: self.next_block };
        let (record, payload, rows) = self.block.finish(Place::Block(id), self.form);
        // Aim the next block at the stored size, by this one's compression. In 64 bits: the product does not fit the 32
        // of a browser's usize.
        let aim = self.block_bytes as u64 * raw as u64 / record.len().max(1) as u64;
        // A larger block is not split into columns. It would take twice the bytes, or more.
        let most = (self.block_bytes * MAX_RATIO).min(MAX_COLUMNS_RAW - OVERSHOOT);
        self.raw_target = usize::try_from(aim).unwrap_or(most).clamp(self.block_bytes * MIN_RATIO, most);
        if self.open.is_none() {
            // The cache gets it at once.
            let block = Block::decode_known(payload, rows)?;
            self.decoded.push((id, DecodedRecord::Block(Rc::new(block))));
        }
        self.add_record(record);
        Ok(())
    }

    fn add_record(&mut self, record: Bytes) {
        self.bytes += record.len() as u64;
        self.ready_bytes += record.len();
        self.ready.push((self.next_block, record));
        self.next_block += 1;
    }

    /// The finished records, in pieces to stage call by call. Their content is in the cache from now on.
    pub(crate) fn take_ready(&mut self, cache: &BlockCache) -> Vec<Staging> {
        for (id, block) in self.decoded.drain(..) {
            cache.add_written(id, block);
        }
        self.ready_bytes = 0;
        let mut calls: Vec<Staging> = Vec::new();
        let mut size = 0;
        for (number, record) in std::mem::take(&mut self.ready) {
            size += record.len();
            match calls.last_mut().filter(|_| size <= STAGE_BYTES) {
                Some(call) => call.records.push((number, record)),
                None => {
                    size = record.len();
                    calls.push(Staging { segment: self.id, records: vec![(number, record)] });
                }
            }
        }
        calls
    }

    /// Closes the segment; the finished records are the rest of it. `None` if it is empty.
    pub(crate) fn close(&mut self) -> Result<Option<ClosedSegment>> {
        if self.entries == 0 {
            return Ok(None);
        }
        let unbuilt = |damage: Damage| Error::internal(format!("a segment that was just built: {damage}"));
        self.close_part(self.last_key.as_slice().into());
        self.cut_block().map_err(unbuilt)?;
        let blocks = self.next_block;
        let place = BlockId { segment: self.id, block: blocks };
        let mut meta = std::mem::take(&mut self.meta);
        meta.add_sample(&self.last_key, self.sampler.finish());
        let (record, meta) = meta.finish(Place::SegmentMeta(place), &self.last_key).map_err(unbuilt)?;
        let (index_bytes, data_bytes) = (record.len() as u32, self.bytes);
        self.decoded.push((place, DecodedRecord::Meta(Rc::new(meta))));
        self.add_record(record);
        let segment = Segment {
            id: self.id,
            blocks,
            bytes: self.bytes,
            entries: self.entries,
            index_bytes,
            tombstones: self.tombstones,
            oldest: self.oldest,
            newest: self.newest,
            ..Segment::default()
        };
        Ok(Some(ClosedSegment { segment, parts: std::mem::take(&mut self.parts), data_bytes }))
    }
}

/// Records of a segment for one call of [`Storage::stage`](crate::storage::Storage::stage).
#[derive(Debug)]
pub(crate) struct Staging {
    pub(crate) segment: SegmentId,
    pub(crate) records: Vec<(u32, Bytes)>,
}

/// A segment that takes no more rows.
#[derive(Debug)]
pub(crate) struct ClosedSegment {
    segment: Segment,
    parts: Vec<PartBuilder>,
    data_bytes: u64,
}

impl ClosedSegment {
    /// The segment. `seqno` is that of all entries if it was loaded.
    pub(crate) fn finish(self, seqno: Option<u64>) -> FinishedSegment {
        let segment = Rc::new(Segment { seqno, ..self.segment });
        let raw: u64 = self.parts.iter().map(|part| part.raw).sum();
        let parts = self.parts.into_iter().map(|part| {
            let kept = Part {
                segment: Rc::clone(&segment),
                first_key: part.first_key,
                last_key: part.last_key,
                bytes: part.raw * self.data_bytes / raw.max(1),
                entries: part.entries,
            };
            (part.tree, Rc::new(kept))
        });
        FinishedSegment { parts: parts.collect(), bytes: segment.bytes }
    }
}
