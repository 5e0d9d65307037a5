//! Writing a segment: sorted rows in, records out.

use super::cache::{BlockCache, Cached};
use super::partition;
use super::profile::{Sampler, weigh};
use super::row::Merged;
use super::version::{Part, Segment};
use super::{Engine, TreeId, tree_of};
use crate::error::{Error, Result};
use crate::format::block::BlockBuilder;
use crate::format::columns::Form;
use crate::format::fragment::{self, FragmentHead};
use crate::format::record::Place;
use crate::format::segment::{SegmentMetaBuilder, Weight};
use crate::format::wire::Damage;
use crate::model::{CellChange, CellOp};
use crate::storage::{BlockId, STAGE_BYTES, SegmentId, Storage};
use bytes::Bytes;
use std::rc::Rc;

/// How many times its stored size a block may have before compression, at least and at most, and the guess for the
/// first block of a segment, which has no predecessor to learn from.
const MIN_RATIO: usize = 1;
const MAX_RATIO: usize = 5;
const FIRST_RATIO: usize = 3;

/// Builds one segment.
#[derive(Debug)]
pub(super) struct SegmentWriter {
    id: SegmentId,
    block: BlockBuilder,
    block_bytes: usize,
    form: Form,
    raw_target: usize,
    meta: SegmentMetaBuilder,
    next_block: u32,
    ready: Vec<(u32, Bytes)>,
    ready_bytes: usize,
    decoded: Vec<(BlockId, Cached)>,
    parts: Vec<PartInMaking>,
    /// Where partitions begin, ascending; the next one that no key has come to.
    cuts: Rc<[Box<[u8]>]>,
    next_cut: usize,
    last_key: Vec<u8>,
    sampler: Sampler,
    bytes: u64,
    entries: u64,
    tombstones: u64,
    oldest: Option<i64>,
    newest: Option<i64>,
}

#[derive(Debug)]
struct PartInMaking {
    tree: TreeId,
    first_key: Box<[u8]>,
    last_key: Box<[u8]>,
    raw: u64,
    entries: u64,
}

/// A finished segment and the parts of it that belong to each tree.
pub(super) struct Finished {
    pub(super) parts: Vec<(TreeId, Rc<Part>)>,
    pub(super) bytes: u64,
}

impl SegmentWriter {
    /// A segment whose parts are cut at the boundaries between partitions, `cuts`.
    pub(super) fn new(id: SegmentId, block_bytes: usize, form: Form, cuts: Rc<[Box<[u8]>]>) -> Self {
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
        }
    }

    /// Stored bytes so far, without the block in the making.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Entries so far.
    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes that wait to be staged.
    pub(super) fn ready_bytes(&self) -> usize {
        self.ready_bytes
    }

    /// Adds a row's fragments: `rows` are newest first, with their seqnos. Keys ascend; each comes once.
    pub(super) fn push(&mut self, key: &[u8], rows: &[(u64, Merged<'_>)]) -> Result<(), Damage> {
        let weight = rows.first().map(|(_, row)| weigh(key, row.head, &row.cells)).unwrap_or_default();
        self.start_row(key, weight)?;
        for (seqno, row) in rows {
            self.add(key, *seqno, row.head, &row.cells);
        }
        Ok(())
    }

    /// Adds a row that is one fragment, as [`SegmentWriter::push`] does.
    pub(super) fn put(&mut self, key: &[u8], head: FragmentHead, cells: &[CellChange<'_>]) -> Result<(), Damage> {
        self.start_row(key, weigh(key, head, cells))?;
        self.add(key, 0, head, cells);
        Ok(())
    }

    fn start_row(&mut self, key: &[u8], weight: Weight) -> Result<(), Damage> {
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
                // As a part that is cut later: it shows that the two meet.
                (ended, begins) = (partition::before(first), last.clone());
            }
            self.close_part(ended);
            self.parts.push(PartInMaking { tree, first_key: begins, last_key: Box::default(), raw: 0, entries: 0 });
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
        self.count_versions(head, cells);
        if let Some(part) = self.parts.last_mut() {
            part.raw += (self.block.len() - before) as u64;
            part.entries += 1;
        }
    }

    fn count_versions(&mut self, head: FragmentHead, cells: &[CellChange<'_>]) {
        let mut oldest = head.marker;
        let mut newest = head.marker;
        for cell in cells {
            if let CellOp::Put(version, _) = cell.op {
                oldest = Some(oldest.map_or(version, |oldest| oldest.min(version)));
                newest = newest.max(Some(version));
            }
        }
        self.tombstones += u64::from(newest.is_none());
        self.newest = self.newest.max(newest);
        self.oldest = self.oldest.into_iter().chain(oldest).min();
    }

    /// The part in the making ends here.
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
        let (record, block) = self.block.finish(Place::Block(id), self.form)?;
        // Aim the next block at the stored size, by how well this one compressed.
        // In 64 bits: the product does not fit the 32 of a browser's usize.
        let aim = self.block_bytes as u64 * raw as u64 / record.len().max(1) as u64;
        let most = self.block_bytes * MAX_RATIO;
        self.raw_target = usize::try_from(aim).unwrap_or(most).clamp(self.block_bytes * MIN_RATIO, most);
        self.decoded.push((id, Cached::Block(Rc::new(block))));
        self.add_record(record);
        Ok(())
    }

    fn add_record(&mut self, record: Bytes) {
        self.bytes += record.len() as u64;
        self.ready_bytes += record.len();
        self.ready.push((self.next_block, record));
        self.next_block += 1;
    }

    /// The records that are ready, as they can be staged call by call; what they hold is in the cache from now on.
    pub(super) fn take_ready(&mut self, cache: &BlockCache) -> Vec<Staging> {
        for (id, block) in self.decoded.drain(..) {
            cache.insert(id, block);
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

    /// Stages the records that are ready, and puts what they hold into the cache.
    pub(super) async fn stage<S: Storage>(&mut self, engine: &Engine<S>) -> Result<()> {
        for call in self.take_ready(&engine.cache) {
            engine.stage(call).await?;
        }
        Ok(())
    }

    /// Closes the segment and stages the rest of it. `None` if it is empty.
    pub(super) async fn finish<S: Storage>(mut self, engine: &Engine<S>) -> Result<Option<Finished>> {
        let Some(closed) = self.close()? else { return Ok(None) };
        self.stage(engine).await?;
        Ok(Some(closed.finish(None)))
    }

    /// Closes the segment: what is ready now is the rest of it. `None` if it is empty.
    pub(super) fn close(&mut self) -> Result<Option<Closed>> {
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
        self.decoded.push((place, Cached::Meta(Rc::new(meta))));
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
        Ok(Some(Closed { segment, parts: std::mem::take(&mut self.parts), data_bytes }))
    }
}

/// Records of a segment for one call of [`Storage::stage`].
#[derive(Debug)]
pub(super) struct Staging {
    pub(super) segment: SegmentId,
    pub(super) records: Vec<(u32, Bytes)>,
}

/// A segment that gets no further rows.
#[derive(Debug)]
pub(super) struct Closed {
    segment: Segment,
    parts: Vec<PartInMaking>,
    data_bytes: u64,
}

impl Closed {
    /// The segment, whose entries have this seqno if it is one that was loaded.
    pub(super) fn finish(self, seqno: Option<u64>) -> Finished {
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
        Finished { parts: parts.collect(), bytes: segment.bytes }
    }
}
