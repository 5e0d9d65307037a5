//! Who waits for changes, and the records of changes in streams.

pub(super) mod arrivals;
pub(super) mod change_records;
pub(super) mod watches;
