//! How an engine is opened.

use crate::format::columns::Form;
use crate::model::InstanceKind;
use crate::model::limits::RESERVE_BYTES;
use crate::storage::Durability;

/// How the store's clock follows the device's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// It shows what the device's clock shows. Only stamps never run backwards.
    #[default]
    Device,
    /// It is exactly what [`Env::now_ms`](crate::env::Env::now_ms) says: for tests and lessons that travel in time (V10).
    Injected,
}

/// How an engine is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The memtable is flushed when it holds this many bytes, or earlier if the log gets long. With two more waiting to be
    /// flushed, commits wait; what callers have asked for and not awaited comes on top.
    pub memtable_bytes: usize,
    /// Decompressed blocks kept in memory.
    pub cache_bytes: usize,
    /// When a write counts as done.
    pub durability: Durability,
    /// The clock.
    pub clock: ClockMode,
    /// Whether compaction runs by itself. Without it only [`Engine::compact`](super::Engine::compact) applies retention.
    pub auto_compact: bool,
    /// Opens what can be opened of a damaged store, read-only; [`Engine::missing`](super::Engine::missing) tells what cannot.
    pub salvage: bool,
    /// How large things get.
    pub shape: Shape,
    /// How blocks are stored.
    pub form: Form,
    /// So many bytes of the storage are kept for deletions on a full disk. 0: none.
    pub reserve_bytes: usize,
}

/// How large blocks, segments and levels get. Sizes are stored bytes. Small ones make the shape visible with little
/// data, in tests and lessons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// A block aims at this size.
    pub block_bytes: usize,
    /// A segment is closed when it holds this much.
    pub segment_bytes: u64,
    /// So many parts in level 0 become one run.
    pub level0_parts: usize,
    /// What lies above the bottom level is merged into it when it is more than this, and more than the share that follows.
    pub level1_bytes: u64,
    /// The bottom is to be at least this many times as large as all that is above it.
    pub level_ratio: u64,
    /// A partition that holds more is split, where it has several partition keys.
    pub partition_bytes: u64,
    /// Neighbours that hold less than this together are merged, when little is asked of them.
    pub merge_bytes: u64,
    /// A partition that is asked for more operations a second than this, for several seconds, is split. 0: never.
    pub partition_operations: u64,
    /// What a row comes to is remembered where it is put together from more writes than this, or has more versions that
    /// nobody sees.
    pub pieces: usize,
}

impl Shape {
    /// What suits a browser. A block is a little larger than 64 KiB: Chromium's LevelDB keeps values from there on as
    /// files of their own and gives their space back when they are deleted; smaller ones stay as garbage.
    pub const DEFAULT: Self = Self {
        block_bytes: 72 << 10,
        segment_bytes: 8 << 20,
        level0_parts: 4,
        level1_bytes: 1 << 20,
        level_ratio: 4,
        partition_bytes: 64 << 20,
        merge_bytes: 16 << 20,
        partition_operations: 20_000,
        pieces: 32,
    };

    /// Everything so small that a few hundred rows make many blocks, segments, levels and partitions: for tests and lessons.
    pub const TINY: Self = Self {
        block_bytes: 300,
        segment_bytes: 1500,
        level0_parts: 2,
        level1_bytes: 4000,
        level_ratio: 3,
        partition_bytes: 6000,
        merge_bytes: 3000,
        partition_operations: 300,
        pieces: 2,
    };
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memtable_bytes: 8 << 20,
            cache_bytes: 32 << 20,
            durability: Durability::Relaxed,
            clock: ClockMode::Device,
            auto_compact: true,
            salvage: false,
            shape: Shape::DEFAULT,
            form: Form::Fast,
            reserve_bytes: RESERVE_BYTES,
        }
    }
}

impl Options {
    /// The defaults of an instance of this kind (I4). A capacity instance stores less and holds half as much in memory:
    /// its blocks are twice as large and dense.
    #[must_use]
    pub fn of(kind: InstanceKind) -> Self {
        let mut options = Self::default();
        if kind == InstanceKind::Capacity {
            options.cache_bytes /= 2;
            options.shape.block_bytes *= 2;
            options.form = Form::Dense;
        }
        options
    }
}
