//! Secondary indexes: their rows, and the effect of a write on them (R6).
//!
//! An index row is derived from its base row. Its key has defined columns and the base row's key. Its cells are the
//! columns that the index carries, with their versions. A base row that lacks a key column of an index is not in the
//! index. Each change of a base row writes the difference into the indexes, in the same log record: after a crash both
//! exist or neither. So an index of either kind is never behind its table, unless it is being built (see
//! [`build`](crate::tablestore::operations::build)).
//!
//! Expired cells count here like others. An index never shows more than its table, because its time to live is not longer
//! (T8). Only the newest version of a column counts, because a table with an index keeps one.

use super::base_change::BaseChange;
use crate::collections::sort::sort_by;
use crate::engine::{RowView, Writes};
use crate::model::capacity::{IndexChange, column_bytes, index_units};
use crate::model::{
    CellChange, CellOp, CellRef, ChangeKind, Consumed, RowChange, Value, ValueRef, encode_value, limits,
};
use crate::tablestore::table::Index;

/// A row of an index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IndexRow {
    /// Its encoded key.
    key: Vec<u8>,
    /// The bytes that units count for its key, without names.
    key_bytes: usize,
    /// Its age: the oldest of its key columns. When that expires, the row does too, whatever else it has.
    marker: i64,
    /// The columns that the index carries, by their place in its list; version and value.
    cells: Vec<(usize, i64, Value)>,
}

/// A base row, before or after a change.
struct BaseRow<'c> {
    cells: &'c [CellRef<'c>],
    marker: Option<i64>,
    change: Option<&'c RowChange<'c>>,
}

/// The items of one column in a list that is sorted by column.
pub(crate) fn of_column<'s, T>(sorted: &'s [T], name: impl Fn(&T) -> &str, column: &str) -> &'s [T] {
    let start = sorted.partition_point(|cell| name(cell) < column);
    let rest = sorted.get(start..).unwrap_or_default();
    rest.get(..rest.iter().take_while(|cell| name(cell) == column).count()).unwrap_or_default()
}

impl<'c> BaseRow<'c> {
    /// The operations on a column.
    fn ops(&self, column: &str) -> &'c [CellChange<'c>] {
        self.change.map_or(&[], |change| of_column(change.cells, |cell| cell.column, column))
    }

    /// Whether a stored cell outlives the change.
    fn stays(&self, cell: &CellRef<'_>, ops: &[CellChange<'_>]) -> bool {
        self.change.is_none_or(|change| change.kind == ChangeKind::Update)
            && !ops.iter().any(|change| change.op.takes(cell.version))
    }

    /// The newest cell of a column.
    fn newest(&self, column: &'c str) -> Option<CellRef<'c>> {
        let ops = self.ops(column);
        let put = ops.iter().find_map(|change| match change.op {
            CellOp::Put(version, value) => Some(CellRef { column, version, value }),
            _ => None,
        });
        let stored = of_column(self.cells, |cell| cell.column, column);
        let stored = stored.iter().find(|cell| self.stays(cell, ops)).copied();
        match (put, stored) {
            (Some(put), Some(stored)) if stored.version > put.version => Some(stored),
            (put, stored) => put.or(stored),
        }
    }

    /// The row's age, if it exists: that of a PutRow's marker, or of its newest cell.
    fn made(&self) -> Option<i64> {
        let puts = self.change.map_or(&[][..], |change| change.cells).iter();
        let puts = puts.filter(|cell| matches!(cell.op, CellOp::Put(..))).filter_map(|cell| cell.op.version()).max();
        match self.change.map(|change| (change.kind, change.stamp)) {
            Some((ChangeKind::Put, stamp)) => puts.or(Some(stamp)),
            Some((ChangeKind::Delete, _)) => None,
            _ => {
                let stay = self.cells.iter().filter(|cell| self.stays(cell, self.ops(cell.column)));
                stay.map(|cell| cell.version).max().max(puts).max(self.marker)
            }
        }
    }
}

/// The row that a base row has in an index, if it has one.
fn entry<'c>(index: &'c Index, base_key: &[ValueRef<'c>], row: &BaseRow<'c>) -> Option<IndexRow> {
    let (mut key, mut key_bytes, mut marker) = (Vec::with_capacity(64), 0, None);
    for (column, source) in index.table.schema().key().iter().zip(&index.meta.sources) {
        let value = match source {
            Some(place) => *base_key.get(*place)?,
            None => {
                let cell = row.newest(&column.name)?;
                // Values from before the column was defined, or before the index existed, may not fit.
                if cell.value.value_type() != column.key_type.value_type()
                    || cell.value.metered_bytes() > limits::KEY_VALUE_BYTES
                {
                    return None;
                }
                marker = Some(marker.map_or(cell.version, |oldest: i64| oldest.min(cell.version)));
                cell.value
            }
        };
        key_bytes += value.metered_bytes();
        encode_value(value, &mut key);
    }
    let marker = match marker {
        Some(marker) => marker,
        // The key is the base row's, in another order.
        None => row.made()?,
    };
    let cells = index.meta.columns.iter().enumerate();
    let cells = cells.filter_map(|(at, name)| row.newest(name).map(|cell| (at, cell.version, cell.value.to_owned())));
    Some(IndexRow { key, key_bytes, marker, cells: cells.collect() })
}

/// The effect of a base row's change on the indexes of its table.
#[derive(Debug, Default)]
pub(crate) struct IndexWrites {
    writes: Vec<IndexWrite>,
    consumed: Consumed,
}

