//! Flush and compaction, in the background: one of each at a time.

use super::compaction::{Work, work_of_compaction};
use super::rewrite::Input;
use crate::engine::Engine;
use crate::engine::base::latch::Latch;
use crate::engine::rows::row::Keep;
use crate::engine::store::change_records::too_early;
use crate::engine::store::pending;
use crate::engine::versions::backlog::MAX_FROZEN;
use crate::engine::versions::snapshot::Sources;
use crate::engine::versions::version::Edit;
use crate::engine::work::{DoneWork, WorkLine};
use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::storage::LogNumber;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::rc::{Rc, Weak};

/// While a job of compaction is under way, no flush adds to a level 0 that has so many times the parts that make it due.
const MOST_LEVEL0: usize = 8;

/// The pause without writes before a flush, ms.
const QUIET_MS: u32 = 1000;

/// While it lives no other compaction runs.
pub(crate) struct CompactionHold<'e>(&'e Engine);

impl Drop for CompactionHold<'_> {
    fn drop(&mut self) {
        self.0.house.compactions.is_running.set(false);
        self.0.house.compactions.quarantine.forget_room();
        self.0.store.tell_work_ended();
    }
}

impl Engine {
    /// Starts the background work that should run and does not.
    pub(in crate::engine) fn start_background(&self) {
        if self.store.check_alive().is_err() || self.runtime.is_read_only() {
            return;
        }
        self.house.has_started.set(true);
        let house = &self.house;
        let (flush_due, compaction_due) = {
            let view = self.store.view.borrow();
            let early = view.frozen.front().is_none_or(|memtable| self.store.is_too_early_for(memtable));
            (
                !early && !self.holds_flushes() && !self.waits_for_compaction(),
                self.store.must_search.get() && self.runtime.options.auto_compact && !house.is_paused.get(),
            )
        };
        if flush_due && let (false, Some(engine)) = (house.flushes.is_running.replace(true), self.me.upgrade()) {
            self.runtime.spawn(Box::pin(async move {
                // Callers with stored writes get their answers first.
                engine.yield_now().await;
                let outcome = engine.flush_frozen().await;
                engine.house.flushes.is_running.set(false);
                match outcome {
                    Ok(()) => engine.start_background(),
                    Err(error) => engine.flush_failed(&error),
                }
            }));
        }
        if compaction_due && let (false, Some(engine)) = (house.compactions.is_running.replace(true), self.me.upgrade())
        {
            self.runtime.spawn(Box::pin(async move {
                let _hold = CompactionHold(&engine);
                if let Err(error) = engine.compact_in_background().await
                    && error.code() != Code::Closed
                {
                    log::warn!("compaction failed, the next change of the version tries again: {error}");
                }
            }));
        }
    }

    /// The most parts that a partition has in level 0. Partitions that cannot be compacted do not count.
    #[inline(never)]
    pub(in crate::engine) fn longest_level0(&self) -> usize {
        let (view, steady) = (self.store.view.borrow(), self.runtime.clock.steady_ms());
        let partitions = view.version.trees.values().flat_map(|partitions| partitions.all());
        let compacted = partitions.filter(|one| !self.house.compactions.quarantine.holds(one.id, steady));
        compacted.map(|one| one.level0_len()).max().unwrap_or(0)
    }

    /// Whether compaction is far behind: reads would meet too many runs.
    fn is_far_behind(&self) -> bool {
        self.longest_level0() >= self.runtime.options.shape.level0_parts * MOST_LEVEL0
    }

    /// Whether flushes and loads wait until the job of compaction under way is done. So writes that come faster than compaction
    /// merges them are held up in the end.
    #[inline(never)]
    pub(in crate::engine) fn waits_for_compaction(&self) -> bool {
        self.house.compactions.at_work.get() && self.is_far_behind()
    }

    /// Begins the flush that waited for a job, and wakes the loads that did. If compaction is still far behind, the next job does
    /// not begin before a memtable is flushed: writes go on, slowly.
    pub(in crate::engine) async fn let_flush_through(&self) {
        self.start_background();
        self.store.tell_work_ended();
        if self.is_far_behind() {
            if self.house.flushes.is_running.get() {
                self.store.work_ended().wait().await;
            } else {
                self.yield_now().await;
            }
        }
    }

