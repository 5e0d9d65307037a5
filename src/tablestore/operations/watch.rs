//! What has changed among the rows that somebody watches. The base of live queries.

use crate::engine::{ChangePlace, Direction, KeyRange};
use crate::error::Result;
use crate::model::{KeyInput, KeyValue, TableName, TableSchema};
use crate::tablestore::instance::Instance;
use crate::tablestore::rows::point_read::encoded;
use crate::tablestore::rows::range::range_of;
use crate::tablestore::rows::range_scan::decoded;
use crate::tablestore::rows::request::{GetRange, MOST_WAIT_MS};
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

impl Instance {
    /// Which of the watched rows have changed since `place`: at once if one has, if the place is not known, or unless it
    /// `waits`; else after the next stored change among them, or after some seconds. Without a place: where to begin, at
    /// once; what is read after that has all earlier changes. A change may leave its row as it was. Rows that expire do not
    /// count.
    ///
    /// # Errors
    /// Those of a read of the same rows. Errors of an engine that has ended.
    pub async fn changed_rows(
        &self,
        name: TableName<'_>,
        watched: &Watched<'_>,
        place: Option<ChangePlace>,
        waits: bool,
    ) -> Result<ChangedRows> {
        let table = self.readable(name)?;
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
        let changed = self.engine.changed(table.tree(), range, place, if waits { MOST_WAIT_MS } else { 0 }).await?;
        // It may be deleted by now.
        let schema = Rc::clone(self.readable(name)?.schema());
        let keys = changed.keys.map(|keys| keys.iter().map(|key| decoded(key)).collect());
        Ok(ChangedRows { place: changed.place, keys: keys.transpose()?, schema })
    }
}
