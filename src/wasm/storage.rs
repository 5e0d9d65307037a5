//! The storages of an engine in a browser as one type, so that the engine is compiled once.

use super::idb::IdbStorage;
use crate::error::Result;
use crate::storage::{BlockId, Commit, Durability, Loaded, LogNumber, LogStart, MemoryStorage, SegmentId, Storage};
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;

/// One of the storages.
pub enum AnyStorage {
    /// IndexedDB: persistent.
    Idb(IdbStorage),
    /// Memory: lost with the page or the worker.
    Memory(MemoryStorage),
}

/// The storages' futures are large and are awaited in many places. In a box, each is compiled once.
macro_rules! forward {
    ($self:ident . $call:ident ( $($argument:expr),* )) => {{
        let future: Pin<Box<dyn Future<Output = _> + '_>> = match $self {
            Self::Idb(storage) => Box::pin(storage.$call($($argument),*)),
            Self::Memory(storage) => Box::pin(storage.$call($($argument),*)),
        };
        future.await
    }};
}

impl Storage for AnyStorage {
    async fn load(&self, from: &LogStart<'_>) -> Result<Loaded> {
        forward!(self.load(from))
    }

    async fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        forward!(self.read_log(from))
    }

    async fn get_blocks(&self, blocks: &[BlockId]) -> Result<Vec<Option<Bytes>>> {
        forward!(self.get_blocks(blocks))
    }

    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>, durability: Durability) -> Result<()> {
        forward!(self.stage(segment, blocks, durability))
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        forward!(self.commit(commit))
    }

    async fn list_segments(&self) -> Result<Vec<SegmentId>> {
        forward!(self.list_segments())
    }

    async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        forward!(self.delete_segments(segments))
    }

    async fn squeeze(&self) -> bool {
        forward!(self.squeeze())
    }

    async fn close(&self) {
        forward!(self.close());
    }
}
