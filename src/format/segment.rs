//! The index of a segment: the starts of its blocks, and a filter of its keys. It is the segment's last record.
//!
//! ```text
//! blocks      uv
//! per block   uv first key length · first key
//! last key    uv length · key
//! filter      uv length of descriptor · descriptor · uv length of fingerprints · fingerprints; both empty: no filter
//! continued   only in version 3: uv · each: uv block, less that of the one before ·
//!             u8 0: it begins another entry of the row, 1: str column, 2: str column · sv version · uv rank
//! samples     to the end; each: uv length of key · key · uv bytes · uv rows. None before version 2
//! ```
//!
//! A sample gives the weight of the keys after the sample before, up to its own: the bytes of keys (tree included),
//! column names and values. It ends with the last row of a partition key, or of a tree.
//!
//! A row that is too large for a block continues in the blocks behind its first one. Such a block begins with the row's
//! key, like the first one. The index lists it as continued, with the cell that it begins with. This is a column, its
//! deletion included, or a version of it with the number of the column's puts in the blocks before. Each of these blocks
//! has one entry of the row. A segment without large rows is written as version 2.
//!
//! The filter is a BinaryFuse8 over the xxh3-64 hashes of the segment's keys: 9 bits a key, under 0.4 % false positives.

use super::record::{self, Place};
use super::sorted_keys::{SortedKeys, bytes_at};
use super::wire::{Decoded, Reader, put_bytes, put_sv, put_uv};
use crate::model::CellPlace;
use bytes::Bytes;
use std::cmp::Ordering;
use std::ops::Range;
use xorf::{BinaryFuse8, BinaryFuse8Ref, DmaSerializable, Filter, FilterRef};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A decoded index of a segment.
#[derive(Debug)]
pub struct SegmentMeta {
    raw: Bytes,
    first_keys: SortedKeys,
    last_key: (u32, u32),
    filter: Option<((u32, u32), (u32, u32))>,
    /// Blocks that begin inside a row, ascending, and the place of their cell in the index.
    continued: Vec<(u32, u32)>,
    samples: usize,
}

/// The start of an entry's continuation in another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut<'a> {
    /// Its first cell.
    pub place: CellPlace<'a>,
    /// The number of puts of the cell's column before it in the entry.
    pub rank: u64,
}

impl<'a> Cut<'a> {
    /// Reads the output of [`SegmentMetaBuilder::continue_block`]; nothing if the block begins another entry.
    fn read(reader: &mut Reader<'a>) -> Decoded<Option<Self>> {
        let kind = reader.u8()?;
        if kind == ANOTHER {
            return Ok(None);
        }
        let column = reader.str()?;
        let (version, rank) = match kind {
            COLUMN => (None, 0),
            VERSION => (Some(reader.sv()?), reader.uv()?),
            _ => return Err(reader.damage("an unknown kind of continued block")),
        };
        Ok(Some(Self { place: CellPlace { column, version }, rank }))
    }
}

/// How a block continues a row: with another entry, with a column and its deletion, with a version of a column.
const ANOTHER: u8 = 0;
const COLUMN: u8 = 1;
const VERSION: u8 = 2;

/// The first version with rows in several blocks.
const WITH_LARGE_ROWS: u8 = 3;

/// The weight of a stretch of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleWeight {
    /// Bytes of keys, column names and values.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
}

impl SegmentMeta {
    /// Opens the record stored at `place`.
    pub fn open(place: Place, record: &[u8]) -> Decoded<Self> {
        Self::decode(record::open(place, record)?, record::version(record))
    }

    fn decode(raw: Bytes, version: u8) -> Decoded<Self> {
        fn span(reader: &mut Reader<'_>) -> Decoded<(u32, u32)> {
            let bytes = reader.bytes()?;
            let end = u32::try_from(reader.at()).map_err(|_| reader.damage("the index is larger than 4 GiB"))?;
            // `bytes` was taken before `end`, so both fit.
            Ok((end - bytes.len() as u32, end))
        }
        let mut reader = Reader::new(&raw);
        let count = reader.uv32()?;
        let mut first_keys = Vec::new();
        for _ in 0..count {
            first_keys.push(span(&mut reader)?);
        }
        let last_key = span(&mut reader)?;
        let descriptor = span(&mut reader)?;
        let fingerprints = span(&mut reader)?;
        let mut continued = Vec::new();
        if version >= WITH_LARGE_ROWS {
            let mut block = 0_u32;
            for _ in 0..reader.uv32()? {
                block = block.saturating_add(reader.uv32()?);
                let at = u32::try_from(reader.at()).map_err(|_| reader.damage("the index is larger than 4 GiB"))?;
                Cut::read(&mut reader)?;
                if block == 0 || block >= count || continued.last().is_some_and(|&(last, _)| last >= block) {
                    return Err(reader.damage("continued blocks do not ascend"));
                }
                continued.push((block, at));
            }
        }
        let samples = reader.at();
        let filter = if descriptor.0 == descriptor.1 {
            None
        } else {
            check_filter(bytes_at(&raw, descriptor), u64::from(fingerprints.1 - fingerprints.0))
                .ok_or_else(|| reader.damage("the filter does not fit its descriptor"))?;
            Some((descriptor, fingerprints))
        };
        let first_keys = SortedKeys::new(&raw, first_keys);
        Ok(Self { first_keys, last_key, filter, continued, samples, raw })
    }

