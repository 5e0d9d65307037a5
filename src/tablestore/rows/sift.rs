//! Judges and returns parts of rows without putting them together: unwanted cells are skipped unread.
//!
//! Most rows are stored as one fragment with one version a column. A first walk over such a row weighs all cells by their
//! lengths and finds those that the filter names; the filter reads only these. A second walk passes the row's selected
//! cells to the sink, one by one. No row needs an allocation. Other rows are not handled here.

use crate::collections::order::same;
use crate::engine::RowView;
use crate::format::fragment::{Fragment, StoredCell};
use crate::model::capacity::RowWeight;
use crate::model::filter::CheckedFilter;
use crate::model::select::ReadSelection;
use crate::model::{CellRef, RowSink, TableSchema, ValueRef};

/// A filter with more columns judges rows that were put together.
const JUDGED: usize = 8;
/// A row with more columns does not go to the sink cell by cell.
const COLUMNS: usize = 0x7f;

/// The result of the first walk.
pub(crate) struct Sifted<'r> {
    fragment: Fragment<'r>,
    oldest: i64,
    /// The weight of all its cells.
    pub(crate) weight: RowWeight,
    /// Whether one of them is visible.
    pub(crate) shows: bool,
    /// The number of selected cells, and their bytes as units count them.
    pub(crate) columns: usize,
    pub(crate) selected: usize,
    judged: [Option<StoredCell<'r>>; JUDGED],
}

impl<'r> Sifted<'r> {
    /// Walks over a row whose versions from `oldest` on are visible. `None` if it is not simple.
    pub(crate) fn new(
        row: &RowView<'r>,
        selection: &ReadSelection<'_>,
        filter: Option<&CheckedFilter<'_>>,
        oldest: i64,
    ) -> Option<Self> {
        row.marker()?;
        let fragment = row.alone()?;
        let named = filter.map_or(&[][..], CheckedFilter::columns);
        let mut sifted = Self {
            fragment,
            oldest,
            weight: RowWeight { visible: 0, stored: 0 },
            shows: false,
            columns: 0,
            selected: 0,
            judged: [const { None }; JUDGED],
        };
        let (mut rest, mut walk, mut last, mut judged) = (sifted.fragment.clone(), selection.walk(), None, 0);
        while let Some(cell) = rest.next_unread().ok()? {
            if !cell.is_put() || last.is_some_and(|last| same(last, cell.column)) {
                return None;
            }
            last = Some(cell.column);
            let bytes = cell.column.len() + cell.metered_bytes();
            sifted.weight.stored += bytes;
            let takes = walk.takes(cell.column, cell.version);
            if cell.version < oldest {
                continue;
            }
            sifted.shows = true;
            sifted.weight.visible += bytes;
            if takes {
                sifted.columns += 1;
                sifted.selected += bytes;
                if named.iter().any(|name| same(name, cell.column)) {
                    *sifted.judged.get_mut(judged)? = Some(cell);
                    judged += 1;
                }
            }
        }
        (sifted.columns <= COLUMNS).then_some(sifted)
    }

    /// Whether a filter passes the row. `None` if the cells that it reads are damaged.
    pub(crate) fn passes(
        &self,
        filter: &CheckedFilter<'_>,
        schema: &TableSchema,
        key: &[ValueRef<'_>],
    ) -> Option<bool> {
        let mut cells = [CellRef { column: "", version: 0, value: ValueRef::Boolean(false) }; JUDGED];
        let mut count = 0;
        for (slot, stored) in cells.iter_mut().zip(self.judged.iter().flatten()) {
            *slot = CellRef { column: stored.column, version: stored.version, value: stored.value().ok()? };
            count += 1;
        }
        Some(filter.passes(schema, key, cells.get(..count)?))
    }

    /// Passes the selected cells on the filter's page to the sink. Returns their bytes as units count them. `None`: it
    /// has done nothing.
    pub(crate) fn give(
        &self,
        selection: &ReadSelection<'_>,
        filter: Option<&CheckedFilter<'_>>,
        key: &[ValueRef<'_>],
        sink: &mut dyn RowSink,
    ) -> Option<usize> {
        let (mut skipped, mut left) = filter.and_then(CheckedFilter::columns_of_page).unwrap_or((0, usize::MAX));
        let (mut fragment, mut walk, mut bytes, mut whole) = (self.fragment.clone(), selection.walk(), 0, true);
        let mut next = || {
            while left > 0 {
                let cell = fragment.next_unread().ok()??;
                if !walk.takes(cell.column, cell.version) || cell.version < self.oldest {
                    continue;
                }
                if skipped > 0 {
                    skipped -= 1;
                    continue;
                }
                left -= 1;
                let Ok(value) = cell.value() else {
                    whole = false;
                    return None;
                };
                bytes += cell.column.len() + cell.metered_bytes();
                return Some(CellRef { column: cell.column, version: cell.version, value });
            }
            None
        };
        let streamed = sink.stream(key, &mut next);
        if streamed && !whole {
            sink.undo();
        }
        (streamed && whole).then_some(bytes)
    }
}
