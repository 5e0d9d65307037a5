//! Options of an engine.

use crate::format::columns::Form;
use crate::model::InstanceKind;
use crate::model::limits::RESERVE_BYTES;
use crate::storage::Durability;

/// How the store's clock follows the device's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// It follows the device's clock. Only stamps never run backwards.
    #[default]
    Device,
    /// It is exactly [`Env::now_ms`](crate::env::Env::now_ms), for tests and lessons that travel in time (V10).
    Injected,
}

/// Options of an engine.
#[derive(Clone, Debug)]
pub struct Options {
    /// The memtable is flushed when it holds this many bytes, or earlier if the log gets long. With two more waiting to
    /// be flushed, commits wait. Calls in flight need memory on top.
    pub memtable_bytes: usize,
    /// Decompressed blocks kept in memory.
    pub cache_bytes: usize,
    /// When a write is complete.
    pub durability: Durability,
    /// The clock.
    pub clock: ClockMode,
    /// Whether compaction runs in the background. Without it only [`Engine::compact`](crate::engine::Engine::compact) applies
    /// retention.
    pub auto_compact: bool,
    /// Whether background work may be paused: only where nobody's data depends on it, as in a sandbox in memory.
    pub pausable: bool,
    /// Opens the readable part of a damaged store, read-only. [`Engine::missing`](crate::engine::Engine::missing) lists the rest.
    pub salvage: bool,
    /// Refuses an empty storage: the store has been opened before, so its data is lost.
    pub expects_data: bool,
    /// Sizes of blocks, segments and levels.
    pub shape: Shape,
    /// The stored form of blocks.
    pub form: Form,
    /// The bytes of storage kept for deletions on a full disk. 0: none.
    pub reserve_bytes: usize,
}

/// Sizes of blocks, segments and levels, in stored bytes. Small ones show the structure with little data, in tests and
/// lessons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The target size of a block.
    pub block_bytes: usize,
    /// A segment is closed at this size.
    pub segment_bytes: u64,
    /// This many parts in level 0 become one run.
    pub level0_parts: usize,
    /// Data above the bottom level is merged into it when it exceeds this size and the share below.
    pub level1_bytes: u64,
    /// The bottom should be at least this many times as large as everything above it.
    pub level_ratio: u64,
    /// A larger partition is split, if it has several partition keys.
    pub partition_bytes: u64,
    /// Neighbours that together are smaller are merged, if they have little traffic.
    pub merge_bytes: u64,
    /// A partition with more operations a second than this, for several seconds, is split. 0: never.
    pub partition_operations: u64,
    /// An image of a row is kept if the row was put together from more writes than this, or has more versions that no
    /// reader can see.
    pub pieces: usize,
}

impl Shape {
    /// Sizes for a browser. A block is a little larger than 64 KiB. From that size on Chromium's LevelDB keeps values as
    /// files of their own, so a deletion frees their space. Smaller values stay as garbage.
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

    /// Tiny sizes: a few hundred rows make many blocks, segments, levels and partitions. For tests and lessons.
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
            pausable: false,
            salvage: false,
            expects_data: false,
            shape: Shape::DEFAULT,
            form: Form::Fast,
            reserve_bytes: RESERVE_BYTES,
        }
    }
}

impl Options {
    /// The defaults for an instance of this kind (I4). A capacity instance stores less and uses half the memory: its
    /// blocks are twice as large and dense.
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

    /// The same where segments are files. A deletion frees the space of small blocks too there, and a read of one row has
    /// less to decode. Blocks have a thirty-second of the size: 2.25 KiB, in a capacity instance 4.5. With twice as much,
    /// data takes a sixth less space, and a cold get a fifth more time.
    #[must_use]
    pub fn in_files(mut self) -> Self {
        self.shape.block_bytes /= 32;
        self
    }
}
