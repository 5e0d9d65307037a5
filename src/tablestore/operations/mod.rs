//! The operations of an instance: one file each, or one for a group.

pub(super) mod access_admin;
pub(super) mod admin;
pub(super) mod admission;
pub(super) mod answering;
pub(super) mod batch;
pub(super) mod build;
pub(super) mod count;
pub(super) mod delete_range;
pub(super) mod index_admin;
pub(super) mod ingest;
pub(super) mod metering;
pub(super) mod missing_rows;
pub(super) mod partitions;
pub(super) mod read;
pub(super) mod splits;
pub(super) mod stored;
pub(super) mod transact;
pub(super) mod watch;
pub(super) mod write;