    /// Whether frozen memtables stay: the last flush has failed, or there is a pause. Writes that wait for a flush get one.
    fn holds_flushes(&self) -> bool {
        let flushes = &self.house.flushes;
        (self.store.last_flush.has_failed() || self.house.is_paused.get() && !flushes.is_wanted.get())
            && !self.store.waits_for_flush()
    }

    /// Flushes every frozen memtable, oldest first.
    async fn flush_frozen(&self) -> Result<()> {
        while self.flush_oldest().await? && !self.holds_flushes() {}
        Ok(())
    }

    /// Flushes the oldest frozen memtable. Returns whether it did.
    pub(in crate::engine) async fn flush_oldest(&self) -> Result<bool> {
        let (memtable, log_start, next_seqno) = {
            let view = self.store.view.borrow();
            let Some(memtable) = view.frozen.front().map(Rc::clone) else {
                self.house.flushes.is_wanted.set(false);
                return Ok(false);
            };
            let behind = view.frozen.get(1).unwrap_or(&view.memtable).first_log;
            (memtable, behind, self.store.line.last_seqno() + 1)
        };
        if self.store.is_too_early_for(&memtable) {
            // It goes on when the recorder is set.
            self.store.tell_work_ended();
            return Ok(false);
        }
        if self.waits_for_compaction() {
            return Ok(false);
        }
        self.store.make_records_in(&memtable).await?;
        let sources = Sources { memtables: vec![Rc::clone(&memtable)], runs: Vec::new() };
        let (parts, bytes) = self.rewrite(vec![Input { sources, keep: Keep::All }]).await?;
        let edit = Edit {
            add: parts.into_iter().map(|(tree, part)| (tree, 0, part)).collect(),
            log_start: Some(log_start),
            next_seqno,
            ..Edit::default()
        };
        let observer = self.observer();
        if let Some(observer) = &observer {
            observer.done(self, DoneWork::Flush { memtable: &memtable, parts: &edit.add, written: bytes });
        }
        self.commits.commit_staged(edit).await?;
        if let Some(observer) = observer {
            observer.stored(self, WorkLine::Flush);
        }
        self.house.compactions.quarantine.tell_news();
        self.store.view.borrow_mut().frozen.pop_front();
        self.store.last_flush.record(None);
        self.runtime.counters.flushes.add(1);
        self.runtime.counters.flushed_bytes.add(bytes);
        // Writes may have filled the next memtable meanwhile.
        self.store.freeze_if_full();
        self.store.tell_work_ended();
        // Writes may be waiting for this flush.
        self.commits.kick();
        if memtable.bytes() >= self.runtime.options.memtable_bytes {
            self.space.begin_reserve();
        }
        Ok(true)
    }

    pub(in crate::engine) fn flush_failed(&self, error: &Error) {
        if error.code() != Code::Closed {
            log::warn!("a memtable could not be flushed: {error}");
        }
        self.store.last_flush.record(Some(error.clone()));
        // No flush, no progress: waiting writes fail now. The next write tries again.
        if self.store.holds_writes_up() {
            self.store.line.count_failure();
            self.store.images.clear();
            let groups = self.store.line.pending.borrow_mut().fail_waiting();
            pending::fail(groups, error);
        }
        self.store.tell_work_ended();
        // A load may have waited for the groups.
        self.commits.kick();
    }

    /// Moves all data in memory into segments.
    ///
    /// # Errors
    /// Errors of the storage. The data then stays in memory and in the log.
    pub async fn flush(&self) -> Result<()> {
        self.store.ready().await?;
        self.runtime.check_writable()?;
        self.order.settled().await;
        let comes_later = {
            let frozen = self.store.view.borrow().frozen.len();
            frozen >= MAX_FROZEN || (self.store.last_flush.has_failed() && frozen > 0)
        };
        if comes_later {
            // On a full disk each try would leave one more memtable behind, and in the end even deletions would be
            // refused.
            self.flush_waiting().await?;
        }
        self.store.settle_retentions();
        // If as many memtables wait again, they include all earlier data.
        let due = {
            let view = self.store.view.borrow();
            view.frozen.len() < MAX_FROZEN && view.has_to_flush()
        };
        if due {
            self.store.freeze();
        }
        self.flush_waiting().await
    }

