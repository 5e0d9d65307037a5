//! Merges sorted sources: memtables and runs of segment parts.
//!
//! A step is one synchronous section. It visits rows in key order until the visitor has enough, the range ends, or a
//! block is not in memory. Then it names these blocks. The caller loads them and takes the next step from the key after
//! the last visited one. So no cursor and no borrow outlives an await. Reads, flush and compaction share this code.

use super::cache::{BlockCache, DecodedRecord, Pins, RecordId, damaged};
use super::keys::{Bounds, Direction, KeyRange, within};
use super::large_row::{LargeRow, Layer};
use super::memtable::{Memtable, Rows, Slots};
use super::part::Part;
use super::row::DatedFragment;
use crate::collections::order::compare;
use crate::error::{Error, Result};
use crate::format::block::Block;
use crate::format::segment::SegmentMeta;
use crate::format::wire::Damage;
use crate::storage::BlockId;
use std::cell::Ref;
use std::cmp::Ordering;
use std::collections::btree_map;
use std::iter::successors;
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;

/// The sources: memtables, newest first, then runs, newest first. The parts of a run ascend without overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources {
    pub(super) memtables: Vec<Rc<Memtable>>,
    pub(super) runs: Vec<Vec<Rc<Part>>>,
}

/// How a step ended.
pub(super) enum MergeStep {
    /// The range is at its end.
    Done,
    /// The visitor has enough rows.
    Stopped,
    /// These records have to be loaded first; pin the others meanwhile.
    Need(Vec<RecordId>, Pins),
    /// The walk has reached a large row and will continue behind it. Has the records to pin.
    Large(LargeRow, Pins),
    /// Many rows were visited without a stop. Other work of the thread may go first.
    Pause,
}

/// The records that a cursor needs to move.
struct Halt(Vec<RecordId>);

impl From<RecordId> for Halt {
    fn from(want: RecordId) -> Self {
        Self(vec![want])
    }
}

/// A walk over a range, step by step.
#[derive(Debug)]
pub(super) struct Merge {
    pub(super) sources: Sources,
    /// The rest of the range.
    range: KeyRange,
    direction: Direction,
    /// Writes after this are invisible.
    seqno: u64,
    /// The place of each run's cursor at the end of the last step. The key before it may lie in a finished block, which
    /// must not be loaded again to find the place.
    places: Vec<RunPlace>,
    /// The number of blocks of a run to fetch at once; grows during the walk.
    read_ahead: u32,
    most_ahead: u32,
    /// Large rows are not visited; the step ends at each of them.
    piecewise: bool,
}

/// A visitor: takes a key, tree included, and the row's fragments, newest first and never empty.
pub(super) type Visit<'v> = dyn FnMut(&[u8], Vec<DatedFragment<'_>>) -> Result<ControlFlow<()>> + 'v;

const MAX_READ_AHEAD: u32 = 8;

/// A row with more bytes than this is not merged at once: decoded, its cells take several times as much.
const MOST_AT_ONCE: usize = 256 << 10;

/// The most rows that a step visits, so that a long stretch of deleted rows does not hold the thread.
const STEP_ROWS: u32 = 5000;

impl Merge {
    pub(super) fn new(sources: Sources, range: KeyRange, direction: Direction, seqno: u64) -> Self {
        let places = sources.runs.iter().map(|run| RunPlace { left: run.len(), block: None }).collect();
        Self { sources, range, direction, seqno, places, read_ahead: 1, most_ahead: MAX_READ_AHEAD, piecewise: false }
    }

    /// Returns rows in several blocks, or in large blocks of several runs, as [`MergeStep::Large`], so that no row has to
    /// fit in memory. The sources must not include memtables.
    pub(super) fn piecewise(&mut self) {
        self.piecewise = true;
    }

    /// Limits read-ahead to so many blocks of each run.
    pub(super) fn read_ahead_at_most(&mut self, blocks: u32) {
        self.most_ahead = blocks.clamp(1, MAX_READ_AHEAD);
    }

