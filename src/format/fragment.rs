//! A fragment: the changes of a row by one write, or by several merged ones.
//!
//! ```text
//! head    1 byte: 1 hides everything older · 2 makes the row exist (a marker follows) · 4 goes on with the cells of
//!         the fragment before, and says nothing else of the row
//! stamp   sv, relative to the container's base
//! marker  sv, relative to the stamp; only if announced
//! cells   to the end of the fragment, sorted by column name; in a column a deletion of the column comes first, then
//!         versions, newest first
//!
//! cell    uv name · 1 byte: low nibble 0 deletes the column, 1 deletes a version, 2-7 the value's tag;
//!         bit 4 set: sv version relative to the stamp follows (else the version is the stamp) · value
//! ```

use super::names::{NameBuilder, Names};
use super::wire::here::{put_sv, put_uv};
use super::wire::{self, Decoded, Reader};
use crate::model::{CellChange, CellOp, ChangeKind, RowChange, ValueRef};

pub(super) const HIDES_OLDER: u8 = 1;
pub(super) const HAS_MARKER: u8 = 2;
pub(super) const CONTINUES: u8 = 4;

const DELETE_COLUMN: u8 = 0;
const DELETE_VERSION: u8 = 1;
/// Bits of the byte before a value: its tag, and whether a version follows.
pub(super) const TAG: u8 = 0x0F;
pub(super) const OWN_VERSION: u8 = 0x10;

/// The part of a fragment that concerns the whole row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentHead {
    /// Everything older than the fragment is hidden.
    pub hides_older: bool,
    /// The time of the PutRow that made the row exist.
    pub marker: Option<i64>,
    /// The newest stamp among the fragment's writes.
    pub stamp: i64,
}

impl FragmentHead {
    /// The head of a change. A marker has the time of the newest cell of its PutRow, so a row whose cells have all
    /// expired is gone. Without a cell it has the time of the PutRow itself (V4).
    #[must_use]
    pub fn of(change: &RowChange<'_>) -> Self {
        let marker = (change.kind == ChangeKind::Put)
            .then(|| change.cells.iter().filter_map(|cell| cell.op.version()).max().unwrap_or(change.stamp));
        Self { hides_older: change.kind != ChangeKind::Update, marker, stamp: change.stamp }
    }

    /// The kind of the change that it is the head of.
    #[must_use]
    pub fn kind(self) -> ChangeKind {
        match self {
            Self { marker: Some(_), .. } => ChangeKind::Put,
            Self { hides_older: true, .. } => ChangeKind::Delete,
            Self { .. } => ChangeKind::Update,
        }
    }
}

/// Appends a fragment.
pub fn encode<'a>(
    head: FragmentHead,
    cells: impl IntoIterator<Item = CellChange<'a>>,
    base: i64,
    names: &mut NameBuilder,
    out: &mut Vec<u8>,
) {
    put_head(head, base, names, out);
    for cell in cells {
        put_cell(head.stamp, cell, names, out);
    }
}

/// Begins a fragment whose cells are appended one by one.
pub(super) fn start(head: FragmentHead, base: i64, names: &mut NameBuilder, out: &mut Vec<u8>) {
    put_head(head, base, names, out);
}

/// Begins a fragment that continues the cells of the one before, which has this stamp.
pub(super) fn start_continued(stamp: i64, base: i64, names: &mut NameBuilder, out: &mut Vec<u8>) {
    out.push(CONTINUES);
    put_sv(stamp.wrapping_sub(base), out);
    names.start_row();
}

/// Appends a fragment equal to `fragment`, for another container.
pub fn copy(mut fragment: Fragment<'_>, base: i64, names: &mut NameBuilder, out: &mut Vec<u8>) -> Decoded<()> {
    put_head(fragment.head, base, names, out);
    while let Some(cell) = fragment.next_cell()? {
        put_cell(fragment.head.stamp, cell, names, out);
    }
    Ok(())
}