    /// Flushes the memtables that wait for it.
    async fn flush_waiting(&self) -> Result<()> {
        self.store.last_flush.record(None);
        let last = self.store.view.borrow().frozen.back().map(Rc::clone);
        self.house.flushes.is_wanted.set(last.is_some());
        self.start_background();
        loop {
            // The wait may have ended the engine.
            self.store.check_alive()?;
            if self.awaits_recorder() {
                return Err(too_early());
            }
            let ended = {
                if let Some(error) = self.store.last_flush.error() {
                    return Err(error);
                }
                let view = self.store.view.borrow();
                // Memtables frozen since then are not waited for: steady writes would make this endless.
                if !view.frozen.iter().any(|frozen| last.as_ref().is_some_and(|last| Rc::ptr_eq(frozen, last))) {
                    return Ok(());
                }
                self.store.work_ended()
            };
            ended.wait().await;
        }
    }

    /// Flushes, then merges every tree into one level with its current options. Data that the options hide is removed for
    /// good (V3, V5).
    ///
    /// # Errors
    /// Errors of the storage. `Corrupt` names a damaged record; all partitions that do not depend on it are compacted.
    pub async fn compact(&self) -> Result<()> {
        self.flush().await?;
        self.apart(async |engine: Rc<Self>| {
            let _hold = engine.hold_compaction().await?;
            work_of_compaction(&engine, Work::All).await
        })
        .await
    }

    /// Runs work that must not stop half way when its caller goes away.
    pub(in crate::engine) async fn apart(
        &self,
        work: impl AsyncFnOnce(Rc<Self>) -> Result<()> + 'static,
    ) -> Result<()> {
        let done = Rc::new(Latch::default());
        if let Some(engine) = self.me.upgrade() {
            let done = Rc::clone(&done);
            self.runtime.spawn(Box::pin(async move { done.set(work(engine).await) }));
        }
        done.wait().await
    }

    /// Waits until the code of compaction is there, no compaction runs and the stored version is known. No other compaction
    /// starts while the hold lives.
    pub(in crate::engine) async fn hold_compaction(&self) -> Result<CompactionHold<'_>> {
        self.load_compaction().await?;
        while self.house.compactions.is_running.get() {
            self.store.work_ended().wait().await;
            self.store.check_alive()?;
        }
        self.house.compactions.is_running.set(true);
        let hold = CompactionHold(self);
        self.store.ready().await?;
        self.runtime.check_writable()?;
        Ok(hold)
    }

    /// The log could not grow. Starts a flush of it: that frees its beginning. If the flush fails, the next one comes when writes
    /// wait for it, or when room was freed.
    #[cold]
    pub(in crate::engine) fn shorten_log(&self) {
        let is_due = {
            let view = self.store.view.borrow();
            view.frozen.is_empty() && view.has_to_flush()
        };
        if is_due {
            self.store.freeze();
            self.start_background();
        }
    }

    /// Starts a flush of a log that is worth it, once nothing was written for a while. If the flush fails, as on a full
    /// disk, it is tried again after the next stored write.
    pub(in crate::engine) fn flush_when_quiet(&self) {
        if self.house.flushes.is_watching.get() || self.runtime.is_read_only() {
            return;
        }
        let tried = self.store.line.next_log() == self.house.flushes.log_at_last_pause.get();
        if tried || !self.store.view.borrow().is_worth_a_flush() {
            return;
        }
        self.house.flushes.is_watching.set(true);
        self.runtime.spawn_aside(Box::pin(watch(self.me.clone(), Rc::clone(&self.runtime.env))));
    }
}

/// Waits until nothing was written for a while, and flushes. It holds no reference that would keep the store alive.
async fn watch(engine: Weak<Engine>, env: Rc<dyn Env>) {
    let mut seen = LogNumber::default();
    loop {
        let idle = {
            let Some(engine) = engine.upgrade() else { return };
            if !engine.store.line.is_alive() {
                return;
            }
            let (next, idle) = (engine.store.line.next_log(), engine.store.work_ended());
            if seen == next {
                engine.house.flushes.is_watching.set(false);
                engine.house.flushes.log_at_last_pause.set(next);
                if !engine.house.is_paused.get()
                    && let Err(error) = engine.flush().await
                {
                    log::warn!("the log could not be made shorter: {error}");
                }
                return;
            }
            seen = next;
            idle
        };
        // An ending engine sets this latch. So does finished background work, which tells nothing about writes.
        if let Either::Right(_) = select(env.sleep(QUIET_MS), pin!(idle.wait())).await {
            seen = LogNumber::default();
        }
    }
}
