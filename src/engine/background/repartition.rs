//! Cuts and merges partitions on demand.

use super::compaction::{Work, work_of_compaction};
use super::split::Change;
use crate::engine::Engine;
use crate::engine::rows::keys::{TREE_BYTES, full_key};
use crate::engine::versions::partition::{Partition, PartitionId, ShapeSeen};
use crate::error::Result;
use crate::model::TreeId;
use std::rc::Rc;

impl Engine {
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

    /// The partition keys at which the tree's partitions begin, the first one's (empty) included, if they may have changed
    /// since they were `seen`.
    pub fn boundaries_since(&self, tree: TreeId, seen: &ShapeSeen) -> Option<Vec<Box<[u8]>>> {
        let view = self.store.view.borrow();
        let partitions = view.version.trees.get(&tree);
        seen.is_other(partitions).then(|| {
            let behind = partitions.map_or(&[][..], |all| all.all()).iter().skip(1);
            let own = behind.map(|partition| partition.from.get(TREE_BYTES..).unwrap_or_default().into());
            std::iter::once(Box::default()).chain(own).collect()
        })
    }

    /// The partition that has a key.
    pub(in crate::engine) fn partition_with(&self, tree: TreeId, key: &[u8]) -> Option<Rc<Partition>> {
        self.store.view.borrow().version.trees.get(&tree).and_then(|all| all.holding(key)).map(Rc::clone)
    }
}
