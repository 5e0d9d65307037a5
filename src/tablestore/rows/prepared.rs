//! A write that fits its table, and its result.

use super::request::{Mutation, ReturnContent, RowWrite};
use super::time::RowHash;
use crate::collections::sort::sort_by;
use crate::model::filter::CheckedFilter;
use crate::model::{Consumed, KeyRefs, KeyValue, TableName, TableSchema, Value, ValueRef};
use crate::tablestore::table::Table;
use crate::tablestore::units::failure::{Charge, Failure};
use crate::tablestore::units::meter::Consumes;
use std::rc::Rc;

/// The result of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// The cost (C1).
    pub consumed: Consumed,
    /// The content that it was asked to return.
    pub row: Option<ReturnedRow>,
}

impl Consumes for Written {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

/// The returned content of a write.
#[derive(Clone, Debug, PartialEq)]
pub struct ReturnedRow {
    /// The table's schema.
    pub schema: Rc<TableSchema>,
    /// The primary key; empty when modified columns were asked for instead.
    pub key: Vec<KeyValue>,
    /// The incremented columns among those that were asked for, with their versions and new values, sorted by name. No other
    /// change can be asked for.
    pub cells: Vec<(String, i64, Value)>,
}

/// A column's new value after an increment.
#[derive(Debug)]
pub(crate) struct Increment {
    pub(crate) column: String,
    pub(crate) version: i64,
    pub(crate) value: i64,
}

/// A write that was checked against its table and can run.
pub(crate) struct PreparedWrite<'r, 'a> {
    pub(crate) write: &'r RowWrite<'a>,
    pub(crate) condition: Option<CheckedFilter<'r>>,
    pub(crate) table: Rc<Table>,
    /// The encoded key.
    pub(crate) key: Vec<u8>,
    /// The values of the key.
    pub(crate) values: KeyRefs<'a>,
    /// Whether the store has just chosen the key (auto-increment).
    pub(crate) assigned: bool,
    /// Whether the row has to be there, because only the store gives new rows their key.
    pub(crate) must_exist: bool,
    /// Whether the row's commit also has to store the upper bound of the auto-increment column.
    pub(crate) reserve: bool,
    /// Whether the table had derived data at the check. The full cost is then known only after the row was read.
    pub(crate) derives: bool,
    /// The cost without derived data.
    pub(crate) consumed: Consumed,
    /// The size of its data.
    pub(crate) bytes: usize,
    /// Its place among the rows of its request.
    pub(crate) row: u32,
    /// The time of its check, which is before its first await.
    pub(crate) now: i64,
}

/// A row of many: its table's name, if known, and its write or the error.
pub(crate) type PreparedRow<'r, 'a> = (Option<TableName<'a>>, Result<PreparedWrite<'r, 'a>, Failure>);

/// Tells rows their places.
pub(crate) fn number(rows: &mut [PreparedRow<'_, '_>]) {
    for (at, (_, row)) in (0..).zip(rows) {
        row.iter_mut().for_each(|row| row.row = at);
    }
}

/// As what a refused write is charged.
pub(crate) fn charge(write: &RowWrite<'_>) -> Charge {
    if matches!(write.mutation, Mutation::Update(_)) { Charge::Update } else { Charge::Write }
}

impl PreparedWrite<'_, '_> {
    /// The hash of the row, by which versions are stamped.
    pub(crate) fn row_hash(&self) -> RowHash {
        RowHash::of(self.table.tree(), &self.key)
    }

    /// Whether it needs no read of its row, and has no other effect on it or on tables than its own.
    pub(crate) fn is_plain(&self) -> bool {
        !self.write.sees_row() && !self.must_exist && !self.reserve && !self.table.derives()
    }

    /// Whether it is plain and the only write of its commit that is its own.
    pub(crate) fn is_alone(&self) -> bool {
        self.is_plain() && !self.table.is_streamed()
    }

    /// Its result. Only for writes without increments and derived data.
    pub(crate) fn written(&self) -> Written {
        Written { consumed: self.consumed, row: self.returned(&[]) }
    }

    pub(crate) fn returned(&self, incremented: &[Increment]) -> Option<ReturnedRow> {
        let schema = Rc::clone(self.table.schema());
        match &self.write.returns {
            ReturnContent::None => None,
            ReturnContent::PrimaryKey => {
                let key = self.values.iter().map(|value| key_value(*value)).collect();
                Some(ReturnedRow { schema, key, cells: Vec::new() })
            }
            ReturnContent::AfterModify(columns) => {
                let listed = |new: &Increment| columns.iter().any(|column| column.as_str() == new.column);
                let mut cells: Vec<&Increment> = incremented.iter().filter(|new| listed(new)).collect();
                sort_by(&mut cells, |a, b| a.column.cmp(&b.column));
                let cells = cells.into_iter().map(|new| (new.column.clone(), new.version, Value::Integer(new.value)));
                let cells = cells.collect();
                Some(ReturnedRow { schema, key: Vec::new(), cells })
            }
        }
    }
}

/// An owned key value. A schema lets only three types through.
pub(crate) fn key_value(value: ValueRef<'_>) -> KeyValue {
    KeyValue::of(value).unwrap_or_else(|| {
        debug_assert!(false, "no key holds {value:?}");
        KeyValue::Integer(0)
    })
}
