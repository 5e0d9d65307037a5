//! BatchWriteRow (R2): up to 200 rows, each by itself whole or not at all; or, if so asked, all of them or none.

use super::Instance;
use super::check;
use super::failure::{Charge, Outcome};
use super::in_order::in_order;
use super::request::{Existence, RowWrite};
use super::transaction::{Using, out_of_scope};
use super::write::{Deciding, Ready, Row, Written, charge};
use crate::engine::{Decide, Origin, RowView, TreeId, Writes};
use crate::error::{Error, Result};
use crate::model::small_map::SmallMap;
use crate::model::{Consumed, limits, partition_prefix};
use crate::storage::Storage;

impl<S: Storage> Instance<S> {
    /// Does a batch of writes side by side; those on one row take effect in their order. Gives each one's result.
    ///
    /// # Errors
    /// When the request itself is wrong: too many rows or bytes, a value that is too long, a row twice with a condition
    /// or an increment. Then nothing is stored.
    pub async fn batch_write_row(
        &self,
        writes: &[RowWrite<'_>],
        origin: Option<Origin>,
    ) -> Outcome<Vec<Outcome<Written>>> {
        self.batch_write_row_in(None, writes, origin).await
    }

    /// The same as part of a transaction, one row after the other: they are stored when that is committed.
    ///
    /// # Errors
    /// As for [`Instance::batch_write_row`], and those of transactions; for a row that is not the transaction's, they are
    /// its result.
    pub async fn batch_write_row_in(
        &self,
        transaction: Option<&str>,
        writes: &[RowWrite<'_>],
        origin: Option<Origin>,
    ) -> Outcome<Vec<Outcome<Written>>> {
        let nothing = |error| Charge::Nothing.failure(error);
        let ready = self.prepare_batch(writes).map_err(nothing)?;
        let using = self.enter(transaction).map_err(nothing)?;
        Ok(self.perform_each(using.as_ref(), &ready, origin).await)
    }

    /// Does writes that were checked, in their order on each row.
    pub(super) async fn perform_each(
        &self,
        using: Option<&Using<'_>>,
        rows: &[Row<'_, '_>],
        origin: Option<Origin>,
    ) -> Vec<Outcome<Written>> {
        let done = rows.iter().map(|(name, ready)| async move {
            match ready {
                Ok(ready) => {
                    let done = self.perform(using, ready, origin).await;
                    self.metered_on(Some(&ready.table), done)
                }
                Err(failure) => match name {
                    Some(name) => self.metered(*name, Err(failure.clone())),
                    None => Err(failure.clone()),
                },
            }
        });
        if using.is_none() {
            return in_order(done).await;
        }
        let mut results = Vec::new();
        for write in done {
            results.push(write.await);
        }
        results
    }

    /// Does a batch of writes, all of one table and partition key value, all of them or none (R4). Gives each one's result:
    /// if one fails, the others tell which.
    ///
    /// # Errors
    /// As for [`Instance::batch_write_row`].
    pub async fn batch_write_row_atomic(
        &self,
        writes: &[RowWrite<'_>],
        origin: Option<Origin>,
    ) -> Outcome<Vec<Outcome<Written>>> {
        let rows = self.write_atomic(writes, origin).await?;
        Ok(writes.iter().zip(rows).map(|(write, row)| self.metered(write.table, row)).collect())
    }

    async fn write_atomic(&self, writes: &[RowWrite<'_>], origin: Option<Origin>) -> Outcome<Vec<Outcome<Written>>> {
        let ready = self.prepare_batch(writes).map_err(|error| Charge::Nothing.failure(error))?;
        let fail = |at: Option<usize>, error: &Error| {
            let failed = writes.iter().enumerate().map(|(row, write)| {
                let error = match at {
                    Some(at) if at != row => {
                        Error::new(error.code(), format!("Row {at} of the atomic batch failed: {}", error.message()))
                    }
                    _ => error.clone(),
                };
                Err(charge(write).failure(error))
            });
            Ok(failed.collect())
        };
        let mut rows = Vec::new();
        for (at, (_, ready)) in ready.iter().enumerate() {
            match ready {
                Ok(ready) => rows.push(ready),
                Err(failure) => return fail(Some(at), &failure.error),
            }
        }
        if let Err(error) = self.check_atomic(&rows) {
            return fail(None, &error);
        }
        let keys = rows.iter().map(|ready| (ready.table.tree(), &ready.key[..])).collect::<Vec<_>>();
        let drawn = rows.iter().map(|ready| self.draw(ready)).collect::<Vec<_>>();
        let writes = rows.iter().zip(&drawn).map(|(ready, (draw, _))| self.deciding(ready, *draw)).collect();
        let mut all = Together { writes, failed: None };
        match self.engine.modify(&keys, origin, &mut all).await {
            Ok(()) => Ok(all.writes.iter().map(|write| Ok(write.written())).collect()),
            Err(error) => fail(all.failed, &error),
        }
    }

    /// Whether all rows have one partition key value, and nobody else's transaction has it.
    fn check_atomic(&self, rows: &[&Ready<'_, '_>]) -> Result<()> {
        let Some((first, others)) = rows.split_first() else { return Ok(()) };
        let partition = partition_prefix(&first.key).unwrap_or_default();
        for other in others {
            if other.table.tree() != first.table.tree() || !other.key.starts_with(partition) {
                let words = ["atomic", "Atomic"];
                return Err(out_of_scope(words, (&first.table, &first.key), (&other.table, &other.key)));
            }
        }
        self.transactions.refuse(first.table.tree(), &first.key, first.now)?;
        let consumed = rows.iter().fold(Consumed::default(), |sum, row| sum + row.consumed);
        self.admit(&first.table, &first.key, consumed, first.now)
    }

    fn prepare_batch<'r, 'a>(&self, writes: &'r [RowWrite<'a>]) -> Result<Vec<Row<'r, 'a>>> {
        if writes.is_empty() {
            return Err(Error::parameter("No row is specified in BatchWriteRow."));
        }
        let most = limits::BATCH_WRITE_ROWS;
        if writes.len() > most {
            return Err(Error::parameter(format!("Rows count exceeds the upper limit: {most}.")));
        }
        let checked = writes.iter().map(check::row_write).collect::<Result<Vec<_>>>()?;
        check::size("BatchWriteRow", checked.iter().map(|checked| checked.weight.all).sum())?;
        let now = self.clock();
        let prepare = |(write, checked): (&'r RowWrite<'a>, _)| {
            let ready = self.prepare(write, checked, now).map_err(|error| charge(write).failure(error));
            (Some(write.table), ready)
        };
        let ready = writes.iter().zip(checked).map(prepare).collect::<Vec<_>>();
        repeated_rows(ready.iter().filter_map(|(_, ready)| ready.as_ref().ok()))?;
        Ok(ready)
    }
}

/// The writes of an atomic batch on their way through the engine.
struct Together<'d, 'r, 'a, S> {
    writes: Vec<Deciding<'d, 'r, 'a, S>>,
    /// Which of them failed by itself.
    failed: Option<usize>,
}

impl<S> Together<'_, '_, '_, S> {
    /// Whether the row of a write has others too.
    fn repeats(&self, at: usize) -> bool {
        let Some(own) = self.writes.get(at) else { return false };
        self.writes.iter().filter(|other| other.ready.key == own.ready.key).count() > 1
    }
}

impl<S: Storage> Decide for Together<'_, '_, '_, S> {
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()> {
        let Some(write) = self.writes.get_mut(at) else { return Ok(()) };
        write.see(at, row).inspect_err(|_| self.failed = Some(at))?;
        // As a whole it would be written over what the batch has made of the row before.
        let repeated = write.decided.whole.is_some() && self.repeats(at);
        if let Some(write) = self.writes.get_mut(at).filter(|_| repeated) {
            write.decided.whole = None;
        }
        Ok(())
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        self.writes.iter_mut().for_each(|write| write.write(writes));
    }
}

/// A row may come twice, but not when one of its writes depends on what is stored, nor in a table with an index.
fn repeated_rows<'q, 'r: 'q, 'a: 'r>(rows: impl Iterator<Item = &'q Ready<'r, 'a>> + Clone) -> Result<()> {
    let matters = |row: &Ready<'_, '_>| row.write.needs_row() || row.table.is_indexed();
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
            return Err(Error::parameter("Duplicate rows detected in MultiPut."));
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

/// In which ways a write depends on what is stored.
#[derive(Clone, Copy)]
struct Depends {
    expects: bool,
    compares: bool,
    increments: bool,
}
