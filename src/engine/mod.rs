//! The engine: trees of rows on a [`Storage`], one writer, many snapshots.
//!
//! It knows keys and fragments of rows, not tables: what a tree means, and what a write may say, is decided above. Its
//! parts, in the order of a row's life: a write is decided by [`decide`] (inside a transaction, first put into an
//! [`overlay`]), accepted by [`pending`], made durable by [`commit`], read from [`memtable`], moved into a segment by
//! [`background`] and [`rewrite`] (or put there at once by [`ingest`]), merged by [`compaction`], found again by [`read`]
//! through [`merge`] and [`row`], many pieces through [`images`]; [`version`] says what there is, [`manifest`] stores that,
//! [`backlog`] keeps the log short, [`recover`] opens it again.
//!
//! Everything runs on one thread. No borrow of the state is held over an await: each function takes it for one
//! synchronous section.

mod background;
mod backlog;
mod cache;
mod clock;
mod commit;
mod compaction;
mod decide;
mod dropped;
mod health;
mod images;
mod ingest;
mod large_row;
mod latch;
mod load;
mod manifest;
mod memtable;
mod merge;
mod metrics;
mod overlay;
mod partition;
pub(crate) mod pauses;
mod pending;
mod profile;
mod read;
mod rebuild;
mod recover;
mod reserve;
mod rewrite;
mod row;
mod salvage;
mod segment_writer;
mod slices;
mod snapshots;
mod split;
pub(crate) mod turns;
mod version;

pub use crate::format::columns::Form;
pub use crate::model::{Origin, TreeId};
pub use decide::{Accepted, Decide, Writes};
pub use ingest::{Ingest, Settled};
pub use metrics::{LevelMetrics, Metrics, PartitionMetrics, TreeMetrics};
pub use overlay::Overlay;
pub use partition::PartitionId;
pub(crate) use partition::boundary_behind;
pub use profile::Mass;
pub use read::{Depth, Needs};
pub use row::RowView;
pub use salvage::Missing;
pub(crate) use salvage::or_salvage;

use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::model::InstanceKind;
use crate::model::small_map::SmallMap;
use crate::model::version::Retention;
use crate::storage::{Durability, LogNumber, SegmentId, Storage};
use cache::BlockCache;
use latch::Latch;
use load::Load;
use manifest::Manifests;
use memtable::Memtable;
use metrics::Counters;
use pending::Pending;
use snapshots::Snapshots;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::{Bound, RangeBounds};
use std::rc::{Rc, Weak};
use turns::Turns;
use version::{Edit, Segment, Version};

/// Keys in the engine start with the tree's id.
const TREE_BYTES: usize = 4;

/// How the store's clock follows the device's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// It shows what the device's clock shows. Only stamps never run backwards.
    #[default]
    Device,
    /// It is exactly what [`Env::now_ms`] says: for tests and lessons that travel in time (V10).
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
    /// Whether compaction runs by itself. Without it only [`Engine::compact`] applies retention.
    pub auto_compact: bool,
    /// Opens what can be opened of a damaged store, read-only; [`Engine::missing`] tells what cannot.
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
            reserve_bytes: crate::model::limits::RESERVE_BYTES,
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

/// A range of encoded keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Its lower end.
    pub lower: Bound<Vec<u8>>,
    /// Its upper end.
    pub upper: Bound<Vec<u8>>,
}

/// A [`KeyRange`], borrowed.
type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Whether a key lies in a range.
fn within(bounds: Bounds<'_>, key: &[u8]) -> bool {
    RangeBounds::<[u8]>::contains(&bounds, key)
}

impl KeyRange {
    fn bounds(&self) -> Bounds<'_> {
        (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice))
    }

    fn contains(&self, key: &[u8]) -> bool {
        within(self.bounds(), key)
    }
}

/// Which way a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending.
    Forward,
    /// Descending.
    Backward,
}

