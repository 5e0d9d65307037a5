//! The work of loads: their segments, the staging of these, and their commits.

use super::commit::Commits;
use crate::collections::turns::Turn;
use crate::engine::base::runtime::Runtime;
use crate::engine::read::order::Order;
use crate::engine::rows::keys::own_key;
use crate::engine::segment::writer::{SegmentWriter, Staging};
use crate::engine::space::Space;
use crate::engine::store::Store;
use crate::engine::store::load_state::{BulkLoad, LoadSegments};
use crate::engine::versions::version::Edit;
use crate::error::{Code, Error, Result};
use crate::format::fragment::FragmentHead;
use crate::model::{RowChange, TreeId};
use crate::storage::STAGE_BYTES;
use std::ops::ControlFlow;
use std::rc::Rc;

/// Stages and commits loads.
pub(crate) struct Loads {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    space: Rc<Space>,
    commits: Rc<Commits>,
    order: Rc<Order>,
}

impl Loads {
    pub(crate) fn new(store: &Rc<Store>, space: &Rc<Space>, commits: &Rc<Commits>, order: &Rc<Order>) -> Self {
        Self {
            runtime: Rc::clone(&store.runtime),
            store: Rc::clone(store),
            space: Rc::clone(space),
            commits: Rc::clone(commits),
            order: Rc::clone(order),
        }
    }

    /// See [`Engine::end_loads`](crate::engine::Engine::end_loads).
    /// A caller of [`Module::Loads`](crate::modules::Module::Loads).
    #[inline(never)]
    pub(crate) fn end_loads(self: &Rc<Self>, tree: TreeId) {
        let loads = self.order.loads.all(&|load| load.tree == tree);
        loads.iter().for_each(|load| self.ask(load));
    }

    /// Waits until no open load covers these rows; a writer has to call this. It has such loads committed, and holds the
    /// rows' turns meanwhile.
    /// A caller of [`Module::Loads`](crate::modules::Module::Loads).
    pub(crate) async fn after_loads(self: &Rc<Self>, keys: &[Box<[u8]>], turns: &mut Vec<Turn>) -> Result<()> {
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
    pub(crate) fn ask(self: &Rc<Self>, load: &Rc<BulkLoad>) {
        if load.seqno.get().is_some() {
            return;
        }
        let seqno = self.store.line.pending.borrow_mut().reserve();
        load.seqno.set(Some(seqno));
        if let Some(end) = load.at_end.take() {
            let build = load.build.borrow();
            load.of_end.set(Some(end(seqno, own_key(&build.first), own_key(&build.last))));
        }
        let (loads, load) = (Rc::clone(self), Rc::clone(load));
        self.runtime.spawn(Box::pin(async move {
            let outcome = loads.finish_load(&load).await;
            loads.order.loads.forget(&load);
            if let Some(settled) = load.settled.take() {
                settled(&outcome);
            }
            load.done.set(outcome);
        }));
    }

    /// Adds a row to a segment of a load.
    #[inline(never)]
    pub(crate) fn load_row(
        &self,
        build: &mut LoadSegments,
        tree: TreeId,
        key: &[u8],
        change: &RowChange<'_>,
    ) -> Result<()> {
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
        if writer.is_full(&self.runtime.options.shape) {
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
    pub(crate) fn stage_soon(self: &Rc<Self>, load: &Rc<BulkLoad>) {
        let due = {
            let build = load.build.borrow();
            build.staging.is_none() && !build.waiting.is_empty()
        };
        if due {
            let (loads, load) = (Rc::clone(self), Rc::clone(load));
            load.build.borrow_mut().staging = Some(Rc::default());
            self.runtime.spawn(Box::pin(async move { while loads.stage_next(&load).await.is_continue() {} }));
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
    pub(crate) fn give_up(self: &Rc<Self>, load: &Rc<BulkLoad>) {
        self.order.loads.forget(load);
        load.build.borrow_mut().failed = Some(Error::new(Code::Closed, "the load was given up"));
        if !load.build.borrow().ids.is_empty() {
            let (loads, load) = (Rc::clone(self), Rc::clone(load));
            self.runtime.spawn(Box::pin(async move {
                loads.stage_all(&load).await;
                let ids = std::mem::take(&mut load.build.borrow_mut().ids);
                loads.space.discard(&ids).await;
            }));
        }
    }
}
