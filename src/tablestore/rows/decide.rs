//! Decides a write from the stored row: its conditions, its increments, and the cells to write (R6).
//!
//! Pure: takes the row, and returns the cells. Plain writes and those of transactions use the same code.

use super::base_change::BaseChange;
use super::derived::DerivedWrites;
use super::index::of_column;
use super::prepared::{Increment, PreparedWrite};
use super::request::{ColumnOp, Existence, Mutation, RowWrite};
use crate::collections::sort::sort_by;
use crate::engine::{Depth, RowView, Writes};
use crate::error::{Code, Error, Result};
use crate::model::filter::CheckedFilter;
use crate::model::select::{self, ReadSelection};
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, ChangeKind, RecordPlace, RowChange, ValueRef};
use std::cmp::Ordering;

/// The effect of a write, now that its row was seen.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    /// The version of cells without a given one.
    pub(crate) stamp: i64,
    /// The results of its increments.
    pub(crate) incremented: Vec<Increment>,
    /// The versions that go with those it deletes: `None` for the whole column.
    pub(crate) hidden: Vec<(String, Option<i64>)>,
    /// If it deletes versions: the number of shown versions of a column.
    pub(crate) shown: u32,
    /// Its derived writes.
    pub(crate) derived: DerivedWrites,
}

/// The effect of a write on its row.
pub(crate) type RowCells<'c> = (ChangeKind, Vec<CellChange<'c>>);

impl Decision {
    /// The cells of the change, in the engine's order.
    pub(crate) fn cells<'d>(&'d self, write: &RowWrite<'d>) -> Vec<CellChange<'d>> {
        let own = self.own_cells(write);
        if self.hidden.is_empty() {
            return own;
        }
        let hidden = self.hidden.iter().map(|(column, version)| CellChange {
            column,
            op: version.map_or(CellOp::DeleteColumn, CellOp::DeleteVersion),
        });
        // The write's own cells come behind, so its own operation on such a version counts.
        let mut cells: Vec<_> = hidden.chain(own).collect();
        normalise(&mut cells);
        cells
    }

    /// The same without versions that go with those it deletes.
    pub(crate) fn own_cells<'d>(&'d self, write: &RowWrite<'d>) -> Vec<CellChange<'d>> {
        let mut cells = plan(&write.mutation, self.stamp);
        if !self.incremented.is_empty() {
            cells.extend(self.incremented.iter().map(|new| CellChange {
                column: &new.column,
                op: CellOp::Put(new.version, ValueRef::Integer(new.value)),
            }));
            normalise(&mut cells);
        }
        cells
    }

    /// Finds the hidden versions that go with the ones it deletes: max versions hides them behind those. Otherwise they
    /// would reappear or not, depending on compaction (V2). Expired versions count too: max versions also hides those, if
    /// enough newer ones exist. `before` has the earlier changes of this row in the same decision.
    #[cold]
    #[inline(never)]
    pub(crate) fn hide(&mut self, ready: &PreparedWrite<'_, '_>, view: Option<&RowView<'_>>, before: &[RowCells<'_>]) {
        let stored = view.map_or(&[][..], RowView::cells).iter();
        let stored = stored.map(|cell| CellChange { column: cell.column, op: CellOp::Put(cell.version, cell.value) });
        let mut stored: Vec<_> = stored.collect();
        for (kind, cells) in before {
            let goes = |cell: &CellChange<'_>| {
                let takes = |change: &CellChange<'_>| cell.op.version().is_some_and(|version| change.op.takes(version));
                cells.iter().any(|change| change.column == cell.column && takes(change))
            };
            stored.retain(|cell| *kind == ChangeKind::Update && !goes(cell));
            stored.extend(cells.iter().filter(|change| matches!(change.op, CellOp::Put(..))));
            normalise(&mut stored);
        }
        self.hidden.clear();
        self.shown = ready.table.options().retention().max_versions;
        let most = usize::try_from(self.shown).unwrap_or(usize::MAX);
        for changes in plan(&ready.write.mutation, self.stamp).chunk_by(|a, b| a.column == b.column) {
            let column = changes.first().map_or("", |change| change.column);
            let stored = of_column(&stored, |cell| cell.column, column);
            let Some((shown, hidden @ [_, ..])) = stored.split_at_checked(most) else { continue };
            let deleted = |cell: &&CellChange<'_>| {
                let deletes = |op| matches!((op, cell.op), (CellOp::DeleteVersion(a), CellOp::Put(b, _)) if a == b);
                changes.iter().any(|change| deletes(change.op))
            };
            match shown.iter().filter(deleted).count() {
                0 => {}
                all if all == shown.len() => self.hidden.push((column.to_owned(), None)),
                _ => self.hidden.extend(hidden.iter().map(|cell| (column.to_owned(), cell.op.version()))),
            }
        }
    }

    /// Whether the change of the row tells all that a stream's record does.
    pub(crate) fn tells_all(&self) -> bool {
        self.hidden.is_empty() && self.derived.old_cells().is_empty()
    }

    /// Writes the row and its derived data. A stream may have a record of the change, at `place`.
    pub(crate) fn write(&self, ready: &PreparedWrite<'_, '_>, place: Option<RecordPlace>, writes: &mut Writes<'_>) {
        let PreparedWrite { write, table, key, .. } = ready;
        let (tree, cells) = (table.tree(), self.cells(write));
        let change = RowChange { kind: write.kind(), stamp: self.stamp, cells: &cells };
        match place {
            Some(place) => writes.change_recorded(tree, key, &change, place),
            None => writes.change(tree, key, &change),
        }
        self.derived.write(self.stamp, writes);
    }
}

