//! A running range scan: the rows of one call, and its end (R3).

use super::row_reader::RowReader;
use super::throttle::{Partition, Throttle};
use crate::engine::{RowView, TreeId};
use crate::error::{Error, Result};
use crate::model::capacity::units;
use crate::model::{Consumed, KeyReader, RowSink, limits};

/// Whether a range scan goes on.
pub(super) enum ScanStep {
    /// It goes on.
    On,
    /// It ends. The row was not read: the next call starts with it.
    Stop,
}

/// A running range scan.
pub(super) struct RangeScan<'a, 's> {
    reader: RowReader<'a>,
    tree: TreeId,
    /// The most rows to return.
    limit: usize,
    sink: &'s mut dyn RowSink,
    keys: KeyReader,
    /// Whether the units of each partition key value are limited.
    watched: bool,
    /// Visited rows and bytes in storage, deleted and hidden ones too.
    visited: usize,
    visited_bytes: usize,
    /// Existing rows and their visible bytes, returned or not.
    scanned: usize,
    scanned_bytes: usize,
    /// Bytes that capacity units count: keys and selected cells.
    selected: usize,
    /// The same by partition key value, if that is limited.
    partitions: Vec<(Partition, usize)>,
    returned: usize,
}

impl<'a, 's> RangeScan<'a, 's> {
    /// A range of a tree that returns at most `limit` rows.
    pub(super) fn new(
        reader: RowReader<'a>,
        tree: TreeId,
        limit: usize,
        sink: &'s mut dyn RowSink,
        throttle: &Throttle,
    ) -> Self {
        Self {
            reader,
            tree,
            limit,
            sink,
            keys: KeyReader::default(),
            watched: throttle.watches(),
            visited: 0,
            visited_bytes: 0,
            scanned: 0,
            scanned_bytes: 0,
            selected: 0,
            partitions: Vec::new(),
            returned: 0,
        }
    }

    /// Takes the next row, unless the call ends before it.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(super) fn visit(&mut self, key: &[u8], row: &RowView<'_>) -> Result<ScanStep> {
        // The row is visited, whatever its size, so every call makes progress.
        if self.visited >= limits::RANGE_VISITED_ROWS || self.visited_bytes >= limits::RANGE_VISITED_BYTES {
            return Ok(ScanStep::Stop);
        }
        if self.is_full() {
            if self.reader.is_there(row) {
                return Ok(ScanStep::Stop);
            }
            self.count_visited(key, self.reader.weigh(row).stored);
            return Ok(ScanStep::On);
        }
        let values = self.keys.read(key).ok_or_else(|| damaged_key(key))?;
        let left = (self.scanned > 0).then(|| limits::RANGE_BYTES.saturating_sub(self.scanned_bytes));
        let mut fits = true;
        let sum = self.reader.read(&values, row, self.sink, &mut |sum| {
            fits = left.is_none_or(|left| sum.key + sum.weight.visible <= left);
            Ok(fits)
        })?;
        if !fits {
            return Ok(ScanStep::Stop);
        }
        self.count_visited(key, sum.weight.stored);
        if sum.exists {
            self.scanned += 1;
            self.scanned_bytes += sum.key + sum.weight.visible;
            self.returned += usize::from(sum.is_returned());
            self.select(key, sum.selected());
        }
        Ok(ScanStep::On)
    }

    /// The cost (C1), after taking the units of each partition key value.
    ///
    /// # Errors
    /// `OTSCapacityUnitExhausted`.
    pub(super) fn consumed(&self, now: i64, throttle: &Throttle) -> Result<Consumed> {
        let partitions: Vec<_> = self.partitions.iter().map(|(partition, bytes)| (*partition, units(*bytes))).collect();
        throttle.take(now, &partitions)?;
        Ok(Consumed::reading(units(self.selected)))
    }

    /// Whether the call has enough rows.
    fn is_full(&self) -> bool {
        self.scanned == limits::RANGE_ROWS
            || self.returned == self.limit
            || self.reader.work() >= limits::RANGE_REGEX_WORK
    }

    fn count_visited(&mut self, key: &[u8], stored: usize) {
        self.visited += 1;
        self.visited_bytes += key.len() + stored;
    }

    /// Counts the selected part of a row.
    fn select(&mut self, key: &[u8], bytes: usize) {
        self.selected += bytes;
        if self.watched {
            let partition = Partition::of(self.tree, key);
            match self.partitions.last_mut() {
                Some((last, all)) if *last == partition => *all += bytes,
                _ => self.partitions.push((partition, bytes)),
            }
        }
    }
}

/// The error for a key that cannot be read.
pub(super) fn damaged_key(key: &[u8]) -> Error {
    Error::corrupt("a stored row", format!("its key {key:02x?} is invalid"))
}
