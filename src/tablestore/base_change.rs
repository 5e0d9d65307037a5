//! A change of a row from which others are derived.

use super::table::Table;
use crate::engine::RowView;
use crate::model::{RowChange, ValueRef};

/// A change of a base row, and the row as it is stored.
#[derive(Clone, Copy)]
pub(super) struct BaseChange<'c, 'r> {
    /// The row's table.
    pub(super) table: &'c Table,
    /// The row's key.
    pub(super) key: &'c [ValueRef<'c>],
    /// The row before the change, if there is one.
    pub(super) before: Option<&'c RowView<'r>>,
    /// The change, with all that is decided of it.
    pub(super) change: &'c RowChange<'c>,
    /// Whether the store has just given the row its key, so that nothing is stored.
    pub(super) assigned: bool,
}