/// The same if both containers give every column the same number: the cells are copied unread.
pub fn copy_cells(fragment: &Fragment<'_>, base: i64, names: &mut NameBuilder, out: &mut Vec<u8>) {
    put_head(fragment.head, base, names, out);
    out.extend_from_slice(fragment.cells.rest());
}

fn put_head(head: FragmentHead, base: i64, names: &mut NameBuilder, out: &mut Vec<u8>) {
    let mut bits = 0;
    if head.hides_older {
        bits |= HIDES_OLDER;
    }
    if head.marker.is_some() {
        bits |= HAS_MARKER;
    }
    out.push(bits);
    put_sv(head.stamp.wrapping_sub(base), out);
    if let Some(marker) = head.marker {
        put_sv(marker.wrapping_sub(head.stamp), out);
    }
    names.start_row();
}

/// Appends a cell to a fragment with this stamp.
#[inline]
pub(super) fn put_cell(stamp: i64, cell: CellChange<'_>, names: &mut NameBuilder, out: &mut Vec<u8>) {
    put_uv(u64::from(names.id(cell.column)), out);
    let tag = match cell.op {
        CellOp::DeleteColumn => DELETE_COLUMN,
        CellOp::DeleteVersion(_) => DELETE_VERSION,
        CellOp::Put(_, value) => wire::value_tag(value),
    };
    match cell.op.version() {
        Some(version) if version != stamp => {
            out.push(tag | OWN_VERSION);
            put_sv(version.wrapping_sub(stamp), out);
        }
        _ => out.push(tag),
    }
    if let CellOp::Put(_, value) = cell.op {
        wire::put_value(value, out);
    }
}

/// Reads the head of a fragment. Returns also whether the fragment continues the one before.
fn read_head(reader: &mut Reader<'_>, base: i64) -> Decoded<(FragmentHead, bool)> {
    let bits = reader.u8()?;
    if bits & !(HIDES_OLDER | HAS_MARKER) != 0 && bits != CONTINUES {
        return Err(reader.damage("an unknown head of a fragment"));
    }
    let stamp = base.wrapping_add(reader.sv_here()?);
    let marker = if bits & HAS_MARKER == 0 { None } else { Some(stamp.wrapping_add(reader.sv_here()?)) };
    Ok((FragmentHead { hides_older: bits & HIDES_OLDER != 0, marker, stamp }, bits == CONTINUES))
}

/// Passes a cell over, up to its value. Returns the number of its column and its tag.
#[inline(always)]
pub(super) fn skip_to_value(reader: &mut Reader<'_>) -> Decoded<(u32, u8)> {
    let name = reader.uv32_here()?;
    let bits = reader.u8()?;
    if bits & OWN_VERSION != 0 {
        reader.skip_uv()?;
    }
    Ok((name, bits & TAG))
}

/// Whether this tag stands before a value, and is none of a deletion.
#[inline(always)]
pub(super) fn is_put(tag: u8) -> bool {
    tag > DELETE_VERSION
}

/// A reader of a fragment.
#[derive(Clone, Debug)]
pub struct Fragment<'a> {
    head: FragmentHead,
    continues: bool,
    names: &'a Names,
    cells: Reader<'a>,
}

impl<'a> Fragment<'a> {
    /// Whether it continues the cells of the fragment before: both are from one write, or from several merged ones.
    #[must_use]
    pub fn continues(&self) -> bool {
        self.continues
    }

    /// Skips to the place where this many bytes are left.
    pub fn skip_to(&mut self, left: usize) {
        let skipped = self.cells.left().saturating_sub(left);
        // It was read up to there before.
        let _ = self.cells.take(skipped);
    }

    /// The number of unread bytes.
    pub fn left(&self) -> usize {
        self.cells.left()
    }

    /// Reads the head of a fragment that fills `bytes`. Compiled once: it has many callers.
    #[inline(never)]
    pub fn decode(bytes: &'a [u8], base: i64, names: &'a Names) -> Decoded<Self> {
        let mut cells = Reader::new(bytes);
        let (head, continues) = read_head(&mut cells, base)?;
        Ok(Self { head, continues, names, cells })
    }

    /// The head of the fragment.
    #[must_use]
    pub fn head(&self) -> FragmentHead {
        self.head
    }

