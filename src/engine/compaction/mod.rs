//! Compaction: merging parts of segments, so that reads look into few of them and deleted data goes.

mod pick;

use super::rewrite::Keep;
use super::version::{Edit, Part, TreeLevels};
use super::{Engine, KeyRange, TreeId, tree_range};
use crate::engine::merge::Sources;
use crate::error::Result;
use crate::model::version::Retention;
use crate::storage::{SegmentId, Storage};
use pick::Choice;
use std::ops::Bound;
use std::rc::Rc;

/// A compaction that was chosen, with what it needs.
struct Job {
    tree: TreeId,
    choice: Choice,
    levels: Rc<TreeLevels>,
}

impl<S: Storage> Engine<S> {
    fn next_job(&self) -> Option<Job> {
        let state = self.state.borrow();
        state.version.trees.iter().find_map(|(&tree, levels)| {
            let choice = pick::pick(levels, &self.options.shape)?;
            Some(Job { tree, choice, levels: Rc::clone(levels) })
        })
    }

    /// Compacts until every tree is in shape.
    pub(super) async fn compact_in_background(&self) -> Result<()> {
        loop {
            self.check_alive()?;
            self.state.borrow_mut().shape_changed = false;
            let Some(job) = self.next_job() else { return Ok(()) };
            self.perform(job).await?;
            // The job itself held on to what it replaced until now.
            self.drop_unreferenced().await;
        }
    }

    async fn perform(&self, job: Job) -> Result<()> {
        match job.choice {
            Choice::Move { from, segments, to } => {
                let moved = job.levels.levels.get(from).into_iter().flatten();
                let moved = moved.filter(|part| segments.contains(&part.segment.id));
                let edit = Edit {
                    remove: segments.iter().map(|&segment| (job.tree, from, segment)).collect(),
                    add: moved.map(|part| (job.tree, to, Rc::clone(part))).collect(),
                    ..Edit::default()
                };
                self.commit_edit(edit).await
            }
            Choice::Merge { inputs, to } => self.merge_parts(job.tree, &job.levels, &inputs, to).await,
        }
    }

    /// Merges everything of a tree into one level and applies its retention for good (V3, V5).
    pub(super) async fn compact_tree(&self, tree: TreeId) -> Result<()> {
        let Some(levels) = self.state.borrow().version.trees.get(&tree).map(Rc::clone) else { return Ok(()) };
        let all = levels.levels.iter().enumerate();
        let inputs: Vec<_> =
            all.flat_map(|(number, level)| level.iter().map(move |part| (number, part.segment.id))).collect();
        let deepest = levels.levels.len().saturating_sub(1).max(1);
        self.merge_parts(tree, &levels, &inputs, deepest).await
    }

    async fn merge_parts(
        &self,
        tree: TreeId,
        levels: &TreeLevels,
        inputs: &[(usize, SegmentId)],
        to: usize,
    ) -> Result<()> {
        let runs = levels.runs(|number, part| inputs.contains(&(number, part.segment.id)));
        let parts: Vec<&Part> = runs.iter().flatten().map(AsRef::as_ref).collect();
        let keep = if pick::is_bottom(levels, &parts, to) {
            let retention = self.state.borrow().retentions.get(&tree).copied().unwrap_or(Retention::ALL);
            Keep::Retained(retention)
        } else {
            Keep::All
        };
        let read: u64 = parts.iter().map(|part| part.bytes).sum();
        let range = tree_range(tree, KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded });
        let sources = Sources { memtables: Vec::new(), runs };
        let (written, bytes) = self.rewrite(sources, range, keep).await?;
        let edit = Edit {
            remove: inputs.iter().map(|&(level, segment)| (tree, level, segment)).collect(),
            add: written.into_iter().map(|(tree, part)| (tree, to, part)).collect(),
            ..Edit::default()
        };
        self.commit_staged(edit).await?;
        let mut state = self.state.borrow_mut();
        state.counters.compactions += 1;
        state.counters.compacted_bytes_read += read;
        state.counters.compacted_bytes_written += bytes;
        Ok(())
    }
}
