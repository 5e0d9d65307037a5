//! An existing table; an index is one too.

pub(super) mod build_progress;
pub(super) mod descriptions;
pub(super) mod foreign_names;
pub(super) mod ids;
pub(super) mod shards;
pub(super) mod stream;
pub(super) mod unknown_table;

use crate::engine::TreeId;
use crate::model::meter::Payer;
use crate::model::{Consumed, DefinedColumn, IndexKind, ReservedThroughput, TableOptions, TableSchema, ValueType};
use build_progress::BuildProgress;
use ids::Ids;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use stream::Stream;

/// A table: fixed after its creation, but for its state and its indexes.
#[derive(Debug)]
pub struct Table {
    name: String,
    tree: TreeId,
    payer: Payer,
    schema: Rc<TableSchema>,
    created: i64,
    local_transactions: bool,
    index_of: Option<Rc<IndexMeta>>,
    state: RefCell<TableState>,
    /// The counter of its auto-increment column.
    pub(crate) ids: Ids,
    indexes: RefCell<Rc<[Index]>>,
    indexed: Cell<bool>,
    stream: RefCell<Option<Rc<Stream>>>,
    streamed: Cell<bool>,
    /// Whether it was deleted, or rebuilt with another tree.
    ended: Cell<bool>,
    /// Units that the meter has not taken yet.
    counted: Cell<Consumed>,
}

/// The state of a table that changes while it exists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableState {
    pub(crate) options: TableOptions,
    pub(crate) throughput: ReservedThroughput,
    /// When the reserved throughput was last raised and lowered, in ms.
    pub(crate) last_increase: Option<i64>,
    pub(crate) last_decrease: Option<i64>,
    pub(crate) defined: Rc<[DefinedColumn]>,
    /// The start of an index build, in ms; `None` once it is complete.
    pub(crate) building_since: Option<i64>,
}

/// The parts of a table that never change, besides its key.
#[derive(Debug)]
pub(crate) struct Fixed {
    pub(crate) name: String,
    pub(crate) tree: TreeId,
    /// The payer to charge: a rebuilt index has another tree, and the payer of its first one.
    pub(crate) payer: Payer,
    pub(crate) created: i64,
    pub(crate) local_transactions: bool,
    pub(crate) index_of: Option<IndexMeta>,
}

/// An index, as its base table sees it.
#[derive(Clone, Debug)]
pub struct Index {
    /// Its own table.
    pub table: Rc<Table>,
    /// The part that it takes from the base table.
    pub meta: Rc<IndexMeta>,
}

/// The definition of an index, relative to its base table.
#[derive(Clone, Debug, Default)]
pub struct IndexMeta {
    /// The base table's name.
    pub base: String,
    /// Its kind.
    pub kind: IndexKind,
    /// The given columns of its key; the rest of the base table's key follows them.
    pub key: Vec<String>,
    /// The attribute columns that it carries.
    pub columns: Vec<String>,
    /// For each column of its key, the place of that column in the base table's key; `None` for a defined column.
    pub sources: Vec<Option<usize>>,
    /// For an index that was made without base data: only rows written behind this seqno belong to it.
    pub(crate) since: Option<u64>,
    /// Rows that the build has processed.
    pub built_rows: Cell<u64>,
    /// The key of the last base row that the build has processed; empty before the first.
    pub(crate) built_to: RefCell<Vec<u8>>,
    /// The progress of the build.
    pub(crate) build: BuildProgress,
}

impl Fixed {
    /// Those of a new table that is no index and has no local transactions. Its payer is its first tree's number, and stays
    /// that when the table gets another tree.
    pub(crate) fn new(name: String, tree: TreeId, created: i64) -> Self {
        Self { name, tree, payer: tree.0, created, local_transactions: false, index_of: None }
    }
}