    /// Takes one step.
    pub(super) fn step(&mut self, cache: &BlockCache, pins: &Pins, visit: &mut Visit<'_>) -> Result<MergeStep> {
        let Self { sources, range, direction, seqno, places, read_ahead, most_ahead, piecewise } = self;
        let (direction, seqno, piecewise) = (*direction, *seqno, *piecewise);
        if is_empty(range) {
            return Ok(MergeStep::Done);
        }
        let bounds = range.bounds();
        let rows: Vec<Ref<'_, Rows>> = sources.memtables.iter().map(|memtable| memtable.rows()).collect();
        let mut tables: Vec<TableCursor<'_>> =
            rows.iter().map(|rows| TableCursor::new(rows, bounds, direction)).collect();

        let mut wants = Vec::new();
        let mut runs = Vec::new();
        for (run, place) in sources.runs.iter().zip(&*places) {
            let mut cursor = RunCursor { parts: run, cache, pins, direction, piecewise, place: *place, at: None };
            match cursor.seek(bounds) {
                Ok(()) => runs.push(cursor),
                Err(Halt(more)) => wants.extend(more),
            }
        }
        if !wants.is_empty() {
            // A moving cursor asks for one record after another, so it keeps those it had.
            let mut kept = pins.clone();
            for (id, record) in held(&runs).iter() {
                kept.insert(*id, record.clone());
            }
            return Ok(MergeStep::Need(wants, kept));
        }

        let mut last: Vec<u8> = Vec::new();
        // Most ranges lie in one source. A cursor at its end stays there.
        let with_keys = tables.iter().filter(|table| table.current.is_some()).count()
            + runs.iter().filter(|run| run.at.is_some()).count();
        let alone = with_keys == 1;
        let mut visited = 0;
        let outcome = loop {
            let key = if alone {
                runs.iter().find_map(RunCursor::key).or_else(|| tables.iter().find_map(TableCursor::key))
            } else {
                let keys = tables.iter().filter_map(TableCursor::key).chain(runs.iter().filter_map(RunCursor::key));
                let first = match direction {
                    Direction::Forward => Ordering::Less,
                    Direction::Backward => Ordering::Greater,
                };
                keys.reduce(|found, key| if compare(key, found) == first { key } else { found })
            };
            let Some(key) = key else { break MergeStep::Done };
            if !within(bounds, key) {
                break MergeStep::Done;
            }
            last.clear();
            last.extend_from_slice(key);

            // Mostly there is one fragment, of one source.
            let mut fragments = Vec::with_capacity(1);
            let is_last = |key: Option<&[u8]>| alone || key.is_some_and(|key| compare(key, &last).is_eq());
            for (table, rows) in tables.iter().zip(&rows) {
                if let Some((found, slots)) = table.current
                    && is_last(Some(found))
                {
                    let whole = rows.fragments(slots, (0, seqno), &mut fragments);
                    whole.map_err(|damage| Error::internal(format!("a fragment in the memtable: {damage}")))?;
                }
            }
            let found = || runs.iter().filter_map(|run| run.at.as_ref()).filter(|at| is_last(at.key()));
            for run in &runs {
                if let Some(at) = run.at.as_ref().filter(|at| is_last(at.key())) {
                    at.fragments(seqno, &mut fragments).map_err(|damage| damaged(at.id, &damage))?;
                }
            }
            let bytes = || fragments.iter().map(|dated| dated.fragment.left()).sum::<usize>();
            if piecewise && (found().any(|at| at.span.len() > 1) || bytes() > MOST_AT_ONCE) {
                let layers = found().flat_map(CursorPosition::layers).collect();
                let row = LargeRow { key: last.as_slice().into(), layers };
                visited += 1;
                break MergeStep::Large(row, held(&runs));
            }
            let flow = if fragments.is_empty() { ControlFlow::Continue(()) } else { visit(&last, fragments)? };
            visited += 1;

            for table in &mut tables {
                if is_last(table.key()) {
                    table.advance();
                }
            }
            let mut wants = Vec::new();
            for run in &mut runs {
                if is_last(run.key())
                    && let Err(Halt(more)) = run.advance(*read_ahead)
                {
                    wants.extend(more);
                }
            }
            if flow.is_break() {
                break MergeStep::Stopped;
            }
            if !wants.is_empty() {
                *read_ahead = (*read_ahead * 2).min(*most_ahead);
                break MergeStep::Need(wants, held(&runs));
            }
            if visited >= STEP_ROWS {
                break MergeStep::Pause;
            }
        };
        for (place, run) in places.iter_mut().zip(&runs) {
            *place = run.place();
        }
        drop((tables, runs));
        drop(rows);
        if visited > 0 {
            match direction {
                Direction::Forward => range.lower = Bound::Excluded(last),
                Direction::Backward => range.upper = Bound::Excluded(last),
            }
        }
        Ok(outcome)
    }
}

