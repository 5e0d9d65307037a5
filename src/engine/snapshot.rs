//! The data that one read sees.

use super::memory::memtable::Memtable;
use super::merge::Sources;
use super::partition::Partitions;
use super::rows::keys::KeyRange;
use std::rc::Rc;

/// The data that a read sees. It stays the same while the store changes.
pub(super) struct Snapshot {
    pub(super) memtables: Vec<Rc<Memtable>>,
    pub(super) tree: Option<Rc<Partitions>>,
    pub(super) seqno: u64,
    /// The generation of images that may be made from it.
    pub(super) images: u64,
}

impl Snapshot {
    pub(super) fn sources(&self, range: &KeyRange) -> Sources {
        let runs = self.tree.as_ref().map_or_else(Vec::new, |tree| tree.runs(range));
        Sources { memtables: self.memtables.clone(), runs }
    }
}