    /// Column, version and tag of the next cell; its value follows.
    #[inline(always)]
    fn cell_start(&mut self) -> Decoded<Option<(&'a str, i64, u8)>> {
        let reader = &mut self.cells;
        if reader.is_empty() {
            return Ok(None);
        }
        let id = reader.uv32_here()?;
        let column = self.names.get(id).ok_or_else(|| reader.damage("an unknown column number"))?;
        let bits = reader.u8()?;
        let mut version = self.head.stamp;
        if bits & OWN_VERSION != 0 {
            version = version.wrapping_add(reader.sv_here()?);
        }
        Ok(Some((column, version, bits & !OWN_VERSION)))
    }

    /// The next cell.
    pub fn next_cell(&mut self) -> Decoded<Option<CellChange<'a>>> {
        self.next_cell_here()
    }

    /// The same, compiled into its caller: for what reads every row.
    #[inline(always)]
    pub fn next_cell_here(&mut self) -> Decoded<Option<CellChange<'a>>> {
        let Some((column, version, tag)) = self.cell_start()? else { return Ok(None) };
        let op = match tag {
            DELETE_COLUMN => CellOp::DeleteColumn,
            DELETE_VERSION => CellOp::DeleteVersion(version),
            tag => CellOp::Put(version, wire::value(&mut self.cells, tag)?),
        };
        Ok(Some(CellChange { column, op }))
    }

    /// The next cell, with its value skipped: a text is not even checked.
    #[inline]
    pub fn next_unread(&mut self) -> Decoded<Option<StoredCell<'a>>> {
        let Some((column, version, tag)) = self.cell_start()? else { return Ok(None) };
        let value = self.cells.clone();
        let metered = if is_put(tag) { wire::pass(&mut self.cells, tag)? } else { 0 };
        Ok(Some(StoredCell { column, version, tag, metered, value }))
    }

    /// The bytes of all columns and values as units count them; no value is read. `None` if the fragment is not simple: something is
    /// deleted, damaged, or there in two versions.
    #[must_use]
    pub fn weigh(&self) -> Option<usize> {
        let (mut cells, mut weight, mut last) = (self.cells.clone(), 0, None);
        while !cells.is_empty() {
            let (id, tag) = skip_to_value(&mut cells).ok()?;
            if !is_put(tag) || last.replace(id) == Some(id) {
                return None;
            }
            weight += self.names.get(id)?.len() + wire::pass_here(&mut cells, tag).ok()?;
        }
        Some(weight)
    }

    /// The value of a column of a simple fragment; no other one is read.
    #[must_use]
    pub fn find(&self, column: &str) -> Option<Decoded<ValueRef<'a>>> {
        let mut cells = self.cells.clone();
        while !cells.is_empty() {
            let (id, tag) = skip_to_value(&mut cells).ok()?;
            if self.names.get(id)? == column {
                return Some(wire::value(&mut cells, tag));
            }
            wire::pass_here(&mut cells, tag).ok()?;
        }
        None
    }
}

/// A cell with an unread value.
#[derive(Clone, Debug)]
pub struct StoredCell<'a> {
    /// Its column.
    pub column: &'a str,
    /// Its version (ms).
    pub version: i64,
    tag: u8,
    metered: usize,
    value: Reader<'a>,
}

impl<'a> StoredCell<'a> {
    /// Whether it is a put, not a deletion.
    #[must_use]
    pub fn is_put(&self) -> bool {
        is_put(self.tag)
    }

    /// Whether it deletes a single version.
    #[must_use]
    pub fn deletes_version(&self) -> bool {
        self.tag == DELETE_VERSION
    }

    /// The bytes of its value as units count them.
    #[must_use]
    pub fn metered_bytes(&self) -> usize {
        self.metered
    }

