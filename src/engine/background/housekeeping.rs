//! The state of background work: flushes and compactions.

use super::compaction::Quarantine;
use crate::collections::small_map::SmallMap;
use crate::collections::turns::Turns;
use crate::engine::base::latch::Latch;
use crate::engine::versions::partition::PartitionId;
use crate::error::{Code, Error};
use crate::storage::LogNumber;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The pause between two tries to load the code of compaction, ms.
const LOAD_PAUSE_MS: i64 = 30_000;

/// The background work.
#[derive(Default)]
pub(crate) struct Housekeeping {
    pub(crate) flushes: Flushes,
    pub(crate) compactions: Compactions,
    /// Turns for staging blocks and for deleting segments.
    pub(crate) staging: Turns,
    /// Background work runs only on demand.
    pub(crate) is_paused: Cell<bool>,
    /// Background work has been started since the opening.
    pub(crate) has_started: Cell<bool>,
    /// Set, and replaced, whenever a flush or a compaction ends.
    work_ended: RefCell<Rc<Latch<()>>>,
}

/// Flushes.
#[derive(Default)]
pub(crate) struct Flushes {
    pub(crate) is_running: Cell<bool>,
    /// Somebody has asked for a flush of all that waits, even in a pause.
    pub(crate) is_wanted: Cell<bool>,
    /// Why the last flush failed. It is tried again when writes wait for it, or on demand.
    error: RefCell<Option<Error>>,
    /// A task waits for a pause in writing, to flush then.
    pub(crate) is_watching: Cell<bool>,
    /// The next log number when such a pause was last used for a flush.
    pub(crate) log_at_last_pause: Cell<LogNumber>,
}

/// Compactions.
pub(crate) struct Compactions {
    pub(crate) is_running: Cell<bool>,
    /// A job, or a change of partitions, is being done.
    pub(crate) at_work: Cell<bool>,
    /// The version has changed since the last search for work.
    pub(crate) must_search: Cell<bool>,
    /// When work was first found due and not started, ms of the steady clock.
    pub(crate) due_since: Cell<Option<i64>>,
    pub(crate) quarantine: Quarantine,
    /// When its code could not be loaded, ms of the steady clock.
    load_failed: Cell<Option<i64>>,
    /// Partitions with too much data under one partition key, and its bytes.
    pub(crate) oversized_keys: RefCell<SmallMap<PartitionId, u64>>,
}

impl Default for Compactions {
    fn default() -> Self {
        Self {
            is_running: Cell::default(),
            at_work: Cell::default(),
            must_search: Cell::new(true),
            due_since: Cell::default(),
            quarantine: Quarantine::default(),
            load_failed: Cell::default(),
            oversized_keys: RefCell::default(),
        }
    }
}

impl Compactions {
    /// Its code could not be loaded.
    pub(crate) fn load_failed(&self, now: i64) {
        self.load_failed.set(Some(now));
    }

    /// Whether work has begun for which the code could not be loaded.
    pub(crate) fn waits_for_code(&self) -> bool {
        self.load_failed.get().is_some()
    }

    /// Work that no version change has started waits for the whole grace period from now on.
    pub(crate) fn start_grace(&self) {
        self.due_since.set(None);
        self.load_failed.set(None);
    }

    /// Whether its code may be asked for again.
    pub(crate) fn may_load(&self, now: i64) -> bool {
        self.load_failed.get().is_none_or(|failed| now.saturating_sub(failed) >= LOAD_PAUSE_MS)
    }
}

impl Housekeeping {
    /// The latch that is set when the next work ends.
    pub(crate) fn work_ended(&self) -> Rc<Latch<()>> {
        Rc::clone(&self.work_ended.borrow())
    }

    /// Wakes the tasks that wait for the end of some work.
    pub(crate) fn tell_work_ended(&self) {
        let latch = self.work_ended.take();
        latch.set(());
    }
}

impl Flushes {
    /// Why the last flush failed.
    pub(crate) fn error(&self) -> Option<Error> {
        self.error.borrow().clone()
    }

    /// Whether the last one failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.error.borrow().is_some()
    }

    /// Whether the last one failed because the disk is full.
    pub(crate) fn is_out_of_room(&self) -> bool {
        self.error.borrow().as_ref().is_some_and(|error| error.code() == Code::QuotaExceeded)
    }

    /// Records the last flush: its error, or success.
    pub(crate) fn record(&self, error: Option<Error>) {
        self.error.replace(error);
    }
}
