//! How the building of an index goes: whether somebody is at it, and what has failed.

use crate::engine::pauses::Pauses;
use crate::error::{Code, Error};
use std::cell::{Cell, RefCell};

/// How the building of an index goes.
#[derive(Clone, Debug, Default)]
pub(super) struct BuildProgress {
    at_work: Cell<bool>,
    attempts: Cell<u64>,
    /// Why it failed, and how long it waits for the next try, ms. It is over once something is built.
    failed: RefCell<Option<(Error, u32)>>,
}

impl BuildProgress {
    /// Begins an attempt, unless there is one.
    pub(super) fn begin(&self) -> bool {
        if self.at_work.replace(true) {
            return false;
        }
        self.attempts.set(self.attempts.get() + 1);
        true
    }

    /// The attempt is over.
    pub(super) fn end(&self) {
        self.at_work.set(false);
    }

    /// How many attempts there were.
    pub(super) fn attempts(&self) -> u64 {
        self.attempts.get()
    }

    /// How long a build that fails like this waits for the next try, ms.
    pub(super) fn pause_after(&self, error: &Error) -> u32 {
        let pauses = if error.code() == Code::Corrupt { Pauses::DAMAGE } else { Pauses::STORAGE };
        pauses.next_ms(self.failed.borrow().as_ref().map(|(_, last)| *last))
    }

    /// It has failed, and waits so long.
    pub(super) fn fail(&self, error: Error, pause: u32) {
        self.failed.replace(Some((error, pause)));
    }

    /// It goes on; says whether it had failed.
    pub(super) fn mend(&self) -> bool {
        self.failed.take().is_some()
    }

    /// Why it has failed, if it waits for another try.
    pub(super) fn failure(&self) -> Option<Error> {
        self.failed.borrow().as_ref().map(|(error, _)| error.clone())
    }
}
