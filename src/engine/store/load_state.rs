//! The state of a load: the range of its rows, and its segments.

use crate::engine::base::latch::Latch;
use crate::engine::rows::keys::{KeyRange, within};
use crate::engine::segment::cache::BlockCache;
use crate::engine::segment::writer::{ClosedSegment, SegmentWriter, Staging};
use crate::error::{Error, Result};
use crate::model::{RowChange, TreeId};
use crate::storage::SegmentId;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Bound;
use std::rc::Rc;

/// Called once: was the load stored?
pub type LoadListener = Box<dyn FnOnce(&Result<()>)>;

/// Called once, when the load takes its seqno, with that and the keys of its first and last row. Its rows are stored with the
/// load.
pub type LoadEnd = Box<dyn FnOnce(u64, &[u8], &[u8]) -> RowsBehind>;

/// Called once, when the load ends: passes on rows that are stored with it. They are of one tree behind those of all
/// tables. Their keys ascend, and memory has nothing about them.
pub type RowsBehind = Box<dyn FnOnce(&mut dyn FnMut(TreeId, &[u8], &RowChange<'_>))>;

/// The engine's view of a load.
pub(crate) struct BulkLoad {
    pub(crate) number: u64,
    pub(crate) tree: TreeId,
    /// Its seqno, once its commit was asked for.
    pub(crate) seqno: Cell<Option<u64>>,
    pub(crate) build: RefCell<LoadSegments>,
    pub(crate) settled: Cell<Option<LoadListener>>,
    pub(crate) behind: Cell<Option<RowsBehind>>,
    /// The rows of its end come before those behind.
    pub(crate) at_end: Cell<Option<LoadEnd>>,
    pub(crate) of_end: Cell<Option<RowsBehind>>,
    /// The segments of its rows in another tree, and its number there.
    pub(crate) beside: RefCell<LoadSegments>,
    pub(crate) beside_number: Cell<u64>,
    pub(crate) beside_tree: Cell<Option<TreeId>>,
    /// Set when the load is stored or has failed.
    pub(crate) done: Latch<Result<()>>,
}

/// The segments of a load.
#[derive(Debug, Default)]
pub(crate) struct LoadSegments {
    /// Keys of the first and the last row, tree included; empty before the first.
    pub(crate) first: Vec<u8>,
    pub(crate) last: Vec<u8>,
    pub(crate) writer: Option<SegmentWriter>,
    pub(crate) closed: Vec<ClosedSegment>,
    /// Bytes of the closed segments.
    pub(crate) closed_bytes: u64,
    pub(crate) rows: u64,
    /// All segments, to delete them if the load fails.
    pub(crate) ids: Vec<SegmentId>,
    /// Blocks and indexes that wait to be staged.
    pub(crate) waiting: VecDeque<Staging>,
    pub(crate) waiting_bytes: usize,
    /// A staging call is under way; the latch is set when it ends.
    pub(crate) staging: Option<Rc<Latch<()>>>,
    /// Why staging has stopped.
    pub(crate) failed: Option<Error>,
}

impl LoadSegments {
    /// Takes over what another one has to be staged, or to be deleted if the load fails.
    pub(crate) fn take_over(&mut self, other: &mut Self) {
        self.waiting.append(&mut other.waiting);
        self.waiting_bytes += std::mem::take(&mut other.waiting_bytes);
        self.ids.append(&mut other.ids);
    }
}

impl BulkLoad {
    /// Whether a row, named by its full key, lies between the load's first and last row.
    pub(crate) fn covers(&self, key: &[u8]) -> bool {
        let build = self.build.borrow();
        *build.first <= *key && *key <= *build.last && !build.first.is_empty()
    }

    /// Whether a range of the tree overlaps the load's range. Its rows in another tree may lie anywhere there.
    pub(crate) fn meets(&self, tree: TreeId, range: &KeyRange) -> bool {
        if self.beside_tree.get() == Some(tree) {
            return true;
        }
        let build = self.build.borrow();
        let (lower, upper) = range.bounds();
        tree == self.tree
            && !build.first.is_empty()
            && within((lower, Bound::Unbounded), &build.last)
            && within((Bound::Unbounded, upper), &build.first)
    }
}

/// Loads that are neither stored nor abandoned.
#[derive(Default)]
pub(crate) struct BulkLoads {
    loads: RefCell<Vec<Rc<BulkLoad>>>,
    /// The number of the newest load.
    last: Cell<u64>,
}

impl BulkLoads {
    /// Begins a load.
    pub(crate) fn begin(&self, tree: TreeId) -> Rc<BulkLoad> {
        let number = self.last.get() + 1;
        self.last.set(number);
        let load = Rc::new(BulkLoad {
            number,
            tree,
            seqno: Cell::default(),
            build: RefCell::default(),
            settled: Cell::default(),
            behind: Cell::default(),
            at_end: Cell::default(),
            of_end: Cell::default(),
            beside: RefCell::default(),
            beside_number: Cell::default(),
            beside_tree: Cell::default(),
            done: Latch::default(),
        });
        self.loads.borrow_mut().push(Rc::clone(&load));
        load
    }

    /// The number of the newest load; 0 if there was none.
    pub(crate) fn last(&self) -> u64 {
        self.last.get()
    }

    /// Whether a load's range overlaps a range of the tree.
    pub(crate) fn meet(&self, tree: TreeId, range: &KeyRange) -> bool {
        self.loads.borrow().iter().any(|load| load.meets(tree, range))
    }

    /// All loads that `choose` accepts.
    pub(crate) fn all(&self, choose: &dyn Fn(&BulkLoad) -> bool) -> Vec<Rc<BulkLoad>> {
        self.loads.borrow().iter().filter(|load| choose(load)).map(Rc::clone).collect()
    }

    /// The chosen loads whose commit was asked for.
    pub(crate) fn asked(&self, choose: &dyn Fn(&BulkLoad) -> bool) -> Vec<Rc<BulkLoad>> {
        // Every read calls this, and mostly there is no load.
        if self.loads.borrow().is_empty() {
            return Vec::new();
        }
        self.all(&|load| load.seqno.get().is_some() && choose(load))
    }

    /// Whether a load under way covers this row.
    pub(crate) fn cover(&self, key: &[u8]) -> bool {
        self.loads.borrow().iter().any(|load| load.covers(key))
    }

    /// Removes a load that is stored or abandoned.
    pub(crate) fn forget(&self, load: &Rc<BulkLoad>) {
        self.loads.borrow_mut().retain(|other| !Rc::ptr_eq(other, load));
    }
}

impl LoadSegments {
    pub(crate) fn take_ready(&mut self, cache: &BlockCache) {
        let Some(writer) = &mut self.writer else { return };
        self.waiting_bytes += writer.ready_bytes();
        self.waiting.extend(writer.take_ready(cache));
    }

    /// Closes the open segment.
    pub(crate) fn close(&mut self, cache: &BlockCache) -> Result<()> {
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