    /// Reads its value.
    pub fn value(&self) -> Decoded<ValueRef<'a>> {
        wire::value(&mut self.value.clone(), self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roundtrip(change: &RowChange<'_>, base: i64) -> (FragmentHead, Vec<(String, String)>) {
        let (mut names, mut bytes) = (NameBuilder::default(), Vec::new());
        encode(FragmentHead::of(change), change.cells.iter().copied(), base, &mut names, &mut bytes);
        let mut fragment = Fragment::decode(&bytes, base, names.names()).expect("decodes");
        let mut cells = Vec::new();
        while let Some(cell) = fragment.next_cell().expect("decodes") {
            cells.push((cell.column.to_owned(), format!("{:?}", cell.op)));
        }
        (fragment.head(), cells)
    }

    #[test]
    fn d2_every_type_survives() {
        let values = [
            ValueRef::Integer(i64::MIN),
            ValueRef::Integer(i64::MAX),
            ValueRef::Double(-0.5),
            ValueRef::Boolean(true),
            ValueRef::Boolean(false),
            ValueRef::String(""),
            ValueRef::String("héllo"),
            ValueRef::Binary(&[]),
            ValueRef::Binary(&[0, 255]),
        ];
        let columns: Vec<String> = (0..values.len()).map(|i| format!("c{i}")).collect();
        let cells: Vec<_> = values
            .iter()
            .zip(&columns)
            .map(|(&value, column)| CellChange { column, op: CellOp::Put(1_700_000_000_000, value) })
            .collect();
        let change = RowChange { kind: ChangeKind::Put, stamp: 1_700_000_000_000, cells: &cells };
        let (head, back) = roundtrip(&change, 1_600_000_000_000);
        assert_eq!(head, FragmentHead { hides_older: true, marker: Some(1_700_000_000_000), stamp: 1_700_000_000_000 });
        let expected: Vec<_> = cells.iter().map(|cell| (cell.column.to_owned(), format!("{:?}", cell.op))).collect();
        assert_eq!(back, expected);
    }

    #[test]
    fn v4_the_marker_is_as_old_as_the_newest_cell_of_the_put() {
        let old = [CellChange { column: "a", op: CellOp::Put(5_000, ValueRef::Integer(1)) }];
        let change = RowChange { kind: ChangeKind::Put, stamp: 9_000, cells: &old };
        assert_eq!(FragmentHead::of(&change).marker, Some(5_000));
        assert_eq!(FragmentHead::of(&RowChange { cells: &[], ..change }).marker, Some(9_000));
        assert_eq!(FragmentHead::of(&RowChange { kind: ChangeKind::Delete, cells: &[], ..change }).marker, None);
        for kind in [ChangeKind::Put, ChangeKind::Update, ChangeKind::Delete] {
            for cells in [&old[..], &[]] {
                assert_eq!(FragmentHead::of(&RowChange { kind, stamp: 9_000, cells }).kind(), kind);
            }
        }
    }

    #[test]
    fn deletions_survive() {
        let cells = [
            CellChange { column: "a", op: CellOp::DeleteColumn },
            CellChange { column: "a", op: CellOp::Put(7, ValueRef::Integer(1)) },
            CellChange { column: "b", op: CellOp::DeleteVersion(-3) },
        ];
        let (head, back) = roundtrip(&RowChange { kind: ChangeKind::Update, stamp: 7, cells: &cells }, 0);
        assert_eq!(head, FragmentHead { hides_older: false, marker: None, stamp: 7 });
        assert_eq!(back.len(), 3);
        assert_eq!(back[2].1, "DeleteVersion(-3)");
    }

    #[test]
    fn cells_are_copied_unread_between_containers_with_the_same_names() {
        let cell = CellChange { column: "a", op: CellOp::Put(95, ValueRef::String("x")) };
        let change = RowChange { kind: ChangeKind::Put, stamp: 100, cells: &[cell] };
        let (mut names, mut from, mut to) = (NameBuilder::default(), Vec::new(), Vec::new());
        encode(FragmentHead::of(&change), [cell], 10, &mut names, &mut from);
        let mut others = NameBuilder::default();
        assert!(others.adopt(names.names()));
        copy_cells(&Fragment::decode(&from, 10, names.names()).expect("decodes"), 70, &mut others, &mut to);
        let mut copied = Fragment::decode(&to, 70, others.names()).expect("decodes");
        assert_eq!(copied.head(), FragmentHead::of(&change));
        assert_eq!(copied.next_cell(), Ok(Some(cell)));
        others.id("b");
        assert!(!names.adopt(others.names()) || names.names().get(1) == Some("b"));
        let mut reversed = NameBuilder::default();
        reversed.id("b");
        assert!(!reversed.adopt(others.names()), "a and b have other numbers here");
    }

    /// A skipped value is not read: it could be any bytes of its length.
    #[test]
    fn a_value_that_is_passed_over_is_not_read() {
        let cells = [
            CellChange { column: "a", op: CellOp::Put(7, ValueRef::String("xyz")) },
            CellChange { column: "b", op: CellOp::Put(8, ValueRef::Integer(-300)) },
            CellChange { column: "c", op: CellOp::DeleteColumn },
        ];
        let change = RowChange { kind: ChangeKind::Update, stamp: 7, cells: &cells };
        let (mut names, mut bytes) = (NameBuilder::default(), Vec::new());
        encode(FragmentHead::of(&change), change.cells.iter().copied(), 0, &mut names, &mut bytes);
        let y = bytes.iter().position(|&byte| byte == b'y').expect("the text");
        bytes[y] = 0xff;
        let mut fragment = Fragment::decode(&bytes, 0, names.names()).expect("decodes");
        assert!(fragment.clone().next_cell().is_err(), "no UTF-8");
        let mut next = || fragment.next_unread().expect("whole");
        let (a, b, c) = (next().expect("a"), next().expect("b"), next().expect("c"));
        assert!(next().is_none());
        assert_eq!((a.column, a.version, a.metered_bytes(), a.is_put()), ("a", 7, 3, true));
        assert!(a.value().is_err());
        assert_eq!((b.column, b.version, b.metered_bytes(), b.value()), ("b", 8, 8, Ok(ValueRef::Integer(-300))));
        assert!(!c.is_put());
        bytes.truncate(bytes.len() - 3);
        let mut short = Fragment::decode(&bytes, 0, names.names()).expect("head");
        while let Ok(Some(_)) = short.next_unread() {}
    }

    #[test]
    fn a_simple_fragment_is_weighed_and_searched_unread() {
        let text = CellChange { column: "a", op: CellOp::Put(7, ValueRef::String("xyz")) };
        let number = CellChange { column: "long", op: CellOp::Put(8, ValueRef::Integer(-300)) };
        let older = CellChange { op: CellOp::Put(6, ValueRef::Boolean(true)), ..number };
        let gone = CellChange { column: "z", op: CellOp::DeleteColumn };
        let (mut names, mut all) = (NameBuilder::default(), Vec::new());
        for cells in [vec![], vec![text, number], vec![text, number, older], vec![text, gone]] {
            let change = RowChange { kind: ChangeKind::Put, stamp: 7, cells: &cells };
            let mut bytes = Vec::new();
            encode(FragmentHead::of(&change), cells.iter().copied(), 0, &mut names, &mut bytes);
            all.push(bytes);
        }
        let fragment = |bytes| Fragment::decode(bytes, 0, names.names()).expect("decodes");
        let all: Vec<_> = all.iter().map(|bytes| fragment(bytes)).collect();
        let weights: Vec<_> = all.iter().map(Fragment::weigh).collect();
        assert_eq!(weights, [Some(0), Some(1 + 3 + 4 + 8), None, None], "two versions, and a deletion, are not simple");
        let found = ["a", "long", "lon", "z"].map(|column| all[1].find(column));
        assert_eq!(found, [Some(Ok(ValueRef::String("xyz"))), Some(Ok(ValueRef::Integer(-300))), None, None]);
    }

    #[test]
    fn garbage_is_damage_never_a_panic() {
        let names = Names::default();
        assert!(Fragment::decode(&[], 0, &names).is_err());
        assert!(Fragment::decode(&[0xff, 0], 0, &names).is_err());
        assert!(Fragment::decode(&[0, 0, 3, 2, 2], 0, &names).expect("head").next_cell().is_err());
    }
}