impl Table {
    pub(crate) fn new(fixed: Fixed, schema: TableSchema, state: TableState) -> Self {
        let Fixed { name, tree, payer, created, local_transactions, index_of } = fixed;
        Self {
            name,
            tree,
            payer,
            schema: Rc::new(schema),
            created,
            local_transactions,
            index_of: index_of.map(Rc::new),
            state: RefCell::new(state),
            ids: Ids::default(),
            indexes: RefCell::default(),
            indexed: Cell::default(),
            stream: RefCell::default(),
            streamed: Cell::default(),
            ended: Cell::default(),
            counted: Cell::default(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tree of its rows.
    pub fn tree(&self) -> TreeId {
        self.tree
    }

    /// The payer for its units.
    pub(crate) fn payer(&self) -> Payer {
        self.payer
    }

    /// Its primary key.
    pub fn schema(&self) -> &Rc<TableSchema> {
        &self.schema
    }

    /// When it was created, in ms since 1970 UTC.
    pub fn created(&self) -> i64 {
        self.created
    }

    /// Whether it allows local transactions (R7): never if the store assigns keys, which no transaction can know.
    pub fn local_transactions(&self) -> bool {
        self.local_transactions && self.schema.auto_increment().is_none()
    }

    /// The index definition; `None` for a base table.
    pub fn index_of(&self) -> Option<&Rc<IndexMeta>> {
        self.index_of.as_ref()
    }

    /// Its options.
    pub fn options(&self) -> TableOptions {
        self.state.borrow().options
    }

    /// Its defined columns.
    pub fn defined(&self) -> Rc<[DefinedColumn]> {
        Rc::clone(&self.state.borrow().defined)
    }

    /// The same, if there are any.
    pub(crate) fn some_defined(&self) -> Option<Rc<[DefinedColumn]>> {
        let state = self.state.borrow();
        (!state.defined.is_empty()).then(|| Rc::clone(&state.defined))
    }

    /// The type of a defined column.
    pub fn defined_type(&self, column: &str) -> Option<ValueType> {
        let state = self.state.borrow();
        state.defined.iter().find(|defined| defined.name == column).map(|defined| defined.column_type)
    }

    /// Whether it is an index that is still being built. It cannot be read before it is complete.
    pub fn is_building(&self) -> bool {
        self.state.borrow().building_since.is_some()
    }

    /// Its indexes, unfinished ones included: each takes part in every write.
    pub fn indexes(&self) -> Rc<[Index]> {
        Rc::clone(&self.indexes.borrow())
    }

    /// Whether it has any.
    pub(crate) fn is_indexed(&self) -> bool {
        self.indexed.get()
    }

    pub(crate) fn set_indexes(&self, indexes: Vec<Index>) {
        self.indexed.set(!indexes.is_empty());
        *self.indexes.borrow_mut() = indexes.into();
    }

    /// Its stream, if it has one.
    pub(crate) fn stream(&self) -> Option<Rc<Stream>> {
        self.streamed.get().then(|| self.stream.borrow().clone()).flatten()
    }

    /// Whether it has one.
    pub(crate) fn is_streamed(&self) -> bool {
        self.streamed.get()
    }

    pub(crate) fn set_stream(&self, stream: Option<Rc<Stream>>) {
        self.streamed.set(stream.is_some());
        *self.stream.borrow_mut() = stream;
    }

    /// Whether it is gone: another table may have its name. Writes under way may still come.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended.get()
    }

    pub(crate) fn end(&self) {
        self.ended.set(true);
    }

    /// Counts the units of an operation.
    pub(crate) fn count(&self, consumed: Consumed) {
        self.counted.set(self.counted.get() + consumed);
    }

    /// Takes the counted units.
    pub(crate) fn take_counted(&self) -> Consumed {
        self.counted.take()
    }

    pub(crate) fn throughput(&self) -> ReservedThroughput {
        self.state.borrow().throughput
    }

    pub(crate) fn state(&self) -> TableState {
        self.state.borrow().clone()
    }

    pub(crate) fn set_state(&self, state: TableState) {
        *self.state.borrow_mut() = state;
    }
}

impl IndexMeta {
    /// The same definition, with nothing built.
    pub(crate) fn anew(&self) -> Self {
        Self {
            built_rows: Cell::default(),
            built_to: RefCell::default(),
            build: BuildProgress::default(),
            ..self.clone()
        }
    }
}

impl Index {
    /// The index that this table is.
    pub(crate) fn of(table: &Rc<Table>) -> Option<Self> {
        Some(Self { table: Rc::clone(table), meta: Rc::clone(table.index_of()?) })
    }
}
