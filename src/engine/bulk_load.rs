//! What is known of a load: the range of its rows, and the segments that it has come to.

use super::cache::BlockCache;
use super::keys::{KeyRange, within};
use super::latch::Latch;
use super::segment_writer::{ClosedSegment, SegmentWriter, Staging};
use crate::error::{Error, Result};
use crate::model::TreeId;
use crate::storage::SegmentId;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Bound;
use std::rc::Rc;

/// Is told once whether a load was stored.
pub type LoadListener = Box<dyn FnOnce(&Result<()>)>;

/// What the engine knows of a load.
pub(super) struct BulkLoad {
    pub(super) number: u64,
    pub(super) tree: TreeId,
    /// Its place among all writes, once its commit was asked for.
    pub(super) seqno: Cell<Option<u64>>,
    pub(super) build: RefCell<LoadSegments>,
    pub(super) settled: Cell<Option<LoadListener>>,
    /// Set when it is stored, or could not be.
    pub(super) done: Latch<Result<()>>,
}

/// The segments of a load.
#[derive(Debug, Default)]
pub(super) struct LoadSegments {
    /// Of the first and the last row, tree included; empty before the first.
    pub(super) first: Vec<u8>,
    pub(super) last: Vec<u8>,
    pub(super) writer: Option<SegmentWriter>,
    pub(super) closed: Vec<ClosedSegment>,
    /// Of the closed segments.
    pub(super) closed_bytes: u64,
    pub(super) rows: u64,
    /// All segments, for when they have to be given back.
    pub(super) ids: Vec<SegmentId>,
    /// What is to be staged.
    pub(super) waiting: VecDeque<Staging>,
    pub(super) waiting_bytes: usize,
    /// Somebody stages; this is set whenever a call of that is over.
    pub(super) staging: Option<Rc<Latch<()>>>,
    /// Why nothing more is staged.
    pub(super) failed: Option<Error>,
}

impl BulkLoad {
    /// Whether a row, named by its full key, lies between the load's first and last.
    pub(super) fn covers(&self, key: &[u8]) -> bool {
        let build = self.build.borrow();
        *build.first <= *key && *key <= *build.last && !build.first.is_empty()
    }

    /// Whether a range of the tree reaches into that of the load.
    pub(super) fn meets(&self, tree: TreeId, range: &KeyRange) -> bool {
        let build = self.build.borrow();
        let (lower, upper) = range.bounds();
        tree == self.tree
            && !build.first.is_empty()
            && within((lower, Bound::Unbounded), &build.last)
            && within((Bound::Unbounded, upper), &build.first)
    }
}

/// Loads that are neither stored nor given up.
#[derive(Default)]
pub(super) struct BulkLoads {
    loads: RefCell<Vec<Rc<BulkLoad>>>,
    /// The number of the load that began last.
    last: Cell<u64>,
}

impl BulkLoads {
    /// One more begins.
    pub(super) fn begin(&self, tree: TreeId) -> Rc<BulkLoad> {
        let number = self.last.get() + 1;
        self.last.set(number);
        let load = Rc::new(BulkLoad {
            number,
            tree,
            seqno: Cell::default(),
            build: RefCell::default(),
            settled: Cell::default(),
            done: Latch::default(),
        });
        self.loads.borrow_mut().push(Rc::clone(&load));
        load
    }

    /// The number of the load that began last; 0 if none did.
    pub(super) fn last(&self) -> u64 {
        self.last.get()
    }

    /// Whether the range of one reaches into a range of the tree.
    pub(super) fn meet(&self, tree: TreeId, range: &KeyRange) -> bool {
        self.loads.borrow().iter().any(|load| load.meets(tree, range))
    }

    /// Those that are chosen.
    pub(super) fn all(&self, choose: &dyn Fn(&BulkLoad) -> bool) -> Vec<Rc<BulkLoad>> {
        self.loads.borrow().iter().filter(|load| choose(load)).map(Rc::clone).collect()
    }

    /// Those whose commit was asked for.
    pub(super) fn asked(&self, choose: &dyn Fn(&BulkLoad) -> bool) -> Vec<Rc<BulkLoad>> {
        // Every read asks, and mostly there is none.
        if self.loads.borrow().is_empty() {
            return Vec::new();
        }
        self.all(&|load| load.seqno.get().is_some() && choose(load))
    }

    /// Whether one is on its way over this row.
    pub(super) fn cover(&self, key: &[u8]) -> bool {
        self.loads.borrow().iter().any(|load| load.covers(key))
    }

    /// One is stored, or given up.
    pub(super) fn forget(&self, load: &Rc<BulkLoad>) {
        self.loads.borrow_mut().retain(|other| !Rc::ptr_eq(other, load));
    }
}

impl LoadSegments {
    pub(super) fn take_ready(&mut self, cache: &BlockCache) {
        let Some(writer) = &mut self.writer else { return };
        self.waiting_bytes += writer.ready_bytes();
        self.waiting.extend(writer.take_ready(cache));
    }

    /// Closes the segment in the making.
    pub(super) fn close(&mut self, cache: &BlockCache) -> Result<()> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let closed = writer.close()?;
        self.take_ready(cache);
        if let Some(writer) = self.writer.take() {
            self.closed_bytes += writer.bytes();
        }
        self.closed.extend(closed);
        Ok(())
    }
}
