//! The data that one read sees.

use super::part::Part;
use super::partition::Partitions;
use crate::engine::memory::memtable::Memtable;
use crate::engine::rows::keys::KeyRange;
use std::rc::Rc;

/// The sources: memtables, newest first, then runs, newest first. The parts of a run ascend without overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    pub(crate) memtables: Vec<Rc<Memtable>>,
    pub(crate) runs: Vec<Vec<Rc<Part>>>,
}

/// The data that a read sees. It stays the same while the store changes.
pub(crate) struct Snapshot {
    pub(crate) memtables: Vec<Rc<Memtable>>,
    pub(crate) tree: Option<Rc<Partitions>>,
    pub(crate) seqno: u64,
    /// The generation of images that may be made from it.
    pub(crate) images: u64,
}

impl Snapshot {
    pub(crate) fn sources(&self, range: &KeyRange) -> Sources {
        let runs = self.tree.as_ref().map_or_else(Vec::new, |tree| tree.runs(range));
        Sources { memtables: self.memtables.clone(), runs }
    }
}
