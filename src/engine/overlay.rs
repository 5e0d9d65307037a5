//! Writes that only their writer sees: what a transaction has written and not committed yet.
//!
//! An overlay is a memtable that stands before everything else that a read looks at. Its fragments have the seqno 0, so
//! they are seen at whatever instant that is. It is in no log: when it is dropped, nothing of it ever was.

use super::decide::Writes;
use super::memtable::Memtable;
use super::snapshots::Snapshots;
use super::{Engine, TREE_BYTES, TreeId, full_key};
use crate::error::{Error, Result};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::names::NameBuilder;
use crate::format::wire::Decoded;
use crate::model::RowChange;
use crate::storage::{LogNumber, Storage};
use std::ops::Bound;
use std::rc::Rc;

/// Private writes over the store.
#[derive(Debug)]
pub struct Overlay(pub(super) Rc<Memtable>);

impl Overlay {
    /// An empty overlay; `now` is about the stamp of what it will hold.
    #[must_use]
    pub fn new(now: i64) -> Self {
        Self(Rc::new(Memtable::new(LogNumber(0), now)))
    }

    /// The rows that it changes, ascending.
    #[must_use]
    pub fn keys(&self) -> Vec<(TreeId, Vec<u8>)> {
        let rows = self.0.rows();
        let own = |key: &[u8]| {
            let (tree, key) = key.split_first_chunk::<TREE_BYTES>()?;
            Some((TreeId(u32::from_be_bytes(*tree)), key.to_vec()))
        };
        rows.range(Bound::Unbounded, Bound::Unbounded).filter_map(|(key, _)| own(key)).collect()
    }

    fn insert(&self, key: Box<[u8]>, change: &RowChange<'_>) -> Decoded<()> {
        let (mut names, mut bytes) = (NameBuilder::default(), Vec::new());
        fragment::encode(FragmentHead::of(change), change.cells.iter().copied(), 0, &mut names, &mut bytes);
        let fragment = Fragment::decode(&bytes, 0, names.names())?;
        self.0.insert(key, 0, fragment, false, &Snapshots::default())
    }
}

impl<S: Storage> Engine<S> {
    /// Writes a row into an overlay, after everything that was asked of the row before has been decided. Nobody else may
    /// write to the row from the first poll of this until the overlay is committed or dropped.
    ///
    /// # Errors
    /// `LeaderChanged`, `Closed`: this engine writes no more.
    pub async fn write_over(&self, overlay: &Overlay, tree: TreeId, key: &[u8], change: &RowChange<'_>) -> Result<()> {
        self.ready().await?;
        let key = full_key(tree, key);
        let turn = self.turn_if_held(&key).await;
        let written = overlay.insert(key, change);
        drop(turn);
        written.map_err(|_| Error::internal("a write of a transaction cannot be read"))
    }
}

impl Writes<'_> {
    /// Writes all that an overlay holds of a row. It was read when it came in, so it can be read.
    pub fn row_of(&mut self, overlay: &Overlay, tree: TreeId, key: &[u8]) {
        let key = full_key(tree, key);
        let rows = overlay.0.rows();
        let (Some(slots), mut fragments) = (rows.get(&key), Vec::new()) else { return };
        let read = rows.fragments(slots, 0, &mut fragments);
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
