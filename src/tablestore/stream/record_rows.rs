//! Records as rows of the stream's tree: their keys, and what they hold.

use crate::engine::{KeyRange, RECORD_COLUMN, RowView, record_key};
use crate::model::{KeyReader, ValueRef};
use std::ops::Bound;

/// The time and the record of a row.
pub(super) fn record_of<'r>(row: &'r RowView<'_>) -> Option<(i64, &'r [u8])> {
    row.cells().iter().find_map(|cell| match cell.value {
        ValueRef::Binary(record) if cell.column == RECORD_COLUMN => Some((cell.version, record)),
        _ => None,
    })
}

/// The keys of a shard's records between two seqnos, both left out.
pub(super) fn records_between(shard: i64, after: u64, before: Option<u64>) -> KeyRange {
    KeyRange {
        lower: Bound::Excluded(record_key(shard, after)),
        upper: Bound::Excluded(record_key(shard, before.unwrap_or(i64::MAX.cast_unsigned()))),
    }
}

/// The seqno in a key; 0 in one that has none.
pub(super) fn seqno_of(keys: &mut KeyReader, key: &[u8]) -> u64 {
    match keys.read(key).as_deref() {
        Some([_, ValueRef::Integer(seqno)]) => seqno.cast_unsigned(),
        _ => 0,
    }
}
