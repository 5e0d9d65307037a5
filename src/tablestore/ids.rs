//! The values that the store gives to a counted key column (R6: auto-increment).
//!
//! A table counts up; so values strictly increase under every partition key, with gaps. It takes values in hands of
//! [`HAND`] and stores how far it may go together with the first row of a hand: after a crash it goes on behind that, and
//! gives no value twice, however few of the hand were used. An application may also choose a value, as in any other
//! column; the count goes on above it, so that no row is replaced by mistake.

use crate::error::{Error, Result};
use std::cell::Cell;

/// Values that are reserved at once.
const HAND: i64 = 100;

/// The count does not follow chosen values beyond what JavaScript's numbers hold exactly: one huge value must not use up
/// all that lies between.
const FOLLOWED: i64 = (1 << 53) - 1;

/// The count of one table.
#[derive(Debug)]
pub(super) struct Ids {
    next: Cell<i64>,
    /// The last value that is stored as given away.
    reserved: Cell<i64>,
    /// How many commits had failed when that was so.
    failures: Cell<u64>,
}

impl Ids {
    /// A count that goes on behind `reserved`.
    pub(super) fn behind(reserved: i64) -> Self {
        Self {
            next: Cell::new(reserved.max(0).saturating_add(1)),
            reserved: Cell::new(reserved),
            failures: Cell::new(0),
        }
    }

    /// Gives a value.
    ///
    /// # Errors
    /// `OTSParameterInvalid` when there is none left.
    pub(super) fn assign(&self) -> Result<i64> {
        let value = self.next.get();
        if value == i64::MAX {
            return Err(Error::parameter("The auto increment primary key has no values left."));
        }
        self.next.set(value + 1);
        Ok(value)
    }

    /// Goes on above a value that the application chose.
    pub(super) fn observe(&self, value: i64) {
        if value <= FOLLOWED {
            self.next.set(self.next.get().max(value + 1));
        }
    }

    /// Whether it is stored already, or on its way, that all values so far are given away. `failures` is how many commits
    /// have failed: what one of them carried is lost.
    pub(super) fn is_reserved(&self, failures: u64) -> bool {
        self.next.get().saturating_sub(1) <= self.reserved.get() && failures == self.failures.get()
    }

    /// What has to be stored together with a row, now: up to where values are given away. Nothing if that is so already.
    pub(super) fn reserve(&self, failures: u64) -> Option<i64> {
        if self.is_reserved(failures) {
            return None;
        }
        let up_to = self.next.get().saturating_sub(1).saturating_add(HAND - 1);
        self.reserved.set(up_to);
        self.failures.set(failures);
        Some(up_to)
    }
}

impl Default for Ids {
    fn default() -> Self {
        Self::behind(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R6: values increase, whatever the application chooses and however often the store is opened.
    #[test]
    fn r6_values_increase_and_are_reserved_by_the_hand() {
        let ids = Ids::default();
        assert_eq!((ids.assign().expect("one"), ids.reserve(0)), (1, Some(100)));
        assert_eq!((ids.assign().expect("two"), ids.reserve(0)), (2, None));
        ids.observe(500);
        assert_eq!((ids.assign().expect("above"), ids.reserve(0)), (501, Some(600)));
        ids.observe(7);
        assert_eq!((ids.assign().expect("next"), ids.reserve(0)), (502, None));
        assert_eq!(ids.reserve(1), Some(601), "a commit failed: it may have carried the reservation");
        assert_eq!(Ids::behind(601).assign().expect("after a crash"), 602);
    }

    #[test]
    fn r6_a_huge_value_is_not_followed_and_the_end_is_no_panic() {
        let ids = Ids::default();
        ids.observe(i64::MAX);
        ids.observe(FOLLOWED + 1);
        ids.observe(i64::MIN);
        assert_eq!(ids.assign().expect("one"), 1);
        let ids = Ids::behind(i64::MAX - 1);
        assert!(ids.assign().is_err());
        assert_eq!(Ids::behind(i64::MIN).assign().expect("one"), 1);
    }
}