impl IndexWrites {
    /// Derives it.
    pub(crate) fn of(base: &BaseChange<'_, '_>) -> Self {
        let BaseChange { table, key, before: view, change, assigned } = *base;
        let indexes = table.indexes();
        if indexes.is_empty() {
            return Self::default();
        }
        let (cells, marker) = view.map_or((&[][..], None), |row| (row.cells(), row.marker()));
        let before = BaseRow { cells, marker, change: None };
        let after = BaseRow { cells, marker, change: Some(change) };
        let (mut writes, mut costs) = (Vec::new(), [IndexChange::Untouched; limits::INDEXES]);
        for (index, index_cost) in indexes.iter().zip(&mut costs) {
            if !touches(index, change) {
                continue;
            }
            let (gone, come) = (entry(index, key, &before), entry(index, key, &after));
            *index_cost = cost(index, gone.as_ref(), come.as_ref());
            if gone != come {
                // A row with the same key is replaced.
                let moved = gone.as_ref().map(|entry| &entry.key) != come.as_ref().map(|entry| &entry.key);
                let delete = gone.filter(|_| moved).map(|entry| entry.key);
                writes.push(IndexWrite { index: index.clone(), delete, put: come });
            }
        }
        let keys = |column: &str| indexes.iter().any(|index| index.table.schema().is_key(column));
        // Hidden versions cost nothing while they are stored.
        let newest = cells.chunk_by(|a, b| a.column == b.column).filter_map(<[_]>::first);
        let old = newest.filter(|cell| keys(cell.column)).map(|cell| column_bytes(cell.column, cell.value)).sum();
        Self { writes, consumed: index_units((!assigned).then_some(old), costs) }
    }

    /// The cost on top of the base row's change (C1).
    pub(crate) fn consumed(&self) -> Consumed {
        self.consumed
    }

    /// Writes it, together with the change of the base row.
    pub(crate) fn write(&self, stamp: i64, writes: &mut Writes<'_>) {
        self.writes.iter().for_each(|write| write.write(stamp, writes));
    }
}

/// Whether a change may change the row of an index.
fn touches(index: &Index, change: &RowChange<'_>) -> bool {
    // An index of key columns alone has every row of the table.
    let every_row = || index.meta.sources.iter().all(Option::is_some);
    let holds = |cell: &CellChange<'_>| {
        index.table.schema().is_key(cell.column) || index.meta.columns.iter().any(|name| name == cell.column)
    };
    change.kind != ChangeKind::Update || change.cells.iter().any(holds) || every_row()
}

fn cost(index: &Index, gone: Option<&IndexRow>, come: Option<&IndexRow>) -> IndexChange {
    let key = |entry: &IndexRow| index.table.schema().name_bytes() + entry.key_bytes;
    let column = |(at, _, value): &(usize, i64, Value)| {
        column_bytes(index.meta.columns.get(*at).map_or("", String::as_str), value.as_ref())
    };
    let row = |entry: &IndexRow| key(entry) + entry.cells.iter().map(column).sum::<usize>();
    match (gone, come) {
        (gone, come) if gone == come => IndexChange::Unchanged,
        (None, Some(come)) => IndexChange::Inserted(row(come)),
        (Some(gone), Some(come)) if gone.key == come.key => {
            let new = come.cells.iter().filter(|cell| !gone.cells.contains(cell)).map(column).sum::<usize>();
            let name = |at: usize| index.meta.columns.get(at).map_or(0, String::len);
            let kept = |at: usize| come.cells.iter().any(|(other, ..)| *other == at);
            let lost = gone.cells.iter().filter(|(at, ..)| !kept(*at)).map(|(at, ..)| name(*at)).sum::<usize>();
            IndexChange::Updated(new + lost)
        }
        (Some(gone), Some(come)) => IndexChange::Moved { deleted: key(gone), inserted: row(come) },
        (Some(gone), None) => IndexChange::Deleted(key(gone)),
        (None, None) => IndexChange::Unchanged,
    }
}

/// The change of one index's row.
#[derive(Debug)]
pub(crate) struct IndexWrite {
    index: Index,
    /// The key of the removed row.
    delete: Option<Vec<u8>>,
    /// The new row; it replaces one with the same key.
    put: Option<IndexRow>,
}

impl IndexWrite {
    /// The index row of a stored base row, for an index that is being built.
    pub(crate) fn derived(index: &Index, key: &[ValueRef<'_>], view: &RowView<'_>) -> Option<Self> {
        let put = entry(index, key, &BaseRow { cells: view.cells(), marker: view.marker(), change: None })?;
        Some(Self { index: index.clone(), delete: None, put: Some(put) })
    }

    /// Writes it.
    pub(crate) fn write(&self, stamp: i64, writes: &mut Writes<'_>) {
        let tree = self.index.table.tree();
        if let Some(key) = &self.delete {
            writes.change(tree, key, &RowChange { kind: ChangeKind::Delete, stamp, cells: &[] });
        }
        if let Some(entry) = &self.put {
            let cells = entry.cells.iter().map(|(at, version, value)| CellChange {
                column: self.index.meta.columns.get(*at).map_or("", String::as_str),
                op: CellOp::Put(*version, value.as_ref()),
            });
            let mut cells: Vec<_> = cells.collect();
            sort_by(&mut cells, |a, b| a.column.cmp(b.column));
            writes.replace(tree, &entry.key, Some(entry.marker), stamp, &cells);
        }
    }
}
