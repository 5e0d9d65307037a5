//! Large rows: rows that lie in several blocks of a segment. A compaction merges them piece by piece.
//!
//! A run holds such a row as layers: each is an entry, in one block or cut over several, in the order of its cells. A
//! piece ends where the next block of any layer begins, so each layer needs only one block in memory. The [`Course`] is
//! the state that a merge keeps across a cut.

use crate::engine::rows::row::{Course, Keep, Word, merge_words, retain_cells};
use crate::engine::segment::cache::{BlockCache, Pins, RecordId, damaged};
use crate::engine::segment::writer::SegmentWriter;
use crate::engine::versions::part::Part;
use crate::engine::work::WorkObserver;
use crate::error::{Error, Result};
use crate::format::block::{Block, Entry};
use crate::format::fragment::{Fragment, FragmentHead};
use crate::format::segment::SegmentMeta;
use crate::format::wire::Damage;
use crate::model::{CellChange, CellOp, CellPlace};
use crate::storage::BlockId;
use std::ops::Range;
use std::rc::Rc;

/// The most cells of a layer in one piece: decoded cells take much more memory than cells in a block.
const PIECE_CELLS: usize = 4096;

/// A row, and its layers.
#[derive(Debug)]
pub(crate) struct LargeRow {
    /// Its key, tree included.
    pub(crate) key: Box<[u8]>,
    /// Newest first.
    pub(crate) layers: Vec<Layer>,
}

/// An entry of a row in a segment, on its way through a merge.
#[derive(Debug)]
pub(crate) struct Layer {
    part: Rc<Part>,
    meta: Rc<SegmentMeta>,
    /// The remaining blocks; the first of them is `block` once that is loaded.
    blocks: Range<u32>,
    block: Option<Rc<Block>>,
    /// Its place among the row's entries in the first block.
    entry: usize,
    /// The bytes of the first block's fragment that are not merged yet.
    left: usize,
}

impl Layer {
    pub(crate) fn new(part: Rc<Part>, meta: Rc<SegmentMeta>, blocks: Range<u32>, entry: usize) -> Self {
        Self { part, meta, blocks, block: None, entry, left: usize::MAX }
    }

    fn id(&self) -> BlockId {
        self.part.segment.block(self.blocks.start)
    }

    /// Takes its next block, or returns the record to load first.
    pub(crate) fn take_block(&mut self, cache: &BlockCache, pins: &Pins) -> Option<RecordId> {
        if self.block.is_none() {
            match cache.block(self.id(), pins) {
                Ok(block) => self.block = Some(block),
                Err(want) => return Some(want),
            }
        }
        None
    }

    /// Where its next block begins.
    fn next<'m>(&self, meta: &'m SegmentMeta) -> Option<CellPlace<'m>> {
        let next = self.blocks.start + 1;
        if next < self.blocks.end { meta.cut(next).map(|cut| cut.place) } else { None }
    }

    /// Where this layer needs a piece to end, with the rest of its first block.
    fn stop<'m>(&self, meta: &'m SegmentMeta, rest: &Fragment<'m>) -> Result<Option<CellPlace<'m>>, Damage> {
        let mut ahead = rest.clone();
        for _ in 0..PIECE_CELLS {
            if ahead.next_unread()?.is_none() {
                return Ok(self.next(meta));
            }
        }
        Ok(ahead.next_cell()?.map(|cell| cell.place()).or_else(|| self.next(meta)))
    }

    fn open<'b>(&self, block: &'b Block, key: &[u8]) -> Result<Entry<'b>> {
        let entry = block.entries_of(key).nth(self.entry).and_then(|index| block.entry(index));
        entry.ok_or_else(|| self.damaged("a part of a row is missing"))
    }

    fn damaged(&self, what: &'static str) -> Error {
        damaged(self.id(), &Damage { what, at: 0 })
    }

    /// Its seqno, and the head of its fragment.
    pub(crate) fn head(&self, key: &[u8]) -> Result<(u64, FragmentHead)> {
        let Some(block) = &self.block else { return Err(self.damaged("a block was not loaded")) };
        let entry = self.open(block, key)?;
        let fragment = block.fragment(&entry).map_err(|damage| damaged(self.id(), &damage))?;
        Ok((self.part.segment.seqno.unwrap_or(entry.seqno), fragment.head()))
    }
}

/// Writes one entry from layers of a row that no reader tells apart.
pub(crate) struct EntryMerge<'r> {
    pub(crate) key: &'r [u8],
    pub(crate) seqno: u64,
    pub(crate) head: FragmentHead,
    pub(crate) keep: Keep,
    pub(crate) course: Course,
    /// An entry of the row was written before.
    pub(crate) older: bool,
    pub(crate) opened: bool,
    pub(crate) observer: Option<Rc<dyn WorkObserver>>,
}

