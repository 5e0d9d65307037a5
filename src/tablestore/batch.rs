//! BatchWriteRow (R2): up to 200 rows, each by itself whole or not at all.

use super::Instance;
use super::check;
use super::failure::{Charge, Failure, Outcome};
use super::in_order::in_order;
use super::request::{Existence, RowWrite};
use super::write::{Ready, Written, charge};
use crate::engine::{Origin, TreeId};
use crate::error::{Error, Result};
use crate::model::limits;
use crate::model::small_map::SmallMap;
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
        let ready = self.prepare_batch(writes).map_err(|error| Charge::Nothing.failure(error))?;
        let done = ready.iter().map(|ready| async move {
            match ready {
                Ok(ready) => self.perform(ready, origin).await,
                Err(failure) => Err(failure.clone()),
            }
        });
        Ok(in_order(done).await)
    }

    fn prepare_batch<'r, 'a>(&self, writes: &'r [RowWrite<'a>]) -> Result<Vec<Result<Ready<'r, 'a>, Failure>>> {
        if writes.is_empty() {
            return Err(Error::parameter("No row is specified in BatchWriteRow."));
        }
        let most = limits::BATCH_WRITE_ROWS;
        if writes.len() > most {
            return Err(Error::parameter(format!("Rows count exceeds the upper limit: {most}.")));
        }
        let checked = writes.iter().map(check::row_write).collect::<Result<Vec<_>>>()?;
        check::size("BatchWriteRow", checked.iter().map(|checked| checked.weight.all).sum())?;
        let now = self.engine.now_ms();
        let prepare =
            |(write, checked)| self.prepare(write, checked, now).map_err(|error| charge(write).failure(error));
        let ready = writes.iter().zip(checked).map(prepare).collect::<Vec<_>>();
        repeated_rows(ready.iter().flatten())?;
        Ok(ready)
    }
}

/// A row may come twice, but not when one of its writes depends on what is stored.
fn repeated_rows<'q, 'r: 'q, 'a: 'r>(rows: impl Iterator<Item = &'q Ready<'r, 'a>> + Clone) -> Result<()> {
    if !rows.clone().any(|row| row.write.needs_row()) {
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
