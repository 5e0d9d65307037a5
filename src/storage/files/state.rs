//! What the journal says: the state of the log and the manifests, and its changes.
//!
//! ```text
//! state   count · manifests: id, bytes · count · log records: number, bytes
//! commit  count · log records: number, bytes · 0 or 1 · manifest: id, bytes · first manifest
//!         · count · numbers of trimmed log records · count · dropped segments
//! ```
//!
//! Counts, ids and numbers are varints, and bytes come behind their length as a varint.

use crate::collections::sort::sort_by;
use crate::error::{Error, Result};
use crate::format::wire::{Decoded, Reader, put_bytes, put_uv};
use crate::storage::{Commit, LogNumber, ManifestId, SegmentId, fenced};
use bytes::Bytes;

/// A log record in the journal.
#[derive(Clone, Copy)]
pub(super) struct LogPlace {
    /// Its number.
    pub(super) number: LogNumber,
    /// Where its bytes lie in the current file.
    pub(super) at: u64,
    /// Their number.
    pub(super) length: u32,
}

/// The log and the manifests.
#[derive(Default)]
pub(super) struct State {
    /// Ascending.
    pub(super) log: Vec<LogPlace>,
    /// Ascending.
    pub(super) manifests: Vec<(ManifestId, Bytes)>,
}

/// What a frame of a commit does.
#[derive(Default)]
pub(super) struct Change {
    log: Vec<LogPlace>,
    manifest: Option<(ManifestId, Bytes)>,
    first_manifest: ManifestId,
    trim_log: Vec<LogNumber>,
    /// Segments to delete.
    pub(super) drop_segments: Vec<SegmentId>,
}

fn broken(damage: crate::format::wire::Damage) -> Error {
    Error::corrupt("the journal", damage)
}

/// Log records, with their places if the body lies at `start`.
fn read_log(reader: &mut Reader<'_>, start: u64) -> Decoded<Vec<LogPlace>> {
    (0..reader.count()?)
        .map(|_| {
            let number = LogNumber(reader.uv()?);
            let bytes = reader.bytes()?;
            Ok(LogPlace { number, at: start + (reader.at() - bytes.len()) as u64, length: bytes.len() as u32 })
        })
        .collect()
}

fn read_manifest(reader: &mut Reader<'_>) -> Decoded<(ManifestId, Bytes)> {
    Ok((ManifestId(reader.uv()?), Bytes::copy_from_slice(reader.bytes()?)))
}

impl State {
    /// Reads the body of a state that lies at `start`.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn decode(body: &[u8], start: u64) -> Result<Self> {
        let read = |reader: &mut Reader<'_>| {
            let manifests = (0..reader.count()?).map(|_| read_manifest(reader)).collect::<Decoded<_>>()?;
            Ok(Self { manifests, log: read_log(reader, start)? })
        };
        read(&mut Reader::new(body)).map_err(broken)
    }

    /// Appends the body of this state to a frame, which lies at the start of a file. `read` gives the bytes of a log record.
    /// Returns the new places.
    ///
    /// # Errors
    /// Errors of `read`.
    pub(super) fn encode(
        &self,
        out: &mut Vec<u8>,
        read: impl Fn(&LogPlace) -> Result<Vec<u8>>,
    ) -> Result<Vec<LogPlace>> {
        put_uv(self.manifests.len() as u64, out);
        for (id, bytes) in &self.manifests {
            put_uv(id.0, out);
            put_bytes(bytes, out);
        }
        put_uv(self.log.len() as u64, out);
        let mut places = Vec::with_capacity(self.log.len());
        for place in &self.log {
            put_uv(place.number.0, out);
            put_bytes(&read(place)?, out);
            places.push(LogPlace { at: out.len() as u64 - u64::from(place.length), ..*place });
        }
        Ok(places)
    }

    /// Refuses a commit that another writer has overtaken.
    ///
    /// # Errors
    /// `Fenced`.
    pub(super) fn check(&self, commit: &Commit) -> Result<()> {
        let mut seen = Vec::new();
        for (number, _) in &commit.log {
            if self.find(*number).is_ok() || seen.contains(number) {
                return Err(fenced(format_args!("log record {} is there", number.0)));
            }
            seen.push(*number);
        }
        if let (Some((id, _)), Some((newest, _))) = (&commit.manifest, self.manifests.last())
            && newest >= id
        {
            return Err(fenced(format_args!("manifest {} is there", newest.0)));
        }
        Ok(())
    }

    /// The bytes of all records.
    pub(super) fn bytes(&self) -> u64 {
        let log = self.log.iter().map(|place| u64::from(place.length)).sum::<u64>();
        log + self.manifests.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>()
    }

    fn find(&self, number: LogNumber) -> Result<usize, usize> {
        self.log.binary_search_by_key(&number, |place| place.number)
    }

    /// The log records from a number on.
    pub(super) fn log_from(&self, number: LogNumber) -> &[LogPlace] {
        self.log.get(self.find(number).unwrap_or_else(|behind| behind)..).unwrap_or_default()
    }

    /// Forgets log records.
    pub(super) fn trim(&mut self, mut trimmed: Vec<LogNumber>) {
        if !trimmed.is_empty() {
            // In one pass: a flush trims tens of thousands of records at the start of the log.
            sort_by(&mut trimmed, LogNumber::cmp);
            self.log.retain(|place| trimmed.binary_search(&place.number).is_err());
        }
    }

    /// Takes a commit in.
    pub(super) fn apply(&mut self, change: Change) {
        self.trim(change.trim_log);
        for place in change.log {
            match self.find(place.number) {
                Ok(found) => self.log[found] = place,
                Err(behind) => self.log.insert(behind, place),
            }
        }
        self.manifests.retain(|(id, _)| *id >= change.first_manifest);
        self.manifests.extend(change.manifest);
    }
}

impl Change {
    /// Appends the body of a commit.
    pub(super) fn encode(commit: &Commit, out: &mut Vec<u8>) {
        put_uv(commit.log.len() as u64, out);
        for (number, bytes) in &commit.log {
            put_uv(number.0, out);
            put_bytes(bytes, out);
        }
        put_uv(u64::from(commit.manifest.is_some()), out);
        if let Some((id, bytes)) = &commit.manifest {
            put_uv(id.0, out);
            put_bytes(bytes, out);
        }
        put_uv(commit.first_manifest.0, out);
        put_uv(commit.trim_log.len() as u64, out);
        commit.trim_log.iter().for_each(|number| put_uv(number.0, out));
        put_uv(commit.drop_segments.len() as u64, out);
        commit.drop_segments.iter().for_each(|segment| put_uv(segment.0, out));
    }

    /// Reads the body of a commit that lies at `start`.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn decode(body: &[u8], start: u64) -> Result<Self> {
        let read = |reader: &mut Reader<'_>| {
            Ok(Self {
                log: read_log(reader, start)?,
                manifest: if reader.uv()? == 0 { None } else { Some(read_manifest(reader)?) },
                first_manifest: ManifestId(reader.uv()?),
                trim_log: (0..reader.count()?).map(|_| reader.uv().map(LogNumber)).collect::<Decoded<_>>()?,
                drop_segments: (0..reader.count()?).map(|_| reader.uv().map(SegmentId)).collect::<Decoded<_>>()?,
            })
        };
        read(&mut Reader::new(body)).map_err(broken)
    }
}
