//! Loads: rows that come in the order of their keys become segments at once, without log, memtable and merge.
//!
//! A load is seen by nobody until it is committed, and then as a whole: one commit of the storage names its segments. All of
//! its entries have one seqno, taken when the commit is asked for (`Segment::seqno`), and its parts lie above all others of
//! level 0. So for every row that it holds, everything older has to be in segments by then, and everything newer has to come
//! later. Both are ensured beforehand, so that a commit waits for nobody but the writes accepted before it:
//!
//! - Rows are taken only where no write between the first and the last of them is pending, in a memtable or being decided
//!   ([`BulkLoader::takes`]). Others have to be written as ever.
//! - Whoever writes into the range of a load that is on its way has it committed first, and waits for that
//!   ([`Engine::after_loads`]).
//!
//! Blocks are staged as they fill. What is staged for a load that fails or is dropped is given back; after a crash the next
//! opening does it.

use super::Engine;
use super::bulk_load::{BulkLoad, LoadListener};
use super::keys::{KeyRange, within};
use super::segment_writer::{SegmentWriter, Staging};
use super::turns::Turn;
use super::version::Edit;
use crate::error::{Code, Error, Result};
use crate::format::fragment::FragmentHead;
use crate::model::RowChange;
use crate::model::TreeId;
use crate::storage::{STAGE_BYTES, Storage};
use std::ops::{Bound, ControlFlow};
use std::rc::Rc;

/// So many bytes of blocks may wait to be staged before more rows have to wait.
const WAITING_BYTES: usize = 4 * STAGE_BYTES;

/// Sorted rows of one tree on their way into segments. Dropped before its commit was asked for, none of them ever was.
pub struct BulkLoader<S: Storage> {
    engine: Rc<Engine<S>>,
    load: Rc<BulkLoad>,
}

impl<S: Storage> BulkLoader<S> {
    /// Whether the load can take rows from `first` to `last`, which ascend and follow all that it has. If not, they have to
    /// be written as ever.
    #[must_use]
    pub fn takes(&self, first: &[u8], last: &[u8]) -> bool {
        let Self { engine, load } = self;
        let full = |key: &[u8]| [&load.tree.0.to_be_bytes(), key].concat();
        let (first, last) = (full(first), full(last));
        let bounds = (Bound::Included(&first[..]), Bound::Included(&last[..]));
        if load.seqno.get().is_some()
            || *load.build.borrow().last >= *first
            || !engine.is_ready()
            || engine.is_read_only()
        {
            return false;
        }
        if load.build.borrow().failed.is_some() {
            // A full disk is told with the next rows, not at the end of all.
            return false;
        }
        let held = engine.turns.held_in(&|key| within(bounds, key));
        let view = engine.view.borrow();
        let mut newer = view.memtables().map(|memtable| memtable.rows().range(bounds.0, bounds.1).next().is_some());
        let range = KeyRange { lower: Bound::Included(first.clone()), upper: Bound::Included(last.clone()) };
        held.is_empty()
            && !newer.any(|there| there)
            && !engine.line.pending.borrow().touches(load.tree, |key| within(bounds, key))
            && !engine.loads.meet(load.tree, &range)
    }

    /// Adds a row. [`BulkLoader::takes`] has said yes in the same synchronous section, and keys ascend.
    ///
    /// # Errors
    /// When the row cannot be encoded, which no row that was checked is.
    pub fn push(&self, key: &[u8], change: &RowChange<'_>) -> Result<()> {
        let Self { engine, load } = self;
        let mut build = load.build.borrow_mut();
        if build.failed.is_some() {
            // The commit tells.
            return Ok(());
        }
        let build = &mut *build;
        build.last.clear();
        build.last.extend_from_slice(&load.tree.0.to_be_bytes());
        build.last.extend_from_slice(key);
        if build.first.is_empty() {
            build.first.clone_from(&build.last);
        }
        let writer = build.writer.get_or_insert_with(|| {
            let id = engine.leadership.next_segment();
            build.ids.push(id);
            // Partitions may be merged until the commit: it cuts the parts at the boundaries that there are then.
            SegmentWriter::new(id, engine.options.shape.block_bytes, engine.options.form, Rc::default())
        });
        let put = writer.put(&build.last, FragmentHead::of(change), change.cells);
        put.map_err(|damage| Error::internal(format!("a row to be loaded: {damage}")))?;
        build.rows += 1;
        engine.line.raise_stamp(change.stamp);
        if engine.is_full(writer) {
            build.close(&engine.cache)?;
        } else if writer.ready_bytes() >= STAGE_BYTES - engine.options.shape.block_bytes {
            build.take_ready(&engine.cache);
        }
        Ok(())
    }

    /// Stages what is ready, and waits while too much is not staged. Compaction has to keep up with loads as it has with flushes.
    pub async fn room(&self) {
        self.engine.stage_soon(&self.load);
        self.engine.let_compaction_catch_up().await;
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

    /// Stored bytes so far, about.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let build = self.load.build.borrow();
        build.closed_bytes + build.writer.as_ref().map_or(0, SegmentWriter::bytes)
    }

