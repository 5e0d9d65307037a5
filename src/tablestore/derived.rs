//! Derived data: writes to other trees that follow from a change of a base row.
//!
//! This is the only seam for derived data. Each [`PreparedWrite`](super::prepared::PreparedWrite) decides through it:
//! alone, in a batch, in an atomic batch or in a transaction. A base row and its derived data are in the same log record,
//! so after a crash both exist or neither. A load does not use it, so a table with derived data takes no loads.
//!
//! Today index rows are derived. A later kind becomes one more field of [`DerivedWrites`]: it gets the stored row and the
//! change, and returns its writes and their cost.

use super::base_change::BaseChange;
use super::index::IndexWrites;
use super::table::Table;
use crate::engine::Writes;
use crate::model::Consumed;

/// The derived writes of a change of a base row.
#[derive(Debug, Default)]
pub(super) struct DerivedWrites {
    indexes: IndexWrites,
}

impl DerivedWrites {
    /// Derives it.
    pub(super) fn of(base: &BaseChange<'_, '_>) -> Self {
        Self { indexes: IndexWrites::of(base) }
    }

    /// The cost on top of the base row's change (C1).
    pub(super) fn consumed(&self) -> Consumed {
        self.indexes.consumed()
    }

    /// Writes them, together with the change of the base row, which has this stamp.
    pub(super) fn write(&self, stamp: i64, writes: &mut Writes<'_>) {
        self.indexes.write(stamp, writes);
    }
}

impl Table {
    /// Whether changes of its rows have derived data. Such a change has to see its row.
    pub(super) fn derives(&self) -> bool {
        self.is_indexed()
    }
}
