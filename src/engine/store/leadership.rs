//! The state of a leader.

use crate::collections::turns::Turns;
use crate::storage::{LogNumber, SegmentId};
use std::cell::{Cell, RefCell};

/// A segment's id carries the epoch of its leader, so two leaders, one of them stale, never stage records under one id.
const EPOCH_SHIFT: u32 = 24;

/// The lead of an engine.
pub(crate) struct Leadership {
    epoch: u64,
    /// Leadership records in the log, its own last. Never trimmed: they keep stale leaders out.
    records: RefCell<Vec<LogNumber>>,
    /// There was no room to take the lead: take it before anything is written.
    due: Cell<bool>,
    /// Turns for taking it.
    pub(crate) turns: Turns,
    next_segment: Cell<u64>,
}

impl Leadership {
    /// The lead of an epoch; `due` if it must still be taken.
    pub(crate) fn new(epoch: u64, records: Vec<LogNumber>, due: bool) -> Self {
        Self {
            epoch,
            records: RefCell::new(records),
            due: Cell::new(due),
            turns: Turns::default(),
            next_segment: Cell::new(epoch << EPOCH_SHIFT),
        }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether it must still be taken.
    pub(crate) fn is_due(&self) -> bool {
        self.due.get()
    }

    /// Records that this record took it.
    pub(crate) fn take(&self, record: LogNumber) {
        self.due.set(false);
        self.records.borrow_mut().push(record);
    }

    /// Whether a log record is a leadership record.
    pub(crate) fn has_record(&self, number: LogNumber) -> bool {
        self.records.borrow().contains(&number)
    }

    /// A segment id that was never used.
    pub(crate) fn next_segment(&self) -> SegmentId {
        let id = self.next_segment.get();
        self.next_segment.set(id + 1);
        SegmentId(id)
    }

    /// Whether an earlier leader staged this segment.
    pub(crate) fn is_older(&self, id: SegmentId) -> bool {
        id.0 >> EPOCH_SHIFT < self.epoch
    }
}
