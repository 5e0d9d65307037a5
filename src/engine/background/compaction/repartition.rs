//! Cuts and merges partitions on demand.

use super::{Change, Compactor, Work};
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
        let cut = move |compactor: &Self| {
            let partition = compactor.partition_with(tree, &at);
            Work::Change(Change::Split(tree, partition, Some(at)))
        };
        self.do_apart(Box::new(cut)).await
    }

    /// Merges this partition and the next one of the tree, if there is one.
    ///
    /// # Errors
    /// Errors of the storage; then they stay two.
    pub(crate) async fn merge_partition(self: &Rc<Self>, tree: TreeId, left: PartitionId) -> Result<()> {
        self.do_apart(Box::new(move |_| Work::Change(Change::Merge(tree, left)))).await
    }
}
