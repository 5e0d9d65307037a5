//! The engine: trees of rows on a [`Storage`], one writer, many snapshots.
//!
//! It knows keys and fragments of rows, not tables: what a tree means, and what a write may say, is decided above. Its
//! parts, in the order of a row's life: a write is decided by [`decide`] (inside a transaction, first put into an
//! [`overlay`]), accepted by [`pending`], made durable by [`commit`], read from [`memtable`], moved into a segment by
//! [`background`] and [`rewrite`] (or put there at once by [`ingest`]), merged by [`compaction`], found again by [`read`]
//! through [`merge`] and [`row`], many pieces through [`images`]; [`version`] says what there is, [`manifest`] stores that,
//! [`backlog`] keeps the log short, [`recover`] opens it again.
//!
//! No two files use each other. What the engine holds is defined in files that do not know the engine; what it does with
//! that, in files that nobody names.
//!
//! Everything runs on one thread. No borrow of the state is held over an await: each function takes it for one
//! synchronous section.

mod background;
mod backlog;
mod bulk_load;
mod cache;
mod clock;
mod commit;
mod compaction;
mod contents;
mod counters;
mod decide;
mod dropped;
mod health;
mod holds;
mod housekeeping;
mod images;
mod ingest;
mod keys;
mod large_row;
mod latch;
mod leadership;
mod load;
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
mod rebuild;
mod recover;
mod reserve;
mod rewrite;
mod room;
mod row;
mod salvage;
mod sampler;
mod segment_writer;
mod slices;
mod snapshot;
mod split;
pub(crate) mod turns;
mod version;

pub use crate::format::columns::Form;
pub use crate::model::{Origin, TreeId};
pub use bulk_load::Settled;
pub use decide::{Accepted, Decide, Writes};
pub use ingest::Ingest;
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
use crate::model::small_map::SmallMap;
use crate::model::version::Retention;
use crate::storage::{LogNumber, SegmentId, Storage};
use bulk_load::BulkLoads;
use cache::BlockCache;
use clock::Clock;
use counters::Counters;
use health::Health;
use holds::Holds;
use housekeeping::Housekeeping;
use latch::Latch;
use leadership::Leadership;
use load::Load;
use manifest::Manifests;
use memtable::Memtable;
use part::Segment;
use pending::{Pending, PendingEdit};
use slices::Slices;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use turns::Turns;
use version::{Edit, Version};

/// The engine.
pub struct Engine<S> {
    me: Weak<Self>,
    storage: S,
    env: Rc<dyn Env>,
    options: Options,
    cache: BlockCache,
    images: images::Images,
    holds: Holds,
    turns: Turns,
    committing: Cell<bool>,
    leadership: Leadership,
    house: Housekeeping,
    loads: BulkLoads,
    last_stamp: Cell<i64>,
    clock: Clock,
    health: Health,
    /// How many commits failed.
    failures: Cell<u64>,
    load: Load,
    slices: Rc<Slices>,
    reserve: reserve::Reserve,
    /// What could not be read of a store that is salvaged.
    missing: RefCell<Vec<Missing>>,
    state: RefCell<State>,
}

/// What changes while the engine runs.
struct State {
    version: Rc<Version>,
    manifests: Manifests,
    /// How often a segment that parts still name came to be mostly used by nobody.
    left_over: u64,
    memtable: Rc<Memtable>,
    /// Memtables that wait to be flushed, oldest first.
    frozen: VecDeque<Rc<Memtable>>,
    pending: Pending,
    edits: Vec<PendingEdit>,
    /// The newest write that ordinary reads see.
    visible_seqno: u64,
    next_log: LogNumber,
    /// Log records that are stored, with their sizes; older leadership records are not listed.
    log: VecDeque<(LogNumber, u64)>,
    /// Segments that no version names and that somebody may still read.
    obsolete: Vec<Rc<Segment>>,
    /// Segments that were staged for commits that failed. Of some it is not known yet whether a version names them.
    doubtful: Vec<SegmentId>,
    dropped_trees: dropped::Dropped,
    retentions: SmallMap<TreeId, Kept>,
    /// Why nothing works any more.
    dead: Option<Error>,
    /// A commit failed and may have taken effect.
    uncertain: bool,
    /// Set while somebody looks whether it did.
    finding: Option<Rc<Latch<Result<()>>>>,
    counters: Counters,
}

/// What compaction keeps of a tree's rows.
#[derive(Clone, Copy, Debug)]
struct Kept {
    retention: Retention,
    /// Log records before this one may delete a version that hides another one only since `max_versions` was lowered. Not
    /// known while such a write may be pending.
    since: Option<LogNumber>,
    /// The newest write that was accepted before.
    lowered_at: u64,
}

