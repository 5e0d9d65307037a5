//! Writes that only their writer sees: what a transaction has written and not committed yet.
//!
//! An overlay is a memtable that stands before everything else that a read looks at. Its fragments have seqnos of their own,
//! and are seen at whatever instant that is. It is in no log: when it is dropped, nothing of it ever was.

use super::holds::Holds;
use super::images::Images;
use super::keys::TREE_BYTES;
use super::memtable::{Memtable, PRIVATE};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::names::NameBuilder;
use crate::model::CellChange;
use crate::model::TreeId;
use crate::storage::LogNumber;
use std::cell::Cell;
use std::ops::Bound;
use std::rc::Rc;

/// Private writes over the store.
#[derive(Debug)]
pub struct Overlay {
    pub(super) memtable: Rc<Memtable>,
    /// What rows come to for who sees the overlay.
    pub(super) images: Images,
    /// How many fragments were added.
    added: Cell<u64>,
}

impl Overlay {
    /// An empty overlay; `now` is about the stamp of what it will hold.
    #[must_use]
    pub fn new(now: i64) -> Self {
        Self { memtable: Rc::new(Memtable::new(LogNumber(0), now)), images: Images::default(), added: Cell::new(0) }
    }

    /// The rows that it changes, ascending.
    #[must_use]
    pub fn keys(&self) -> Vec<(TreeId, Vec<u8>)> {
        let rows = self.memtable.rows();
        let own = |key: &[u8]| {
            let (tree, key) = key.split_first_chunk::<TREE_BYTES>()?;
            Some((TreeId(u32::from_be_bytes(*tree)), key.to_vec()))
        };
        rows.range(Bound::Unbounded, Bound::Unbounded).filter_map(|(key, _)| own(key)).collect()
    }

    /// Adds a fragment. It is made here and can be read here.
    pub(super) fn insert(&self, key: Box<[u8]>, head: FragmentHead, cells: &[CellChange<'_>]) {
        let (mut names, mut bytes) = (NameBuilder::default(), Vec::new());
        fragment::encode(head, cells.iter().copied(), 0, &mut names, &mut bytes);
        let fragment = Fragment::decode(&bytes, 0, names.names());
        let seqno = PRIVATE + self.added.replace(self.added.get() + 1);
        let insert = |fragment| self.memtable.insert(key, seqno, fragment, false, &Holds::default());
        let done = fragment.and_then(insert);
        debug_assert!(done.is_ok(), "{done:?}");
    }
}
