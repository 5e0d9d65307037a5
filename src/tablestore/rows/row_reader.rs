//! Reads the rows of one table for one request: one cursor for single rows, batches and ranges.
//!
//! A row is read in the first of three ways that fits it. Most rows are stored in one piece, and all of it is wanted and
//! visible: they go to the sink unchanged. Rows in one piece with only some wanted cells are sifted (see
//! [`sift`](super::sift)). All others are put together first. The result is the same in each case.

use super::column_filter::DecidingColumns;
use super::sift::Sifted;
use crate::collections::order::same;
use crate::engine::RowView;
use crate::error::{Error, Result};
use crate::format::block_columns::BlockColumns;
use crate::model::capacity::{RowWeight, cells_bytes, column_bytes, units};
use crate::model::filter::CheckedFilter;
use crate::model::select::{self, Need, ReadSelection, Stretch};
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, CellRef, KeyColumn, KeyRefs, RowSink, TableSchema};
use crate::tablestore::table::Table;
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

/// The checked options of a request for every row of a table.
pub(crate) struct Projection<'a> {
    pub(crate) selection: ReadSelection<'a>,
    pub(crate) filter: Option<CheckedFilter<'a>>,
}

/// The sizes of a row. Bytes are those that units count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSum {
    /// Whether the row exists.
    pub(crate) exists: bool,
    /// The values of its key, and the names of the key's columns.
    pub(crate) key: usize,
    /// All its cells, if the reader weighs them.
    pub(crate) weight: RowWeight,
    /// The selected cells, which the filter judges.
    selected: usize,
    /// The returned cells; `None` if the row is not returned: it has no named column, or does not pass the filter.
    returned: Option<usize>,
}

impl RowSum {
    /// Key and selected cells.
    pub(crate) fn selected(&self) -> usize {
        self.key + self.selected
    }

    /// Whether the sink got the row.
    pub(crate) fn is_returned(&self) -> bool {
        self.returned.is_some()
    }

    /// The read units of the row alone: for the returned data; or, if the filter dropped it, for the selected data.
    pub(crate) fn units(&self) -> u32 {
        match self.returned {
            Some(bytes) => units(self.key + bytes),
            None if self.selected > 0 => units(self.selected()),
            None => 1,
        }
    }
}

/// Whether a row may be returned, now that its sizes are known. An error refuses it too.
type Admit<'f> = &'f mut dyn FnMut(&RowSum) -> Result<bool>;

/// Reads the rows of one table for one request.
pub(crate) struct RowReader<'a> {
    projection: Projection<'a>,
    schema: Rc<TableSchema>,
    retention: Retention,
    now: i64,
    /// Whether unselected cells count too, as in a range.
    weighs: bool,
    /// Whether the table is an index: its rows exist as long as the columns of their keys.
    index: bool,
    /// Whether every row is wanted unchanged.
    takes_all: bool,
    /// Whether a key column is named: then every row is wanted.
    names_key: bool,
    name_bytes: usize,
}

impl<'a> RowReader<'a> {
    /// A reader at the time `now`. One that `weighs` rows reports the weight of all their cells.
    pub(crate) fn new(projection: Projection<'a>, table: &Table, now: i64, weighs: bool) -> Self {
        let schema = Rc::clone(table.schema());
        let names = |column: &KeyColumn| projection.selection.names(&column.name);
        Self {
            takes_all: projection.filter.is_none() && projection.selection.takes_all(),
            names_key: projection.selection.names_columns() && schema.key().iter().any(names),
            projection,
            retention: table.options().retention(),
            now,
            weighs,
            index: table.index_of().is_some(),
            name_bytes: schema.name_bytes(),
            schema,
        }
    }

    /// Whether a read of a single row needs some of its cells.
    pub(crate) fn needs(&self, stretch: &Stretch<'_>) -> Need {
        // A row exists with its key alone, whichever cell makes it exist.
        if self.names_key { Need::Yes } else { self.projection.selection.needs(stretch, self.retention, self.now) }
    }

