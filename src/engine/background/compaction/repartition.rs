//! Cuts and merges partitions on demand.

use super::{Change, Compactor, Work};
use crate::engine::rows::keys::full_key;
use crate::engine::versions::partition::PartitionId;
use crate::error::Result;
use crate::model::TreeId;
use std::rc::Rc;

impl Compactor {
    /// See [`Engine::split_partition`](crate::engine::Engine::split_partition).
    pub(crate) async fn split_partition(self: &Rc<Self>, tree: TreeId, at: &[u8]) -> Result<()> {
        let at = full_key(tree, at);
        let cut = move |compactor: &Self| {
            let partition = compactor.partition_with(tree, &at);
            Work::Change(Change::Split(tree, partition, Some(at)))
        };
        self.do_apart(Box::new(cut)).await
    }

    /// See [`Engine::merge_partition`](crate::engine::Engine::merge_partition).
    pub(crate) async fn merge_partition(self: &Rc<Self>, tree: TreeId, left: PartitionId) -> Result<()> {
        self.do_apart(Box::new(move |_| Work::Change(Change::Merge(tree, left)))).await
    }
}
