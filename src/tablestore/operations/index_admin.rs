//! Indexes and defined columns: CreateIndex, DropIndex, AddDefinedColumn, DeleteDefinedColumn, and the rules that a table
//! with indexes keeps (T8).
//!
//! This file does not know how an index is filled and kept up to date.

use super::build::start_builds;
use super::describe::describe;
use crate::error::{Code, Error, Result};
use crate::model::schema::first_counted;
use crate::model::{
    ColumnName, DefinedColumn, IndexKind, KeyColumn, KeyType, Limits, TableName, TableOptions, TableSchema, limits,
};
use crate::tablestore::state::State;
use crate::tablestore::table::descriptions::{IndexSpec, TableDescription, UpdateTable};
use crate::tablestore::table::{Fixed, Index, IndexMeta, Table, TableState};
use std::rc::Rc;

/// The definition of an index, checked against its table.
pub(crate) struct Plan {
    name: String,
    schema: TableSchema,
    meta: IndexMeta,
    pub(crate) options: TableOptions,
}

/// Checks all defined columns of a table, old and new ones.
pub(crate) fn check_defined(defined: &[DefinedColumn], schema: &TableSchema, limits: &Limits) -> Result<()> {
    let most = limits::DEFINED_COLUMNS;
    if defined.len() > most {
        return Err(Error::parameter(format!("The number of defined columns must be in range: [0, {most}].")));
    }
    for (at, DefinedColumn { name, .. }) in defined.iter().enumerate() {
        ColumnName::parse(name, limits.names)?;
        if schema.is_key(name) {
            let text = format!("Duplicated attribute column name with primary key column: {name}.");
            return Err(Error::parameter(text));
        }
        if defined.iter().take(at).any(|earlier| earlier.name == *name) {
            return Err(Error::parameter(format!("Duplicated defined column name: '{name}'.")));
        }
    }
    Ok(())
}

/// Checks the name of an index against the others of one request.
pub(crate) fn check_names<'a>(spec: &IndexSpec, mut others: impl Iterator<Item = &'a String>) -> Result<()> {
    TableName::parse(&spec.name)?;
    if others.any(|other| *other == spec.name) {
        return Err(Error::parameter(format!("Duplicated table name: {}.", spec.name)));
    }
    Ok(())
}

/// Checks the number of a table's indexes.
pub(crate) fn check_count(indexes: usize) -> Result<()> {
    let most = limits::INDEXES;
    if indexes > most {
        return Err(Error::parameter(format!("Number of index per table exceeds the quota:{most}.")));
    }
    Ok(())
}

/// Checks the options of a table against the times to live of its indexes (T8).
pub(crate) fn check_options(options: &TableOptions, indexes: impl Iterator<Item = i64>) -> Result<()> {
    let endless = |time_to_live: i64| if time_to_live == -1 { i64::MAX } else { time_to_live };
    let table = options.time_to_live;
    for index in indexes {
        if options.max_versions != 1 {
            let given = options.max_versions;
            return Err(Error::parameter(format!("The max versions of a table with an index must be 1: {given}.")));
        }
        if table != -1 && options.allow_update {
            return Err(Error::parameter(format!(
                "The time to live of a table with an index must be -1 unless updates are not allowed: {table}."
            )));
        }
        if endless(table) < endless(index) {
            return Err(Error::parameter("[table ttl] must be bigger than or equal search index ttl"));
        }
    }
    Ok(())
}

