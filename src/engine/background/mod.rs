//! Background work: flushes, compactions, changes of partitions, and when each is due.

pub(super) mod compaction;
pub(super) mod flush;
pub(super) mod housekeeping;
mod quarantine;
pub(super) mod rewrite;
pub(super) mod trees;
