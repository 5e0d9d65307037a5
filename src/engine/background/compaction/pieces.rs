//! Compaction in pieces, where there is no room for the whole output of a merge.
//!
//! A merge writes all of its output before its inputs go, so on a full disk it may need more room than there is. Then its
//! partition is cut between two segments of its bottom, and each side is merged on its own: what one frees is room for the
//! next. A cut changes the manifest alone, so crashes, readers and older instants meet nothing new. Cold neighbours are
//! merged again later, as any others.
//!
//! No segment of the bottom spans a cut. So whatever is merged frees its segments there, and never leaves the disk fuller than
//! before. A partition that finds no room and cannot be cut waits until others have freed some.

use super::Compactor;
use super::pick::middle_of_bottom;
use crate::engine::versions::partition::PartitionId;
use crate::engine::work::CompactionReason;
use crate::error::{Code, Result};
use crate::model::TreeId;

impl Compactor {
    /// A merge of a partition found no room. Cuts the partition, and returns the one behind the cut. If it cannot be cut, it
    /// waits for room.
    pub(super) async fn cut_for_room(&self, tree: TreeId, id: PartitionId) -> Result<Option<PartitionId>> {
        let found = self.partition(tree, id);
        let Some(at) = found.as_ref().and_then(|partition| middle_of_bottom(&partition.levels)) else {
            log::warn!("partition {} is not compacted before there is more room", id.0);
            self.house.compactions.quarantine.wait_for_room(id, self.runtime.clock.steady_ms());
            return Ok(None);
        };
        self.split(tree, found, Some(at.clone())).await?;
        let behind = self.partition_with(tree, &at).map(|partition| partition.id);
        Ok(behind.filter(|behind| *behind != id))
    }

    /// Merges every partition into one level, in pieces where it must. Between two of them a flush that waits gets through.
    pub(crate) async fn compact_all(&self) -> Result<()> {
        let (mut due, mut damaged) = (self.all_partitions(), Ok(()));
        loop {
            let (mut waiting, mut refused) = (Vec::new(), Ok(()));
            while let Some((tree, id)) = due.pop() {
                match self.compact_partition(tree, id, self.runtime.clock.now_ms(), CompactionReason::Asked).await {
                    // Other partitions are not affected.
                    Err(error) if error.code() == Code::Corrupt => damaged = damaged.and(Err(error)),
                    Err(error) if error.code() == Code::QuotaExceeded => {
                        if let Some(behind) = self.cut_for_room(tree, id).await? {
                            due.extend([(tree, behind), (tree, id)]);
                        } else {
                            waiting.push((tree, id));
                            refused = Err(error);
                        }
                    }
                    done => done?,
                }
                self.space.drop_unreferenced().await;
                self.pause_between_jobs().await;
            }
            // Others may have freed room meanwhile.
            if !self.house.compactions.quarantine.may_have_room() {
                return damaged.and(refused);
            }
            due = waiting;
        }
    }

    /// Every partition, the last one first.
    fn all_partitions(&self) -> Vec<(TreeId, PartitionId)> {
        let view = self.store.view.borrow();
        let trees = view.version.trees.iter();
        let mut all: Vec<_> =
            trees.flat_map(|(&tree, all)| all.all().iter().map(move |partition| (tree, partition.id))).collect();
        all.reverse();
        all
    }

    /// Lets a flush through that waited for the work on one partition.
    async fn pause_between_jobs(&self) {
        let at_work = &self.house.compactions.at_work;
        let was_at_work = at_work.replace(false);
        self.let_flush_through().await;
        at_work.set(was_at_work);
    }
}
