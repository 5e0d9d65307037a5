//! What has changed among the rows that somebody watches. The base of live queries.

use crate::engine::{ChangePlace, Direction, KeyRange};
use crate::error::Result;
use crate::model::{KeyInput, KeyValue, TableName, TableSchema};
use crate::tablestore::rows::point_read::encoded;
use crate::tablestore::rows::range::range_of;
use crate::tablestore::rows::range_scan::decoded;
use crate::tablestore::rows::request::{GetRange, MOST_WAIT_MS};
use crate::tablestore::state::State;
use std::ops::Bound;
use std::rc::Rc;

/// The rows that somebody watches.
#[derive(Clone, Debug)]
pub enum Watched<'a> {
    /// One row.
    Row(KeyInput<'a>),
    /// Those of a range. Only its table, direction and ends count.
    Range {
        /// The range.
        range: Box<GetRange<'a>>,
        /// Its last row that counts, if not all do.
        last: Option<Box<KeyInput<'a>>>,
    },
}

/// The answer to a watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedRows {
    /// Where to go on.
    pub place: ChangePlace,
    /// The keys of the changed rows. None: any row may have changed.
    pub keys: Option<Vec<Vec<KeyValue>>>,
    /// The table's schema.
    pub schema: Rc<TableSchema>,
}

/// See [`Instance::changed_rows`](crate::tablestore::Instance::changed_rows).
pub(crate) async fn changed_rows(
    state: &State,
    name: TableName<'_>,
    watched: &Watched<'_>,
    place: Option<ChangePlace>,
    waits: bool,
) -> Result<ChangedRows> {
    let table = state.catalog.readable(name)?;
    let range = match watched {
        Watched::Row(key) => {
            key.check_row().map_err(|error| error.in_table(name.as_str()))?;
            let (_, key) = encoded(key, &table)?;
            KeyRange { lower: Bound::Included(key.clone()), upper: Bound::Included(key) }
        }
        Watched::Range { range: request, last } => {
            for end in [&request.start, &request.end] {
                end.check_end().map_err(|error| error.in_table(name.as_str()))?;
            }
            let mut range = range_of(request, table.schema()).map_err(|error| error.in_table(name.as_str()))?;
            if let Some(last) = last {
                let (_, key) = encoded(last, &table)?;
                match request.direction {
                    Direction::Forward => range.upper = Bound::Included(key),
                    Direction::Backward => range.lower = Bound::Included(key),
                }
            }
            range
        }
    };
    let changed = state.engine.changed(table.tree(), range, place, if waits { MOST_WAIT_MS } else { 0 }).await?;
    // It may be deleted by now.
    let schema = Rc::clone(state.catalog.readable(name)?.schema());
    let keys = changed.keys.map(|keys| keys.iter().map(|key| decoded(key)).collect());
    Ok(ChangedRows { place: changed.place, keys: keys.transpose()?, schema })
}