/// The engine.
pub struct Engine<S> {
    me: Weak<Self>,
    storage: S,
    env: Rc<dyn Env>,
    options: Options,
    cache: BlockCache,
    images: images::Images,
    snapshots: Snapshots,
    turns: Turns,
    /// Whose turn it is to write blocks, and to take the lead.
    staging: Turns,
    leading: Turns,
    committing: Cell<bool>,
    flushing: Cell<bool>,
    compacting: Cell<bool>,
    /// Somebody waits until nothing is written, to flush then.
    watching: Cell<bool>,
    /// The next log number when that was tried last.
    flushed_for: Cell<LogNumber>,
    /// Nothing has been started in the background since the opening.
    at_rest: Cell<bool>,
    last_stamp: Cell<i64>,
    clock: clock::DeviceClock,
    health: health::Health,
    /// How many commits failed.
    failures: Cell<u64>,
    load: Load,
    /// When it was first seen that something waits to be compacted that nothing has started, ms of the steady clock.
    due_since: Cell<Option<i64>>,
    /// Partitions that hold too much of one partition key, and how much that was.
    of_one_key: RefCell<SmallMap<PartitionId, u64>>,
    next_segment: Cell<u64>,
    /// The number of the load that began last.
    last_load: Cell<u64>,
    slices: slices::Slices,
    passed: compaction::Passed,
    reserve: reserve::Reserve,
    /// There was no room to take the lead: nothing may be written before.
    lead_due: Cell<bool>,
    /// What could not be read of a store that is salvaged.
    missing: RefCell<Vec<Missing>>,
    state: RefCell<State>,
}

/// What changes while the engine runs.
struct State {
    epoch: u64,
    version: Rc<Version>,
    manifests: Manifests,
    /// How often a segment that parts still name came to be mostly used by nobody.
    left_over: u64,
    memtable: Rc<Memtable>,
    /// Memtables that wait to be flushed, oldest first.
    frozen: VecDeque<Rc<Memtable>>,
    pending: Pending,
    edits: Vec<commit::PendingEdit>,
    /// Loads that are neither stored nor given up.
    loads: Vec<Rc<ingest::Loading>>,
    /// The newest write that ordinary reads see.
    visible_seqno: u64,
    next_log: LogNumber,
    /// Log records that are stored, with their sizes; older leadership records are not listed.
    log: VecDeque<(LogNumber, u64)>,
    /// Never trimmed: they keep stale leaders out.
    leaderships: Vec<LogNumber>,
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
    /// Why the last flush failed. It is tried again when writes wait for it, or on demand.
    flush_error: Option<Error>,
    /// The version changed since compaction found nothing to do.
    shape_changed: bool,
    /// Set, and replaced, whenever background work ends.
    idle: Rc<Latch<()>>,
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

    /// Whether deletions go on although no more writes are taken, because there was no room for the flush. Memory stays
    /// bounded, by one memtable more.
    fn may_delete(&self) -> bool {
        let full = self.flush_error.as_ref().is_some_and(|error| error.code() == Code::QuotaExceeded);
        full && self.pending.frees_next() && self.frozen.len() == commit::MAX_FROZEN
    }

    /// Whether writes wait for a flush.
    fn waits_for_flush(&self) -> bool {
        self.held_up() && self.pending.has_groups() && !self.may_delete()
    }
}

/// The tree that a full key begins with.
fn tree_of(key: &[u8]) -> Option<TreeId> {
    key.first_chunk::<TREE_BYTES>().map(|id| TreeId(u32::from_be_bytes(*id)))
}

fn full_key(tree: TreeId, key: &[u8]) -> Box<[u8]> {
    let mut full = Vec::with_capacity(TREE_BYTES + key.len());
    full.extend_from_slice(&tree.0.to_be_bytes());
    full.extend_from_slice(key);
    full.into()
}

/// The same range with the tree before its keys.
fn tree_range(tree: TreeId, range: KeyRange) -> KeyRange {
    let full = |key: Vec<u8>| full_key(tree, &key).into_vec();
    let lower = match range.lower.map(full) {
        Bound::Unbounded => Bound::Included(tree.0.to_be_bytes().to_vec()),
        bound => bound,
    };
    let upper = match range.upper.map(full) {
        // Encoded keys never start with FF, so this is behind all of the tree's.
        Bound::Unbounded => Bound::Excluded(full_key(tree, &[0xFF]).into_vec()),
        bound => bound,
    };
    KeyRange { lower, upper }
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
        self.env.spawn(Box::pin(self.measured(task)));
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

    /// What compaction keeps of a tree's rows.
    pub fn set_retention(&self, tree: TreeId, retention: Retention) {
        let mut state = self.state.borrow_mut();
        if state.retentions.get(&tree).is_some_and(|kept| kept.retention != retention) {
            // Whatever is due now is so by these options.
            self.due_since.set(None);
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
        self.wake_idle();
        // Edits wait too.
        self.kick();
    }

    /// Finishes what was accepted and lets go of the storage. What comes later is refused with `Closed`.
    pub async fn close(&self) {
        self.settled().await;
        if self.is_ready() && !self.is_read_only() && self.state.borrow().is_worth_a_flush() {
            // No compaction begins any more: it would be cut off.
            self.compacting.set(true);
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
