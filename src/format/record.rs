//! The frame of every stored record: its kind, its place, and a checksum.
//!
//! ```text
//! 0       4     5      6       7     8          12                 20
//! +-------+-----+------+-------+-----+----------+------------------+---------
//! | "TabS"| ver | kind | codec |  0  | raw u32  | checksum u64     | payload
//! +-------+-----+------+-------+-----+----------+------------------+---------
//! ```
//!
//! The checksum is the xxh3-64 of the stored payload, seeded with that of the first twelve bytes, which is seeded with
//! the record's place. So it finds damaged records, and records in another's place. Codec 0 keeps the payload raw, 1 is
//! an LZ4 block, 2 is a block split into columns (`columns`). A payload that compression does not shrink is kept raw.

use super::columns::{self, Form, SimpleRows};
use super::lz4;
use super::wire::{Damage, Decoded, Reader};
use crate::model::{BlockId, LogNumber, ManifestId};
use crate::modules::{self, Module};
use bytes::Bytes;
use std::fmt;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const MAGIC: &[u8; 4] = b"TabS";
const HEADER: usize = 20;
const RAW: u8 = 0;
const LZ4: u8 = 1;
const COLUMNS: u8 = 2;

/// A larger payload is kept raw, because a length in a header must not decide alone how much memory is allocated.
const MAX_COMPRESSED_RAW: usize = 256 << 20;

/// The place of a record, which determines its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A log record.
    Log(LogNumber),
    /// A block of a segment.
    Block(BlockId),
    /// The index of a segment: its last record.
    SegmentMeta(BlockId),
    /// A manifest.
    Manifest(ManifestId),
}

/// A larger block is not split into columns: it is mostly one large value, which would be in memory many times.
pub(crate) const MAX_COLUMNS_RAW: usize = 640 << 10;

impl Place {
    fn kind(self) -> u8 {
        match self {
            Self::Log(_) => 1,
            Self::Block(_) => 2,
            Self::SegmentMeta(_) => 3,
            Self::Manifest(_) => 4,
        }
    }

    /// The newest version of the record's format. Readers accept it and all earlier ones.
    fn version(self) -> u8 {
        match self {
            // Since 3: manifests with changes only; since 4: changes of several partitions at once.
            Self::Manifest(_) => 4,
            // Since 3: the index of a segment with large rows.
            Self::SegmentMeta(_) => 3,
            // Since 3: writes with records in streams. Only log records with such writes have it.
            Self::Log(_) => 3,
            // Since 2: the index with samples, the manifest with partitions and loaded segments, blocks split into
            // columns. The nonce of leadership records.
            Self::Block(_) => 2,
        }
    }

    fn seed(self) -> u64 {
        match self {
            Self::Log(LogNumber(number)) => number,
            Self::Block(id) | Self::SegmentMeta(id) => {
                id.segment.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(id.block)
            }
            Self::Manifest(ManifestId(id)) => id,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(number) => write!(f, "log record {}", number.0),
            Self::Block(id) => write!(f, "block {} of segment {}", id.block, id.segment.0),
            Self::SegmentMeta(id) => write!(f, "the index of segment {}", id.segment.0),
            Self::Manifest(id) => write!(f, "manifest {}", id.0),
        }
    }
}

fn checksum(place: Place, header: &[u8], payload: &[u8]) -> u64 {
    // The header's checksum seeds the payload's: one pass over each, and no streaming state.
    sum_with(place.seed(), &[header, payload])
}

/// The xxh3-64 of the last part, seeded with that of the one before, and so on. In one place, because it is much code.
#[inline(never)]
#[must_use]
pub(crate) fn sum_with(seed: u64, parts: &[&[u8]]) -> u64 {
    parts.iter().fold(seed, |seed, part| xxh3_64_with_seed(part, seed))
}

/// Puts `payload` into its frame, compressed if that helps.
#[must_use]
pub fn seal(place: Place, payload: &[u8]) -> Bytes {
    seal_as(place, place.version(), payload)
}

/// Puts the payload of a block into its frame, in this form. Also returns what it finds out of the block's rows.
#[must_use]
pub fn seal_in(place: Place, payload: &[u8], form: Form) -> (Bytes, Option<SimpleRows>) {
    frame(place, place.version(), payload, form)
}

