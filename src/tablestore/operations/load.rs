//! Sorted rows in great numbers: they are checked like every PutRow, and go into segments at once (see
//! `engine/bulk_loader.rs`).
//!
//! A caller puts rows by the thousand and asks from time to time to store those so far. A load takes rows if their table
//! has no index and no auto-increment column, and if they ascend and follow those before. There must be enough rows for a
//! segment. Others are written the normal way. If another caller had a load stored, the rows that follow begin a new one.

use super::batch::{begin_each, finish_each};
use super::write::prepare_row;
use crate::engine::{BulkLoader, Origin};
use crate::env::LocalFuture;
use crate::error::{Error, Result};
use crate::model::{ChangeKind, Consumed, RowChange};
use crate::modules::Module;
use crate::tablestore::rows::decide::plan;
use crate::tablestore::rows::prepared::{PreparedRow, PreparedWrite, Written, charge, number};
use crate::tablestore::rows::request::{Mutation, ReturnContent, RowWrite};
use crate::tablestore::state::State;
use crate::tablestore::stream::load_packs::StreamLoad;
use crate::tablestore::stream::trim::trim_soon;
use crate::tablestore::table::Table;
use crate::tablestore::table::stream::Stream;
use crate::tablestore::units::failure::{Charge, Failure, Outcome, Refused};
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::{Rc, Weak};

/// A load begins with at least this many rows, or rows of this many bytes.
const FIRST_ROWS: usize = 256;
const FIRST_BYTES: usize = 64 << 10;

/// One caller's rows for one table, on their way into segments.
pub struct Loader {
    /// The loads since the caller last asked, oldest first. Only the last one may take more rows.
    loads: RefCell<Vec<Rc<Load>>>,
    /// Loads that could not be stored. A caller that later asks for their rows gets the error too.
    failed: RefCell<Vec<(u64, Error)>>,
    first_rows: usize,
}

impl Default for Loader {
    fn default() -> Self {
        Self::of_at_least(FIRST_ROWS)
    }
}

/// Rows that are stored together.
struct Load {
    rows: BulkLoader,
    table: Rc<Table>,
    stream: Option<StreamLoad>,
    consumed: Rc<Cell<Consumed>>,
    stamp: Cell<Option<i64>>,
}

/// The result of putting rows.
#[derive(Debug)]
pub enum PutRows {
    /// They were taken. They are invisible until the caller asks to store them, or until they are stored earlier.
    Taken {
        /// The engine's number of the load that took them. A higher number than before: another caller had the earlier
        /// load stored.
        load: u64,
        /// The estimated bytes of the load.
        bytes: u64,
        /// The number of rows.
        rows: usize,
        /// The refused rows among them.
        refused: Refused,
    },
    /// They were written, with these results.
    Written(Vec<Outcome<Written>>),
}

/// The result of storing a caller's rows.
#[derive(Clone, Debug)]
pub struct StoreRows {
    /// The units that they consumed and that were not reported before.
    pub consumed: Consumed,
    /// All of the caller's rows in loads up to this number are stored, but for those of failed loads.
    pub until: u64,
    /// The numbers and errors of failed loads. `QuotaExceeded`: nothing of them was stored. `Unavailable`: the outcome is
    /// unknown. `LeaderChanged`, `Closed`: the engine writes no more.
    pub failed: Vec<(u64, Error)>,
}

impl Loader {
    /// A loader that loads even so few rows, for tests.
    pub fn of_at_least(first_rows: usize) -> Self {
        Self { loads: RefCell::default(), failed: RefCell::default(), first_rows }
    }

    /// Whether it has taken no rows, or all its loads are stored.
    pub fn is_empty(&self) -> bool {
        self.loads.borrow().is_empty() && self.failed.borrow().is_empty()
    }

    /// The loads whose commit was asked for.
    fn asked(&self) -> Vec<Rc<Load>> {
        self.loads.borrow().iter().filter(|load| load.rows.is_asked()).map(Rc::clone).collect()
    }
}

