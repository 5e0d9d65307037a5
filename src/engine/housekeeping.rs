//! The state of background work: flushes and compactions.

use super::compaction::Quarantine;
use super::latch::Latch;
use super::partition::PartitionId;
use super::turns::Turns;
use crate::collections::small_map::SmallMap;
use crate::error::{Code, Error};
use crate::storage::LogNumber;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The background work.
#[derive(Default)]
pub(super) struct Housekeeping {
    pub(super) flushes: Flushes,
    pub(super) compactions: Compactions,
    /// Turns for writing blocks.
    pub(super) staging: Turns,
    /// Background work has been started since the opening.
    pub(super) is_awake: Cell<bool>,
    /// Set, and replaced, whenever some work ends.
    idle: RefCell<Rc<Latch<()>>>,
}

/// Flushes.
#[derive(Default)]
pub(super) struct Flushes {
    pub(super) is_running: Cell<bool>,
    /// Why the last flush failed. It is tried again when writes wait for it, or on demand.
    error: RefCell<Option<Error>>,
    /// A task waits for a pause in writing, to flush then.
    pub(super) is_watching: Cell<bool>,
    /// The next log number at the last such flush.
    pub(super) tried_at: Cell<LogNumber>,
}

/// Compactions.
pub(super) struct Compactions {
    pub(super) is_running: Cell<bool>,
    /// The version has changed since the last search for work.
    pub(super) is_due: Cell<bool>,
    /// When work was first found due and not started, ms of the steady clock.
    pub(super) due_since: Cell<Option<i64>>,
    pub(super) quarantine: Quarantine,
    /// Partitions with too much data under one partition key, and the amount.
    pub(super) of_one_key: RefCell<SmallMap<PartitionId, u64>>,
}

impl Default for Compactions {
    fn default() -> Self {
        Self {
            is_running: Cell::default(),
            is_due: Cell::new(true),
            due_since: Cell::default(),
            quarantine: Quarantine::default(),
            of_one_key: RefCell::default(),
        }
    }
}

impl Housekeeping {
    /// The latch that is set when some work ends.
    pub(super) fn idle(&self) -> Rc<Latch<()>> {
        Rc::clone(&self.idle.borrow())
    }

    /// Wakes the tasks that wait for the end of some work.
    pub(super) fn wake_idle(&self) {
        let idle = self.idle.take();
        idle.set(());
    }
}

impl Flushes {
    /// Why the last flush failed.
    pub(super) fn error(&self) -> Option<Error> {
        self.error.borrow().clone()
    }

    /// Whether the last one failed.
    pub(super) fn has_failed(&self) -> bool {
        self.error.borrow().is_some()
    }

    /// Whether the last one failed because the disk is full.
    pub(super) fn is_out_of_room(&self) -> bool {
        self.error.borrow().as_ref().is_some_and(|error| error.code() == Code::QuotaExceeded)
    }

    /// Records the last flush: its error, or success.
    pub(super) fn note(&self, error: Option<Error>) {
        self.error.replace(error);
    }
}
