//! The weight of rows: capacity units (C1) and metered storage (V9).
//!
//! Units count a key column as name + value and a cell as name + value; versions add nothing. Storage adds 8 bytes a
//! version if a table keeps more than one or lets them expire.

use super::version::Retention;
use super::{CellRef, TableOptions, ValueRef};

/// Bytes of one capacity unit (C1).
pub const UNIT_BYTES: usize = 4096;

/// Bytes that metered storage counts for a version (V9).
const VERSION_BYTES: u64 = 8;

/// The capacity units that an operation consumed (C1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Consumed {
    /// Read units.
    pub read: u32,
    /// Write units.
    pub write: u32,
}

impl Consumed {
    /// Only read units.
    #[must_use]
    pub const fn reading(read: u32) -> Self {
        Self { read, write: 0 }
    }

    /// Only write units.
    #[must_use]
    pub const fn writing(write: u32) -> Self {
        Self { read: 0, write }
    }
}

impl std::ops::Add for Consumed {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { read: self.read.saturating_add(other.read), write: self.write.saturating_add(other.write) }
    }
}

/// The units of `bytes`: one for each 4 KB or part of it, at least one (C1).
#[must_use]
pub fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX).max(1)
}

/// The effect of a write of a base row on the row of one index. Sizes are bytes as units count them: names and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexChange {
    /// Nothing: the write names no column that the index holds.
    Untouched,
    /// It could have changed the index row, but there is none, or it stays the same.
    Unchanged,
    /// The index gets a row of this size.
    Inserted(usize),
    /// The index loses a row whose key has this size.
    Deleted(usize),
    /// The key of the index row changes: one goes, another comes.
    Moved {
        /// The size of the old row's key.
        deleted: usize,
        /// The size of the new row.
        inserted: usize,
    },
    /// The index row keeps its key, and attributes of this size change.
    Updated(usize),
}

/// The extra cost of a write for the indexes of its table (C1). It has read units for the `old` values of the key columns
/// of all indexes whose row may change, once. It has write units for each index row that is written or deleted. `old` is
/// `None` if nothing had to be read because the row is certainly new: the store assigned its key.
#[must_use]
pub fn index_units(old: Option<usize>, changes: impl IntoIterator<Item = IndexChange>) -> Consumed {
    let mut consumed = Consumed::default();
    for change in changes {
        if change != IndexChange::Untouched {
            consumed.read = old.map_or(0, units);
        }
        let write = match change {
            IndexChange::Untouched | IndexChange::Unchanged => 0,
            IndexChange::Inserted(bytes) | IndexChange::Deleted(bytes) | IndexChange::Updated(bytes) => units(bytes),
            IndexChange::Moved { deleted, inserted } => units(deleted).saturating_add(units(inserted)),
        };
        consumed.write = consumed.write.saturating_add(write);
    }
    consumed
}

/// The bytes that units count for one column: its name and its value.
#[must_use]
pub fn column_bytes(name: &str, value: ValueRef<'_>) -> usize {
    name.len() + value.metered_bytes()
}

/// The bytes that units count for cells that were read.
#[must_use]
pub fn cells_bytes(cells: &[CellRef<'_>]) -> usize {
    cells.iter().map(|cell| column_bytes(cell.column, cell.value)).sum()
}

/// The weight of a row's stored cells, as units count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWeight {
    /// The cells that a reader of everything sees.
    pub visible: usize,
    /// All of them.
    pub stored: usize,
}

