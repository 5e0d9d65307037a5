//! Passes rows over in a walk: a filter decides them by the columns of their block, before they are put together.
//!
//! This can be done for rows that lie in one source alone, in a block of simple rows (see `format/block_columns.rs`) which a snapshot
//! sees whole. All others are visited. So are short stretches of such rows, as where sources interleave: reading the columns
//! of a block costs about as much as visiting a fortieth of its rows.

use super::run_cursor::RunCursor;
use crate::collections::order::compare;
use crate::engine::rows::keys::{Bounds, Direction};
use crate::engine::segment::cache::BlockCache;
use crate::format::block::Block;
use crate::format::block_columns::BlockColumns;
use crate::storage::BlockId;
use std::ops::Range;
use std::rc::Rc;

/// Rows of a block, in the order of a walk.
#[derive(Clone, Copy, Debug)]
pub struct BlockRows<'b> {
    /// The block's place.
    pub id: BlockId,
    /// The block.
    pub block: &'b Block,
    /// The columns of all its rows.
    pub columns: &'b BlockColumns,
    first: usize,
    last: usize,
    direction: Direction,
}

impl BlockRows<'_> {
    /// The places of the first so many rows.
    #[must_use]
    pub fn first(&self, count: usize) -> Range<usize> {
        match self.direction {
            Direction::Forward => self.first..self.first + count,
            Direction::Backward => (self.last + 1).saturating_sub(count)..self.last + 1,
        }
    }

    /// The rows' places in the block, in the order of the walk.
    pub fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let Self { first, last, direction, .. } = *self;
        (0..=last - first).map(move |step| if direction == Direction::Forward { first + step } else { last - step })
    }
}

/// A reader's filter, which decides rows of a block by its columns.
pub trait BlockFilter {
    /// Whether it decides rows now. Otherwise all are visited.
    fn is_on(&self) -> bool;

    /// The columns that it needs.
    fn columns(&self) -> &[&str];

    /// Counts the rows, from the first one on, that it need not see: up to the first that may pass, or that ends the scan.
    fn pass(&self, rows: &BlockRows<'_>) -> usize;
}

/// The filter is asked first about a block only if the stretch has one in so many of the block's rows, or more.
const LEAST_PART: usize = 32;

/// The filter of a step of a walk.
pub(crate) struct Passing<'s> {
    filter: &'s dyn BlockFilter,
    cache: &'s BlockCache,
    bounds: Bounds<'s>,
    direction: Direction,
    seqno: u64,
    /// The columns of the last block; nothing if its rows must be visited.
    known: Option<(BlockId, Option<Rc<BlockColumns>>)>,
}

impl<'s> Passing<'s> {
    pub(crate) fn new(
        filter: &'s dyn BlockFilter,
        cache: &'s BlockCache,
        (bounds, direction): (Bounds<'s>, Direction),
        seqno: u64,
    ) -> Self {
        Self { filter, cache, bounds, direction, seqno, known: None }
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.filter.is_on()
    }

    /// Passes rows over, from the key `last` on. Then `last` is the last of them, and the cursor stands on it. Returns their number.
    #[inline(never)]
    pub(crate) fn over<'k>(
        &mut self,
        last: &mut Vec<u8>,
        runs: &mut [RunCursor<'_>],
        tables: impl Iterator<Item = Option<&'k [u8]>>,
    ) -> u32 {
        let Some((run, rows)) = self.alone(last, runs, tables) else { return 0 };
        let Some(at) = runs.get_mut(run).and_then(|run| run.at.as_mut()) else { return 0 };
        let Some(block) = at.block_of_small_rows().filter(|_| !rows.is_empty()) else { return 0 };
        let known = match &self.known {
            Some((id, known)) if *id == at.id => known,
            _ if LEAST_PART * rows.len() < block.len() => return 0,
            _ => {
                let visible = |columns: &Rc<BlockColumns>| at.loaded_at().unwrap_or(columns.newest()) <= self.seqno;
                let columns = self.cache.columns(at.id, block, self.filter.columns()).filter(visible);
                &self.known.insert((at.id, columns)).1
            }
        };
        let Some(columns) = known else { return 0 };
        let Range { start, end } = rows;
        let rows = BlockRows { id: at.id, block, columns, first: start, last: end - 1, direction: self.direction };
        let passed = self.filter.pass(&rows);
        let Some(index) = passed.checked_sub(1).and_then(|before| rows.places().nth(before)) else { return 0 };
        last.clear();
        last.extend_from_slice(block.key(index).unwrap_or_default());
        at.go_to(index);
        passed as u32
    }

    /// The run that alone has the key, and the entries from there on that no other source has keys between.
    fn alone<'k>(
        &self,
        key: &[u8],
        runs: &[RunCursor<'_>],
        tables: impl Iterator<Item = Option<&'k [u8]>>,
    ) -> Option<(usize, Range<usize>)> {
        let is_first = |run: &RunCursor<'_>| run.key().is_some_and(|found| compare(found, key).is_eq());
        let run = runs.iter().position(is_first)?;
        let mut other = None;
        for found in tables.flatten() {
            self.meet(key, found, &mut other)?;
        }
        for found in runs.iter().enumerate().filter(|(at, _)| *at != run).filter_map(|(_, run)| run.key()) {
            self.meet(key, found, &mut other)?;
        }
        let at = runs.get(run)?.at.as_ref()?;
        Some((run, at.stretch(self.bounds, other, self.direction)))
    }

    /// Another source has the key `found`. `other` becomes the first of such keys. `None` if it is `key` itself.
    fn meet<'k>(&self, key: &[u8], found: &'k [u8], other: &mut Option<&'k [u8]>) -> Option<()> {
        let order = |before: &[u8]| match self.direction {
            Direction::Forward => compare(found, before),
            Direction::Backward => compare(before, found),
        };
        if other.is_none_or(|before| order(before).is_lt()) {
            *other = Some(found);
        }
        order(key).is_gt().then_some(())
    }
}
