//! Partitions that are split and merged at any moment (P1).

use crate::texts;
use tabstore::Result;
use tabstore::engine::{Engine, TreeId};
use tabstore::env::sim::SimEnv;
use tabstore::model::{KeyType, KeyValue};
use tabstore::tablestore::Instance;

/// Splits some partition of some table somewhere, or merges it with the next one.
pub(crate) async fn change(env: &SimEnv, instance: &Instance) -> Result<()> {
    let pick = |count: usize| env.random() as usize % count;
    let tables = instance.list_table();
    if tables.is_empty() {
        return Ok(());
    }
    let table = &tables[pick(tables.len())];
    if pick(3) == 0 {
        let partitions = instance.partitions(table)?;
        return instance.merge_partition(table, partitions[pick(partitions.len())].id).await;
    }
    let number = i64::try_from(pick(42)).expect("small");
    let at = match instance.describe_table(table)?.schema.key()[0].key_type {
        KeyType::Integer => KeyValue::Integer(number - 1),
        KeyType::String if number % 2 == 0 => KeyValue::String(format!("b{number}")),
        KeyType::String => KeyValue::String(texts::key(pick(texts::KEYS as usize) as i64).to_owned()),
        KeyType::Binary => KeyValue::Binary(vec![number as u8]),
    };
    instance.split_partition(table, &at).await
}

/// The same for a tree of the engine, in front of one of these keys.
pub(crate) async fn change_tree(env: &SimEnv, engine: &Engine, tree: TreeId, at: &[u8]) -> Result<()> {
    if !env.random().is_multiple_of(3) {
        return engine.split_partition(tree, at).await;
    }
    let partitions = engine.partitions(tree);
    match partitions.get(env.random() as usize % partitions.len().max(1)) {
        Some(one) => engine.merge_partition(tree, one.id).await,
        None => Ok(()),
    }
}
