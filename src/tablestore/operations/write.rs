//! PutRow, UpdateRow and DeleteRow (R1, R4).
//!
//! A write that depends on nothing stored goes straight to the engine with its own stamp. Others are decided by
//! [`Engine::modify`], which holds their row meanwhile. They have a row existence condition, an increment, the deletion
//! of a version, or a clock behind the row's newest stamp.
//!
//! [`Engine::modify`]: crate::engine::Engine::modify

use super::decision::RowDecision;
use super::transact::write_inside;
use crate::engine::{Decide, Origin, Receipt};
use crate::error::Result;
use crate::model::capacity::units;
use crate::model::{Consumed, RowChange, ValueRef, limits};
use crate::tablestore::rows::check::{self, Checked};
use crate::tablestore::rows::decide::plan;
use crate::tablestore::rows::fits;
use crate::tablestore::rows::prepared::{PreparedRow, PreparedWrite, Written, charge};
use crate::tablestore::rows::request::{Mutation, RowWrite};
use crate::tablestore::rows::time::Draw;
use crate::tablestore::state::State;
use crate::tablestore::state::stamps::StampHold;
use crate::tablestore::state::transaction::TransactionUse;
use crate::tablestore::units::failure::Outcome;

/// The way of a write into the log.
#[derive(Clone, Copy)]
enum Route {
    /// With this stamp, whatever is stored.
    Append(i64),
    /// The store has just chosen its key: there is no stored row.
    Assigned,
    /// Decided in the engine, from its stored row if it depends on that.
    Decide,
}

impl Route {
    /// The way of a write with this stamp, whose answer may have to be stored with it.
    fn of(ready: &PreparedWrite<'_, '_>, draw: Draw, keeps_answer: bool) -> Self {
        match draw {
            Draw::Stamp(stamp) if ready.is_alone() && !keeps_answer => Self::Append(stamp),
            Draw::Stamp(_) if ready.assigned => Self::Assigned,
            _ => Self::Decide,
        }
    }

    /// The same for a write that has to wait. While one with an auto-increment key waits, the commit that it relies on may
    /// fail: it then reserves its values anew, which only a decision does.
    fn of_waiting(self, ready: &PreparedWrite<'_, '_>) -> Self {
        match self {
            Self::Append(_) if ready.assigned => Self::Assigned,
            Self::Append(_) if ready.table.schema().auto_increment().is_some() => Self::Decide,
            other => other,
        }
    }
}

/// A write that was begun.
pub(crate) enum WriteStart<'s> {
    /// It is complete once it is stored, with this result.
    Accepted(Receipt, Written),
    /// It has to wait.
    Waits(WaitingWrite<'s>),
}

/// A write that has its stamp, or has to read its row for that.
pub(crate) struct WaitingWrite<'s> {
    route: Route,
    draw: Draw,
    /// Marks that it reads its row.
    _reading: Option<StampHold<'s>>,
}

/// See [`Instance::write_row_in`](crate::tablestore::Instance::write_row_in).
pub(crate) async fn write_row(
    state: &State,
    transaction: Option<&str>,
    write: &RowWrite<'_>,
    origin: Option<Origin>,
) -> Outcome<Written> {
    if let Some(known) = state.answers.recall(origin, 0) {
        return known.map_err(|error| charge(write).failure(error));
    }
    let ready = check::row_write(write)
        .and_then(|checked| {
            check::size(write.operation(), checked.weight.all, limits::WRITE_BYTES)?;
            let using = state.enter(transaction)?;
            Ok((using, prepare(state, write, checked, state.clock())?))
        })
        .map_err(|error| charge(write).failure(error));
    let done = match &ready {
        Ok((using, ready)) => {
            let done = perform(state, using.as_ref(), ready, origin).await;
            state.metered_on(Some(&ready.table), done)
        }
        Err(failure) => state.metered(write.table, Err(failure.clone())),
    };
    done.inspect_err(|failure| state.answers.refuse(origin, 0, &failure.error))
}

