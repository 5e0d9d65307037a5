//! The state of background work: flushes and compactions.

use super::quarantine::Quarantine;
use crate::collections::small_map::SmallMap;
use crate::engine::base::runtime::Runtime;
use crate::engine::store::Store;
use crate::engine::versions::partition::PartitionId;
use crate::engine::work::{DoneWork, WorkLine, WorkObserver};
use crate::storage::LogNumber;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The pause between two tries to load the code of compaction, ms.
const LOAD_PAUSE_MS: i64 = 30_000;

/// While a job of compaction is under way, no flush adds to a level 0 that has so many times the parts that make it due.
const MOST_LEVEL0: usize = 8;

/// The background work, and how far it is behind.
pub(crate) struct Housekeeping {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    /// Who hears of the work. None until somebody asks for it.
    observer: RefCell<Option<Rc<dyn WorkObserver>>>,
    pub(crate) flushes: Flushes,
    pub(crate) compactions: Compactions,
    /// Background work runs only on demand.
    pub(crate) is_paused: Cell<bool>,
    /// Background work has been started since the opening.
    pub(crate) has_started: Cell<bool>,
}

impl Housekeeping {
    pub(crate) fn new(store: &Rc<Store>) -> Self {
        Self {
            runtime: Rc::clone(&store.runtime),
            store: Rc::clone(store),
            observer: RefCell::default(),
            flushes: Flushes::default(),
            compactions: Compactions::default(),
            is_paused: Cell::default(),
            has_started: Cell::default(),
        }
    }

    /// Who hears of background work.
    pub(crate) fn observer(&self) -> Option<Rc<dyn WorkObserver>> {
        self.observer.borrow().clone()
    }

    /// Sets who hears of background work from now on.
    pub(crate) fn set_observer(&self, observer: Rc<dyn WorkObserver>) {
        self.observer.replace(Some(observer));
    }

    /// Tells the observer that the work that was done last is stored.
    pub(crate) fn tell_stored(&self, line: WorkLine) {
        if let Some(observer) = self.observer() {
            observer.stored(&self.store, line);
        }
    }

    /// Tells the observer of work that is stored already.
    pub(crate) fn tell_done(&self, line: WorkLine, done: DoneWork<'_>) {
        if let Some(observer) = self.observer() {
            observer.done(&self.store, done);
            observer.stored(&self.store, line);
        }
    }

    /// The most parts that a partition has in level 0. Partitions that cannot be compacted do not count.
    #[inline(never)]
    fn longest_level0(&self) -> usize {
        let (view, steady) = (self.store.view.borrow(), self.runtime.clock.steady_ms());
        let partitions = view.version.trees.values().flat_map(|partitions| partitions.all());
        let compacted = partitions.filter(|one| !self.compactions.quarantine.holds(one.id, steady));
        compacted.map(|one| one.level0_len()).max().unwrap_or(0)
    }

    /// Whether compaction is far behind: reads would meet too many runs.
    pub(crate) fn is_far_behind(&self) -> bool {
        self.longest_level0() >= self.runtime.options.shape.level0_parts * MOST_LEVEL0
    }

    /// Whether flushes and loads wait until the job of compaction under way is done. So writes that come faster than compaction
    /// merges them are held up in the end.
    #[inline(never)]
    pub(crate) fn waits_for_compaction(&self) -> bool {
        self.compactions.at_work.get() && self.is_far_behind()
    }

    /// Called after a slice of a flush or load, to let compaction run. The more parts of level 0 reads have to look into,
    /// the more slices of compaction run first. So writes wait for it, and reads do not meet ever more parts.
    pub(crate) async fn let_compaction_catch_up(&self) {
        if self.compactions.is_running.get() {
            for _ in 0..self.longest_level0() / self.runtime.options.shape.level0_parts.max(1) {
                self.runtime.env.yield_now().await;
            }
        }
    }

    /// Whether frozen memtables stay: the last flush has failed, or there is a pause. Writes that wait for a flush get one.
    pub(crate) fn holds_flushes(&self) -> bool {
        let flushes = &self.flushes;
        (self.store.last_flush.has_failed() || self.is_paused.get() && !flushes.is_wanted.get())
            && !self.store.waits_for_flush()
    }
}

/// Flushes.
#[derive(Default)]
pub(crate) struct Flushes {
    pub(crate) is_running: Cell<bool>,
    /// Somebody has asked for a flush of all that waits, even in a pause.
    pub(crate) is_wanted: Cell<bool>,
    /// A task waits for a pause in writing, to flush then.
    pub(crate) is_watching: Cell<bool>,
    /// The next log number when such a pause was last used for a flush.
    pub(crate) log_at_last_pause: Cell<LogNumber>,
}

/// Compactions.
#[derive(Default)]
pub(crate) struct Compactions {
    pub(crate) is_running: Cell<bool>,
    /// A job, or a change of partitions, is being done.
    pub(crate) at_work: Cell<bool>,
    /// When work was first found due and not started, ms of the steady clock.
    pub(crate) due_since: Cell<Option<i64>>,
    pub(crate) quarantine: Quarantine,
    /// When its code could not be loaded, ms of the steady clock.
    load_failed: Cell<Option<i64>>,
    /// A compaction has begun for which the code could not be loaded.
    pub(crate) waits_for_code: Cell<bool>,
    /// Without its code nobody knows whether a change of partitions is due: one may be.
    pub(crate) may_need_change: Cell<bool>,
    /// Partitions with too much data under one partition key, and its bytes.
    pub(crate) oversized_keys: RefCell<SmallMap<PartitionId, u64>>,
}

impl Compactions {
    /// Its code could not be loaded.
    pub(crate) fn load_failed(&self, now: i64) {
        self.load_failed.set(Some(now));
    }

    /// Work that no version change has started waits for the whole grace period from now on.
    pub(crate) fn start_grace(&self) {
        self.due_since.set(None);
        self.waits_for_code.set(false);
    }

    /// Whether its code may be asked for again.
    pub(crate) fn may_load(&self, now: i64) -> bool {
        self.load_failed.get().is_none_or(|failed| now.saturating_sub(failed) >= LOAD_PAUSE_MS)
    }
}