/// Checks an index against its table and finds its key.
pub(crate) fn plan(
    spec: &IndexSpec,
    base: &str,
    schema: &TableSchema,
    defined: &[DefinedColumn],
    options: &TableOptions,
) -> Result<Plan> {
    let name = &spec.name;
    if !limits::KEY_COLUMNS.contains(&spec.key.len()) {
        return Err(Error::parameter("The number of primary key columns must be in range: [1, 4] in index."));
    }
    let most = limits::INDEX_COLUMNS;
    if spec.columns.len() > most {
        let text = format!("The number of attribute columns must be in range: [0, {most}] in index.");
        return Err(Error::parameter(text));
    }
    let type_of = |column: &str| {
        let found = defined.iter().find(|defined| defined.name == column);
        let missing = || Error::parameter(format!("Column '{column}' of index '{name}' is not a defined column."));
        found.map(|defined| defined.column_type).ok_or_else(missing)
    };
    let mut key = Vec::new();
    let mut sources = Vec::new();
    let unnamed = schema.key().iter().map(|column| &column.name).filter(|column| !spec.key.contains(column));
    for column in spec.key.iter().chain(unnamed) {
        let place = schema.place(column);
        let key_type = match place.and_then(|place| schema.key().get(place)) {
            Some(own) => own.key_type,
            None => {
                let column_type = type_of(column)?;
                KeyType::of(column_type).ok_or_else(|| {
                    let text = format!("{} is an invalid type for the primary key.", column_type.as_str());
                    Error::parameter(text).with_hint(format!("column '{column}' of index '{name}'"))
                })?
            }
        };
        key.push(KeyColumn::new(column, key_type));
        sources.push(place);
    }
    if sources.first().is_some_and(|first| first.is_some() && *first == schema.auto_increment()) {
        return Err(first_counted(name));
    }
    if spec.kind == IndexKind::Local && sources.first() != Some(&Some(0)) {
        let text = format!("The first primary key column of local index '{name}' must be that of table '{base}'.");
        return Err(Error::parameter(text));
    }
    for (at, column) in spec.columns.iter().enumerate() {
        if spec.columns.iter().take(at).chain(&spec.key).any(|other| other == column) {
            return Err(Error::parameter(format!("Duplicated column '{column}' in index '{name}'.")));
        }
        type_of(column)?;
    }
    let options = TableOptions { time_to_live: spec.time_to_live.unwrap_or(options.time_to_live), ..*options };
    options.check()?;
    let meta = IndexMeta {
        base: base.to_owned(),
        kind: spec.kind,
        key: spec.key.clone(),
        columns: spec.columns.clone(),
        sources,
        ..IndexMeta::default()
    };
    Ok(Plan { name: name.clone(), schema: TableSchema::of_index(key)?, meta, options })
}

/// Creates the table object of an index that is not stored yet. `since`: see [`IndexMeta`].
pub(crate) fn index_table(state: &State, plan: Plan, since: Option<u64>, building: bool) -> Table {
    let (now, tree) = (state.engine.clock().now_ms(), state.catalog.new_tree());
    let fixed = Fixed { index_of: Some(IndexMeta { since, ..plan.meta }), ..Fixed::new(plan.name, tree, now) };
    let new = TableState { options: plan.options, building_since: building.then_some(now), ..TableState::default() };
    Table::new(fixed, plan.schema, new)
}

/// A table that is not an index.
fn base_table(state: &State, name: &str) -> Result<Rc<Table>> {
    let table = state.catalog.table(TableName::parse(name)?)?;
    if table.index_of().is_some() {
        return Err(Error::parameter(format!("'{name}' is an index table, it has no indexes of its own.")));
    }
    Ok(table)
}

/// See [`Instance::create_index`](crate::tablestore::Instance::create_index).
pub(crate) async fn create_index(state: &State, table: &str, spec: IndexSpec, include_base_data: bool) -> Result<()> {
    state.table_operation()?;
    TableName::parse(table)?;
    TableName::parse(&spec.name)?;
    let _changing = state.catalog.change().await;
    let base = base_table(state, table)?;
    let options = base.options();
    let plan = plan(&spec, base.name(), base.schema(), &base.defined(), &options)?;
    let indexes = base.indexes();
    check_count(indexes.len() + 1)?;
    let lives = indexes.iter().map(|index| index.table.options().time_to_live);
    check_options(&options, lives.chain([plan.options.time_to_live]))?;
    state.catalog.check_new([spec.name.as_str()].into_iter(), state.limits().tables)?;
    let since = (!include_base_data).then(|| state.engine.last_seqno());
    state.add_tables(vec![Rc::new(index_table(state, plan, since, include_base_data))]).await?;
    start_builds(state);
    Ok(())
}

/// See [`Instance::drop_index`](crate::tablestore::Instance::drop_index).
pub(crate) async fn drop_index(state: &State, table: &str, index: &str) -> Result<()> {
    state.table_operation()?;
    TableName::parse(index)?;
    let table = TableName::parse(table)?;
    let _changing = state.catalog.change().await;
    let base = state.catalog.table(table)?;
    let found = base.indexes().iter().find(|other| other.table.name() == index).cloned();
    let found = found.ok_or_else(|| Error::new(Code::ObjectNotExist, "Requested index does not exist."))?;
    state.remove_tables(&[found.table]).await?;
    state.relink(base.name());
    Ok(())
}

