//! The retention options that compaction applies to each tree.

use crate::collections::small_map::SmallMap;
use crate::model::TreeId;
use crate::model::version::{Retention, second};
use crate::storage::LogNumber;

/// The retention of each tree; trees that are not here keep everything.
#[derive(Debug, Default)]
pub(crate) struct Retentions(pub(crate) SmallMap<TreeId, TreeRetention>);

/// The retention of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeRetention {
    retention: Retention,
    /// Log records before this one may delete a version that hides another one only since `max_versions` was lowered.
    /// Unknown while such a write may be pending.
    since: Option<LogNumber>,
    /// The newest write that was accepted before that.
    lowered_at: u64,
    /// Expiry removes no version from this one on, whatever the clock shows.
    floor: Option<i64>,
}

impl Default for TreeRetention {
    fn default() -> Self {
        Self { retention: Retention::ALL, since: None, lowered_at: 0, floor: None }
    }
}

impl Retentions {
    /// The retention to apply once all newer data is included.
    pub(crate) fn get(&self, tree: TreeId) -> Option<&Retention> {
        self.0.get(&tree).map(|kept| &kept.retention)
    }

    /// Sets the retention from now on. `settled` is the log number behind all earlier writes, if none of them is pending;
    /// `last_seqno` is the newest write.
    pub(crate) fn set(&mut self, tree: TreeId, retention: Retention, settled: Option<LogNumber>, last_seqno: u64) {
        let kept = self.0.entry(tree);
        if kept.retention.max_versions > retention.max_versions {
            (kept.since, kept.lowered_at) = (settled, last_seqno);
        }
        kept.retention = retention;
    }

    /// From now on, expiry removes no version from `oldest` (ms) on.
    pub(crate) fn set_floor(&mut self, tree: TreeId, oldest: i64) {
        self.0.entry(tree).floor = Some(oldest);
    }

    pub(crate) fn remove(&mut self, tree: TreeId) {
        self.0.remove(&tree);
    }

    /// The retention for a merge with nothing below it, when the clock shows `now` (ms). Max versions counts only if all newer data is known: the merge is
    /// `whole`, and segments have the log before `log_start`. Otherwise a version that is deleted above could take along
    /// another one that was never hidden.
    pub(crate) fn kept(&self, tree: TreeId, whole: bool, log_start: LogNumber, now: i64) -> Retention {
        let Some(kept) = self.0.get(&tree) else { return Retention::ALL };
        let mut retention = kept.retention;
        if !whole || kept.since.is_none_or(|since| log_start < since) {
            retention.max_versions = u32::MAX;
        }
        if let Some(floor) = kept.floor {
            let least = second(now).saturating_sub(second(floor));
            retention.time_to_live = retention.time_to_live.map(|own| own.max(least));
        }
        retention
    }

    /// Called when the writes that were pending at a lowering may have settled. Those writes have failed, or are in
    /// memory before the log record `since`.
    pub(crate) fn settle(&mut self, since: LogNumber, is_pending: impl Fn(u64) -> bool) {
        for kept in self.0.values_mut() {
            if kept.since.is_none() && !is_pending(kept.lowered_at) {
                kept.since = Some(since);
            }
        }
    }
}
