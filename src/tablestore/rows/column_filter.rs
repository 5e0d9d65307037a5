//! Decides the rows of a range by the columns of their blocks (R6): the rows that a filter drops are counted, and not read.

use crate::collections::sort::sort_by;
use crate::engine::BlockRows;
use crate::format::block_columns::{BlockColumns, ColumnValues};
use crate::model::filter::CheckedFilter;
use crate::model::select::ReadSelection;
use crate::model::{BlockId, TableSchema};

/// A scan with more columns than this looks at each row.
const MOST_COLUMNS: usize = 8;

/// The columns that decide the rows of a read: those of its filter, then those that it names, whose bytes it counts.
#[derive(Debug, Default)]
pub(crate) struct DecidingColumns<'a> {
    names: Vec<&'a str>,
    /// Whether the read names its columns: the filter sees no others, and only these are counted.
    chooses: bool,
}

impl<'a> DecidingColumns<'a> {
    /// The columns, unless the rows have to be looked at: for single versions, a range of columns, key columns in the filter, or
    /// regular expressions.
    pub(crate) fn of(selection: &ReadSelection<'a>, filter: &CheckedFilter<'a>, schema: &TableSchema) -> Option<Self> {
        if !selection.takes_all_versions() || !filter.judges_columns(schema) {
            return None;
        }
        let mut names = filter.columns().to_vec();
        names.extend(selection.named());
        sort_by(&mut names, Ord::cmp);
        names.dedup();
        (names.len() <= MOST_COLUMNS).then_some(Self { names, chooses: selection.names_columns() })
    }

    /// Their names.
    pub(crate) fn names(&self) -> &[&'a str] {
        &self.names
    }
}

/// The rows of the block that is being read, and whether each may pass the filter.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    block: Option<BlockId>,
    passing: Vec<bool>,
}

impl Judgement {
    /// Judges the rows of a block, once.
    pub(crate) fn of(
        &mut self,
        rows: &BlockRows<'_>,
        deciding: &DecidingColumns<'_>,
        selection: &ReadSelection<'_>,
        filter: &CheckedFilter<'_>,
    ) -> &[bool] {
        if self.block != Some(rows.id) {
            let column = |name: &str| {
                let seen = !deciding.chooses || selection.names(name);
                if seen { rows.columns.column(rows.block, name) } else { None }
            };
            self.passing = filter.judge(rows.columns.rows(), &column);
            self.block = Some(rows.id);
        }
        &self.passing
    }
}

/// The selected columns of a block, if the read names some.
pub(crate) fn chosen<'b>(
    rows: &BlockRows<'b>,
    deciding: &DecidingColumns<'_>,
    selection: &ReadSelection<'_>,
) -> Option<Vec<ColumnValues<'b>>> {
    let (columns, block): (&'b BlockColumns, _) = (rows.columns, rows.block);
    let named = || selection.named().filter_map(|name| columns.column(block, name)).collect();
    deciding.chooses.then(named)
}
