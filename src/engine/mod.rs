//! The engine: trees of rows on a [`Storage`], one writer, many snapshots.
//!
//! It knows keys and fragments of rows, not tables: what a tree means, and what a write may say, is decided above. Its
//! parts, in the order of a row's life: a write is decided by [`decide`] (inside a transaction, first put into an
//! [`overlay`]), accepted by [`pending`], made durable by [`commit`], read from [`memtable`], moved into a segment by
//! [`background`] and [`rewrite`] (or put there at once by [`bulk_loader`]), merged by [`compaction`], found again by [`read`]
//! through [`merge`] and [`row`], many pieces through [`images`]; [`version`] says what there is, [`manifest`] stores that,
//! [`backlog`] keeps the log short, [`recover`] opens it again.
//!
//! What changes has owners: [`commit_line`] has what waits to be stored, [`view`] what there is, [`leadership`] the lead,
//! [`housekeeping`] flushes and compactions, [`bulk_load`] loads, [`garbage`] segments to delete, [`reserve`] room for
//! deletions. Owners do not know the engine, which wires them. No two files use each other.
//!
//! Everything runs on one thread. No borrow is held over an await: each function takes it for one
//! synchronous section.

mod background;
mod backlog;
mod bulk_load;
mod bulk_loader;
mod cache;
mod clock;
mod commit;
mod commit_line;
mod compaction;
mod contents;
mod counters;
mod decide;
mod dropped_trees;
mod garbage;
mod health;
mod holds;
mod housekeeping;
mod images;
mod keys;
mod large_row;
mod latch;
mod leadership;
mod manifest;
mod memtable;
mod merge;
mod metrics;
mod missing;
mod options;
mod overlay;
mod part;
mod partition;
pub(crate) mod pauses;
mod pending;
mod profile;
mod read;
mod ready;
mod rebuild;
mod recover;
mod reserve;
mod retentions;
mod rewrite;
mod room;
mod row;
mod salvage;
mod sampler;
mod segment_writer;
mod slices;
mod snapshot;
mod split;
mod sweep;
mod traffic;
mod trees;
pub(crate) mod turns;
mod version;
mod view;

pub use crate::format::columns::Form;
pub use crate::model::{Origin, TreeId};
pub use bulk_load::LoadListener;
pub use bulk_loader::BulkLoader;
pub use decide::{Decide, Receipt, Writes};
pub(crate) use keys::boundary_behind;
pub use keys::{Direction, KeyRange};
pub use metrics::{LevelMetrics, Metrics, PartitionMetrics, TreeMetrics};
pub use missing::Missing;
pub(crate) use missing::or_salvage;
pub use options::{ClockMode, Options, Shape};
pub use overlay::Overlay;
pub use partition::PartitionId;
pub use profile::Mass;
pub use read::{Depth, Needs};
pub use row::RowView;

use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::storage::Storage;
use bulk_load::BulkLoads;
use cache::BlockCache;
use clock::Clock;
use commit_line::CommitLine;
use counters::Counters;
use health::Health;
use holds::Holds;
use housekeeping::Housekeeping;
use images::Images;
use leadership::Leadership;
use reserve::Reserve;
use slices::Slices;
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use traffic::Traffic;
use turns::Turns;
use view::View;

/// The engine.
pub struct Engine<S> {
    me: Weak<Self>,
    storage: S,
    env: Rc<dyn Env>,
    options: Options,
    cache: BlockCache,
    images: Images,
    holds: Holds,
    /// Whose turn it is on each row.
    turns: Turns,
    leadership: Leadership,
    /// What waits to be stored.
    line: CommitLine,
    /// What there is.
    view: RefCell<View>,
    loads: BulkLoads,
    house: Housekeeping,
    reserve: Reserve,
    traffic: Traffic,
    slices: Rc<Slices>,
    clock: Clock,
    health: Health,
    counters: Counters,
    /// What could not be read of a store that is salvaged.
    missing: RefCell<Vec<Missing>>,
}

impl<S: Storage> Engine<S> {
    pub(crate) fn check_alive(&self) -> Result<()> {
        self.line.check_alive()
    }

    /// Random bytes.
    #[must_use]
    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.env.fill_random(&mut bytes);
        bytes
    }

    /// Runs `task` in the background, some time after this call returns.
    pub(crate) fn spawn(&self, task: LocalFuture<()>) {
        self.env.spawn(Box::pin(Rc::clone(&self.slices).measured(task)));
    }

    /// A stamp that no write's is above, those before a restart included.
    #[must_use]
    pub fn last_stamp(&self) -> i64 {
        self.line.last_stamp()
    }

    /// The place of the newest write among all writes.
    #[must_use]
    pub fn last_seqno(&self) -> u64 {
        self.line.last_seqno()
    }

    /// How many commits have failed so far, and flushes that writes waited for. What was to be stored by a write before
    /// is stored if its call said so, and may be lost if this number has changed since.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.line.failures()
    }

    /// Lets other work go first.
    pub async fn yield_now(&self) {
        self.env.yield_now().await;
    }

    /// Lets so much time pass, or more. It keeps nothing of the engine.
    pub(crate) fn sleep(&self, ms: u32) -> LocalFuture<()> {
        self.env.sleep(ms)
    }

    /// The store's clock, in ms since 1970 UTC (V10): the device's, or the injected one.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// A clock that measures how long something lasts, ms: it only goes forward, whatever the device's clock does. An
    /// injected clock stands for both (V10).
    #[must_use]
    pub fn steady_ms(&self) -> i64 {
        self.clock.steady_ms()
    }

    /// Has `listener` told of each trouble that does not end the engine: the device's clock jumps; compaction meets a
    /// damaged record, a read a damaged index, or other work in the background fails, with the tree that it is of. `None`: work
    /// on the tree that had failed goes on. At once it hears of what nobody has heard of.
    pub fn on_trouble(&self, listener: impl Fn(Option<TreeId>, Option<&Error>) + 'static) {
        self.health.listen(listener);
    }

    /// Tells that work on a tree fails.
    pub(crate) fn tell_trouble(&self, tree: TreeId, trouble: Error) {
        self.health.tell(Some(tree), trouble);
    }

    /// Tells that work on a tree goes on that had failed.
    pub(crate) fn tell_mended(&self, tree: TreeId) {
        self.health.tell_mended(tree);
    }

    /// Ends the engine: whatever comes is refused with `error`, until the store is opened again.
    pub fn stop(&self, error: Error) {
        let error = self.line.end(error);
        let groups = self.line.pending.borrow_mut().fail_waiting();
        pending::fail(groups, &error);
        self.reserve.end();
        self.house.wake_idle();
        // Edits wait too.
        self.kick();
    }

    /// Finishes what was accepted and lets go of the storage. What comes later is refused with `Closed`.
    pub async fn close(&self) {
        self.settled().await;
        if self.is_ready() && !self.is_read_only() && self.view.borrow().is_worth_a_flush() {
            // No compaction begins any more: it would be cut off.
            self.house.compactions.is_running.set(true);
            if let Err(error) = self.flush().await {
                log::warn!("the next opening has more to replay: {error}");
            }
        }
        self.stop(Error::new(Code::Closed, "the database is closed"));
        self.storage.close().await;
    }
}

#[cfg(test)]
mod tests;