/// Frames a payload with an older format version. Data that needs no newer one stays readable for builds that do not know
/// it.
#[must_use]
pub fn seal_as(place: Place, version: u8, payload: &[u8]) -> Bytes {
    frame(place, version, payload, Form::Fast).0
}

fn frame(place: Place, version: u8, payload: &[u8], form: Form) -> (Bytes, Option<SimpleRows>) {
    let mut out = Vec::with_capacity(HEADER + payload.len() / 2);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[version, place.kind(), RAW, 0]);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    let (codec, rows) = put_compressed(place, payload, form, &mut out);
    if let Some(field) = out.get_mut(6) {
        *field = codec;
    }
    if let Some((header, body)) = out.split_at_mut_checked(HEADER) {
        let (described, sum) = header.split_at_mut(12);
        sum.copy_from_slice(&checksum(place, described, body).to_le_bytes());
    }
    // Memory storage keeps records as they are.
    out.shrink_to_fit();
    (Bytes::from(out), rows)
}

/// Appends the payload in its shortest form. Returns the codec, and the rows of a block if all are simple.
fn put_compressed(place: Place, payload: &[u8], form: Form, out: &mut Vec<u8>) -> (u8, Option<SimpleRows>) {
    let (start, mut rows) = (out.len(), None);
    // The fast form is always legal.
    let form = if modules::is_loaded(Module::Dense) { form } else { Form::Fast };
    if payload.len() <= MAX_COMPRESSED_RAW {
        if let Place::Block(_) = place
            && payload.len() <= MAX_COLUMNS_RAW
            && let Some((split, found)) = columns::split(payload, form)
        {
            if split.len() < payload.len() {
                out.extend_from_slice(&split);
                return (COLUMNS, found);
            }
            rows = found;
        }
        lz4::compress(payload, out);
        if out.len() - start < payload.len() {
            return (LZ4, rows);
        }
        out.truncate(start);
    }
    out.extend_from_slice(payload);
    (RAW, rows)
}

/// The checksum of a sealed record.
#[must_use]
pub fn sum(record: &[u8]) -> u64 {
    record.get(12..HEADER).and_then(<[u8]>::first_chunk).map_or(0, |sum| u64::from_le_bytes(*sum))
}

/// The version of a record's format.
#[must_use]
pub fn version(record: &[u8]) -> u8 {
    record.get(4).copied().unwrap_or_default()
}

/// Whether an intact record is of a later version than this build knows. No rebuilt record may then replace it.
#[must_use]
pub fn is_later(place: Place, record: &[u8]) -> bool {
    let (header, payload) = (record.get(..12).unwrap_or_default(), record.get(HEADER..).unwrap_or_default());
    let sum = checksum(place, header, payload).to_le_bytes();
    version(record) > place.version() && record.get(12..HEADER) == Some(&sum[..])
}

/// Takes the payload out of the frame that must lie at `place`.
pub fn open(place: Place, record: &[u8]) -> Decoded<Bytes> {
    open_rows(place, record, None).map(|opened| opened.payload)
}

/// A payload that was taken out of its frame.
#[derive(Debug)]
pub struct Opened {
    /// The payload.
    pub payload: Bytes,
    /// Whether it is whole.
    pub is_whole: bool,
    /// The rows of a block in columns, if all are simple.
    pub rows: Option<SimpleRows>,
}

