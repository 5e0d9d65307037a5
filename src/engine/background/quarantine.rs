//! Partitions that compaction skips for a while, because work on them has failed.
//!
//! A damaged record makes every job that reads it fail, and other partitions must not wait for it. So the partition is
//! tried again after a pause that doubles each time.
//!
//! A partition whose merge finds no room waits while the others are compacted, which may free some.

use crate::collections::small_map::SmallMap;
use crate::engine::base::pauses::Pauses;
use crate::engine::versions::partition::PartitionId;
use std::cell::{Cell, RefCell};

/// So long after a merge found no room no partitions are merged into one: its merge would need more, ms.
const NO_MERGE_MS: i64 = 600_000;

/// The skipped partitions.
#[derive(Debug, Default)]
pub(crate) struct Quarantine {
    pauses: RefCell<SmallMap<PartitionId, Pause>>,
    /// Jobs that have failed.
    failures: Cell<u64>,
    /// Partitions that wait for room.
    full: RefCell<Vec<PartitionId>>,
    /// Whether there may be more room, or less to write, since one of them failed.
    has_news: Cell<bool>,
    /// When the last one failed, ms of the steady clock.
    full_since: Cell<Option<i64>>,
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    since: i64,
    lasts: u32,
}

impl Quarantine {
    /// Whether a partition is skipped at the instant `now`, ms of the steady clock.
    pub(crate) fn holds(&self, id: PartitionId, now: i64) -> bool {
        let pauses = self.pauses.borrow();
        self.full.borrow().contains(&id)
            || pauses
                .get(&id)
                .is_some_and(|pause| (0..i64::from(pause.lasts)).contains(&now.saturating_sub(pause.since)))
    }

    /// Records a failed job on a partition. Returns for how long it is skipped, ms.
    pub(crate) fn fail(&self, id: PartitionId, now: i64) -> u32 {
        self.failures.set(self.failures.get() + 1);
        let mut pauses = self.pauses.borrow_mut();
        let lasts = Pauses::DAMAGE.next_ms(pauses.get(&id).map(|pause| pause.lasts));
        pauses.insert(id, Pause { since: now, lasts });
        lasts
    }

    /// Skips a partition until there may be room for it.
    pub(crate) fn wait_for_room(&self, id: PartitionId, now: i64) {
        self.full.borrow_mut().push(id);
        self.full_since.set(Some(now));
    }

    /// Room was freed, or data has come.
    pub(crate) fn tell_news(&self) {
        self.has_news.set(true);
    }

    /// Whether partitions that wait for room are to be tried again; from now on none waits.
    pub(crate) fn may_have_room(&self) -> bool {
        let mut full = self.full.borrow_mut();
        let has_room = !full.is_empty() && self.has_news.replace(false);
        if has_room {
            full.clear();
        }
        has_room
    }

    /// The work is over: the next one tries all partitions.
    pub(crate) fn forget_room(&self) {
        self.full.borrow_mut().clear();
    }

    /// Whether a merge has lately found no room.
    pub(crate) fn is_full(&self, now: i64) -> bool {
        self.full_since.get().is_some_and(|since| (0..NO_MERGE_MS).contains(&now.saturating_sub(since)))
    }

    /// Records a successful job on a partition.
    pub(crate) fn forget(&self, id: PartitionId) {
        self.pauses.borrow_mut().remove(&id);
    }

    /// Forgets partitions that are gone.
    pub(crate) fn retain(&self, lives: &dyn Fn(PartitionId) -> bool) {
        self.pauses.borrow_mut().retain(|id, _| lives(*id));
    }

    /// The numbers of failed jobs and of partitions that wait for another try.
    pub(crate) fn counts(&self) -> [u64; 2] {
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
