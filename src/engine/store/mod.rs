//! The state of an open store: what is stored, what is visible, what waits to be stored, and whether all that is known.

pub(super) mod change_records;
pub(super) mod commit_line;
pub(super) mod leadership;
pub(super) mod pending;
pub(super) mod raw_record;
pub(super) mod readiness;
