//! Writes that only their writer sees: what a transaction has written and not committed yet.
//!
//! An overlay is a memtable that stands before everything else that a read looks at. Its fragments have seqnos of their own,
//! and are seen at whatever instant that is. It is in no log: when it is dropped, nothing of it ever was.

use super::Engine;
use super::decide::{Decide, Writes};
use super::images::Images;
use super::keys::{TREE_BYTES, full_key};
use super::memtable::{Memtable, PRIVATE};
use super::row::RowView;
use super::snapshots::Snapshots;
use crate::error::Result;
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::names::NameBuilder;
use crate::model::CellChange;
use crate::model::TreeId;
use crate::storage::{LogNumber, Storage};
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
        let insert = |fragment| self.memtable.insert(key, seqno, fragment, false, &Snapshots::default());
        let done = fragment.and_then(insert);
        debug_assert!(done.is_ok(), "{done:?}");
    }
}

impl<S: Storage> Engine<S> {
    /// Decides a write of a row as [`Engine::modify`] does, and writes into an overlay, after everything that was asked of
    /// the row before has been decided. Without `see` the row is not read. Nobody else may write to what this writes to
    /// from its first poll until the overlay is committed or dropped.
    ///
    /// # Errors
    /// Those of `decide` and of [`Engine::read`].
    pub async fn modify_over(
        &self,
        overlay: &Overlay,
        (tree, key): (TreeId, &[u8]),
        see: bool,
        decide: &mut dyn Decide,
    ) -> Result<()> {
        if see {
            let depth = decide.depth(0);
            let mut seen = Ok(());
            let mut visit = |at: usize, row: Option<&RowView<'_>>| seen = decide.see(at, row);
            self.read_at((depth, None), Some(overlay), tree, &[key], &mut visit).await?;
            seen?;
        }
        let _turns = self.come(&[full_key(tree, key)]).await?;
        decide.agree()?;
        decide.write(&mut Writes::over(overlay));
        Ok(())
    }
}

impl Writes<'_> {
    /// Writes all that an overlay holds of a row. It was read when it came in, so it can be read.
    pub fn row_of(&mut self, overlay: &Overlay, tree: TreeId, key: &[u8]) {
        let key = full_key(tree, key);
        let rows = overlay.memtable.rows();
        let (Some(slots), mut fragments) = (rows.get(&key), Vec::new()) else { return };
        let read = rows.fragments(slots, (0, u64::MAX), &mut fragments);
        debug_assert!(read.is_ok(), "{read:?}");
        for mut dated in fragments.into_iter().rev() {
            let mut cells = Vec::new();
            while let Ok(Some(cell)) = dated.fragment.next_cell() {
                cells.push(cell);
            }
            self.push(key.clone(), tree, dated.fragment.head(), &cells);
        }
    }
}
