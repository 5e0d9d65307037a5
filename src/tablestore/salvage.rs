//! What an instance that was opened to salvage it lacks, in the words of tables; and tables that the catalog lacks.

use super::Instance;
use super::catalog::{self, Catalog};
use super::meter;
use super::splits::successor;
use super::table::{Fixed, Table, TableState};
use crate::engine::{Direction, Engine, KeyRange, Missing, TreeId, boundary_behind};
use crate::error::{Error, Result};
use crate::model::{KeyColumn, KeyType, KeyValue, TableOptions, TableSchema, decode_key};
use crate::storage::Storage;
use std::ops::{Bound, ControlFlow};

/// Rows that could not be read.
#[derive(Clone, Debug)]
pub struct MissingRows {
    /// The damaged record, and what is wrong with it.
    pub error: Error,
    /// The tree whose rows are missing. Without one writes are missing, the latest ones of any table.
    pub tree: Option<TreeId>,
    /// The name of its table; `None` for the store's own trees.
    pub table: Option<String>,
    /// The first key that may be missing, and the first one behind it that is not; `None` at an end of the table. Either may
    /// be the first columns of a key, which stand for the least key that begins with them.
    pub keys: [Option<Vec<KeyValue>>; 2],
}

impl<S: Storage> Instance<S> {
    /// What could not be read when the instance was opened to salvage it.
    #[must_use]
    pub fn missing(&self) -> Vec<MissingRows> {
        let named = |Missing { error, tree, keys: [from, to] }: &Missing| {
            let table = tree.and_then(|tree| self.name_of(tree));
            MissingRows { error: error.clone(), tree: *tree, table, keys: [values(from), end(to)] }
        };
        self.engine.missing().iter().map(named).collect()
    }
}

fn values(key: &[u8]) -> Option<Vec<KeyValue>> {
    decode_key(key).filter(|values| !values.is_empty())
}

/// The end of a range of keys, which may lie right behind a key or right before the next partition.
fn end(key: &[u8]) -> Option<Vec<KeyValue>> {
    if let Some(values) = values(key) {
        return Some(values);
    }
    let last = key.strip_suffix(&[0])?;
    if let Some(mut values) = values(last) {
        let next = successor(values.pop()?)?;
        values.push(next);
        return Some(values);
    }
    values(&boundary_behind(last)?)
}

/// Adds a table for each tree that has rows and that the catalog does not know, if something of that is missing: the rows are
/// there, only their table's name and the names of its key columns are not.
pub(super) async fn find_tables<S: Storage>(engine: &Engine<S>, catalog: &mut Catalog) -> Result<()> {
    if engine.missing().iter().all(|one| one.tree.is_some_and(|tree| tree != catalog::TREE)) {
        return Ok(());
    }
    for tree in engine.trees() {
        let known = catalog.tables.iter().any(|table| table.tree() == tree);
        if known || [catalog::TREE, meter::TREE].contains(&tree) {
            continue;
        }
        let mut key = None;
        let all = KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded };
        let mut see = |row: &[u8]| {
            key = decode_key(row);
            ControlFlow::Break(())
        };
        engine.scan(tree, all, Direction::Forward, &mut |row, _| see(row)).await?;
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
        let fixed = Fixed { name, tree, account: tree.0, created: 0, local_transactions: false, index_of: None };
        catalog.tables.push(Table::new(fixed, schema, TableState { options, ..TableState::default() }));
    }
    Ok(())
}
