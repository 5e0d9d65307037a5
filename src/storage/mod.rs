//! The engine's only access to the outside: the storage of its bytes.
//!
//! A storage keeps three kinds of records for one instance: numbered **log** records, **blocks** of segments, and
//! numbered **manifests**. It does not know their content. No transaction stays open between two calls, because an
//! IndexedDB transaction ends at the first foreign await.
//!
//! [`contract`] has the promises of every implementation as tests, and runs on each of them.

mod any;
pub mod contract;
pub mod faults;
pub mod files;
mod memory;

pub use crate::model::{BlockId, LogNumber, ManifestId, SegmentId};
pub use any::{AnyStorage, BoxedStorage};
pub use memory::MemoryStorage;

use crate::error::{Code, Error, Result};
use bytes::Bytes;
use serde::Deserialize;
use std::fmt;
use std::pin::Pin;

/// The future of a call.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// When a commit is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The operating system has the bytes. They survive the death of the browser, but not a power cut in the same
    /// seconds.
    #[default]
    Relaxed,
    /// The device flushed first.
    Strict,
}

/// One small atomic change of the store: all of it happens, or none.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// Log records to add. A number that is present fails the whole commit with `Fenced`.
    pub log: Vec<(LogNumber, Bytes)>,
    /// The next manifest. An id that is present, or older than one that is, fails the whole commit with `Fenced`.
    pub manifest: Option<(ManifestId, Bytes)>,
    /// The first manifest that is still needed: earlier ones are deleted.
    pub first_manifest: ManifestId,
    /// Segments to delete with all their blocks.
    pub drop_segments: Vec<SegmentId>,
    /// Single log records to delete. A range would not do: leadership records in it are kept for ever.
    pub trim_log: Vec<LogNumber>,
    /// When the commit is complete.
    pub durability: Durability,
}

/// Returns the first log record that these manifests need; they come newest first.
pub type LogStart<'a> = dyn Fn(&[(ManifestId, Bytes)]) -> Result<LogNumber> + 'a;

/// The content of a storage without blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The manifests; newest first. Empty in a new store.
    pub manifests: Vec<(ManifestId, Bytes)>,
    /// Log records, in ascending order.
    pub log: Vec<(LogNumber, Bytes)>,
}

/// The storage of an instance's bytes.
///
/// # Errors
/// All calls: `Unavailable` if the storage is lost and could not be reopened, `QuotaExceeded` if a write did not fit
/// (nothing of it was stored), `Closed` after [`Storage::close`].
#[expect(async_fn_in_trait, reason = "one thread: no future has to be Send")]
pub trait Storage: 'static {
    /// Reads the manifests, and the log from the record that `from` returns for them, all at one instant. An error of
    /// `from` is the result. It may be called again.
    async fn load(&self, from: &LogStart<'_>) -> Result<Loaded>;

    /// Every log record from `from` on, in ascending order.
    async fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>>;

    /// The newest log record, if the storage knows it without a request.
    fn newest_log(&self) -> Option<LogNumber> {
        None
    }

    /// The records of `blocks`, in their order, in one trip; `None` for a missing one.
    async fn get_blocks(&self, blocks: &[BlockId]) -> Result<Vec<Option<Bytes>>>;

    /// Stores records of a segment that no manifest names yet. Strictly stored records are on the device when a commit
    /// names them. A later strict call does not cover earlier relaxed ones. Atomic, with at most [`STAGE_BYTES`] a call
    /// (a single larger record is accepted alone). Records of the same number are replaced.
    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>, durability: Durability) -> Result<()>;

    /// Makes one atomic change; resolves when it is done.
    async fn commit(&self, commit: Commit) -> Result<()>;

    /// The segments that have at least one stored record, in ascending order.
    async fn list_segments(&self) -> Result<Vec<SegmentId>>;

    /// Deletes all records of these segments.
    async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()>;

    /// Works on what deleted records still take. A commit was refused although enough was deleted. Returns whether there
    /// may be more room now.
    async fn squeeze(&self) -> bool {
        false
    }

    /// Whether its log is in files now. Others read each record on its own, which takes longer.
    fn has_log_in_files(&self) -> bool {
        false
    }

    /// Opens a file beside it for what may be lost, where there are files. No other process has it open then.
    fn scratch(&self) -> Option<Boxed<'_, Option<Box<dyn files::File>>>> {
        None
    }

    /// Releases everything this storage holds. Idempotent.
    async fn close(&self);
}

/// The fence of a storage: a number that each leader whose log is not in the storage raises, and what it says of that log.
/// A new storage has number 0 and no note.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    /// The number.
    pub number: u64,
    /// Where the log is, for the leader that has this number. Empty if it is in the storage.
    pub note: Bytes,
}

impl Fence {
    /// Refuses a leader with another number.
    ///
    /// # Errors
    /// `Fenced`.
    pub(crate) fn check(&self, number: u64) -> Result<()> {
        if self.number == number { Ok(()) } else { Err(fenced(format_args!("the fence is at {}", self.number))) }
    }
}

/// A storage that may have a log outside of it, which it cannot fence off by the numbers of its records.
#[expect(async_fn_in_trait, reason = "one thread: no future has to be Send")]
pub trait FencedStorage: Storage {
    /// The fence as it is stored now.
    async fn fence(&self) -> Result<Fence>;

    /// Makes a commit, if the fence has this number, and changes the fence with it. Otherwise it fails with `Fenced`. While the
    /// note is not empty, versions of this library that know no fence refuse to open the store.
    async fn commit_behind(&self, commit: Commit, number: u64, changed: Option<&Fence>) -> Result<()>;

    /// Whether the storage can be reached, as far as is known without a call: its data may have been deleted.
    fn is_connected(&self) -> bool {
        true
    }
}

/// The most bytes of one [`Storage::stage`] call: a larger transaction stalls everything else for too long.
pub const STAGE_BYTES: usize = 256 * 1024;

/// Refuses a [`Storage::stage`] call that is larger than [`STAGE_BYTES`]; every implementation calls it first.
///
/// # Errors
/// `Internal`: the engine has to cut its calls.
pub(crate) fn check_stage(blocks: &[(u32, Bytes)]) -> Result<()> {
    let bytes: usize = blocks.iter().map(|(_, bytes)| bytes.len()).sum();
    if bytes > STAGE_BYTES && blocks.len() > 1 {
        return Err(Error::internal(format!("{} blocks of {bytes} bytes staged in one call", blocks.len())));
    }
    Ok(())
}

/// The error of every call on a closed storage.
pub(crate) fn closed() -> Error {
    Error::new(Code::Closed, "the storage is closed")
}

/// The error of a writer that finds another's record in the place of its own.
pub(crate) fn fenced(why: impl fmt::Display) -> Error {
    Error::new(Code::Fenced, format!("another writer has taken over: {why}"))
}
