//! PutRow, UpdateRow and DeleteRow (R1, R4).
//!
//! A write that depends on nothing stored goes straight to the engine with a stamp of its own. One that does (a row
//! existence condition, an increment, the deletion of a version, a clock behind the row's newest stamp) is decided by
//! [`Engine::modify`], which holds its row meanwhile.
//!
//! [`Engine::modify`]: crate::engine::Engine::modify

use super::check::{self, Checked};
use super::decide::{Decided, Incremented, RowCells, plan};
use super::failure::{Charge, Failure, Outcome};
use super::request::{Mutation, ReturnContent, RowWrite};
use super::table::Table;
use super::time::{Draw, RowHash, Stamper};
use super::transaction::Using;
use super::{Instance, TableName, catalog, fits};
use crate::engine::{Accepted, Decide, Depth, Origin, RowView, Writes};
use crate::error::Result;
use crate::model::capacity::units;
use crate::model::filter::CheckedFilter;
use crate::model::sort::sort_by;
use crate::model::{Consumed, KeyRefs, KeyValue, RowChange, TableSchema, Value, ValueRef};
use crate::storage::Storage;
use std::cell::RefCell;
use std::rc::Rc;

/// What a write gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// What it cost (C1).
    pub consumed: Consumed,
    /// What it was asked to give back.
    pub row: Option<ReturnedRow>,
}

/// What a write gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnedRow {
    /// The table's schema.
    pub schema: Rc<TableSchema>,
    /// The primary key; empty when modified columns were asked for instead.
    pub key: Vec<KeyValue>,
    /// The modified columns with their versions and new values, sorted by name.
    pub cells: Vec<(String, i64, Value)>,
}

/// A write that was checked against its table and can be done.
pub(super) struct Ready<'r, 'a> {
    pub(super) write: &'r RowWrite<'a>,
    pub(super) condition: Option<CheckedFilter<'r>>,
    pub(super) table: Rc<Table>,
    pub(super) key: Vec<u8>,
    pub(super) values: KeyRefs<'a>,
    /// Whether the store has just given the row its key.
    pub(super) assigned: bool,
    /// Whether something else has to be stored with the row: up to where values of the counted key column are given away.
    pub(super) reserve: bool,
    /// Whether its table had an index then: what it costs in all is known once its row was seen.
    pub(super) indexed: bool,
    /// What it costs, without its table's indexes.
    pub(super) consumed: Consumed,
    /// The size of its data.
    pub(super) bytes: usize,
    /// When it was checked, in the same synchronous section in which it is first polled.
    pub(super) now: i64,
}

