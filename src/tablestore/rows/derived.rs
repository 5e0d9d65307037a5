//! Derived data: writes to other trees that follow from a change of a base row.
//!
//! This is the only seam for derived data. Each [`PreparedWrite`](super::prepared::PreparedWrite) decides through it:
//! alone, in a batch, in an atomic batch or in a transaction. A base row and its derived data are in the same log record,
//! so after a crash both exist or neither. A load does not use it, so a table with derived data takes no loads.
//!
//! Index rows are derived, and records of streams. A later kind becomes one more field of [`DerivedWrites`]: it gets the
//! stored row and the change, and returns its writes and their cost. A record needs the stored row only for old cells, so
//! these are derived, and the rest is added when the change is written (see [`stream`](crate::tablestore::stream)).

use super::base_change::BaseChange;
use super::index::IndexWrites;
use super::old_cells::old_cells;
use crate::engine::Writes;
use crate::model::Consumed;
use crate::model::capacity::UNIT_BYTES;
use crate::tablestore::table::Table;

/// The derived writes of a change of a base row.
#[derive(Debug, Default)]
pub(crate) struct DerivedWrites {
    indexes: IndexWrites,
    /// The old cells of a stream's record.
    old_cells: Vec<u8>,
}

impl DerivedWrites {
    /// Derives it.
    pub(crate) fn of(base: &BaseChange<'_, '_>) -> Self {
        let stream = base.table.stream();
        let old_cells = stream.map(|stream| old_cells(base, &stream.columns()));
        Self { indexes: IndexWrites::of(base), old_cells: old_cells.unwrap_or_default() }
    }

    /// The old cells of a stream's record.
    pub(crate) fn old_cells(&self) -> &[u8] {
        &self.old_cells
    }

    /// The cost on top of the base row's change (C1).
    pub(crate) fn consumed(&self) -> Consumed {
        self.indexes.consumed()
    }

    /// About the bytes that they are.
    pub(crate) fn bytes(&self) -> usize {
        self.old_cells.len() + self.consumed().write as usize * UNIT_BYTES
    }

    /// Writes them, together with the change of the base row, which has this stamp.
    pub(crate) fn write(&self, stamp: i64, writes: &mut Writes<'_>) {
        self.indexes.write(stamp, writes);
    }
}

impl Table {
    /// Whether changes of its rows have data that is derived from the stored row. Such a change has to see its row.
    pub(crate) fn derives(&self) -> bool {
        self.is_indexed() || self.stream().is_some_and(|stream| !stream.columns().is_empty())
    }
}
