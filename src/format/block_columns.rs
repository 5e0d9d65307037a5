//! The columns of a block as vectors: for each row the place of its value. Filters read them without putting rows together.

use super::block::Block;
use super::columns::SimpleRows;
use super::fragment;
use super::wire::{self, Decoded, Reader};
use crate::collections::order::same;
use crate::model::filter::{FilterColumn, Unreadable};
use crate::model::{ValueRef, key_bytes, tags};
use std::ops::Range;

/// The bytes of a tree's number before each key.
const TREE_BYTES: usize = 4;

/// A place has the value's tag in its lowest bits, so a larger payload has places that do not fit.
const TAG_BITS: u32 = 4;
const LARGEST: usize = 1 << (u32::BITS - TAG_BITS);

/// No value has this tag. It stands for an integer that lies in the place itself, because it fits: most do.
const HERE: u32 = (1 << TAG_BITS) - 1;

/// The bytes of an integer as units count them.
const INTEGER_BYTES: usize = 8;

/// What stands for a value: its place and tag, or the value.
#[inline(always)]
fn place_of(raw: &[u8], place: usize, tag: u8) -> u32 {
    let small = if tag == tags::INTEGER { small_integer(raw, place) } else { None };
    small.map_or((place as u32) << TAG_BITS | u32::from(tag), |small| (small << TAG_BITS).cast_unsigned() | HERE)
}

/// The integer that lies in a place itself.
#[inline(always)]
fn integer_of(place: u32) -> Option<i64> {
    (place & HERE == HERE).then(|| (place.cast_signed() >> TAG_BITS).into())
}

/// The integer at a place, if it takes at most four bytes, and so has [`TAG_BITS`] bits to spare. `None` too at the end of the payload.
#[inline(always)]
fn small_integer(raw: &[u8], place: usize) -> Option<i32> {
    let bytes = u32::from_le_bytes(*raw.get(place..)?.first_chunk()?);
    // The first byte without the bit that announces another one is the last.
    let last = !bytes & 0x8080_8080;
    if last == 0 {
        return None;
    }
    let own = bytes & (last ^ (last - 1));
    let zigzag = own & 0x7f | own >> 1 & 0x3f80 | own >> 2 & 0x1f_c000 | own >> 3 & 0xfe0_0000;
    Some((zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()))
}

/// Bytes of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowBytes {
    /// Their keys as they are stored, without the tree.
    pub stored_keys: u32,
    /// The values of their keys, as units count them.
    pub keys: u32,
    /// Names and values of their cells, as units count them.
    pub cells: u32,
}

/// Columns of a block with simple rows ([`SimpleRows`]).
#[derive(Debug)]
pub struct BlockColumns {
    /// The bytes of the rows before each one, and of all.
    sums: Vec<RowBytes>,
    /// No version, marker or stamp is older (ms).
    oldest: i64,
    /// The newest seqno.
    newest: u64,
    /// Whether each row has a marker.
    marked: bool,
    columns: Vec<Places>,
}

/// For each row what stands for the value of a column ([`place_of`]); 0 without the column.
#[derive(Debug)]
struct Places {
    name: Box<str>,
    places: Vec<u32>,
}

/// What a column's number means to a walk.
#[derive(Clone, Copy)]
enum Meaning {
    /// It is this one of the wanted columns.
    Wanted(usize),
    /// Its name is behind those of all wanted columns, and so are all behind it.
    Behind,
    Other,
}

