//! PutRow, UpdateRow and DeleteRow (R1, R4).
//!
//! A write that depends on nothing stored goes straight to the engine with its own stamp. Others are decided by
//! [`Engine::modify`], which holds their row meanwhile. They have a row existence condition, an increment, the deletion
//! of a version, or a clock behind the row's newest stamp.
//!
//! [`Engine::modify`]: crate::engine::Engine::modify

use crate::engine::{Decide, Depth, Origin, Receipt, RowView, Writes};
use crate::error::Result;
use crate::model::capacity::units;
use crate::model::{Consumed, RowChange, TableName, TableSchema, ValueRef, limits};
use crate::tablestore::instance::Instance;
use crate::tablestore::rows::check::{self, Checked};
use crate::tablestore::rows::decide::{Decision, RowCells, plan};
use crate::tablestore::rows::fits;
use crate::tablestore::rows::prepared::{PreparedWrite, Written, charge};
use crate::tablestore::rows::request::{Mutation, RowWrite};
use crate::tablestore::rows::time::{Draw, RowHash, Stamper};
use crate::tablestore::state::catalog;
use crate::tablestore::state::transaction::TransactionUse;
use crate::tablestore::units::failure::Outcome;
use crate::tablestore::units::meter::Consumes;
use std::cell::RefCell;
use std::rc::Rc;

impl Instance {
    /// Runs one PutRow, UpdateRow or DeleteRow; resolves when it is durable.
    ///
    /// # Errors
    /// Any error of the request, its key, its versions or its condition; then nothing is stored.
    pub async fn write_row(&self, write: &RowWrite<'_>, origin: Option<Origin>) -> Outcome<Written> {
        self.write_row_in(None, write, origin).await
    }

    /// The same as part of a transaction: it is stored at the commit.
    ///
    /// # Errors
    /// As for [`Instance::write_row`], and those of transactions: `OTSParameterInvalid` for a malformed id,
    /// `OTSSessionNotExist`, `OTSSessionBusy`, `OTSDataOutOfRange`, `OTSOutOfTransactionDataSizeLimit`.
    pub async fn write_row_in(
        &self,
        transaction: Option<&str>,
        write: &RowWrite<'_>,
        origin: Option<Origin>,
    ) -> Outcome<Written> {
        if let Some(known) = self.answers.recall(origin, 0) {
            return known.map_err(|error| charge(write).failure(error));
        }
        let ready = check::row_write(write)
            .and_then(|checked| {
                check::size(write.operation(), checked.weight.all, limits::WRITE_BYTES)?;
                let using = self.enter(transaction)?;
                Ok((using, self.prepare(write, checked, self.clock())?))
            })
            .map_err(|error| charge(write).failure(error));
        let done = match &ready {
            Ok((using, ready)) => {
                let done = self.perform(using.as_ref(), ready, origin).await;
                self.metered_on(Some(&ready.table), done)
            }
            Err(failure) => self.metered(write.table, Err(failure.clone())),
        };
        done.inspect_err(|failure| self.answers.refuse(origin, 0, &failure.error))
    }

    /// Checks a write against its table, at the time `now`.
    pub(crate) fn prepare<'r, 'a>(
        &self,
        write: &'r RowWrite<'a>,
        checked: Checked<'r>,
        now: i64,
    ) -> Result<PreparedWrite<'r, 'a>> {
        let Checked { weight, condition, .. } = checked;
        let table = self.table(write.table)?;
        let schema = table.schema();
        let assigned = write.key.auto_increments() > 0;
        if assigned {
            check::assigned(write)?;
        }
        let values = write.key.fit_new_row(schema, &mut || table.ids.assign());
        let values = values.map_err(|error| error.in_table(table.name()))?;
        fits::check(write, &table, now)?;
        let counted = schema.auto_increment().and_then(|place| values.get(place));
        let is_chosen = counted.is_some() && !assigned && !matches!(write.mutation, Mutation::Delete);
        let must_exist = is_chosen && schema.assigned_only().is_some();
        if must_exist {
            check::chosen(write)?;
        } else if let Some(ValueRef::Integer(value)) = counted
            && is_chosen
        {
            table.ids.observe(*value);
        }
        let reserve = counted.is_some() && !table.ids.is_reserved(self.engine.failures());
        let mut key = Vec::with_capacity(values.metered_bytes() + 3 * values.len());
        values.encode(&mut key);
        let read = if write.has_condition() { units(weight.key) } else { 0 };
        let consumed = Consumed { read, write: units(weight.all) };
        let derives = table.derives();
        Ok(PreparedWrite {
            write,
            condition,
            key,
            values,
            assigned,
            must_exist,
            reserve,
            derives,
            consumed,
            bytes: weight.all,
            row: 0,
            now,
            table,
        })
    }

