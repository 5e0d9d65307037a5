//! Flushes: memtables become segments, one at a time.

use super::housekeeping::Housekeeping;
use super::rewrite::{Input, Rewriter};
use crate::engine::base::runtime::Runtime;
use crate::engine::base::wiring::News;
use crate::engine::read::order::Order;
use crate::engine::rows::row::Keep;
use crate::engine::space::Space;
use crate::engine::store::Store;
use crate::engine::store::change_records::too_early;
use crate::engine::store::pending;
use crate::engine::versions::backlog::MAX_FROZEN;
use crate::engine::versions::snapshot::Sources;
use crate::engine::versions::version::Edit;
use crate::engine::work::{DoneWork, WorkLine};
use crate::engine::write::commit::Commits;
use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::storage::LogNumber;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::rc::{Rc, Weak};

/// The pause without writes before a flush, ms.
const QUIET_MS: u32 = 1000;

/// Flushes memtables.
pub(crate) struct Flusher {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    space: Rc<Space>,
    commits: Rc<Commits>,
    order: Rc<Order>,
    house: Rc<Housekeeping>,
    rewriter: Rc<Rewriter>,
}

impl Flusher {
    pub(crate) fn new(
        store: &Rc<Store>,
        space: &Rc<Space>,
        commits: &Rc<Commits>,
        order: &Rc<Order>,
        house: &Rc<Housekeeping>,
        rewriter: &Rc<Rewriter>,
    ) -> Self {
        Self {
            runtime: Rc::clone(&store.runtime),
            store: Rc::clone(store),
            space: Rc::clone(space),
            commits: Rc::clone(commits),
            order: Rc::clone(order),
            house: Rc::clone(house),
            rewriter: Rc::clone(rewriter),
        }
    }

    /// Starts a flush in the background, if one is due and none runs.
    pub(crate) fn start(self: &Rc<Self>) {
        let early = {
            let view = self.store.view.borrow();
            view.frozen.front().is_none_or(|memtable| self.store.is_too_early_for(memtable))
        };
        if early || self.house.holds_flushes() || self.house.waits_for_compaction() {
            return;
        }
        if self.house.flushes.is_running.replace(true) {
            return;
        }
        let flusher = Rc::clone(self);
        self.runtime.spawn(Box::pin(async move {
            // Callers with stored writes get their answers first.
            flusher.runtime.env.yield_now().await;
            let outcome = flusher.flush_frozen().await;
            flusher.house.flushes.is_running.set(false);
            match outcome {
                Ok(()) => flusher.runtime.tell(News::WorkDue),
                Err(error) => flusher.flush_failed(&error),
            }
        }));
    }

    /// Flushes every frozen memtable, oldest first.
    async fn flush_frozen(&self) -> Result<()> {
        while self.flush_oldest().await? && !self.house.holds_flushes() {}
        Ok(())
    }

    /// Flushes the oldest frozen memtable. Returns whether it did.
    pub(crate) async fn flush_oldest(&self) -> Result<bool> {
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
        if self.house.waits_for_compaction() {
            return Ok(false);
        }
        self.store.make_records_in(&memtable).await?;
        let sources = Sources { memtables: vec![Rc::clone(&memtable)], runs: Vec::new() };
        let (parts, bytes) = self.rewriter.rewrite(vec![Input { sources, keep: Keep::All }]).await?;
        let edit = Edit {
            add: parts.into_iter().map(|(tree, part)| (tree, 0, part)).collect(),
            log_start: Some(log_start),
            next_seqno,
            ..Edit::default()
        };
        if let Some(observer) = self.house.observer() {
            observer.done(&self.store, DoneWork::Flush { memtable: &memtable, parts: &edit.add, written: bytes });
        }
        self.commits.commit_staged(edit).await?;
        self.house.tell_stored(WorkLine::Flush);
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

    pub(crate) fn flush_failed(&self, error: &Error) {
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

    /// See [`Engine::flush`](crate::engine::Engine::flush).
    pub(crate) async fn flush(&self) -> Result<()> {
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
        self.runtime.tell(News::WorkDue);
        loop {
            // The wait may have ended the engine.
            self.store.check_alive()?;
            if self.store.awaits_recorder() {
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

    /// The log could not grow. Starts a flush of it: that frees its beginning. If the flush fails, the next one comes when writes
    /// wait for it, or when room was freed.
    #[cold]
    pub(crate) fn shorten_log(&self) {
        let is_due = {
            let view = self.store.view.borrow();
            view.frozen.is_empty() && view.has_to_flush()
        };
        if is_due {
            self.store.freeze();
            self.runtime.tell(News::WorkDue);
        }
    }

    /// Starts a flush of a log that is worth it, once nothing was written for a while. If the flush fails, as on a full
    /// disk, it is tried again after the next stored write.
    pub(crate) fn flush_when_quiet(self: &Rc<Self>) {
        if self.house.flushes.is_watching.get() || self.runtime.is_read_only() {
            return;
        }
        let tried = self.store.line.next_log() == self.house.flushes.log_at_last_pause.get();
        if tried || !self.store.view.borrow().is_worth_a_flush() {
            return;
        }
        self.house.flushes.is_watching.set(true);
        self.runtime.spawn_aside(Box::pin(watch(Rc::downgrade(self), Rc::clone(&self.runtime.env))));
    }
}

/// Waits until nothing was written for a while, and flushes. It holds no reference that would keep the store alive.
async fn watch(flusher: Weak<Flusher>, env: Rc<dyn Env>) {
    let mut seen = LogNumber::default();
    loop {
        let idle = {
            let Some(flusher) = flusher.upgrade() else { return };
            let Some(_engine) = flusher.runtime.engine() else { return };
            if !flusher.store.line.is_alive() {
                return;
            }
            let (next, idle) = (flusher.store.line.next_log(), flusher.store.work_ended());
            if seen == next {
                flusher.house.flushes.is_watching.set(false);
                flusher.house.flushes.log_at_last_pause.set(next);
                if !flusher.house.is_paused.get()
                    && let Err(error) = flusher.flush().await
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