/// Takes the payload out as [`open`] does. If some `keys` are given, which ascend, a block in columns is read for their entries only, and others are left out.
pub fn open_rows(place: Place, record: &[u8], keys: Option<&[&[u8]]>) -> Decoded<Opened> {
    let mut reader = Reader::new(record);
    if reader.take(4)? != MAGIC {
        return Err(Damage { what: "this is no record", at: 0 });
    }
    let version = reader.u8()?;
    if version == 0 || version > place.version() {
        return Err(Damage { what: "a format version that this build does not know", at: 4 });
    }
    if reader.u8()? != place.kind() {
        return Err(Damage { what: "another kind of record", at: 5 });
    }
    let codec = reader.u8()?;
    reader.u8()?;
    let raw = reader.u32()? as usize;
    let sum = reader.u64()?;
    let (header, payload) = (record.get(..12).unwrap_or_default(), record.get(HEADER..).unwrap_or_default());
    if checksum(place, header, payload) != sum {
        return Err(Damage { what: "the checksum does not match", at: 12 });
    }
    let (payload, rows) = match codec {
        RAW if raw == payload.len() => (payload.to_vec(), None),
        LZ4 if raw <= MAX_COMPRESSED_RAW => (lz4::decompress(payload, raw, raw)?, None),
        COLUMNS if raw <= MAX_COMPRESSED_RAW => columns::join(payload, raw, keys)?,
        _ => return Err(Damage { what: "an unknown codec", at: 6 }),
    };
    Ok(Opened { is_whole: payload.len() == raw, payload: payload.into(), rows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SegmentId;
    use proptest::prelude::*;

    const PLACE: Place = Place::Block(BlockId { segment: SegmentId(7), block: 3 });

    #[test]
    fn a_record_in_anothers_place_is_damage() {
        let record = seal(PLACE, b"payload");
        let opened = open(PLACE, &record);
        assert_eq!(opened.as_deref(), Ok(&b"payload"[..]));
        let neighbour = Place::Block(BlockId { segment: SegmentId(7), block: 4 });
        assert!(open(neighbour, &record).is_err());
        assert!(open(Place::Log(LogNumber(1)), &record).is_err());
    }

    /// Q: an upgrade reads older data; a downgrade names the records that it cannot read.
    #[test]
    fn older_versions_are_read_and_later_ones_refused_by_name() {
        let place = Place::SegmentMeta(BlockId { segment: SegmentId(7), block: 3 });
        let of_version = |version: u8| {
            let mut record = seal(place, b"payload").to_vec();
            assert_eq!(record[4], 3, "the newest");
            record[4] = version;
            let sum = checksum(place, &record[..12], &record[HEADER..]);
            record[12..HEADER].copy_from_slice(&sum.to_le_bytes());
            assert_eq!(is_later(place, &record), version > 3);
            let mut damaged = record.clone();
            damaged[HEADER] ^= 1;
            assert!(!is_later(place, &damaged));
            open(place, &record)
        };
        assert_eq!(of_version(1).as_deref(), Ok(&b"payload"[..]));
        assert_eq!(of_version(2).as_deref(), Ok(&b"payload"[..]));
        assert_eq!(of_version(3).as_deref(), Ok(&b"payload"[..]));
        assert_eq!(of_version(4).expect_err("later").what, "a format version that this build does not know");
        assert!(of_version(0).is_err());
    }

    /// Q: a block from before blocks were split into columns, in the bytes of that version.
    #[test]
    fn golden_block_of_version_1() {
        let payload =
            b"\x02\x05\x01\x01\x01c\x01k\x00\x2e\x03\x00\x00\x00\x06\x28vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv";
        let record = [
            &b"TabS\x01\x02\x01\x00\x38\x00\x00\x00"[..], // version 1, a block, LZ4, 56 bytes
            &0x8139_4a29_558e_f695_u64.to_le_bytes(),
            &[255, 2, 2, 5, 1, 1, 1, 99, 1, 107, 0, 46, 3, 0, 0, 0, 6, 40, 118, 1, 0, 14, 96],
            &[118; 6],
        ]
        .concat();
        assert_eq!(open(PLACE, &record).as_deref(), Ok(&payload[..]));
        let rows = open_rows(PLACE, &record, Some(&[b"other"]));
        let rows = rows.expect("opens");
        let opened = (&rows.payload[..], rows.is_whole, rows.rows);
        assert_eq!(opened, (&payload[..], true, None), "it has no columns, so it is read as a whole");
    }

    proptest! {
        #[test]
        fn any_flipped_bit_is_found(payload in proptest::collection::vec(0u8..4, 0..200), at in any::<usize>(), bit in 0u8..8) {
            let mut record = seal(PLACE, &payload).to_vec();
            let opened = open(PLACE, &record);
            prop_assert_eq!(opened.as_deref(), Ok(&payload[..]));
            let at = at % record.len();
            record[at] ^= 1 << bit;
            prop_assert!(open(PLACE, &record).is_err());
        }

        #[test]
        fn garbage_is_damage(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            prop_assert!(open(PLACE, &bytes).is_err());
        }
    }
}
