//! What describes a segment: where its blocks start, and which keys it cannot have. Its last record.
//!
//! ```text
//! blocks      uv
//! per block   uv first key length · first key
//! last key    uv length · key
//! filter      uv length of descriptor · descriptor · uv length of fingerprints · fingerprints; both empty: no filter
//! samples     to the end; each: uv length of key · key · uv bytes · uv rows. None before version 2
//! ```
//!
//! A sample says what the keys after the one of the sample before weigh, up to its own: the bytes of keys (tree
//! included), column names and values. It ends with the last row of a partition key, or of a tree.
//!
//! The filter is a BinaryFuse8 over the xxh3-64 hashes of the segment's keys: 9 bits a key, under 0.4 % false positives.

use super::record::{self, Place};
use super::wire::{Decoded, Reader, put_bytes, put_uv};
use crate::model::order::compare;
use bytes::Bytes;
use xorf::{BinaryFuse8, BinaryFuse8Ref, DmaSerializable, Filter, FilterRef};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The description of a segment, decoded.
#[derive(Debug)]
pub struct SegmentMeta {
    raw: Bytes,
    first_keys: Vec<(u32, u32)>,
    last_key: (u32, u32),
    filter: Option<((u32, u32), (u32, u32))>,
    samples: usize,
}

/// What a stretch of rows weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of keys, column names and values.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
}

impl SegmentMeta {
    /// Opens the record stored at `place`.
    pub fn open(place: Place, record: &[u8]) -> Decoded<Self> {
        Self::decode(record::open(place, record)?)
    }

    fn decode(raw: Bytes) -> Decoded<Self> {
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
        let samples = reader.at();
        let filter = if descriptor.0 == descriptor.1 {
            None
        } else {
            let described = raw.get(descriptor.0 as usize..descriptor.1 as usize).unwrap_or_default();
            check_filter(described, u64::from(fingerprints.1 - fingerprints.0))
                .ok_or_else(|| reader.damage("the filter does not fit its descriptor"))?;
            Some((descriptor, fingerprints))
        };
        Ok(Self { first_keys, last_key, filter, samples, raw })
    }

    fn bytes(&self, (start, end): (u32, u32)) -> &[u8] {
        self.raw.get(start as usize..end as usize).unwrap_or_default()
    }

    /// How many blocks there are.
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
        self.first_keys.get(block as usize).map(|&span| self.bytes(span))
    }

    /// What the rows weigh, ascending by key: up to each key, since the one before. Ends at what cannot be read; without
    /// any where the segment is older than samples.
    pub fn samples(&self) -> impl Iterator<Item = (&[u8], Weight)> {
        let mut reader = Reader::new_at(&self.raw, self.samples);
        std::iter::from_fn(move || {
            if reader.is_empty() {
                return None;
            }
            Some((reader.bytes().ok()?, Weight { bytes: reader.uv().ok()?, rows: reader.uv().ok()? }))
        })
    }

    /// The block that holds `key` if any does: the last one whose first key is not greater. `None` before the first.
    #[must_use]
    pub fn block_of(&self, key: &[u8]) -> Option<u32> {
        (self.first_keys.partition_point(|&span| compare(self.bytes(span), key).is_le()) as u32).checked_sub(1)
    }

    /// Whether the segment may hold `key`; no is certain.
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

    /// The bytes it takes in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.raw.len() + self.first_keys.len() * 8 + size_of::<Self>()
    }
}

/// What the filter knows of a key: its xxh3-64. With a seed, as checksums are, so that one function serves both.
fn hash(key: &[u8]) -> u64 {
    xxh3_64_with_seed(key, 0)
}

/// The filter's crate indexes its fingerprints without asking: make sure that every index it can come to exists. The
/// descriptor is the seed (8 bytes), the length of a segment (4), its mask (4), and the length of all but two segments
/// (4); a lookup goes to three segments in a row, the first of which starts below the last of these numbers.
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

/// Collects the description of a segment while its blocks are written.
#[derive(Debug, Default)]
pub struct SegmentMetaBuilder {
    first_keys: Vec<u8>,
    blocks: u32,
    hashes: Vec<u64>,
    samples: Vec<u8>,
}

impl SegmentMetaBuilder {
    /// A block starts at `key`.
    pub fn start_block(&mut self, key: &[u8]) {
        put_bytes(key, &mut self.first_keys);
        self.blocks += 1;
    }

    /// The segment has `key`. Call it once a key: the filter's construction wants distinct ones.
    pub fn add_key(&mut self, key: &[u8]) {
        self.hashes.push(hash(key));
    }

    /// The rows since the last sample, up to `key`, weigh this.
    pub fn add_sample(&mut self, key: &[u8], weight: Weight) {
        put_bytes(key, &mut self.samples);
        put_uv(weight.bytes, &mut self.samples);
        put_uv(weight.rows, &mut self.samples);
    }

    /// The record that goes to `place` behind the blocks.
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
            // Two keys with one hash, out of 2^64, make it fail. Without a filter every read looks into the block:
            // slower, never wrong.
            _ => payload.extend_from_slice(&[0, 0]),
        }
        payload.extend_from_slice(&self.samples);
        let record = record::seal(place, &payload);
        Ok((record, SegmentMeta::decode(Bytes::from(payload))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{BlockId, SegmentId};

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
        assert_eq!(meta.block_of(b"a"), None);
        assert_eq!(meta.block_of(b"k0000"), Some(0));
        assert_eq!(meta.block_of(b"k0499x"), Some(0));
        assert_eq!(meta.block_of(b"k0500"), Some(1));
        assert!((0..1000).all(|i| meta.may_contain(format!("k{i:04}").as_bytes())));
        let false_positives = (0..10_000).filter(|i| meta.may_contain(format!("x{i}").as_bytes())).count();
        assert!(false_positives < 100, "{false_positives} of 10000");
    }

    /// The filter's bytes are stored, so the crate that makes them must not change them unseen.
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

    /// What version 1 stored, which knew no samples.
    #[test]
    fn golden_index_of_version_1() {
        let payload = [1, 1, b'a', 1, b'c', 0, 0];
        let meta = SegmentMeta::decode(Bytes::copy_from_slice(&payload)).expect("decodes");
        assert_eq!((meta.blocks(), meta.first_key(0), meta.last_key()), (1, Some(&b"a"[..]), &b"c"[..]));
        assert_eq!(meta.samples().count(), 0);
    }

    #[test]
    fn p4_samples_say_what_rows_weigh() {
        let mut builder = SegmentMetaBuilder::default();
        builder.start_block(b"a");
        builder.add_key(b"a");
        let (first, second) = (Weight { bytes: 300, rows: 2 }, Weight { bytes: u64::MAX, rows: 0 });
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
        assert_eq!(meta.block_of(b"k"), None);
        assert!(SegmentMeta::decode(Bytes::from_static(&[200])).is_err());
        assert!(SegmentMeta::decode(Bytes::from_static(&[0, 0, 1, 9, 0])).is_err());
    }
}
