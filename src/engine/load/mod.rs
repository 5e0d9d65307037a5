//! Loads: sorted rows that become segments at once.

pub(super) mod bulk_load;
pub(super) mod bulk_loader;
pub(super) mod loads;