impl PreparedWrite<'_, '_> {
    /// Decides the write from its stored row. `stamp` is called once the conditions hold.
    ///
    /// # Errors
    /// `OTSConditionCheckFail`; an increment of a value that is no integer, or beyond 64 bits.
    pub(crate) fn decide(&self, view: Option<&RowView<'_>>, stamp: impl FnOnce() -> i64) -> Result<Decision> {
        let retention = self.table.options().retention();
        if !self.holds(view, retention) {
            return Err(self.unmet(view, retention));
        }
        let stamp = stamp();
        let incremented = increment(&self.write.mutation, view, retention, stamp, self.now)?;
        let mut decided = Decision { stamp, incremented, ..Decision::default() };
        if self.write.deletes_versions() {
            decided.hide(self, view, &[]);
        }
        if self.table.derives() {
            decided.derived = self.derive(&decided, view);
        }
        Ok(decided)
    }

    /// The derived writes.
    fn derive(&self, decision: &Decision, before: Option<&RowView<'_>>) -> DerivedWrites {
        let cells = decision.cells(self.write);
        let change = RowChange { kind: self.write.kind(), stamp: decision.stamp, cells: &cells };
        let (table, key) = (&*self.table, &self.values[..]);
        DerivedWrites::of(&BaseChange { table, key, before, change: &change, assigned: self.assigned })
    }

    /// The versions that it needs to see.
    pub(crate) fn depth(&self) -> Depth {
        if self.write.deletes_versions() {
            Depth::Stored
        } else if self.condition.as_ref().is_none_or(CheckedFilter::needs_newest_only) {
            Depth::Newest
        } else {
            Depth::Visible
        }
    }

    /// The error of a condition that does not hold.
    fn unmet(&self, view: Option<&RowView<'_>>, retention: Retention) -> Error {
        let error = Error::new(Code::ConditionCheckFail, "Condition check failed.");
        match self.table.schema().assigned_only() {
            Some(column) if self.must_exist && !self.exists(view, retention) => error
                .with_hint(format!("only the store gives new rows their '{}', unless allowChosen is set", column.name)),
            _ => error,
        }
    }

    fn exists(&self, view: Option<&RowView<'_>>, retention: Retention) -> bool {
        view.is_some_and(|row| select::exists(row.cells(), row.marker(), retention, self.now))
    }

    /// Whether both conditions hold. If the row does not exist, every column is missing.
    fn holds(&self, view: Option<&RowView<'_>>, retention: Retention) -> bool {
        let exists = || self.exists(view, retention);
        let expected = match self.write.condition {
            Existence::Ignore => !self.must_exist || exists(),
            Existence::ExpectExist => exists(),
            Existence::ExpectNotExist => !exists(),
        };
        expected
            && self.condition.as_ref().is_none_or(|condition| {
                let cells = view.map_or(&[][..], RowView::cells);
                let visible = ReadSelection::everything().apply(cells, retention, self.now);
                let key = if exists() { &self.values[..] } else { &[] };
                condition.passes(self.table.schema(), key, &visible)
            })
    }
}

