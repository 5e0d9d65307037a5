//! The engine: trees of rows on a [`Storage`](crate::storage::Storage), one writer, many snapshots.

use crate::env::Env;
use crate::error::Result;
use crate::model::version::Retention;
use crate::model::{CellRef, ChangeKind, RowChange, Value};
use crate::storage::{Durability, Storage};
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;

/// A tree: the rows of a table partition, an index partition or a stream shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId(pub u32);

/// Who asked for a write, so that a retried request is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The client.
    pub client: u64,
    /// The client's request.
    pub request: u64,
}

/// How the store's clock follows the device's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// It never runs backwards, even when the device's clock does, across restarts too.
    #[default]
    Device,
    /// It is exactly what [`Env::now_ms`] says: for tests and lessons that travel in time (V10).
    Injected,
}

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The memtable is flushed when it holds this many bytes.
    pub memtable_bytes: usize,
    /// Decompressed blocks kept in memory.
    pub cache_bytes: usize,
    /// When a write counts as done.
    pub durability: Durability,
    /// The clock.
    pub clock: ClockMode,
    /// Whether compaction runs by itself.
    pub auto_compact: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memtable_bytes: 8 << 20,
            cache_bytes: 32 << 20,
            durability: Durability::Relaxed,
            clock: ClockMode::Device,
            auto_compact: true,
        }
    }
}

/// A range of encoded keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Its lower end.
    pub lower: Bound<Vec<u8>>,
    /// Its upper end.
    pub upper: Bound<Vec<u8>>,
}

/// Which way a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending.
    Forward,
    /// Descending.
    Backward,
}

/// One row: all stored versions, deletions applied, retention not applied.
#[derive(Debug)]
pub struct RowView<'a> {
    marker: Option<i64>,
    stamp: i64,
    cells: &'a [CellRef<'a>],
}

impl RowView<'_> {
    /// When a PutRow made the row exist, if one did: expires as a version of that time would.
    #[must_use]
    pub fn marker(&self) -> Option<i64> {
        self.marker
    }
    /// The newest stamp ever given on this row (V10).
    #[must_use]
    pub fn stamp(&self) -> i64 {
        self.stamp
    }
    /// Sorted by column name, then newest first.
    #[must_use]
    pub fn cells(&self) -> &[CellRef<'_>] {
        self.cells
    }
}

/// A [`RowChange`] with bytes of its own.
#[derive(Clone, Debug)]
pub struct OwnedChange {
    /// What it does to the row.
    pub kind: ChangeKind,
    /// See [`RowChange::stamp`].
    pub stamp: i64,
    /// See [`RowChange::cells`].
    pub cells: Vec<(String, OwnedOp)>,
}

/// A cell operation with bytes of its own.
#[derive(Clone, Debug)]
pub enum OwnedOp {
    /// Every older version of the column goes.
    DeleteColumn,
    /// This version goes.
    DeleteVersion(i64),
    /// This version gets this value.
    Put(i64, Value),
}

/// What an engine holds.
#[derive(Clone, Debug, Default)]
pub struct Metrics {}

/// The engine.
pub struct Engine<S> {
    _storage: S,
}

impl<S: Storage> Engine<S> {
    /// Opens.
    pub async fn open(_storage: S, _env: Rc<dyn Env>, _options: Options) -> Result<Rc<Self>> { todo!() }
    /// Clock.
    pub fn now_ms(&self) -> i64 { todo!() }
    /// Stamp.
    pub fn last_stamp(&self) -> i64 { todo!() }
    /// Retention.
    pub fn set_retention(&self, _tree: TreeId, _retention: Retention) { todo!() }
    /// Trees.
    pub fn retain_trees(&self, _live: &[TreeId]) { todo!() }
    /// Tree.
    pub fn drop_tree(&self, _tree: TreeId) { todo!() }
    /// Write.
    pub async fn write(&self, _tree: TreeId, _key: &[u8], _change: &RowChange<'_>, _origin: Option<Origin>) -> Result<()> { todo!() }
    /// Modify.
    pub async fn modify<R>(&self, _tree: TreeId, _key: &[u8], _origin: Option<Origin>, _decide: impl FnMut(Option<&RowView<'_>>) -> Result<(Option<OwnedChange>, R)>) -> Result<R> { todo!() }
    /// Read.
    pub async fn read(&self, _tree: TreeId, _keys: &[&[u8]], _visit: &mut dyn FnMut(usize, Option<&RowView<'_>>)) -> Result<()> { todo!() }
    /// Scan.
    pub async fn scan(&self, _tree: TreeId, _range: KeyRange, _direction: Direction, _visit: &mut dyn FnMut(&[u8], &RowView<'_>) -> ControlFlow<()>) -> Result<()> { todo!() }
    /// Flush.
    pub async fn flush(&self) -> Result<()> { todo!() }
    /// Compact.
    pub async fn compact(&self) -> Result<()> { todo!() }
    /// Close.
    pub async fn close(&self) { todo!() }
    /// Metrics.
    pub fn metrics(&self) -> Metrics { todo!() }
}
