//! What an opening would have to replay: that it stays little, whatever is written and however a life ends.
//!
//! What lies in memory lies in the log too, and nothing can be read before that was replayed. So a memtable is flushed not
//! only when it is large, but also when the log behind it would take long to replay. That bounds an opening after a kill.
//! What is worth a segment is flushed once nothing has been written for a while, and when the store is closed.

use super::Engine;
use super::memtable::Memtable;
use super::view::View;
use crate::env::Env;
use crate::model::limits::REPLAY_MS;
use crate::storage::{LogNumber, Storage};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::rc::{Rc, Weak};

/// Memtables that wait to be flushed before writing is held up.
pub(super) const MAX_FROZEN: usize = 2;

/// What replaying costs, ns: of a record, most of it in IndexedDB; of a write in it; of a byte as it is stored, and as it is
/// when it was decompressed.
const RECORD_NS: u64 = 9_000;
const WRITE_NS: u64 = 250;
const STORED_BYTE_NS: u64 = 3;
const BYTE_NS: u64 = 1;

/// A memtable that takes this long to replay is flushed as soon as no writes wait: 1050 single puts, or 20,000 of many in
/// flight.
const LONG_NS: u64 = 10_000_000;

/// One that takes this long is flushed while they wait. It costs them time, so a burst that is shorter goes first.
const URGENT_NS: u64 = 16_000_000;

/// While it is flushed, no more than this comes to lie in the log; the group that reaches it still does.
const MOST_NS: u64 = REPLAY_MS * 1_000_000;

/// Less than this is not worth a segment of its own: it stays in the log. 220 single puts.
const LITTLE_NS: u64 = 2_000_000;

/// Nothing has been written for a while, ms.
const QUIET_MS: u32 = 1000;

impl View {
    /// A log record is stored that the memtable comes to hold: so many bytes, compressed and not, and so many writes.
    pub(super) fn add_record(&mut self, number: LogNumber, stored: u64, bytes: u64, writes: u64) {
        self.log.push_back((number, stored));
        let ns = RECORD_NS + stored * STORED_BYTE_NS + bytes * BYTE_NS + writes * WRITE_NS;
        let sum = &self.memtable.replay_ns;
        sum.set(sum.get() + ns);
    }

    /// About how long an opening would replay the log.
    fn backlog_ns(&self) -> u64 {
        self.memtables().map(|memtable| memtable.replay_ns.get()).sum()
    }

    /// Whether the log is worth a flush that nobody has asked for.
    pub(super) fn is_worth_a_flush(&self) -> bool {
        self.backlog_ns() >= LITTLE_NS
    }

    /// Whether a flush does anything for the memtable: there are rows in it, or many records without rows behind it.
    pub(super) fn has_to_flush(&self) -> bool {
        !self.memtable.is_empty() || self.memtable.replay_ns.get() >= LITTLE_NS
    }

    /// Whether the memtable is to be flushed because of the log. Where another one waits for that already, it grows until
    /// its memory is used up: on a full disk, writing goes on as long as there is room for it.
    pub(super) fn has_long_log(&self, writes_wait: bool) -> bool {
        let long = if writes_wait { URGENT_NS } else { LONG_NS };
        self.frozen.is_empty() && self.memtable.replay_ns.get() >= long
    }

    /// Whether writes wait for a flush: there is no more memory for them, or they would come faster than they are flushed.
    pub(super) fn held_up(&self, flush_failed: bool) -> bool {
        let flushing = !self.frozen.is_empty() && !flush_failed;
        self.frozen.len() >= MAX_FROZEN || (flushing && self.backlog_ns() >= MOST_NS)
    }
}

impl<S: Storage> Engine<S> {
    /// Whether writes are held up until a flush is done. Those that delete may go on where there is no room for it.
    pub(super) fn holds_writes_up(&self) -> bool {
        let (view, flushing) = (self.view.borrow(), &self.house.flushes);
        // Memory stays bounded, by one memtable more.
        let may_delete =
            || flushing.is_out_of_room() && self.line.pending.borrow().frees_next() && view.frozen.len() == MAX_FROZEN;
        view.held_up(flushing.has_failed()) && !may_delete()
    }

    /// Whether writes wait for a flush.
    pub(super) fn waits_for_flush(&self) -> bool {
        self.holds_writes_up() && self.line.pending.borrow().has_groups()
    }

    /// Freezes the memtable if it is large, or the log behind it long.
    pub(super) fn freeze_if_full(&self) {
        let writes_wait = self.line.pending.borrow().has_groups();
        let full = {
            let view = self.view.borrow();
            view.memtable.bytes() >= self.options.memtable_bytes || view.has_long_log(writes_wait)
        };
        if full {
            self.freeze();
        }
    }

    /// Starts a new memtable; the old one waits to be flushed.
    pub(super) fn freeze(&self) {
        self.settle_retentions();
        let fresh = Memtable::new(self.line.next_log(), self.clock.now_ms());
        self.view.borrow_mut().freeze(fresh);
    }

    /// Sees to it that what is worth it is flushed when nothing has been written for a while. Where that fails, as on a full
    /// disk, it is tried again once something else is stored.
    pub(super) fn flush_when_quiet(&self) {
        if self.house.flushes.is_watching.get() || self.is_read_only() {
            return;
        }
        let tried = self.line.next_log() == self.house.flushes.tried_at.get();
        if tried || !self.view.borrow().is_worth_a_flush() {
            return;
        }
        self.house.flushes.is_watching.set(true);
        self.spawn(Box::pin(watch(self.me.clone(), Rc::clone(&self.env))));
    }
}

/// Waits until nothing has been written for a while, and flushes. A store that ends meanwhile is not held on to.
async fn watch<S: Storage>(engine: Weak<Engine<S>>, env: Rc<dyn Env>) {
    let mut seen = LogNumber::default();
    loop {
        let idle = {
            let Some(engine) = engine.upgrade() else { return };
            if !engine.line.is_alive() {
                return;
            }
            let (next, idle) = (engine.line.next_log(), engine.house.idle());
            if seen == next {
                engine.house.flushes.is_watching.set(false);
                engine.house.flushes.tried_at.set(next);
                if let Err(error) = engine.flush().await {
                    log::warn!("the log could not be made shorter: {error}");
                }
                return;
            }
            seen = next;
            idle
        };
        // An engine that ends says so. So does background work that ends, which says nothing of writes.
        if let Either::Right(_) = select(env.sleep(QUIET_MS), pin!(idle.wait())).await {
            seen = LogNumber::default();
        }
    }
}
