//! Writes, from the decision to the commit.

pub(super) mod commit;
pub(super) mod decide;
