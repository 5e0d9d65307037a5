//! A block cut into slices, of which each can be read alone.
//!
//! A copy of a block in a file beside IndexedDB has this form (`engine/segment/file_cache.rs`): a read of one row needs a few KiB of
//! it. The table comes first, and the slices follow.
//!
//! ```text
//! sum          u64       xxh3 of the rest of the table, seeded with the block's place
//! base stamp   sv        as in the block
//! base seqno   uv
//! names        uv length · as in the block
//! slices       uv        how many; for each:
//! slice        uv entries · uv raw length · uv stored length · u64 sum · uv key length · first key
//! last key     uv length · key
//! ```
//!
//! A slice is an LZ4 block of some entries of the block, as they are there; one that LZ4 does not shrink is stored as it is. All
//! entries of a key are in one slice. The sum of a slice is seeded with the place of the block and the number of the slice.

use super::block::Block;
use super::lz4;
use super::names::Names;
use super::record::sum_with;
use super::sorted_keys::{SortedKeys, bytes_at};
use super::wire::{Decoded, Reader, put_bytes, put_sv, put_uv, uv_length};
use crate::model::BlockId;
use bytes::Bytes;
use std::cmp::Ordering;
use std::ops::Range;

/// A slice takes entries until it has so many raw bytes.
const SLICE_BYTES: usize = 4 << 10;

/// The bytes of a sum.
const SUM: usize = 8;

/// A block that was cut.
#[derive(Debug)]
pub struct SlicedBlock {
    /// The table and the slices.
    pub bytes: Vec<u8>,
    /// The length of the table.
    pub table: usize,
}

/// The table of a block that was cut.
#[derive(Debug)]
pub struct SliceTable {
    seed: u64,
    bytes: Box<[u8]>,
    base_stamp: i64,
    base_seqno: u64,
    names: (u32, u32),
    first_keys: SortedKeys,
    last_key: (u32, u32),
    slices: Vec<Slice>,
}

#[derive(Clone, Copy, Debug)]
struct Slice {
    entries: u32,
    raw: u32,
    /// Where it begins, behind the table, and its stored length.
    at: u32,
    length: u32,
    sum: u64,
}

fn seed(id: BlockId) -> u64 {
    id.segment.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(id.block)
}

/// Cuts a block.
///
/// # Errors
/// Damage in the block's own bytes, which cannot be: it was decoded.
pub fn cut(id: BlockId, block: &Block) -> Decoded<SlicedBlock> {
    let payload = block.payload();
    let mut reader = Reader::new(payload);
    let (base_stamp, base_seqno) = (reader.sv()?, reader.uv()?);
    reader.uv32()?;
    let names_at = reader.at();
    Names::decode(&mut reader)?;
    let names = payload.get(names_at..reader.at()).unwrap_or_default();
    let begin = |index: usize| match block.place(index) {
        Some((start, end)) => start as usize - uv_length(end - start),
        None => payload.len(),
    };
    let (mut list, mut slices, mut count) = (Vec::new(), Vec::new(), 0_u64);
    let mut first = 0;
    while first < block.len() {
        let (from, mut next) = (begin(first), first + 1);
        while next < block.len() && (begin(next) - from < SLICE_BYTES || block.key(next) == block.key(next - 1)) {
            next += 1;
        }
        let raw = payload.get(from..begin(next)).unwrap_or_default();
        let start = slices.len();
        lz4::compress(raw, &mut slices);
        if slices.len() - start >= raw.len() {
            slices.truncate(start);
            slices.extend_from_slice(raw);
        }
        let stored = slices.get(start..).unwrap_or_default();
        put_uv((next - first) as u64, &mut list);
        put_uv(raw.len() as u64, &mut list);
        put_uv(stored.len() as u64, &mut list);
        list.extend_from_slice(&sum_with(seed(id) ^ count.wrapping_mul(SUM_STEP), &[stored]).to_le_bytes());
        put_bytes(block.key(first).unwrap_or_default(), &mut list);
        count += 1;
        first = next;
    }
    let mut bytes = vec![0; SUM];
    bytes.reserve_exact(list.len() + names.len() + slices.len() + 64);
    put_sv(base_stamp, &mut bytes);
    put_uv(base_seqno, &mut bytes);
    put_bytes(names, &mut bytes);
    put_uv(count, &mut bytes);
    bytes.extend_from_slice(&list);
    put_bytes(block.len().checked_sub(1).and_then(|last| block.key(last)).unwrap_or_default(), &mut bytes);
    let table = bytes.len();
    if let Some((sum, rest)) = bytes.split_at_mut_checked(SUM) {
        sum.copy_from_slice(&sum_with(seed(id), &[rest]).to_le_bytes());
    }
    bytes.extend_from_slice(&slices);
    Ok(SlicedBlock { bytes, table })
}

