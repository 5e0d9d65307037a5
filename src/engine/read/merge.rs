//! Merges sorted sources: memtables and runs of segment parts.
//!
//! A step is one synchronous section. It visits rows in key order until the visitor has enough, the range ends, or a
//! block is not in memory. Then it names these blocks. The caller loads them and takes the next step from the key after
//! the last visited one. So no cursor and no borrow outlives an await. Reads, flush and compaction share this code.

use super::large_row::LargeRow;
use super::passing::{BlockFilter, Passing};
use super::run_cursor::{Ahead, CursorPosition, Halt, RunCursor, RunPlace};
use crate::collections::order::compare;
use crate::engine::memory::memtable::{Rows, Slots, unreadable};
use crate::engine::rows::keys::{Bounds, Direction, KeyRange, within};
use crate::engine::rows::row::DatedFragment;
use crate::engine::segment::cache::{BlockCache, Pins, RecordId, damaged};
use crate::engine::versions::snapshot::Sources;
use crate::error::Result;
use std::cell::Ref;
use std::cmp::Ordering;
use std::collections::btree_map;
use std::ops::{Bound, ControlFlow};

/// How a step ended.
pub(crate) enum MergeStep {
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

/// A walk over a range, step by step.
#[derive(Debug)]
pub(crate) struct Merge {
    pub(crate) sources: Sources,
    /// The rest of the range.
    range: KeyRange,
    direction: Direction,
    /// Writes after this are invisible.
    seqno: u64,
    /// The place of each run's cursor at the end of the last step. The key before it may lie in a finished block, which
    /// must not be loaded again to find the place.
    places: Vec<RunPlace>,
    /// What to fetch of a run at once. The number of blocks grows during the walk.
    read_ahead: Ahead,
    /// Large rows are not visited; the step ends at each of them.
    piecewise: bool,
}

/// A visitor: takes a key, tree included, and the row's fragments, newest first and never empty.
pub(crate) type Visit<'v> = dyn FnMut(&[u8], Vec<DatedFragment<'_>>) -> Result<ControlFlow<()>> + 'v;

/// The most stored bytes to fetch of a run at once.
pub(crate) const MOST_AHEAD: u64 = 576 << 10;

/// Each trip fetches so many times the blocks of the one before.
const AHEAD_GROWTH: u32 = 4;

/// A row with more bytes than this is not merged at once: decoded, its cells take several times as much.
const MOST_AT_ONCE: usize = 256 << 10;

/// The most rows that a step visits, so that a long stretch of deleted rows does not hold the thread.
const STEP_ROWS: u32 = 5000;

impl Merge {
    pub(crate) fn new(sources: Sources, range: KeyRange, direction: Direction, seqno: u64) -> Self {
        let places = sources.runs.iter().map(|run| RunPlace { left: run.len(), block: None }).collect();
        Self {
            sources,
            range,
            direction,
            seqno,
            places,
            read_ahead: Ahead { blocks: 1, bytes: MOST_AHEAD },
            piecewise: false,
        }
    }

    /// Returns rows in several blocks, or in large blocks of several runs, as [`MergeStep::Large`], so that no row has to
    /// fit in memory. The sources must not include memtables.
    pub(crate) fn piecewise(&mut self) {
        self.piecewise = true;
    }

    /// Limits read-ahead to so many stored bytes of each run. One block is always fetched.
    pub(crate) fn read_ahead_at_most(&mut self, bytes: u64) {
        self.read_ahead.bytes = bytes.min(MOST_AHEAD);
    }

    /// Takes one step.
    pub(crate) fn step(&mut self, cache: &BlockCache, pins: &Pins, visit: &mut Visit<'_>) -> Result<MergeStep> {
        self.step_passing(cache, pins, None, visit)
    }

