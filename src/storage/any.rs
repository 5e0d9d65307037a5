//! Every storage as one type, so that the engine and the layers above it are compiled once.
//!
//! A call gives a boxed future: the future of a storage is large, and the engine awaits it in many places.

use super::files::File;
use super::{BlockId, Boxed, Commit, Durability, Loaded, LogNumber, LogStart, SegmentId};
use crate::error::Result;
use bytes::Bytes;
use std::fmt;
use std::ops::Deref;

/// The calls of a [`Storage`](super::Storage), with futures in boxes. [`boxed_storage!`](crate::boxed_storage) implements it.
#[expect(missing_docs, reason = "the calls of Storage")]
pub trait BoxedStorage {
    fn load<'a>(&'a self, from: &'a LogStart<'a>) -> Boxed<'a, Result<Loaded>>;
    fn read_log<'a>(&'a self, from: LogNumber) -> Boxed<'a, Result<Vec<(LogNumber, Bytes)>>>;
    fn get_blocks<'a>(&'a self, blocks: &'a [BlockId]) -> Boxed<'a, Result<Vec<Option<Bytes>>>>;
    fn stage<'a>(
        &'a self,
        segment: SegmentId,
        blocks: Vec<(u32, Bytes)>,
        durability: Durability,
    ) -> Boxed<'a, Result<()>>;
    fn commit<'a>(&'a self, commit: Commit) -> Boxed<'a, Result<()>>;
    fn list_segments<'a>(&'a self) -> Boxed<'a, Result<Vec<SegmentId>>>;
    fn delete_segments<'a>(&'a self, segments: &'a [SegmentId]) -> Boxed<'a, Result<()>>;
    fn squeeze<'a>(&'a self) -> Boxed<'a, bool>;
    fn scratch(&self) -> Option<Boxed<'_, Option<Box<dyn File>>>>;
    fn close<'a>(&'a self) -> Boxed<'a, ()>;
    fn newest_log(&self) -> Option<LogNumber>;
    fn has_log_in_files(&self) -> bool;
}

/// A [`Storage`](super::Storage) of any kind. Its calls are those of [`BoxedStorage`].
pub struct AnyStorage(Box<dyn BoxedStorage>);

impl<S: BoxedStorage + 'static> From<S> for AnyStorage {
    fn from(storage: S) -> Self {
        Self(Box::new(storage))
    }
}

impl Deref for AnyStorage {
    type Target = dyn BoxedStorage;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for AnyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyStorage").finish_non_exhaustive()
    }
}

/// Implements [`BoxedStorage`] for a [`Storage`](crate::storage::Storage): `boxed_storage!(Disk)`, or
/// `boxed_storage!(FileStorage<D> where D: Folder)`. One implementation for all would do, but its functions would have one name. The
/// build of the wasm file tells by these names which functions belong to a module.
#[macro_export]
macro_rules! boxed_storage {
    ($storage:ty $(where $($parameter:ident: $bound:path),*)?) => {
        impl$(<$($parameter: $bound),*>)? $crate::storage::BoxedStorage for $storage {
            fn load<'a>(&'a self, from: &'a $crate::storage::LogStart<'a>) -> $crate::storage::Boxed<'a, $crate::Result<$crate::storage::Loaded>> {
                Box::pin($crate::storage::Storage::load(self, from))
            }

            fn read_log<'a>(&'a self, from: $crate::storage::LogNumber) -> $crate::storage::Boxed<'a, $crate::Result<Vec<($crate::storage::LogNumber, bytes::Bytes)>>> {
                Box::pin($crate::storage::Storage::read_log(self, from))
            }

            fn get_blocks<'a>(&'a self, blocks: &'a [$crate::storage::BlockId]) -> $crate::storage::Boxed<'a, $crate::Result<Vec<Option<bytes::Bytes>>>> {
                Box::pin($crate::storage::Storage::get_blocks(self, blocks))
            }

            fn stage<'a>(&'a self, segment: $crate::storage::SegmentId, blocks: Vec<(u32, bytes::Bytes)>, durability: $crate::storage::Durability) -> $crate::storage::Boxed<'a, $crate::Result<()>> {
                Box::pin($crate::storage::Storage::stage(self, segment, blocks, durability))
            }

            fn commit<'a>(&'a self, commit: $crate::storage::Commit) -> $crate::storage::Boxed<'a, $crate::Result<()>> {
                Box::pin($crate::storage::Storage::commit(self, commit))
            }

            fn list_segments<'a>(&'a self) -> $crate::storage::Boxed<'a, $crate::Result<Vec<$crate::storage::SegmentId>>> {
                Box::pin($crate::storage::Storage::list_segments(self))
            }

            fn delete_segments<'a>(&'a self, segments: &'a [$crate::storage::SegmentId]) -> $crate::storage::Boxed<'a, $crate::Result<()>> {
                Box::pin($crate::storage::Storage::delete_segments(self, segments))
            }

            fn squeeze<'a>(&'a self) -> $crate::storage::Boxed<'a, bool> {
                Box::pin($crate::storage::Storage::squeeze(self))
            }

            fn scratch(&self) -> Option<$crate::storage::Boxed<'_, Option<Box<dyn $crate::storage::files::File>>>> {
                $crate::storage::Storage::scratch(self)
            }

            fn close<'a>(&'a self) -> $crate::storage::Boxed<'a, ()> {
                Box::pin($crate::storage::Storage::close(self))
            }

            fn newest_log(&self) -> Option<$crate::storage::LogNumber> {
                $crate::storage::Storage::newest_log(self)
            }

            fn has_log_in_files(&self) -> bool {
                $crate::storage::Storage::has_log_in_files(self)
            }
        }
    };
}
