//! Batches of writes of which all are done or none (R4).

use super::batch::{prepare_batch, repeated};
use super::decision::RowDecision;
use crate::engine::{Decide, Depth, Origin, RowView, Writes};
use crate::error::{Error, Result};
use crate::model::{limits, partition_prefix};
use crate::tablestore::rows::check;
use crate::tablestore::rows::prepared::{PreparedWrite, Written, charge};
use crate::tablestore::rows::request::RowWrite;
use crate::tablestore::state::State;
use crate::tablestore::state::transaction::out_of_scope;
use crate::tablestore::units::failure::{Charge, Outcome};
use std::pin::Pin;

/// Which rows an atomic batch may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of one table and partition key value, as in the service.
    Partition,
    /// Those of any tables: one commit stores them, wherever they are.
    Tables,
}

/// See [`Instance::write_atomic`](crate::tablestore::Instance::write_atomic).
pub(crate) async fn write_atomic(
    state: &State,
    writes: &[RowWrite<'_>],
    scope: Scope,
    origin: Option<Origin>,
) -> Outcome<Vec<Outcome<Written>>> {
    if let Some(known) = state.answers.recall_all(origin) {
        return Ok(known);
    }
    let tables: Vec<_> = writes.iter().map(|write| state.catalog.named(write.table)).collect();
    let rows = write_all(state, writes, scope, origin).await?;
    Ok(tables.iter().zip(rows).map(|(table, row)| state.metered_on(table.as_deref(), row)).collect())
}

/// A gate of [`Module::Transactions`](crate::modules::Module::Transactions).
#[inline(never)]
fn write_all<'w>(
    state: &'w State,
    writes: &'w [RowWrite<'w>],
    scope: Scope,
    origin: Option<Origin>,
) -> Pin<Box<dyn Future<Output = AtomicRows> + 'w>> {
    Box::pin(async move {
        let ready = prepare_batch(state, writes).map_err(|error| Charge::Nothing.failure(error))?;
        let fail = |at: Option<usize>, error: &Error| {
            state.answers.refuse(origin, at.map_or(0, |row| row as u32), error);
            let failed = writes.iter().enumerate().map(|(row, write)| {
                let error = match at {
                    Some(at) if at != row => {
                        let text = format!("Row {at} of the atomic batch failed: {}", error.message());
                        error.clone().with_message(text)
                    }
                    _ => error.clone(),
                };
                Err(charge(write).failure(error))
            });
            Ok(failed.collect())
        };
        if let Some((row, error)) = state.answers.refusal(origin) {
            return fail(Some(row as usize), &error);
        }
        let mut rows = Vec::new();
        for (at, (_, ready)) in ready.iter().enumerate() {
            match ready {
                Ok(ready) => rows.push(ready),
                Err(failure) => return fail(Some(at), &failure.error),
            }
        }
        if let Err((at, error)) = check_atomic(state, &rows, scope) {
            return fail(at, &error);
        }
        let keys = rows.iter().map(|ready| (ready.table.tree(), &ready.key[..])).collect::<Vec<_>>();
        let drawn = rows.iter().map(|ready| state.stamps.draw(ready.row_hash(), ready.now)).collect::<Vec<_>>();
        let writes =
            rows.iter().zip(&drawn).map(|(ready, (draw, _))| RowDecision::new(state, ready, *draw, origin)).collect();
        let mut all = AtomicBatch { state, writes, derived: 0, failed: None };
        match state.engine.modify(&keys, origin, &mut all).await {
            Ok(()) => Ok(all.writes.iter().map(|write| Ok(write.written())).collect()),
            Err(error) => fail(all.failed, &error),
        }
    })
}

/// Checks that all rows are within the scope, and that no other transaction holds one of them. Rows of one partition key are refused
/// together, others by the one that is held.
fn check_atomic(
    state: &State,
    rows: &[&PreparedWrite<'_, '_>],
    scope: Scope,
) -> std::result::Result<(), (Option<usize>, Error)> {
    let Some(first) = rows.first() else { return Ok(()) };
    let partition = partition_prefix(&first.key).unwrap_or_default();
    let is_out =
        |row: &PreparedWrite<'_, '_>| row.table.tree() != first.table.tree() || !row.key.starts_with(partition);
    // A partition key is held as a whole: its first row stands for all.
    let asked = match scope {
        Scope::Tables => rows,
        Scope::Partition => {
            if let Some(other) = rows.iter().find(|row| is_out(row)) {
                let words = ["atomic", "Atomic"];
                return Err((None, out_of_scope(words, (&first.table, &first.key), (&other.table, &other.key))));
            }
            &rows[..1]
        }
    };
    asked.iter().enumerate().try_for_each(|(at, row)| {
        let free = state.transactions.refuse(row.table.tree(), &row.key, || state.engine.clock().steady_ms());
        free.map_err(|error| ((scope == Scope::Tables).then_some(at), error))
    })
}

/// The results of the rows of an atomic batch, or why none was looked at.
type AtomicRows = Outcome<Vec<Outcome<Written>>>;

/// The writes of an atomic batch on their way through the engine.
struct AtomicBatch<'d, 'r, 'a> {
    state: &'d State,
    writes: Vec<RowDecision<'d, 'r, 'a>>,
    /// The bytes of the derived writes of the rows seen so far.
    derived: usize,
    /// The write that failed by itself.
    failed: Option<usize>,
}

impl RowDecision<'_, '_, '_> {
    fn is_of_row_of(&self, other: &Self) -> bool {
        self.ready.table.tree() == other.ready.table.tree() && self.ready.key == other.ready.key
    }
}

impl Decide for AtomicBatch<'_, '_, '_> {
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()> {
        if at == 0 {
            // The rows may be seen again, from the first one on.
            (self.derived, self.failed) = (0, None);
        }
        let Some((before, [write, ..])) = self.writes.split_at_mut_checked(at) else { return Ok(()) };
        write.see(at, row).inspect_err(|_| self.failed = Some(at))?;
        let mut same = before.iter().filter(|other| write.is_of_row_of(other)).peekable();
        // What follows from the stored row would not follow from the writes before.
        if write.ready.derives && same.peek().is_some() {
            self.failed = Some(at);
            return Err(repeated());
        }
        if write.ready.write.deletes_versions() {
            let changes: Vec<_> = same.map(RowDecision::change).collect();
            write.decided.hide(write.ready, row, &changes);
        }
        self.derived += write.decided.derived.bytes();
        check::size("the index rows and old values of a BatchWriteRow", self.derived, limits::ATOMIC_DERIVED_BYTES)
    }

    fn depth(&self, at: usize) -> Depth {
        self.writes.get(at).map_or(Depth::Visible, |write| write.depth(at))
    }

    fn agree(&mut self) -> Result<()> {
        let Self { state, writes, .. } = self;
        let rows = writes.iter().map(|write| (&*write.ready.table, &write.ready.key[..], write.consumed()));
        state.admit_all(rows, state.engine.clock().now_ms())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        self.writes.iter_mut().for_each(|write| write.write(writes));
    }
}