impl State {
    /// What is kept of rows of which nothing lies below what is merged. How many versions hide an older one is known only
    /// once everything newer is there (`whole`): a version that is deleted above must not take another one along, which was
    /// never hidden.
    fn kept(&self, tree: TreeId, whole: bool) -> Retention {
        match self.retentions.get(&tree) {
            Some(kept) if whole && kept.since.is_some_and(|since| self.version.log_start >= since) => kept.retention,
            Some(kept) => Retention { max_versions: u32::MAX, ..kept.retention },
            None => Retention::ALL,
        }
    }

    /// The first log record that what is in memory cannot be in.
    fn behind_memory(&self) -> LogNumber {
        let nothing = self.memtable.is_empty() && self.frozen.is_empty();
        if nothing { LogNumber::default() } else { self.next_log }
    }

    /// Memory is about to go into segments: what was pending when fewer versions came to be kept is there, or has failed.
    fn settle_retentions(&mut self) {
        if self.uncertain {
            return;
        }
        let since = self.behind_memory();
        for kept in self.retentions.values_mut() {
            if kept.since.is_none() && !self.pending.holds_up_to(kept.lowered_at) {
                kept.since = Some(since);
            }
        }
    }
}

impl<S: Storage> Engine<S> {
    pub(crate) fn check_alive(&self) -> Result<()> {
        self.state.borrow().dead.clone().map_or(Ok(()), Err)
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
        self.last_stamp.get()
    }

    /// The place of the newest write among all writes.
    #[must_use]
    pub fn last_seqno(&self) -> u64 {
        self.state.borrow().pending.last_seqno()
    }

    /// How many commits have failed so far, and flushes that writes waited for. What was to be stored by a write before
    /// is stored if its call said so, and may be lost if this number has changed since.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures.get()
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

    /// What compaction keeps of a tree's rows.
    pub fn set_retention(&self, tree: TreeId, retention: Retention) {
        let mut state = self.state.borrow_mut();
        if state.retentions.get(&tree).is_some_and(|kept| kept.retention != retention) {
            // Whatever is due now is so by these options.
            self.house.compacting.due_since.set(None);
            self.images.clear();
        }
        let kept = match state.retentions.get(&tree) {
            Some(kept) if kept.retention.max_versions <= retention.max_versions => Kept { retention, ..*kept },
            _ => {
                let settled = !state.uncertain && state.pending.group_of_tree(tree).is_none();
                let since = settled.then(|| state.behind_memory());
                Kept { retention, since, lowered_at: state.pending.last_seqno() }
            }
        };
        state.retentions.insert(tree, kept);
    }

    /// The trees of which something is stored; some come more than once.
    pub(crate) fn trees(&self) -> Vec<TreeId> {
        let state = self.state.borrow();
        let mut found: Vec<TreeId> = state.version.trees.keys().copied().collect();
        for memtable in state.frozen.iter().chain([&state.memtable]) {
            found.extend(memtable.rows().trees());
        }
        found
    }

    /// Says which trees there are; what others left behind is given back in the background.
    pub fn retain_trees(&self, live: &[TreeId]) {
        if !self.is_read_only() {
            self.drop_trees(self.trees().into_iter().filter(|tree| !live.contains(tree)).collect());
        }
    }

    /// Deletes a tree; its space is given back in the background. Nothing may write to it any more.
    pub fn drop_tree(&self, tree: TreeId) {
        self.drop_trees(vec![tree]);
    }

    fn drop_trees(&self, trees: Vec<TreeId>) {
        let Some(engine) = self.me.upgrade() else { return };
        if trees.is_empty() {
            return;
        }
        let mut state = self.state.borrow_mut();
        for tree in &trees {
            state.dropped_trees.insert(*tree);
            state.retentions.remove(tree);
        }
        drop(state);
        self.spawn(Box::pin(async move {
            if let Err(error) = engine.commit_edit(Edit { drop_trees: trees, ..Edit::default() }).await {
                log::warn!("a deleted table's space is given back at the next opening: {error}");
            }
        }));
    }

    /// Ends the engine: whatever comes is refused with `error`, until the store is opened again.
    pub fn stop(&self, error: Error) {
        let (error, groups) = {
            let mut state = self.state.borrow_mut();
            let error = state.dead.get_or_insert(error).clone();
            (error, state.pending.fail_waiting())
        };
        pending::fail(groups, &error);
        self.reserve.end();
        self.house.wake_idle();
        // Edits wait too.
        self.kick();
    }

    /// Finishes what was accepted and lets go of the storage. What comes later is refused with `Closed`.
    pub async fn close(&self) {
        self.settled().await;
        if self.is_ready() && !self.is_read_only() && self.state.borrow().is_worth_a_flush() {
            // No compaction begins any more: it would be cut off.
            self.house.compacting.is_running.set(true);
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
