//! Splitting and merging partitions (P1).

use super::cache::{Pins, Want};
use super::partition::Share;
use super::profile::samples;
use super::version::{Edit, Part, Split};
use super::{Engine, PartitionId, TreeId, full_key};
use crate::error::Result;
use crate::storage::Storage;
use std::rc::Rc;

impl<S: Storage> Engine<S> {
    /// Cuts the partition of a tree that has the partition key `at`, encoded, in front of it. Nothing happens where a
    /// partition begins with it.
    ///
    /// # Errors
    /// What the storage says; then nothing is cut.
    pub async fn split_partition(&self, tree: TreeId, at: &[u8]) -> Result<()> {
        self.hold_compaction().await?;
        let split = self.split_at(tree, full_key(tree, at)).await;
        self.release_compaction();
        split
    }

    /// Makes one partition of this one and the next one of the tree, if there is one.
    ///
    /// # Errors
    /// What the storage says; then they stay two.
    pub async fn merge_partition(&self, tree: TreeId, left: PartitionId) -> Result<()> {
        self.hold_compaction().await?;
        let merged = self.merge_with_next(tree, left).await;
        self.release_compaction();
        merged
    }

    /// Cuts a partition at `at`, which is a tree and a partition key. Only what indexes of segments say is read.
    pub(super) async fn split_at(&self, tree: TreeId, at: Box<[u8]>) -> Result<()> {
        let cut: Vec<Rc<Part>> = {
            let state = self.state.borrow();
            let parts = state.version.trees.get(&tree).into_iter().flat_map(|partitions| partitions.parts());
            parts.filter(|part| part.first_key < at && at <= part.last_key).map(Rc::clone).collect()
        };
        let mut pins = Pins::default();
        let wants: Vec<Want> =
            cut.iter().filter_map(|part| self.cache.meta(part.segment.meta(), &pins).err()).collect();
        self.cache.load(&self.storage, &wants, &mut pins, false).await?;
        let shares = cut.iter().filter_map(|part| {
            let meta = self.cache.meta(part.segment.meta(), &pins).ok()?;
            let (mut before, mut all) = ((0, 0), (0, 0));
            for (key, weight) in samples(part, &meta) {
                all = (all.0 + weight.bytes, all.1 + weight.rows);
                if *key < *at {
                    before = all;
                }
            }
            Some(Share {
                segment: part.segment.id,
                bytes: part.bytes.saturating_mul(before.0) / all.0.max(1),
                entries: part.entries.saturating_mul(before.1) / all.1.max(1),
            })
        });
        let split = Split { tree, shares: shares.collect(), at: at.clone() };
        drop(cut);
        self.commit_edit(Edit { split: Some(split), ..Edit::default() }).await
    }

    /// Makes one partition of two. If segments are cut up between them, what the first one holds is written anew before.
    pub(super) async fn merge_with_next(&self, tree: TreeId, left: PartitionId) -> Result<()> {
        let meet = {
            let state = self.state.borrow();
            let Some(partitions) = state.version.trees.get(&tree) else { return Ok(()) };
            let mut from = partitions.all().iter().skip_while(|partition| partition.id != left);
            let Some((left, next)) = from.next().zip(from.next()) else { return Ok(()) };
            left.merged(next).is_some()
        };
        if !meet {
            self.compact_partition(tree, left).await?;
        }
        self.commit_edit(Edit { merge: Some((tree, left)), ..Edit::default() }).await
    }
}
