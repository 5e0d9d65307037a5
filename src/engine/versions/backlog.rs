//! Backlog: keeps the log that an opening has to replay short, whatever was written and however the last session ended.
//!
//! Data in memory is also in the log, and nothing can be read before the log is replayed. So a memtable is flushed when
//! it is large, and also when its log would take long to replay. This bounds an opening after a kill. A smaller log that
//! is still worth a segment is flushed after a second without writes, and when the store is closed.

use super::view::View;
use crate::model::limits::REPLAY_MS;
use crate::storage::LogNumber;

/// Memtables that may wait for a flush before writes are held up.
pub(crate) const MAX_FROZEN: usize = 2;

/// Replay costs in ns: of a record in a storage and in a file, of a write, of a stored byte, of a decompressed byte.
const RECORD_NS: u64 = 9_000;
const RECORD_IN_FILES_NS: u64 = 1_000;
const WRITE_NS: u64 = 250;
const STORED_BYTE_NS: u64 = 3;
const BYTE_NS: u64 = 1;

/// Flush at this replay time as soon as no writes wait. In IndexedDB: 1050 single puts, or 20,000 of many in flight.
pub(crate) const LONG_NS: u64 = 10_000_000;

/// Flush at this replay time even while writes wait. The flush delays them, so a shorter burst goes first.
const URGENT_NS: u64 = 16_000_000;

/// The most replay time that the log may reach during a flush. The group that reaches it is still accepted.
const MOST_NS: u64 = REPLAY_MS * 1_000_000;

/// Below this replay time the log is not worth a segment and stays.
const LITTLE_NS: u64 = 2_000_000;

/// The same in records: a close moves a log in files to IndexedDB, and a segment costs less than more of them.
const LITTLE_RECORDS: usize = 220;

impl View {
    /// Counts a stored log record that the memtable holds: whether it is in a file, its bytes, compressed and raw, and its
    /// writes.
    pub(crate) fn add_record(&mut self, number: LogNumber, in_files: bool, stored: u64, bytes: u64, writes: u64) {
        self.log.push_back((number, stored));
        let ns = if in_files { RECORD_IN_FILES_NS } else { RECORD_NS }
            + stored * STORED_BYTE_NS
            + bytes * BYTE_NS
            + writes * WRITE_NS;
        let sum = &self.memtable.replay_ns;
        sum.set(sum.get() + ns);
    }

    /// The estimated time in which an opening replays the log.
    fn backlog_ns(&self) -> u64 {
        self.memtables().map(|memtable| memtable.replay_ns.get()).sum()
    }

    /// Whether the log is worth a flush without a request for one.
    pub(crate) fn is_worth_a_flush(&self) -> bool {
        self.backlog_ns() >= LITTLE_NS || self.log.len() >= LITTLE_RECORDS
    }

    /// Whether a flush helps: the memtable has rows, or many records without rows are behind it.
    pub(crate) fn has_to_flush(&self) -> bool {
        !self.memtable.is_empty() || self.memtable.replay_ns.get() >= LITTLE_NS
    }

    /// Whether the log's length makes the memtable due for a flush. If another memtable already waits for that, this one
    /// grows until its memory is used up. So on a full disk writing goes on as long as memory allows.
    pub(crate) fn has_long_log(&self, writes_wait: bool) -> bool {
        let long = if writes_wait { URGENT_NS } else { LONG_NS };
        self.frozen.is_empty() && self.memtable.replay_ns.get() >= long
    }

    /// Whether writes wait for a flush: memory is used up, or writes arrive faster than flushes finish.
    pub(crate) fn held_up(&self, flush_failed: bool) -> bool {
        let flushing = !self.frozen.is_empty() && !flush_failed;
        self.frozen.len() >= MAX_FROZEN || (flushing && self.backlog_ns() >= MOST_NS)
    }
}
