//! Cuts and merges partitions on demand.

use super::Compactor;
use super::{Change, Work, work_of_compaction};
use crate::engine::rows::keys::full_key;
use crate::engine::versions::partition::PartitionId;
use crate::error::Result;
use crate::model::TreeId;
use std::rc::Rc;

impl Compactor {
    /// Cuts the tree in front of the partition key `at`, encoded. Does nothing if a partition begins there.
    ///
    /// # Errors
    /// Errors of the storage; then nothing is cut.
    pub(crate) async fn split_partition(self: &Rc<Self>, tree: TreeId, at: &[u8]) -> Result<()> {
        let at = full_key(tree, at);
        let compactor = Rc::clone(self);
        let work = async move {
            let _hold = compactor.hold_compaction().await?;
            let change = Change::Split(tree, compactor.partition_with(tree, &at), Some(at));
            work_of_compaction(&compactor, Work::Change(change)).await
        };
        self.runtime.apart(Box::pin(work)).await
    }

    /// Merges this partition and the next one of the tree, if there is one.
    ///
    /// # Errors
    /// Errors of the storage; then they stay two.
    pub(crate) async fn merge_partition(self: &Rc<Self>, tree: TreeId, left: PartitionId) -> Result<()> {
        let compactor = Rc::clone(self);
        let work = async move {
            let _hold = compactor.hold_compaction().await?;
            work_of_compaction(&compactor, Work::Change(Change::Merge(tree, left))).await
        };
        self.runtime.apart(Box::pin(work)).await
    }
}
