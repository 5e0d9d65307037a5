//! An entity as its row has it.

use super::edm::EdmValue;
use super::entity::Entity;
use super::store::KEY;
use crate::engine::RowView;
use crate::model::{CellRef, ValueRef};

/// The column of the timestamp. No property has its name (N5).
pub(super) const TIMESTAMP: &str = "Timestamp";

/// An entity, while its row is visited.
pub(super) struct StoredEntity<'k, 'r> {
    partition_key: &'k str,
    row_key: &'k str,
    cells: &'k [CellRef<'r>],
}

impl<'k, 'r> StoredEntity<'k, 'r> {
    /// The entity of a row with this key.
    pub(super) fn of(partition_key: &'k str, row_key: &'k str, row: &'k RowView<'r>) -> Self {
        Self { partition_key, row_key, cells: row.cells() }
    }

    /// The newest cell of a column. Older ones may lie behind it until a compaction.
    fn cell(&self, column: &str) -> Option<&CellRef<'r>> {
        let place = self.cells.partition_point(|cell| cell.column < column);
        self.cells.get(place).filter(|cell| cell.column == column)
    }
}

impl Entity for StoredEntity<'_, '_> {
    fn partition_key(&self) -> &str {
        self.partition_key
    }

    fn row_key(&self) -> &str {
        self.row_key
    }

    fn timestamp(&self) -> i64 {
        match self.cell(TIMESTAMP).map(|cell| cell.value) {
            Some(ValueRef::Integer(ticks)) => ticks,
            _ => 0,
        }
    }

    fn property(&self, name: &str) -> Option<EdmValue<'_>> {
        if name == TIMESTAMP { None } else { EdmValue::stored(self.cell(name)?.value) }
    }

    fn properties<'s>(&'s self, visit: &mut dyn FnMut(&'s str, EdmValue<'s>)) {
        for cells in self.cells.chunk_by(|a, b| a.column == b.column) {
            if let Some(cell) = cells.first()
                && cell.column != TIMESTAMP
                && let Some(value) = EdmValue::stored(cell.value)
            {
                visit(cell.column, value);
            }
        }
    }
}

/// The bytes of a row with a key of this length, as capacity units count them.
pub(super) fn metered(key: usize, row: &RowView<'_>) -> usize {
    let cells = row.cells().chunk_by(|a, b| a.column == b.column).filter_map(<[_]>::first);
    cells.fold(KEY[0].len() + KEY[1].len() + key, |sum, cell| sum + cell.column.len() + cell.value.metered_bytes())
}
