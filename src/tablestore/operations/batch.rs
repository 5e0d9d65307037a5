//! BatchWriteRow (R2): up to 200 rows. Each is written wholly or not at all; on request, all of them or none.

use super::write::{RowDecision, WriteStart};
use crate::collections::small_map::SmallMap;
use crate::engine::{Decide, Depth, Origin, Receipt, RowView, TreeId, Writes};
use crate::error::{Error, Result};
use crate::model::{limits, partition_prefix};
use crate::tablestore::instance::Instance;
use crate::tablestore::rows::check::{self, Checked};
use crate::tablestore::rows::prepared::{PreparedRow, PreparedWrite, Written, charge, number};
use crate::tablestore::rows::request::{Existence, RowWrite};
use crate::tablestore::state::transaction::{TransactionUse, out_of_scope};
use crate::tablestore::table::Table;
use crate::tablestore::units::failure::{Charge, Outcome};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

impl Instance {
    /// Runs a batch of writes concurrently. Writes of one row take effect in order. Returns the result of each.
    ///
    /// # Errors
    /// If the request itself is wrong: too many rows or bytes, a value that is too long, or a repeated row with a
    /// condition or an increment. Then nothing is stored.
    pub async fn batch_write_row(
        &self,
        writes: &[RowWrite<'_>],
        origin: Option<Origin>,
    ) -> Outcome<Vec<Outcome<Written>>> {
        self.batch_write_row_in(None, writes, origin).await
    }

    /// The same as part of a transaction, one row after the other. They are stored at its commit.
    ///
    /// # Errors
    /// As for [`Instance::batch_write_row`], and those of transactions. A row outside the transaction gets such an error
    /// as its result.
    pub async fn batch_write_row_in(
        &self,
        transaction: Option<&str>,
        writes: &[RowWrite<'_>],
        origin: Option<Origin>,
    ) -> Outcome<Vec<Outcome<Written>>> {
        self.batch_write_rows(transaction, writes.to_vec(), origin).await
    }

    /// The same, but drops the request as soon as possible, because many rows may wait for the disk.
    ///
    /// # Errors
    /// The same.
    pub async fn batch_write_rows(
        &self,
        transaction: Option<&str>,
        writes: Vec<RowWrite<'_>>,
        origin: Option<Origin>,
    ) -> Outcome<Vec<Outcome<Written>>> {
        let nothing = |error| Charge::Nothing.failure(error);
        let ready = self.prepare_batch(&writes).map_err(nothing)?;
        let using = self.enter(transaction).map_err(nothing)?;
        let begun = self.begin_each(using.as_ref(), &ready, origin).await;
        drop((ready, using));
        drop(writes);
        Ok(self.finish_each(begun, origin).await)
    }

    /// Runs checked writes, in order on each row, up to the wait for storage. In a transaction they run one after the
    /// other.
    pub(crate) async fn begin_each(
        &self,
        using: Option<&TransactionUse<'_>>,
        rows: &[PreparedRow<'_, '_>],
        origin: Option<Origin>,
    ) -> Vec<BatchRow> {
        let mut begun = Vec::with_capacity(rows.len());
        for (at, row) in (0..).zip(rows) {
            let mut row = match self.answers.recall(origin, at) {
                Some(known) => {
                    let charge = row.1.as_ref().map_or(Charge::Nothing, |ready| charge(ready.write));
                    RowTask::Over(BatchRow::Done(known.map_err(|error| charge.failure(error))))
                }
                None => {
                    let begun = self.start_row(using, row, origin).await;
                    if let RowTask::Over(BatchRow::Done(Err(failure))) = &begun {
                        self.answers.refuse(origin, at, &failure.error);
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
    pub(crate) async fn finish_each(&self, rows: Vec<BatchRow>, origin: Option<Origin>) -> Vec<Outcome<Written>> {
        let mut results = Vec::with_capacity(rows.len());
        for (at, row) in (0..).zip(rows) {
            results.push(match row {
                BatchRow::Done(done) => done,
                BatchRow::Accepted(accepted, written, table, charge) => {
                    let stored = accepted.stored().await.inspect_err(|error| self.answers.refuse(origin, at, error));
                    let done = stored.map(|()| written).map_err(|error| charge.failure(error));
                    self.metered_on(Some(&table), done)
                }
            });
        }
        results
    }

    /// Starts a row of a batch; never waits.
    async fn start_row<'f>(
        &'f self,
        using: Option<&'f TransactionUse<'_>>,
        row: &'f PreparedRow<'_, '_>,
        origin: Option<Origin>,
    ) -> RowTask<'f> {
        let ready = match row {
            (_, Ok(ready)) => ready,
            (None, Err(failure)) => return RowTask::Over(BatchRow::Done(Err(failure.clone()))),
            (Some(name), Err(failure)) => {
                return RowTask::Over(BatchRow::Done(self.metered(*name, Err(failure.clone()))));
            }
        };
        match self.begin(using, ready, origin) {
            Err(failure) => RowTask::Over(BatchRow::Done(self.metered_on(Some(&ready.table), Err(failure)))),
            Ok(WriteStart::Accepted(accepted, written)) => {
                let (table, charge) = (Rc::clone(&ready.table), charge(ready.write));
                RowTask::Over(BatchRow::Accepted(accepted, written, table, charge))
            }
            Ok(WriteStart::Drawn(draw, reading)) => {
                let mut row = RowTask::Waits(Box::pin(async move {
                    let done = self.go_on(using, ready, origin, (draw, reading)).await;
                    let done = done.inspect_err(|failure| self.answers.refuse(origin, ready.row, &failure.error));
                    self.metered_on(Some(&ready.table), done)
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

    /// BatchWriteRow of rows of one table and partition key value, all of them or none (R4).
    ///
    /// # Errors
    /// As for [`Instance::write_atomic`].
    pub async fn batch_write_row_atomic(
        &self,
        writes: &[RowWrite<'_>],
        origin: Option<Origin>,
    ) -> Outcome<Vec<Outcome<Written>>> {
        self.write_atomic(writes, Scope::Partition, origin).await
    }

    /// Runs a batch of writes, all of them or none. Returns the result of each: if one fails, the others name it.
    ///
    /// # Errors
    /// As for [`Instance::batch_write_row`]. Rows beyond the scope fail with `OTSDataOutOfRange`.
    pub async fn write_atomic(
        &self,
        writes: &[RowWrite<'_>],
        scope: Scope,
        origin: Option<Origin>,
    ) -> Outcome<Vec<Outcome<Written>>> {
        if let Some(known) = self.answers.recall_all(origin) {
            return Ok(known);
        }
        let tables: Vec<_> = writes.iter().map(|write| self.named(write.table)).collect();
        let rows = self.write_all(writes, scope, origin).await?;
        Ok(tables.iter().zip(rows).map(|(table, row)| self.metered_on(table.as_deref(), row)).collect())
    }

    /// A gate of [`Module::Transactions`](crate::modules::Module::Transactions).
    #[inline(never)]
    fn write_all<'w>(
        &'w self,
        writes: &'w [RowWrite<'w>],
        scope: Scope,
        origin: Option<Origin>,
    ) -> Pin<Box<dyn Future<Output = AtomicRows> + 'w>> {
        Box::pin(async move {
            let ready = self.prepare_batch(writes).map_err(|error| Charge::Nothing.failure(error))?;
            let fail = |at: Option<usize>, error: &Error| {
                self.answers.refuse(origin, at.map_or(0, |row| row as u32), error);
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
            if let Some((row, error)) = self.answers.refusal(origin) {
                return fail(Some(row as usize), &error);
            }
            let mut rows = Vec::new();
            for (at, (_, ready)) in ready.iter().enumerate() {
                match ready {
                    Ok(ready) => rows.push(ready),
                    Err(failure) => return fail(Some(at), &failure.error),
                }
            }
            if let Err((at, error)) = self.check_atomic(&rows, scope) {
                return fail(at, &error);
            }
            let keys = rows.iter().map(|ready| (ready.table.tree(), &ready.key[..])).collect::<Vec<_>>();
            let drawn = rows.iter().map(|ready| self.draw(ready)).collect::<Vec<_>>();
            let writes =
                rows.iter().zip(&drawn).map(|(ready, (draw, _))| self.deciding(ready, *draw, origin)).collect();
            let mut all = AtomicBatch { instance: self, writes, derived: 0, failed: None };
            match self.engine.modify(&keys, origin, &mut all).await {
                Ok(()) => Ok(all.writes.iter().map(|write| Ok(write.written())).collect()),
                Err(error) => fail(all.failed, &error),
            }
        })
    }

    /// Checks that all rows are within the scope, and that no other transaction holds one of them. Rows of one partition key are refused
    /// together, others by the one that is held.
    fn check_atomic(
        &self,
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
            let free = self.transactions.refuse(row.table.tree(), &row.key, || self.engine.steady_ms());
            free.map_err(|error| ((scope == Scope::Tables).then_some(at), error))
        })
    }

    fn prepare_batch<'r, 'a>(&self, writes: &'r [RowWrite<'a>]) -> Result<Vec<PreparedRow<'r, 'a>>> {
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
        let now = self.clock();
        let prepare = |(write, checked): (&'r RowWrite<'a>, _)| {
            let ready = self.prepare(write, checked, now).map_err(|error| charge(write).failure(error));
            (Some(write.table), ready)
        };
        let mut ready = writes.iter().zip(checked).map(prepare).collect::<Vec<_>>();
        number(&mut ready);
        repeated_rows(ready.iter().filter_map(|(_, ready)| ready.as_ref().ok()))?;
        Ok(ready)
    }
}

/// Which rows an atomic batch may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of one table and partition key value, as in the service.
    Partition,
    /// Those of any tables: one commit stores them, wherever they are.
    Tables,
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

/// The results of the rows of an atomic batch, or why none was looked at.
type AtomicRows = Outcome<Vec<Outcome<Written>>>;

/// The writes of an atomic batch on their way through the engine.
struct AtomicBatch<'d, 'r, 'a> {
    instance: &'d Instance,
    writes: Vec<RowDecision<'d, 'r, 'a>>,
    /// The bytes of the derived writes so far.
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
        let Self { instance, writes, .. } = self;
        let rows = writes.iter().map(|write| (&*write.ready.table, &write.ready.key[..], write.consumed()));
        instance.admit_all(rows, instance.engine.now_ms())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        self.writes.iter_mut().for_each(|write| write.write(writes));
    }
}

/// The refusal of a row that comes twice in a table with derived data.
fn repeated() -> Error {
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
