//! The second cache of blocks, behind the one in memory, and what the engine tells it.

use crate::engine::versions::version::Version;
use crate::format::block::Block;
use crate::format::record;
use crate::storage::{BlockId, Commit, ManifestId};
use std::cell::OnceCell;

/// What tells one state of a store from all others: the id and the checksum of its newest manifest. Those of a store without
/// manifests are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoreMark {
    pub(crate) manifest: u64,
    pub(crate) sum: u64,
}

impl StoreMark {
    /// The state after the manifest with this record.
    pub(crate) fn new(id: ManifestId, stored: &[u8]) -> Self {
        Self { manifest: id.0, sum: record::sum(stored) }
    }
}

/// A cache of blocks that outlives the engine. It may lose any of them. It never has another block than the stored one.
pub(crate) trait SecondaryCache {
    /// Keeps a block that was just written, or one that was read again.
    fn put(&self, id: BlockId, block: &Block, is_written: bool);

    /// A block; with `keys`, which ascend, one that has the rows of these keys at least. Says whether it is the whole block.
    fn read(&self, id: BlockId, keys: Option<&[&[u8]]>) -> Option<(Block, bool)>;

    /// Forgets a block, because its segment was deleted.
    fn remove(&self, id: BlockId);

    /// A commit is about to be stored. With a manifest it leads to this version.
    fn expect(&self, commit: &Commit, version: Option<&Version>);

    /// The commit that it was told of last is stored.
    fn settle(&self);

    /// Gives its room back, because the disk is full, and ends. Returns whether there may be more room now.
    fn give_up(&self) -> bool;

    /// Ends: another engine may have the file now.
    fn close(&self);
}

/// The place of a second cache. It is empty where there is none, and until it is open.
pub(crate) type Second = OnceCell<Box<dyn SecondaryCache>>;
