//! Tables of other data models: rows whose names, keys and values have the rules of the layer above.
//!
//! A foreign table is a table like any other to the engine, the meter, streams and partitions. Its name has a `/`, which
//! no name of this layer's tables may have. So no operation on rows of this layer reaches it, `listTable` does not list it,
//! and quotas do not count it (I3). What all tables have is there for it too: its description, and its stream.
//!
//! The layer above decides each write, once it has seen the stored row ([`DecideRows`]).

use super::rows::base_change::BaseChange;
use super::rows::old_cells::old_cells;
use super::rows::prepared::{ReturnedRow, Written};
use super::rows::time::{Draw, RowHash};
use super::state::State;
use super::state::transaction::check_bytes;
use super::stream::trim::trim_soon;
use super::table::foreign_names::is_foreign;
use super::table::{Fixed, Table, TableState};
use super::units::failure::{Charge, Outcome};
use crate::engine::{Decide, Depth, Direction, Engine, KeyRange, Origin, RowView, ScanOptions, TreeId, Writes};
use crate::error::{Code, Error, Result};
use crate::model::capacity::units;
use crate::model::{
    CellChange, CellOp, ChangeKind, Consumed, KeyColumn, KeyType, RowChange, TableSchema, Value, ValueRef, limits,
};
use std::ops::ControlFlow;
use std::rc::Rc;

pub use super::table::foreign_names::SEPARATOR;

/// Decides changes of rows from what is stored.
pub trait DecideRows {
    /// Sees the row with number `at`. A deleted row is shown too while it is remembered. Rows may be seen again, from the first
    /// one on.
    ///
    /// # Errors
    /// A refusal of all rows.
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()>;

    /// Passes the change of that row. Its cells are in the engine's order, and have this stamp.
    fn change(&self, at: usize, stamp: i64, visit: &mut dyn FnMut(&RowChange<'_>));

    /// The cost of that change (C1).
    fn consumed(&self, at: usize) -> Consumed;

    /// What the answer to that change tells, if it tells something.
    fn told(&self, at: usize) -> Option<i64>;
}

/// Why changes were refused: the row, and the error.
#[derive(Debug)]
pub struct Refused {
    /// The number of the row.
    pub at: usize,
    /// The error.
    pub error: Error,
}

/// What a visitor of a scan says of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// It was read, and so many bytes of it count (C1).
    Read(usize),
    /// The scan ends before it.
    Stop,
}

/// The tables of other data models in an instance.
#[derive(Clone, Copy)]
pub struct ForeignTables<'i> {
    pub(crate) state: &'i State,
}

