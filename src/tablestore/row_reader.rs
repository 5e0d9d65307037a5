//! How one request reads the rows of one table: one cursor for single rows, batches and ranges.
//!
//! A row is read in the first of three ways that fits it. Most rows are stored in one piece, all of it is wanted and visible:
//! they go to the sink as they are. Rows in one piece of which some is wanted are sifted (see [`sift`](super::sift)). All
//! others are put together first. What is told of a row is the same in each.

use super::sift::Sifted;
use super::table::Table;
use crate::collections::order::same;
use crate::engine::RowView;
use crate::error::{Error, Result};
use crate::model::capacity::{RowWeight, cells_bytes, column_bytes, units};
use crate::model::filter::CheckedFilter;
use crate::model::select::{self, Need, ReadSelection, Stretch};
use crate::model::version::Retention;
use crate::model::{CellChange, CellOp, CellRef, KeyColumn, KeyRefs, RowSink, TableSchema};
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

/// What a request wants of every row of a table, checked.
pub(super) struct Projection<'a> {
    pub(super) selection: ReadSelection<'a>,
    pub(super) filter: Option<CheckedFilter<'a>>,
}

/// What a row comes to. Bytes are those that units count.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSum {
    /// Whether there is such a row.
    pub(super) exists: bool,
    /// The values of its key, and the names of the key's columns.
    pub(super) key: usize,
    /// All its cells, where the reader weighs them.
    pub(super) weight: RowWeight,
    /// The cells that were selected, for the filter to judge.
    selected: usize,
    /// The cells that are returned; `None` where the row is not: it has no column that was named, or does not pass the filter.
    returned: Option<usize>,
}

impl RowSum {
    /// Key and selected cells.
    pub(super) fn selected(&self) -> usize {
        self.key + self.selected
    }

    /// Whether the sink got the row.
    pub(super) fn is_returned(&self) -> bool {
        self.returned.is_some()
    }

    /// The read units of the row alone: for what is returned; or, of a row that the filter dropped, for what was selected.
    pub(super) fn units(&self) -> u32 {
        match self.returned {
            Some(bytes) => units(self.key + bytes),
            None if self.selected > 0 => units(self.selected()),
            None => 1,
        }
    }
}

/// Whether a row may be given, now that it is known what it comes to. An error refuses it too.
type Admit<'f> = &'f mut dyn FnMut(&RowSum) -> Result<bool>;

/// How one request reads the rows of one table.
pub(super) struct RowReader<'a> {
    projection: Projection<'a>,
    schema: Rc<TableSchema>,
    retention: Retention,
    now: i64,
    /// Whether what is not selected counts too, as in a range.
    weighs: bool,
    /// Whether the table is an index: its rows are there as long as what their keys are made of.
    index: bool,
    /// Whether every row is wanted as it is.
    takes_all: bool,
    /// Whether a key column is among the named ones: then every row is wanted.
    names_key: bool,
    name_bytes: usize,
}

impl<'a> RowReader<'a> {
    /// A reader at the time `now`; one that weighs rows tells what all their cells weigh.
    pub(super) fn new(projection: Projection<'a>, table: &Table, now: i64, weighs: bool) -> Self {
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
    pub(super) fn needs(&self, stretch: &Stretch<'_>) -> Need {
        // A row is there with its key alone, whatever cell makes it exist.
        if self.names_key { Need::Yes } else { self.projection.selection.needs(stretch, self.retention, self.now) }
    }

    /// How much the filter's regular expressions had to do.
    pub(super) fn work(&self) -> u64 {
        self.projection.filter.as_ref().map_or(0, CheckedFilter::work)
    }

    /// Reads a row, and gives it to the sink if it is returned. Of a row that exists `admit` is told first what it comes to:
    /// if it refuses the row, the sink does not get it.
    ///
    /// # Errors
    /// `Corrupt`; what `admit` gives.
    pub(super) fn read(
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

    /// Reads a row that does not go to the sink as it is.
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
    pub(super) fn is_there(&self, row: &RowView<'_>) -> bool {
        self.exists(row, None)
    }

    /// What all cells of a row weigh.
    pub(super) fn weigh(&self, row: &RowView<'_>) -> RowWeight {
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

    /// Looks at a row without putting it together, if it is simple and goes to the sink cell by cell.
    fn sift<'r>(&self, row: &RowView<'r>, sink: &dyn RowSink) -> Option<Sifted<'r>> {
        let Projection { selection, filter } = &self.projection;
        let oldest = self.retention.oldest(self.now);
        sink.streams().then(|| Sifted::new(row, selection, filter.as_ref(), oldest)).flatten()
    }

    /// Judges a row that was sifted and exists, and gives it to the sink if it is returned; tells the bytes of the returned
    /// cells, or that there are none. Nothing is done where it gives nothing.
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

    /// Gives a row to the sink as it is stored, cell by cell, if all of it is wanted and visible: as most rows are. Gives
    /// the bytes of its cells. Nothing is done where it gives nothing.
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

    /// Puts a row together that exists: first columns and versions are selected, then the filter judges what is selected,
    /// then the page is taken. Gives the selected cells, and which of them are returned, if the row is.
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

/// Asks whether a row may be given that the sink has already, if it is returned; takes it back otherwise.
fn confirm(sum: &RowSum, sink: &mut dyn RowSink, admit: Admit<'_>) -> Result<()> {
    let admitted = admit(sum);
    if !matches!(admitted, Ok(true)) && sum.returned.is_some() {
        sink.undo();
    }
    admitted.map(|_| ())
}
