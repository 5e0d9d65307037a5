//! How the last flush ended.

use crate::error::{Code, Error};
use std::cell::RefCell;

/// Why the last flush failed. It is tried again when writes wait for it, or on demand.
#[derive(Debug, Default)]
pub(crate) struct LastFlush(RefCell<Option<Error>>);

impl LastFlush {
    /// Why the last flush failed.
    pub(crate) fn error(&self) -> Option<Error> {
        self.0.borrow().clone()
    }

    /// Whether the last one failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Whether the last one failed because the disk is full.
    pub(crate) fn is_out_of_room(&self) -> bool {
        self.0.borrow().as_ref().is_some_and(|error| error.code() == Code::QuotaExceeded)
    }

    /// Records the last flush: its error, or success.
    pub(crate) fn record(&self, error: Option<Error>) {
        self.0.replace(error);
    }
}