/// Spreads the numbers of slices over the seeds.
const SUM_STEP: u64 = 0xC2B2_AE3D_27D4_EB4F;

impl SliceTable {
    /// Reads the table of the block with this id.
    ///
    /// # Errors
    /// Damage, also if it is the table of another block.
    pub fn open(id: BlockId, bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader::new(bytes);
        let (sum, seed) = (reader.u64()?, seed(id));
        if sum_with(seed, &[reader.rest()]) != sum {
            return Err(reader.damage("the sum of a slice table differs"));
        }
        let (base_stamp, base_seqno) = (reader.sv()?, reader.uv()?);
        let place = |reader: &mut Reader<'_>| -> Decoded<(u32, u32)> {
            let length = reader.bytes()?.len() as u32;
            Ok((reader.at() as u32 - length, reader.at() as u32))
        };
        let names = place(&mut reader)?;
        let count = reader.count()?;
        let (mut slices, mut keys, mut at) = (Vec::with_capacity(count), Vec::with_capacity(count), 0_u32);
        for _ in 0..count {
            let (entries, raw, length) = (reader.uv32()?, reader.uv32()?, reader.uv32()?);
            slices.push(Slice { entries, raw, at, length, sum: reader.u64()? });
            at = at.checked_add(length).ok_or_else(|| reader.damage("slices are larger than 4 GiB"))?;
            keys.push(place(&mut reader)?);
        }
        let last_key = place(&mut reader)?;
        if !reader.is_empty() {
            return Err(reader.damage("bytes behind a slice table"));
        }
        let first_keys = SortedKeys::new(bytes, keys);
        Ok(Self { seed, bytes: bytes.into(), base_stamp, base_seqno, names, first_keys, last_key, slices })
    }

    /// Its bytes in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.bytes.len() + self.first_keys.memory() + self.slices.len() * size_of::<Slice>() + size_of::<Self>()
    }

    /// The number of slices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slices.len()
    }

    /// Whether there is no slice.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// The slices that may have entries with these keys, which ascend.
    #[must_use]
    pub fn slices_with(&self, keys: &[&[u8]]) -> Vec<usize> {
        let mut found = Vec::new();
        for key in keys {
            // The first slice whose first key is greater is behind the one that may have it.
            let behind = self.first_keys.search(&self.bytes, key, Ordering::is_gt);
            let Some(index) = behind.checked_sub(1) else { continue };
            if *key <= bytes_at(&self.bytes, self.last_key) && found.last() != Some(&index) {
                found.push(index);
            }
        }
        found
    }

    /// Where the slices from one to another lie, behind the table.
    #[must_use]
    pub fn place(&self, slices: Range<usize>) -> Range<usize> {
        let begin = |index: usize| self.slices.get(index).map(|slice| slice.at as usize);
        let end = self.slices.last().map_or(0, |slice| slice.at as usize + slice.length as usize);
        begin(slices.start).unwrap_or(end)..begin(slices.end).unwrap_or(end)
    }

    /// The block with the entries of these slices; `stored` are their bytes.
    ///
    /// # Errors
    /// Damage in a slice.
    pub fn block(&self, slices: &[(usize, &[u8])]) -> Decoded<Block> {
        let known = |index: usize| self.slices.get(index).copied();
        let (mut count, mut length) = (0, 0);
        for slice in slices.iter().filter_map(|(index, _)| known(*index)) {
            count += u64::from(slice.entries);
            length += slice.raw as usize;
        }
        let mut payload = Vec::with_capacity(length + self.bytes.len().min(1 << 10));
        put_sv(self.base_stamp, &mut payload);
        put_uv(self.base_seqno, &mut payload);
        put_uv(count, &mut payload);
        payload.extend_from_slice(bytes_at(&self.bytes, self.names));
        for (index, stored) in slices {
            let reader = Reader::new(stored);
            let slice = known(*index).ok_or_else(|| reader.damage("there is no such slice"))?;
            let sum = sum_with(self.seed ^ (*index as u64).wrapping_mul(SUM_STEP), &[stored]);
            if stored.len() != slice.length as usize || sum != slice.sum {
                return Err(reader.damage("the sum of a slice differs"));
            }
            match slice.length < slice.raw {
                true => payload.extend_from_slice(&lz4::decompress(stored, slice.raw as usize, slice.raw as usize)?),
                false => payload.extend_from_slice(stored),
            }
        }
        Block::decode(Bytes::from(payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::block::BlockBuilder;
    use crate::format::columns::Form;
    use crate::format::fragment::{self, FragmentHead};
    use crate::format::record::Place;
    use crate::model::{CellChange, CellOp, SegmentId, ValueRef};

    const ID: BlockId = BlockId { segment: SegmentId(7), block: 3 };

    /// Some hundred rows, with gaps between their keys, and two entries for each tenth key.
    fn sample() -> Block {
        let mut builder = BlockBuilder::default();
        for i in 0..400_u64 {
            for seqno in (0..1 + u64::from(i % 10 == 0)).rev() {
                let head = FragmentHead { hides_older: true, marker: Some(1000), stamp: 1000 };
                let text = format!("the text of row {i}, {}", "x".repeat((i % 90) as usize));
                let cell = CellChange { column: "c", op: CellOp::Put(1000, ValueRef::String(&text)) };
                builder.push(format!("k{:04}", i * 2).as_bytes(), 500 + i * 2 + seqno, 1000, |base, names, out| {
                    fragment::encode(head, [cell], base, names, out);
                });
            }
        }
        Block::decode(builder.finish(Place::Block(ID), Form::Fast).1).expect("a block")
    }

    fn entries(block: &Block, key: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let entry = |index| block.entry(index).map(|entry| (entry.seqno, entry.fragment.to_vec()));
        block.entries_of(key).filter_map(entry).collect()
    }

    fn read(sliced: &[u8], table: usize, keys: &[&[u8]]) -> Decoded<(Block, usize)> {
        let (head, slices) = sliced.split_at(table);
        let table = SliceTable::open(ID, head)?;
        let wanted = table.slices_with(keys);
        let stored: Vec<_> = wanted.iter().map(|&index| (index, &slices[table.place(index..index + 1)])).collect();
        Ok((table.block(&stored)?, wanted.len()))
    }

    #[test]
    fn each_key_is_read_from_one_slice_and_all_slices_are_the_block() {
        let block = sample();
        let SlicedBlock { bytes, table } = cut(ID, &block).expect("cut");
        let opened = SliceTable::open(ID, &bytes[..table]).expect("a table");
        assert!(opened.len() > 5, "{}", opened.len());
        assert_eq!(opened.place(0..opened.len()), 0..bytes.len() - table);
        let all: Vec<_> =
            (0..opened.len()).map(|index| (index, &bytes[table..][opened.place(index..index + 1)])).collect();
        assert_eq!(opened.block(&all).expect("whole").payload(), block.payload());
        for i in 0..801_u64 {
            let key = format!("k{i:04}");
            let (found, slices) = read(&bytes, table, &[key.as_bytes()]).expect("read");
            assert_eq!(entries(&found, key.as_bytes()), entries(&block, key.as_bytes()), "{key}");
            assert_eq!(slices, usize::from(i < 799), "{key}");
            assert!(found.len() < 100);
        }
        assert_eq!(read(&bytes, table, &[b"a"]).expect("read").1, 0, "before the first key");
        let keys: [&[u8]; 4] = [b"a", b"k0000", b"k0002", b"k0798"];
        let (found, slices) = read(&bytes, table, &keys).expect("read");
        assert_eq!(slices, 2);
        assert!(keys.iter().all(|key| entries(&found, key) == entries(&block, key)));
    }

    /// F: no damaged byte is ever read as another row, nor is the copy of another block.
    #[test]
    fn any_damaged_byte_is_refused() {
        let SlicedBlock { bytes, table } = cut(ID, &sample()).expect("cut");
        let key: [&[u8]; 1] = [b"k0400"];
        let opened = SliceTable::open(ID, &bytes[..table]).expect("a table");
        let place = opened.place(opened.slices_with(&key)[0]..opened.slices_with(&key)[0] + 1);
        for at in (0..table).chain(table + place.start..table + place.end) {
            for mask in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= mask;
                assert!(read(&damaged, table, &key).is_err(), "byte {at}");
            }
        }
        for other in [BlockId { block: 4, ..ID }, BlockId { segment: SegmentId(8), ..ID }] {
            assert!(SliceTable::open(other, &bytes[..table]).is_err());
        }
        let swapped: Vec<_> = [(0, opened.place(1..2)), (1, opened.place(0..1))].into();
        let swapped: Vec<_> = swapped.into_iter().map(|(index, place)| (index, &bytes[table..][place])).collect();
        assert!(opened.block(&swapped).is_err(), "slices in each other's place");
    }
}