/// Gates of [`Module::Azure`](crate::modules::Module::Azure).
impl ForeignTables<'_> {
    /// The table of this name, in any case of ASCII letters.
    #[must_use]
    pub fn find(self, name: &str) -> Option<Rc<Table>> {
        self.state.catalog.foreign(name)
    }

    /// Creates a foreign table, whose key has two Binary columns of these names. Its rows have one version of each cell.
    ///
    /// # Errors
    /// `OTSObjectAlreadyExist`, if there is one of that name in any case; errors of the storage.
    pub async fn create(self, name: &str, key: [&str; 2]) -> Result<()> {
        debug_assert!(is_foreign(name), "{name} is none");
        self.state.table_operation()?;
        let _turn = self.state.catalog.change().await;
        if self.state.catalog.foreign(name).is_some() {
            return Err(Error::new(Code::ObjectAlreadyExist, "Requested table already exists."));
        }
        let fixed = Fixed::new(name.to_owned(), self.state.catalog.new_tree(), self.state.engine.clock().now_ms());
        let schema = TableSchema::new(key.map(|column| KeyColumn::new(column, KeyType::Binary)).to_vec())?;
        self.state.add_tables(vec![Rc::new(Table::new(fixed, schema, TableState::default()))]).await
    }

    /// Deletes a foreign table.
    ///
    /// # Errors
    /// `OTSObjectNotExist`; errors of the storage.
    pub async fn delete(self, name: &str) -> Result<()> {
        self.state.table_operation()?;
        let _turn = self.state.catalog.change().await;
        let table = self.state.catalog.existing_foreign(name)?;
        self.state.remove_tables(&[table]).await
    }

    /// The answers to changes that were done before, for an earlier engine: what each told. Or their refusal.
    #[must_use]
    pub fn recall(self, origin: Option<Origin>) -> Option<Result<Vec<Option<i64>>, Refused>> {
        if let Some(known) = self.state.answers.recall_all(origin) {
            let told = |row: Outcome<Written>| row.ok().and_then(|written| told_by(&written));
            return Some(Ok(known.into_iter().map(told).collect()));
        }
        let (at, error) = self.state.answers.refusal(origin)?;
        Some(Err(Refused { at: at as usize, error }))
    }

    /// Whether a change of the catalog was done before, for an earlier engine.
    #[must_use]
    pub fn has_changed(self, origin: Option<Origin>) -> bool {
        self.state.answers.recall_change(origin).is_some()
    }

    /// Changes rows of the foreign table of this name with one partition key: all or none. No row may come twice. Returns
    /// what their answers tell.
    ///
    /// # Errors
    /// `OTSObjectNotExist`; a refusal by `decide`; `OTSCapacityUnitExhausted`; errors of the storage.
    pub async fn change(
        self,
        table: &str,
        keys: &[Vec<u8>],
        decide: &mut dyn DecideRows,
        origin: Option<Origin>,
    ) -> Result<Vec<Option<i64>>, Refused> {
        let table = &self.existing(table, Charge::Write).map_err(|error| {
            self.state.answers.refuse(origin, 0, &error);
            Refused { at: 0, error }
        })?;
        let now = self.state.clock();
        let draw = |key: &Vec<u8>| self.state.stamps.draw(RowHash::of(table.tree(), key), now);
        let (draws, _holds): (Vec<_>, Vec<_>) = keys.iter().map(draw).unzip();
        let rows: Vec<_> = keys.iter().map(|key| (table.tree(), &key[..])).collect();
        let decided = draws.iter().map(|_| Row::default()).collect();
        let mut all =
            ForeignChange { state: self.state, table, keys, now, draws, decide, origin, rows: decided, failed: 0 };
        let done = match rows[..] {
            // Most writes are accepted at once.
            [row] => match self.state.engine.modify_now(row, true, origin, &mut all) {
                Ok(Some(accepted)) => accepted.stored().await,
                Ok(None) => Box::pin(self.state.engine.modify(&rows, origin, &mut all)).await,
                Err(error) => Err(error),
            },
            _ => Box::pin(self.state.engine.modify(&rows, origin, &mut all)).await,
        };
        let failed = all.failed;
        let written: Vec<_> = (0..keys.len()).map(|at| all.written(at)).collect();
        drop(all);
        match done {
            Ok(()) => {
                let told = written.iter().map(told_by).collect();
                for written in written {
                    let _ = self.state.metered_on(Some(table), Outcome::Ok(written));
                }
                Ok(told)
            }
            Err(error) => {
                self.state.answers.refuse(origin, failed as u32, &error);
                for _ in keys {
                    let _ = self
                        .state
                        .metered_on(Some(table), Outcome::<Written>::Err(Charge::Write.failure(error.clone())));
                }
                Err(Refused { at: failed, error })
            }
        }
    }

    /// The foreign table of this name, to be read.
    ///
    /// # Errors
    /// `OTSObjectNotExist`.
    pub fn readable(self, name: &str) -> Result<Rc<Table>> {
        self.existing(name, Charge::Read)
    }

    /// The foreign table of this name. A request to one that does not exist is counted (C4).
    fn existing(self, name: &str, charge: Charge) -> Result<Rc<Table>> {
        self.state.catalog.existing_foreign(name).map_err(|error| {
            let failure = charge.failure(error);
            let _ = self.state.metered_on(None, Outcome::<Written>::Err(failure.clone()));
            failure.error
        })
    }

    /// Reads a row of a foreign table. `visit` gets the row, if it exists, and returns how many bytes of it count.
    ///
    /// # Errors
    /// `OTSCapacityUnitExhausted`, `Corrupt`.
    pub async fn read(
        self,
        table: &Rc<Table>,
        key: &[u8],
        visit: &mut dyn FnMut(Option<&RowView<'_>>) -> usize,
    ) -> Result<()> {
        let (now, mut bytes) = (self.state.clock(), 0);
        let mut see = |_: usize, row: Option<&RowView<'_>>| bytes = visit(row.filter(|row| !row.is_deleted()));
        let read = self.state.engine.read_parts(None, table.tree(), &[key], None, &mut see).await;
        let consumed = Consumed::reading(units(bytes));
        let done = read.and_then(|()| self.state.admit(table, key, consumed, now));
        self.meter_read(table, consumed, done)
    }

    /// Reads rows of a foreign table, all at one instant, until `visit` stops or the call has scanned enough (R3). Returns the
    /// key of the next row.
    ///
    /// # Errors
    /// Those of `visit`; `OTSCapacityUnitExhausted`, `Corrupt`.
    pub async fn scan(
        self,
        table: &Rc<Table>,
        range: KeyRange,
        visit: &mut dyn FnMut(&[u8], &RowView<'_>) -> Result<Visit>,
    ) -> Result<Option<Vec<u8>>> {
        let now = self.state.clock();
        let (mut next, mut failed) = (None, None);
        let (mut visited, mut scanned, mut first) = (0, 0, None);
        let mut see = |key: &[u8], row: &RowView<'_>| {
            visited += 1;
            let full = visited > limits::RANGE_VISITED_ROWS || scanned >= limits::RANGE_BYTES;
            let there = !row.is_deleted();
            let step = if full {
                Ok(Visit::Stop)
            } else if there {
                visit(key, row)
            } else {
                Ok(Visit::Read(0))
            };
            match step {
                Ok(Visit::Read(bytes)) => {
                    scanned += bytes;
                    first.get_or_insert_with(|| key.to_vec());
                    ControlFlow::Continue(())
                }
                Ok(Visit::Stop) => {
                    next = Some(key.to_vec());
                    ControlFlow::Break(())
                }
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        };
        let read = self
            .state
            .engine
            .scan_over(
                ScanOptions { depth: Depth::Newest, ..ScanOptions::STORED },
                table.tree(),
                range,
                Direction::Forward,
                &mut see,
            )
            .await;
        let consumed = Consumed::reading(units(scanned));
        let done = read.and_then(|()| failed.map_or(Ok(()), Err));
        let done = done.and_then(|()| self.state.admit(table, &first.unwrap_or_default(), consumed, now));
        self.meter_read(table, consumed, done).map(|()| next)
    }

    fn meter_read(self, table: &Table, consumed: Consumed, done: Result<()>) -> Result<()> {
        let read = done.map(|()| Written { consumed, row: None }).map_err(|error| Charge::Read.failure(error));
        self.state.metered_on(Some(table), read).map(|_| ()).map_err(|failure| failure.error)
    }

    /// A document of the layer above, by its key: columns that it has encoded.
    ///
    /// # Errors
    /// `Corrupt`; errors of the storage.
    pub async fn document(self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut found = None;
        let mut see = |_: usize, row: Option<&RowView<'_>>| found = row.and_then(document_in).map(<[u8]>::to_vec);
        self.state.engine.read(TreeId::DOCUMENTS, &[key], &mut see).await?;
        Ok(found)
    }

    /// Stores a document; `None` deletes it. If another one is `expected`, an empty one where there is none, it does nothing and
    /// returns `false`.
    ///
    /// # Errors
    /// Errors of the storage.
    pub async fn put_document(self, key: &[u8], expected: Option<&[u8]>, document: Option<&[u8]>) -> Result<bool> {
        let mut put =
            DocumentPut { key, expected, document, stamp: self.state.engine.clock().now_ms(), is_expected: true };
        self.state.engine.modify(&[(TreeId::DOCUMENTS, key)], None, &mut put).await?;
        Ok(put.is_expected)
    }
}

/// What is told by the answer to a change.
fn told_by(written: &Written) -> Option<i64> {
    match written.row.as_ref()?.cells.first()? {
        (_, _, Value::Integer(told)) => Some(*told),
        _ => None,
    }
}

/// A row of a change, once it was seen.
#[derive(Default)]
struct Row {
    stamp: i64,
    /// The old cells of its record in a stream.
    old: Vec<u8>,
}

/// Changes on their way through the engine.
/// A gate of [`Module::Azure`](crate::modules::Module::Azure).
struct ForeignChange<'d> {
    state: &'d State,
    table: &'d Rc<Table>,
    keys: &'d [Vec<u8>],
    now: i64,
    draws: Vec<Draw>,
    decide: &'d mut dyn DecideRows,
    origin: Option<Origin>,
    rows: Vec<Row>,
    /// The row that refused all.
    failed: usize,
}

