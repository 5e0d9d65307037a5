//! Writes, from the decision to the commit.

pub(super) mod commit;
pub(super) mod commit_line;
pub(super) mod decide;
pub(super) mod pending;
pub(super) mod raw_record;
