//! Cuts and merges partitions on demand.

use super::Engine;
use super::compaction::{Work, work_of_compaction};
use super::keys::full_key;
use super::partition::{Partition, PartitionId};
use super::split::Change;
use crate::error::Result;
use crate::model::TreeId;
use crate::storage::Storage;
use std::rc::Rc;

impl<S: Storage> Engine<S> {
    /// Cuts the tree in front of the partition key `at`, encoded. Does nothing if a partition begins there.
    ///
    /// # Errors
    /// Errors of the storage; then nothing is cut.
    pub async fn split_partition(&self, tree: TreeId, at: &[u8]) -> Result<()> {
        let at = full_key(tree, at);
        self.apart(async move |engine: Rc<Self>| {
            let _hold = engine.hold_compaction().await?;
            let change = Change::Split(tree, engine.partition_with(tree, &at), Some(at));
            work_of_compaction(&engine, Work::Change(change)).await
        })
        .await
    }

    /// Merges this partition and the next one of the tree, if there is one.
    ///
    /// # Errors
    /// Errors of the storage; then they stay two.
    pub async fn merge_partition(&self, tree: TreeId, left: PartitionId) -> Result<()> {
        self.apart(async move |engine: Rc<Self>| {
            let _hold = engine.hold_compaction().await?;
            work_of_compaction(&engine, Work::Change(Change::Merge(tree, left))).await
        })
        .await
    }

    fn partition_with(&self, tree: TreeId, key: &[u8]) -> Option<Rc<Partition>> {
        self.view.borrow().version.trees.get(&tree).and_then(|all| all.holding(key)).map(Rc::clone)
    }
}
