//! GetRow, BatchGetRow and GetRange (R1, R2, R3, V8).

use super::in_order::in_order;
use crate::engine::{BlockFilter, RowView, ScanOptions};
use crate::error::{Code, Error, Result};
use crate::model::select::Stretch;
use crate::model::{Consumed, KeyInput, KeyValue, RowSink, TableName, TableSchema, limits};
use crate::tablestore::rows::check;
use crate::tablestore::rows::point_read::{EncodedKey, Found, PointReader, encoded};
use crate::tablestore::rows::range::range_of;
use crate::tablestore::rows::range_scan::{RangeScan, ScanFilter, ScanStep, decoded};
use crate::tablestore::rows::request::{GetRange, GetRow, ReadOptions, TableRead};
use crate::tablestore::rows::row_reader::{Projection, RowReader};
use crate::tablestore::state::State;
use crate::tablestore::state::transaction::TransactionUse;
use crate::tablestore::table::Table;
use crate::tablestore::units::failure::{Charge, Outcome};
use crate::tablestore::units::meter::Consumes;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

const NO_VERSIONS: &str = "No version condition is specified.";
const NO_VERSIONS_IN_BATCH: &str = "No version condition is specified while querying row.";

/// The result of GetRange, besides the rows, which go to the sink.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeRead {
    /// The table's schema.
    pub schema: Rc<TableSchema>,
    /// The cost (C1).
    pub consumed: Consumed,
    /// The start of the next call; `None` if the range was read to its end.
    pub next: Option<Vec<KeyValue>>,
}

impl Consumes for RangeRead {
    fn consumed(&self) -> Consumed {
        self.consumed
    }
}

/// See [`Instance::get_row_in`](crate::tablestore::Instance::get_row_in).
pub(crate) async fn get_row(
    state: &State,
    transaction: Option<&str>,
    request: &GetRow<'_>,
    sink: &mut dyn RowSink,
) -> Outcome<Found> {
    let table = state.catalog.named(request.table);
    let found = read_one(state, transaction, request, sink).await.map_err(|error| Charge::Read.failure(error));
    state.metered_on(table.as_deref(), found)
}

async fn read_one(
    state: &State,
    transaction: Option<&str>,
    request: &GetRow<'_>,
    sink: &mut dyn RowSink,
) -> Result<Found> {
    check_row_key(state, request.table, &request.key)?;
    let wanted = wanted(state, &request.options, NO_VERSIONS)?;
    let using = state.enter(transaction)?;
    let table = state.catalog.readable(request.table)?;
    let asked = encoded(&request.key, &table)?;
    using.iter().try_for_each(|using| using.check_row(&table, &asked.1))?;
    let reader = PointReader::new(wanted, &table, state.clock(), &state.throttle);
    sink.start(table.schema());
    let mut found = Err(unvisited());
    let overlay = using.as_ref().map(TransactionUse::overlay);
    let mut visit = |_: usize, row: Option<&RowView<'_>>| found = reader.read(&asked, row, sink);
    let needs = |stretch: &Stretch<'_>| reader.needs(stretch);
    state.engine.read_parts(overlay, table.tree(), &[&asked.1], Some(&needs), &mut visit).await?;
    found
}