/// See [`Instance::put_rows`](crate::tablestore::Instance::put_rows).
pub(crate) async fn put_rows(
    state: &State,
    loader: &Loader,
    writes: Vec<Result<RowWrite<'_>>>,
    origin: Option<Origin>,
) -> PutRows {
    let now = state.clock();
    let ready = |write| match write {
        Ok(write) => prepare_row(state, write, now),
        Err(error) => (None, Err(Charge::Nothing.failure(Error::clone(error)))),
    };
    let mut rows: Vec<PreparedRow<'_, '_>> = writes.iter().map(Result::as_ref).map(ready).collect();
    number(&mut rows);
    // Some may have been written already, if the client asks again.
    let may_load = state.engine.env().has(Module::Loads) && !state.answers.knows(origin);
    match may_load.then(|| load_rows(state, loader, &rows, origin, now)).flatten() {
        Some(taken) => {
            // The rows are taken: waiting for room must not hold them a second time.
            drop(rows);
            drop(writes);
            taken.await
        }
        None => {
            let begun = begin_each(state, None, &rows, origin).await;
            drop(rows);
            drop(writes);
            PutRows::Written(finish_each(state, begun, origin).await)
        }
    }
}

/// See [`Instance::store_rows`](crate::tablestore::Instance::store_rows).
pub(crate) async fn store_rows(state: &State, loader: &Loader) -> StoreRows {
    if loader.is_empty() {
        return StoreRows { consumed: Consumed::default(), until: state.engine.last_load(), failed: Vec::new() };
    }
    store_loads(state, loader).await
}

/// Stores rows that were taken. A gate of [`Module::Loads`].
#[inline(never)]
fn store_loads<'a>(state: &'a State, loader: &'a Loader) -> Pin<Box<dyn Future<Output = StoreRows> + 'a>> {
    Box::pin(async move {
        let (until, mut consumed) = (state.engine.last_load(), Consumed::default());
        if let Some(last) = loader.loads.borrow().last() {
            last.rows.ask();
        }
        for load in loader.asked() {
            let done = load.rows.stored().await;
            let place = loader.loads.borrow().iter().position(|other| Rc::ptr_eq(other, &load));
            // Another caller has asked too and was answered first.
            let Some(place) = place else { continue };
            loader.loads.borrow_mut().remove(place);
            match done {
                Ok(()) => consumed = consumed + load.consumed.get(),
                Err(error) => loader.failed.borrow_mut().push((load.rows.number(), error)),
            }
        }
        StoreRows { consumed, until, failed: loader.failed.borrow().clone() }
    })
}

/// Takes rows into a load; the future waits until the caller may send more. `None` if they cannot be loaded; then it
/// has no effect. A gate of [`Module::Loads`].
#[inline(never)]
fn load_rows(
    state: &State,
    loader: &Loader,
    rows: &[PreparedRow<'_, '_>],
    origin: Option<Origin>,
    now: i64,
) -> Option<LocalFuture<PutRows>> {
    let (load, refused) = take_rows(state, loader, rows, origin, now)?;
    let (taken, before) = (rows.len(), loader.asked());
    Some(Box::pin(async move {
        load.rows.room().await;
        // Others may have loads stored often; only a few loads are held in memory.
        for load in before {
            let _ = load.rows.stored().await;
        }
        PutRows::Taken { load: load.rows.number(), bytes: load.rows.bytes(), rows: taken, refused }
    }))
}