    /// Runs a checked write, as part of a transaction if there is one.
    pub(crate) async fn perform(
        &self,
        using: Option<&TransactionUse<'_>>,
        ready: &PreparedWrite<'_, '_>,
        origin: Option<Origin>,
    ) -> Outcome<Written> {
        match self.begin(using, ready, origin)? {
            WriteStart::Accepted(accepted, written) => {
                accepted.stored().await.map_err(|error| charge(ready.write).failure(error))?;
                Ok(written)
            }
            // Most writes are accepted at once, and must not carry the state that others need.
            WriteStart::Drawn(draw, reading) => Box::pin(self.go_on(using, ready, origin, (draw, reading))).await,
        }
    }

    /// Runs as much of a checked write as possible at once. If it only has to wait for the commit, that is all of it, and
    /// the request is no longer needed.
    pub(crate) fn begin(
        &self,
        using: Option<&TransactionUse<'_>>,
        ready: &PreparedWrite<'_, '_>,
        origin: Option<Origin>,
    ) -> Outcome<WriteStart<'_>> {
        let PreparedWrite { write, table, key, now, .. } = ready;
        let allowed = match using {
            Some(using) => using.check_row(table, key),
            None => self.transactions.refuse(table.tree(), key, || self.engine.steady_ms()),
        };
        let allowed = allowed.and_then(|()| match ready.derives {
            true => Ok(()),
            false => self.admit(table, key, ready.consumed, *now),
        });
        allowed.map_err(|error| charge(write).failure(error))?;
        let (draw, reading) = self.draw(ready);
        if using.is_none() {
            let accepted = match draw {
                Draw::Stamp(stamp) if ready.is_alone() && !self.answers.keep(origin) => {
                    let change = RowChange { kind: write.kind(), stamp, cells: &plan(&write.mutation, stamp) };
                    let accepted = self.engine.write_now(table.tree(), key, &change, origin);
                    Ok(accepted.map(|accepted| (accepted, ready.written())))
                }
                draw if !ready.assigned => self.decide_now(ready, draw, origin),
                _ => Ok(None),
            };
            if let Some((accepted, written)) = accepted.map_err(|error| charge(write).failure(error))? {
                return Ok(WriteStart::Accepted(accepted, written));
            }
        }
        Ok(WriteStart::Drawn(draw, reading))
    }

    /// Continues a write that was begun and not accepted.
    pub(crate) async fn go_on(
        &self,
        using: Option<&TransactionUse<'_>>,
        ready: &PreparedWrite<'_, '_>,
        origin: Option<Origin>,
        (draw, _reading): (Draw, Option<StampHold<'_>>),
    ) -> Outcome<Written> {
        let PreparedWrite { write, table, key, .. } = ready;
        let done = match draw {
            // While a write with an auto-increment key waits, the commit that it relies on may fail: it then reserves its
            // values anew.
            Draw::Stamp(stamp)
                if using.is_none()
                    && ready.is_alone()
                    && table.schema().auto_increment().is_none()
                    && !self.answers.keep(origin) =>
            {
                let change = RowChange { kind: write.kind(), stamp, cells: &plan(&write.mutation, stamp) };
                self.engine.write(table.tree(), key, &change, origin).await.map(|()| ready.written())
            }
            draw => self.decide(using, ready, draw, origin).await,
        };
        done.map_err(|error| charge(write).failure(error))
    }

    /// Runs a write that depends on its row at once, if that row can be read at once.
    fn decide_now(
        &self,
        ready: &PreparedWrite<'_, '_>,
        draw: Draw,
        origin: Option<Origin>,
    ) -> Result<Option<(Receipt, Written)>> {
        let mut deciding = self.deciding(ready, draw, origin);
        let (row, sees) = ((ready.table.tree(), &ready.key[..]), !deciding.is_decided());
        let accepted = self.engine.modify_now(row, sees, origin, &mut deciding)?;
        Ok(accepted.map(|accepted| (accepted, deciding.written())))
    }

    /// Runs a write that depends on its row, or writes to other rows too.
    async fn decide(
        &self,
        using: Option<&TransactionUse<'_>>,
        ready: &PreparedWrite<'_, '_>,
        draw: Draw,
        origin: Option<Origin>,
    ) -> Result<Written> {
        let mut deciding = self.deciding(ready, draw, origin.filter(|_| using.is_none()));
        if let Some(using) = using {
            self.write_inside(using, &mut deciding).await?;
        } else {
            let row = [(ready.table.tree(), &ready.key[..])];
            let known = ready.assigned && draw != Draw::Read;
            if known {
                // A key that was just assigned has no stored row.
                deciding.see(0, None)?;
            }
            if known || deciding.is_decided() && ready.table.schema().auto_increment().is_none() {
                self.engine.write_unseen(&row, origin, &mut deciding).await?;
            } else {
                self.engine.modify(&row, origin, &mut deciding).await?;
            }
        }
        Ok(deciding.written())
    }

    /// Draws the stamp of a write. If the row has to be read for it, the guard marks that until it is dropped.
    pub(crate) fn draw(&self, ready: &PreparedWrite<'_, '_>) -> (Draw, Option<StampHold<'_>>) {
        self.draw_row(ready.row_hash(), ready.now)
    }

    /// The same for a row, at the time `now`.
    pub(crate) fn draw_row(&self, row: RowHash, now: i64) -> (Draw, Option<StampHold<'_>>) {
        let draw = self.stamper.borrow_mut().draw(row, now);
        (draw, (draw == Draw::Read).then(|| StampHold { stamper: &self.stamper, row }))
    }

    /// A write with a drawn stamp.
    pub(crate) fn deciding<'d, 'r, 'a>(
        &'d self,
        ready: &'d PreparedWrite<'r, 'a>,
        draw: Draw,
        origin: Option<Origin>,
    ) -> RowDecision<'d, 'r, 'a> {
        let stamp = if let Draw::Stamp(stamp) = draw { stamp } else { 0 };
        let decided = Decision { stamp, ..Decision::default() };
        RowDecision { instance: self, ready, draw, origin, decided }
    }

    /// The schema of a table, if it exists.
    pub fn schema(&self, table: TableName<'_>) -> Option<Rc<TableSchema>> {
        self.tables.borrow().get(table.as_str()).map(|table| Rc::clone(table.schema()))
    }
}

