//! A change of a row with derived data.

use super::table::Table;
use crate::engine::RowView;
use crate::model::{RowChange, ValueRef};

/// A change of a base row, and the stored row.
#[derive(Clone, Copy)]
pub(super) struct BaseChange<'c, 'r> {
    /// The row's table.
    pub(super) table: &'c Table,
    /// The row's key.
    pub(super) key: &'c [ValueRef<'c>],
    /// The row before the change, if there is one.
    pub(super) before: Option<&'c RowView<'r>>,
    /// The change, with all its decided parts.
    pub(super) change: &'c RowChange<'c>,
    /// Whether the store has just assigned the row's key, so no such row is stored.
    pub(super) assigned: bool,
}
