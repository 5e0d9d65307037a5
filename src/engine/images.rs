//! Images: what rows that are many pieces come to.
//!
//! A row that is written often, and never as a whole, takes ever longer to put together. So what it came to is remembered,
//! and the next look at it takes up only what was written since. An image is no copy of the row: it has as many versions of
//! each column as the looks that made it had to show. All others stay where they are stored, until compaction removes them
//! (V3).
//!
//! An image is dropped when it may not be true any more: when a write fails, when segments change, when a version is
//! deleted that it may have left out. It is in no log, and in no segment.

use super::memtable::PRIVATE;
use super::row::{DatedFragment, RowView};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::names::NameBuilder;
use crate::format::wire::Decoded;
use crate::model::{CellChange, CellOp};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// All images together are not larger than this.
const BYTES: usize = 1 << 20;

/// What an image takes besides its bytes, about.
const OVERHEAD: usize = 200;

/// The images of rows, by their full keys.
#[derive(Debug, Default)]
pub(super) struct Images {
    rows: RefCell<FxHashMap<Box<[u8]>, Rc<Image>>>,
    bytes: Cell<usize>,
    generation: Cell<u64>,
}

/// What a row came to.
#[derive(Debug)]
pub(super) struct Image {
    /// It has everything up to this write.
    pub(super) seqno: u64,
    /// It has so many versions of each column, the newest.
    depth: u32,
    /// Whether it left versions out.
    pub(super) trimmed: bool,
    names: NameBuilder,
    bytes: Vec<u8>,
}

impl Images {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.borrow().is_empty()
    }

    /// The image of a row for a look at the instant `seqno` that needs so many versions of each column.
    pub(super) fn get(&self, key: &[u8], seqno: u64, depth: u32) -> Option<Rc<Image>> {
        let rows = self.rows.borrow();
        let image = rows.get(key)?;
        let serves = (image.seqno <= seqno || image.seqno >= PRIVATE) && (!image.trimmed || image.depth >= depth);
        serves.then(|| Rc::clone(image))
    }

    /// Remembers what a row came to, if it was put together from more than so many pieces, or has more versions that nobody
    /// sees. `base` is the image that it was put together from.
    pub(super) fn remember(&self, key: &[u8], row: &RowView<'_>, pieces: usize, depth: u32, base: Option<&Image>) {
        let depth = base.map_or(depth, |base| base.depth.max(depth));
        let Some(image) = Image::of(row, pieces, depth) else { return };
        let size = image.size(key);
        if size > BYTES {
            return;
        }
        if self.bytes.get() + size > BYTES {
            self.make_room();
        }
        self.bytes.set(self.bytes.get() + size);
        if let Some(old) = self.rows.borrow_mut().insert(key.into(), Rc::new(image)) {
            self.bytes.set(self.bytes.get() - old.size(key));
        }
    }

    /// A version of a row is about to be deleted: the image may not have the one that comes up for it.
    pub(super) fn before_deletion(&self, key: &[u8]) {
        let mut rows = self.rows.borrow_mut();
        let stale = rows.get(key).filter(|image| image.trimmed).map(|image| image.size(key));
        if let Some(size) = stale {
            rows.remove(key);
            self.bytes.set(self.bytes.get() - size);
        }
    }

    /// How often all were forgotten.
    pub(super) fn generation(&self) -> u64 {
        self.generation.get()
    }

    /// Forgets all. What was looked at before is not remembered any more.
    pub(super) fn clear(&self) {
        self.make_room();
        self.generation.set(self.generation.get() + 1);
    }

    fn make_room(&self) {
        self.rows.borrow_mut().clear();
        self.bytes.set(0);
    }
}

impl Image {
    fn of(row: &RowView<'_>, pieces: usize, depth: u32) -> Option<Self> {
        let seqno = row.dated().first()?.seqno;
        let (keep, cells) = (usize::try_from(depth).unwrap_or(usize::MAX), row.cells());
        let hidden = |at: usize| {
            let newer = at.checked_sub(keep).and_then(|at| cells.get(at));
            newer.is_some_and(|newer| cells.get(at).is_some_and(|cell| cell.column == newer.column))
        };
        let left_out = (keep.min(cells.len())..cells.len()).filter(|at| hidden(*at)).count();
        if row.check().is_err() || (row.pieces() <= pieces && left_out <= pieces) {
            return None;
        }
        let (mut names, mut bytes) = (NameBuilder::default(), Vec::new());
        let head = FragmentHead { hides_older: true, marker: row.marker(), stamp: row.stamp() };
        let shown = cells.iter().enumerate().filter(|(at, _)| !hidden(*at)).map(|(_, cell)| cell);
        let shown = shown.map(|cell| CellChange { column: cell.column, op: CellOp::Put(cell.version, cell.value) });
        fragment::encode(head, shown, 0, &mut names, &mut bytes);
        Some(Self { seqno, depth, trimmed: row.is_trimmed() || left_out > 0, names, bytes })
    }

    /// The row as one fragment that hides everything older.
    pub(super) fn dated(&self) -> Decoded<DatedFragment<'_>> {
        let fragment = Fragment::decode(&self.bytes, 0, self.names.names())?;
        Ok(DatedFragment { seqno: self.seqno, fragment })
    }

    fn size(&self, key: &[u8]) -> usize {
        key.len() + self.bytes.len() + OVERHEAD
    }
}
