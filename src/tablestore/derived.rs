//! What is derived from rows: the writes to other trees that a change of a base row brings along.
//!
//! This is the one seam for that, in every way to write: each [`PreparedWrite`](super::prepared::PreparedWrite) decides
//! through it, whether it stands alone, in a batch, in an atomic batch or in a transaction. A base row and what is derived
//! from it lie in the same log record, so after a crash both are there or neither is. A load goes around it, and is not
//! taken for a table from which something is derived.
//!
//! Index rows are derived today. Whatever comes next is one more field of [`DerivedWrites`]: it sees the row as it is stored
//! and the change, and says what to write and what that costs.

use super::base_change::BaseChange;
use super::index::IndexWrites;
use super::table::Table;
use crate::engine::Writes;
use crate::model::Consumed;

/// What a change of a base row brings along.
#[derive(Debug, Default)]
pub(super) struct DerivedWrites {
    indexes: IndexWrites,
}

impl DerivedWrites {
    /// Derives it.
    pub(super) fn of(base: &BaseChange<'_, '_>) -> Self {
        Self { indexes: IndexWrites::of(base) }
    }

    /// What it costs on top of the base row's change (C1).
    pub(super) fn consumed(&self) -> Consumed {
        self.indexes.consumed()
    }

    /// Writes it, together with the change of the base row, which has this stamp.
    pub(super) fn write(&self, stamp: i64, writes: &mut Writes<'_>) {
        self.indexes.write(stamp, writes);
    }
}

impl Table {
    /// Whether a change of its rows brings something along. Such a change has to see its row.
    pub(super) fn derives(&self) -> bool {
        self.is_indexed()
    }
}