/// Checks a write against its table, at the time `now`.
pub(crate) fn prepare<'r, 'a>(
    state: &State,
    write: &'r RowWrite<'a>,
    checked: Checked<'r>,
    now: i64,
) -> Result<PreparedWrite<'r, 'a>> {
    let Checked { weight, condition, .. } = checked;
    let table = state.catalog.table(write.table)?;
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
    let reserve = counted.is_some() && !table.ids.is_reserved(state.engine.failures());
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

/// Checks a write that has its limits for itself, at the time `now`, and then against its table.
pub(crate) fn prepare_row<'r, 'a>(state: &State, write: &'r RowWrite<'a>, now: i64) -> PreparedRow<'r, 'a> {
    let ready = check::row_write(write).and_then(|checked| {
        check::size(write.operation(), checked.weight.all, limits::WRITE_BYTES)?;
        prepare(state, write, checked, now)
    });
    (Some(write.table), ready.map_err(|error| charge(write).failure(error)))
}

/// Runs a checked write, as part of a transaction if there is one.
async fn perform(
    state: &State,
    using: Option<&TransactionUse<'_>>,
    ready: &PreparedWrite<'_, '_>,
    origin: Option<Origin>,
) -> Outcome<Written> {
    match begin(state, using, ready, origin)? {
        WriteStart::Accepted(accepted, written) => {
            accepted.stored().await.map_err(|error| charge(ready.write).failure(error))?;
            Ok(written)
        }
        // Most writes are accepted at once, and must not carry the state that others need.
        WriteStart::Waits(waiting) => Box::pin(go_on(state, using, ready, origin, waiting)).await,
    }
}

/// Runs as much of a checked write as possible at once. If it only has to wait for the commit, that is all of it, and
/// the request is no longer needed.
pub(crate) fn begin<'s>(
    state: &'s State,
    using: Option<&TransactionUse<'_>>,
    ready: &PreparedWrite<'_, '_>,
    origin: Option<Origin>,
) -> Outcome<WriteStart<'s>> {
    let PreparedWrite { write, table, key, now, .. } = ready;
    let allowed = match using {
        Some(using) => using.check_row(table, key),
        None => state.transactions.refuse(table.tree(), key, || state.engine.clock().steady_ms()),
    };
    let allowed = allowed.and_then(|()| match ready.derives {
        true => Ok(()),
        false => state.admit(table, key, ready.consumed, *now),
    });
    allowed.map_err(|error| charge(write).failure(error))?;
    let (draw, reading) = state.stamps.draw(ready.row_hash(), *now);
    let route = Route::of(ready, draw, state.answers.keep(origin));
    if using.is_none() {
        let accepted = accept(state, ready, origin, (route, draw)).map_err(|error| charge(write).failure(error))?;
        if let Some((accepted, written)) = accepted {
            return Ok(WriteStart::Accepted(accepted, written));
        }
    }
    Ok(WriteStart::Waits(WaitingWrite { route, draw, _reading: reading }))
}

/// Has the engine accept a write, if it need not wait for its row.
fn accept(
    state: &State,
    ready: &PreparedWrite<'_, '_>,
    origin: Option<Origin>,
    (route, draw): (Route, Draw),
) -> Result<Option<(Receipt, Written)>> {
    let tree = ready.table.tree();
    match route {
        Route::Append(stamp) => {
            let change = RowChange { kind: ready.write.kind(), stamp, cells: &plan(&ready.write.mutation, stamp) };
            let accepted = state.engine.write_now(tree, &ready.key, &change, origin);
            Ok(accepted.map(|accepted| (accepted, ready.written())))
        }
        Route::Assigned => Ok(None),
        Route::Decide => {
            let mut deciding = RowDecision::new(state, ready, draw, origin);
            let sees = !deciding.is_decided();
            let accepted = state.engine.modify_now((tree, &ready.key), sees, origin, &mut deciding)?;
            Ok(accepted.map(|accepted| (accepted, deciding.written())))
        }
    }
}

/// Continues a write that was begun and not accepted.
pub(crate) async fn go_on(
    state: &State,
    using: Option<&TransactionUse<'_>>,
    ready: &PreparedWrite<'_, '_>,
    origin: Option<Origin>,
    waiting: WaitingWrite<'_>,
) -> Outcome<Written> {
    let done = match using {
        Some(using) => {
            let mut deciding = RowDecision::new(state, ready, waiting.draw, None);
            write_inside(state, using, &mut deciding).await.map(|()| deciding.written())
        }
        None => write_waiting(state, ready, origin, &waiting).await,
    };
    done.map_err(|error| charge(ready.write).failure(error))
}

/// Writes a row once the engine lets it.
async fn write_waiting(
    state: &State,
    ready: &PreparedWrite<'_, '_>,
    origin: Option<Origin>,
    waiting: &WaitingWrite<'_>,
) -> Result<Written> {
    let row = [(ready.table.tree(), &ready.key[..])];
    let mut deciding = RowDecision::new(state, ready, waiting.draw, origin);
    match waiting.route.of_waiting(ready) {
        Route::Append(stamp) => {
            let change = RowChange { kind: ready.write.kind(), stamp, cells: &plan(&ready.write.mutation, stamp) };
            state.engine.write(ready.table.tree(), &ready.key, &change, origin).await?;
            return Ok(ready.written());
        }
        Route::Assigned => {
            deciding.see(0, None)?;
            state.engine.write_unseen(&row, origin, &mut deciding).await?;
        }
        Route::Decide if deciding.is_decided() && ready.table.schema().auto_increment().is_none() => {
            state.engine.write_unseen(&row, origin, &mut deciding).await?;
        }
        Route::Decide => state.engine.modify(&row, origin, &mut deciding).await?,
    }
    Ok(deciding.written())
}
