//! Reads that tell more than the row: the path of the read, or the versions that the table's options hide.

use super::Inspection;
use crate::engine::{Needs, RowView, Trace};
use crate::error::Result;
use crate::model::select::{self, Stretch};
use crate::model::version::Retention;
use crate::model::{CellRef, RowSink};
use crate::tablestore::operations::read::{get_row, wanted};
use crate::tablestore::rows::point_read::{Found, PointReader, encoded};
use crate::tablestore::rows::request::GetRow;
use crate::tablestore::units::failure::Outcome;

/// Why a stored version is hidden from reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// It has outlived the table's time to live.
    Expired,
    /// Its column has as many newer versions as the table keeps.
    Surplus,
}

/// The stored versions of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredRow {
    /// Whether anything of the row is stored. The sink has it then.
    pub is_stored: bool,
    /// Whether a read gives the row now.
    pub is_there: bool,
    /// Why each version is hidden, in the order of the sink's cells.
    pub hidden: Vec<Option<Hidden>>,
}

impl Inspection<'_> {
    /// Reads one row as [`Instance::get_row`](crate::tablestore::Instance::get_row) does, and walks its path just before, over the same data.
    ///
    /// # Errors
    /// As for [`Instance::get_row`](crate::tablestore::Instance::get_row).
    pub async fn trace_row(self, request: &GetRow<'_>, sink: &mut dyn RowSink) -> Outcome<(Found, Trace)> {
        // What is wrong with the request, the read says in its own words.
        let traced = self.trace_of(request).await;
        let found = get_row(self.state, None, request, sink).await?;
        Ok((found, traced.unwrap_or_default()))
    }

    async fn trace_of(self, request: &GetRow<'_>) -> Result<Trace> {
        let projection = wanted(self.state, &request.options, "")?;
        let table = self.state.catalog.readable(request.table)?;
        let asked = encoded(&request.key, &table)?;
        let reader = PointReader::new(projection, &table, self.state.engine.clock().now_ms(), &self.state.throttle);
        let needs = |stretch: &Stretch<'_>| reader.needs(stretch);
        self.state.engine.inspect().trace(table.tree(), &asked.1, Some(&needs as &Needs<'_>)).await
    }

    /// Reads all versions of a row that are stored, of the named columns or of all, and says which of them a read does not give,
    /// by the store's clock and the table's options. They come back when the options are changed, until a compaction has removed
    /// them. Versions that were deleted or overwritten are no more. It costs no capacity units.
    ///
    /// # Errors
    /// A wrong table or key; `OTSObjectNotExist`; `Corrupt`.
    pub async fn stored_row(self, request: &GetRow<'_>, sink: &mut dyn RowSink) -> Result<StoredRow> {
        request.key.check_row()?;
        let table = self.state.catalog.readable(request.table)?;
        let (key, bytes) = encoded(&request.key, &table)?;
        let (retention, now) = (table.options().retention(), self.state.engine.clock().now_ms());
        let columns = &request.options.columns;
        let is_wanted =
            |cell: &&CellRef<'_>| columns.is_empty() || columns.iter().any(|name| name.as_str() == cell.column);
        sink.start(table.schema());
        let mut stored = StoredRow::default();
        let mut visit = |_: usize, row: Option<&RowView<'_>>| {
            let Some(row) = row else { return };
            let cells: Vec<CellRef<'_>> = row.cells().iter().filter(is_wanted).copied().collect();
            // An index row exists as long as the columns of its key.
            let showing = if table.index_of().is_some() { &[][..] } else { row.cells() };
            stored.is_stored = true;
            stored.is_there = select::exists(showing, row.marker(), retention, now);
            stored.hidden = hidden(&cells, retention, now);
            sink.row(&key, &cells);
        };
        self.state.engine.inspect().read_stored(table.tree(), &bytes, &mut visit).await?;
        Ok(stored)
    }
}

/// Why each cell is hidden. The cells come by column, then newest first.
fn hidden(cells: &[CellRef<'_>], retention: Retention, now: i64) -> Vec<Option<Hidden>> {
    let mut found = Vec::with_capacity(cells.len());
    for column in cells.chunk_by(|a, b| a.column == b.column) {
        for (place, cell) in (0..).zip(column) {
            found.push(if retention.expired(cell.version, now) {
                Some(Hidden::Expired)
            } else if place >= retention.max_versions {
                Some(Hidden::Surplus)
            } else {
                None
            });
        }
    }
    found
}
