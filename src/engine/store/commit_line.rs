//! The queue of writes and version changes that wait for a commit, and whether the stored state is known.

use super::pending::Pending;
use crate::engine::base::latch::Latch;
use crate::error::{Error, Result};
use crate::storage::LogNumber;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Writes and edits that wait to be stored.
pub(crate) struct CommitLine {
    pub(crate) pending: RefCell<Pending>,
    /// The commit loop runs.
    pub(crate) is_running: Cell<bool>,
    /// Failed commits, plus failed flushes that blocked writes. If it changed, writes not acknowledged when you read it
    /// may be lost.
    failures: Cell<u64>,
    last_stamp: Cell<i64>,
    next_log: Cell<LogNumber>,
    /// Why the engine has ended.
    end: RefCell<Option<Error>>,
    /// A commit failed and may have taken effect.
    uncertain: Cell<bool>,
    /// Set while the engine checks whether it did.
    finding: RefCell<Option<Rc<Latch<Result<()>>>>>,
}

impl CommitLine {
    /// Begins with these numbers for the next write and the next log record.
    pub(crate) fn new(next_seqno: u64, next_log: LogNumber, last_stamp: i64) -> Self {
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

    /// The seqno of the newest write.
    pub(crate) fn last_seqno(&self) -> u64 {
        self.pending.borrow().last_seqno()
    }

    /// An upper bound of all stamps.
    pub(crate) fn last_stamp(&self) -> i64 {
        self.last_stamp.get()
    }

    /// Raises the bound to the stamp of a write.
    pub(crate) fn raise_stamp(&self, stamp: i64) {
        self.last_stamp.set(self.last_stamp.get().max(stamp));
    }

    /// Failed commits, plus failed flushes that blocked writes.
    pub(crate) fn failures(&self) -> u64 {
        self.failures.get()
    }

    /// Counts a failure.
    pub(crate) fn count_failure(&self) {
        self.failures.set(self.failures.get() + 1);
    }

    /// The number of the next log record.
    pub(crate) fn next_log(&self) -> LogNumber {
        self.next_log.get()
    }

    /// Continues the log at this number.
    pub(crate) fn skip_log_to(&self, next: LogNumber) {
        self.next_log.set(next);
    }

    /// Whether the storage has a log record of another leader.
    pub(crate) fn is_overtaken_by(&self, newest: Option<LogNumber>) -> bool {
        newest.is_some_and(|newest| newest >= self.next_log.get()) && !self.is_running.get()
    }

    pub(crate) fn check_alive(&self) -> Result<()> {
        match &*self.end.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.end.borrow().is_none()
    }

    /// Ends the engine for this reason, unless it has ended before. Returns the reason that holds.
    pub(crate) fn end(&self, error: Error) -> Error {
        self.end.borrow_mut().get_or_insert(error).clone()
    }

    /// Ends the engine for this reason, even after an earlier one: all state here is outdated.
    pub(crate) fn end_overtaken(&self, error: Error) {
        self.end.replace(Some(error));
    }

    /// Whether the stored state is known.
    pub(crate) fn is_certain(&self) -> bool {
        !self.uncertain.get()
    }

    /// Sets whether the stored state is known.
    pub(crate) fn set_certain(&self, is_certain: bool) {
        self.uncertain.set(!is_certain);
    }

    /// The latch that is set when the stored state is known, and whether a check is under way.
    pub(crate) fn finding(&self) -> (Rc<Latch<Result<()>>>, bool) {
        let mut finding = self.finding.borrow_mut();
        let others = finding.is_some();
        (Rc::clone(finding.get_or_insert_default()), others)
    }

    /// Ends the check of the stored state: it is known, or the check failed.
    pub(crate) fn found(&self, outcome: &Result<()>) {
        let finding = self.finding.take();
        finding.into_iter().for_each(|finding| finding.set(outcome.clone()));
    }
}
