//! An entity as its row has it.
//!
//! Most entities that a filter looks at fail it. Most rows are stored as one fragment with one version a column. So such a row is not
//! put together before its entity is wanted: a walk passes its cells over, and the filter reads the value that it names.

use super::edm::EdmValue;
use super::entity::Entity;
use super::key::{self, KEY};
use crate::engine::RowView;
use crate::format::fragment::Fragment;
use crate::model::{CellRef, ValueRef};
use std::borrow::Cow;
use std::cell::OnceCell;

/// The column of the timestamp. No property has its name (N5).
pub(super) const TIMESTAMP: &str = "Timestamp";

/// An entity, while its row is visited.
pub(super) struct StoredEntity<'k, 'r> {
    /// The encoded key, if it was not given as texts.
    key: &'k [u8],
    keys: OnceCell<[Cow<'k, str>; 2]>,
    row: &'k RowView<'r>,
    /// The row's only fragment, if it is simple, and the bytes of its cells.
    simple: Option<(Fragment<'r>, usize)>,
}

impl<'k, 'r> StoredEntity<'k, 'r> {
    /// The entity of a row with these keys.
    pub(super) fn of(partition_key: &'k str, row_key: &'k str, row: &'k RowView<'r>) -> Self {
        Self { keys: OnceCell::from([partition_key.into(), row_key.into()]), ..Self::scanned(&[], row) }
    }

    /// The entity of a row with this encoded key. It is decoded once somebody asks for it.
    pub(super) fn scanned(key: &'k [u8], row: &'k RowView<'r>) -> Self {
        let simple = row.alone().and_then(|simple| simple.weigh().map(|bytes| (simple, bytes)));
        Self { key, keys: OnceCell::new(), row, simple }
    }

    /// The partition key and the row key; empty if they are damaged.
    fn keys(&self) -> &[Cow<'k, str>; 2] {
        self.keys.get_or_init(|| key::decode(self.key).unwrap_or_default())
    }

    /// The newest cell of each column. Older ones may lie behind it until a compaction.
    fn cells(&self) -> impl Iterator<Item = &'k CellRef<'r>> {
        self.row.cells().chunk_by(|a, b| a.column == b.column).filter_map(<[_]>::first)
    }

    /// The bytes of the row with a key of this length, as capacity units count them.
    pub(super) fn metered(&self, key: usize) -> usize {
        let bytes = match self.simple {
            Some((_, bytes)) => bytes,
            None => self.cells().map(|cell| cell.column.len() + cell.value.metered_bytes()).sum(),
        };
        KEY[0].len() + KEY[1].len() + key + bytes
    }

    /// The newest value of a column.
    fn cell(&self, column: &str) -> Option<ValueRef<'r>> {
        let Some((simple, _)) = &self.simple else {
            return self.row.cells().iter().find(|cell| cell.column == column).map(|cell| cell.value);
        };
        let value = simple.find(column)?;
        if value.is_err() {
            // The row finds the damage too, and fails the read.
            let _ = self.row.cells();
        }
        value.ok()
    }
}

impl Entity for StoredEntity<'_, '_> {
    fn partition_key(&self) -> &str {
        &self.keys()[0]
    }

    fn row_key(&self) -> &str {
        &self.keys()[1]
    }

    fn timestamp(&self) -> i64 {
        match self.cell(TIMESTAMP) {
            Some(ValueRef::Integer(ticks)) => ticks,
            _ => 0,
        }
    }

    fn property(&self, name: &str) -> Option<EdmValue<'_>> {
        if name == TIMESTAMP { None } else { EdmValue::stored(self.cell(name)?) }
    }

    fn properties<'s>(&'s self, visit: &mut dyn FnMut(&'s str, EdmValue<'s>)) {
        for cell in self.cells() {
            if cell.column != TIMESTAMP
                && let Some(value) = EdmValue::stored(cell.value)
            {
                visit(cell.column, value);
            }
        }
    }
}
