//! A running range scan: the rows of one call, and its end (R3).

use super::column_filter::{DecidingColumns, Judgement, chosen};
use super::prepared::key_value;
use super::row_reader::RowReader;
use crate::engine::{BlockFilter, BlockRows, RowView, TreeId};
use crate::error::{Error, Result};
use crate::format::block_columns::{ColumnValues, RowBytes};
use crate::model::capacity::units;
use crate::model::{Consumed, KeyReader, KeyValue, RowSink, limits};
use crate::tablestore::units::throttle::{Partition, Throttle};
use std::cell::RefCell;

/// A filter decides rows by their columns once so many rows were looked at and it has dropped three of four: where it drops few,
/// columns only cost time. A wrong guess costs the columns of a block: about as much as a fortieth of its rows.
const LOOKED_AT: usize = 2;

/// Whether a range scan goes on.
pub(crate) enum ScanStep {
    /// It goes on.
    On,
    /// It ends. The row was not read: the next call starts with it.
    Stop,
}

/// A running range scan.
pub(crate) struct RangeScan<'a, 's> {
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
    /// The columns that decide its rows, if columns can.
    deciding: Option<DecidingColumns<'a>>,
    judgement: Judgement,
}

impl<'a, 's> RangeScan<'a, 's> {
    /// A range of a tree that returns at most `limit` rows.
    pub(crate) fn new(
        reader: RowReader<'a>,
        tree: TreeId,
        limit: usize,
        sink: &'s mut dyn RowSink,
        throttle: &Throttle,
    ) -> Self {
        let watched = throttle.watches();
        // The units of each partition key value are counted with the rows' keys.
        let deciding = if watched { None } else { reader.deciding() };
        Self {
            reader,
            tree,
            limit,
            sink,
            keys: KeyReader::default(),
            watched,
            visited: 0,
            visited_bytes: 0,
            scanned: 0,
            scanned_bytes: 0,
            selected: 0,
            partitions: Vec::new(),
            returned: 0,
            deciding,
            judgement: Judgement::default(),
        }
    }

