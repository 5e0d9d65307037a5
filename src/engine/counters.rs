//! What an engine has done.

/// What an engine has done since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: u64,
    pub(super) writes: u64,
    pub(super) flushes: u64,
    pub(super) flushed_bytes: u64,
    pub(super) compactions: u64,
    pub(super) compacted_bytes_read: u64,
    pub(super) compacted_bytes_written: u64,
}
