//! Counters of an engine's work.

use std::cell::Cell;

/// Counters since the opening.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) commits: Counter,
    pub(crate) writes: Counter,
    pub(crate) flushes: Counter,
    pub(crate) flushed_bytes: Counter,
    pub(crate) compactions: Counter,
    pub(crate) compacted_bytes_read: Counter,
    pub(crate) compacted_bytes_written: Counter,
}

/// A count or an amount.
#[derive(Debug, Default)]
pub(crate) struct Counter(Cell<u64>);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.set(self.0.get() + amount);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.get()
    }
}