    fn bytes(&self, place: (u32, u32)) -> &[u8] {
        bytes_at(&self.raw, place)
    }

    /// The number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.first_keys.len() as u32
    }

    /// The greatest key.
    #[must_use]
    pub fn last_key(&self) -> &[u8] {
        self.bytes(self.last_key)
    }

    /// The first key of a block.
    #[must_use]
    pub fn first_key(&self, block: u32) -> Option<&[u8]> {
        self.first_keys.get(&self.raw, block as usize)
    }

    /// The weight of the rows, ascending by key: up to each key, since the one before. Ends at the first unreadable
    /// sample; empty if the segment is older than samples.
    pub fn samples(&self) -> impl Iterator<Item = (&[u8], SampleWeight)> {
        let mut reader = Reader::new_at(&self.raw, self.samples);
        std::iter::from_fn(move || {
            if reader.is_empty() {
                return None;
            }
            Some((reader.bytes().ok()?, SampleWeight { bytes: reader.uv().ok()?, rows: reader.uv().ok()? }))
        })
    }

    /// The blocks that may hold `key`: mostly the last one whose first key is not greater. None before the first.
    #[must_use]
    pub fn blocks_of(&self, key: &[u8]) -> Range<u32> {
        let end = self.first_keys.search(&self.raw, key, Ordering::is_gt) as u32;
        let mut start = end.saturating_sub(1);
        if !self.continued.is_empty() {
            while self.is_continued(start) && self.first_key(start) == Some(key) {
                start -= 1;
            }
        }
        start..end
    }

    /// Whether a row of the segment lies in several blocks.
    #[must_use]
    pub fn has_large_rows(&self) -> bool {
        !self.continued.is_empty()
    }

    fn continued(&self, block: u32) -> Option<u32> {
        let found = self.continued.binary_search_by_key(&block, |&(block, _)| block).ok()?;
        self.continued.get(found).map(|&(_, at)| at)
    }

    /// Whether a block continues the last row of the one before.
    #[must_use]
    pub fn is_continued(&self, block: u32) -> bool {
        self.continued(block).is_some()
    }

    /// The start of a block that continues the entry before; nothing for other blocks.
    #[must_use]
    pub fn cut(&self, block: u32) -> Option<Cut<'_>> {
        let at = self.continued(block)?;
        // Opening the index has read it before.
        Cut::read(&mut Reader::new_at(&self.raw, at as usize)).ok().flatten()
    }

    /// Whether the segment may hold `key`; false is certain.
    #[must_use]
    pub fn may_contain(&self, key: &[u8]) -> bool {
        match self.filter {
            None => true,
            Some((descriptor, fingerprints)) => {
                let hash = hash(key);
                BinaryFuse8Ref::from_dma(self.bytes(descriptor), self.bytes(fingerprints)).contains(&hash)
            }
        }
    }

    /// The bytes of its filter, each of which is compared with a byte of a key's hash. `None`: it has no filter.
    #[must_use]
    pub fn filter_bytes(&self) -> Option<usize> {
        self.filter.map(|(_, fingerprints)| self.bytes(fingerprints).len())
    }

    /// Its bytes in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.raw.len() + self.first_keys.memory() + self.continued.len() * 8 + size_of::<Self>()
    }
}

/// The filter's hash of a key: xxh3-64. It is seeded, like checksums, so that one function serves both.
fn hash(key: &[u8]) -> u64 {
    xxh3_64_with_seed(key, 0)
}

/// The filter's crate indexes its fingerprints without checks, so make sure that every possible index exists. The
/// descriptor is the seed (8 bytes), the length of a segment (4), its mask (4), and the length of all but two segments
/// (4). A lookup uses three segments in a row, the first of which starts below the last of these numbers.
fn check_filter(descriptor: &[u8], fingerprints: u64) -> Option<()> {
    let mut reader = Reader::new(descriptor);
    reader.u64().ok()?;
    let length = reader.u32().ok()?;
    let mask = reader.u32().ok()?;
    let starts = reader.u32().ok()?;
    let fits = length.is_power_of_two()
        && mask == length - 1
        && starts % length == 0
        && starts > 0
        && u64::from(starts) + 2 * u64::from(length) <= fingerprints
        && fingerprints <= u64::from(u32::MAX)
        && reader.is_empty();
    fits.then_some(())
}

