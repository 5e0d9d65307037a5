//! The partitions of a table, as in its description (P1 to P3).

use super::describe::partitions_of;
use crate::error::Result;
use crate::model::{KeyValue, TableName, encode_value};
use crate::tablestore::state::State;
use crate::tablestore::table::descriptions::PartitionDescription;

/// See [`Instance::partitions`](crate::tablestore::Instance::partitions).
pub(crate) fn partitions(state: &State, table: &str) -> Result<Vec<PartitionDescription>> {
    let table = state.catalog.table(TableName::parse(table)?)?;
    Ok(partitions_of(state, &table))
}

/// See [`Instance::split_partition`](crate::tablestore::Instance::split_partition).
pub(crate) async fn split_partition(state: &State, table: &str, at: &KeyValue) -> Result<()> {
    let table = state.catalog.table(TableName::parse(table)?)?;
    let mut key = Vec::new();
    encode_value(at.as_value(), &mut key);
    state.engine.split_partition(table.tree(), &key).await
}

/// See [`Instance::merge_partition`](crate::tablestore::Instance::merge_partition).
pub(crate) async fn merge_partition(state: &State, table: &str, id: u64) -> Result<()> {
    let table = state.catalog.table(TableName::parse(table)?)?;
    state.engine.merge_partition(table.tree(), crate::engine::PartitionId(id)).await
}
