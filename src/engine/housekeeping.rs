//! What is known of the work in the background: flushes and compactions.

use super::compaction::Quarantine;
use super::latch::Latch;
use super::partition::PartitionId;
use super::turns::Turns;
use crate::collections::small_map::SmallMap;
use crate::error::{Code, Error};
use crate::storage::LogNumber;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The work in the background.
#[derive(Default)]
pub(super) struct Housekeeping {
    pub(super) flushes: Flushes,
    pub(super) compactions: Compactions,
    /// Whose turn it is to write blocks.
    pub(super) staging: Turns,
    /// Something was started since the opening.
    pub(super) is_awake: Cell<bool>,
    /// Set, and replaced, whenever some of it ends.
    idle: RefCell<Rc<Latch<()>>>,
}

/// Flushes.
#[derive(Default)]
pub(super) struct Flushes {
    pub(super) is_running: Cell<bool>,
    /// Why the last one failed. It is tried again when writes wait for it, or on demand.
    error: RefCell<Option<Error>>,
    /// Somebody waits until nothing is written, to flush then.
    pub(super) is_watching: Cell<bool>,
    /// The next log number when that was tried last.
    pub(super) tried_at: Cell<LogNumber>,
}

/// Compactions.
pub(super) struct Compactions {
    pub(super) is_running: Cell<bool>,
    /// The version changed since nothing was found to do.
    pub(super) is_due: Cell<bool>,
    /// When it was first seen that something waits that nothing has started, ms of the steady clock.
    pub(super) due_since: Cell<Option<i64>>,
    pub(super) quarantine: Quarantine,
    /// Partitions that hold too much of one partition key, and how much that was.
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
    /// Is set when some of the work ends.
    pub(super) fn idle(&self) -> Rc<Latch<()>> {
        Rc::clone(&self.idle.borrow())
    }

    /// Tells those who wait for it that some of the work is over.
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

    /// One has failed, or all is well again.
    pub(super) fn note(&self, error: Option<Error>) {
        self.error.replace(error);
    }
}
