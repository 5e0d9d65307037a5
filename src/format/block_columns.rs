//! The columns of a block as vectors: for each row the place of its value. Filters read them without putting rows together.

use super::block::Block;
use super::wire::{self, Decoded, Reader};
use crate::collections::order::{compare, same};
use crate::model::filter::{FilterColumn, Unreadable};
use crate::model::{ValueRef, key_bytes, tags};

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
fn place_of(raw: &[u8], place: usize, tag: u8) -> u32 {
    let integer = if tag == tags::INTEGER { Reader::new_at(raw, place).sv().ok() } else { None };
    match integer.and_then(|integer| i32::try_from(integer).ok()) {
        Some(small) if small << TAG_BITS >> TAG_BITS == small => (small << TAG_BITS).cast_unsigned() | HERE,
        _ => (place as u32) << TAG_BITS | u32::from(tag),
    }
}

/// The bytes of a row as units count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowBytes {
    /// The values of its key.
    pub key: u32,
    /// Names and values of its cells.
    pub cells: u32,
}

/// Columns of a block in which each row is one entry with one version a column, and nothing is deleted.
#[derive(Debug)]
pub struct BlockColumns {
    rows: Vec<RowBytes>,
    /// The oldest version or marker (ms).
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

/// Whether two neighbouring keys are the same. Most have another last byte.
#[inline(always)]
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.last() == b.last() && compare(a, b).is_eq()
}

impl BlockColumns {
    /// Reads these columns. `None` if the block has other rows, or damaged ones.
    #[must_use]
    pub fn read<'n>(block: &Block, names: impl IntoIterator<Item = &'n str>) -> Option<Self> {
        let count = block.len();
        let column = |name: &str| Places { name: name.into(), places: vec![0; count] };
        let mut columns: Vec<Places> = names.into_iter().map(column).collect();
        // For each number of a name: its bytes, and which of the columns it is.
        let wanted = |name: &str| columns.iter().position(|column| same(&column.name, name));
        let numbered: Vec<_> = block.names().iter().map(|name| (name.len(), wanted(name))).collect();
        let (mut oldest, mut newest, mut marked) = (i64::MAX, 0, true);
        let (mut last_key, mut rows) = (None::<&[u8]>, Vec::with_capacity(count));
        for index in 0..count {
            let (entry, start) = block.entry_at(index)?;
            if last_key.is_some_and(|last| is_same(last, entry.key)) || start + entry.fragment.len() >= LARGEST {
                return None;
            }
            last_key = Some(entry.key);
            newest = newest.max(entry.seqno);
            let mut fragment = block.fragment(&entry).ok()?;
            if fragment.continues() {
                return None;
            }
            let marker = fragment.head().marker;
            marked &= marker.is_some();
            oldest = oldest.min(marker.unwrap_or(i64::MAX));
            let (mut is_there, mut last, mut cells) = (marker.is_some(), None, 0);
            while let Some(cell) = fragment.next_numbered().ok()? {
                if !cell.is_put || last == Some(cell.name) {
                    return None;
                }
                (is_there, last) = (true, Some(cell.name));
                oldest = oldest.min(cell.version);
                let (letters, column) = *numbered.get(cell.name as usize)?;
                cells += letters + cell.metered;
                if let Some(column) = column.and_then(|column| columns.get_mut(column)) {
                    *column.places.get_mut(index)? = place_of(block.payload(), start + cell.place, cell.tag);
                }
            }
            if !is_there {
                return None;
            }
            let key = key_bytes(entry.key.get(TREE_BYTES..)?)?;
            rows.push(RowBytes { key: key as u32, cells: u32::try_from(cells).ok()? });
        }
        Some(Self { rows, oldest, newest, marked, columns })
    }

    /// The oldest version or marker (ms).
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

    /// The bytes of a row.
    #[must_use]
    pub fn bytes(&self, row: usize) -> RowBytes {
        self.rows.get(row).copied().unwrap_or_default()
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
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
        size_of_val(&*self.rows) + places.sum::<usize>() + size_of::<Self>()
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
        if place & HERE == HERE {
            return Ok(Some(ValueRef::Integer((place.cast_signed() >> TAG_BITS).into())));
        }
        let (mut reader, tag) = self.at(place);
        wire::value(&mut reader, tag).map(Some).map_err(|_| Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::block::BlockBuilder;
    use crate::format::columns::Form;
    use crate::format::fragment::{self, FragmentHead};
    use crate::format::record::Place;
    use crate::model::{CellChange, CellOp, KeyValue, encode_key};
    use crate::storage::{BlockId, SegmentId};

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
        Block::decode(builder.finish(place, Form::Fast).1).expect("a block")
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
        assert_eq!((columns.len(), columns.oldest(), columns.newest(), columns.is_marked()), (4, 800, 13, false));
        let rows: Vec<_> = (0..4).map(|row| columns.bytes(row)).map(|row| (row.key, row.cells)).collect();
        assert_eq!(rows, [(10, 1 + 8 + 4 + 6), (10, 1 + 1), (10, 0), (10, 1 + 8 + 4 + 2)]);
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
}