/// The blocks of the cursors, and the blocks read ahead of them. Keeping them avoids a second load.
fn held(runs: &[RunCursor<'_>]) -> Pins {
    let mut pins = Pins::default();
    for run in runs {
        let Some(at) = &run.at else { continue };
        pins.insert(at.id, DecodedRecord::Block(Rc::clone(&at.block)));
        pins.insert(at.part.segment.meta(), DecodedRecord::Meta(Rc::clone(&at.meta)));
        for (id, block) in &at.blocks {
            pins.insert(*id, DecodedRecord::Block(Rc::clone(block)));
        }
        let lies_ahead = |id: &BlockId| match run.direction {
            Direction::Forward => id.block > at.id.block,
            Direction::Backward => id.block < at.id.block,
        };
        for (id, record) in run.pins.iter().filter(|(id, _)| id.segment == at.id.segment && lies_ahead(id)) {
            pins.insert(*id, record.clone());
        }
    }
    pins
}

/// Whether no key can lie in the range. A sorted map would panic on some such ranges.
fn is_empty(range: &KeyRange) -> bool {
    match (&range.lower, &range.upper) {
        (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
        (Bound::Included(lower) | Bound::Excluded(lower), Bound::Included(upper) | Bound::Excluded(upper)) => {
            lower >= upper
        }
        _ => false,
    }
}

/// A cursor over a memtable.
struct TableCursor<'a> {
    range: btree_map::Range<'a, Box<[u8]>, Slots>,
    direction: Direction,
    current: Option<(&'a [u8], &'a Slots)>,
}

impl<'a> TableCursor<'a> {
    fn new(rows: &'a Rows, (lower, upper): Bounds<'_>, direction: Direction) -> Self {
        let mut cursor = Self { range: rows.range(lower, upper), direction, current: None };
        cursor.advance();
        cursor
    }

    fn key(&self) -> Option<&[u8]> {
        self.current.map(|(key, _)| key)
    }

    fn advance(&mut self) {
        let next = match self.direction {
            Direction::Forward => self.range.next(),
            Direction::Backward => self.range.next_back(),
        };
        self.current = next.map(|(key, slots)| (&**key, slots));
    }
}

/// A cursor over a run of segment parts.
struct RunCursor<'a> {
    parts: &'a [Rc<Part>],
    cache: &'a BlockCache,
    pins: &'a Pins,
    direction: Direction,
    piecewise: bool,
    /// The place to start from; the walk is done with everything before.
    place: RunPlace,
    at: Option<CursorPosition>,
}

/// How far a run was walked. A cut part's bounds are not keys of its own, so keys do not tell that the part is done.
#[derive(Clone, Copy, Debug)]
struct RunPlace {
    /// The number of parts that are not done.
    left: usize,
    /// The current block in the first of those, once the cursor has entered one.
    block: Option<u32>,
}

/// The position of a run's cursor: on all entries of one key.
struct CursorPosition {
    part_index: usize,
    part: Rc<Part>,
    meta: Rc<SegmentMeta>,
    id: BlockId,
    block: Rc<Block>,
    /// The entries of the key, newest first.
    entries: std::ops::Range<usize>,
    /// Of a large row: the numbers of its blocks in the segment, and the blocks, unless the walk is piecewise. `block` is
    /// then the last of them in the walk's direction, or the first that the cursor met.
    span: std::ops::Range<u32>,
    blocks: Vec<(BlockId, Rc<Block>)>,
}

impl CursorPosition {
    #[inline(always)]
    fn key(&self) -> Option<&[u8]> {
        self.block.key(self.entries.start)
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

    fn fragments<'a>(&'a self, seqno: u64, out: &mut Vec<DatedFragment<'a>>) -> Result<(), Damage> {
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
    fn layers(&self) -> Vec<Layer> {
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

impl RunCursor<'_> {
    fn key(&self) -> Option<&[u8]> {
        self.at.as_ref().and_then(CursorPosition::key)
    }

    /// The place of this cursor.
    fn place(&self) -> RunPlace {
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
    fn seek(&mut self, (lower, upper): Bounds<'_>) -> Result<(), Halt> {
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
        self.settle(1)
    }

    /// Moves to the next key.
    fn advance(&mut self, read_ahead: u32) -> Result<(), Halt> {
        if let Some(at) = &mut self.at {
            at.entries = match self.direction {
                Direction::Forward => at.entries.end..at.entries.end,
                Direction::Backward => at.entries.start..at.entries.start,
            };
        }
        self.settle(read_ahead)
    }

    /// From a place between two entries, moves to the key behind the gap, in the next block or part if needed.
    fn settle(&mut self, read_ahead: u32) -> Result<(), Halt> {
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
    fn ahead(&self, want: RecordId, read_ahead: u32) -> Vec<RecordId> {
        let Some(at) = &self.at else { return vec![want] };
        let numbers = successors(Some(want.id().block), |&number| at.block_behind(number, self.direction));
        let ids = numbers.take(read_ahead as usize).map(|number| at.part.segment.block(number));
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
