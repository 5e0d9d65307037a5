//! Sorted rows in great numbers: they are checked as every PutRow, and go into segments at once (see `engine/bulk_loader.rs`).
//!
//! A caller puts rows by the thousand and asks from time to time for those so far to be stored. Rows can be loaded when their
//! table has no index and no counted key column, and when they ascend and follow those before; there must be enough of them
//! to be worth a segment. Others are written as ever. When somebody else had a load stored, the rows that follow begin
//! another one.

use super::check;
use super::decide::plan;
use super::failure::{Charge, Failure, Outcome};
use super::instance::Instance;
use super::prepared::{PreparedRow, PreparedWrite, Written, charge};
use super::request::{Mutation, ReturnContent, RowWrite};
use super::table::Table;
use crate::engine::{BulkLoader, Origin};
use crate::error::{Error, Result};
use crate::model::{ChangeKind, Consumed, RowChange};
use crate::storage::Storage;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

/// A load begins with at least so many rows, or rows that count so many bytes.
const FIRST_ROWS: usize = 256;
const FIRST_BYTES: usize = 64 << 10;

/// One caller's rows for one table, on their way into segments.
pub struct Loader<S: Storage> {
    /// What was taken since the caller last asked, oldest first. Only the last one may take more rows.
    loads: RefCell<Vec<Rc<Load<S>>>>,
    /// Loads that could not be stored: whoever asks later for their rows has to be told too.
    failed: RefCell<Vec<(u64, Error)>>,
    first_rows: usize,
}

impl<S: Storage> Default for Loader<S> {
    fn default() -> Self {
        Self::of_at_least(FIRST_ROWS)
    }
}

/// Rows that are stored together.
struct Load<S: Storage> {
    rows: BulkLoader<S>,
    table: Rc<Table>,
    consumed: Rc<Cell<Consumed>>,
    stamp: Cell<Option<i64>>,
}

/// Rows that were refused: their numbers, and why.
pub type Refused = Vec<(usize, Failure)>;

/// What became of rows.
#[derive(Debug)]
pub enum PutRows {
    /// They were taken, and are stored when the caller asks for it, or earlier. Nobody sees them before.
    Taken {
        /// The number of the load that took them, of the engine's. A higher one than before: somebody had that one stored.
        load: u64,
        /// Bytes that the load will take, about.
        bytes: u64,
        /// How many rows there were.
        rows: usize,
        /// Those of them that were refused.
        refused: Refused,
    },
    /// They were written: what each of them gave.
    Written(Vec<Outcome<Written>>),
}

/// What became of the rows that a caller asked for.
#[derive(Clone, Debug)]
pub struct StoreRows {
    /// What they consumed, those of which it was not told before.
    pub consumed: Consumed,
    /// Everything is stored that loads up to this number have taken of the caller's rows, but for those of loads that failed.
    pub until: u64,
    /// The numbers of those, and why. `QuotaExceeded`: nothing of them was stored. `Unavailable`: it is not known whether
    /// they were. `LeaderChanged`, `Closed`: the engine writes no more.
    pub failed: Vec<(u64, Error)>,
}

impl<S: Storage> Loader<S> {
    /// One that loads so few rows, for tests.
    pub fn of_at_least(first_rows: usize) -> Self {
        Self { loads: RefCell::default(), failed: RefCell::default(), first_rows }
    }

    /// Whether it has taken no rows, or all of them were asked for and are stored.
    pub fn is_empty(&self) -> bool {
        self.loads.borrow().is_empty() && self.failed.borrow().is_empty()
    }

    /// The loads that were asked for.
    fn asked(&self) -> Vec<Rc<Load<S>>> {
        self.loads.borrow().iter().filter(|load| load.rows.is_asked()).map(Rc::clone).collect()
    }
}

impl<S: Storage> Instance<S> {
    /// Puts rows, each by itself whole or not at all; of one row the last put stays. Resolves when the caller may come with
    /// more.
    pub async fn put_rows(
        &self,
        loader: &Loader<S>,
        writes: Vec<Result<RowWrite<'_>>>,
        origin: Option<Origin>,
    ) -> PutRows {
        let now = self.clock();
        let rows: Vec<PreparedRow<'_, '_>> = writes.iter().map(|write| self.prepare_put(write, now)).collect();
        match self.load_rows(loader, &rows, now) {
            Some((load, refused)) => {
                let (taken, before) = (rows.len(), loader.asked());
                // They are taken: what waits for room must not hold them a second time.
                drop(rows);
                drop(writes);
                load.rows.room().await;
                // However often others have loads stored, the memory of few of them is taken.
                for load in before {
                    let _ = load.rows.stored().await;
                }
                PutRows::Taken { load: load.rows.number(), bytes: load.rows.bytes(), rows: taken, refused }
            }
            None => {
                let begun = self.begin_each(None, &rows, origin).await;
                drop(rows);
                drop(writes);
                PutRows::Written(self.finish_each(begun).await)
            }
        }
    }

