//! The changes of a memtable whose records in streams are not made yet, and the form of these records' rows.

use super::slot::Slot;
use crate::error::Result;
use crate::model::{CellChange, CellOp, RecordPlace, RowChange, TreeId, ValueRef, encode_value};
use std::collections::VecDeque;

/// The column of records.
pub(crate) const RECORD_COLUMN: &str = "";

/// Encodes the record of a change of the row with this key, tree left out.
///
/// # Errors
/// If the key is none.
pub type Recorder = fn(&[u8], &RowChange<'_>) -> Result<Vec<u8>>;

/// A change whose record is not made yet.
#[derive(Debug)]
pub(crate) struct WaitingRecord {
    pub(crate) place: RecordPlace,
    /// The key of the changed row, tree left out.
    pub(crate) key: Box<[u8]>,
    /// The change. Its bytes stay as long as the memtable, even when a later change replaces it.
    pub(crate) slot: Slot,
}

/// The changes of a memtable whose records are not made yet, by stream. There are few streams.
#[derive(Debug, Default)]
pub(crate) struct WaitingRecords {
    streams: Vec<(TreeId, VecDeque<WaitingRecord>)>,
}

impl WaitingRecords {
    pub(crate) fn push(&mut self, record: WaitingRecord) {
        let tree = record.place.tree;
        match self.streams.iter_mut().find(|(other, _)| *other == tree) {
            Some((_, records)) => records.push_back(record),
            None => self.streams.push((tree, VecDeque::from([record]))),
        }
    }

    /// Forgets those of a stream that is gone.
    pub(crate) fn remove(&mut self, tree: TreeId) {
        self.streams.retain(|(other, _)| *other != tree);
    }

    /// The streams.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> {
        self.streams.iter().map(|(tree, _)| *tree)
    }

    /// Puts one back that was popped.
    pub(crate) fn put_back(&mut self, record: WaitingRecord) {
        match self.streams.iter_mut().find(|(tree, _)| *tree == record.place.tree) {
            Some((_, records)) => records.push_front(record),
            None => self.push(record),
        }
    }

    pub(crate) fn has(&self, of: Option<TreeId>) -> bool {
        self.streams.iter().any(|(tree, _)| of.is_none_or(|of| of == *tree))
    }

    /// The next one: of one stream, or of any.
    pub(crate) fn pop(&mut self, of: Option<TreeId>) -> Option<WaitingRecord> {
        let at = self.streams.iter().position(|(tree, _)| of.is_none_or(|of| of == *tree))?;
        let (_, records) = self.streams.get_mut(at)?;
        let next = records.pop_front();
        if records.is_empty() {
            self.streams.swap_remove(at);
        }
        next
    }
}

/// The key of a record's row: its shard, and the seqno of its change.
pub(crate) fn record_key(shard: i64, seqno: u64) -> Vec<u8> {
    let mut key = Vec::with_capacity(18);
    encode_value(ValueRef::Integer(shard), &mut key);
    encode_value(ValueRef::Integer(seqno.cast_signed()), &mut key);
    key
}

/// The cell of a record's row.
pub(crate) fn record_cell(time: i64, record: &[u8]) -> CellChange<'_> {
    CellChange { column: RECORD_COLUMN, op: CellOp::Put(time, ValueRef::Binary(record)) }
}
