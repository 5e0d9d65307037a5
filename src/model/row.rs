//! Rows: changes to them, and their data in reads (D1, D3, R1).

use super::{TableSchema, ValueRef};
use std::cmp::{Ordering, Reverse};

/// The effect of a change on its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Replaces the row and hides everything older. The row exists even without attributes.
    Put,
    /// Changes single cells.
    Update,
    /// Deletes the row.
    Delete,
}

/// A change of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowChange<'a> {
    /// The effect on the row.
    pub kind: ChangeKind,
    /// The version, in ms since 1970, that the store stamped on cells without one. It strictly increases for a row (V10).
    pub stamp: i64,
    /// Its cells, sorted by column name. In a column [`CellOp::DeleteColumn`] comes first, then versions in descending
    /// order, one of each. A `Put` has only puts, a `Delete` has no cells. Deletions apply to cells older than this
    /// change, so one change can delete a column and put it anew.
    pub cells: &'a [CellChange<'a>],
}

/// A change of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellChange<'a> {
    /// The column.
    pub column: &'a str,
    /// The operation on it.
    pub op: CellOp<'a>,
}

/// An operation on a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellOp<'a> {
    /// Deletes every older version of the column.
    DeleteColumn,
    /// Deletes this version.
    DeleteVersion(i64),
    /// Sets this version to this value.
    Put(i64, ValueRef<'a>),
}

impl CellOp<'_> {
    /// The version that is put or deleted; `DeleteColumn` has none and sorts before all.
    #[must_use]
    pub fn version(&self) -> Option<i64> {
        match self {
            Self::DeleteColumn => None,
            Self::DeleteVersion(version) | Self::Put(version, _) => Some(*version),
        }
    }

    /// Whether it removes an older cell of the column with this version.
    #[must_use]
    pub fn takes(&self, version: i64) -> bool {
        self.version().is_none_or(|own| own == version)
    }
}

impl<'a> CellChange<'a> {
    /// Its place in the row.
    #[must_use]
    #[inline]
    pub fn place(&self) -> CellPlace<'a> {
        CellPlace { column: self.column, version: self.op.version() }
    }
}

/// The place of a cell in its row: by column, then the column's deletion, which has no version, then the newest version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPlace<'a> {
    /// The column.
    pub column: &'a str,
    /// The version.
    pub version: Option<i64>,
}

impl Ord for CellPlace<'_> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let by_version = |place: &Self| place.version.map_or((0, Reverse(0)), |version| (1, Reverse(version)));
        self.column.cmp(other.column).then_with(|| by_version(self).cmp(&by_version(other)))
    }
}

impl PartialOrd for CellPlace<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A cell that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellRef<'a> {
    /// The column.
    pub column: &'a str,
    /// The version, in ms since 1970.
    pub version: i64,
    /// The value.
    pub value: ValueRef<'a>,
}

/// Takes the rows of a read: a page for a client, a list in a test, a wire format.
pub trait RowSink {
    /// Called once, before the first row, with the schema of the rows.
    fn start(&mut self, schema: &TableSchema) {
        let _ = schema;
    }

    /// Takes one row: the values of its key in the schema's order, and its cells sorted by column name, then newest
    /// first.
    fn row(&mut self, key: &[ValueRef<'_>], cells: &[CellRef<'_>]);

    /// Takes one row in which every column has one version, cell by cell from `next`. Returns whether it supports that.
    fn stream<'c>(&mut self, key: &[ValueRef<'_>], next: &mut dyn FnMut() -> Option<CellRef<'c>>) -> bool {
        let _ = (key, next);
        false
    }

    /// Whether it supports [`RowSink::stream`], for rows in which every column has one version.
    fn streams(&self) -> bool {
        false
    }

    /// Removes the last row, which came by [`RowSink::stream`].
    fn undo(&mut self) {}
}
