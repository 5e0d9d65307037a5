//! The order of operations: which earlier ones a read or a write waits for.

use crate::collections::sort::sort_by;
use crate::collections::turns::{Turn, Turns};
use crate::engine::rows::holds::Hold;
use crate::engine::rows::keys::KeyRange;
use crate::engine::store::Store;
use crate::engine::store::load_state::BulkLoads;
use crate::engine::store::pending::Group;
use crate::error::Result;
use crate::model::TreeId;
use std::rc::Rc;

/// Operations under way: turns on rows, and loads. Pending writes are in the store.
pub(crate) struct Order {
    store: Rc<Store>,
    /// Turns on rows.
    pub(crate) turns: Turns,
    pub(crate) loads: BulkLoads,
}

/// The instant of a range read: all earlier operations, and the outcome of decisions that were open then.
pub(crate) struct RangeInstant {
    pub(crate) asked: Hold,
    pub(crate) decided: Hold,
    /// The rows with open decisions.
    pub(crate) held: Vec<Box<[u8]>>,
}

impl Order {
    pub(crate) fn new(store: &Rc<Store>) -> Self {
        Self { store: Rc::clone(store), turns: Turns::default(), loads: BulkLoads::default() }
    }

    /// Whether a write of the row only has to wait for its commit.
    pub(crate) fn takes_at_once(&self, key: &[u8]) -> bool {
        self.store.is_ready() && self.turns.is_free(key) && !self.loads.cover(key)
    }

    /// Waits for the caller's turn on these rows and until the stored state is known. If it had to wait, it returns the
    /// turns, so that later operations do not overtake.
    pub(crate) async fn turns_of(&self, keys: &[Box<[u8]>]) -> Result<Vec<Turn>> {
        if self.store.is_ready() && keys.iter().all(|key| self.turns.is_free(key)) {
            return Ok(Vec::new());
        }
        let turns = self.take_turns(keys);
        for turn in &turns {
            turn.come().await;
        }
        self.store.ready().await?;
        Ok(turns)
    }

    /// One place in the queue of each row: a second place would wait for the first.
    pub(crate) fn take_turns(&self, keys: &[Box<[u8]>]) -> Vec<Turn> {
        let mut rows: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        sort_by(&mut rows, Ord::cmp);
        rows.dedup();
        rows.into_iter().map(|key| self.turns.take(key)).collect()
    }

    /// Waits for earlier operations on these rows. Returns a hold on the instant to read at, or nothing if it did not
    /// wait.
    pub(crate) async fn after_pending_rows(&self, keys: &[Box<[u8]>]) -> Result<Option<Hold>> {
        let turns = self.turns_of(keys).await?;
        let loads = self.loads.asked(&|load| keys.iter().any(|key| load.covers(key)));
        let (hold, group) = {
            let pending = self.store.line.pending.borrow();
            let group = pending.newest_of(keys);
            if group.is_none() && loads.is_empty() {
                return Ok(None);
            }
            (self.store.holds.hold(pending.last_seqno()), group)
        };
        drop(turns);
        // If the write fails there is nothing of it to see; its own caller gets the error.
        if let Some(group) = group {
            let _ = group.done.wait().await;
        }
        for load in loads {
            let _ = load.done.wait().await;
        }
        Ok(Some(hold))
    }

    /// Waits for earlier operations on the rows of a range.
    pub(crate) async fn after_pending_range(&self, tree: TreeId, range: &KeyRange) -> Option<RangeInstant> {
        let held = self.turns.held_in(&|key| range.contains(key));
        let turns: Vec<Turn> = held.iter().map(|key| self.turns.take(key)).collect();
        let loads = self.loads.asked(&|load| load.meets(tree, range));
        let asked = {
            let pending = self.store.line.pending.borrow();
            if self.store.is_ready() && held.is_empty() && loads.is_empty() && pending.group_of_tree(tree).is_none() {
                return None;
            }
            self.store.holds.hold(pending.last_seqno())
        };
        for turn in &turns {
            turn.come().await;
        }
        let (decided, group) = {
            let pending = self.store.line.pending.borrow();
            (self.store.holds.hold(pending.last_seqno()), pending.group_of_tree(tree))
        };
        drop(turns);
        if let Some(group) = group {
            let _ = group.done.wait().await;
        }
        for load in loads {
            let _ = load.done.wait().await;
        }
        Some(RangeInstant { asked, decided, held })
    }

    /// The newest group with a write to one of these rows.
    pub(crate) fn newest_pending(&self, keys: &[Box<[u8]>]) -> Option<Rc<Group>> {
        self.store.line.pending.borrow().newest_of(keys)
    }

    /// Waits until each accepted write, and each load whose commit was asked for, is stored or has failed.
    pub(crate) async fn settled(&self) {
        self.after_asked_loads().await;
        // Groups settle in order.
        if let Some(group) = self.newest_group() {
            let _ = group.done.wait().await;
        }
    }

    /// Resolves when no load is left whose commit was asked for.
    pub(crate) async fn after_asked_loads(&self) {
        for load in self.loads.asked(&|_| true) {
            let _ = load.done.wait().await;
        }
    }

    fn newest_group(&self) -> Option<Rc<Group>> {
        self.store.line.pending.borrow().newest_group()
    }
}
