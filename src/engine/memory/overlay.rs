//! Overlays: the writes of a transaction before its commit, visible to their writer only.
//!
//! An overlay is a memtable above everything else that a read looks at. Its fragments have private seqnos and are visible
//! at every instant. It is in no log: dropping it undoes its writes.

use super::images::Images;
use super::memtable::{Memtable, PRIVATE};
use crate::engine::rows::holds::Holds;
use crate::engine::rows::keys::{own_key, tree_of};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::names::NameBuilder;
use crate::model::{CellChange, TreeId};
use crate::storage::LogNumber;
use std::cell::Cell;
use std::ops::Bound;
use std::rc::Rc;

/// Private writes on top of the store.
#[derive(Debug)]
pub struct Overlay {
    pub(in crate::engine) memtable: Rc<Memtable>,
    /// Images of rows for readers of the overlay.
    pub(in crate::engine) images: Images,
    /// The number of fragments added.
    added: Cell<u64>,
}

impl Overlay {
    /// An empty overlay. `now` is close to the stamps of its writes.
    #[must_use]
    pub fn new(now: i64) -> Self {
        Self { memtable: Rc::new(Memtable::new(LogNumber(0), now)), images: Images::default(), added: Cell::new(0) }
    }

    /// The rows that it changes, ascending.
    #[must_use]
    pub fn keys(&self) -> Vec<(TreeId, Vec<u8>)> {
        let rows = self.memtable.rows();
        let all = rows.range(Bound::Unbounded, Bound::Unbounded);
        all.filter_map(|(key, _)| Some((tree_of(key)?, own_key(key).to_vec()))).collect()
    }

    /// Adds a fragment. The overlay made it itself, so it can be read.
    pub(in crate::engine) fn insert(&self, key: Box<[u8]>, head: FragmentHead, cells: &[CellChange<'_>]) {
        let (mut names, mut bytes) = (NameBuilder::default(), Vec::new());
        fragment::encode(head, cells.iter().copied(), 0, &mut names, &mut bytes);
        let fragment = Fragment::decode(&bytes, 0, names.names());
        let seqno = PRIVATE + self.added.replace(self.added.get() + 1);
        let insert = |fragment| self.memtable.insert(key, seqno, fragment, false, &Holds::default());
        let done = fragment.and_then(insert);
        debug_assert!(done.is_ok(), "{done:?}");
    }
}
