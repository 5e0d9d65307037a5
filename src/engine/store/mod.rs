//! The state of an open store: what is stored, what is visible, what waits to be stored, and whether all that is known.

pub(super) mod apply;
pub(super) mod change_records;
pub(super) mod commit_line;
mod last_flush;
pub(super) mod leadership;
pub(super) mod load_state;
mod open_second_cache;
pub(super) mod pending;
pub(super) mod raw_record;
pub(super) mod readiness;

use super::base::latch::Latch;
use super::base::runtime::Runtime;
use super::base::wiring::News;
use super::memory::images::Images;
use super::memory::memtable::Memtable;
use super::memory::overlay::Overlay;
use super::memory::waiting_records::Recorder;
use super::rows::holds::Holds;
use super::rows::keys::own_key;
use super::segment::cache::BlockCache;
use super::versions::backlog::MAX_FROZEN;
use super::versions::partition::ShapeSeen;
use super::versions::snapshot::Snapshot;
use super::versions::traffic::Traffic;
use super::versions::view::View;
use super::waiters::arrivals::Arrivals;
use super::waiters::watches::Watches;
use crate::error::{Error, Result};
use crate::model::TreeId;
use crate::storage::LogNumber;
use commit_line::CommitLine;
use last_flush::LastFlush;
use leadership::Leadership;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The state of an open store.
pub(crate) struct Store {
    pub(crate) runtime: Rc<Runtime>,
    /// Writes and edits that wait to be stored.
    pub(crate) line: CommitLine,
    /// The visible data.
    pub(crate) view: RefCell<View>,
    pub(crate) leadership: Leadership,
    pub(crate) cache: BlockCache,
    pub(crate) images: Images,
    pub(crate) holds: Holds,
    pub(crate) arrivals: Arrivals,
    pub(crate) watches: Watches,
    pub(crate) traffic: Traffic,
    /// Makes the records of changes in streams. None until the layer above has set it.
    pub(crate) recorder: Cell<Option<Recorder>>,
    pub(crate) last_flush: LastFlush,
    /// The version, or what compaction keeps of it, has changed since the last search for work.
    pub(crate) must_search: Cell<bool>,
    /// Set, and replaced, whenever a flush or a compaction ends, and when the engine does.
    work_ended: RefCell<Rc<Latch<()>>>,
}

impl Store {
    pub(crate) fn new(
        runtime: &Rc<Runtime>,
        line: CommitLine,
        view: View,
        leadership: Leadership,
        cache: BlockCache,
    ) -> Self {
        Self {
            traffic: Traffic::new(runtime.clock.steady_ms()),
            runtime: Rc::clone(runtime),
            line,
            view: RefCell::new(view),
            leadership,
            cache,
            images: Images::default(),
            holds: Holds::default(),
            arrivals: Arrivals::default(),
            watches: Watches::default(),
            recorder: Cell::default(),
            last_flush: LastFlush::default(),
            must_search: Cell::new(true),
            work_ended: RefCell::default(),
        }
    }

    /// Why the engine has ended, if it has.
    pub(crate) fn check_alive(&self) -> Result<()> {
        self.line.check_alive()
    }

    /// Ends the engine: every later call fails with `error`, until the store is opened again.
    pub(crate) fn stop(&self, error: Error) {
        let error = self.line.end(error);
        let groups = self.line.pending.borrow_mut().fail_waiting();
        pending::fail(groups, &error);
        self.tell_work_ended();
        self.arrivals.tell(|_| true);
        self.watches.forget();
        self.runtime.tell(News::Ended);
    }

    /// Looks at the clock. Each second the engine hears of it.
    pub(crate) fn tick(&self) {
        if self.traffic.is_due(self.runtime.clock.steady_ms()) && self.is_ready() {
            self.runtime.tell(News::SecondOver);
        }
    }

    /// The latch that is set when the next work ends.
    pub(crate) fn work_ended(&self) -> Rc<Latch<()>> {
        Rc::clone(&self.work_ended.borrow())
    }

    /// Wakes the tasks that wait for the end of some work.
    pub(crate) fn tell_work_ended(&self) {
        let latch = self.work_ended.take();
        latch.set(());
    }

    pub(crate) fn snapshot(&self, overlay: Option<&Overlay>, tree: TreeId, seqno: Option<u64>) -> Snapshot {
        self.view.borrow().snapshot(overlay, tree, seqno, self.images.generation())
    }

    /// Whether writes are held up until a flush is done. Deletions may go on if the disk has no room for the flush.
    pub(crate) fn holds_writes_up(&self) -> bool {
        let (view, flushing) = (self.view.borrow(), &self.last_flush);
        // One more memtable at most, so memory stays bounded.
        let may_delete =
            || flushing.is_out_of_room() && self.line.pending.borrow().frees_next() && view.frozen.len() == MAX_FROZEN;
        view.held_up(flushing.has_failed()) && !may_delete()
    }

    /// Whether writes wait for a flush.
    pub(crate) fn waits_for_flush(&self) -> bool {
        self.holds_writes_up() && self.line.pending.borrow().has_groups()
    }

    /// Freezes the memtable if it is large, or the log behind it long.
    pub(crate) fn freeze_if_full(&self) {
        let writes_wait = self.line.pending.borrow().has_groups();
        let full = {
            let view = self.view.borrow();
            view.memtable.bytes() >= self.runtime.options.memtable_bytes || view.has_long_log(writes_wait)
        };
        if full {
            self.freeze();
        }
    }

    /// Starts a new memtable; the old one waits to be flushed.
    pub(crate) fn freeze(&self) {
        self.settle_retentions();
        let fresh = Memtable::new(self.line.next_log(), self.runtime.clock.now_ms());
        self.view.borrow_mut().freeze(fresh);
    }

    /// The first log record that cannot belong to current memory.
    pub(crate) fn behind_memory(&self) -> LogNumber {
        if self.view.borrow().is_flushed() { LogNumber::default() } else { self.line.next_log() }
    }

    /// Call this before memory goes into segments: writes that were pending at a lowering of max versions are in it, or
    /// have failed.
    pub(crate) fn settle_retentions(&self) {
        if self.line.is_certain() {
            let (since, pending) = (self.behind_memory(), self.line.pending.borrow());
            self.view.borrow_mut().retentions.settle(since, |lowered_at| pending.holds_up_to(lowered_at));
        }
    }

    /// See [`Engine::boundaries_since`](crate::engine::Engine::boundaries_since).
    pub(crate) fn boundaries_since(&self, tree: TreeId, seen: &ShapeSeen) -> Option<Vec<Box<[u8]>>> {
        let view = self.view.borrow();
        let partitions = view.version.trees.get(&tree);
        seen.is_other(partitions).then(|| {
            let behind = partitions.map_or(&[][..], |all| all.all()).iter().skip(1);
            let own = behind.map(|partition| own_key(&partition.from).into());
            std::iter::once(Box::default()).chain(own).collect()
        })
    }
}
