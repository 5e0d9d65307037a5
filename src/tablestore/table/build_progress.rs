//! The progress of an index build: whether it runs, and its last failure.

use crate::engine::pauses::Pauses;
use crate::error::{Code, Error};
use std::cell::{Cell, RefCell};

/// The progress of an index build.
#[derive(Clone, Debug, Default)]
pub(crate) struct BuildProgress {
    at_work: Cell<bool>,
    attempts: Cell<u64>,
    /// The failure, and the pause before the next try, ms. Cleared once something is built.
    failed: RefCell<Option<(Error, u32)>>,
}

impl BuildProgress {
    /// Begins an attempt, unless there is one.
    pub(crate) fn begin(&self) -> bool {
        if self.at_work.replace(true) {
            return false;
        }
        self.attempts.set(self.attempts.get() + 1);
        true
    }

    /// Ends the attempt.
    pub(crate) fn end(&self) {
        self.at_work.set(false);
    }

    /// The number of attempts.
    pub(crate) fn attempts(&self) -> u64 {
        self.attempts.get()
    }

    /// The pause after this failure, ms.
    pub(crate) fn pause_after(&self, error: &Error) -> u32 {
        let pauses = if error.code() == Code::Corrupt { Pauses::DAMAGE } else { Pauses::STORAGE };
        pauses.next_ms(self.failed.borrow().as_ref().map(|(_, last)| *last))
    }

    /// Records a failure and its pause.
    pub(crate) fn fail(&self, error: Error, pause: u32) {
        self.failed.replace(Some((error, pause)));
    }

    /// Records progress. Returns whether there was a failure before.
    pub(crate) fn mend(&self) -> bool {
        self.failed.take().is_some()
    }

    /// The failure, if the build waits for a retry.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failed.borrow().as_ref().map(|(error, _)| error.clone())
    }
}
