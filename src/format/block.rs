//! A block: sorted entries of a segment, the unit of reading, checking and caching.
//!
//! ```text
//! base stamp   sv        stamps in the block are relative to it
//! base seqno   uv        seqnos in the block are relative to it
//! entries      uv        how many
//! names        see names.rs; written before the entries so that one pass reads all
//! entry        uv key length · key · sv seqno · uv fragment length · fragment
//! ```
//!
//! Entries ascend by key and, for one key, descend by seqno. All entries of a key are in one block, unless the row is
//! large (see `segment.rs`). A key is the four bytes of its tree, big-endian, and the encoded primary key. `record.rs`
//! frames and compresses the payload.

use super::columns::{self, Form, SimpleRows};
use super::fragment::{self, Fragment, FragmentHead};
use super::names::{NameBuilder, Names};
use super::record::{self, Opened, Place};
use super::sorted_keys::SortedKeys;
use super::wire::here::{put_bytes, put_sv};
use super::wire::{Decoded, Reader, put_uv, uv_length};
use crate::collections::order::compare;
use crate::model::CellChange;
use bytes::Bytes;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::Range;

/// A decoded block, ready for reading entries in any order.
#[derive(Debug)]
pub struct Block {
    raw: Bytes,
    names: Names,
    base_stamp: i64,
    base_seqno: u64,
    /// The place of each entry's key in `raw`; the rest of the entry follows it.
    keys: SortedKeys,
    /// Its rows, if all are simple. A filter asks for them.
    simple: OnceCell<Option<SimpleRows>>,
}

/// One entry of a block.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Tree and primary key.
    pub key: &'a [u8],
    /// Its place among all writes.
    pub seqno: u64,
    /// The written change; read it with [`Block::fragment`].
    pub fragment: &'a [u8],
}

impl Block {
    /// Opens the record stored at `place`, and says whether it is the whole block. With `keys`, which ascend, it may have the
    /// entries of these keys only.
    pub fn open(place: Place, record: &[u8], keys: Option<&[&[u8]]>) -> Decoded<(Self, bool)> {
        let Opened { payload, is_whole, rows } = record::open_rows(place, record, keys)?;
        Ok((Self::decode_known(payload, rows)?, is_whole))
    }

    /// Its rows, if all are simple.
    pub(super) fn simple_rows(&self) -> Option<&SimpleRows> {
        self.simple.get_or_init(|| columns::simple_rows(&self.raw)).as_ref()
    }

    /// Reads a payload.
    pub fn decode(raw: Bytes) -> Decoded<Self> {
        Self::decode_known(raw, None)
    }

    /// The same for a payload whose rows are known already, if all are simple.
    pub fn decode_known(raw: Bytes, rows: Option<SimpleRows>) -> Decoded<Self> {
        let mut reader = Reader::new(&raw);
        let base_stamp = reader.sv()?;
        let base_seqno = reader.uv()?;
        let count = reader.uv32()?;
        let names = Names::decode(&mut reader)?;
        let mut keys = Vec::with_capacity((count as usize).min(raw.len() / 4));
        let mut previous: &[u8] = &[];
        for _ in 0..count {
            let key = reader.bytes_here()?;
            let end = u32::try_from(reader.at()).map_err(|_| reader.damage("the block is larger than 4 GiB"))?;
            keys.push((end - key.len() as u32, end));
            reader.sv_here()?;
            reader.bytes_here()?;
            if key < previous {
                return Err(reader.damage("keys do not ascend"));
            }
            previous = key;
        }
        if !reader.is_empty() {
            return Err(reader.damage("bytes behind the last entry"));
        }
        let simple = rows.map_or_else(OnceCell::new, |rows| Some(rows).into());
        Ok(Self { names, base_stamp, base_seqno, keys: SortedKeys::new(&raw, keys), raw, simple })
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether the block is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its bytes in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        let rows = self.len() * columns::ROW_MEMORY;
        self.raw.len() + self.keys.memory() + self.names.memory() + rows + size_of::<Self>()
    }

    /// The key of the entry with this index.
    #[must_use]
    #[inline]
    pub fn key(&self, index: usize) -> Option<&[u8]> {
        self.keys.get(&self.raw, index)
    }

