//! The operations of an instance, one file for each or for a group: functions over its state.

pub(super) mod access_admin;
pub(super) mod admin;
pub(super) mod answering;
pub(super) mod atomic_batch;
pub(super) mod batch;
pub(super) mod build;
pub(super) mod consumed;
pub(super) mod count;
mod decision;
pub(super) mod delete_range;
mod describe;
mod in_order;
pub(super) mod index_admin;
pub(super) mod load;
pub(super) mod missing_rows;
pub(super) mod open;
pub(super) mod partitions;
pub(super) mod read;
pub(super) mod splits;
pub(super) mod stored;
pub(super) mod transact;
pub(super) mod watch;
pub(super) mod write;
