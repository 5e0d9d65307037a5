//! What is current: the partitions of each tree and the parts of each partition, as stored in manifests, and the view of them with
//! the memtables. All of it is data: nothing here waits, or calls the storage.

pub(super) mod backlog;
pub(super) mod dropped_trees;
pub(super) mod garbage;
pub(super) mod manifest;
pub(super) mod part;
pub(super) mod partition;
pub(super) mod retentions;
pub(super) mod snapshot;
pub(super) mod traffic;
pub(super) mod version;
pub(super) mod view;
