//! Loads: rows in key order become segments at once, without log, memtable and merge.
//!
//! A load is invisible until its commit, and then visible as a whole: one commit of the storage names its segments. All
//! of its entries share one seqno, taken when the commit is asked for (`Segment::seqno`). Its parts lie above all others
//! of level 0. So for each of its rows, all older data must be in segments by then, and all newer data must come later.
//! Two rules ensure this beforehand, so a commit waits only for writes accepted before it:
//!
//! - A load takes rows only if no write between its first and last row is pending, in a memtable or being decided
//!   ([`BulkLoader::takes`]). Other rows are written the normal way.
//! - A write into the range of an open load has the load committed first, and waits for that ([`Loads::after_loads`](super::write::loads::Loads::after_loads)).
//!
//! A load may bring rows of another tree, which are stored in the same commit ([`BulkLoader::bring`]).
//!
//! Blocks are staged as they fill. If a load fails or is dropped, its staged blocks are deleted; after a crash the next
//! opening does it.

use crate::engine::Engine;
use crate::engine::rows::keys::{KeyRange, full_key};
use crate::engine::segment::writer::SegmentWriter;
use crate::engine::store::load_state::{BulkLoad, LoadEnd, LoadListener, RowsBehind};
use crate::error::Result;
use crate::model::{RowChange, TreeId};
use crate::storage::STAGE_BYTES;
use std::ops::Bound;
use std::rc::Rc;

/// Bytes of blocks that may wait for staging before more rows have to wait.
const WAITING_BYTES: usize = 4 * STAGE_BYTES;

/// Sorted rows of one tree on their way into segments. A loader that is dropped before its commit was asked for leaves no
/// row.
pub struct BulkLoader {
    engine: Rc<Engine>,
    load: Rc<BulkLoad>,
}

impl BulkLoader {
    /// Begins to load sorted rows into a tree.
    pub(in crate::engine) fn new(engine: Rc<Engine>, tree: TreeId) -> Self {
        let load = engine.order.loads.begin(tree);
        Self { engine, load }
    }

    /// Whether the load can take rows from `first` to `last`, which ascend and follow all its rows. If not, write them
    /// the normal way.
    #[must_use]
    pub fn takes(&self, first: &[u8], last: &[u8]) -> bool {
        let Self { engine, load } = self;
        let [first, last] = [first, last].map(|key| full_key(load.tree, key).into_vec());
        if load.seqno.get().is_some()
            || *load.build.borrow().last >= *first
            || !engine.store.is_ready()
            || engine.runtime.is_read_only()
        {
            return false;
        }
        if load.build.borrow().failed.is_some() {
            // Report a full disk with the next rows, not at the end.
            return false;
        }
        let range = KeyRange { lower: Bound::Included(first), upper: Bound::Included(last) };
        let (lower, upper) = range.bounds();
        let view = engine.store.view.borrow();
        engine.order.turns.held_in(&|key| range.contains(key)).is_empty()
            && !view.memtables().any(|memtable| memtable.rows().range(lower, upper).next().is_some())
            && !engine.store.line.pending.borrow().touches(load.tree, |key| range.contains(key))
            && !engine.order.loads.meet(load.tree, &range)
    }

    /// Adds a row. [`BulkLoader::takes`] must have allowed it in the same synchronous section, and keys must ascend.
    ///
    /// # Errors
    /// If the row cannot be encoded; a checked row always can.
    pub fn push(&self, key: &[u8], change: &RowChange<'_>) -> Result<()> {
        let mut build = self.load.build.borrow_mut();
        build.rows += 1;
        self.engine.loads.load_row(&mut build, self.load.tree, key, change)
    }

    /// Adds a row of another tree behind this one, which is stored with the load or not at all. Its keys ascend too. Nobody
    /// writes such a row otherwise: the key of each begins with a number that no other load of the instance has.
    /// A gate of [`Module::Loads`](crate::modules::Module::Loads).
    ///
    /// # Errors
    /// As for [`BulkLoader::push`].
    #[inline(never)]
    pub fn push_beside(&self, tree: TreeId, key: &[u8], change: &RowChange<'_>) -> Result<()> {
        debug_assert_eq!(self.load.beside_tree.get(), Some(tree), "its number was not taken");
        let mut beside = self.load.beside.borrow_mut();
        self.engine.loads.load_row(&mut beside, tree, key, change)?;
        self.load.build.borrow_mut().take_over(&mut beside);
        Ok(())
    }

    /// The number of its rows in another tree, which it is going to have.
    #[must_use]
    pub fn number_beside(&self, tree: TreeId) -> u64 {
        self.load.beside_tree.set(Some(tree));
        let number = &self.load.beside_number;
        if number.get() == 0 {
            number.set(self.engine.store.line.pending.borrow_mut().reserve());
        }
        number.get()
    }

    /// Calls `end` when the load takes its seqno: what it returns is stored with the load, before rows that it brings.
    pub fn at_end(&self, end: LoadEnd) {
        self.load.at_end.set(Some(end));
    }

    /// Brings further rows, which are stored with the load or not at all.
    pub fn bring(&self, rows: RowsBehind) {
        self.load.behind.set(Some(rows));
    }

    /// Stages finished blocks, and waits while too many are not staged. Loads wait for compaction as flushes do.
    pub async fn room(&self) {
        self.engine.loads.stage_soon(&self.load);
        self.engine.house.let_compaction_catch_up().await;
        while self.engine.house.waits_for_compaction() && self.engine.store.check_alive().is_ok() {
            self.engine.store.work_ended().wait().await;
        }
        loop {
            let staging = {
                let build = self.load.build.borrow();
                build.staging.clone().filter(|_| build.waiting_bytes > WAITING_BYTES)
            };
            match staging {
                Some(staging) => staging.wait().await,
                None => return,
            }
        }
    }

    /// Stored bytes so far, estimated.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let build = self.load.build.borrow();
        build.closed_bytes + build.writer.as_ref().map_or(0, SegmentWriter::bytes)
    }

    /// Whether its commit was asked for, perhaps by a write into its range. It then takes no more rows.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.load.seqno.get().is_some()
    }

    /// The number of this load in the engine, from 1. Later loads have higher numbers.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.load.number
    }

    /// Calls `settled` when the load is stored or has failed, by any caller's commit. A dropped load calls nothing.
    pub fn when_settled(&self, settled: LoadListener) {
        self.load.settled.set(Some(settled));
    }

    /// Asks for its commit. It takes its seqno now and becomes visible there.
    pub fn ask(&self) {
        self.engine.loads.ask(&self.load);
    }

    /// Resolves when the load is durable, after its commit was asked for.
    ///
    /// # Errors
    /// As for [`Engine::write`].
    pub async fn stored(&self) -> Result<()> {
        self.load.done.wait().await
    }

    /// Asks for its commit at the first poll, and resolves when it is durable.
    ///
    /// # Errors
    /// As for [`Engine::write`].
    pub async fn commit(&self) -> Result<()> {
        self.ask();
        self.stored().await
    }
}

/// A caller of [`Module::Loads`](crate::modules::Module::Loads).
impl Drop for BulkLoader {
    #[inline(never)]
    fn drop(&mut self) {
        if !self.is_asked() {
            self.engine.loads.give_up(&self.load);
        }
    }
}
