//! Tables that a damaged catalog lacks.

use super::catalog_rows::{self, StoredCatalog};
use crate::engine::{Direction, Engine, KeyRange};
use crate::error::Result;
use crate::model::{KeyColumn, KeyType, KeyValue, TableOptions, TableSchema, decode_key};
use crate::tablestore::table::{Fixed, Table, TableState};
use crate::tablestore::units::meter;
use std::ops::ControlFlow;

/// Adds a table for each tree with rows that the damaged catalog does not know. Only the table's name and the names of
/// its key columns are lost.
pub(crate) async fn find_tables(engine: &Engine, catalog: &mut StoredCatalog) -> Result<()> {
    if engine.missing().iter().all(|one| one.tree.is_some_and(|tree| tree != catalog_rows::TREE)) {
        return Ok(());
    }
    for tree in engine.trees() {
        let own = |table: &Table| table.tree() == tree || table.stream().is_some_and(|stream| stream.tree == tree);
        let known = catalog.tables.iter().any(own);
        if known || [catalog_rows::TREE, meter::TREE].contains(&tree) {
            continue;
        }
        let mut key = None;
        let mut see = |row: &[u8]| {
            key = decode_key(row);
            ControlFlow::Break(())
        };
        engine.scan(tree, KeyRange::ALL, Direction::Forward, &mut |row, _| see(row)).await?;
        let Some(key) = key else { continue };
        let typed = key.into_iter().zip(1..).map(|(value, number)| {
            let key_type = match value {
                KeyValue::Integer(_) => KeyType::Integer,
                KeyValue::String(_) => KeyType::String,
                KeyValue::Binary(_) => KeyType::Binary,
            };
            KeyColumn::new(format!("key{number}"), key_type)
        });
        let Ok(schema) = TableSchema::of_index(typed.collect()) else { continue };
        let mut name = format!("tree_{}", tree.0);
        while catalog.tables.iter().any(|table| table.name() == name) {
            name.push('_');
        }
        let options = TableOptions { max_versions: i64::MAX, ..TableOptions::default() };
        catalog.tables.push(Table::new(
            Fixed::new(name, tree, 0),
            schema,
            TableState { options, ..TableState::default() },
        ));
    }
    Ok(())
}
