//! The file of a segment: its blocks, in the order in which they were stored.
//!
//! ```text
//! group   checksum u64 · count u32 · count × (block u32, length u32) · the blocks
//! ```
//!
//! The checksum is the xxh3-64 of the count and the lists, seeded with the segment and the group's place. Each group is what
//! one call stored. A group that is not whole ends the file. A later block replaces an earlier one of its number. The blocks
//! have checksums of their own.

use super::folder::{File, read_exactly, write_all};
use crate::error::{Error, Result};
use crate::format::record::sum_with;
use crate::format::wire::Reader;
use crate::storage::SegmentId;
use bytes::Bytes;

/// The checksum and the count of a group, and each entry of its list.
const SUM: usize = 8;
const HEAD: usize = 12;
const ENTRY: usize = 8;

/// The place of a block.
#[derive(Clone, Copy)]
struct Place {
    block: u32,
    length: u32,
    at: u64,
}

/// The open file of a segment.
pub(super) struct SegmentFile<F> {
    file: F,
    id: SegmentId,
    /// Ascending by block.
    places: Vec<Place>,
    end: u64,
    /// Whether there are bytes behind the end.
    has_rest: bool,
    /// Whether a group was written since the last flush.
    pub(super) dirty: bool,
    /// Whether a group was written since it was opened.
    pub(super) is_written: bool,
}

fn seed(id: SegmentId, at: u64) -> u64 {
    id.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ at
}

impl<F: File> SegmentFile<F> {
    /// Reads which blocks a file has.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn open(file: F, id: SegmentId) -> Result<Self> {
        let mut segment =
            Self { file, id, places: Vec::new(), end: 0, has_rest: false, dirty: false, is_written: false };
        let length = segment.file.length()?;
        while let Some(end) = segment.read_group(length)? {
            segment.end = end;
        }
        segment.has_rest = segment.end < length;
        Ok(segment)
    }

    /// Whether it has no block.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds the places of the group at the end. Returns where it ends, if it is whole.
    fn read_group(&mut self, length: u64) -> Result<Option<u64>> {
        let left = length.saturating_sub(self.end);
        let mut head = [0; HEAD];
        if left < HEAD as u64 {
            return Ok(None);
        }
        read_exactly(&self.file, self.end, &mut head)?;
        let broken = |damage| Error::corrupt("the file of a segment", damage);
        let mut reader = Reader::new(&head);
        let sum = reader.u64().map_err(broken)?;
        let count = u64::from(reader.u32().map_err(broken)?);
        if count * ENTRY as u64 > left - HEAD as u64 {
            return Ok(None);
        }
        let mut described = head[SUM..].to_vec();
        described.resize(HEAD - SUM + count as usize * ENTRY, 0);
        read_exactly(&self.file, self.end + HEAD as u64, &mut described[HEAD - SUM..])?;
        if count == 0 || sum_with(seed(self.id, self.end), &[&described]) != sum {
            return Ok(None);
        }
        let mut reader = Reader::new_at(&described, HEAD - SUM);
        let mut at = self.end + (SUM + described.len()) as u64;
        let mut places = Vec::with_capacity(count as usize);
        while !reader.is_empty() {
            let (block, length) = (reader.u32().map_err(broken)?, reader.u32().map_err(broken)?);
            places.push(Place { block, length, at });
            at += u64::from(length);
        }
        if at > length {
            return Ok(None);
        }
        places.into_iter().for_each(|place| self.put(place));
        Ok(Some(at))
    }

    fn put(&mut self, place: Place) {
        match self.places.binary_search_by_key(&place.block, |other| other.block) {
            Ok(found) => self.places[found] = place,
            Err(behind) => self.places.insert(behind, place),
        }
    }

    /// Stores blocks as one group.
    ///
    /// # Errors
    /// Errors of the file. Nothing is stored then.
    pub(super) fn store(&mut self, blocks: &[(u32, Bytes)]) -> Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        if self.has_rest {
            // Whole groups may lie there, which a new one must not lead to.
            self.file.set_length(self.end)?;
            self.has_rest = false;
        }
        let mut group = vec![0; SUM];
        group.extend_from_slice(&(blocks.len() as u32).to_le_bytes());
        for (block, bytes) in blocks {
            group.extend_from_slice(&block.to_le_bytes());
            group.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
        let sum = sum_with(seed(self.id, self.end), &[&group[SUM..]]);
        group[..SUM].copy_from_slice(&sum.to_le_bytes());
        let mut at = self.end + group.len() as u64;
        let mut places = Vec::with_capacity(blocks.len());
        for (block, bytes) in blocks {
            places.push(Place { block: *block, length: bytes.len() as u32, at });
            at += bytes.len() as u64;
            group.extend_from_slice(bytes);
        }
        if let Err(error) = write_all(&self.file, self.end, &group) {
            self.has_rest = self.file.set_length(self.end).is_err();
            return Err(error);
        }
        self.dirty = true;
        self.is_written = true;
        self.end = at;
        places.into_iter().for_each(|place| self.put(place));
        Ok(())
    }

    /// A block, if it is there.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn read(&self, block: u32) -> Result<Option<Bytes>> {
        let Ok(place) = self.places.binary_search_by_key(&block, |place| place.block) else { return Ok(None) };
        let Place { length, at, .. } = self.places[place];
        let mut bytes = vec![0; length as usize];
        read_exactly(&self.file, at, &mut bytes)?;
        Ok(Some(bytes.into()))
    }

    /// Waits until the device has all blocks.
    ///
    /// # Errors
    /// Errors of the file: nobody knows what the device has then.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.dirty {
            self.file.flush()?;
            self.dirty = false;
        }
        Ok(())
    }
}
