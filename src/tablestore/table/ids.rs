//! The values that the store assigns to an auto-increment column (R6).
//!
//! Each table has one counter, so values strictly increase under every partition key, with gaps. It reserves [`HAND`]
//! values at a time: the upper bound is stored with the first row that uses one. After a crash the counter goes on behind
//! that bound, so no value is given twice. An application may also choose a value, as in any other column. The counter
//! then goes on above it, so that no row is replaced by mistake.
//!
//! One huge value must not use up all values between. So the counter does not follow values beyond [`FOLLOWED`]. The
//! table remembers the greatest of them, and the counter jumps over it when it gets there.

use crate::error::{Error, Result};
use std::cell::Cell;

/// The number of values reserved at once.
const HAND: i64 = 100;

/// The greatest value that the counter follows: JavaScript's numbers are exact up to here.
const FOLLOWED: i64 = (1 << 53) - 1;

/// The stored state of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// The upper bound of values that may have been given.
    pub(crate) up_to: i64,
    /// The greatest value beyond [`FOLLOWED`] that was chosen, or [`FOLLOWED`].
    pub(crate) beyond: i64,
}

/// The counter of one table.
#[derive(Debug)]
pub(crate) struct Ids {
    next: Cell<i64>,
    beyond: Cell<i64>,
    /// The stored state.
    stored: Cell<Given>,
    /// The number of failed commits at that time.
    failures: Cell<u64>,
}

impl Ids {
    /// A counter that goes on behind the stored state. If `beyond` is `None`, an older version stored it, and rows may
    /// have any values beyond [`FOLLOWED`]. Then the counter ends there.
    pub(crate) fn behind(up_to: i64, beyond: Option<i64>) -> Self {
        let stored = Given { up_to, beyond: beyond.unwrap_or(i64::MAX) };
        Self {
            next: Cell::new(up_to.max(0).saturating_add(1)),
            beyond: Cell::new(stored.beyond),
            stored: Cell::new(stored),
            failures: Cell::new(0),
        }
    }

    /// Assigns a value.
    ///
    /// # Errors
    /// `OTSParameterInvalid` if there is none left.
    pub(crate) fn assign(&self) -> Result<i64> {
        let mut value = self.next.get();
        if value > FOLLOWED {
            value = value.max(self.beyond.get().saturating_add(1));
        }
        if value == i64::MAX {
            let hint = "Assigned or chosen values have reached the greatest value of the column.";
            return Err(Error::parameter("The auto increment primary key has no values left.").with_hint(hint));
        }
        self.next.set(value + 1);
        Ok(value)
    }

    /// Goes on above a value chosen by the application.
    pub(crate) fn observe(&self, value: i64) {
        if value <= FOLLOWED {
            self.next.set(self.next.get().max(value + 1));
        } else {
            self.beyond.set(self.beyond.get().max(value));
        }
    }

    /// Whether all values that were given or chosen so far are stored, or on their way. `failures` is the number of
    /// failed commits: their data is lost.
    pub(crate) fn is_reserved(&self, failures: u64) -> bool {
        let Given { up_to, beyond } = self.stored.get();
        self.next.get().saturating_sub(1) <= up_to && self.beyond.get() <= beyond && failures == self.failures.get()
    }

    /// The state to store together with a row now; `None` if it is stored already.
    pub(crate) fn reserve(&self, failures: u64) -> Option<Given> {
        if self.is_reserved(failures) {
            return None;
        }
        let up_to = self.next.get().saturating_sub(1).saturating_add(HAND - 1);
        let given = Given { up_to, beyond: self.beyond.get() };
        self.stored.set(given);
        self.failures.set(failures);
        Some(given)
    }
}

impl Default for Ids {
    fn default() -> Self {
        Self::behind(0, Some(FOLLOWED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R6: values increase, whatever values the application chooses and however often the store is opened.
    #[test]
    fn r6_values_increase_and_are_reserved_by_the_hand() {
        let ids = Ids::default();
        let reserve = |failures| ids.reserve(failures).map(|given| given.up_to);
        assert_eq!((ids.assign().expect("one"), reserve(0)), (1, Some(100)));
        assert_eq!((ids.assign().expect("two"), reserve(0)), (2, None));
        ids.observe(500);
        assert_eq!((ids.assign().expect("above"), reserve(0)), (501, Some(600)));
        ids.observe(7);
        assert_eq!((ids.assign().expect("next"), reserve(0)), (502, None));
        assert_eq!(reserve(1), Some(601), "a commit failed: it may have carried the reservation");
        assert_eq!(Ids::behind(601, None).assign().expect("after a crash"), 602);
    }

    #[test]
    fn r6_a_huge_value_is_not_followed_and_the_end_is_no_panic() {
        let ids = Ids::default();
        ids.observe(i64::MAX);
        ids.observe(FOLLOWED + 1);
        ids.observe(i64::MIN);
        assert_eq!(ids.assign().expect("one"), 1);
        let ids = Ids::behind(i64::MAX - 1, Some(FOLLOWED));
        assert!(ids.assign().is_err());
        assert_eq!(Ids::behind(i64::MIN, Some(FOLLOWED)).assign().expect("one"), 1);
    }

    /// R6: a value chosen beyond the limit is stored too, and the counter jumps over it.
    #[test]
    fn r6_the_count_jumps_over_what_was_chosen_beyond() {
        let ids = Ids::default();
        ids.observe(FOLLOWED + 5);
        let given = ids.reserve(0).expect("to be stored");
        assert_eq!((given.beyond, ids.reserve(0)), (FOLLOWED + 5, None));
        for ids in [ids, Ids::behind(given.up_to, Some(given.beyond))] {
            ids.observe(FOLLOWED);
            assert_eq!(ids.assign().expect("jumps"), FOLLOWED + 6);
            ids.observe(FOLLOWED + 9);
            assert_eq!([(); 2].map(|()| ids.assign().expect("jumps again")), [FOLLOWED + 10, FOLLOWED + 11]);
        }
        // An earlier version did not store values chosen there.
        let ids = Ids::behind(7, None);
        assert_eq!(ids.assign().expect("as ever"), 8);
        ids.observe(FOLLOWED);
        assert!(ids.assign().is_err());
    }
}
