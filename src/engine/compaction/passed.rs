//! Partitions that compaction passes over for a while, because work on them has failed.
//!
//! A damaged record makes every job that reads it fail. Others must not wait for it: the partition is tried again after a
//! pause that doubles each time.

use crate::engine::PartitionId;
use crate::model::small_map::SmallMap;
use std::cell::{Cell, RefCell};

/// The first pause, ms.
const FIRST_MS: i64 = 60_000;

/// The longest pause, ms.
const LONGEST_MS: i64 = 24 * 60 * FIRST_MS;

/// The partitions that are passed over.
#[derive(Debug, Default)]
pub(in crate::engine) struct Passed {
    pauses: RefCell<SmallMap<PartitionId, Pause>>,
    /// Jobs that have failed.
    failures: Cell<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    since: i64,
    lasts: i64,
}

impl Passed {
    /// Whether a partition is passed over at the instant `now`, ms of the steady clock.
    pub(in crate::engine) fn holds(&self, id: PartitionId, now: i64) -> bool {
        let pauses = self.pauses.borrow();
        pauses.get(&id).is_some_and(|pause| (0..pause.lasts).contains(&now.saturating_sub(pause.since)))
    }

    /// A job on a partition has failed. Gives how long it is passed over, ms.
    pub(super) fn fail(&self, id: PartitionId, now: i64) -> i64 {
        self.failures.set(self.failures.get() + 1);
        let mut pauses = self.pauses.borrow_mut();
        let lasts = pauses.get(&id).map_or(FIRST_MS, |pause| LONGEST_MS.min(pause.lasts * 2));
        pauses.insert(id, Pause { since: now, lasts });
        lasts
    }

    /// A job on a partition has succeeded.
    pub(super) fn forget(&self, id: PartitionId) {
        self.pauses.borrow_mut().remove(&id);
    }

    /// Of partitions that are gone nobody asks any more.
    pub(super) fn retain(&self, lives: &dyn Fn(PartitionId) -> bool) {
        self.pauses.borrow_mut().retain(|id, _| lives(*id));
    }

    /// How many jobs have failed, and how many partitions wait for another try.
    pub(in crate::engine) fn counts(&self) -> [u64; 2] {
        [self.failures.get(), self.pauses.borrow().len() as u64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_a_day_and_begins_anew_after_a_success() {
        let (passed, id) = (Passed::default(), PartitionId(3));
        let pauses: Vec<i64> = (0..13).map(|_| passed.fail(id, 0) / FIRST_MS).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1440, 1440]);
        assert!(passed.holds(id, LONGEST_MS - 1) && !passed.holds(id, LONGEST_MS));
        assert!(!passed.holds(id, -1), "an injected clock has gone back");
        assert!(!passed.holds(PartitionId(4), 0));
        assert_eq!(passed.counts(), [13, 1]);
        passed.forget(id);
        assert_eq!((passed.fail(id, 7), passed.counts()), (FIRST_MS, [14, 1]));
        passed.retain(&|_| false);
        assert!(!passed.holds(id, 8));
    }
}