    /// Takes one step, in which a filter may pass rows over.
    pub(crate) fn step_passing(
        &mut self,
        cache: &BlockCache,
        pins: &Pins,
        filter: Option<&dyn BlockFilter>,
        visit: &mut Visit<'_>,
    ) -> Result<MergeStep> {
        let Self { sources, range, direction, seqno, places, read_ahead, piecewise } = self;
        let (direction, seqno, piecewise) = (*direction, *seqno, *piecewise);
        if is_empty(range) {
            return Ok(MergeStep::Done);
        }
        let bounds = range.bounds();
        let rows: Vec<Ref<'_, Rows>> = sources.memtables.iter().map(|memtable| memtable.rows()).collect();
        let tables = rows.iter().map(|rows| TableCursor::new(rows, bounds, direction)).collect();
        let runs = sources.runs.iter().zip(&*places);
        let runs = runs.map(|(run, place)| RunCursor::new(run, *place, (cache, pins), direction, piecewise)).collect();
        let mut cursors = Cursors { tables, runs, direction, alone: false };
        let wants = cursors.seek(bounds);
        if !wants.is_empty() {
            // A moving cursor asks for one record after another, so it keeps those it had.
            let mut kept = pins.clone();
            for (id, record) in cursors.pins().iter() {
                kept.insert(*id, record.clone());
            }
            return Ok(MergeStep::Need(wants, kept));
        }

        let mut last: Vec<u8> = Vec::new();
        let mut visited = 0;
        let mut passing = filter.map(|filter| Passing::new(filter, cache, (bounds, direction), seqno));
        let outcome = loop {
            let Some(key) = cursors.key().filter(|key| within(bounds, key)) else { break MergeStep::Done };
            last.clear();
            last.extend_from_slice(key);
            let passed = match &mut passing {
                Some(passing) if passing.is_on() => {
                    passing.over(&mut last, &mut cursors.runs, cursors.tables.iter().map(TableCursor::key))
                }
                _ => 0,
            };
            visited += passed.max(1);
            let mut flow = ControlFlow::Continue(());
            if passed == 0 {
                let fragments = cursors.fragments(&last, seqno)?;
                if piecewise && cursors.has_large_row(&last, &fragments) {
                    break MergeStep::Large(cursors.large_row(&last), cursors.pins());
                }
                if !fragments.is_empty() {
                    flow = visit(&last, fragments)?;
                }
            }
            let wants = cursors.advance(&last, *read_ahead);
            if flow.is_break() {
                break MergeStep::Stopped;
            }
            if !wants.is_empty() {
                read_ahead.blocks = read_ahead.blocks.saturating_mul(AHEAD_GROWTH);
                break MergeStep::Need(wants, cursors.pins());
            }
            if visited >= STEP_ROWS {
                break MergeStep::Pause;
            }
        };
        for (place, run) in places.iter_mut().zip(&cursors.runs) {
            *place = run.place();
        }
        drop(cursors);
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

/// The cursors of a step.
struct Cursors<'c> {
    tables: Vec<TableCursor<'c>>,
    runs: Vec<RunCursor<'c>>,
    direction: Direction,
    /// Only one of them has keys: most ranges lie in one source. A cursor at its end stays there.
    alone: bool,
}

impl Cursors<'_> {
    /// Goes to the beginning of a range. Returns records to load first.
    fn seek(&mut self, bounds: Bounds<'_>) -> Vec<RecordId> {
        let mut wants = Vec::new();
        for run in &mut self.runs {
            if let Err(Halt(more)) = run.seek(bounds) {
                wants.extend(more);
            }
        }
        let with_keys = self.tables.iter().filter(|table| table.current.is_some()).count()
            + self.runs.iter().filter(|run| run.at.is_some()).count();
        self.alone = with_keys == 1;
        wants
    }

    /// The next key.
    fn key(&self) -> Option<&[u8]> {
        let (tables, runs) = (self.tables.iter(), self.runs.iter());
        let mut keys = tables.filter_map(TableCursor::key).chain(runs.filter_map(RunCursor::key));
        if self.alone {
            return keys.next();
        }
        let first = match self.direction {
            Direction::Forward => Ordering::Less,
            Direction::Backward => Ordering::Greater,
        };
        keys.reduce(|found, key| if compare(key, found) == first { key } else { found })
    }

    /// The positions of runs on the row of the next key.
    fn positions(&self, next: &[u8]) -> impl Iterator<Item = &CursorPosition> {
        self.runs.iter().filter_map(|run| run.at.as_ref()).filter(|at| stands_on(at.key(), next, self.alone))
    }

    /// The fragments of the row of the next key, newest first.
    fn fragments(&self, next: &[u8], seqno: u64) -> Result<Vec<DatedFragment<'_>>> {
        // Mostly there is one, of one source.
        let mut fragments = Vec::with_capacity(1);
        for table in &self.tables {
            if let Some((key, slots)) = table.current
                && stands_on(Some(key), next, self.alone)
            {
                table.rows.fragments(slots, (0, seqno), &mut fragments).map_err(unreadable)?;
            }
        }
        for at in self.positions(next) {
            at.fragments(seqno, &mut fragments).map_err(|damage| damaged(at.id, &damage))?;
        }
        Ok(fragments)
    }

    /// Whether the row of the next key is too large to be merged at once.
    fn has_large_row(&self, next: &[u8], fragments: &[DatedFragment<'_>]) -> bool {
        let bytes = || fragments.iter().map(|dated| dated.fragment.left()).sum::<usize>();
        self.positions(next).any(|at| at.span.len() > 1) || bytes() > MOST_AT_ONCE
    }

    /// The row of the next key, to be merged in pieces.
    fn large_row(&self, next: &[u8]) -> LargeRow {
        LargeRow { key: next.into(), layers: self.positions(next).flat_map(CursorPosition::layers).collect() }
    }

    /// Goes behind the row of the next key. Returns records to load first.
    fn advance(&mut self, next: &[u8], read_ahead: Ahead) -> Vec<RecordId> {
        for table in &mut self.tables {
            if stands_on(table.key(), next, self.alone) {
                table.advance();
            }
        }
        let mut wants = Vec::new();
        for run in &mut self.runs {
            if stands_on(run.key(), next, self.alone)
                && let Err(Halt(more)) = run.advance(read_ahead)
            {
                wants.extend(more);
            }
        }
        wants
    }

    /// The records of the cursors, and the blocks read ahead of them. Keeping them avoids a second load.
    fn pins(&self) -> Pins {
        let mut pins = Pins::default();
        self.runs.iter().for_each(|run| run.pin(&mut pins));
        pins
    }
}

/// Whether a cursor at `key` stands on the row of the next key: the only cursor with keys does.
fn stands_on(key: Option<&[u8]>, next: &[u8], alone: bool) -> bool {
    alone || key.is_some_and(|key| compare(key, next).is_eq())
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
    rows: &'a Rows,
    range: btree_map::Range<'a, Box<[u8]>, Slots>,
    direction: Direction,
    current: Option<(&'a [u8], &'a Slots)>,
}

impl<'a> TableCursor<'a> {
    fn new(rows: &'a Rows, (lower, upper): Bounds<'_>, direction: Direction) -> Self {
        let mut cursor = Self { rows, range: rows.range(lower, upper), direction, current: None };
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
