//! Who waits for changes.

pub(super) mod arrivals;
pub(super) mod watches;
