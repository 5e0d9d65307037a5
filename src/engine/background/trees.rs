//! The trees, and the retention of their rows.

use crate::engine::Engine;
use crate::engine::versions::version::Edit;
use crate::model::TreeId;
use crate::model::version::Retention;

impl Engine {
    /// Sets what compaction keeps of a tree's rows.
    pub fn set_retention(&self, tree: TreeId, retention: Retention) {
        let settled = self.store.line.is_certain() && self.store.line.pending.borrow().group_of_tree(tree).is_none();
        let settled = settled.then(|| self.store.behind_memory());
        let mut view = self.store.view.borrow_mut();
        if view.retentions.get(tree).is_some_and(|kept| *kept != retention) {
            // These options start a new grace period.
            self.house.compactions.start_grace();
            self.store.images.clear();
            // Other rows are visible now.
            self.store.watches.forget();
        }
        view.retentions.set(tree, retention, settled, self.store.line.last_seqno());
    }

    /// The instant (ms) for expiry in the background. Soon after the clock has jumped forward nothing is expired.
    pub fn expiry_ms(&self) -> i64 {
        self.runtime.expiry_ms()
    }

    /// From now on, expiry removes no version from `oldest` (ms) on from a tree.
    pub fn set_floor(&self, tree: TreeId, oldest: i64) {
        self.store.view.borrow_mut().retentions.set_floor(tree, oldest);
        self.store.must_search.set(true);
    }

    /// The trees with stored data; some come more than once.
    pub(crate) fn trees(&self) -> Vec<TreeId> {
        let view = self.store.view.borrow();
        let mut found: Vec<TreeId> = view.version.trees.keys().copied().collect();
        for memtable in view.memtables() {
            found.extend(memtable.trees());
        }
        found
    }

    /// Sets the trees that exist. Others are deleted in the background.
    pub fn retain_trees(&self, live: &[TreeId]) {
        if !self.runtime.is_read_only() {
            self.drop_trees(self.trees().into_iter().filter(|tree| !live.contains(tree)).collect());
        }
    }

    /// Deletes a tree; its space is freed in the background. No write to it may follow.
    pub fn drop_tree(&self, tree: TreeId) {
        self.drop_trees(vec![tree]);
    }

    fn drop_trees(&self, trees: Vec<TreeId>) {
        let Some(engine) = self.me.upgrade() else { return };
        if trees.is_empty() {
            return;
        }
        // Who waits for their rows must not wait any more.
        self.store.arrivals.tell(|tree| trees.contains(&tree));
        self.store.watches.forget();
        let mut view = self.store.view.borrow_mut();
        for tree in &trees {
            view.dropped_trees.insert(*tree);
            view.retentions.remove(*tree);
            view.memtables().for_each(|memtable| memtable.forget_records(*tree));
        }
        drop(view);
        self.runtime.spawn(Box::pin(async move {
            if let Err(error) = engine.commits.commit_edit(Edit { drop_trees: trees, ..Edit::default() }).await {
                log::warn!("a deleted table's space is given back at the next opening: {error}");
            }
        }));
    }
}
