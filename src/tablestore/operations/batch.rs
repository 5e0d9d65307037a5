//! BatchWriteRow (R2): up to 200 rows. Each is written wholly or not at all.

use super::write::{WriteStart, begin, go_on, prepare};
use crate::collections::small_map::SmallMap;
use crate::engine::{Origin, Receipt, TreeId};
use crate::error::{Error, Result};
use crate::model::limits;
use crate::tablestore::rows::check::{self, Checked};
use crate::tablestore::rows::prepared::{PreparedRow, PreparedWrite, Written, charge, number};
use crate::tablestore::rows::request::{Existence, RowWrite};
use crate::tablestore::state::State;
use crate::tablestore::state::transaction::TransactionUse;
use crate::tablestore::table::Table;
use crate::tablestore::units::failure::{Charge, Outcome};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

/// See [`Instance::batch_write_rows`](crate::tablestore::Instance::batch_write_rows).
pub(crate) async fn write_rows(
    state: &State,
    transaction: Option<&str>,
    writes: Vec<RowWrite<'_>>,
    origin: Option<Origin>,
) -> Outcome<Vec<Outcome<Written>>> {
    let nothing = |error| Charge::Nothing.failure(error);
    let ready = prepare_batch(state, &writes).map_err(nothing)?;
    let using = state.enter(transaction).map_err(nothing)?;
    let begun = begin_each(state, using.as_ref(), &ready, origin).await;
    drop((ready, using));
    drop(writes);
    Ok(finish_each(state, begun, origin).await)
}

/// Runs checked writes, in order on each row, up to the wait for storage. In a transaction they run one after the
/// other.
pub(crate) async fn begin_each(
    state: &State,
    using: Option<&TransactionUse<'_>>,
    rows: &[PreparedRow<'_, '_>],
    origin: Option<Origin>,
) -> Vec<BatchRow> {
    let mut begun = Vec::with_capacity(rows.len());
    for (at, row) in (0..).zip(rows) {
        let mut row = match state.answers.recall(origin, at) {
            Some(known) => {
                let charge = row.1.as_ref().map_or(Charge::Nothing, |ready| charge(ready.write));
                RowTask::Over(BatchRow::Done(known.map_err(|error| charge.failure(error))))
            }
            None => {
                let begun = start_row(state, using, row, origin).await;
                if let RowTask::Over(BatchRow::Done(Err(failure))) = &begun {
                    state.answers.refuse(origin, at, &failure.error);
                }
                begun
            }
        };
        if using.is_some() {
            poll_fn(|context| row.poll(context)).await;
        }
        begun.push(row);
    }
    poll_fn(|context| {
        let mut all = Poll::Ready(());
        for row in &mut begun {
            if row.poll(context).is_pending() {
                all = Poll::Pending;
            }
        }
        all
    })
    .await;
    begun.into_iter().filter_map(RowTask::begun).collect()
}

/// Waits until the writes are stored.
pub(crate) async fn finish_each(state: &State, rows: Vec<BatchRow>, origin: Option<Origin>) -> Vec<Outcome<Written>> {
    let mut results = Vec::with_capacity(rows.len());
    for (at, row) in (0..).zip(rows) {
        results.push(match row {
            BatchRow::Done(done) => done,
            BatchRow::Accepted(accepted, written, table, charge) => {
                let stored = accepted.stored().await.inspect_err(|error| state.answers.refuse(origin, at, error));
                let done = stored.map(|()| written).map_err(|error| charge.failure(error));
                state.metered_on(Some(&table), done)
            }
        });
    }
    results
}

/// Starts a row of a batch; never waits.
async fn start_row<'f>(
    state: &'f State,
    using: Option<&'f TransactionUse<'_>>,
    row: &'f PreparedRow<'_, '_>,
    origin: Option<Origin>,
) -> RowTask<'f> {
    let ready = match row {
        (_, Ok(ready)) => ready,
        (None, Err(failure)) => return RowTask::Over(BatchRow::Done(Err(failure.clone()))),
        (Some(name), Err(failure)) => {
            return RowTask::Over(BatchRow::Done(state.metered(*name, Err(failure.clone()))));
        }
    };
    match begin(state, using, ready, origin) {
        Err(failure) => RowTask::Over(BatchRow::Done(state.metered_on(Some(&ready.table), Err(failure)))),
        Ok(WriteStart::Accepted(accepted, written)) => {
            let (table, charge) = (Rc::clone(&ready.table), charge(ready.write));
            RowTask::Over(BatchRow::Accepted(accepted, written, table, charge))
        }
        Ok(WriteStart::Waits(waiting)) => {
            let mut row = RowTask::Waits(Box::pin(async move {
                let done = go_on(state, using, ready, origin, waiting).await;
                let done = done.inspect_err(|failure| state.answers.refuse(origin, ready.row, &failure.error));
                state.metered_on(Some(&ready.table), done)
            }));
            // Later writes of its row take effect after it.
            poll_fn(|context| {
                let _ = row.poll(context);
                Poll::Ready(())
            })
            .await;
            row
        }
    }
}

