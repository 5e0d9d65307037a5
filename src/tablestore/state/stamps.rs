//! The stamps of writes under way (V1, V10).

use crate::tablestore::rows::time::{Draw, RowHash, Stamper};
use std::cell::RefCell;

/// Gives each write its stamp.
pub(crate) struct Stamps(RefCell<Stamper>);

impl Stamps {
    /// Stamps for a store whose newest one is `newest`.
    pub(crate) fn new(newest: i64) -> Self {
        Self(RefCell::new(Stamper::new(newest)))
    }

    /// Draws the stamp of a write of a row, at the time `now`. If the row has to be read for it, the guard marks that until
    /// it is dropped.
    pub(crate) fn draw(&self, row: RowHash, now: i64) -> (Draw, Option<StampHold<'_>>) {
        let draw = self.0.borrow_mut().draw(row, now);
        (draw, (draw == Draw::Read).then(|| StampHold { stamps: self, row }))
    }

    /// The stamp of a write that sees its row, whose newest stored stamp is `stored`. Writes that waited for the stored state
    /// may decide in another order than they drew stamps. A write with an older stamp would disappear below the row that it
    /// was decided from.
    pub(crate) fn settle(&self, draw: Draw, row: impl FnOnce() -> RowHash, now: i64, stored: Option<i64>) -> i64 {
        match draw {
            Draw::Stamp(stamp) if stored.is_none_or(|stored| stored < stamp) => stamp,
            _ => self.0.borrow_mut().settle(row(), now, stored),
        }
    }

    /// See [`Stamper::is_far_ahead`].
    pub(crate) fn is_far_ahead(&self, now: i64) -> bool {
        self.0.borrow().is_far_ahead(now)
    }

    /// See [`Stamper::load`].
    pub(crate) fn load(&self, now: i64, before: Option<i64>) -> i64 {
        self.0.borrow_mut().load(now, before)
    }
}

/// A write that waits to read its row's newest stamp. Ends in every case when the write ends.
pub(crate) struct StampHold<'s> {
    stamps: &'s Stamps,
    row: RowHash,
}

impl Drop for StampHold<'_> {
    fn drop(&mut self) {
        self.stamps.0.borrow_mut().release(self.row);
    }
}