    /// The entry with this index. Opening the block has read every entry, so each index inside the block has one.
    #[must_use]
    #[inline]
    pub fn entry(&self, index: usize) -> Option<Entry<'_>> {
        let key = self.key(index)?;
        let mut reader = Reader::new_at(&self.raw, self.keys.place(index)?.1 as usize);
        let seqno = self.base_seqno.wrapping_add_signed(reader.sv_here().ok()?);
        Some(Entry { key, seqno, fragment: reader.bytes_here().ok()? })
    }

    /// The key of the entry with this index, and a reader of its cells: `before` is the number of bytes between them. The reader's
    /// places count from the start of the payload.
    #[inline(always)]
    pub(super) fn cells(&self, index: usize, before: u8) -> Option<(&[u8], Reader<'_>)> {
        let (start, end) = self.keys.place(index)?;
        let key = self.raw.get(start as usize..end as usize)?;
        // The cells end where the next entry begins, with the length of its key.
        let last = match self.keys.place(index + 1) {
            Some((start, end)) => (start as usize).checked_sub(uv_length(end - start))?,
            None => self.raw.len(),
        };
        Some((key, Reader::new_at(self.raw.get(..last)?, end as usize + usize::from(before))))
    }

    /// The names of its columns.
    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// Where the key of the entry with this index lies in the payload. Its length is before it, and the rest of the entry behind.
    pub(super) fn place(&self, index: usize) -> Option<(u32, u32)> {
        self.keys.place(index)
    }

    /// Its payload.
    pub(super) fn payload(&self) -> &[u8] {
        &self.raw
    }

    /// Reads a fragment of this block.
    #[inline]
    pub fn fragment<'a>(&'a self, entry: &Entry<'a>) -> Decoded<Fragment<'a>> {
        Fragment::decode(entry.fragment, self.base_stamp, &self.names)
    }

    /// The index of the first entry whose key is not less than `key`.
    #[must_use]
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        self.keys.search(&self.raw, key, Ordering::is_ge)
    }

    /// The indexes of all entries with this key; empty, at their place, if there are none.
    #[must_use]
    pub fn entries_of(&self, key: &[u8]) -> Range<usize> {
        let start = self.lower_bound(key);
        let mut end = start;
        while self.key(end).is_some_and(|other| compare(other, key).is_eq()) {
            end += 1;
        }
        start..end
    }
}

/// Builds blocks, one after another.
#[derive(Debug, Default)]
pub struct BlockBuilder {
    names: NameBuilder,
    entries: Vec<u8>,
    count: u32,
    bases: Option<(i64, u64)>,
    scratch: Vec<u8>,
}

