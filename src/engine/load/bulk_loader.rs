//! Loads: rows in key order become segments at once, without log, memtable and merge.
//!
//! A load is invisible until its commit, and then visible as a whole: one commit of the storage names its segments. All
//! of its entries share one seqno, taken when the commit is asked for (`Segment::seqno`). Its parts lie above all others
//! of level 0. So for each of its rows, all older data must be in segments by then, and all newer data must come later.
//! Two rules ensure this beforehand, so a commit waits only for writes accepted before it:
//!
//! - A load takes rows only if no write between its first and last row is pending, in a memtable or being decided
//!   ([`BulkLoader::takes`]). Other rows are written the normal way.
//! - A write into the range of an open load has the load committed first, and waits for that ([`Engine::after_loads`]).
//!
//! A load may bring rows of another tree, which are stored in the same commit ([`BulkLoader::bring`]).
//!
//! Blocks are staged as they fill. If a load fails or is dropped, its staged blocks are deleted; after a crash the next
//! opening does it.

use super::bulk_load::{BulkLoad, LoadEnd, LoadListener, LoadSegments, RowsBehind};
use crate::collections::turns::Turn;
use crate::engine::Engine;
use crate::engine::rows::keys::{KeyRange, TREE_BYTES, within};
use crate::engine::segment::writer::{SegmentWriter, Staging};
use crate::engine::versions::version::Edit;
use crate::error::{Code, Error, Result};
use crate::format::fragment::FragmentHead;
use crate::model::RowChange;
use crate::model::TreeId;
use crate::storage::STAGE_BYTES;
use std::ops::{Bound, ControlFlow};
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
    /// Whether the load can take rows from `first` to `last`, which ascend and follow all its rows. If not, write them
    /// the normal way.
    #[must_use]
    pub fn takes(&self, first: &[u8], last: &[u8]) -> bool {
        let Self { engine, load } = self;
        let full = |key: &[u8]| [&load.tree.0.to_be_bytes(), key].concat();
        let (first, last) = (full(first), full(last));
        let bounds = (Bound::Included(&first[..]), Bound::Included(&last[..]));
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
        let held = engine.order.turns.held_in(&|key| within(bounds, key));
        let view = engine.store.view.borrow();
        let mut newer = view.memtables().map(|memtable| memtable.rows().range(bounds.0, bounds.1).next().is_some());
        let range = KeyRange { lower: Bound::Included(first.clone()), upper: Bound::Included(last.clone()) };
        held.is_empty()
            && !newer.any(|there| there)
            && !engine.store.line.pending.borrow().touches(load.tree, |key| within(bounds, key))
            && !engine.order.loads.meet(load.tree, &range)
    }

    /// Adds a row. [`BulkLoader::takes`] must have allowed it in the same synchronous section, and keys must ascend.
    ///
    /// # Errors
    /// If the row cannot be encoded; a checked row always can.
    pub fn push(&self, key: &[u8], change: &RowChange<'_>) -> Result<()> {
        let mut build = self.load.build.borrow_mut();
        build.rows += 1;
        self.engine.load_row(&mut build, self.load.tree, key, change)
    }

    /// Adds a row of another tree behind this one, which is stored with the load or not at all. Its keys ascend too. Nobody
    /// writes such a row otherwise: the key of each begins with a number that no other load of the instance has.
    ///
    /// # Errors
    /// As for [`BulkLoader::push`].
    #[inline(never)]
    pub fn push_beside(&self, tree: TreeId, key: &[u8], change: &RowChange<'_>) -> Result<()> {
        debug_assert_eq!(self.load.beside_tree.get(), Some(tree), "its number was not taken");
        let mut beside = self.load.beside.borrow_mut();
        self.engine.load_row(&mut beside, tree, key, change)?;
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
        self.engine.stage_soon(&self.load);
        self.engine.let_compaction_catch_up().await;
        while self.engine.waits_for_compaction() && self.engine.store.check_alive().is_ok() {
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
        self.engine.ask(&self.load);
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

impl Drop for BulkLoader {
    #[inline(never)]
    fn drop(&mut self) {
        if !self.is_asked() {
            self.engine.give_up(&self.load);
        }
    }
}

impl Engine {
    /// Begins to load sorted rows into a tree.
    pub fn start_load(self: &Rc<Self>, tree: TreeId) -> BulkLoader {
        let load = self.order.loads.begin(tree);
        BulkLoader { engine: Rc::clone(self), load }
    }

    /// The number of the newest load; 0 if there was none.
    #[must_use]
    pub fn last_load(&self) -> u64 {
        self.order.loads.last()
    }

    /// Commits all open loads into a tree. Later operations on its rows come after them.
    pub fn end_loads(&self, tree: TreeId) {
        let loads = self.order.loads.all(&|load| load.tree == tree);
        loads.iter().for_each(|load| self.ask(load));
    }

    /// Waits until no open load covers these rows; a writer has to call this. It has such loads committed, and holds the
    /// rows' turns meanwhile.
    pub(in crate::engine) async fn after_loads(&self, keys: &[Box<[u8]>], turns: &mut Vec<Turn>) -> Result<()> {
        loop {
            let loads = self.order.loads.all(&|load| keys.iter().any(|key| load.covers(key)));
            if loads.is_empty() {
                return Ok(());
            }
            if turns.is_empty() {
                // Later operations on these rows must not overtake.
                *turns = self.order.take_turns(keys);
                for turn in turns.iter() {
                    turn.come().await;
                }
                continue;
            }
            // All at once: an operation between must not see one load and this write, but not the other load.
            loads.iter().for_each(|load| self.ask(load));
            for load in loads {
                let _ = load.done.wait().await;
            }
            self.store.ready().await?;
        }
    }

    /// Takes the load's seqno, and queues its commit. A gate of [`Module::Loads`](crate::modules::Module::Loads): who began the
    /// load has loaded it.
    #[inline(never)]
    fn ask(&self, load: &Rc<BulkLoad>) {
        if load.seqno.get().is_some() {
            return;
        }
        let seqno = self.store.line.pending.borrow_mut().reserve();
        load.seqno.set(Some(seqno));
        if let Some(end) = load.at_end.take() {
            let build = load.build.borrow();
            let own = |key: &'_ [u8]| key.get(TREE_BYTES..).unwrap_or_default().to_vec();
            load.of_end.set(Some(end(seqno, &own(&build.first), &own(&build.last))));
        }
        if let Some(engine) = self.me.upgrade() {
            let load = Rc::clone(load);
            self.runtime.spawn(Box::pin(async move {
                let outcome = engine.finish_load(&load).await;
                engine.order.loads.forget(&load);
                if let Some(settled) = load.settled.take() {
                    settled(&outcome);
                }
                load.done.set(outcome);
            }));
        }
    }

    /// Adds a row to a segment of a load.
    #[inline(never)]
    fn load_row(&self, build: &mut LoadSegments, tree: TreeId, key: &[u8], change: &RowChange<'_>) -> Result<()> {
        if build.failed.is_some() {
            // The commit reports the error.
            return Ok(());
        }
        build.last.clear();
        build.last.extend_from_slice(&tree.0.to_be_bytes());
        build.last.extend_from_slice(key);
        if build.first.is_empty() {
            build.first.clone_from(&build.last);
        }
        let writer = build.writer.get_or_insert_with(|| {
            let id = self.store.leadership.next_segment();
            build.ids.push(id);
            // Partitions may be merged until the commit, so it cuts the parts at the boundaries of that time.
            SegmentWriter::new(id, self.runtime.options.shape.block_bytes, self.runtime.options.form, Rc::default())
        });
        let put = writer.put(&build.last, FragmentHead::of(change), change.cells);
        put.map_err(|damage| Error::internal(format!("a row to be loaded: {damage}")))?;
        self.store.line.raise_stamp(change.stamp);
        if self.is_full(writer) {
            build.close(&self.store.cache)?;
        } else if writer.ready_bytes() >= STAGE_BYTES - self.runtime.options.shape.block_bytes {
            build.take_ready(&self.store.cache);
        }
        Ok(())
    }

    /// Closes the last segment of a load, behind the rows that it brings.
    fn close_load(&self, load: &BulkLoad) -> Result<()> {
        let (mut build, mut added) = (load.build.borrow_mut(), Ok(()));
        let mut beside = load.beside.borrow_mut();
        beside.close(&self.store.cache)?;
        build.take_over(&mut beside);
        build.closed.append(&mut beside.closed);
        let has_rows = build.rows > 0;
        for rows in [load.of_end.take(), load.behind.take()].into_iter().flatten().filter(|_| has_rows) {
            let last = build.last.clone();
            rows(&mut |tree, key, change| {
                if added.is_ok() {
                    added = self.load_row(&mut build, tree, key, change);
                }
            });
            // Those rows are not in its range.
            build.last = last;
        }
        added.and_then(|()| build.close(&self.store.cache))
    }

    async fn finish_load(&self, load: &BulkLoad) -> Result<()> {
        let closed = self.close_load(load);
        self.stage_all(load).await;
        let (closed, ids, failed, rows) = {
            let mut build = load.build.borrow_mut();
            let failed = build.failed.clone().or_else(|| closed.err());
            (std::mem::take(&mut build.closed), std::mem::take(&mut build.ids), failed, build.rows)
        };
        if let Some(error) = failed {
            self.space.discard(&ids).await;
            return Err(error);
        }
        if closed.is_empty() {
            return Ok(());
        }
        let seqno = load.seqno.get();
        let finished: Vec<_> = closed.into_iter().map(|closed| closed.finish(seqno)).collect();
        let bytes: u64 = finished.iter().map(|finished| finished.bytes).sum();
        let parts = finished.into_iter().flat_map(|finished| finished.parts);
        let edit = Edit {
            add: parts.map(|(tree, part)| (tree, 0, part)).collect(),
            next_seqno: seqno.map_or(0, |seqno| seqno + 1),
            loaded: seqno,
            ..Edit::default()
        };
        self.commits.commit_staged(edit).await?;
        self.runtime.counters.commits.add(1);
        self.runtime.counters.writes.add(rows);
        self.runtime.counters.flushed_bytes.add(bytes);
        Ok(())
    }

    /// Starts staging of waiting blocks.
    fn stage_soon(&self, load: &Rc<BulkLoad>) {
        let due = {
            let build = load.build.borrow();
            build.staging.is_none() && !build.waiting.is_empty()
        };
        if let (true, Some(engine)) = (due, self.me.upgrade()) {
            let load = Rc::clone(load);
            load.build.borrow_mut().staging = Some(Rc::default());
            self.runtime.spawn(Box::pin(async move { while engine.stage_next(&load).await.is_continue() {} }));
        }
    }

    /// Stages all waiting blocks.
    async fn stage_all(&self, load: &BulkLoad) {
        loop {
            let others = load.build.borrow().staging.clone();
            match others {
                Some(staging) => staging.wait().await,
                None => break,
            }
        }
        load.build.borrow_mut().staging = Some(Rc::default());
        while self.stage_next(load).await.is_continue() {}
    }

    async fn stage_load(&self, call: Staging) -> Result<()> {
        if self.space.reserve.is_out() {
            Box::pin(self.space.fill_reserve()).await?;
        }
        self.space.stage_more(call).await
    }

    /// Combines waiting blocks into one storage call.
    async fn stage_next(&self, load: &BulkLoad) -> ControlFlow<()> {
        let next = {
            let mut build = load.build.borrow_mut();
            if build.failed.is_some() { None } else { build.waiting.pop_front() }
        };
        let (bytes, staged) = match next {
            Some(call) => {
                let bytes: usize = call.records.iter().map(|(_, record)| record.len()).sum();
                (bytes, self.stage_load(call).await)
            }
            None => (0, Ok(())),
        };
        let mut build = load.build.borrow_mut();
        build.waiting_bytes -= bytes;
        if let Err(error) = staged {
            build.failed.get_or_insert(error);
        }
        if build.failed.is_some() {
            build.waiting.clear();
            build.waiting_bytes = 0;
        }
        let over = build.waiting.is_empty();
        let latch = std::mem::replace(&mut build.staging, (!over).then(Rc::default));
        drop(build);
        if let Some(latch) = latch {
            latch.set(());
        }
        if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The load never took effect. A gate of [`Module::Loads`](crate::modules::Module::Loads).
    #[inline(never)]
    fn give_up(&self, load: &Rc<BulkLoad>) {
        self.order.loads.forget(load);
        load.build.borrow_mut().failed = Some(Error::new(Code::Closed, "the load was given up"));
        if let (false, Some(engine)) = (load.build.borrow().ids.is_empty(), self.me.upgrade()) {
            let load = Rc::clone(load);
            self.runtime.spawn(Box::pin(async move {
                engine.stage_all(&load).await;
                let ids = std::mem::take(&mut load.build.borrow_mut().ids);
                engine.space.discard(&ids).await;
            }));
        }
    }
}