impl BlockColumns {
    /// Reads these columns. `None` if the block has other rows, or damaged ones.
    #[must_use]
    #[inline(never)]
    pub fn read<'n>(block: &Block, names: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let raw = block.payload();
        if raw.len() >= LARGEST {
            return None;
        }
        let SimpleRows { oldest, newest, marked, cells, before_cells } = block.simple_rows()?;
        let column = |name: &str| Places { name: name.into(), places: vec![0; cells.len()] };
        let mut columns: Vec<Places> = names.into_iter().map(column).collect();
        let meaning = |name: &str| match columns.iter().position(|column| same(&column.name, name)) {
            Some(column) => Meaning::Wanted(column),
            None if columns.iter().all(|column| *column.name < *name) => Meaning::Behind,
            None => Meaning::Other,
        };
        let meanings: Vec<_> = block.names().iter().map(meaning).collect();
        let wanted = meanings.iter().filter(|meaning| matches!(meaning, Meaning::Wanted(_))).count();
        let (mut sum, mut sums) = (RowBytes::default(), Vec::with_capacity(cells.len() + 1));
        for (index, (&bytes, &before)) in cells.iter().zip(before_cells).enumerate() {
            sums.push(sum);
            let (key, mut reader) = block.cells(index, before)?;
            let key = key.get(TREE_BYTES..)?;
            sum.stored_keys += key.len() as u32;
            sum.keys += key_bytes(key)? as u32;
            sum.cells = sum.cells.checked_add(bytes.into())?;
            let mut left = wanted;
            while left > 0 && !reader.is_empty() {
                let (name, tag) = fragment::skip_to_value(&mut reader).ok()?;
                match *meanings.get(name as usize)? {
                    Meaning::Wanted(column) => {
                        *columns.get_mut(column)?.places.get_mut(index)? = place_of(raw, reader.at(), tag);
                        left -= 1;
                    }
                    Meaning::Behind => break,
                    Meaning::Other => {}
                }
                wire::pass_here(&mut reader, tag).ok()?;
            }
        }
        // Readers add them.
        sum.stored_keys.checked_add(sum.cells)?;
        sums.push(sum);
        Some(Self { sums, oldest: *oldest, newest: *newest, marked: *marked, columns })
    }

    /// No version, marker or stamp is older (ms).
    #[must_use]
    pub fn oldest(&self) -> i64 {
        self.oldest
    }

    /// The newest seqno of an entry.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Whether each row has a marker.
    #[must_use]
    pub fn is_marked(&self) -> bool {
        self.marked
    }

    /// The bytes of some rows.
    #[must_use]
    pub fn bytes(&self, rows: Range<usize>) -> RowBytes {
        let [start, end] = [rows.start, rows.end].map(|row| self.sums.get(row).copied().unwrap_or_default());
        RowBytes {
            stored_keys: end.stored_keys.saturating_sub(start.stored_keys),
            keys: end.keys.saturating_sub(start.keys),
            cells: end.cells.saturating_sub(start.cells),
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.sums.len().saturating_sub(1)
    }

    /// The names of its columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| &*column.name)
    }

    /// The values of a column, which lie in the payload of the block. `None` if it was not read.
    #[must_use]
    pub fn column<'b>(&'b self, block: &'b Block, name: &str) -> Option<ColumnValues<'b>> {
        let found = self.columns.iter().find(|column| same(&column.name, name))?;
        Some(ColumnValues { raw: block.payload(), column: found })
    }

    /// Its bytes in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        let places =
            self.columns.iter().map(|column| size_of_val(&*column.places) + column.name.len() + size_of::<Places>());
        size_of_val(&*self.sums) + places.sum::<usize>() + size_of::<Self>()
    }
}

/// The values of a column in the rows of a block.
#[derive(Clone, Copy, Debug)]
pub struct ColumnValues<'b> {
    raw: &'b [u8],
    column: &'b Places,
}

impl<'b> ColumnValues<'b> {
    /// What stands for the value of a row, if it has the column.
    #[inline(always)]
    fn place(&self, row: usize) -> Option<u32> {
        self.column.places.get(row).copied().filter(|place| *place != 0)
    }

    /// A reader at the value with this place, and its tag.
    #[inline(always)]
    fn at(&self, place: u32) -> (Reader<'b>, u8) {
        (Reader::new_at(self.raw, (place >> TAG_BITS) as usize), (place & HERE) as u8)
    }

    /// The bytes of a row's cell as units count them: name and value. 0 without the column.
    #[must_use]
    pub fn bytes(&self, row: usize) -> usize {
        let value = |place: u32| -> Decoded<usize> {
            let (mut reader, tag) = self.at(place);
            if place & HERE == HERE { Ok(INTEGER_BYTES) } else { wire::pass(&mut reader, tag) }
        };
        self.place(row).map_or(0, |place| self.column.name.len() + value(place).unwrap_or_default())
    }
}