/// Collects the index of a segment while its blocks are written.
#[derive(Debug, Default)]
pub struct SegmentMetaBuilder {
    first_keys: Vec<u8>,
    blocks: u32,
    hashes: Vec<u64>,
    continued: Vec<u8>,
    /// The number of blocks that continue a row, and the last of them.
    large: (u64, u32),
    samples: Vec<u8>,
}

impl SegmentMetaBuilder {
    /// A block starts at `key`.
    pub fn start_block(&mut self, key: &[u8]) {
        put_bytes(key, &mut self.first_keys);
        self.blocks += 1;
    }

    /// A block starts that continues the row with this key: at this cell of the entry before, or with another entry.
    pub fn continue_block(&mut self, key: &[u8], cut: Option<Cut<'_>>) {
        let (count, last) = self.large;
        put_uv(u64::from(self.blocks - last), &mut self.continued);
        self.large = (count + 1, self.blocks);
        match cut.map(|cut| (cut.place, cut.rank)) {
            None => self.continued.push(ANOTHER),
            Some((CellPlace { column, version: None }, _)) => {
                self.continued.push(COLUMN);
                put_bytes(column.as_bytes(), &mut self.continued);
            }
            Some((CellPlace { column, version: Some(version) }, rank)) => {
                self.continued.push(VERSION);
                put_bytes(column.as_bytes(), &mut self.continued);
                put_sv(version, &mut self.continued);
                put_uv(rank, &mut self.continued);
            }
        }
        self.start_block(key);
    }

    /// The segment has `key`. Call it once for each key: the filter's construction needs distinct ones.
    pub fn add_key(&mut self, key: &[u8]) {
        self.hashes.push(hash(key));
    }

    /// Adds the weight of the rows since the last sample, up to `key`.
    pub fn add_sample(&mut self, key: &[u8], weight: SampleWeight) {
        put_bytes(key, &mut self.samples);
        put_uv(weight.bytes, &mut self.samples);
        put_uv(weight.rows, &mut self.samples);
    }