/// A row of many: its table's name, if that is known, and its write or why there is none.
pub(super) type Row<'r, 'a> = (Option<TableName<'a>>, Result<Ready<'r, 'a>, Failure>);

impl<S: Storage> Instance<S> {
    /// Does one PutRow, UpdateRow or DeleteRow; resolves when it is durable.
    ///
    /// # Errors
    /// Everything that can be wrong with the request, its key, its versions or its condition; then nothing is stored.
    pub async fn write_row(&self, write: &RowWrite<'_>, origin: Option<Origin>) -> Outcome<Written> {
        self.write_row_in(None, write, origin).await
    }

    /// The same as part of a transaction: it is stored when that is committed.
    ///
    /// # Errors
    /// As for [`Instance::write_row`], and those of transactions: `OTSParameterInvalid` for what is no id,
    /// `OTSSessionNotExist`, `OTSSessionBusy`, `OTSDataOutOfRange`, `OTSOutOfTransactionDataSizeLimit`.
    pub async fn write_row_in(
        &self,
        transaction: Option<&str>,
        write: &RowWrite<'_>,
        origin: Option<Origin>,
    ) -> Outcome<Written> {
        let ready = check::row_write(write)
            .and_then(|checked| {
                check::size(write.operation(), checked.weight.all)?;
                let using = self.enter(transaction)?;
                Ok((using, self.prepare(write, checked, self.clock())?))
            })
            .map_err(|error| charge(write).failure(error));
        match &ready {
            Ok((using, ready)) => {
                let done = self.perform(using.as_ref(), ready, origin).await;
                self.metered_on(Some(&ready.table), done)
            }
            Err(failure) => self.metered(write.table, Err(failure.clone())),
        }
    }

    /// Checks a write against its table, at the time `now`.
    pub(super) fn prepare<'r, 'a>(
        &self,
        write: &'r RowWrite<'a>,
        checked: Checked<'r>,
        now: i64,
    ) -> Result<Ready<'r, 'a>> {
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
        if let Some(ValueRef::Integer(value)) = counted
            && !matches!(write.mutation, Mutation::Delete)
        {
            table.ids.observe(*value);
        }
        let reserve = counted.is_some() && !table.ids.is_reserved(self.engine.failures());
        let mut key = Vec::with_capacity(values.metered_bytes() + 3 * values.len());
        values.encode(&mut key);
        let read = if write.has_condition() { units(weight.key) } else { 0 };
        let consumed = Consumed { read, write: units(weight.all) };
        let indexed = table.is_indexed();
        Ok(Ready { write, condition, key, values, assigned, reserve, indexed, consumed, bytes: weight.all, now, table })
    }

    /// Does a checked write, as part of a transaction if there is one.
    pub(super) async fn perform(
        &self,
        using: Option<&Using<'_>>,
        ready: &Ready<'_, '_>,
        origin: Option<Origin>,
    ) -> Outcome<Written> {
        match self.begin(using, ready, origin)? {
            Begun::Accepted(accepted, written) => {
                accepted.stored().await.map_err(|error| charge(ready.write).failure(error))?;
                Ok(written)
            }
            // Most writes are accepted at once: they must not carry around what the others need.
            Begun::Drawn(draw, reading) => Box::pin(self.go_on(using, ready, origin, (draw, reading))).await,
        }
    }

    /// Does as much of a checked write as can be done at once. That is all of it, if nothing has to be waited for but the
    /// commit: then nothing of the request is needed any more.
    pub(super) fn begin(
        &self,
        using: Option<&Using<'_>>,
        ready: &Ready<'_, '_>,
        origin: Option<Origin>,
    ) -> Outcome<Begun<'_>> {
        let Ready { write, table, key, now, .. } = ready;
        let allowed = match using {
            Some(using) => using.check_row(table, key),
            None => self.transactions.refuse(table.tree(), key, || self.engine.steady_ms()),
        };
        let allowed = allowed.and_then(|()| match ready.indexed {
            true => Ok(()),
            false => self.admit(table, key, ready.consumed, *now),
        });
        allowed.map_err(|error| charge(write).failure(error))?;
        let (draw, reading) = self.draw(ready);
        if using.is_none() {
            let accepted = match draw {
                Draw::Stamp(stamp) if ready.is_plain() => {
                    let change = RowChange { kind: write.kind(), stamp, cells: &plan(&write.mutation, stamp) };
                    let accepted = self.engine.write_now(table.tree(), key, &change, origin);
                    Ok(accepted.map(|accepted| (accepted, ready.written())))
                }
                draw if !ready.assigned => self.decide_now(ready, draw, origin),
                _ => Ok(None),
            };
            if let Some((accepted, written)) = accepted.map_err(|error| charge(write).failure(error))? {
                return Ok(Begun::Accepted(accepted, written));
            }
        }
        Ok(Begun::Drawn(draw, reading))
    }

    /// Goes on with a write that was begun and not accepted.
    pub(super) async fn go_on(
        &self,
        using: Option<&Using<'_>>,
        ready: &Ready<'_, '_>,
        origin: Option<Origin>,
        (draw, _reading): (Draw, Option<Reading<'_>>),
    ) -> Outcome<Written> {
        let Ready { write, table, key, .. } = ready;
        let done = match draw {
            // While one of a counted key waits, the commit that it relies on may fail: it reserves its values anew.
            Draw::Stamp(stamp) if using.is_none() && ready.is_plain() && table.schema().auto_increment().is_none() => {
                let change = RowChange { kind: write.kind(), stamp, cells: &plan(&write.mutation, stamp) };
                self.engine.write(table.tree(), key, &change, origin).await.map(|()| ready.written())
            }
            draw => self.decide(using, ready, draw, origin).await,
        };
        done.map_err(|error| charge(write).failure(error))
    }

    /// Does a write that depends on its row at once, if that can be read at once.
    fn decide_now(
        &self,
        ready: &Ready<'_, '_>,
        draw: Draw,
        origin: Option<Origin>,
    ) -> Result<Option<(Accepted, Written)>> {
        let mut deciding = self.deciding(ready, draw);
        let accepted = self.engine.modify_now((ready.table.tree(), &ready.key), origin, &mut deciding)?;
        Ok(accepted.map(|accepted| (accepted, deciding.written())))
    }

    /// Does a write that depends on its row, or writes to more than that.
    async fn decide(
        &self,
        using: Option<&Using<'_>>,
        ready: &Ready<'_, '_>,
        draw: Draw,
        origin: Option<Origin>,
    ) -> Result<Written> {
        let mut deciding = self.deciding(ready, draw);
        if let Some(using) = using {
            self.write_inside(using, &mut deciding).await?;
        } else if ready.assigned && draw != Draw::Read {
            // Nothing is stored under a key that was just given.
            deciding.see(0, None)?;
            self.engine.write_unseen(&[(ready.table.tree(), &ready.key)], origin, &mut deciding).await?;
        } else {
            self.engine.modify(&[(ready.table.tree(), &ready.key)], origin, &mut deciding).await?;
        }
        Ok(deciding.written())
    }

    /// Draws the stamp of a write. If the row has to be read for it, that lasts as long as the guard.
    pub(super) fn draw(&self, ready: &Ready<'_, '_>) -> (Draw, Option<Reading<'_>>) {
        let row = ready.row();
        let draw = self.stamper.borrow_mut().draw(row, ready.now);
        (draw, (draw == Draw::Read).then(|| Reading { stamper: &self.stamper, row }))
    }

    /// A write whose stamp was drawn.
    pub(super) fn deciding<'d, 'r, 'a>(&'d self, ready: &'d Ready<'r, 'a>, draw: Draw) -> Deciding<'d, 'r, 'a, S> {
        let stamp = if let Draw::Stamp(stamp) = draw { stamp } else { 0 };
        let decided = Decided { stamp, ..Decided::default() };
        Deciding { instance: self, ready, draw, decided }
    }

    /// The schema of a table, if there is one of that name.
    pub fn schema(&self, table: TableName<'_>) -> Option<Rc<TableSchema>> {
        self.tables.borrow().get(table.as_str()).map(|table| Rc::clone(table.schema()))
    }
}

/// A write that was begun.
pub(super) enum Begun<'i> {
    /// It is done once it is stored; what it gives then.
    Accepted(Accepted, Written),
    /// It has its stamp, or has to read its row for that.
    Drawn(Draw, Option<Reading<'i>>),
}

/// A write on its way through the engine: it sees its row, then it writes.
pub(super) struct Deciding<'d, 'r, 'a, S> {
    instance: &'d Instance<S>,
    pub(super) ready: &'d Ready<'r, 'a>,
    draw: Draw,
    pub(super) decided: Decided,
}

