//! Counters of an engine's work.

use std::cell::Cell;

/// Counters since the opening.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: Counter,
    pub(super) writes: Counter,
    pub(super) flushes: Counter,
    pub(super) flushed_bytes: Counter,
    pub(super) compactions: Counter,
    pub(super) compacted_bytes_read: Counter,
    pub(super) compacted_bytes_written: Counter,
}

/// A count or an amount.
#[derive(Debug, Default)]
pub(super) struct Counter(Cell<u64>);

impl Counter {
    pub(super) fn add(&self, amount: u64) {
        self.0.set(self.0.get() + amount);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.get()
    }
}