/// Takes rows into a load, and returns the refused ones. `None` if they cannot be loaded; then it has no effect.
fn take_rows(
    state: &State,
    loader: &Loader,
    rows: &[PreparedRow<'_, '_>],
    origin: Option<Origin>,
    now: i64,
) -> Option<(Rc<Load>, Refused)> {
    let right = || rows.iter().filter_map(|(_, row)| row.as_ref().ok());
    let (first, last) = (right().next()?, right().next_back()?);
    let table = &first.table;
    let current = loader.loads.borrow().last().filter(|load| !load.rows.is_asked()).map(Rc::clone);
    let begins = current.is_none();
    let fits = match &current {
        Some(current) => Rc::ptr_eq(&current.table, table),
        None => rows.len() >= loader.first_rows || right().map(|row| row.bytes).sum::<usize>() >= FIRST_BYTES,
    };
    if !fits || !are_loadable(state, table, right()) {
        return None;
    }
    let current = current.unwrap_or_else(|| begin_load(state, table));
    if !current.rows.takes(&first.key, &last.key) || state.stamps.is_far_ahead(now) {
        return None;
    }
    let stamp = state.stamps.load(now, current.stamp.get());
    current.stamp.set(Some(stamp));
    let mut refused = Refused::new();
    for (at, (name, row)) in rows.iter().enumerate() {
        match row.as_ref().map_err(Failure::clone).and_then(|row| take_row(state, &current, row, (now, stamp))) {
            Ok(consumed) => current.consumed.set(current.consumed.get() + consumed),
            Err(failure) => {
                if let Some(name) = name {
                    drop(state.metered::<Written>(*name, Err(failure.clone())));
                }
                refused.push((at, failure));
            }
        }
    }
    if let Some(behind) = state.answers.load(origin, current.rows.number(), stamp, rows, &refused) {
        current.rows.bring(behind);
    }
    // After that, so that those who ask for this load alone have them decided anew.
    refused.iter().for_each(|(at, failure)| state.answers.refuse(origin, *at as u32, &failure.error));
    if begins {
        loader.loads.borrow_mut().push(Rc::clone(&current));
    }
    Some((current, refused))
}

/// Whether a load can have these rows: plain puts into one table, in the order of their keys.
fn are_loadable<'r, 'w: 'r, 'a: 'w>(
    state: &State,
    table: &Rc<Table>,
    rows: impl Iterator<Item = &'r PreparedWrite<'w, 'a>> + Clone,
) -> bool {
    let is_stored = |stream: Rc<Stream>| stream.shards.borrow().is_stored(state.engine.failures());
    table.schema().auto_increment().is_none()
        && rows.clone().all(|row| row.is_put() && Rc::ptr_eq(&row.table, table))
        && rows.is_sorted_by(|row, next| row.key < next.key)
        // The next write stores the stream's shards.
        && table.stream().is_none_or(is_stored)
}

/// Begins a load into a table.
fn begin_load(state: &State, table: &Rc<Table>) -> Rc<Load> {
    let rows = state.engine.start_load(table.tree());
    let stream = table.stream().map(|stream| StreamLoad::begin(&stream, &state.engine, &rows));
    if stream.is_some() {
        trim_soon(state, table);
    }
    let load = Load { rows, table: Rc::clone(table), stream, consumed: Rc::default(), stamp: Cell::default() };
    let (me, payer, consumed) = (Weak::clone(&state.me), Rc::clone(table), Rc::clone(&load.consumed));
    // Other callers may have it stored after its caller is gone: that counts as used too (C1).
    load.rows.when_settled(Box::new(move |done| {
        let used = done.clone().map(|()| consumed.get()).map_err(|error| Charge::Write.failure(error));
        if let Some(me) = me.upgrade() {
            drop(me.metered_on(Some(&payer), used));
        }
    }));
    Rc::new(load)
}

/// Takes a row into a load. Returns the units that it consumes.
fn take_row(
    state: &State,
    load: &Load,
    row: &PreparedWrite<'_, '_>,
    (now, stamp): (i64, i64),
) -> Result<Consumed, Failure> {
    let table = &load.table;
    let allowed = state.transactions.refuse(table.tree(), &row.key, || state.engine.clock().steady_ms());
    let allowed = allowed.and_then(|()| state.admit(table, &row.key, row.consumed, now));
    let pushed = allowed.and_then(|()| {
        let cells = plan(&row.write.mutation, stamp);
        let change = RowChange { kind: ChangeKind::Put, stamp, cells: &cells };
        load.rows.push(&row.key, &change)?;
        match &load.stream {
            Some(stream) => stream.push(&state.engine, &load.rows, row, &change),
            None => Ok(()),
        }
    });
    pushed.map_err(|error| charge(row.write).failure(error)).map(|()| row.consumed)
}

impl PreparedWrite<'_, '_> {
    /// Whether it is a plain put that returns nothing.
    fn is_put(&self) -> bool {
        matches!(self.write.mutation, Mutation::Put(_)) && self.is_plain() && self.write.returns == ReturnContent::None
    }
}