impl<S> Deciding<'_, '_, '_, S> {
    /// Whether it does not have to see its row.
    pub(super) fn is_decided(&self) -> bool {
        self.draw != Draw::Read && self.ready.is_plain()
    }

    /// What it costs.
    pub(super) fn consumed(&self) -> Consumed {
        self.ready.consumed + self.decided.index.consumed
    }

    /// What it does to its row, once it has seen that.
    pub(super) fn change(&self) -> RowCells<'_> {
        (self.ready.write.kind(), self.decided.cells(self.ready.write))
    }

    /// What it gives, once it is done.
    pub(super) fn written(&self) -> Written {
        Written { consumed: self.consumed(), row: self.ready.returned(&self.decided.incremented) }
    }
}

impl<S: Storage> Decide for Deciding<'_, '_, '_, S> {
    fn see(&mut self, _: usize, view: Option<&RowView<'_>>) -> Result<()> {
        let Self { instance, ready, draw, .. } = *self;
        let stored = view.map(RowView::stamp);
        self.decided = ready.decide(view, || match draw {
            // Writes that waited until it was known what is stored may decide in another order than they drew in; one with
            // an older stamp would vanish below what it was decided upon.
            Draw::Stamp(stamp) if stored.is_none_or(|stored| stored < stamp) => stamp,
            _ => instance.stamper.borrow_mut().settle(ready.row(), ready.now, stored),
        })?;
        Ok(())
    }

    fn agree(&mut self) -> Result<()> {
        let Self { instance, ready, .. } = *self;
        match ready.indexed {
            true => instance.admit(&ready.table, &ready.key, self.consumed(), instance.engine.now_ms()),
            false => Ok(()),
        }
    }

    fn depth(&self, _: usize) -> Depth {
        self.ready.depth()
    }

    fn write(&mut self, writes: &mut Writes<'_>) {
        self.decided.write(self.ready, writes);
        let table = &self.ready.table;
        // Not before: a write that is refused stores nothing, and others would rely on it.
        if table.schema().auto_increment().is_some()
            && let Some(given) = table.ids.reserve(self.instance.engine.failures())
        {
            catalog::put_progress(table, Some(given), self.decided.stamp, writes);
        }
    }
}

