//! Readers that wait for new rows of a tree.

use crate::engine::base::latch::Latch;
use crate::model::TreeId;
use std::cell::RefCell;
use std::rc::Rc;

/// Those that wait, with their trees.
#[derive(Debug, Default)]
pub(crate) struct Arrivals(RefCell<Vec<(TreeId, Rc<Latch<()>>)>>);

impl Arrivals {
    /// The latch that is set after the next stored write to the tree.
    pub(crate) fn latch(&self, tree: TreeId) -> Rc<Latch<()>> {
        let mut waiting = self.0.borrow_mut();
        if let Some((_, latch)) = waiting.iter().find(|(other, _)| *other == tree) {
            return Rc::clone(latch);
        }
        let latch = Rc::<Latch<()>>::default();
        waiting.push((tree, Rc::clone(&latch)));
        latch
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Wakes those that wait for one of these trees.
    pub(crate) fn tell(&self, has_come: impl Fn(TreeId) -> bool) {
        let mut waiting = self.0.borrow_mut();
        let told: Vec<_> = waiting.extract_if(.., |(tree, _)| has_come(*tree)).collect();
        drop(waiting);
        told.into_iter().for_each(|(_, latch)| latch.set(()));
    }
}
