//! What one read looks at.

use super::keys::KeyRange;
use super::memtable::Memtable;
use super::merge::Sources;
use super::partition::Partitions;
use std::rc::Rc;

/// What a read looks at: it stays as it is while the store goes on.
pub(super) struct Snapshot {
    pub(super) memtables: Vec<Rc<Memtable>>,
    pub(super) tree: Option<Rc<Partitions>>,
    pub(super) seqno: u64,
    /// Which images may be made of it.
    pub(super) images: u64,
}

impl Snapshot {
    pub(super) fn sources(&self, range: &KeyRange) -> Sources {
        let runs = self.tree.as_ref().map_or_else(Vec::new, |tree| tree.runs(range));
        Sources { memtables: self.memtables.clone(), runs }
    }
}