/// What a refused write costs.
pub(super) fn charge(write: &RowWrite<'_>) -> Charge {
    if matches!(write.mutation, Mutation::Update(_)) { Charge::Update } else { Charge::Write }
}

/// A write that waits to read its row's newest stamp; ends however the write ends.
pub(super) struct Reading<'a> {
    stamper: &'a RefCell<Stamper>,
    row: RowHash,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.stamper.borrow_mut().release(self.row);
    }
}

impl Ready<'_, '_> {
    /// The row, as the stamper knows it.
    fn row(&self) -> RowHash {
        RowHash::of(self.table.tree(), &self.key)
    }

    /// Whether it can be written without looking at its row, and touches nothing else.
    pub(super) fn is_plain(&self) -> bool {
        !self.write.sees_row() && !self.reserve && !self.table.is_indexed()
    }

    /// What it gives if it increments nothing and its table has no index.
    fn written(&self) -> Written {
        Written { consumed: self.consumed, row: self.returned(&[]) }
    }

    pub(super) fn returned(&self, incremented: &[Incremented]) -> Option<ReturnedRow> {
        let schema = Rc::clone(self.table.schema());
        match &self.write.returns {
            ReturnContent::None => None,
            ReturnContent::PrimaryKey => {
                let key = self.values.iter().map(|value| key_value(*value)).collect();
                Some(ReturnedRow { schema, key, cells: Vec::new() })
            }
            ReturnContent::AfterModify(columns) => {
                let listed = |new: &Incremented| columns.iter().any(|column| column.as_str() == new.column);
                let mut cells: Vec<&Incremented> = incremented.iter().filter(|new| listed(new)).collect();
                sort_by(&mut cells, |a, b| a.column.cmp(&b.column));
                let cells = cells.into_iter().map(|new| (new.column.clone(), new.version, Value::Integer(new.value)));
                let cells = cells.collect();
                Some(ReturnedRow { schema, key: Vec::new(), cells })
            }
        }
    }
}

/// A key value with bytes of its own. A schema lets only three types through.
pub(super) fn key_value(value: ValueRef<'_>) -> KeyValue {
    match value {
        ValueRef::Integer(v) => KeyValue::Integer(v),
        ValueRef::Binary(v) => KeyValue::Binary(v.to_vec()),
        ValueRef::String(v) => KeyValue::String(v.to_owned()),
        ValueRef::Double(_) | ValueRef::Boolean(_) => {
            debug_assert!(false, "no key holds {value:?}");
            KeyValue::Integer(0)
        }
    }
}