    /// Takes the next row, unless the call ends before it.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(crate) fn visit(&mut self, key: &[u8], row: &RowView<'_>) -> Result<ScanStep> {
        if self.is_over() {
            return Ok(ScanStep::Stop);
        }
        if self.is_full() {
            if self.reader.is_there(row) {
                return Ok(ScanStep::Stop);
            }
            self.count_visited(key.len(), self.reader.weigh(row).stored);
            return Ok(ScanStep::On);
        }
        let left = self.left();
        let values = self.keys.read(key).ok_or_else(|| damaged_key(key))?;
        let mut fits = true;
        let sum = self.reader.read(&values, row, self.sink, &mut |sum| {
            fits = left.is_none_or(|left| sum.key + sum.weight.visible <= left);
            Ok(fits)
        })?;
        if !fits {
            return Ok(ScanStep::Stop);
        }
        self.count_visited(key.len(), sum.weight.stored);
        if sum.exists {
            self.scanned += 1;
            self.scanned_bytes += sum.key + sum.weight.visible;
            self.returned += usize::from(sum.is_returned());
            self.select(key, sum.selected());
        }
        Ok(ScanStep::On)
    }

    /// The columns that decide its rows, if columns can.
    pub(crate) fn deciding(&self) -> Option<&DecidingColumns<'a>> {
        self.deciding.as_ref()
    }

    /// Whether its filter drops most rows.
    pub(crate) fn drops_most(&self) -> bool {
        self.scanned >= LOOKED_AT && self.returned <= self.scanned / 4
    }

    /// Counts the first ones of these rows as rows that the filter drops, as [`RangeScan::visit`] does. Stops at the first row that
    /// may pass, or before which the call may end.
    pub(crate) fn pass(&mut self, rows: &BlockRows<'_>) -> usize {
        let Some(deciding) = &self.deciding else { return 0 };
        let Some((selection, filter)) = self.reader.decides(rows.columns) else { return 0 };
        let mut judgement = std::mem::take(&mut self.judgement);
        let passing = judgement.of(rows, deciding, selection, filter);
        let is_dropped = |place: &usize| passing.get(*place) == Some(&false);
        let mut count = rows.places().take_while(is_dropped).count();
        while count > 0 && !self.takes(rows, count) {
            count -= 1;
        }
        if count > 0 {
            let places = rows.first(count);
            let RowBytes { stored_keys, keys, cells } = rows.columns.bytes(places.clone());
            let (keys, cells) = (self.reader.name_bytes() * count + keys as usize, cells as usize);
            self.visited += count;
            self.visited_bytes += stored_keys as usize + cells;
            self.scanned += count;
            self.scanned_bytes += keys + cells;
            let selected = |column: &ColumnValues<'_>| places.clone().map(|place| column.bytes(place)).sum::<usize>();
            let chosen = chosen(rows, deciding, selection);
            self.selected += keys + chosen.map_or(cells, |columns| columns.iter().map(selected).sum());
        }
        self.judgement = judgement;
        count
    }

    /// Whether the call takes the first so many of these rows, at least one, if none of them is returned. They are not its first:
    /// it has looked at some.
    fn takes(&self, rows: &BlockRows<'_>, count: usize) -> bool {
        let before = count - 1;
        let last = rows.columns.bytes(rows.first(before));
        let all = rows.columns.bytes(rows.first(count));
        let scanned = self.reader.name_bytes() * count + (all.keys + all.cells) as usize;
        self.visited + before < limits::RANGE_VISITED_ROWS
            && self.visited_bytes + ((last.stored_keys + last.cells) as usize) < limits::RANGE_VISITED_BYTES
            && self.scanned + before < limits::RANGE_ROWS
            && !self.is_full()
            && self.scanned_bytes + scanned <= limits::RANGE_BYTES
    }

    /// The cost (C1), after taking the units of each partition key value.
    ///
    /// # Errors
    /// `OTSCapacityUnitExhausted`.
    pub(crate) fn consumed(&self, now: i64, throttle: &Throttle) -> Result<Consumed> {
        let partitions: Vec<_> = self.partitions.iter().map(|(partition, bytes)| (*partition, units(*bytes))).collect();
        throttle.take(now, &partitions)?;
        Ok(Consumed::reading(units(self.selected)))
    }

    /// Whether the call ends before the next row, whatever that is. A row is visited whatever its size, so every call makes progress.
    fn is_over(&self) -> bool {
        self.visited >= limits::RANGE_VISITED_ROWS || self.visited_bytes >= limits::RANGE_VISITED_BYTES
    }

    /// The visible bytes that the next row may have; the first one may have any.
    fn left(&self) -> Option<usize> {
        (self.scanned > 0).then(|| limits::RANGE_BYTES.saturating_sub(self.scanned_bytes))
    }

    /// Whether the call has enough rows.
    fn is_full(&self) -> bool {
        self.scanned == limits::RANGE_ROWS
            || self.returned == self.limit
            || self.reader.work() >= limits::RANGE_REGEX_WORK
    }

    fn count_visited(&mut self, key: usize, stored: usize) {
        self.visited += 1;
        self.visited_bytes += key + stored;
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

/// The filter of a running scan.
pub(crate) struct ScanFilter<'c, 'a, 's> {
    scan: &'c RefCell<RangeScan<'a, 's>>,
    names: Vec<&'a str>,
}

impl<'c, 'a, 's> ScanFilter<'c, 'a, 's> {
    /// The filter of a scan, if columns decide its rows.
    pub(crate) fn of(scan: &'c RefCell<RangeScan<'a, 's>>) -> Option<Self> {
        let names = scan.borrow().deciding()?.names().to_vec();
        Some(Self { scan, names })
    }
}

impl BlockFilter for ScanFilter<'_, '_, '_> {
    fn is_on(&self) -> bool {
        self.scan.borrow().drops_most()
    }

    fn columns(&self) -> &[&str] {
        &self.names
    }

    fn pass(&self, rows: &BlockRows<'_>) -> usize {
        self.scan.borrow_mut().pass(rows)
    }
}

/// The error for a key that cannot be read.
fn damaged_key(key: &[u8]) -> Error {
    Error::corrupt("a stored row", format!("its key {key:02x?} is invalid"))
}

/// The values of a stored key.
pub(crate) fn decoded(key: &[u8]) -> Result<Vec<KeyValue>> {
    let mut keys = KeyReader::default();
    let values = keys.read(key).ok_or_else(|| damaged_key(key))?;
    Ok(values.iter().map(|value| key_value(*value)).collect())
}
