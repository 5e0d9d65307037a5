//! What splitting and joining a block find out of its rows in passing, where all rows are simple.

use super::{has_value, tag};
use crate::format::fragment::{HAS_MARKER, HIDES_OLDER, OWN_VERSION};
use crate::format::names::Names;
use crate::format::wire::Reader;

/// The most bytes of a text whose length takes a byte, and of one whose length takes two.
const SHORT: usize = 1 << 7;
const MIDDLE: usize = 1 << 14;

/// The bytes of a boolean, and of a number, as units count them.
const BOOLEAN: u32 = 1;
const NUMBER: u32 = 8;

/// The rows of a block in which each row is one entry with one version a column, nothing is deleted, and no row is large.
#[derive(Debug, PartialEq, Eq)]
pub struct SimpleRows {
    /// No version, marker or stamp is older (ms).
    pub oldest: i64,
    /// The newest seqno.
    pub newest: u64,
    /// Whether each row has a marker.
    pub marked: bool,
    /// For each row the bytes of its cells as units count them: names and values.
    pub cells: Vec<u16>,
    /// For each row the bytes between its key and its cells.
    pub before_cells: Vec<u8>,
}

/// The bytes of what is known of a row.
pub const ROW_MEMORY: usize = size_of::<u16>() + size_of::<u8>();

/// Collects them, entry by entry.
pub(super) struct SimpleRowsBuilder {
    base_seqno: u64,
    /// Nothing once a row is not simple.
    rows: Option<SimpleRows>,
}

/// An entry.
pub(super) struct SimpleRow {
    /// The bytes of its shape ([`fixed_bytes`]), and of its texts.
    pub(super) fixed: Option<u32>,
    pub(super) texts: usize,
    /// Whether it has another key than the entry before.
    pub(super) is_next: bool,
    /// Its seqno, relative to the block's.
    pub(super) seqno: i64,
    /// The bytes between its key and its cells: four numbers and a byte at most.
    pub(super) before_cells: usize,
    /// The oldest of its stamp, its versions and its marker (ms).
    pub(super) oldest: i64,
    pub(super) marked: bool,
}

impl SimpleRowsBuilder {
    /// For a block with this base of seqnos.
    pub(super) fn new(base_seqno: u64) -> Self {
        let rows =
            SimpleRows { oldest: i64::MAX, newest: 0, marked: true, cells: Vec::new(), before_cells: Vec::new() };
        Self { base_seqno, rows: Some(rows) }
    }

    /// Adds a row. Returns whether all are simple so far.
    pub(super) fn push(&mut self, row: &SimpleRow) -> bool {
        let cells = row
            .fixed
            .filter(|_| row.is_next)
            .and_then(|fixed| u16::try_from((fixed as usize).checked_add(row.texts)?).ok());
        match (&mut self.rows, cells.zip(u8::try_from(row.before_cells).ok())) {
            (Some(rows), Some((cells, before_cells))) => {
                rows.oldest = rows.oldest.min(row.oldest);
                rows.newest = rows.newest.max(self.base_seqno.wrapping_add_signed(row.seqno));
                rows.marked &= row.marked;
                rows.cells.push(cells);
                rows.before_cells.push(before_cells);
            }
            _ => self.rows = None,
        }
        self.rows.is_some()
    }

    /// The rows, if all are simple.
    pub(super) fn finish(self) -> Option<SimpleRows> {
        let mut rows = self.rows?;
        rows.cells.shrink_to_fit();
        rows.before_cells.shrink_to_fit();
        Some(rows)
    }
}

/// The length of a text that takes so many bytes with its length before it.
#[inline]
pub(super) fn text_bytes(stored: usize) -> usize {
    let lengths = 1 + usize::from(stored > SHORT) + usize::from(stored > MIDDLE + 1);
    stored.saturating_sub(lengths)
}

/// The bytes of a row's cells as units count them, but for its texts: all rows of a shape have the same. `None` if these rows
/// are not simple. `cells` has number and tag of each.
pub(super) fn fixed_bytes(head: u8, cells: &[u8], names: &Names) -> Option<u32> {
    let mut cells = Reader::new(cells);
    let (mut bytes, mut last) = (0u32, None);
    while !cells.is_empty() {
        let name = names.get(cells.uv32().ok()?)?;
        let bits = cells.u8().ok()?;
        let value = match bits & !OWN_VERSION {
            tag::FALSE | tag::TRUE => BOOLEAN,
            tag::INTEGER | tag::DOUBLE => NUMBER,
            of if has_value(of) => 0,
            _ => return None,
        };
        // Cells ascend. A reader of some columns stops behind the last of them.
        if last.is_some_and(|last| last >= name) {
            return None;
        }
        last = Some(name);
        bytes = bytes.checked_add(name.len() as u32 + value)?;
    }
    let exists = head & HAS_MARKER != 0 || last.is_some();
    (exists && head & !(HIDES_OLDER | HAS_MARKER) == 0).then_some(bytes)
}
