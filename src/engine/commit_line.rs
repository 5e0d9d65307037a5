//! The line of what waits to be stored, writes and changes of the version, and whether it is known what of them is stored.

use super::latch::Latch;
use super::pending::Pending;
use crate::error::{Error, Result};
use crate::storage::LogNumber;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What waits to be stored.
pub(super) struct CommitLine {
    pub(super) pending: RefCell<Pending>,
    /// Somebody commits.
    pub(super) is_running: Cell<bool>,
    /// How many commits failed.
    failures: Cell<u64>,
    last_stamp: Cell<i64>,
    next_log: Cell<LogNumber>,
    /// Why nothing works any more.
    end: RefCell<Option<Error>>,
    /// A commit failed and may have taken effect.
    uncertain: Cell<bool>,
    /// Set while somebody looks whether it did.
    finding: RefCell<Option<Rc<Latch<Result<()>>>>>,
}

impl CommitLine {
    /// The next write and the next log record have these numbers.
    pub(super) fn new(next_seqno: u64, next_log: LogNumber, last_stamp: i64) -> Self {
        Self {
            pending: RefCell::new(Pending::new(next_seqno)),
            is_running: Cell::default(),
            failures: Cell::default(),
            last_stamp: Cell::new(last_stamp),
            next_log: Cell::new(next_log),
            end: RefCell::default(),
            uncertain: Cell::default(),
            finding: RefCell::default(),
        }
    }

    /// The place of the newest write among all writes.
    pub(super) fn last_seqno(&self) -> u64 {
        self.pending.borrow().last_seqno()
    }

    /// A stamp that no write's is above.
    pub(super) fn last_stamp(&self) -> i64 {
        self.last_stamp.get()
    }

    /// There is a write with this stamp.
    pub(super) fn raise_stamp(&self, stamp: i64) {
        self.last_stamp.set(self.last_stamp.get().max(stamp));
    }

    /// How many commits failed.
    pub(super) fn failures(&self) -> u64 {
        self.failures.get()
    }

    /// One more failed.
    pub(super) fn count_failure(&self) {
        self.failures.set(self.failures.get() + 1);
    }

    /// The number of the next log record.
    pub(super) fn next_log(&self) -> LogNumber {
        self.next_log.get()
    }

    /// The log goes on with this number, whatever lies before.
    pub(super) fn skip_log_to(&self, next: LogNumber) {
        self.next_log.set(next);
    }

    /// Whether there is a log record that was not stored from here, as far as the storage knows.
    pub(super) fn is_overtaken_by(&self, newest: Option<LogNumber>) -> bool {
        newest.is_some_and(|newest| newest >= self.next_log.get()) && !self.is_running.get()
    }

    pub(super) fn check_alive(&self) -> Result<()> {
        match &*self.end.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.end.borrow().is_none()
    }

    /// Nothing works any more, for this reason or for an earlier one. Gives it.
    pub(super) fn end(&self, error: Error) -> Error {
        self.end.borrow_mut().get_or_insert(error).clone()
    }

    /// Nothing works any more, for this reason, whatever an earlier one was: nothing that is held here is current.
    pub(super) fn end_overtaken(&self, error: Error) {
        self.end.replace(Some(error));
    }

    /// Whether it is known what is stored.
    pub(super) fn is_certain(&self) -> bool {
        !self.uncertain.get()
    }

    /// Whether that is known from now on.
    pub(super) fn set_certain(&self, is_certain: bool) {
        self.uncertain.set(!is_certain);
    }

    /// What is set when it is known what is stored, and whether somebody looks already.
    pub(super) fn finding(&self) -> (Rc<Latch<Result<()>>>, bool) {
        let mut finding = self.finding.borrow_mut();
        let others = finding.is_some();
        (Rc::clone(finding.get_or_insert_default()), others)
    }

    /// Whoever looked what is stored knows it, or has failed.
    pub(super) fn found(&self, outcome: &Result<()>) {
        let finding = self.finding.take();
        finding.into_iter().for_each(|finding| finding.set(outcome.clone()));
    }
}
