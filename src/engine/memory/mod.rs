//! Rows in memory: memtables, private ones of transactions, and images of rows of many pieces.

pub(super) mod images;
pub(super) mod memtable;
pub(super) mod overlay;
mod slot;
pub(super) mod waiting_records;
