//! The descriptions of tables (T4, P1).

use crate::engine::PartitionMetrics;
use crate::model::decode_key;
use crate::tablestore::state::State;
use crate::tablestore::table::descriptions::{
    IndexDescription, PartitionDescription, StreamDescription, TableDescription,
};
use crate::tablestore::table::{Table, TableState};
use std::rc::Rc;

/// The description of a table, also of one of another data model.
pub(crate) fn describe(state: &State, table: &Table) -> TableDescription {
    let TableState { options, throughput, last_increase, last_decrease, defined, .. } = table.state();
    let now = state.engine.clock().now_ms();
    TableDescription {
        name: table.name().to_owned(),
        schema: Rc::clone(table.schema()),
        options,
        throughput,
        last_increase,
        last_decrease,
        created: table.created(),
        defined,
        indexes: table.indexes().iter().map(|index| IndexDescription::of(index, now)).collect(),
        index_of: table.index_of().map(|index| index.base.clone()),
        local_transactions: table.local_transactions(),
        stream: StreamDescription::of(table),
        partitions: partitions_of(state, table),
    }
}

/// The partitions of a table, ascending.
pub(crate) fn partitions_of(state: &State, table: &Table) -> Vec<PartitionDescription> {
    let mut found = state.engine.partitions(table.tree());
    if found.is_empty() {
        found.push(PartitionMetrics::default());
    }
    let mut described: Vec<PartitionDescription> = Vec::with_capacity(found.len());
    for one in found {
        let lower = decode_key(&one.from).and_then(|mut key| key.pop());
        if let Some(before) = described.last_mut() {
            before.upper.clone_from(&lower);
        }
        described.push(PartitionDescription {
            id: one.id.0,
            lower,
            upper: None,
            bytes: one.bytes,
            entries: one.entries,
            operations_per_second: one.operations_per_second,
            exceeds_advice: one.of_one_key && one.bytes > state.options.limits.partition_key_bytes,
        });
    }
    described
}
