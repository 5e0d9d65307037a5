//! CreateTable, ListTable, DescribeTable, UpdateTable and DeleteTable (T1, T4 to T6, I3).
//!
//! Changes run one after another, and are visible once they are durable.

use super::describe::describe;
use super::index_admin::{self, index_table, update_index};
use crate::error::{Code, Error, Result};
use crate::model::{ReservedThroughput, TableName, TableOptions, TableSchema, limits};
use crate::modules::Module;
use crate::tablestore::state::State;
use crate::tablestore::stream::admin::{new_stream, set_stream};
use crate::tablestore::table::descriptions::{CreateTable, OptionsChange, TableDescription, UpdateTable};
use crate::tablestore::table::foreign_names::may_be_foreign;
use crate::tablestore::table::{Fixed, Table, TableState};
use std::rc::Rc;

/// See [`Instance::create_table`](crate::tablestore::Instance::create_table).
pub(crate) async fn create_table(state: &State, request: CreateTable) -> Result<()> {
    state.table_operation()?;
    TableName::parse(&request.name)?;
    let schema = TableSchema::checked(&request.name, request.key, state.limits())?;
    index_admin::check_defined(&request.defined, &schema, state.limits())?;
    let options = request.options.apply(TableOptions::default())?;
    let (read, write) = (request.reserved_read.unwrap_or(0), request.reserved_write.unwrap_or(0));
    let throughput = ReservedThroughput::parse(read, write, state.options.kind, state.limits())?;
    let stream = request.stream.map_or(Ok(None), |stream| stream.check(state.limits(), false))?;
    let mut plans = Vec::new();
    for (at, spec) in request.indexes.iter().enumerate() {
        let names = request.indexes.iter().take(at).map(|earlier| &earlier.name).chain([&request.name]);
        index_admin::check_names(spec, names)?;
        plans.push(index_admin::plan(spec, &request.name, &schema, &request.defined, &options)?);
    }
    index_admin::check_count(plans.len())?;
    index_admin::check_options(&options, plans.iter().map(|plan| plan.options.time_to_live))?;

    let _turn = state.catalog.change().await;
    if stream.is_some() {
        state.engine.env().load(Module::Streams).await?;
    }
    let names = request.indexes.iter().map(|spec| spec.name.as_str()).chain([request.name.as_str()]);
    state.catalog.check_new(names, state.limits().tables)?;
    let tree = state.catalog.new_tree();
    let fixed = Fixed {
        local_transactions: request.local_transactions.unwrap_or(true),
        ..Fixed::new(request.name, tree, state.engine.clock().now_ms())
    };
    let new = TableState { options, throughput, defined: request.defined.into(), ..TableState::default() };
    let table = Rc::new(Table::new(fixed, schema, new));
    if let Some((hours, columns)) = stream {
        table.set_stream(Some(new_stream(state, &table, hours, columns)));
    }
    let mut new = vec![table];
    new.extend(plans.into_iter().map(|plan| Rc::new(index_table(state, plan, None, false))));
    state.add_tables(new).await
}

/// See [`Instance::describe_table`](crate::tablestore::Instance::describe_table).
pub(crate) fn describe_table(state: &State, name: &str) -> Result<TableDescription> {
    state.table_operation()?;
    Ok(describe(state, &*state.catalog.any(name)?))
}

/// See [`Instance::update_table`](crate::tablestore::Instance::update_table).
pub(crate) async fn update_table(state: &State, request: UpdateTable) -> Result<TableDescription> {
    state.table_operation()?;
    let changes_options = request.options != OptionsChange::default()
        || request.reserved_read.is_some()
        || request.reserved_write.is_some();
    if !may_be_foreign(&request.name) {
        TableName::parse(&request.name)?;
    } else if changes_options {
        return Err(Error::parameter("Only the stream of a table of another data model can be changed."));
    }
    if !changes_options && request.stream.is_none() {
        return Err(Error::parameter("No parameter is specified in table options."));
    }
    let _turn = state.catalog.change().await;
    let table = state.catalog.any(&request.name)?;
    if table.index_of().is_some() {
        return update_index(state, &table, &request).await;
    }
    let before = table.state();
    let options = request.options.apply(before.options)?;
    let read = request.reserved_read.unwrap_or(i64::from(before.throughput.read));
    let write = request.reserved_write.unwrap_or(i64::from(before.throughput.write));
    let throughput = ReservedThroughput::parse(read, write, state.options.kind, state.limits())?;
    index_admin::check_options(&options, table.indexes().iter().map(|index| index.table.options().time_to_live))?;
    let new = TableState { options, ..adjusted(before, throughput, state.engine.clock().now_ms())? };
    match request.stream {
        None => state.set_state(&table, new).await?,
        Some(change) => {
            state.engine.env().load(Module::Streams).await?;
            set_stream(state, &table, new, change).await?;
        }
    }
    Ok(describe(state, &table))
}

/// See [`Instance::delete_table`](crate::tablestore::Instance::delete_table).
pub(crate) async fn delete_table(state: &State, name: &str) -> Result<()> {
    state.table_operation()?;
    let name = TableName::parse(name)?;
    let _turn = state.catalog.change().await;
    let table = state.catalog.table(name)?;
    if table.index_of().is_some() {
        return Err(Error::parameter(format!("Can't delete index table directly, drop the index: '{name}'.")));
    }
    let mut gone: Vec<Rc<Table>> = table.indexes().iter().map(|index| Rc::clone(&index.table)).collect();
    gone.push(table);
    state.remove_tables(&gone).await
}

/// The state with another throughput, if it may change now (T6). Setting the current value changes nothing.
fn adjusted(before: TableState, throughput: ReservedThroughput, now: i64) -> Result<TableState> {
    if throughput == before.throughput {
        return Ok(before);
    }
    // A clock that was set back to before the last change does not lock the table.
    let wait = 0..limits::THROUGHPUT_CHANGE_SECONDS * 1000;
    let recent = |at: Option<i64>| at.is_some_and(|at| wait.contains(&now.saturating_sub(at)));
    if recent(before.last_increase) || recent(before.last_decrease) {
        let code = Code::TooFrequentReservedThroughputAdjustment;
        return Err(Error::new(code, "Capacity unit adjustment is too frequent."));
    }
    let old = before.throughput;
    let raised = throughput.read > old.read || throughput.write > old.write;
    let lowered = throughput.read < old.read || throughput.write < old.write;
    Ok(TableState {
        throughput,
        last_increase: if raised { Some(now) } else { before.last_increase },
        last_decrease: if lowered { Some(now) } else { before.last_decrease },
        ..before
    })
}