fn increment(
    mutation: &Mutation<'_>,
    view: Option<&RowView<'_>>,
    retention: Retention,
    stamp: i64,
    now: i64,
) -> Result<Vec<Increment>> {
    let Mutation::Update(changes) = mutation else { return Ok(Vec::new()) };
    let mut new = Vec::new();
    for change in changes {
        let ColumnOp::Increment(delta) = change.op else { continue };
        let column = change.column.as_str();
        let current = view.and_then(|row| select::newest(row.cells(), column, retention, now));
        let value = match current.map(|cell| cell.value) {
            None => 0,
            Some(ValueRef::Integer(value)) => value,
            Some(_) => {
                let text = format!("Column '{column}' can not be incremented: its value is not an INTEGER.");
                return Err(Error::parameter(text));
            }
        };
        let value = value.checked_add(delta).ok_or_else(|| {
            Error::parameter(format!(
                "Column '{column}' can not be incremented by {delta}: the result is out of range."
            ))
        })?;
        // Above a version that a client put ahead of the clock; otherwise the count would disappear below it.
        let version = current.map_or(stamp, |cell| stamp.max(cell.version.saturating_add(1)));
        new.push(Increment { column: column.to_owned(), version, value });
    }
    Ok(new)
}

/// The cells of a change, in the engine's order, without increments.
pub(crate) fn plan<'a>(mutation: &Mutation<'a>, stamp: i64) -> Vec<CellChange<'a>> {
    let mut cells: Vec<CellChange<'a>> = match mutation {
        Mutation::Put(cells) => cells
            .iter()
            .map(|cell| CellChange {
                column: cell.column.as_str(),
                op: CellOp::Put(cell.version.unwrap_or(stamp), cell.value),
            })
            .collect(),
        Mutation::Update(changes) => changes
            .iter()
            .filter_map(|change| {
                let op = match change.op {
                    ColumnOp::Put { version, value } => CellOp::Put(version.unwrap_or(stamp), value),
                    ColumnOp::DeleteVersion(version) => CellOp::DeleteVersion(version),
                    ColumnOp::DeleteColumn => CellOp::DeleteColumn,
                    ColumnOp::Increment(_) => return None,
                };
                Some(CellChange { column: change.column.as_str(), op })
            })
            .collect(),
        Mutation::Delete => Vec::new(),
    };
    normalise(&mut cells);
    cells
}

/// Sorts cells for [`RowChange`]. Of several for one version the last one stays.
fn normalise(cells: &mut Vec<CellChange<'_>>) {
    if cells.is_sorted_by(|a, b| order(a, b) == Ordering::Less) {
        return;
    }
    sort_by(cells, order);
    cells.dedup_by(|next, kept| {
        let same = order(next, kept) == Ordering::Equal;
        if same {
            *kept = *next;
        }
        same
    });
}

fn order(a: &CellChange<'_>, b: &CellChange<'_>) -> Ordering {
    a.column.cmp(b.column).then_with(|| match (a.op.version(), b.op.version()) {
        (Some(a), Some(b)) => b.cmp(&a),
        (a, b) => a.is_some().cmp(&b.is_some()),
    })
}

impl RowWrite<'_> {
    pub(crate) fn kind(&self) -> ChangeKind {
        match self.mutation {
            Mutation::Put(_) => ChangeKind::Put,
            Mutation::Update(_) => ChangeKind::Update,
            Mutation::Delete => ChangeKind::Delete,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_changes_are_sorted_and_the_last_of_one_version_wins() {
        let put = |column, version, value| CellChange { column, op: CellOp::Put(version, ValueRef::Integer(value)) };
        let mut cells = vec![
            put("b", 5, 1),
            put("a", 1, 2),
            CellChange { column: "b", op: CellOp::DeleteColumn },
            put("b", 9, 3),
            put("b", 5, 4),
            CellChange { column: "b", op: CellOp::DeleteVersion(7) },
            CellChange { column: "b", op: CellOp::DeleteColumn },
        ];
        normalise(&mut cells);
        let expected = [
            put("a", 1, 2),
            CellChange { column: "b", op: CellOp::DeleteColumn },
            put("b", 9, 3),
            CellChange { column: "b", op: CellOp::DeleteVersion(7) },
            put("b", 5, 4),
        ];
        assert_eq!(cells, expected);
    }
}
