//! A table that exists.

use crate::engine::TreeId;
use crate::model::{ReservedThroughput, TableOptions, TableSchema};
use std::cell::Cell;
use std::rc::Rc;

/// A table: fixed once created but for its options and its reserved throughput.
#[derive(Debug)]
pub struct Table {
    name: String,
    tree: TreeId,
    schema: Rc<TableSchema>,
    created: i64,
    state: Cell<TableState>,
}

/// What UpdateTable changes of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableState {
    pub(super) options: TableOptions,
    pub(super) throughput: ReservedThroughput,
    /// When the reserved throughput was last raised and lowered, in ms.
    pub(super) last_increase: Option<i64>,
    pub(super) last_decrease: Option<i64>,
}

impl Table {
    pub(super) fn new(name: String, tree: TreeId, schema: TableSchema, created: i64, state: TableState) -> Self {
        Self { name, tree, schema: Rc::new(schema), created, state: Cell::new(state) }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its rows are.
    pub fn tree(&self) -> TreeId {
        self.tree
    }

    /// Its primary key.
    pub fn schema(&self) -> &Rc<TableSchema> {
        &self.schema
    }

    /// When it was created, in ms since 1970 UTC.
    pub fn created(&self) -> i64 {
        self.created
    }

    /// Its options.
    pub fn options(&self) -> TableOptions {
        self.state.get().options
    }

    pub(super) fn state(&self) -> TableState {
        self.state.get()
    }

    pub(super) fn set_state(&self, state: TableState) {
        self.state.set(state);
    }
}
