//! A cursor over a run of segment parts, in either direction. It stands on all entries of one key, or asks for the records
//! that it needs to move.

use super::large_row::Layer;
use crate::collections::order::compare;
use crate::engine::rows::keys::{Bounds, Direction, within};
use crate::engine::rows::row::DatedFragment;
use crate::engine::segment::cache::{BlockCache, DecodedRecord, Pins, RecordId};
use crate::engine::versions::part::Part;
use crate::error::Result;
use crate::format::block::Block;
use crate::format::segment::SegmentMeta;
use crate::format::wire::Damage;
use crate::storage::BlockId;
use std::iter::successors;
use std::ops::Bound;
use std::rc::Rc;

/// The records that a cursor needs to move.
pub(crate) struct Halt(pub(crate) Vec<RecordId>);

impl From<RecordId> for Halt {
    fn from(want: RecordId) -> Self {
        Self(vec![want])
    }
}

/// The most to fetch at once: so many blocks, and so many stored bytes of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    pub(crate) blocks: u32,
    pub(crate) bytes: u64,
}

impl Ahead {
    const ONE: Self = Self { blocks: 1, bytes: 0 };
}

/// A cursor over a run of segment parts.
pub(crate) struct RunCursor<'a> {
    parts: &'a [Rc<Part>],
    cache: &'a BlockCache,
    pins: &'a Pins,
    direction: Direction,
    piecewise: bool,
    /// The place to start from; the walk is done with everything before.
    place: RunPlace,
    pub(crate) at: Option<CursorPosition>,
}

/// How far a run was walked. A cut part's bounds are not keys of its own, so keys do not tell that the part is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunPlace {
    /// The number of parts that are not done.
    pub(crate) left: usize,
    /// The current block in the first of those, once the cursor has entered one.
    pub(crate) block: Option<u32>,
}

/// The position of a run's cursor: on all entries of one key.
pub(crate) struct CursorPosition {
    part_index: usize,
    part: Rc<Part>,
    meta: Rc<SegmentMeta>,
    pub(crate) id: BlockId,
    block: Rc<Block>,
    /// The entries of the key, newest first.
    entries: std::ops::Range<usize>,
    /// Of a large row: the numbers of its blocks in the segment, and the blocks, unless the walk is piecewise. `block` is
    /// then the last of them in the walk's direction, or the first that the cursor met.
    pub(crate) span: std::ops::Range<u32>,
    blocks: Vec<(BlockId, Rc<Block>)>,
}

