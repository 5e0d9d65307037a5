//! The metered storage of a table (V9).

use crate::engine::{Direction, KeyRange, RowView};
use crate::error::{Error, Result};
use crate::model::capacity::storage_bytes;
use crate::model::select::{self, ReadSelection};
use crate::model::{KeyReader, TableName};
use crate::tablestore::state::State;
use std::ops::ControlFlow;

/// A table's metered storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// Its existing rows.
    pub rows: u64,
    /// Their bytes: keys once a row, and visible versions with their columns' names. Each version has 8 bytes more if
    /// there may be several or they expire. Hidden or expired data costs nothing.
    pub bytes: u64,
}

/// See [`Instance::compute_storage`](crate::tablestore::Instance::compute_storage).
/// Its future is a gate of [`Module::Occasional`](crate::modules::Module::Occasional).
pub(crate) async fn compute_storage(state: &State, name: &str) -> Result<Stored> {
    let table = state.catalog.table(TableName::parse(name)?)?;
    let (options, now) = (table.options(), state.engine.clock().now_ms());
    let retention = options.retention();
    let (mut stored, mut keys, mut damaged) = (Stored::default(), KeyReader::default(), false);
    let mut visit = |key: &[u8], row: &RowView<'_>| {
        // An index row exists as long as the columns of its key.
        let cells = if table.index_of().is_some() { &[][..] } else { row.cells() };
        if select::exists(cells, row.marker(), retention, now) {
            let Some(values) = keys.read(key) else {
                damaged = true;
                return ControlFlow::Break(());
            };
            let visible = ReadSelection::everything().apply(row.cells(), retention, now);
            let key_bytes = table.schema().name_bytes() + values.metered_bytes();
            stored.rows += 1;
            stored.bytes += storage_bytes(key_bytes, &visible, &options);
        }
        ControlFlow::Continue(())
    };
    state.engine.scan(table.tree(), KeyRange::ALL, Direction::Forward, &mut visit).await?;
    if damaged { Err(Error::corrupt("a stored row", "its key is invalid")) } else { Ok(stored) }
}
