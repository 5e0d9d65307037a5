//! Decides the changes of a group of entities, in the step of the engine that writes them.
//!
//! Here a timestamp is given, an ETag is compared, and a merged entity is measured. So no other write comes between.

use super::date_time::{MILLISECOND, UNIX_EPOCH};
use super::entity::{EntityChange, EntityOp, IfMatch, base_size, check_limits, property_size};
use super::key::KEY;
use super::stored::{StoredEntity, TIMESTAMP};
use super::text::sorted;
use super::{AzureCode, AzureError, Entity};
use crate::engine::RowView;
use crate::error::{Code, Error, Result};
use crate::model::capacity::units;
use crate::model::{CellChange, CellOp, ChangeKind, Consumed, RowChange, ValueRef};
use crate::tablestore::foreign::DecideRows;
use std::cell::Cell;

/// So far timestamps may be ahead of the clock, in ticks: ten minutes.
const AHEAD: i64 = 600_000 * MILLISECOND;

/// Changes on their way.
pub(super) struct Group<'c> {
    changes: &'c [EntityChange<'c>],
    /// The clock, in ticks.
    now: i64,
    /// The last timestamp that was given.
    last: &'c Cell<i64>,
    seen: Vec<Seen>,
}

/// What is decided about an entity.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// Its new timestamp.
    ticks: i64,
    /// Whether it was there.
    exists: bool,
}

impl<'c> Group<'c> {
    /// The changes at a time, in ms since 1970 UTC. `last` is the last timestamp that was given in this instance.
    pub(super) fn new(changes: &'c [EntityChange<'c>], now_ms: i64, last: &'c Cell<i64>) -> Self {
        let now = now_ms.saturating_mul(MILLISECOND).saturating_add(UNIX_EPOCH).max(0);
        Self { changes, now, last, seen: vec![Seen::default(); changes.len()] }
    }

    /// The next timestamp: after `before`, that of the entity. It is also after the last one, so that no ETag of a deleted entity
    /// comes back. Only a clock that was set back by more than [`AHEAD`] is followed.
    fn draw(&self, before: Option<i64>) -> i64 {
        let last = self.last.get();
        let is_ahead = (self.now..self.now.saturating_add(AHEAD)).contains(&last);
        let ticks = if is_ahead { last.saturating_add(1) } else { self.now };
        let ticks = before.map_or(ticks, |before| ticks.max(before.saturating_add(1)));
        self.last.set(ticks);
        ticks
    }
}

impl DecideRows for Group<'_> {
    fn see(&mut self, at: usize, row: Option<&RowView<'_>>) -> Result<()> {
        let Some(change) = self.changes.get(at) else { return Ok(()) };
        let row = row.filter(|row| !row.is_deleted());
        let stored = row.map(|row| StoredEntity::of(&change.partition_key, &change.row_key, row));
        let before = stored.as_ref().map(Entity::timestamp);
        let refused = match change.op {
            EntityOp::Insert if stored.is_some() => Some(AzureCode::EntityAlreadyExists),
            EntityOp::Replace(expected) | EntityOp::Merge(expected) | EntityOp::Delete(expected) => {
                match (before, expected) {
                    (None, _) => Some(AzureCode::ResourceNotFound),
                    (Some(_), IfMatch::Timestamp(other)) if other != before => {
                        Some(AzureCode::UpdateConditionNotSatisfied)
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(code) = refused {
            return Err(refusal(code));
        }
        if let (EntityOp::Merge(_) | EntityOp::InsertOrMerge, Some(stored)) = (change.op, &stored) {
            check_merged(change, stored).map_err(|error| refusal(error.code))?;
        }
        let seen = Seen { ticks: self.draw(before), exists: stored.is_some() };
        if let Some(place) = self.seen.get_mut(at) {
            *place = seen;
        }
        Ok(())
    }

    fn change(&self, at: usize, stamp: i64, visit: &mut dyn FnMut(&RowChange<'_>)) {
        let (Some(change), Some(seen)) = (self.changes.get(at), self.seen.get(at)) else { return };
        let kind = match change.op {
            EntityOp::Delete(_) => return visit(&RowChange { kind: ChangeKind::Delete, stamp, cells: &[] }),
            EntityOp::Merge(_) | EntityOp::InsertOrMerge if seen.exists => ChangeKind::Update,
            _ => ChangeKind::Put,
        };
        let mut buffers = vec![Vec::new(); change.properties.len()];
        let put = |column, value| CellChange { column, op: CellOp::Put(stamp, value) };
        let properties = change.properties.iter().zip(&mut buffers);
        let mut cells: Vec<_> = properties.map(|((name, value), buffer)| put(&**name, value.store(buffer))).collect();
        cells.push(put(TIMESTAMP, ValueRef::Integer(seen.ticks)));
        let names: Vec<&str> = cells.iter().map(|cell| cell.column).collect();
        let cells: Vec<_> = sorted(&names).into_iter().filter_map(|at| cells.get(at).copied()).collect();
        visit(&RowChange { kind, stamp, cells: &cells });
    }

    fn consumed(&self, at: usize) -> Consumed {
        let Some(change) = self.changes.get(at) else { return Consumed::default() };
        let key = KEY[0].len() + KEY[1].len() + change.partition_key.len() + change.row_key.len();
        let mut buffer = Vec::new();
        let cells = change.properties.iter().map(|(name, value)| name.len() + value.store(&mut buffer).metered_bytes());
        let cells: usize = match change.op {
            EntityOp::Delete(_) => 0,
            _ => cells.sum::<usize>() + TIMESTAMP.len() + 8,
        };
        let free = matches!(change.op, EntityOp::InsertOrReplace | EntityOp::InsertOrMerge);
        Consumed { read: if free { 0 } else { units(key) }, write: units(key + cells) }
    }

    fn told(&self, at: usize) -> Option<i64> {
        let deletes = matches!(self.changes.get(at)?.op, EntityOp::Delete(_));
        self.seen.get(at).filter(|_| !deletes).map(|seen| seen.ticks)
    }
}

/// Checks the entity that a merge would make (L6).
fn check_merged(change: &EntityChange<'_>, stored: &StoredEntity<'_, '_>) -> Result<(), AzureError> {
    let names: Vec<&str> = change.properties.iter().map(|(name, _)| &**name).collect();
    let new: Vec<&str> = sorted(&names).into_iter().filter_map(|at| names.get(at).copied()).collect();
    let mut count = change.properties.len();
    let mut bytes = base_size(&change.partition_key, &change.row_key);
    bytes += change.properties.iter().map(|(name, value)| property_size(name, value)).sum::<usize>();
    stored.properties(&mut |name, value| {
        if new.binary_search(&name).is_err() {
            count += 1;
            bytes += property_size(name, &value);
        }
    });
    check_limits(count, bytes)
}

/// A refusal on its way through the engine, which knows none of these codes. Its kind is that of a failed condition.
fn refusal(code: AzureCode) -> Error {
    Error::new(Code::ConditionCheckFail, code.as_str())
}