impl ForeignChange<'_> {
    fn written(&self, at: usize) -> Written {
        let stamp = self.rows.get(at).map_or(0, |row| row.stamp);
        let returned = |told| ReturnedRow {
            schema: Rc::clone(self.table.schema()),
            key: Vec::new(),
            cells: vec![(String::new(), stamp, Value::Integer(told))],
        };
        Written { consumed: self.decide.consumed(at), row: self.decide.told(at).map(returned) }
    }
}

impl Decide for ForeignChange<'_> {
    fn see(&mut self, at: usize, view: Option<&RowView<'_>>) -> Result<()> {
        let (state, table) = (self.state, self.table);
        if let Err(error) = self.decide.see(at, view) {
            self.failed = at;
            state.answers.refuse(self.origin, at as u32, &error);
            return Err(error);
        }
        let (Some(key), Some(draw), Some(row)) = (self.keys.get(at), self.draws.get(at), self.rows.get_mut(at)) else {
            return Ok(());
        };
        let stored = view.map(RowView::stamp);
        row.stamp = state.stamps.settle(*draw, || RowHash::of(table.tree(), key), self.now, stored);
        if let Some(columns) = table.stream().map(|stream| stream.columns()).filter(|columns| !columns.is_empty()) {
            let change = RowChange { kind: ChangeKind::Update, stamp: row.stamp, cells: &[] };
            row.old =
                old_cells(&BaseChange { table, key: &[], before: view, change: &change, assigned: false }, &columns);
        }
        Ok(())
    }

    fn agree(&mut self) -> Result<()> {
        let consumed = (0..self.keys.len()).fold(Consumed::default(), |sum, at| sum + self.decide.consumed(at));
        let first = self.keys.first().map_or(&[][..], |key| key);
        check_bytes(self.rows.iter().map(|row| row.old.len()).sum(), limits::TRANSACTION_RECORD_BYTES)?;
        self.state.admit(self.table, first, consumed, self.now)
    }

    fn depth(&self, _: usize) -> Depth {
        Depth::Newest
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        let (engine, table, stream): (&Engine, _, _) = (&self.state.engine, self.table, self.table.stream());
        for (at, (key, row)) in self.keys.iter().zip(&self.rows).enumerate() {
            self.decide.change(at, row.stamp, &mut |change| match &stream {
                Some(stream) => stream.write_change(engine, table, (key, &row.old), change, writes),
                None => writes.change(table.tree(), key, change),
            });
            if self.state.answers.keep(self.origin) {
                let written = self.written(at);
                self.state.answers.put(self.origin, at as u32, &written, row.stamp, writes);
            }
        }
        if stream.is_some() {
            trim_soon(self.state, table);
        }
    }
}

