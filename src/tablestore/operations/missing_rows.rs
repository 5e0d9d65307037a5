//! The missing data of an instance that was opened with `salvage`, by tables.

use super::splits::successor;
use crate::engine::{Missing, TreeId, boundary_behind};
use crate::error::Error;
use crate::model::{KeyValue, decode_key};
use crate::tablestore::state::State;

/// A range of unreadable rows.
#[derive(Clone, Debug)]
pub struct MissingRows {
    /// The damaged record, and its fault.
    pub error: Error,
    /// The tree whose rows are missing. Without one, the latest writes of any table are missing.
    pub tree: Option<TreeId>,
    /// The name of its table; `None` for the store's own trees.
    pub table: Option<String>,
    /// The first key that may be missing, and the first one behind the range; `None` at an end of the table. Either may
    /// be the first columns of a key, which stand for the least key that begins with them.
    pub keys: [Option<Vec<KeyValue>>; 2],
}

/// See [`Instance::missing`](crate::tablestore::Instance::missing).
#[must_use]
pub(crate) fn missing(state: &State) -> Vec<MissingRows> {
    let named = |Missing { error, tree, keys: [from, to] }: &Missing| {
        let table = tree.and_then(|tree| state.catalog.name_of(tree));
        MissingRows { error: error.clone(), tree: *tree, table, keys: [values(from), end(to)] }
    };
    state.engine.missing().iter().map(named).collect()
}

fn values(key: &[u8]) -> Option<Vec<KeyValue>> {
    decode_key(key).filter(|values| !values.is_empty())
}

/// An end of a range of keys. It may lie right behind a key or right before the next partition.
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