/// See [`Instance::add_defined_column`](crate::tablestore::Instance::add_defined_column).
/// Its future is a gate of [`Module::Occasional`](crate::modules::Module::Occasional).
pub(crate) async fn add_defined_column(state: &State, table: &str, columns: Vec<DefinedColumn>) -> Result<()> {
    redefine(state, table, columns.len(), &|base| {
        let defined: Vec<_> = base.defined().iter().chain(&columns).cloned().collect();
        check_defined(&defined, base.schema(), state.limits())?;
        Ok(defined)
    })
    .await
}

/// See [`Instance::delete_defined_column`](crate::tablestore::Instance::delete_defined_column).
/// Its future is a gate of [`Module::Occasional`](crate::modules::Module::Occasional).
pub(crate) async fn delete_defined_column(state: &State, table: &str, columns: &[String]) -> Result<()> {
    redefine(state, table, columns.len(), &|base| {
        for column in columns {
            if base.defined_type(column).is_none() {
                return Err(Error::parameter(format!("Column '{column}' is not a defined column.")));
            }
            let uses = |index: &&Index| index.meta.key.contains(column) || index.meta.columns.contains(column);
            if let Some(index) = base.indexes().iter().find(uses) {
                let index = index.table.name();
                return Err(Error::parameter(format!("Column '{column}' is used by index '{index}'.")));
            }
        }
        Ok(base.defined().iter().filter(|column| !columns.contains(&column.name)).cloned().collect())
    })
    .await
}

/// Changes the defined columns of a table by `change`. `named` is the number of columns in the request.
async fn redefine(
    state: &State,
    table: &str,
    named: usize,
    change: &dyn Fn(&Table) -> Result<Vec<DefinedColumn>>,
) -> Result<()> {
    state.table_operation()?;
    TableName::parse(table)?;
    if named == 0 {
        return Err(Error::parameter("No defined column is specified."));
    }
    let _changing = state.catalog.change().await;
    let base = base_table(state, table)?;
    let new = TableState { defined: change(&base)?.into(), ..base.state() };
    state.set_state(&base, new).await
}

/// UpdateTable of an index: only its time to live can change (T8). A longer one shows rows again that may be gone
/// from the index and still in the table. So the index is rebuilt, from all rows that belong to it.
pub(crate) async fn update_index(state: &State, index: &Rc<Table>, request: &UpdateTable) -> Result<TableDescription> {
    let before = index.state();
    let options = request.options.apply(before.options)?;
    let only = TableOptions { time_to_live: options.time_to_live, ..before.options };
    let (read, write) = (request.reserved_read.unwrap_or(0), request.reserved_write.unwrap_or(0));
    if options != only || (read, write) != (0, 0) || request.stream.is_some() {
        return Err(Error::parameter("Only the time to live of an index table can be changed."));
    }
    let Some(meta) = index.index_of() else { return Err(Error::internal("a table that is no index")) };
    let base = state.catalog.table(TableName::known(&meta.base))?;
    check_options(&base.options(), [options.time_to_live].into_iter())?;
    let longer = |from: i64, to: i64| from != -1 && (to == -1 || to > from);
    if !longer(before.options.time_to_live, options.time_to_live) {
        state.set_state(index, TableState { options, ..before }).await?;
        return Ok(describe(state, index));
    }
    let meta = meta.anew();
    let fixed = Fixed {
        name: index.name().to_owned(),
        tree: state.catalog.new_tree(),
        payer: index.payer(),
        created: index.created(),
        local_transactions: false,
        index_of: Some(meta),
    };
    let new = TableState { options, building_since: Some(state.engine.clock().now_ms()), ..before };
    let again = Rc::new(Table::new(fixed, (**index.schema()).clone(), new));
    state.add_tables(vec![Rc::clone(&again)]).await?;
    index.end();
    state.engine.drop_tree(index.tree());
    start_builds(state);
    Ok(describe(state, &again))
}
