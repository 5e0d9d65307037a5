//! Compaction: merging parts of segments, so that reads look into few of them and deleted data goes.

mod passed;
mod pick;

use super::partition::Partition;
use super::rewrite::Keep;
use super::version::{Edit, Part};
use super::{Engine, KeyRange, PartitionId, TreeId, tree_range};
use crate::engine::merge::Sources;
use crate::error::{Code, Error, Result};
use crate::storage::{SegmentId, Storage};
pub(super) use passed::Passed;
use pick::{Choice, Waste};
use std::ops::Bound;
use std::rc::Rc;

/// What time alone has made due, or a time to live that was lowered, the clock starts once it has been due for so long, in ms of
/// the steady clock: who has lowered it by mistake can raise it again, and nothing is lost (V5). A change of the version, such
/// as a flush, waits for nothing.
const GRACE_MS: i64 = 600_000;

/// A compaction that was chosen, with what it needs.
struct Job {
    tree: TreeId,
    partition: Rc<Partition>,
    choice: Choice,
}

impl<S: Storage> Engine<S> {
    /// What is to be compacted next; if `quiet`, as if nobody read at an instant that is over.
    fn next_job(&self, quiet: bool) -> Option<Job> {
        let state = self.state.borrow();
        // Who reads at the present one sees all that is in segments.
        let quiet = quiet || self.snapshots.all_see(state.version.next_seqno.saturating_sub(1));
        let (now, steady, left_over) = (self.expiry_ms(), self.steady_ms(), state.left_over);
        let jobs = state.version.trees.iter().flat_map(|(&tree, partitions)| {
            let expired_before = state.kept(tree, false).oldest(now);
            let unsure = partitions.all().iter().filter(move |one| !one.is_in_shape(left_over, expired_before));
            let open = unsure.filter(move |partition| !self.passed.holds(partition.id, steady));
            open.filter_map(move |partition| {
                let (levels, shape) = (&partition.levels, &self.options.shape);
                let pick = |quiet| pick::pick(levels, shape, Waste { expired_before, quiet });
                let choice = pick(true);
                if choice.is_none() {
                    partition.set_in_shape(left_over, pick::in_shape_until(levels, shape));
                }
                let choice = if quiet { choice } else { choice.and_then(|_| pick(false)) }?;
                Some(Job { tree, partition: Rc::clone(partition), choice })
            })
        });
        // Those whose reads have to look into the most parts.
        jobs.max_by_key(|job| job.partition.levels.levels.first().map_or(0, Vec::len))
    }

    /// Whether something is due that was due so long ago that the clock starts it. It is asked whenever the engine looks at the
    /// clock; what does not get done is tried again after as long.
    pub(super) fn is_overdue(&self, now: i64) -> bool {
        if self.compacting.get() {
            return false;
        }
        let since = self.next_job(true).map(|_| self.due_since.get().filter(|since| *since <= now).unwrap_or(now));
        let overdue = since.is_some_and(|since| now.saturating_sub(since) >= GRACE_MS);
        self.due_since.set(if overdue { Some(now) } else { since });
        overdue
    }

    /// Compacts until every partition is in shape, having split and merged those that ask for it. One that cannot be read
    /// is passed over.
    pub(super) async fn compact_in_background(&self) -> Result<()> {
        loop {
            // After a commit of unknown fate the version may be another one than is known here: a job that is chosen by the
            // old one would not fit it.
            self.ready().await?;
            self.state.borrow_mut().shape_changed = false;
            let (tree, id, done) = if let Some(change) = self.next_change() {
                let (tree, id) = change.place();
                (tree, id, self.change_partitions(change).await)
            } else {
                let Some(job) = self.next_job(false) else { return Ok(()) };
                let (tree, id) = (job.tree, job.partition.id);
                (tree, id, self.perform(job).await)
            };
            match done {
                Ok(()) => self.passed.forget(id),
                Err(error) if error.code() == Code::Corrupt => self.pass_over(tree, id, &error),
                Err(error) => return Err(error),
            }
            // The job itself held on to what it replaced until now.
            self.drop_unreferenced().await;
        }
    }

    #[cold]
    fn pass_over(&self, tree: TreeId, id: PartitionId, error: &Error) {
        let minutes = self.passed.fail(id, self.steady_ms()) / 60_000;
        let state = self.state.borrow();
        self.passed.retain(&|id| state.version.trees.values().any(|all| all.get(id).is_some()));
        drop(state);
        let text = format!("Partition {} is not compacted for {minutes} min: {}", id.0, error.message());
        self.health.tell(Some(tree), error.clone().with_message(text));
    }

    async fn perform(&self, job: Job) -> Result<()> {
        match job.choice {
            Choice::Drop { parts } => {
                let parts = parts.into_iter();
                let remove = parts.map(|(level, segment)| (job.tree, job.partition.id, level, segment)).collect();
                self.commit_edit(Edit { remove, ..Edit::default() }).await
            }
            Choice::Move { from, segments, to } => {
                let moved = job.partition.levels.levels.get(from).into_iter().flatten();
                let moved = moved.filter(|part| segments.contains(&part.segment.id));
                let edit = Edit {
                    remove: segments.iter().map(|&segment| (job.tree, job.partition.id, from, segment)).collect(),
                    add: moved.map(|part| (job.tree, to, Rc::clone(part))).collect(),
                    ..Edit::default()
                };
                self.commit_edit(edit).await
            }
            Choice::Merge { inputs, to } => {
                let now = self.expiry_ms();
                self.merge_parts(job.tree, &job.partition, &inputs, to, now).await
            }
        }
    }

    /// Merges everything of a partition into one level and applies the retention for good, as it is at the instant `now`
    /// (V3, V5).
    pub(super) async fn compact_partition(&self, tree: TreeId, id: PartitionId, now: i64) -> Result<()> {
        let partition = {
            let state = self.state.borrow();
            state.version.trees.get(&tree).and_then(|partitions| partitions.get(id)).map(Rc::clone)
        };
        let Some(partition) = partition else { return Ok(()) };
        let levels = &partition.levels;
        let all = levels.levels.iter().enumerate();
        let inputs: Vec<_> =
            all.flat_map(|(number, level)| level.iter().map(move |part| (number, part.segment.id))).collect();
        let deepest = levels.levels.len().saturating_sub(1).max(pick::BOTTOM);
        self.merge_parts(tree, &partition, &inputs, deepest, now).await
    }

    async fn merge_parts(
        &self,
        tree: TreeId,
        partition: &Partition,
        inputs: &[(usize, SegmentId)],
        to: usize,
        now: i64,
    ) -> Result<()> {
        let levels = &partition.levels;
        let runs = levels.runs(|number, part| inputs.contains(&(number, part.segment.id)));
        let parts: Vec<&Part> = runs.iter().flatten().map(AsRef::as_ref).collect();
        let keep = if pick::is_bottom(levels, &parts, to) {
            let whole = pick::is_top(levels, inputs, &parts, to);
            Keep::Retained(self.state.borrow().kept(tree, whole), now)
        } else {
            Keep::All
        };
        let read: u64 = parts.iter().map(|part| part.bytes).sum();
        let range = tree_range(tree, KeyRange { lower: Bound::Unbounded, upper: Bound::Unbounded });
        let sources = Sources { memtables: Vec::new(), runs };
        let (written, bytes) = self.rewrite(sources, range, keep).await?;
        let edit = Edit {
            remove: inputs.iter().map(|&(level, segment)| (tree, partition.id, level, segment)).collect(),
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
