//! What a leader knows of its lead.

use super::turns::Turns;
use crate::storage::{LogNumber, SegmentId};
use std::cell::{Cell, RefCell};

/// A segment's id carries the epoch of the leader that wrote it, so that two leaders, one of them stale, never stage
/// records under one id.
const EPOCH_SHIFT: u32 = 24;

/// The lead of an engine.
pub(super) struct Leadership {
    epoch: u64,
    /// Leadership records in the log, its own last. Never trimmed: they keep stale leaders out.
    records: RefCell<Vec<LogNumber>>,
    /// There was no room to take the lead: nothing may be written before.
    due: Cell<bool>,
    /// Whose turn it is to take it.
    pub(super) turns: Turns,
    next_segment: Cell<u64>,
}

impl Leadership {
    /// The lead of an epoch, which is yet to be taken if it is `due`.
    pub(super) fn new(epoch: u64, records: Vec<LogNumber>, due: bool) -> Self {
        Self {
            epoch,
            records: RefCell::new(records),
            due: Cell::new(due),
            turns: Turns::default(),
            next_segment: Cell::new(epoch << EPOCH_SHIFT),
        }
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether it is yet to be taken.
    pub(super) fn is_due(&self) -> bool {
        self.due.get()
    }

    /// It was taken by this record.
    pub(super) fn take(&self, record: LogNumber) {
        self.due.set(false);
        self.records.borrow_mut().push(record);
    }

    /// Whether a log record is a leadership record.
    pub(super) fn has_record(&self, number: LogNumber) -> bool {
        self.records.borrow().contains(&number)
    }

    /// An id that no segment ever had.
    pub(super) fn next_segment(&self) -> SegmentId {
        let id = self.next_segment.get();
        self.next_segment.set(id + 1);
        SegmentId(id)
    }

    /// Whether an earlier leader staged this segment.
    pub(super) fn is_older(&self, id: SegmentId) -> bool {
        id.0 >> EPOCH_SHIFT < self.epoch
    }
}