impl CursorPosition {
    #[inline(always)]
    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.block.key(self.entries.start)
    }

    /// The block that it stands in, if its rows are not large.
    pub(crate) fn block_of_small_rows(&self) -> Option<&Block> {
        (!self.meta.has_large_rows()).then_some(&*self.block)
    }

    /// The seqno of all entries of the segment, if it was loaded.
    pub(crate) fn loaded_at(&self) -> Option<u64> {
        self.part.segment.seqno
    }

    /// The entries of the block from here on, in the walk's direction, up to the end of the part, of `bounds`, and before the key
    /// `other`.
    pub(crate) fn stretch(
        &self,
        bounds: Bounds<'_>,
        other: Option<&[u8]>,
        direction: Direction,
    ) -> std::ops::Range<usize> {
        let Self { block, part, entries, .. } = self;
        let other = other.map(Bound::Excluded);
        match direction {
            Direction::Forward => {
                let ends = [Some(Bound::Included(&*part.last_key)), Some(bounds.1), other];
                let behind = |end: Bound<&[u8]>| match block.key(block.len() - 1) {
                    Some(last) if within((Bound::Unbounded, end), last) => block.len(),
                    _ => match end {
                        Bound::Included(key) => block.entries_of(key).end,
                        Bound::Excluded(key) => block.lower_bound(key),
                        Bound::Unbounded => block.len(),
                    },
                };
                let end = ends.into_iter().flatten().map(behind).min().unwrap_or_default();
                entries.start..end.max(entries.end)
            }
            Direction::Backward => {
                let ends = [Some(Bound::Included(&*part.first_key)), Some(bounds.0), other];
                let first = |end: Bound<&[u8]>| match block.key(0) {
                    Some(first) if within((end, Bound::Unbounded), first) => 0,
                    _ => match end {
                        Bound::Included(key) => block.lower_bound(key),
                        Bound::Excluded(key) => block.entries_of(key).end,
                        Bound::Unbounded => 0,
                    },
                };
                let start = ends.into_iter().flatten().map(first).max().unwrap_or_default();
                start.min(entries.start)..entries.end
            }
        }
    }

    /// Moves to an entry of the block, the only one of its key.
    pub(crate) fn go_to(&mut self, index: usize) {
        self.entries = index..index + 1;
    }

    /// The next block in the walk's direction, if it may have keys of the part.
    fn block_behind(&self, number: u32, direction: Direction) -> Option<u32> {
        let Self { meta, part, .. } = self;
        match direction {
            Direction::Forward => meta.first_key(number + 1).filter(|first| **first <= *part.last_key)?,
            Direction::Backward => meta.first_key(number).filter(|first| **first > *part.first_key)?,
        };
        if direction == Direction::Forward { Some(number + 1) } else { number.checked_sub(1) }
    }

    pub(crate) fn fragments<'a>(&'a self, seqno: u64, out: &mut Vec<DatedFragment<'a>>) -> Result<(), Damage> {
        if self.blocks.is_empty() {
            return self.fragments_in(&self.block, self.entries.clone(), seqno, out);
        }
        self.fragments_of_blocks(seqno, out)
    }

    #[inline(never)]
    fn fragments_of_blocks<'a>(&'a self, seqno: u64, out: &mut Vec<DatedFragment<'a>>) -> Result<(), Damage> {
        let key = self.key().unwrap_or_default();
        self.blocks.iter().try_for_each(|(_, block)| self.fragments_in(block, block.entries_of(key), seqno, out))
    }

    #[inline(always)]
    fn fragments_in<'a>(
        &self,
        block: &'a Block,
        entries: std::ops::Range<usize>,
        seqno: u64,
        out: &mut Vec<DatedFragment<'a>>,
    ) -> Result<(), Damage> {
        for entry in entries.filter_map(|index| block.entry(index)) {
            let own = self.part.segment.seqno.unwrap_or(entry.seqno);
            if own <= seqno {
                out.push(DatedFragment { seqno: own, fragment: block.fragment(&entry)? });
            }
        }
        Ok(())
    }

    /// The entries of the key, newest first.
    pub(crate) fn layers(&self) -> Vec<Layer> {
        let layer = |blocks, entry| Layer::new(Rc::clone(&self.part), Rc::clone(&self.meta), blocks, entry);
        if self.span.len() <= 1 {
            let block = self.id.block;
            return (0..self.entries.len()).map(|entry| layer(block..block + 1, entry)).collect();
        }
        let mut layers = Vec::new();
        let mut start = self.span.start;
        for next in self.span.start + 1..=self.span.end {
            if next == self.span.end || self.meta.cut(next).is_none() {
                layers.push(layer(start..next, 0));
                start = next;
            }
        }
        layers
    }
}

impl<'a> RunCursor<'a> {
    /// A cursor over a run that was walked up to this place. It is not placed yet.
    pub(crate) fn new(
        parts: &'a [Rc<Part>],
        place: RunPlace,
        (cache, pins): (&'a BlockCache, &'a Pins),
        direction: Direction,
        piecewise: bool,
    ) -> Self {
        Self { parts, cache, pins, direction, piecewise, place, at: None }
    }
}

