//! The trees, and the retention of their rows.

use super::housekeeping::Housekeeping;
use crate::engine::base::runtime::Runtime;
use crate::engine::store::Store;
use crate::engine::versions::version::Edit;
use crate::engine::write::commit::Commits;
use crate::model::TreeId;
use crate::model::version::Retention;
use std::rc::Rc;

/// Which trees exist, and what compaction keeps of them.
pub(crate) struct Trees {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    commits: Rc<Commits>,
    house: Rc<Housekeeping>,
}

impl Trees {
    pub(crate) fn new(store: &Rc<Store>, commits: &Rc<Commits>, house: &Rc<Housekeeping>) -> Self {
        Self {
            runtime: Rc::clone(&store.runtime),
            store: Rc::clone(store),
            commits: Rc::clone(commits),
            house: Rc::clone(house),
        }
    }

    /// Sets what compaction keeps of a tree's rows.
    pub(crate) fn set_retention(&self, tree: TreeId, retention: Retention) {
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

    /// From now on, expiry removes no version from `oldest` (ms) on from a tree.
    pub(crate) fn set_floor(&self, tree: TreeId, oldest: i64) {
        self.store.view.borrow_mut().retentions.set_floor(tree, oldest);
        self.store.must_search.set(true);
    }

    /// The trees with stored data; some come more than once.
    pub(crate) fn all(&self) -> Vec<TreeId> {
        let view = self.store.view.borrow();
        let mut found: Vec<TreeId> = view.version.trees.keys().copied().collect();
        for memtable in view.memtables() {
            found.extend(memtable.trees());
        }
        found
    }

    /// Sets the trees that exist. Others are deleted in the background.
    pub(crate) fn retain_trees(&self, live: &[TreeId]) {
        if !self.runtime.is_read_only() {
            self.drop_trees(self.all().into_iter().filter(|tree| !live.contains(tree)).collect());
        }
    }

    /// Deletes a tree; its space is freed in the background. No write to it may follow.
    pub(crate) fn drop_tree(&self, tree: TreeId) {
        self.drop_trees(vec![tree]);
    }

    fn drop_trees(&self, trees: Vec<TreeId>) {
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
        let commits = Rc::clone(&self.commits);
        self.runtime.spawn(Box::pin(async move {
            if let Err(error) = commits.commit_edit(Edit { drop_trees: trees, ..Edit::default() }).await {
                log::warn!("a deleted table's space is given back at the next opening: {error}");
            }
        }));
    }
}
