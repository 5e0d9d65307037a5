//! The storages of an engine in a browser or in Node as one type, so that the engine is compiled once.

use super::files::FilesOfHost;
use super::idb::IdbStorage;
use crate::error::Result;
use crate::storage::files::{FileStorage, LogInFiles};
use crate::storage::{BlockId, Commit, Durability, Loaded, LogNumber, LogStart, MemoryStorage, SegmentId, Storage};
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;

/// One of the storages.
pub enum AnyStorage {
    /// IndexedDB: persistent.
    Idb(IdbStorage),
    /// IndexedDB with the log in files; files of the host; memory, lost with the page or the worker.
    Other(Box<dyn BoxedStorage>),
}

impl AnyStorage {
    /// A storage in memory.
    #[must_use]
    pub fn memory(storage: MemoryStorage) -> Self {
        Self::Other(Box::new(storage))
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// [`Storage::has_log_in_files`] of any storage.
pub trait LogPlace {
    /// Whether the log is in files now.
    fn has_log_in_files(&self) -> bool;
}

impl<S: Storage> LogPlace for S {
    fn has_log_in_files(&self) -> bool {
        Storage::has_log_in_files(self)
    }
}

/// The calls with boxed futures, for the rarer storages, whose modules make the boxes.
macro_rules! calls {
    ($($call:ident ( $($argument:ident : $kind:ty),* ) -> $answer:ty;)*) => {
        /// A [`Storage`] whose calls give boxed futures.
        #[expect(missing_docs, reason = "the calls of Storage")]
        pub trait BoxedStorage: LogPlace {
            $(fn $call<'a>(&'a self, $($argument: $kind),*) -> Boxed<'a, $answer>;)*
        }

        impl BoxedStorage for MemoryStorage {
            $(fn $call<'a>(&'a self, $($argument: $kind),*) -> Boxed<'a, $answer> {
                Box::pin(Storage::$call(self, $($argument),*))
            })*
        }

        impl BoxedStorage for LogInFiles<IdbStorage, FilesOfHost> {
            $(fn $call<'a>(&'a self, $($argument: $kind),*) -> Boxed<'a, $answer> {
                Box::pin(Storage::$call(self, $($argument),*))
            })*
        }

        impl BoxedStorage for FileStorage<FilesOfHost> {
            $(fn $call<'a>(&'a self, $($argument: $kind),*) -> Boxed<'a, $answer> {
                Box::pin(Storage::$call(self, $($argument),*))
            })*
        }
    };
}

calls! {
    load(from: &'a LogStart<'a>) -> Result<Loaded>;
    read_log(from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>>;
    get_blocks(blocks: &'a [BlockId]) -> Result<Vec<Option<Bytes>>>;
    stage(segment: SegmentId, blocks: Vec<(u32, Bytes)>, durability: Durability) -> Result<()>;
    commit(commit: Commit) -> Result<()>;
    list_segments() -> Result<Vec<SegmentId>>;
    delete_segments(segments: &'a [SegmentId]) -> Result<()>;
    squeeze() -> bool;
    close() -> ();
}

/// The storages' futures are large and are awaited in many places. In a box, each is compiled once.
macro_rules! forward {
    ($self:ident . $call:ident ( $($argument:expr),* )) => {{
        let future: Boxed<'_, _> = match $self {
            Self::Idb(storage) => Box::pin(storage.$call($($argument),*)),
            Self::Other(storage) => storage.$call($($argument),*),
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

    fn has_log_in_files(&self) -> bool {
        match self {
            Self::Idb(storage) => Storage::has_log_in_files(storage),
            Self::Other(storage) => storage.has_log_in_files(),
        }
    }

    async fn close(&self) {
        forward!(self.close());
    }
}
