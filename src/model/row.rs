//! Rows, as they are changed and as they are read (D1, D3, R1).

use super::{TableSchema, ValueRef};
use std::cmp::{Ordering, Reverse};

/// What a change does to the row it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Replaces the row: nothing older is seen below it. The row exists even without attributes.
    Put,
    /// Changes single cells.
    Update,
    /// Deletes the row.
    Delete,
}

/// A change of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowChange<'a> {
    /// What it does to the row.
    pub kind: ChangeKind,
    /// The version, in ms since 1970, that the store stamped on the cells that came without one. Strictly increasing
    /// for a row (V10).
    pub stamp: i64,
    /// Its cells: sorted by column name; in a column first [`CellOp::DeleteColumn`], then descending by version, one of
    /// each. A `Put` has only puts, a `Delete` has none. Deletions apply to what is older than this change, so a column
    /// can be deleted and put anew in one.
    pub cells: &'a [CellChange<'a>],
}

/// A change of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellChange<'a> {
    /// The column.
    pub column: &'a str,
    /// What happens to it.
    pub op: CellOp<'a>,
}

/// What happens to a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellOp<'a> {
    /// Every older version of the column goes.
    DeleteColumn,
    /// This version goes.
    DeleteVersion(i64),
    /// This version gets this value.
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

    /// Whether an older cell of the column, of this version, goes by it.
    #[must_use]
    pub fn takes(&self, version: i64) -> bool {
        self.version().is_none_or(|own| own == version)
    }
}

impl<'a> CellChange<'a> {
    /// Where it stands in its row.
    #[must_use]
    #[inline]
    pub fn place(&self) -> CellPlace<'a> {
        CellPlace { column: self.column, version: self.op.version() }
    }
}

/// Where a cell stands in its row: by column; in a column its deletion first, which has no version, then the newest
/// version.
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

/// Takes the rows that a read found: a page for a client, a list in a test, a wire format.
pub trait RowSink {
    /// Told once, before the first row: whose rows these are.
    fn start(&mut self, schema: &TableSchema) {
        let _ = schema;
    }

    /// Takes one row: the values of its key in the schema's order, and its cells sorted by column name, then newest
    /// first.
    fn row(&mut self, key: &[ValueRef<'_>], cells: &[CellRef<'_>]);

    /// Takes one row of which every column has one version, as `next` gives its cells. Says whether it does that at all.
    fn stream<'c>(&mut self, key: &[ValueRef<'_>], next: &mut dyn FnMut() -> Option<CellRef<'c>>) -> bool {
        let _ = (key, next);
        false
    }

    /// Whether rows of which every column has one version may come by [`RowSink::stream`].
    fn streams(&self) -> bool {
        false
    }

    /// Gives the last row back, that came by [`RowSink::stream`].
    fn undo(&mut self) {}
}
