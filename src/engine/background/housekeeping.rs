//! The state of background work: flushes and compactions.

use super::compaction::Quarantine;
use crate::collections::small_map::SmallMap;
use crate::engine::versions::partition::PartitionId;
use crate::storage::LogNumber;
use std::cell::{Cell, RefCell};

/// The pause between two tries to load the code of compaction, ms.
const LOAD_PAUSE_MS: i64 = 30_000;

/// The background work.
#[derive(Default)]
pub(crate) struct Housekeeping {
    pub(crate) flushes: Flushes,
    pub(crate) compactions: Compactions,
    /// Background work runs only on demand.
    pub(crate) is_paused: Cell<bool>,
    /// Background work has been started since the opening.
    pub(crate) has_started: Cell<bool>,
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
pub(crate) struct Compactions {
    pub(crate) is_running: Cell<bool>,
    /// A job, or a change of partitions, is being done.
    pub(crate) at_work: Cell<bool>,
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
