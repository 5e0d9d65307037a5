//! The place of a fragment in a memtable.

/// The place of a chunk among all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkId(pub(super) u32);

/// The place of one fragment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(super) seqno: u64,
    pub(super) chunk: ChunkId,
    pub(super) start: u32,
    pub(super) end: u32,
}