    /// The record for `place`, behind the blocks.
    pub fn finish(self, place: Place, last_key: &[u8]) -> Decoded<(Bytes, SegmentMeta)> {
        let mut payload = Vec::with_capacity(self.first_keys.len() + self.hashes.len() * 9 / 8 + 128);
        put_uv(u64::from(self.blocks), &mut payload);
        payload.extend_from_slice(&self.first_keys);
        put_bytes(last_key, &mut payload);
        match BinaryFuse8::try_from(&self.hashes) {
            Ok(filter) if !self.hashes.is_empty() => {
                let mut descriptor = [0; BinaryFuse8::DESCRIPTOR_LEN];
                filter.dma_copy_descriptor_to(&mut descriptor);
                put_bytes(&descriptor, &mut payload);
                put_bytes(filter.dma_fingerprints(), &mut payload);
            }
            // It fails if two keys share one of 2^64 hashes. Without a filter every read looks into the block: slower,
            // never wrong.
            _ => payload.extend_from_slice(&[0, 0]),
        }
        let (large, _) = self.large;
        // Older builds must be able to read everything that has no large row.
        let version = if large == 0 { WITH_LARGE_ROWS - 1 } else { WITH_LARGE_ROWS };
        if large > 0 {
            put_uv(large, &mut payload);
            payload.extend_from_slice(&self.continued);
        }
        payload.extend_from_slice(&self.samples);
        let record = record::seal_as(place, version, &payload);
        Ok((record, SegmentMeta::decode(Bytes::from(payload), version)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BlockId, SegmentId};

    const PLACE: Place = Place::SegmentMeta(BlockId { segment: SegmentId(9), block: 2 });

    #[test]
    fn finds_blocks_and_rules_out_keys() {
        let mut builder = SegmentMetaBuilder::default();
        for i in 0..1000 {
            let key = format!("k{i:04}");
            if i % 500 == 0 {
                builder.start_block(key.as_bytes());
            }
            builder.add_key(key.as_bytes());
        }
        let (record, _) = builder.finish(PLACE, b"k0999").expect("built");
        let meta = SegmentMeta::open(PLACE, &record).expect("opens");
        assert_eq!(meta.blocks(), 2);
        assert_eq!(meta.last_key(), b"k0999");
        assert!(meta.blocks_of(b"a").is_empty());
        assert_eq!(meta.blocks_of(b"k0000"), 0..1);
        assert_eq!(meta.blocks_of(b"k0499x"), 0..1);
        assert_eq!(meta.blocks_of(b"k0500"), 1..2);
        assert_eq!(record[4], 2, "older builds can read it");
        assert!((0..1000).all(|i| meta.may_contain(format!("k{i:04}").as_bytes())));
        let false_positives = (0..10_000).filter(|i| meta.may_contain(format!("x{i}").as_bytes())).count();
        assert!(false_positives < 100, "{false_positives} of 10000");
    }

    /// The filter's bytes are stored, so a change in its crate must not go unnoticed.
    #[test]
    fn golden_filter() {
        let mut builder = SegmentMetaBuilder::default();
        builder.start_block(b"a");
        for key in [b"a", b"b", b"c"] {
            builder.add_key(key);
        }
        let (record, _) = builder.finish(PLACE, b"c").expect("built");
        let payload = record::open(PLACE, &record).expect("opens");
        assert_eq!(format!("{:016x}", hash(&payload)), "ee492e6bb71475ec");
    }

    /// The bytes of version 1, which had no samples.
    #[test]
    fn golden_index_of_version_1() {
        let payload = [1, 1, b'a', 1, b'c', 0, 0];
        let meta = SegmentMeta::decode(Bytes::copy_from_slice(&payload), 1).expect("decodes");
        assert_eq!((meta.blocks(), meta.first_key(0), meta.last_key()), (1, Some(&b"a"[..]), &b"c"[..]));
        assert_eq!(meta.samples().count(), 0);
    }

    /// The bytes of version 3 for a segment with large rows.
    #[test]
    fn golden_index_of_version_3() {
        let mut builder = SegmentMetaBuilder::default();
        builder.start_block(b"a");
        let version = |version, rank| Some(Cut { place: CellPlace { column: "c", version }, rank });
        builder.continue_block(b"b", version(None, 0));
        builder.continue_block(b"b", version(Some(-2), 300));
        builder.continue_block(b"b", None);
        builder.start_block(b"d");
        let (record, _) = builder.finish(PLACE, b"d").expect("built");
        assert_eq!(record[4], 3);
        let payload = record::open(PLACE, &record).expect("opens");
        let blocks = [5, 1, b'a', 1, b'b', 1, b'b', 1, b'b', 1, b'd', 1, b'd', 0, 0];
        let continued = [3, 1, 1, 1, b'c', 1, 2, 1, b'c', 3, 0xac, 2, 1, 0];
        assert_eq!(payload, [&blocks[..], &continued].concat());
        let meta = SegmentMeta::open(PLACE, &record).expect("opens");
        assert!(meta.has_large_rows());
        assert_eq!(
            (0..5).map(|block| meta.cut(block)).collect::<Vec<_>>(),
            [None, version(None, 0), version(Some(-2), 300), None, None]
        );
        assert_eq!((meta.is_continued(0), meta.is_continued(3), meta.is_continued(4)), (false, true, false));
        for (key, blocks) in [(&b"a"[..], 0..1), (b"a0", 0..1), (b"b", 0..4), (b"b0", 3..4), (b"d", 4..5), (b"A", 0..0)]
        {
            assert_eq!(meta.blocks_of(key), blocks, "{key:?}");
        }
    }

    #[test]
    fn p4_samples_say_what_rows_weigh() {
        let mut builder = SegmentMetaBuilder::default();
        builder.start_block(b"a");
        builder.add_key(b"a");
        let (first, second) = (SampleWeight { bytes: 300, rows: 2 }, SampleWeight { bytes: u64::MAX, rows: 0 });
        builder.add_sample(b"b", first);
        builder.add_sample(b"c", second);
        let (record, meta) = builder.finish(PLACE, b"c").expect("built");
        let expected = [(&b"b"[..], first), (&b"c"[..], second)];
        assert_eq!(meta.samples().collect::<Vec<_>>(), expected);
        let meta = SegmentMeta::open(PLACE, &record).expect("opens");
        assert_eq!(meta.samples().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn an_empty_segment_or_garbage_does_not_panic() {
        let (record, meta) = SegmentMetaBuilder::default().finish(PLACE, b"").expect("built");
        assert!(SegmentMeta::open(PLACE, &record).is_ok());
        assert!(meta.blocks_of(b"k").is_empty());
        assert!(SegmentMeta::decode(Bytes::from_static(&[200]), 2).is_err());
        assert!(SegmentMeta::decode(Bytes::from_static(&[0, 0, 1, 9, 0]), 2).is_err());
        for continued in [&[1, 0, 0][..], &[1, 2, 0], &[2, 1, 0, 0, 0], &[1, 1, 3], &[1, 1, 2, 1, b'c']] {
            let payload = [&[2, 1, b'k', 1, b'k', 1, b'k', 0, 0], continued].concat();
            assert!(SegmentMeta::decode(Bytes::from(payload), 3).is_err(), "{continued:?}");
        }
    }
}