impl RowWeight {
    /// Weighs all stored cells of a row (sorted by column, then newest first) at `now`.
    #[must_use]
    pub fn of(cells: &[CellRef<'_>], retention: Retention, now: i64) -> Self {
        let oldest = retention.oldest(now);
        let keep = usize::try_from(retention.max_versions).unwrap_or(usize::MAX);
        let mut weight = Self { visible: 0, stored: 0 };
        for column in cells.chunk_by(|a, b| a.column == b.column) {
            for (newer, cell) in column.iter().enumerate() {
                let bytes = column_bytes(cell.column, cell.value);
                weight.stored += bytes;
                if newer < keep && cell.version >= oldest {
                    weight.visible += bytes;
                }
            }
        }
        weight
    }
}

/// The bytes that metered storage counts for a row: its key once, and its visible cells (V9).
#[must_use]
pub fn storage_bytes(key_bytes: usize, visible: &[CellRef<'_>], options: &TableOptions) -> u64 {
    let version = if options.max_versions > 1 || options.time_to_live != -1 { VERSION_BYTES } else { 0 };
    let cells = visible.iter().map(|cell| column_bytes(cell.column, cell.value) as u64 + version).sum::<u64>();
    key_bytes as u64 + cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::select::ReadSelection;

    #[test]
    fn c1_sizes_round_up_to_4_kb_and_nothing_costs_one() {
        assert_eq!(units(7_782), 2, "7.6 KB");
        assert_eq!(units(102), 1, "0.1 KB");
        assert_eq!((units(0), units(1), units(4096), units(4097), units(4322)), (1, 1, 1, 2, 2));
        assert_eq!(units(4 * (255 + 1024)), 2, "a key of four columns with the longest names and values");
    }

    /// The documents' example: base key PK0, PK1; Index0 (Col0, PK0, PK1 | Col2), Index1 (Col1, Col0, PK0, PK1).
    #[test]
    fn c1_an_index_costs_what_of_its_rows_changes() {
        use IndexChange::{Deleted, Inserted, Moved, Unchanged, Untouched, Updated};
        let cost = |old, changes: [IndexChange; 2]| {
            let Consumed { read, write } = index_units(old, changes);
            (read, write)
        };
        assert_eq!(cost(Some(0), [Untouched, Untouched]), (0, 0), "Col3 of any row");
        assert_eq!(cost(Some(0), [Unchanged, Unchanged]), (1, 0), "a new row with only Col1 is in no index");
        assert_eq!(cost(Some(0), [Inserted(40), Inserted(60)]), (1, 2), "a new row with Col0 and Col1 is in both");
        assert_eq!(cost(None, [Inserted(40), Inserted(60)]), (0, 2), "its key is new for certain");
        assert_eq!(cost(Some(12), [Updated(4097), Untouched]), (1, 2), "Col2 is an attribute of Index0");
        assert_eq!(
            cost(Some(4097), [Moved { deleted: 40, inserted: 5000 }, Deleted(60)]),
            (2, 4),
            "another Col0, no Col1"
        );
    }

    #[test]
    fn r3_a_row_weighs_its_visible_cells() {
        let cell = |column, version, value| CellRef { column, version, value: ValueRef::String(value) };
        let cells = [cell("a", 5000, "1"), cell("a", 4000, "22"), cell("a", 3000, "333"), cell("bb", 1000, "4444")];
        let weight = |max_versions, time_to_live, now| {
            let options = TableOptions { max_versions, time_to_live, ..TableOptions::default() };
            let RowWeight { visible, stored } = RowWeight::of(&cells, options.retention(), now);
            let seen = ReadSelection::everything().apply(&cells, options.retention(), now).into_owned();
            assert_eq!((visible, stored), (cells_bytes(&seen), cells_bytes(&cells)));
            visible
        };
        assert_eq!(weight(9, -1, 0), 2 + 3 + 4 + 6);
        assert_eq!(weight(2, -1, 0), 2 + 3 + 6);
        assert_eq!(weight(2, 86_400, 86_402_000), 2 + 3);
        assert_eq!(weight(9, 86_400, 86_404_000), 2 + 3);
        assert_eq!(weight(9, 86_400, 86_406_000), 0);
    }

    #[test]
    fn v9_metered_storage_of_the_documents_example() {
        let comments = ["a".repeat(150), "b".repeat(100)];
        let cell = |column, version, value| CellRef { column, version, value };
        let cells = [
            cell("Comments", 2, ValueRef::String(&comments[0])),
            cell("Comments", 1, ValueRef::String(&comments[1])),
            cell("Length", 1, ValueRef::Integer(20)),
            cell("Name", 1, ValueRef::String("zhangsan")),
        ];
        let key = column_bytes("ID", ValueRef::Integer(1));
        let metered = |max_versions, time_to_live| {
            let options = TableOptions { max_versions, time_to_live, ..TableOptions::default() };
            let visible = ReadSelection::everything().apply(&cells, options.retention(), 1000).into_owned();
            storage_bytes(key, &visible, &options)
        };
        assert_eq!(metered(2, 2_592_000), 334);
        assert_eq!(metered(1, -1), 194);
    }
}
