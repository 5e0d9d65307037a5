//! Counting the rows of a range (R3). The engine reads them as a range does, and gives none away.

use super::read::get_range;
use crate::engine::Direction;
use crate::model::select::VersionQuery;
use crate::model::{CellRef, Consumed, Filter, KeyInput, KeyValue, RowSink, TableName, TableSchema, ValueRef};
use crate::tablestore::rows::request::{GetRange, ReadOptions};
use crate::tablestore::state::State;
use crate::tablestore::units::failure::Outcome;
use std::rc::Rc;

/// CountRows: the number of rows of a range (R3).
#[derive(Clone, Debug)]
pub struct CountRows<'a> {
    /// The table.
    pub table: TableName<'a>,
    /// The start, inclusive. Without columns: the start of the table.
    pub start: KeyInput<'a>,
    /// The end, exclusive. Without columns: the end of the table.
    pub end: KeyInput<'a>,
    /// The filter that the newest version of each column has to pass.
    pub filter: Option<Filter<'a>>,
}

/// The result of CountRows.
#[derive(Clone, Debug, PartialEq)]
pub struct RowCount {
    /// The table's schema.
    pub schema: Rc<TableSchema>,
    /// The cost (C1): that of reading the same rows.
    pub consumed: Consumed,
    /// The number of rows.
    pub rows: u64,
    /// The start of the next call; `None` if the range was counted to its end.
    pub next: Option<Vec<KeyValue>>,
}

/// Counts the rows that a range returns.
#[derive(Default)]
struct Counter(u64);

impl RowSink for Counter {
    fn row(&mut self, _: &[ValueRef<'_>], _: &[CellRef<'_>]) {
        self.0 += 1;
    }

    fn stream<'c>(&mut self, _: &[ValueRef<'_>], next: &mut dyn FnMut() -> Option<CellRef<'c>>) -> bool {
        while next().is_some() {}
        self.0 += 1;
        true
    }

    fn streams(&self) -> bool {
        true
    }

    fn undo(&mut self) {
        self.0 -= 1;
    }
}

/// See [`Instance::count_rows`](crate::tablestore::Instance::count_rows).
pub(crate) async fn count_rows(state: &State, request: CountRows<'_>) -> Outcome<RowCount> {
    let CountRows { table, start, end, filter } = request;
    let options = ReadOptions { versions: VersionQuery::NEWEST, filter, ..ReadOptions::default() };
    let range = GetRange { table, direction: Direction::Forward, start, end, limit: None, options };
    let mut counter = Counter::default();
    let read = get_range(state, None, &range, &mut counter).await?;
    Ok(RowCount { schema: read.schema, consumed: read.consumed, rows: counter.0, next: read.next })
}