    /// The columns that decide whether a row is returned, if columns can.
    pub(crate) fn deciding(&self) -> Option<DecidingColumns<'a>> {
        let Projection { selection, filter } = &self.projection;
        DecidingColumns::of(selection, filter.as_ref()?, &self.schema)
    }

    /// Selection and filter, if all rows of the block exist and show all their cells.
    pub(crate) fn decides(&self, columns: &BlockColumns) -> Option<(&ReadSelection<'a>, &CheckedFilter<'a>)> {
        let shows = columns.oldest() >= self.retention.oldest(self.now) && (columns.is_marked() || !self.index);
        let Projection { selection, filter } = &self.projection;
        filter.as_ref().filter(|_| shows).map(|filter| (selection, filter))
    }

    /// The bytes of the names of the key's columns.
    pub(crate) fn name_bytes(&self) -> usize {
        self.name_bytes
    }

    /// The work of the filter's regular expressions.
    pub(crate) fn work(&self) -> u64 {
        self.projection.filter.as_ref().map_or(0, CheckedFilter::work)
    }

    /// Reads a row, and passes it to the sink if it is returned. `admit` first gets the sizes of an existing row: if it
    /// refuses the row, the sink does not get it.
    ///
    /// # Errors
    /// `Corrupt`; errors of `admit`.
    pub(crate) fn read(
        &self,
        key: &KeyRefs<'_>,
        row: &RowView<'_>,
        sink: &mut dyn RowSink,
        admit: Admit<'_>,
    ) -> Result<RowSum> {
        let mut sum = RowSum {
            exists: true,
            key: self.name_bytes + key.metered_bytes(),
            weight: RowWeight { visible: 0, stored: 0 },
            selected: 0,
            returned: None,
        };
        if let Some(bytes) = self.pass(key, row, sink) {
            sum.weight = RowWeight { visible: bytes, stored: bytes };
            (sum.selected, sum.returned) = (bytes, Some(bytes));
            confirm(&sum, sink, admit)?;
            return Ok(sum);
        }
        self.read_in_part(sum, key, row, sink, admit)
    }

    /// Reads a row that does not go to the sink unchanged.
    #[inline(never)]
    fn read_in_part(
        &self,
        mut sum: RowSum,
        key: &KeyRefs<'_>,
        row: &RowView<'_>,
        sink: &mut dyn RowSink,
        admit: Admit<'_>,
    ) -> Result<RowSum> {
        let sifted = self.sift(row, sink);
        sum.exists = self.exists(row, sifted.as_ref());
        row.check().map_err(|damage| Error::corrupt("a row", damage))?;
        if self.weighs {
            sum.weight = sifted.as_ref().map_or_else(|| self.weigh(row), |sifted| sifted.weight);
        }
        if !sum.exists {
            return Ok(sum);
        }
        if let Some(sifted) = sifted
            && let Some(returned) = self.give(&sifted, key, sink)
        {
            (sum.selected, sum.returned) = (sifted.selected, returned);
            confirm(&sum, sink, admit)?;
            return Ok(sum);
        }
        let (cells, page) = self.put_together(key, row);
        row.check().map_err(|damage| Error::corrupt("a row", damage))?;
        // Mostly all is selected, and weighed already.
        let weighed = self.weighs && cells.len() == row.cells().len();
        sum.selected = if weighed { sum.weight.stored } else { cells_bytes(&cells) };
        let returned = page.as_ref().and_then(|page| cells.get(page.clone()));
        let bytes = |page: &[CellRef<'_>]| if page.len() == cells.len() { sum.selected } else { cells_bytes(page) };
        sum.returned = returned.map(bytes);
        if admit(&sum)?
            && let Some(page) = returned
        {
            sink.row(key, page);
        }
        Ok(sum)
    }

    /// Whether a row exists.
    pub(crate) fn is_there(&self, row: &RowView<'_>) -> bool {
        self.exists(row, None)
    }

    /// The weight of all cells of a row.
    pub(crate) fn weigh(&self, row: &RowView<'_>) -> RowWeight {
        RowWeight::of(row.cells(), self.retention, self.now)
    }

    fn exists(&self, row: &RowView<'_>, sifted: Option<&Sifted<'_>>) -> bool {
        let put = |marker: i64| marker >= self.retention.oldest(self.now);
        let shows = || {
            let put_together = || select::exists(row.cells(), None, self.retention, self.now);
            sifted.map_or_else(put_together, |sifted| sifted.shows)
        };
        row.marker().is_some_and(put) || (!self.index && shows())
    }

    /// Examines a row without putting it together, if it is simple and goes to the sink cell by cell.
    fn sift<'r>(&self, row: &RowView<'r>, sink: &dyn RowSink) -> Option<Sifted<'r>> {
        let Projection { selection, filter } = &self.projection;
        let oldest = self.retention.oldest(self.now);
        sink.streams().then(|| Sifted::new(row, selection, filter.as_ref(), oldest)).flatten()
    }

    /// Judges an existing sifted row, and passes it to the sink if it is returned. The result has the bytes of the
    /// returned cells, or says that there are none. `None`: it has done nothing.
    fn give(&self, sifted: &Sifted<'_>, key: &KeyRefs<'_>, sink: &mut dyn RowSink) -> Option<Option<usize>> {
        let Projection { selection, filter } = &self.projection;
        let none = sifted.columns == 0 && selection.names_columns() && !self.names_key;
        let passes = match filter {
            _ if none => false,
            Some(filter) => sifted.passes(filter, &self.schema, key)?,
            None => true,
        };
        if passes { sifted.give(selection, filter.as_ref(), key, sink).map(Some) } else { Some(None) }
    }

    /// Passes a row to the sink as stored, cell by cell, if all of it is wanted and visible, like most rows. Returns the
    /// bytes of its cells. `None`: it has done nothing.
    fn pass(&self, key: &KeyRefs<'_>, row: &RowView<'_>, sink: &mut dyn RowSink) -> Option<usize> {
        let mut fragment = row.alone().filter(|_| self.takes_all)?;
        let oldest = self.retention.oldest(self.now);
        row.marker().filter(|marker| *marker >= oldest)?;
        let (mut bytes, mut plain, mut last) = (0, true, None);
        let streamed = sink.stream(key, &mut || match fragment.next_cell_here() {
            Ok(Some(CellChange { column, op: CellOp::Put(version, value) }))
                if version >= oldest && !last.is_some_and(|last| same(last, column)) =>
            {
                bytes += column_bytes(column, value);
                last = Some(column);
                Some(CellRef { column, version, value })
            }
            Ok(None) => None,
            _ => {
                plain = false;
                None
            }
        });
        if streamed && !plain {
            sink.undo();
        }
        (streamed && plain).then_some(bytes)
    }

    /// Puts an existing row together. Columns and versions are selected first, then the filter judges them, then the page
    /// is taken. Returns the selected cells, and the returned ones among them if the row is returned.
    fn put_together<'c>(
        &self,
        key: &KeyRefs<'_>,
        row: &'c RowView<'_>,
    ) -> (Cow<'c, [CellRef<'c>]>, Option<Range<usize>>) {
        let Projection { selection, filter } = &self.projection;
        let cells = selection.apply(row.cells(), self.retention, self.now);
        let page = if cells.is_empty() && selection.names_columns() && !self.names_key {
            None
        } else {
            match filter {
                None => Some(0..cells.len()),
                Some(filter) => filter.passes(&self.schema, key, &cells).then(|| filter.page(&cells)),
            }
        };
        (cells, page)
    }
}

/// Asks whether a row that the sink has already may be returned. If not, takes it back.
fn confirm(sum: &RowSum, sink: &mut dyn RowSink, admit: Admit<'_>) -> Result<()> {
    let admitted = admit(sum);
    if !matches!(admitted, Ok(true)) && sum.returned.is_some() {
        sink.undo();
    }
    admitted.map(|_| ())
}
