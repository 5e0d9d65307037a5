//! A change of a row in a table from which other data is derived: index rows.

use crate::engine::RowView;
use crate::model::{RowChange, ValueRef};
use crate::tablestore::table::Table;

/// A change of a row, and the row as it is stored. The lifetimes are those of the change and of the stored row.
#[derive(Clone, Copy)]
pub(crate) struct BaseChange<'c, 'r> {
    /// The row's table.
    pub(crate) table: &'c Table,
    /// The row's key.
    pub(crate) key: &'c [ValueRef<'c>],
    /// The row before the change, if there is one.
    pub(crate) before: Option<&'c RowView<'r>>,
    /// The change as it will be written: with its version, and with the sums of its increments.
    pub(crate) change: &'c RowChange<'c>,
    /// Whether the store has just chosen the key (auto-increment). Then there is no row before, and nobody looks for one.
    pub(crate) assigned: bool,
}