impl EntryMerge<'_> {
    /// Writes the next piece of the layers, whose blocks are loaded. Returns whether it was the last one.
    pub(crate) fn piece(&mut self, layers: &mut [Layer], writer: &mut SegmentWriter) -> Result<bool> {
        let mut held = Vec::with_capacity(layers.len());
        for layer in &*layers {
            let Some(block) = &layer.block else { return Err(layer.damaged("a block was not loaded")) };
            held.push((Rc::clone(block), Rc::clone(&layer.meta)));
        }
        let (mut fragments, mut end) = (Vec::with_capacity(layers.len()), None);
        for (layer, (block, meta)) in layers.iter().zip(&held) {
            let entry = layer.open(block, self.key)?;
            let mut fragment = block.fragment(&entry).map_err(|damage| damaged(layer.id(), &damage))?;
            fragment.skip_to(layer.left);
            let stop = layer.stop(meta, &fragment).map_err(|damage| damaged(layer.id(), &damage))?;
            end = [end, stop].into_iter().flatten().min();
            fragments.push(fragment);
        }
        let mut words: Vec<Word<'_>> = Vec::new();
        let mut moved = false;
        for ((age, layer), (mut fragment, (_, meta))) in (0..).zip(layers).zip(fragments.into_iter().zip(&held)) {
            loop {
                layer.left = fragment.left();
                let cell = fragment.next_cell().map_err(|damage| damaged(layer.id(), &damage))?;
                match cell {
                    Some(cell) if end.is_none_or(|end| cell.place() < end) => words.push((cell, age)),
                    _ => break,
                }
            }
            if let Some(next) = layer.next(meta)
                && end.is_some_and(|end| next <= end)
            {
                if layer.left > 0 {
                    return Err(layer.damaged("parts of a row do not ascend"));
                }
                (layer.blocks.start, layer.block, layer.entry, layer.left) =
                    (layer.blocks.start + 1, None, 0, usize::MAX);
                moved = true;
            }
        }
        if end.is_some() && words.is_empty() && !moved {
            return Err(Error::corrupt("a row to be compacted", "its cells do not ascend"));
        }
        let mut cells = Vec::with_capacity(words.len());
        merge_words(&mut words, !self.head.hides_older, Some(&mut self.course), |cell| cells.push(cell));
        let puts = self.observer.as_ref().map_or(0, |_| count_puts(words.iter().map(|(cell, _)| cell)));
        let written = self.write(cells, puts, end.is_none(), writer);
        written.map_err(|damage| Error::corrupt("a row to be compacted", damage))?;
        Ok(end.is_none())
    }

    /// Writes the merged cells of a piece. So many puts were merged, if somebody counts them.
    fn write(
        &mut self,
        mut cells: Vec<CellChange<'_>>,
        puts: u64,
        last: bool,
        writer: &mut SegmentWriter,
    ) -> Result<(), Damage> {
        let mut wanted = !cells.is_empty() || last;
        let merged = self.observer.as_ref().map_or(0, |_| count_puts(&cells));
        let mut gone = (0, 0);
        if let Keep::Retained(retention, now) = self.keep {
            let is_expired =
                |cell: &&CellChange<'_>| matches!(cell.op, CellOp::Put(version, _) if retention.expired(version, now));
            let expired = self.observer.as_ref().map_or(0, |_| cells.iter().filter(is_expired).count() as u64);
            retain_cells(&mut cells, &retention, now, Some(&mut self.course));
            gone = (expired, merged.saturating_sub(expired).saturating_sub(cells.len() as u64));
            self.head.marker = self.head.marker.filter(|&marker| !retention.expired(marker, now));
            wanted = !cells.is_empty() || (last && self.head.marker.is_some());
        }
        if let Some(observer) = &self.observer {
            observer.merges_piece(puts, merged, gone.0, gone.1);
        }
        if wanted && !self.opened {
            self.opened = true;
            writer.open(self.key, self.seqno, self.older, self.head)?;
        }
        cells.iter().try_for_each(|cell| writer.add_cell(cell))?;
        if last && self.opened {
            writer.close_entry();
        }
        Ok(())
    }
}

fn count_puts<'c>(cells: impl IntoIterator<Item = &'c CellChange<'c>>) -> u64 {
    cells.into_iter().filter(|cell| matches!(cell.op, CellOp::Put(..))).count() as u64
}
