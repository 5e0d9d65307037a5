//! Changes of partitions.

use crate::engine::versions::partition::{Partition, PartitionId};
use crate::model::TreeId;
use std::rc::Rc;

/// A change of partitions.
#[derive(Debug)]
pub(crate) enum Change {
    /// Cut this partition in front of this key, because of its traffic, or in halves, because of its size.
    Split(TreeId, Option<Rc<Partition>>, Option<Box<[u8]>>),
    /// Merge this partition and the next one.
    Merge(TreeId, PartitionId),
}

impl Change {
    /// The tree and the first partition that change.
    pub(crate) fn place(&self) -> (TreeId, PartitionId) {
        match self {
            Self::Split(tree, partition, _) => (*tree, partition.as_ref().map_or(PartitionId(0), |one| one.id)),
            Self::Merge(tree, left) => (*tree, *left),
        }
    }
}