/// See [`Instance::batch_get_row`](crate::tablestore::Instance::batch_get_row).
pub(crate) async fn batch_get_row(
    state: &State,
    tables: &[TableRead<'_>],
    sinks: Vec<&mut dyn RowSink>,
) -> Outcome<Vec<Vec<Outcome<Found>>>> {
    let nothing = |error| Charge::Nothing.failure(error);
    let wanted = check_batch(state, tables).map_err(nothing)?;
    // All tables are polled now: no later write comes before the read of the last table.
    let reads = tables.iter().zip(wanted).zip(sinks);
    let reads = reads.map(|((read, wanted), sink)| read_many(state, read, wanted, sink));
    in_order(reads).await.into_iter().collect::<Result<_>>().map_err(nothing)
}

fn check_batch<'a>(state: &State, tables: &'a [TableRead<'a>]) -> Result<Vec<Projection<'a>>> {
    if tables.is_empty() {
        return Err(Error::parameter("No row specified in the request of BatchGetRow."));
    }
    // A table without keys is right, but no batch needs more tables than it may have rows.
    let (rows, most) = (tables.iter().map(|table| table.keys.len()).sum::<usize>(), limits::BATCH_GET_ROWS);
    if rows.max(tables.len()) > most {
        return Err(Error::parameter(format!("Rows count exceeds the upper limit: {most}.")));
    }
    for table in tables {
        table.keys.iter().try_for_each(|key| check_row_key(state, table.table, key))?;
    }
    tables.iter().map(|table| wanted(state, &table.options, NO_VERSIONS_IN_BATCH)).collect()
}

fn check_row_key(state: &State, table: TableName<'_>, key: &KeyInput<'_>) -> Result<()> {
    check_key_count(state, table, key)?;
    key.check_row().map_err(|error| error.in_table(table.as_str()))
}

/// Refuses a number of key columns that no table has, before it looks up the table (R8). Only an index key may have
/// more: its own columns, and those of its base table's key.
fn check_key_count(state: &State, table: TableName<'_>, key: &KeyInput<'_>) -> Result<()> {
    let of_index = || {
        let tables = state.catalog.all();
        let index = tables.get(table.as_str()).filter(|table| table.index_of().is_some());
        index.is_some_and(|index| (1..=index.schema().key().len()).contains(&key.count()))
    };
    match key.check_count() {
        Err(_) if of_index() => Ok(()),
        checked => checked.map_err(|error| error.in_table(table.as_str())),
    }
}

async fn read_many(
    state: &State,
    read: &TableRead<'_>,
    wanted: Projection<'_>,
    sink: &mut dyn RowSink,
) -> Result<Vec<Outcome<Found>>> {
    let refused = |error: Error| Err(Charge::Read.failure(error));
    let table = match state.catalog.readable(read.table) {
        Ok(table) => table,
        Err(error) => {
            let none = |_| state.metered(read.table, refused(error.clone()));
            return Ok(read.keys.iter().map(none).collect());
        }
    };
    let reader = PointReader::new(wanted, &table, state.clock(), &state.throttle);
    sink.start(table.schema());
    let keys = read.keys.iter().map(|key| encoded(key, &table)).collect::<Vec<_>>();
    let asked = keys.iter().flatten().collect::<Vec<_>>();
    let mut found = read_keys(state, &table, &reader, &asked, sink).await?.into_iter();
    let results = keys.iter().map(|key| match key {
        Ok(_) => found.next().unwrap_or_else(|| refused(unvisited())),
        Err(error) => refused(error.clone()),
    });
    Ok(results.map(|found| state.metered_on(Some(&table), found)).collect())
}

/// Reads rows by their keys, all at one instant. Only if some cannot be read, the rest are read one by one.
async fn read_keys(
    state: &State,
    table: &Table,
    reader: &PointReader<'_>,
    asked: &[&EncodedKey<'_>],
    sink: &mut dyn RowSink,
) -> Result<Vec<Outcome<Found>>> {
    let keys = asked.iter().map(|(_, key)| key.as_slice()).collect::<Vec<_>>();
    let mut found = Vec::with_capacity(asked.len());
    let mut visit = |at: usize, row: Option<&RowView<'_>>| {
        if let Some(asked) = asked.get(at) {
            found.push(reader.read(asked, row, sink).map_err(|error| Charge::Read.failure(error)));
        }
    };
    let needs = |stretch: &Stretch<'_>| reader.needs(stretch);
    match state.engine.read_parts(None, table.tree(), &keys, Some(&needs), &mut visit).await {
        // A damaged record fails the whole read; the rows before it in the order were visited already.
        Err(error) if error.code() == Code::Corrupt => {}
        read => return read.map(|()| found),
    }
    for asked in asked.iter().skip(found.len()) {
        let mut alone = Err(unvisited());
        let mut visit = |_: usize, row: Option<&RowView<'_>>| alone = reader.read(asked, row, sink);
        match state.engine.read_parts(None, table.tree(), &[&asked.1], Some(&needs), &mut visit).await {
            Err(error) if error.code() != Code::Corrupt => return Err(error),
            read => found.push(read.and(alone).map_err(|error| Charge::Read.failure(error))),
        }
    }
    Ok(found)
}

/// See [`Instance::get_range_in`](crate::tablestore::Instance::get_range_in).
pub(crate) async fn get_range(
    state: &State,
    transaction: Option<&str>,
    request: &GetRange<'_>,
    sink: &mut dyn RowSink,
) -> Outcome<RangeRead> {
    let table = state.catalog.named(request.table);
    let read = read_range(state, transaction, request, sink).await.map_err(|error| Charge::Read.failure(error));
    state.metered_on(table.as_deref(), read)
}

async fn read_range(
    state: &State,
    transaction: Option<&str>,
    request: &GetRange<'_>,
    sink: &mut dyn RowSink,
) -> Result<RangeRead> {
    for end in [&request.start, &request.end] {
        if !end.is_empty() {
            check_key_count(state, request.table, end)?;
        }
        end.check_end().map_err(|error| error.in_table(request.table.as_str()))?;
    }
    let wanted = wanted(state, &request.options, NO_VERSIONS)?;
    let limit = match request.limit {
        None => usize::MAX,
        Some(limit) if limit > 0 => usize::try_from(limit).unwrap_or(usize::MAX),
        Some(_) => return Err(Error::parameter("The limit must be greater than 0.")),
    };
    let using = state.enter(transaction)?;
    let table = state.catalog.readable(request.table)?;
    let range = range_of(request, table.schema()).map_err(|error| error.in_table(table.name()))?;
    using.iter().try_for_each(|using| using.check_range(&table, &range))?;
    let now = state.clock();
    let reader = RowReader::new(wanted, &table, now, true);
    sink.start(table.schema());
    let scan = RefCell::new(RangeScan::new(reader, table.tree(), limit, sink, &state.throttle));
    let mut next = None;
    let mut visit = |key: &[u8], row: &RowView<'_>| match scan.borrow_mut().visit(key, row) {
        Ok(ScanStep::On) => ControlFlow::Continue(()),
        Ok(ScanStep::Stop) => {
            next = Some(Ok(key.to_vec()));
            ControlFlow::Break(())
        }
        Err(error) => {
            next = Some(Err(error));
            ControlFlow::Break(())
        }
    };
    let overlay = using.as_ref().map(TransactionUse::overlay);
    let filter = ScanFilter::of(&scan);
    let filter = filter.as_ref().map(|filter| filter as &dyn BlockFilter);
    let options = ScanOptions { overlay, filter, ..ScanOptions::STORED };
    state.engine.scan_over(options, table.tree(), range, request.direction, &mut visit).await?;
    let consumed = scan.borrow().consumed(now, &state.throttle)?;
    let next = next.transpose()?.map(|key| decoded(&key)).transpose()?;
    Ok(RangeRead { schema: Rc::clone(table.schema()), consumed, next })
}

pub(crate) fn wanted<'a>(state: &State, options: &'a ReadOptions<'a>, nothing_asked: &str) -> Result<Projection<'a>> {
    let filter = options.filter.as_ref().map(|filter| filter.check(true)).transpose()?;
    Ok(Projection { selection: check::selection(options, state.limits(), nothing_asked)?, filter })
}

fn unvisited() -> Error {
    Error::internal("the engine did not answer for a key")
}