/// The document of a row.
fn document_in<'a>(row: &RowView<'a>) -> Option<&'a [u8]> {
    match row.cells().first()?.value {
        ValueRef::Binary(bytes) => Some(bytes),
        _ => None,
    }
}

/// A document to be stored.
/// A gate of [`Module::Azure`](crate::modules::Module::Azure).
struct DocumentPut<'a> {
    key: &'a [u8],
    expected: Option<&'a [u8]>,
    document: Option<&'a [u8]>,
    stamp: i64,
    is_expected: bool,
}

impl Decide for DocumentPut<'_> {
    fn see(&mut self, _at: usize, row: Option<&RowView<'_>>) -> Result<()> {
        let stored = row.and_then(document_in).unwrap_or_default();
        self.is_expected = self.expected.is_none_or(|expected| expected == stored);
        if let Some(row) = row {
            self.stamp = row.stamp().saturating_add(1).max(self.stamp);
        }
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        if !self.is_expected {
            return;
        }
        let Self { key, stamp, .. } = *self;
        let put = self.document.map(ValueRef::Binary);
        let put = put.map(|document| CellChange { column: "document", op: CellOp::Put(stamp, document) });
        let kind = if put.is_some() { ChangeKind::Put } else { ChangeKind::Delete };
        writes.change(TreeId::DOCUMENTS, key, &RowChange { kind, stamp, cells: put.as_slice() });
    }
}