impl BlockBuilder {
    /// The approximate size of the payload so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() + self.names.encoded_len()
    }

    /// Whether nothing was added since the last block.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends an entry. `stamp` is the stamp of its fragment. `encode` gets the base stamp and appends the fragment,
    /// relative to it. Keys must not descend.
    pub fn push(
        &mut self,
        key: &[u8],
        seqno: u64,
        stamp: i64,
        encode: impl FnOnce(i64, &mut NameBuilder, &mut Vec<u8>),
    ) {
        let base_stamp = self.start(key, seqno, stamp);
        encode(base_stamp, &mut self.names, &mut self.scratch);
        self.close();
    }

    /// Begins an entry whose cells are added one by one. If it `continues`, it has more cells of the last entry of the
    /// block before.
    pub fn open(&mut self, key: &[u8], seqno: u64, head: FragmentHead, continues: bool) {
        let base = self.start(key, seqno, head.stamp);
        if continues {
            fragment::start_continued(head.stamp, base, &mut self.names, &mut self.scratch);
        } else {
            fragment::start(head, base, &mut self.names, &mut self.scratch);
        }
    }

    /// The approximate size of the open entry so far.
    #[must_use]
    pub fn open_len(&self) -> usize {
        self.scratch.len()
    }

    /// Adds a cell to the open entry; `stamp` is the entry's.
    pub fn add_cell(&mut self, stamp: i64, cell: CellChange<'_>) {
        fragment::put_cell(stamp, cell, &mut self.names, &mut self.scratch);
    }

    /// Ends the open entry.
    pub fn close(&mut self) {
        put_bytes(&self.scratch, &mut self.entries);
        self.count += 1;
    }

    /// Begins an entry. Returns the base stamp.
    fn start(&mut self, key: &[u8], seqno: u64, stamp: i64) -> i64 {
        let (base_stamp, base_seqno) = *self.bases.get_or_insert((stamp, seqno));
        put_bytes(key, &mut self.entries);
        put_sv(seqno.wrapping_sub(base_seqno).cast_signed(), &mut self.entries);
        self.scratch.clear();
        base_stamp
    }

    /// The record of the finished block in this form, its payload, as for [`Block::decode`], and its rows if all are simple. The
    /// builder is empty again.
    pub fn finish(&mut self, place: Place, form: Form) -> (Bytes, Bytes, Option<SimpleRows>) {
        let (base_stamp, base_seqno) = self.bases.take().unwrap_or_default();
        let mut payload = Vec::with_capacity(self.entries.len() + 64);
        put_sv(base_stamp, &mut payload);
        put_uv(base_seqno, &mut payload);
        put_uv(u64::from(self.count), &mut payload);
        self.names.encode(&mut payload);
        payload.extend_from_slice(&self.entries);
        self.names.clear();
        self.entries.clear();
        self.count = 0;
        let (record, rows) = record::seal_in(place, &payload, form);
        (record, payload.into(), rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::fragment::{self, FragmentHead};
    use crate::model::{BlockId, CellChange, CellOp, SegmentId, ValueRef};

    const PLACE: Place = Place::Block(BlockId { segment: SegmentId(1), block: 0 });

    fn sample() -> (Bytes, Block) {
        let mut builder = BlockBuilder::default();
        for i in 0..100u64 {
            let key = format!("k{i:03}");
            let head = FragmentHead { hides_older: true, marker: Some(1000), stamp: 1000 };
            let value = ValueRef::Integer(i.cast_signed());
            let cell = CellChange { column: "c", op: CellOp::Put(1000, value) };
            builder.push(key.as_bytes(), 500 + i, 1000, |base, names, out| {
                fragment::encode(head, [cell], base, names, out);
            });
        }
        let (record, payload, _) = builder.finish(PLACE, Form::Fast);
        (record, Block::decode(payload).expect("a block"))
    }

    #[test]
    fn entries_are_found_and_read() {
        let (record, built) = sample();
        let opened = Block::open(PLACE, &record, None).expect("opens").0;
        for block in [built, opened] {
            assert_eq!(block.len(), 100);
            let index = block.lower_bound(b"k042");
            let entry = block.entry(index).expect("an entry");
            assert_eq!((entry.key, entry.seqno), (&b"k042"[..], 542));
            let cell = block.fragment(&entry).expect("a fragment").next_cell().expect("a cell");
            assert_eq!(cell.map(|cell| cell.op), Some(CellOp::Put(1000, ValueRef::Integer(42))));
            assert_eq!(block.lower_bound(b"k0425"), 43);
            assert_eq!(block.lower_bound(b"z"), 100);
            assert_eq!((block.entries_of(b"k042"), block.entries_of(b"k0425")), (42..43, 43..43));
        }
    }

    /// F: no damaged byte of a block is ever read as another row.
    #[test]
    fn a_row_of_a_block_with_any_damaged_byte_is_refused() {
        for form in [Form::Fast, Form::Dense] {
            let mut builder = BlockBuilder::default();
            for i in 0..200u64 {
                let head = FragmentHead { hides_older: true, marker: Some(1000), stamp: 1000 };
                let text = format!("the text of row {}", i % 7);
                let cell = CellChange { column: "c", op: CellOp::Put(1000, ValueRef::String(&text)) };
                builder.push(&i.to_be_bytes(), 500 + i, 1000, |base, names, out| {
                    fragment::encode(head, [cell], base, names, out);
                });
            }
            let record = builder.finish(PLACE, form).0;
            let key = 77u64.to_be_bytes();
            let (block, is_whole) = Block::open(PLACE, &record, Some(&[&key])).expect("opens");
            assert_eq!((block.len(), is_whole), (1, false));
            assert_eq!(block.entry(0).map(|entry| (entry.key, entry.seqno)), Some((&key[..], 577)));
            for at in 0..record.len() {
                for mask in [1, 0x80, 0xff] {
                    let mut damaged = record.to_vec();
                    damaged[at] ^= mask;
                    assert!(Block::open(PLACE, &damaged, Some(&[&key])).is_err(), "byte {at}");
                }
            }
        }
    }

    /// The bytes of a stored block match FORMAT.md, in this and every later version.
    #[test]
    fn golden_block() {
        let mut builder = BlockBuilder::default();
        let head = FragmentHead { hides_older: true, marker: Some(1000), stamp: 1000 };
        let cell = CellChange { column: "c", op: CellOp::Put(1000, ValueRef::String("v")) };
        builder.push(b"k", 5, 1000, |base, names, out| fragment::encode(head, [cell], base, names, out));
        let record = builder.finish(PLACE, Form::Fast).0;
        let payload = record::open(PLACE, &record).expect("opens");
        assert_eq!(
            &payload[..],
            [
                0xd0, 0x0f, 5, 1, // base stamp 1000, base seqno 5, one entry
                1, 1, b'c', // one name
                1, b'k', 0, 7, // key, seqno + 0, seven bytes of fragment
                3, 0, 0, // hides older and has a marker; stamp + 0, marker + 0
                0, 6, 1, b'v', // name 0, a string at the stamp, "v"
            ]
        );
    }
}
