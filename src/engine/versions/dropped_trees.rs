//! Which trees were dropped in this session.
//!
//! A flush, compaction or load may still be writing a tree that is gone. However late it ends, it must not bring the tree
//! back. Ids ascend and are never reused, so dropped ids are kept as ranges. A range ends at a living tree, so there are
//! few of them even if many tables come and go.

use crate::model::TreeId;

/// Dropped trees.
#[derive(Debug, Default)]
pub(crate) struct DroppedTrees {
    /// The first and the last id of each range, in no order. Ranges neither overlap nor touch.
    stretches: Vec<(u32, u32)>,
}

impl DroppedTrees {
    pub(crate) fn contains(&self, tree: TreeId) -> bool {
        self.stretches.iter().any(|(first, last)| (first..=last).contains(&&tree.0))
    }

    pub(crate) fn insert(&mut self, TreeId(id): TreeId) {
        let mut new = (id, id);
        self.stretches.retain(|&(first, last)| {
            let apart = last.saturating_add(1) < new.0 || new.1.saturating_add(1) < first;
            if !apart {
                new = (new.0.min(first), new.1.max(last));
            }
            apart
        });
        self.stretches.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn stretches_are_the_set_of_what_was_dropped(ids in proptest::collection::vec(prop_oneof![0u32..40, u32::MAX - 2..=u32::MAX], 0..60)) {
            let (mut dropped, mut set) = (DroppedTrees::default(), BTreeSet::new());
            for id in ids {
                dropped.insert(TreeId(id));
                set.insert(id);
                let ends = set.iter().filter(|id| !id.checked_add(1).is_some_and(|next| set.contains(&next)));
                prop_assert_eq!(dropped.stretches.len(), ends.count());
            }
            prop_assert!((0..41).chain([u32::MAX - 1, u32::MAX]).all(|id| dropped.contains(TreeId(id)) == set.contains(&id)));
        }
    }
}