    /// Whether its commit was asked for, perhaps by a write that came into its range: it takes no more rows.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.load.seqno.get().is_some()
    }

    /// Which of the engine's loads this is, from 1; those that begin later have higher numbers.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.load.number
    }

    /// Has `settled` told when it is stored or could not be, whoever asked for that; not if it is given up.
    pub fn when_settled(&self, settled: LoadListener) {
        self.load.settled.set(Some(settled));
    }

    /// Asks for its commit: it becomes visible, in the place among all writes that it takes now.
    pub fn ask(&self) {
        self.engine.ask(&self.load);
    }

    /// Resolves when it is durable, some time after its commit was asked for.
    ///
    /// # Errors
    /// As for [`Engine::write`].
    pub async fn stored(&self) -> Result<()> {
        self.load.done.wait().await
    }

    /// Asks for its commit when this is first polled, and resolves when it is durable.
    ///
    /// # Errors
    /// As for [`Engine::write`].
    pub async fn commit(&self) -> Result<()> {
        self.ask();
        self.stored().await
    }
}

impl<S: Storage> Drop for BulkLoader<S> {
    fn drop(&mut self) {
        if !self.is_asked() {
            self.engine.give_up(&self.load);
        }
    }
}

impl<S: Storage> Engine<S> {
    /// Begins to load sorted rows into a tree.
    pub fn start_load(self: &Rc<Self>, tree: TreeId) -> BulkLoader<S> {
        let load = self.loads.begin(tree);
        BulkLoader { engine: Rc::clone(self), load }
    }

    /// The number of the load that began last; 0 if none did.
    #[must_use]
    pub fn last_load(&self) -> u64 {
        self.loads.last()
    }

    /// Commits whatever is being loaded into a tree: what is asked of its rows from now on comes after that.
    pub fn end_loads(&self, tree: TreeId) {
        let loads = self.loads.all(&|load| load.tree == tree);
        loads.iter().for_each(|load| self.ask(load));
    }

    /// Waits until no load is on its way over these rows, as somebody who writes to them has to; has them committed for that.
    /// Meanwhile the rows' turns are taken.
    pub(super) async fn after_loads(&self, keys: &[Box<[u8]>], turns: &mut Vec<Turn>) -> Result<()> {
        loop {
            let loads = self.loads.all(&|load| keys.iter().any(|key| load.covers(key)));
            if loads.is_empty() {
                return Ok(());
            }
            if turns.is_empty() {
                // Whoever comes later on these rows must not overtake.
                *turns = self.take_turns(keys);
                for turn in turns.iter() {
                    turn.come().await;
                }
                continue;
            }
            // At once: what comes between must not see one of them, and the write below, and not the other.
            loads.iter().for_each(|load| self.ask(load));
            for load in loads {
                let _ = load.done.wait().await;
            }
            self.ready().await?;
        }
    }

    /// Takes the load's place among all writes, and sees to it that it is stored.
    fn ask(&self, load: &Rc<BulkLoad>) {
        if load.seqno.get().is_some() {
            return;
        }
        load.seqno.set(Some(self.line.pending.borrow_mut().reserve()));
        if let Some(engine) = self.me.upgrade() {
            let load = Rc::clone(load);
            self.spawn(Box::pin(async move {
                let outcome = engine.finish_load(&load).await;
                engine.loads.forget(&load);
                if let Some(settled) = load.settled.take() {
                    settled(&outcome);
                }
                load.done.set(outcome);
            }));
        }
    }

    async fn finish_load(&self, load: &BulkLoad) -> Result<()> {
        let closed = load.build.borrow_mut().close(&self.cache);
        self.stage_all(load).await;
        let (closed, ids, failed, rows) = {
            let mut build = load.build.borrow_mut();
            let failed = build.failed.clone().or_else(|| closed.err());
            (std::mem::take(&mut build.closed), std::mem::take(&mut build.ids), failed, build.rows)
        };
        if let Some(error) = failed {
            self.discard(&ids).await;
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
        self.commit_staged(edit).await?;
        self.counters.commits.add(1);
        self.counters.writes.add(rows);
        self.counters.flushed_bytes.add(bytes);
        Ok(())
    }

    /// Sees to it that what waits is staged.
    fn stage_soon(&self, load: &Rc<BulkLoad>) {
        let due = {
            let build = load.build.borrow();
            build.staging.is_none() && !build.waiting.is_empty()
        };
        if let (true, Some(engine)) = (due, self.me.upgrade()) {
            let load = Rc::clone(load);
            load.build.borrow_mut().staging = Some(Rc::default());
            self.spawn(Box::pin(async move { while engine.stage_next(&load).await.is_continue() {} }));
        }
    }

    /// Stages all that waits.
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
        if self.reserve.is_out() {
            Box::pin(self.fill_reserve()).await?;
        }
        self.stage_more(call).await
    }

    /// Makes one call of what waits to be staged.
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

    /// Nothing of the load ever was.
    fn give_up(&self, load: &Rc<BulkLoad>) {
        self.loads.forget(load);
        load.build.borrow_mut().failed = Some(Error::new(Code::Closed, "the load was given up"));
        if let (false, Some(engine)) = (load.build.borrow().ids.is_empty(), self.me.upgrade()) {
            let load = Rc::clone(load);
            self.spawn(Box::pin(async move {
                engine.stage_all(&load).await;
                let ids = std::mem::take(&mut load.build.borrow_mut().ids);
                engine.discard(&ids).await;
            }));
        }
    }
}