pub(super) fn prepare_batch<'r, 'a>(state: &State, writes: &'r [RowWrite<'a>]) -> Result<Vec<PreparedRow<'r, 'a>>> {
    if writes.is_empty() {
        return Err(Error::parameter("No row is specified in BatchWriteRow."));
    }
    let most = limits::BATCH_WRITE_ROWS;
    if writes.len() > most {
        return Err(Error::parameter(format!("Rows count exceeds the upper limit: {most}.")));
    }
    let checked = writes.iter().map(check::row_write).collect::<Result<Vec<_>>>()?;
    let bytes = |checked: &Checked<'_>| checked.weight.all + limits::VERSION_BYTES * checked.versions;
    check::size("BatchWriteRow", checked.iter().map(bytes).sum(), limits::WRITE_BYTES)?;
    let now = state.clock();
    let prepare = |(write, checked): (&'r RowWrite<'a>, _)| {
        let ready = prepare(state, write, checked, now).map_err(|error| charge(write).failure(error));
        (Some(write.table), ready)
    };
    let mut ready = writes.iter().zip(checked).map(prepare).collect::<Vec<_>>();
    number(&mut ready);
    repeated_rows(ready.iter().filter_map(|(_, ready)| ready.as_ref().ok()))?;
    Ok(ready)
}

/// A row of a batch after its start.
pub(crate) enum BatchRow {
    /// It is finished.
    Done(Outcome<Written>),
    /// It is accepted, and has this result once it is stored.
    Accepted(Receipt, Written, Rc<Table>, Charge),
}

/// A row of a batch that was started.
enum RowTask<'f> {
    Over(BatchRow),
    /// It waits for its turn, or for records to load.
    Waits(Pin<Box<dyn Future<Output = Outcome<Written>> + 'f>>),
}

impl RowTask<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Self::Waits(row) = self {
            match row.as_mut().poll(context) {
                Poll::Ready(done) => *self = Self::Over(BatchRow::Done(done)),
                Poll::Pending => return Poll::Pending,
            }
        }
        Poll::Ready(())
    }

    /// `None` if it was not polled to its end.
    fn begun(self) -> Option<BatchRow> {
        if let Self::Over(begun) = self { Some(begun) } else { None }
    }
}

/// The refusal of a row that comes twice in a table with derived data.
pub(super) fn repeated() -> Error {
    Error::parameter("Duplicate rows detected in MultiPut.")
}

/// A row may come twice, unless one of its writes depends on the stored row, or its table has an index.
fn repeated_rows<'q, 'r: 'q, 'a: 'r>(rows: impl Iterator<Item = &'q PreparedWrite<'r, 'a>> + Clone) -> Result<()> {
    let matters = |row: &PreparedWrite<'_, '_>| row.write.needs_row() || row.table.is_indexed();
    if !rows.clone().any(matters) {
        return Ok(());
    }
    let mut seen = SmallMap::<(TreeId, &[u8]), Depends>::default();
    for row in rows {
        let here = Depends {
            expects: row.write.condition != Existence::Ignore,
            compares: row.write.column_condition.is_some(),
            increments: row.write.increments(),
        };
        let place = (row.table.tree(), &row.key[..]);
        let Some(earlier) = seen.get(&place).copied() else {
            seen.insert(place, here);
            continue;
        };
        if row.table.is_indexed() {
            return Err(repeated());
        }
        let what = if here.expects || earlier.expects {
            "row exist expectation check"
        } else if here.compares || earlier.compares {
            "row condition check"
        } else if here.increments || earlier.increments {
            "increment"
        } else {
            continue;
        };
        return Err(Error::parameter(format!("Repeated rows do not support {what} in BatchModify.")));
    }
    Ok(())
}

/// How a write depends on stored data.
#[derive(Clone, Copy)]
struct Depends {
    expects: bool,
    compares: bool,
    increments: bool,
}
