//! What compaction keeps of the rows of each tree.

use crate::collections::small_map::SmallMap;
use crate::model::TreeId;
use crate::model::version::Retention;
use crate::storage::LogNumber;

/// What is kept of all trees; of those that are not here, everything.
#[derive(Debug, Default)]
pub(super) struct Retentions(pub(super) SmallMap<TreeId, TreeRetention>);

/// What is kept of a tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeRetention {
    retention: Retention,
    /// Log records before this one may delete a version that hides another one only since `max_versions` was lowered. Not
    /// known while such a write may be pending.
    since: Option<LogNumber>,
    /// The newest write that was accepted before.
    lowered_at: u64,
}

impl Default for TreeRetention {
    fn default() -> Self {
        Self { retention: Retention::ALL, since: None, lowered_at: 0 }
    }
}

impl Retentions {
    /// What is kept as soon as everything newer is there.
    pub(super) fn get(&self, tree: TreeId) -> Option<&Retention> {
        self.0.get(&tree).map(|kept| &kept.retention)
    }

    /// What is kept from now on. `settled` says where the log begins whose writes came later, if none is pending that came
    /// before; `last_seqno` is the newest write.
    pub(super) fn set(&mut self, tree: TreeId, retention: Retention, settled: Option<LogNumber>, last_seqno: u64) {
        let kept = self.0.entry(tree);
        if kept.retention.max_versions > retention.max_versions {
            (kept.since, kept.lowered_at) = (settled, last_seqno);
        }
        kept.retention = retention;
    }

    pub(super) fn remove(&mut self, tree: TreeId) {
        self.0.remove(&tree);
    }

    /// What is kept of rows of which nothing lies below what is merged. How many versions hide an older one is known only
    /// once everything newer is there (`whole`, and all that the log before `log_start` has): a version that is deleted above
    /// must not take another one along, which was never hidden.
    pub(super) fn kept(&self, tree: TreeId, whole: bool, log_start: LogNumber) -> Retention {
        match self.0.get(&tree) {
            Some(kept) if whole && kept.since.is_some_and(|since| log_start >= since) => kept.retention,
            Some(kept) => Retention { max_versions: u32::MAX, ..kept.retention },
            None => Retention::ALL,
        }
    }

    /// What was pending when fewer versions came to be kept is in memory before this log record, or has failed, as far as
    /// writes up to then do not pend any more.
    pub(super) fn settle(&mut self, since: LogNumber, is_pending: impl Fn(u64) -> bool) {
        for kept in self.0.values_mut() {
            if kept.since.is_none() && !is_pending(kept.lowered_at) {
                kept.since = Some(since);
            }
        }
    }
}
