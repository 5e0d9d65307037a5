//! Partitions that compaction skips for a while, because work on them has failed.
//!
//! A damaged record makes every job that reads it fail, and other partitions must not wait for it. So the partition is
//! tried again after a pause that doubles each time.

use crate::collections::small_map::SmallMap;
use crate::engine::partition::PartitionId;
use crate::engine::pauses::Pauses;
use std::cell::{Cell, RefCell};

/// The skipped partitions.
#[derive(Debug, Default)]
pub(in crate::engine) struct Quarantine {
    pauses: RefCell<SmallMap<PartitionId, Pause>>,
    /// Jobs that have failed.
    failures: Cell<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    since: i64,
    lasts: u32,
}

impl Quarantine {
    /// Whether a partition is skipped at the instant `now`, ms of the steady clock.
    pub(in crate::engine) fn holds(&self, id: PartitionId, now: i64) -> bool {
        let pauses = self.pauses.borrow();
        pauses.get(&id).is_some_and(|pause| (0..i64::from(pause.lasts)).contains(&now.saturating_sub(pause.since)))
    }

    /// Records a failed job on a partition. Returns for how long it is skipped, ms.
    pub(super) fn fail(&self, id: PartitionId, now: i64) -> u32 {
        self.failures.set(self.failures.get() + 1);
        let mut pauses = self.pauses.borrow_mut();
        let lasts = Pauses::DAMAGE.next_ms(pauses.get(&id).map(|pause| pause.lasts));
        pauses.insert(id, Pause { since: now, lasts });
        lasts
    }

    /// Records a successful job on a partition.
    pub(super) fn forget(&self, id: PartitionId) {
        self.pauses.borrow_mut().remove(&id);
    }

    /// Forgets partitions that are gone.
    pub(super) fn retain(&self, lives: &dyn Fn(PartitionId) -> bool) {
        self.pauses.borrow_mut().retain(|id, _| lives(*id));
    }

    /// The numbers of failed jobs and of partitions that wait for another try.
    pub(in crate::engine) fn counts(&self) -> [u64; 2] {
        [self.failures.get(), self.pauses.borrow().len() as u64]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_and_begins_anew_after_a_success() {
        let (passed, id) = (Quarantine::default(), PartitionId(3));
        assert_eq!([(); 3].map(|()| passed.fail(id, 0)), [60_000, 120_000, 240_000]);
        assert!(passed.holds(id, 239_999) && !passed.holds(id, 240_000));
        assert!(!passed.holds(id, -1), "an injected clock has gone back");
        assert!(!passed.holds(PartitionId(4), 0));
        assert_eq!(passed.counts(), [3, 1]);
        passed.forget(id);
        assert_eq!((passed.fail(id, 7), passed.counts()), (60_000, [4, 1]));
        passed.retain(&|_| false);
        assert!(!passed.holds(id, 8));
    }
}