impl Consumes for Written {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

/// A write that was begun.
pub(crate) enum WriteStart<'i> {
    /// It is complete once it is stored, with this result.
    Accepted(Receipt, Written),
    /// It has its stamp, or has to read its row for that.
    Drawn(Draw, Option<StampHold<'i>>),
}

/// A write inside the engine: it sees its row, then it writes.
pub(crate) struct RowDecision<'d, 'r, 'a> {
    instance: &'d Instance,
    pub(crate) ready: &'d PreparedWrite<'r, 'a>,
    draw: Draw,
    /// Its sender, whose answers may have to be stored.
    origin: Option<Origin>,
    pub(crate) decided: Decision,
}

impl RowDecision<'_, '_, '_> {
    /// Whether it does not have to see its row.
    pub(crate) fn is_decided(&self) -> bool {
        self.draw != Draw::Read && self.ready.is_plain()
    }

    /// Its cost.
    pub(crate) fn consumed(&self) -> Consumed {
        self.ready.consumed + self.decided.derived.consumed()
    }

    /// Its effect on its row, which it has seen.
    pub(crate) fn change(&self) -> RowCells<'_> {
        (self.ready.write.kind(), self.decided.cells(self.ready.write))
    }

    /// Its result, once it is complete.
    pub(crate) fn written(&self) -> Written {
        Written { consumed: self.consumed(), row: self.ready.returned(&self.decided.incremented) }
    }
}

impl Decide for RowDecision<'_, '_, '_> {
    fn see(&mut self, _: usize, view: Option<&RowView<'_>>) -> Result<()> {
        let Self { instance, ready, draw, .. } = *self;
        let stored = view.map(RowView::stamp);
        let decided = ready.decide(view, || match draw {
            // Writes that waited for the stored state may decide in another order than they drew stamps. A write with an
            // older stamp would disappear below the row that it was decided from.
            Draw::Stamp(stamp) if stored.is_none_or(|stored| stored < stamp) => stamp,
            _ => instance.stamper.borrow_mut().settle(ready.row_hash(), ready.now, stored),
        });
        let decided = decided.inspect_err(|error| instance.answers.refuse(self.origin, ready.row, error));
        self.decided = decided?;
        Ok(())
    }

    fn agree(&mut self) -> Result<()> {
        let Self { instance, ready, .. } = *self;
        match ready.derives {
            true => instance.admit(&ready.table, &ready.key, self.consumed(), instance.engine.now_ms()),
            false => Ok(()),
        }
    }

    fn depth(&self, _: usize) -> Depth {
        self.ready.depth()
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        // A transaction knows the order of its records only at its commit.
        match self.ready.table.stream().filter(|_| !writes.is_private()) {
            Some(stream) => {
                stream.write(&self.instance.engine, self.ready, &self.decided, writes);
                self.instance.trim_soon(&self.ready.table);
            }
            None => self.decided.write(self.ready, None, writes),
        }
        if self.instance.answers.keep(self.origin) {
            let (written, stamp) = (self.written(), self.decided.stamp);
            self.instance.answers.put(self.origin, self.ready.row, &written, stamp, writes);
        }
        let table = &self.ready.table;
        // Not earlier: a refused write stores nothing, and other writes would rely on the reservation.
        if table.schema().auto_increment().is_some()
            && let Some(given) = table.ids.reserve(self.instance.engine.failures())
        {
            catalog::put_progress(table, Some(given), self.decided.stamp, writes);
        }
    }
}

/// A write that waits to read its row's newest stamp. Ends in every case when the write ends.
pub(crate) struct StampHold<'a> {
    stamper: &'a RefCell<Stamper>,
    row: RowHash,
}

impl Drop for StampHold<'_> {
    fn drop(&mut self) {
        self.stamper.borrow_mut().release(self.row);
    }
}