    fn prepare_put<'r, 'a>(&self, write: &'r Result<RowWrite<'a>>, now: i64) -> PreparedRow<'r, 'a> {
        match write {
            Ok(write) => {
                let ready = check::row_write(write).and_then(|checked| {
                    check::size(write.operation(), checked.weight.all)?;
                    self.prepare(write, checked, now)
                });
                (Some(write.table), ready.map_err(|error| charge(write).failure(error)))
            }
            Err(error) => (None, Err(Charge::Nothing.failure(error.clone()))),
        }
    }

    /// Stores what was taken: of each load everything, or nothing. What is asked of its rows from now on comes after it. Who
    /// asks again is told the same, but for units that were told.
    pub async fn store_rows(&self, loader: &Loader<S>) -> StoreRows {
        let (until, mut consumed) = (self.engine.last_load(), Consumed::default());
        if let Some(last) = loader.loads.borrow().last() {
            last.rows.ask();
        }
        for load in loader.asked() {
            let done = load.rows.stored().await;
            let place = loader.loads.borrow().iter().position(|other| Rc::ptr_eq(other, &load));
            // Somebody else has asked too, and was first to be told.
            let Some(place) = place else { continue };
            loader.loads.borrow_mut().remove(place);
            match done {
                Ok(()) => consumed = consumed + load.consumed.get(),
                Err(error) => loader.failed.borrow_mut().push((load.rows.number(), error)),
            }
        }
        StoreRows { consumed, until, failed: loader.failed.borrow().clone() }
    }

    /// Takes rows, and gives those that were refused. `None` if they cannot be loaded; then nothing has happened.
    fn load_rows(&self, loader: &Loader<S>, rows: &[PreparedRow<'_, '_>], now: i64) -> Option<(Rc<Load<S>>, Refused)> {
        let mut right = rows.iter().filter_map(|(_, row)| row.as_ref().ok());
        let (first, last) = (right.next()?, rows.iter().rev().find_map(|(_, row)| row.as_ref().ok())?);
        let table = &first.table;
        let current = loader.loads.borrow().last().filter(|load| !load.rows.is_asked()).map(Rc::clone);
        let begins = current.is_none();
        let fits = match &current {
            Some(current) => Rc::ptr_eq(&current.table, table),
            None => {
                let bytes = || rows.iter().flat_map(|(_, row)| row).map(|row| row.bytes).sum::<usize>();
                rows.len() >= loader.first_rows || bytes() >= FIRST_BYTES
            }
        };
        if !fits || table.schema().auto_increment().is_some() || !first.is_put() {
            return None;
        }
        let mut before = &first.key;
        for row in right {
            if !Rc::ptr_eq(&row.table, table) || !row.is_put() || *before >= row.key {
                return None;
            }
            before = &row.key;
        }
        let current = current.unwrap_or_else(|| {
            let load = Load {
                rows: self.engine.start_load(table.tree()),
                table: Rc::clone(table),
                consumed: Rc::default(),
                stamp: Cell::default(),
            };
            let (me, account, consumed) = (Weak::clone(&self.me), Rc::clone(table), Rc::clone(&load.consumed));
            // Others may have it stored when its caller is gone: that is used too (C1).
            load.rows.when_settled(Box::new(move |done| {
                let used = done.clone().map(|()| consumed.get()).map_err(|error| Charge::Write.failure(error));
                if let Some(instance) = me.upgrade() {
                    drop(instance.metered_on(Some(&account), used));
                }
            }));
            Rc::new(load)
        });
        if !current.rows.takes(&first.key, &last.key) || self.stamper.borrow().is_far_ahead(now) {
            return None;
        }
        let stamp = self.stamper.borrow_mut().load(now, current.stamp.get());
        current.stamp.set(Some(stamp));
        let mut refused = Refused::new();
        for (at, (name, row)) in rows.iter().enumerate() {
            let taken = row.as_ref().map_err(Failure::clone).and_then(|row| {
                let allowed = self.transactions.refuse(table.tree(), &row.key, || self.engine.steady_ms());
                let allowed = allowed.and_then(|()| self.admit(table, &row.key, row.consumed, now));
                let pushed = allowed.and_then(|()| {
                    let cells = plan(&row.write.mutation, stamp);
                    current.rows.push(&row.key, &RowChange { kind: ChangeKind::Put, stamp, cells: &cells })
                });
                pushed.map_err(|error| charge(row.write).failure(error)).map(|()| row.consumed)
            });
            match taken {
                Ok(consumed) => current.consumed.set(current.consumed.get() + consumed),
                Err(failure) => {
                    if let Some(name) = name {
                        drop(self.metered::<Written>(*name, Err(failure.clone())));
                    }
                    refused.push((at, failure));
                }
            }
        }
        if begins {
            loader.loads.borrow_mut().push(Rc::clone(&current));
        }
        Some((current, refused))
    }
}

impl PreparedWrite<'_, '_> {
    /// Whether it puts a row and nothing else.
    fn is_put(&self) -> bool {
        matches!(self.write.mutation, Mutation::Put(_)) && self.is_plain() && self.write.returns == ReturnContent::None
    }
}
