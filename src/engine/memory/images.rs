//! Images: remembered merge results of rows with many fragments.
//!
//! A row with many small writes takes ever longer to put together. So the engine remembers the result, and the next read
//! takes only the writes since. An image is no copy of the row: it has as many versions of each column as the reads that
//! made it had to show. All other versions stay where they are stored, until compaction removes them (V3).
//!
//! An image is dropped when it may be wrong: when a write fails, when segments change, or when a version is deleted that
//! it may have left out. It is in no log and in no segment.

use super::memtable::PRIVATE;
use crate::engine::rows::row::{DatedFragment, RowView};
use crate::format::fragment::{self, Fragment, FragmentHead};
use crate::format::names::NameBuilder;
use crate::format::wire::Decoded;
use crate::model::{CellChange, CellOp};
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The most bytes of all images together.
const BYTES: usize = 1 << 20;

/// The approximate size of an image besides its bytes.
const OVERHEAD: usize = 200;

/// Images by the full keys of their rows.
#[derive(Debug, Default)]
pub(crate) struct Images {
    rows: RefCell<FxHashMap<Box<[u8]>, Rc<Image>>>,
    bytes: Cell<usize>,
    generation: Cell<u64>,
}

/// The merge result of a row.
#[derive(Debug)]
pub(crate) struct Image {
    /// It includes all writes up to this one.
    pub(crate) seqno: u64,
    /// The number of versions it has of each column, the newest ones.
    depth: u32,
    /// Whether it left out versions.
    pub(crate) trimmed: bool,
    names: NameBuilder,
    bytes: Vec<u8>,
}

impl Images {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.borrow().is_empty()
    }

    /// The image for a read of a row at the instant `seqno` that needs `depth` versions of each column.
    pub(crate) fn get(&self, key: &[u8], seqno: u64, depth: u32) -> Option<Rc<Image>> {
        let rows = self.rows.borrow();
        let image = rows.get(key)?;
        let serves = (image.seqno <= seqno || image.seqno >= PRIVATE) && (!image.trimmed || image.depth >= depth);
        serves.then(|| Rc::clone(image))
    }

    /// Remembers a row if it was put together from many pieces, or has many versions that no reader can see. `base` is
    /// the image it was put together from.
    pub(crate) fn remember(&self, key: &[u8], row: &RowView<'_>, pieces: usize, depth: u32, base: Option<&Image>) {
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

    /// Call this before a version of a row is deleted: the image may lack the version that then reappears.
    pub(crate) fn before_deletion(&self, key: &[u8]) {
        let mut rows = self.rows.borrow_mut();
        let stale = rows.get(key).filter(|image| image.trimmed).map(|image| image.size(key));
        if let Some(size) = stale {
            rows.remove(key);
            self.bytes.set(self.bytes.get() - size);
        }
    }

    /// How often all images were dropped.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.get()
    }

    /// Drops all images. A read that began before leaves none.
    pub(crate) fn clear(&self) {
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
    pub(crate) fn dated(&self) -> Decoded<DatedFragment<'_>> {
        let fragment = Fragment::decode(&self.bytes, 0, self.names.names())?;
        Ok(DatedFragment { seqno: self.seqno, fragment })
    }

    fn size(&self, key: &[u8]) -> usize {
        key.len() + self.bytes.len() + OVERHEAD
    }
}
