//! Writes, from the decision to the commit, and loads: sorted rows that become segments at once.

pub(super) mod commit;
pub(super) mod decide;
pub(super) mod loads;