impl FilterColumn for ColumnValues<'_> {
    #[inline(always)]
    fn value(&self, row: usize) -> Result<Option<ValueRef<'_>>, Unreadable> {
        let Some(place) = self.place(row) else { return Ok(None) };
        if let Some(integer) = integer_of(place) {
            return Ok(Some(ValueRef::Integer(integer)));
        }
        let (mut reader, tag) = self.at(place);
        wire::value(&mut reader, tag).map(Some).map_err(|_| Unreadable)
    }

    #[inline(always)]
    fn integer(&self, row: usize) -> Option<i64> {
        integer_of(self.place(row)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::block::BlockBuilder;
    use crate::format::columns::{self, Form};
    use crate::format::fragment::FragmentHead;
    use crate::format::record::Place;
    use crate::model::{BlockId, CellChange, CellOp, KeyValue, SegmentId, encode_key};
    use proptest::prelude::*;

    type Cells<'a> = &'a [CellChange<'a>];

    fn put<'a>(column: &'a str, version: i64, value: ValueRef<'a>) -> CellChange<'a> {
        CellChange { column, op: CellOp::Put(version, value) }
    }

    fn block(rows: &[(i64, Option<i64>, Cells<'_>)]) -> Block {
        let mut builder = BlockBuilder::default();
        for (seqno, (key, marker, cells)) in (10..).zip(rows) {
            let mut encoded = vec![0, 0, 0, 1];
            encode_key(&[KeyValue::Integer(*key), KeyValue::String("ab".into())], &mut encoded);
            let head = FragmentHead { hides_older: marker.is_some(), marker: *marker, stamp: 1000 };
            builder.push(&encoded, seqno, 1000, |base, names, out| {
                fragment::encode(head, cells.iter().copied(), base, names, out);
            });
        }
        let place = Place::Block(BlockId { segment: SegmentId(1), block: 0 });
        let (record, payload, simple) = builder.finish(place, Form::Fast);
        let written = Block::decode_known(payload, simple).expect("a block");
        let read = Block::open(place, &record, None).expect("a block").0;
        let known = [&written, &read].map(|block| block.simple_rows());
        assert_eq!(known, [columns::simple_rows(written.payload()).as_ref(); 2]);
        read
    }

    #[test]
    fn a_column_has_the_values_of_all_rows() {
        let block = block(&[
            (1, Some(1000), &[put("a", 1000, ValueRef::Integer(-300)), put("text", 900, ValueRef::String("héllo"))]),
            (2, None, &[put("b", 1000, ValueRef::Boolean(true))]),
            (3, Some(800), &[]),
            (4, Some(1000), &[put("a", 1000, ValueRef::Double(0.5)), put("text", 1000, ValueRef::Binary(&[1, 2]))]),
        ]);
        let columns = BlockColumns::read(&block, ["a", "text", "none"]).expect("simple rows");
        assert_eq!((columns.rows(), columns.oldest(), columns.newest(), columns.is_marked()), (4, 800, 13, false));
        let rows: Vec<_> = (0..4).map(|row| columns.bytes(row..row + 1)).map(|row| (row.keys, row.cells)).collect();
        assert_eq!(rows, [(10, 1 + 8 + 4 + 6), (10, 1 + 1), (10, 0), (10, 1 + 8 + 4 + 2)]);
        assert_eq!(columns.bytes(1..4), RowBytes { stored_keys: 3 * 14, keys: 30, cells: 2 + 15 });
        let read = ["a", "text", "none"].map(|name| columns.column(&block, name).expect("read"));
        let values = read.each_ref().map(|column| [0, 1, 2, 3].map(|row| (column.value(row), column.bytes(row))));
        let none = (Ok(None), 0);
        let a = [(Ok(Some(ValueRef::Integer(-300))), 9), none, none, (Ok(Some(ValueRef::Double(0.5))), 9)];
        let (first, last) = (Ok(Some(ValueRef::String("héllo"))), Ok(Some(ValueRef::Binary(&[1, 2]))));
        assert_eq!(values, [a, [(first, 10), none, none, (last, 6)], [none; 4]]);
        assert!(columns.column(&block, "b").is_none(), "not read");
    }

    #[test]
    fn integers_of_any_size_are_read() {
        let numbers = [0, -1, (1 << 27) - 1, 1 << 27, -(1 << 27), -(1 << 27) - 1, i64::MAX, i64::MIN];
        let cells = numbers.map(|number| [put("a", 1000, ValueRef::Integer(number))]);
        let rows: Vec<_> = (1..).zip(&cells).map(|(key, cells)| (key, Some(1000), &cells[..])).collect();
        let block = block(&rows);
        let columns = BlockColumns::read(&block, ["a"]).expect("simple rows");
        let read = columns.column(&block, "a").expect("read");
        for (row, number) in numbers.into_iter().enumerate() {
            assert_eq!((read.value(row), read.bytes(row)), (Ok(Some(ValueRef::Integer(number))), 9));
        }
    }

    #[test]
    fn blocks_with_other_rows_have_none() {
        let one = put("a", 1000, ValueRef::Integer(1));
        let deleted = CellChange { column: "a", op: CellOp::DeleteVersion(1) };
        let read = |rows: &[(i64, Option<i64>, Cells<'_>)]| BlockColumns::read(&block(rows), ["a"]).is_some();
        assert!(read(&[(1, Some(1000), &[one]), (2, None, &[one])]));
        assert!(!read(&[(1, Some(1000), &[one]), (1, None, &[one])]), "two entries of a row");
        assert!(!read(&[(1, None, &[])]), "a deleted row");
        assert!(!read(&[(1, None, &[deleted])]), "a deleted version");
        assert!(!read(&[(1, None, &[CellChange { column: "a", op: CellOp::DeleteColumn }])]), "a deleted column");
        assert!(!read(&[(1, None, &[one, put("a", 999, ValueRef::Integer(2))])]), "two versions");
    }

    /// A cell: the number of its column, its kind, and a number that its value comes from.
    type CellSeed = (u8, u8, i64);

    /// Rows of a few shapes, in any order, and some that are not simple.
    fn rows() -> impl Strategy<Value = Vec<(bool, Vec<CellSeed>)>> {
        let cell = (0u8..5, prop_oneof![30 => 0u8..5, 1 => 5u8..8], any::<i64>());
        let shape = (any::<bool>(), proptest::collection::vec(cell, 0..5));
        (proptest::collection::vec(shape, 1..4), proptest::collection::vec((any::<usize>(), any::<i64>()), 1..40))
            .prop_map(|(shapes, picks)| {
                let row = |(pick, number): (usize, i64)| {
                    let mut row = shapes[pick % shapes.len()].clone();
                    row.1.sort();
                    row.1.iter_mut().for_each(|cell| cell.2 ^= number >> (number & 63));
                    row
                };
                picks.into_iter().map(row).collect()
            })
    }

    proptest! {
        /// R6: columns have what the rows have, whatever cells neighbouring rows share. A block with a row that is not simple has none.
        #[test]
        fn columns_are_those_of_the_rows(rows in rows()) {
            let names: Vec<String> = (0..5).map(|name| format!("c{}", "o".repeat(name))).collect();
            let texts: Vec<String> = rows.iter().flat_map(|row| &row.1).map(|cell| "x".repeat(cell.2 as usize % 400)).collect();
            let mut text = texts.iter();
            let built: Vec<_> = (0..).zip(&rows).map(|(key, (marked, seeds))| {
                let cells: Vec<_> = seeds.iter().map(|(name, kind, number)| {
                    let text = text.next().expect("as many as cells").as_str();
                    let op = match kind {
                        0 => CellOp::Put(1000, ValueRef::Integer(*number)),
                        1 => CellOp::Put(1000, ValueRef::Double(*number as f64)),
                        2 => CellOp::Put(1000, ValueRef::Boolean(*number < 0)),
                        3 => CellOp::Put(1000, ValueRef::String(text)),
                        4 => CellOp::Put(1000, ValueRef::Binary(text.as_bytes())),
                        5 => CellOp::Put(number % 5000, ValueRef::String(text)),
                        6 => CellOp::DeleteVersion(*number),
                        _ => CellOp::DeleteColumn,
                    };
                    CellChange { column: &names[usize::from(*name)], op }
                }).collect();
                (key, marked.then_some(900), cells)
            }).collect();
            let given: Vec<_> = built.iter().map(|(key, marker, cells)| (*key, *marker, &cells[..])).collect();
            let block = block(&given);
            let is_simple = |(_, marker, cells): &(i64, Option<i64>, Cells<'_>)| {
                let puts = cells.iter().all(|cell| matches!(cell.op, CellOp::Put(..)));
                let twice = cells.windows(2).any(|pair| pair[0].column == pair[1].column);
                puts && !twice && (marker.is_some() || !cells.is_empty())
            };
            let columns = BlockColumns::read(&block, names.iter().map(String::as_str));
            prop_assert_eq!(columns.is_some(), given.iter().all(is_simple));
            let Some(columns) = columns else { return Ok(()) };
            let versions = given.iter().flat_map(|row| row.2).filter_map(|cell| cell.op.version());
            let markers = given.iter().filter_map(|row| row.1);
            prop_assert_eq!(columns.oldest(), versions.chain(markers).min().unwrap_or(1000).min(1000));
            prop_assert_eq!(columns.is_marked(), given.iter().all(|row| row.1.is_some()));
            for (at, (_, _, cells)) in given.iter().enumerate() {
                let bytes = |cell: &CellChange<'_>| match cell.op {
                    CellOp::Put(_, value) => cell.column.len() + value.metered_bytes(),
                    _ => 0,
                };
                let sum = cells.iter().map(bytes).sum::<usize>() as u32;
                prop_assert_eq!(columns.bytes(at..at + 1), RowBytes { stored_keys: 14, keys: 10, cells: sum });
                for name in &names {
                    let column = columns.column(&block, name).expect("read");
                    let cell = cells.iter().find(|cell| cell.column == name);
                    let value = cell.and_then(|cell| match cell.op {
                        CellOp::Put(_, value) => Some(value),
                        _ => None,
                    });
                    prop_assert_eq!((column.value(at), column.bytes(at)), (Ok(value), cell.map_or(0, bytes)));
                }
            }
        }
    }
}