impl RunCursor<'_> {
    /// Pins the records that it stands on, and the blocks that were read ahead of it.
    pub(crate) fn pin(&self, pins: &mut Pins) {
        let Some(at) = &self.at else { return };
        pins.insert(at.id, DecodedRecord::Block(Rc::clone(&at.block)));
        pins.insert(at.part.segment.meta(), DecodedRecord::Meta(Rc::clone(&at.meta)));
        for (id, block) in &at.blocks {
            pins.insert(*id, DecodedRecord::Block(Rc::clone(block)));
        }
        let lies_ahead = |id: &BlockId| match self.direction {
            Direction::Forward => id.block > at.id.block,
            Direction::Backward => id.block < at.id.block,
        };
        for (id, record) in self.pins.iter().filter(|(id, _)| id.segment == at.id.segment && lies_ahead(id)) {
            pins.insert(*id, record.clone());
        }
    }

    pub(crate) fn key(&self) -> Option<&[u8]> {
        self.at.as_ref().and_then(CursorPosition::key)
    }

    /// The place of this cursor.
    pub(crate) fn place(&self) -> RunPlace {
        let at = self.at.as_ref();
        at.map_or(self.place, |at| RunPlace { left: self.left_from(at.part_index), block: Some(at.id.block) })
    }

    /// The number of parts that are left at this one.
    fn left_from(&self, part_index: usize) -> usize {
        match self.direction {
            Direction::Forward => self.parts.len() - part_index,
            Direction::Backward => part_index + 1,
        }
    }

    /// Moves to the first key of the range.
    pub(crate) fn seek(&mut self, (lower, upper): Bounds<'_>) -> Result<(), Halt> {
        match self.direction {
            Direction::Forward => {
                let part_index = match lower {
                    Bound::Included(key) => self.parts.partition_point(|part| *part.last_key < *key),
                    Bound::Excluded(key) => self.parts.partition_point(|part| *part.last_key <= *key),
                    Bound::Unbounded => 0,
                };
                let part_index = part_index.max(self.parts.len() - self.place.left);
                let Some(part) = self.parts.get(part_index) else { return Ok(()) };
                if !within((Bound::Unbounded, upper), &part.first_key) {
                    return Ok(());
                }
                // A part may begin in the middle of its segment.
                let from = match lower {
                    Bound::Included(key) | Bound::Excluded(key) if *key >= *part.first_key => lower,
                    _ => Bound::Included(&*part.first_key),
                };
                self.enter(part_index, from)
            }
            Direction::Backward => {
                let behind = match upper {
                    Bound::Included(key) => self.parts.partition_point(|part| *part.first_key <= *key),
                    Bound::Excluded(key) => self.parts.partition_point(|part| *part.first_key < *key),
                    Bound::Unbounded => self.parts.len(),
                };
                let behind = behind.min(self.place.left);
                let Some((part_index, part)) = behind.checked_sub(1).and_then(|i| Some((i, self.parts.get(i)?))) else {
                    return Ok(());
                };
                if !within((lower, Bound::Unbounded), &part.last_key) {
                    return Ok(());
                }
                let from = match upper {
                    Bound::Included(key) | Bound::Excluded(key) if *key <= *part.last_key => upper,
                    _ => Bound::Included(&*part.last_key),
                };
                self.enter(part_index, from)
            }
        }
    }

    /// Moves to the first key of a part that is not before `from`, in the walk's direction.
    fn enter(&mut self, part_index: usize, from: Bound<&[u8]>) -> Result<(), Halt> {
        let Some(part) = self.parts.get(part_index) else { return Ok(()) };
        let meta = self.cache.meta(part.segment.meta(), self.pins)?;
        let (Bound::Included(key) | Bound::Excluded(key)) = from else { return Ok(()) };
        let blocks = meta.blocks_of(key);
        let mut number = match (self.direction, from) {
            // Behind the key, in the walk's direction.
            (Direction::Forward, Bound::Excluded(_)) | (Direction::Backward, Bound::Included(_)) => {
                blocks.end.saturating_sub(1)
            }
            _ => blocks.start,
        };
        if let RunPlace { left, block: Some(block) } = self.place
            && self.left_from(part_index) == left
        {
            number = match self.direction {
                Direction::Forward => number.max(block),
                Direction::Backward => number.min(block),
            };
        }
        let id = part.segment.block(number);
        let block = self.cache.block(id, self.pins)?;
        let index = match (self.direction, from) {
            (Direction::Forward, Bound::Included(key)) => block.lower_bound(key),
            (Direction::Forward, _) | (Direction::Backward, Bound::Included(_)) => block.entries_of(key).end,
            (Direction::Backward, _) => block.lower_bound(key),
        };
        let (part, entries) = (Rc::clone(part), index..index);
        self.at = Some(CursorPosition { part_index, part, meta, id, block, entries, span: 0..0, blocks: Vec::new() });
        self.settle(Ahead::ONE)
    }

    /// Moves to the next key.
    pub(crate) fn advance(&mut self, read_ahead: Ahead) -> Result<(), Halt> {
        if let Some(at) = &mut self.at {
            at.entries = match self.direction {
                Direction::Forward => at.entries.end..at.entries.end,
                Direction::Backward => at.entries.start..at.entries.start,
            };
        }
        self.settle(read_ahead)
    }

    /// From a place between two entries, moves to the key behind the gap, in the next block or part if needed.
    fn settle(&mut self, read_ahead: Ahead) -> Result<(), Halt> {
        loop {
            let Some(at) = &mut self.at else { return Ok(()) };
            let gap = at.entries.start;
            let found = match self.direction {
                Direction::Forward => at.block.key(gap).map(|key| (key, gap)),
                Direction::Backward => gap.checked_sub(1).and_then(|i| Some((at.block.key(i)?, i))),
            };
            if let Some((key, index)) = found {
                let outside = match self.direction {
                    Direction::Forward => *key > *at.part.last_key,
                    Direction::Backward => *key < *at.part.first_key,
                };
                if !outside {
                    at.entries = same_key(&at.block, key, index, self.direction);
                    return if at.meta.has_large_rows() { self.gather() } else { Ok(()) };
                }
                return self.enter_next_part();
            }
            let Some(number) = at.block_behind(at.id.block, self.direction) else { return self.enter_next_part() };
            let id = at.part.segment.block(number);
            match self.cache.block(id, self.pins) {
                Ok(block) => {
                    let edge = if self.direction == Direction::Forward { 0 } else { block.len() };
                    at.id = id;
                    at.block = block;
                    at.entries = edge..edge;
                }
                Err(want) => return Err(Halt(self.ahead(want, read_ahead))),
            }
        }
    }

    /// Finds the blocks of the current row, which may be large.
    fn gather(&mut self) -> Result<(), Halt> {
        let Some(at) = &mut self.at else { return Ok(()) };
        let key = at.block.key(at.entries.start).unwrap_or_default();
        at.blocks.clear();
        let inside = at.entries.start > 0 && at.entries.end < at.block.len();
        at.span = if inside { 0..0 } else { at.meta.blocks_of(key) };
        if at.span.len() <= 1 || self.piecewise {
            return Ok(());
        }
        let (mut blocks, mut wants) = (Vec::with_capacity(at.span.len()), Vec::new());
        for number in at.span.clone() {
            let id = at.part.segment.block(number);
            match self.cache.block(id, self.pins) {
                Ok(block) => blocks.push((id, block)),
                Err(want) => wants.push(want),
            }
        }
        if !wants.is_empty() {
            return Err(Halt(wants));
        }
        let edge = match self.direction {
            Direction::Forward => blocks.last(),
            Direction::Backward => blocks.first(),
        };
        if let Some((id, block)) = edge {
            (at.entries, at.id, at.block) = (block.entries_of(key), *id, Rc::clone(block));
        }
        at.blocks = blocks;
        Ok(())
    }

    /// The wanted block and the blocks behind it that are likely next.
    fn ahead(&self, want: RecordId, most: Ahead) -> Vec<RecordId> {
        let Some(at) = &self.at else { return vec![want] };
        let numbers = successors(Some(want.id().block), |&number| at.block_behind(number, self.direction));
        // Segments of earlier versions have larger blocks.
        let one = (at.part.segment.bytes / u64::from(at.part.segment.blocks).max(1)).max(1);
        let count = (most.bytes / one).clamp(1, u64::from(most.blocks).max(1)) as usize;
        let ids = numbers.take(count).map(|number| at.part.segment.block(number));
        ids.filter(|&id| self.cache.block(id, self.pins).is_err()).map(RecordId::Block).collect()
    }

    fn enter_next_part(&mut self) -> Result<(), Halt> {
        let Some(at) = &self.at else { return Ok(()) };
        let next = match self.direction {
            Direction::Forward => Some(at.part_index + 1).filter(|&next| next < self.parts.len()),
            Direction::Backward => at.part_index.checked_sub(1),
        };
        self.place = RunPlace { left: next.map_or(0, |next| self.left_from(next)), block: None };
        let Some(part) = next.and_then(|next| self.parts.get(next)) else {
            self.at = None;
            return Ok(());
        };
        let from = match self.direction {
            Direction::Forward => Bound::Included(&*part.first_key),
            Direction::Backward => Bound::Included(&*part.last_key),
        };
        let part_index = next.unwrap_or_default();
        self.at = None;
        self.enter(part_index, from)
    }
}

/// All entries with this key. The entry at `index` is the first of them in the walk's direction.
fn same_key(block: &Block, key: &[u8], index: usize, direction: Direction) -> std::ops::Range<usize> {
    let same = |index: usize| block.key(index).is_some_and(|other| compare(other, key).is_eq());
    let mut range = index..index + 1;
    match direction {
        Direction::Forward => {
            while same(range.end) {
                range.end += 1;
            }
        }
        Direction::Backward => {
            while range.start > 0 && same(range.start - 1) {
                range.start -= 1;
            }
        }
    }
    range
}
