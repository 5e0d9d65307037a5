//! A log record as it is stored.

use crate::error::{Error, Result};
use crate::format::log::{self, LogHead, LogKind, LogRecord};
use crate::format::record::{self, Place};
use crate::storage::LogNumber;
use bytes::Bytes;

/// A log record from the storage, without its frame.
pub(crate) struct RawRecord {
    pub(crate) number: LogNumber,
    /// Stored bytes.
    pub(crate) stored: u64,
    pub(crate) payload: Bytes,
}

impl RawRecord {
    pub(crate) fn open(number: LogNumber, stored: &[u8]) -> Result<Self> {
        let place = Place::Log(number);
        let payload = record::open(place, stored).map_err(|damage| Error::corrupt(place, damage))?;
        Ok(Self { number, stored: stored.len() as u64, payload })
    }

    /// The kind of the record, and its writer.
    pub(crate) fn head(&self) -> Result<(LogKind, LogHead)> {
        log::decode_head(&self.payload).map_err(|damage| Error::corrupt(Place::Log(self.number), damage))
    }

    /// Whether the leader of this epoch wrote it, after it took the lead.
    pub(crate) fn is_of(&self, epoch: u64) -> Result<bool> {
        let (kind, head) = self.head()?;
        Ok(kind != LogKind::Leadership && head.epoch == epoch)
    }

    pub(crate) fn decode(&self) -> Result<LogRecord<'_>> {
        log::decode(&self.payload).map_err(|damage| Error::corrupt(Place::Log(self.number), damage))
    }
}
