//! Compaction merges parts of segments, so that reads look into few of them and deleted data goes.

mod change;
mod pick;
mod pieces;
mod repartition;
mod split;

use super::housekeeping::Housekeeping;
use super::rewrite::{Input, Rewriter};
use crate::engine::base::options::Shape;
use crate::engine::base::runtime::Runtime;
use crate::engine::base::wiring::News;
use crate::engine::read::reader::Reader;
use crate::engine::rows::row::Keep;
use crate::engine::space::Space;
use crate::engine::store::Store;
use crate::engine::versions::part::Part;
use crate::engine::versions::partition::{Partition, PartitionId};
use crate::engine::versions::snapshot::Sources;
use crate::engine::versions::version::Edit;
use crate::engine::work::{CompactionReason, DoneWork, MergedParts, WorkLine, merged_parts};
use crate::engine::write::commit::Commits;
use crate::error::{Code, Error, Result};
use crate::model::TreeId;
use crate::modules::Module;
use crate::storage::SegmentId;
pub(crate) use change::Change;
use pick::{Choice, Waste};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

/// The grace period of work that became due without a version change, ms of the steady clock. Data expires, or a time to
/// live is lowered; after this time the clock starts a compaction. So an option that was lowered by mistake can be raised
/// again, and nothing is lost (V5). A version change, such as a flush, starts compaction at once.
const GRACE_MS: i64 = 600_000;

/// The most segments' worth that one job gathers above the bottoms of several partitions. They share the new segments.
const GATHERED_SEGMENTS: u64 = 4;

/// A chosen compaction, with its inputs.
pub(crate) struct Job {
    pub(crate) tree: TreeId,
    /// Several partitions if they gather runs into the same level above their bottoms.
    chosen: Vec<PartitionJob>,
}

impl Job {
    /// What it would do: why, with which parts, and into which level; `None` if they are dropped unread.
    pub(crate) fn describe(&self, shape: &Shape) -> (CompactionReason, MergedParts<'_>, Option<usize>) {
        let reason = self.chosen.first().map_or(CompactionReason::Level0Full, |first| first.why(shape));
        let parts = self.chosen.iter().flat_map(|one| merged_parts(&one.partition, &one.choice.parts()));
        let to = self.chosen.first().and_then(|first| first.choice.level());
        (reason, parts.collect(), to)
    }
}

/// Work of compaction.
pub(crate) enum Work {
    /// A job that was found.
    Job(Job),
    Change(Change),
    /// Merging every partition into one level.
    All,
}

/// Does work. A gate of [`Module::Compaction`], which must be loaded.
#[inline(never)]
fn work_of_compaction(compactor: &Compactor, work: Work) -> Pin<Box<dyn Future<Output = Result<()>> + '_>> {
    Box::pin(async move {
        let at_work = &compactor.house.compactions.at_work;
        at_work.set(true);
        let done = match work {
            Work::Job(job) => compactor.perform(job).await,
            Work::Change(Change::Split(tree, partition, at)) => compactor.split(tree, partition, at).await,
            Work::Change(Change::Merge(tree, left)) => compactor.merge_with_next(tree, left).await,
            Work::All => compactor.compact_all().await,
        };
        at_work.set(false);
        compactor.let_flush_through().await;
        done
    })
}

/// Does the next piece of work. Returns whether there was one. A gate of [`Module::Compaction`], which must be loaded.
#[inline(never)]
pub(crate) fn do_next_work(compactor: &Compactor) -> Pin<Box<dyn Future<Output = Result<bool>> + '_>> {
    Box::pin(async move {
        let Some(work) = compactor.next_work() else { return Ok(false) };
        let changed = if let Work::Change(change) = &work { Some(change.place()) } else { None };
        let done = work_of_compaction(compactor, work).await;
        match changed {
            Some((tree, id)) => compactor.note(tree, id, done)?,
            None => done?,
        }
        // Until now the job itself held the segments that it replaced.
        compactor.space.drop_unreferenced().await;
        Ok(true)
    })
}

/// The work on one partition.
struct PartitionJob {
    partition: Rc<Partition>,
    choice: Choice,
}

/// Parts of a partition to merge: their levels and segments.
type Inputs<'a> = (&'a Partition, &'a [(usize, SegmentId)]);

/// Compacts, and changes partitions.
pub(crate) struct Compactor {
    pub(crate) runtime: Rc<Runtime>,
    pub(crate) store: Rc<Store>,
    pub(crate) space: Rc<Space>,
    pub(crate) commits: Rc<Commits>,
    pub(crate) reader: Rc<Reader>,
    pub(crate) house: Rc<Housekeeping>,
    pub(crate) rewriter: Rc<Rewriter>,
}

/// While it lives no other compaction runs.
pub(crate) struct CompactionHold<'h>(&'h Compactor);

impl Drop for CompactionHold<'_> {
    fn drop(&mut self) {
        self.0.house.compactions.is_running.set(false);
        self.0.house.compactions.quarantine.forget_room();
        self.0.store.tell_work_ended();
    }
}

impl Compactor {
    pub(crate) fn new(
        space: &Rc<Space>,
        commits: &Rc<Commits>,
        reader: &Rc<Reader>,
        house: &Rc<Housekeeping>,
        rewriter: &Rc<Rewriter>,
    ) -> Self {
        Self {
            runtime: Rc::clone(&reader.runtime),
            store: Rc::clone(&reader.store),
            space: Rc::clone(space),
            commits: Rc::clone(commits),
            reader: Rc::clone(reader),
            house: Rc::clone(house),
            rewriter: Rc::clone(rewriter),
        }
    }

    /// Starts compaction in the background, if it may find work and does not run.
    pub(crate) fn start(self: &Rc<Self>) {
        let may_find = self.store.must_search.get() || self.house.compactions.may_need_change.take();
        let is_due = may_find && self.runtime.options.auto_compact && !self.house.is_paused.get();
        if !is_due || self.house.compactions.is_running.replace(true) {
            return;
        }
        let compactor = Rc::clone(self);
        self.runtime.spawn(Box::pin(async move {
            let _hold = CompactionHold(&compactor);
            if let Err(error) = compactor.compact_in_background().await
                && error.code() != Code::Closed
            {
                log::warn!("compaction failed, the next change of the version tries again: {error}");
            }
        }));
    }

    /// Merges every tree into one level with its current options. Data that the options hide is removed for good (V3, V5).
    pub(crate) async fn compact(self: &Rc<Self>) -> Result<()> {
        self.do_apart(Box::new(|_| Work::All)).await
    }

    /// Does the work that `find` chooses once no other compaction runs. It does not stop half way when the caller goes away.
    async fn do_apart(self: &Rc<Self>, find: Box<dyn FnOnce(&Self) -> Work>) -> Result<()> {
        let compactor = Rc::clone(self);
        let work = async move {
            let _hold = compactor.hold_compaction().await?;
            work_of_compaction(&compactor, find(&compactor)).await
        };
        self.runtime.apart(Box::pin(work)).await
    }

    /// Waits until the code of compaction is there, no compaction runs and the stored version is known. No other compaction
    /// starts while the hold lives.
    pub(crate) async fn hold_compaction(&self) -> Result<CompactionHold<'_>> {
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

    /// Begins the flush that waited for a job, and wakes the loads that did. If compaction is still far behind, the next job does
    /// not begin before a memtable is flushed: writes go on, slowly.
    pub(crate) async fn let_flush_through(&self) {
        self.runtime.tell(News::WorkDue);
        self.store.tell_work_ended();
        if self.house.is_far_behind() {
            if self.house.flushes.is_running.get() {
                self.store.work_ended().wait().await;
            } else {
                self.runtime.env.yield_now().await;
            }
        }
    }

    /// Whether a partition may need a compaction.
    fn may_need_work(&self) -> bool {
        let view = self.store.view.borrow();
        let (now, left_over) = (self.runtime.expiry_ms(), view.left_over());
        view.version.trees.iter().any(|(&tree, partitions)| {
            let expired_before = view.kept(tree, false, now).oldest(now);
            partitions.all().iter().any(|one| {
                !one.is_in_shape(left_over, expired_before)
                    && pick::may_find(&one.levels, &self.runtime.options.shape, expired_before)
            })
        })
    }

    /// The next piece of work: a change of partitions before a job. A gate of [`Module::Compaction`], which must be loaded.
    #[inline(never)]
    pub(crate) fn next_work(&self) -> Option<Work> {
        self.next_change().map(Work::Change).or_else(|| self.next_job(false).map(Work::Job))
    }

    /// The next compaction. With `quiet` it ignores readers at older instants. A gate of [`Module::Compaction`], which must be
    /// loaded.
    #[inline(never)]
    fn next_job(&self, quiet: bool) -> Option<Job> {
        let view = self.store.view.borrow();
        // A reader at the present instant sees everything in segments.
        let quiet = quiet || self.store.holds.all_see(view.version.next_seqno.saturating_sub(1));
        let (now, steady, left_over) = (self.runtime.expiry_ms(), self.runtime.clock.steady_ms(), view.left_over());
        let jobs = view.version.trees.iter().flat_map(|(&tree, partitions)| {
            let expired_before = view.kept(tree, false, now).oldest(now);
            let unsure = partitions.all().iter().filter(move |one| !one.is_in_shape(left_over, expired_before));
            let open = unsure.filter(move |partition| !self.house.compactions.quarantine.holds(partition.id, steady));
            open.filter_map(move |partition| {
                let (levels, shape) = (&partition.levels, &self.runtime.options.shape);
                let pick = |quiet| pick::pick(levels, shape, Waste { expired_before, quiet });
                let choice = pick(true);
                if choice.is_none() {
                    partition.set_in_shape(left_over, pick::in_shape_until(levels, shape));
                }
                let choice = if quiet { choice } else { choice.and_then(|_| pick(false)) }?;
                Some((tree, PartitionJob { partition: Rc::clone(partition), choice }))
            })
        });
        let jobs: Vec<(TreeId, PartitionJob)> = jobs.collect();
        // The partition whose reads look into the most parts.
        let (most, (tree, first)) = jobs.iter().enumerate().max_by_key(|(_, (_, one))| one.partition.level0_len())?;
        let (tree, to, mut bytes) = (*tree, first.gathers(), first.bytes());
        let mut fits = |chosen: &PartitionJob| {
            bytes += chosen.bytes();
            bytes <= GATHERED_SEGMENTS * self.runtime.options.shape.segment_bytes
        };
        // The job includes other partitions of the tree with the same work. A flush brings little to each of them;
        // separate jobs would make many small segments and commits.
        let chosen = jobs.into_iter().enumerate().filter(|(at, (other, one))| {
            *at == most || (*other == tree && to.is_some() && one.gathers() == to && fits(one))
        });
        Some(Job { tree, chosen: chosen.map(|(_, (_, one))| one).collect() })
    }

    /// Whether work has been due for the grace period. The engine asks whenever it looks at the clock. Work that does not
    /// get done is tried again after the same time.
    fn is_overdue(&self, now: i64) -> bool {
        let compactions = &self.house.compactions;
        if compactions.is_running.get() {
            return false;
        }
        let is_loaded = self.runtime.env.has(Module::Compaction);
        let is_due = if is_loaded { self.next_job(true).is_some() } else { self.may_need_work() };
        if is_due && !is_loaded && compactions.waits_for_code.get() {
            // This work has begun already.
            return compactions.may_load(now);
        }
        let since = is_due.then(|| compactions.due_since.get().filter(|since| *since <= now).unwrap_or(now));
        let overdue = since.is_some_and(|since| now.saturating_sub(since) >= GRACE_MS);
        compactions.due_since.set(if overdue { Some(now) } else { since });
        overdue
    }

    /// Compacts until every partition is in shape; splits and merges partitions first. A partition that cannot be read is
    /// skipped. Where only a change of partitions may be due and there is none, expired data keeps its grace period.
    async fn compact_in_background(&self) -> Result<()> {
        let mut may_compact = false;
        loop {
            // After a commit of unknown outcome the stored version may differ from the known one. A job chosen by the old
            // one would not fit it.
            self.store.ready().await?;
            may_compact |= self.store.must_search.replace(false);
            if self.house.is_paused.get() {
                return Ok(());
            }
            if self.runtime.env.has(Module::Compaction) {
                if !may_compact && self.next_change().is_none() {
                    return Ok(());
                }
                may_compact = true;
                if !do_next_work(self).await? && !self.house.compactions.quarantine.may_have_room() {
                    return Ok(());
                }
                continue;
            }
            let is_due = self.may_need_change() || self.may_need_work();
            if !is_due || !self.house.compactions.may_load(self.runtime.clock.steady_ms()) {
                return Ok(());
            }
            // The version may change meanwhile.
            let loaded = self.load_compaction().await;
            self.house.compactions.waits_for_code.set(may_compact && loaded.is_err());
            loaded?;
        }
    }

    /// Loads the code of compaction. A failure is told; reads go on, and meet more and more parts.
    pub(crate) async fn load_compaction(&self) -> Result<()> {
        let loaded = self.runtime.env.load(Module::Compaction).await;
        if let Err(error) = &loaded {
            self.house.compactions.load_failed(self.runtime.clock.steady_ms());
            self.runtime
                .health
                .tell(None, error.clone().with_message(format!("Nothing is compacted: {}", error.message())));
        }
        loaded
    }

    /// Performs a job. Damage in one partition does not stop the others, nor does a lack of room for one.
    async fn perform(&self, Job { tree, chosen }: Job) -> Result<()> {
        let merges: Vec<_> = chosen.iter().filter_map(PartitionJob::inputs).collect();
        if let ([_, _, ..], Some(to)) = (&*merges, chosen.first().and_then(PartitionJob::gathers)) {
            let reason = self.house.observer().and(chosen.first()).map(|first| first.why(&self.runtime.options.shape));
            match self.merge_parts(tree, &merges, to, self.runtime.expiry_ms(), reason).await {
                Err(error) if matches!(error.code(), Code::Corrupt | Code::QuotaExceeded) => {}
                done => {
                    let places = chosen.iter().map(|chosen| chosen.partition.id);
                    return done.map(|()| places.for_each(|id| self.house.compactions.quarantine.forget(id)));
                }
            }
        }
        for chosen in &chosen {
            let done = match self.perform_one(tree, chosen).await {
                Err(error) if error.code() == Code::QuotaExceeded => {
                    self.cut_for_room(tree, chosen.partition.id).await.map(drop)
                }
                done => done,
            };
            self.note(tree, chosen.partition.id, done)?;
        }
        Ok(())
    }

    /// Records the outcome of work on a partition: one that cannot be read is skipped for a while.
    fn note(&self, tree: TreeId, id: PartitionId, done: Result<()>) -> Result<()> {
        match done {
            Ok(()) => self.house.compactions.quarantine.forget(id),
            Err(error) if error.code() == Code::Corrupt => self.pass_over(tree, id, &error),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    #[cold]
    fn pass_over(&self, tree: TreeId, id: PartitionId, error: &Error) {
        let minutes = self.house.compactions.quarantine.fail(id, self.runtime.clock.steady_ms()) / 60_000;
        let view = self.store.view.borrow();
        self.house.compactions.quarantine.retain(&|id| view.version.trees.values().any(|all| all.get(id).is_some()));
        drop(view);
        let text = format!("Partition {} is not compacted for {minutes} min: {}", id.0, error.message());
        self.runtime.health.tell(Some(tree), error.clone().with_message(text));
    }

    async fn perform_one(&self, tree: TreeId, job: &PartitionJob) -> Result<()> {
        let PartitionJob { partition, choice } = job;
        let reason = self.house.observer().map(|_| job.why(&self.runtime.options.shape));
        match choice {
            Choice::Drop { parts } => {
                let remove = parts.iter().map(|&(level, segment)| (tree, partition.id, level, segment)).collect();
                self.commit_unread(tree, job, reason, Edit { remove, ..Edit::default() }).await
            }
            Choice::Move { from, segments, to } => {
                let moved = partition.levels.levels.get(*from).into_iter().flatten();
                let moved = moved.filter(|part| segments.contains(&part.segment.id));
                let edit = Edit {
                    remove: segments.iter().map(|&segment| (tree, partition.id, *from, segment)).collect(),
                    add: moved.map(|part| (tree, *to, Rc::clone(part))).collect(),
                    ..Edit::default()
                };
                self.commit_unread(tree, job, reason, edit).await
            }
            Choice::Merge { inputs, to } => {
                let now = self.runtime.expiry_ms();
                self.merge_parts(tree, &[(partition.as_ref(), inputs)], *to, now, reason).await
            }
        }
    }

    /// Commits an edit of a job that reads no part.
    async fn commit_unread(
        &self,
        tree: TreeId,
        job: &PartitionJob,
        reason: Option<CompactionReason>,
        edit: Edit,
    ) -> Result<()> {
        if let Some((observer, reason)) = self.house.observer().zip(reason) {
            let inputs = merged_parts(&job.partition, &job.choice.parts());
            let (to, outputs) = (job.choice.level(), &edit.add[..]);
            observer.done(&self.store, DoneWork::Compaction { tree, reason, inputs, to, outputs, written: 0 });
        }
        self.commits.commit_edit(edit).await?;
        self.house.tell_stored(WorkLine::Compaction);
        Ok(())
    }

    /// Merges a whole partition into one level and applies the retention for good, as of the instant `now` (V3, V5).
    pub(crate) async fn compact_partition(
        &self,
        tree: TreeId,
        id: PartitionId,
        now: i64,
        reason: CompactionReason,
    ) -> Result<()> {
        let Some(partition) = self.partition(tree, id) else { return Ok(()) };
        let inputs: Vec<_> = partition.levels.parts().map(|(number, part)| (number, part.segment.id)).collect();
        let deepest = partition.levels.levels.len().saturating_sub(1).max(pick::BOTTOM);
        self.merge_parts(tree, &[(partition.as_ref(), &inputs)], deepest, now, Some(reason)).await
    }

    /// The partition that has a key.
    fn partition_with(&self, tree: TreeId, key: &[u8]) -> Option<Rc<Partition>> {
        self.store.view.borrow().version.trees.get(&tree).and_then(|all| all.holding(key)).map(Rc::clone)
    }

    fn partition(&self, tree: TreeId, id: PartitionId) -> Option<Rc<Partition>> {
        self.store.view.borrow().version.trees.get(&tree).and_then(|partitions| partitions.get(id)).map(Rc::clone)
    }

    /// Merges parts of neighbouring partitions, in ascending order, into one level of each.
    async fn merge_parts(
        &self,
        tree: TreeId,
        merges: &[Inputs<'_>],
        to: usize,
        now: i64,
        reason: Option<CompactionReason>,
    ) -> Result<()> {
        let (mut inputs, mut remove, mut read) = (Vec::with_capacity(merges.len()), Vec::new(), 0);
        for (partition, merged) in merges {
            let levels = &partition.levels;
            let runs = levels.runs(|number, part| merged.contains(&(number, part.segment.id)));
            let parts: Vec<&Part> = runs.iter().flatten().map(AsRef::as_ref).collect();
            let keep = if pick::is_bottom(levels, &parts, to) {
                let whole = pick::is_top(levels, merged, &parts, to);
                Keep::Retained(self.store.view.borrow().kept(tree, whole, now), now)
            } else {
                Keep::All
            };
            read += parts.iter().map(|part| part.bytes).sum::<u64>();
            inputs.push(Input { sources: Sources { memtables: Vec::new(), runs }, keep });
            remove.extend(merged.iter().map(|&(level, segment)| (tree, partition.id, level, segment)));
        }
        let (written, bytes) = self.rewriter.rewrite(inputs).await?;
        let add: Vec<_> = written.into_iter().map(|(tree, part)| (tree, to, part)).collect();
        if let Some((observer, reason)) = self.house.observer().zip(reason) {
            let inputs = merges.iter().flat_map(|(partition, chosen)| merged_parts(partition, chosen)).collect();
            let (to, outputs) = (Some(to), &add[..]);
            observer.done(&self.store, DoneWork::Compaction { tree, reason, inputs, to, outputs, written: bytes });
        }
        self.commits.commit_staged(Edit { remove, add, ..Edit::default() }).await?;
        self.house.tell_stored(WorkLine::Compaction);
        self.runtime.counters.compactions.add(merges.len() as u64);
        self.runtime.counters.compacted_bytes_read.add(read);
        self.runtime.counters.compacted_bytes_written.add(bytes);
        Ok(())
    }
}

impl PartitionJob {
    /// Why it is done.
    fn why(&self, shape: &Shape) -> CompactionReason {
        pick::why(&self.partition.levels, shape, &self.choice)
    }

    /// The parts to merge, if the choice is a merge.
    fn inputs(&self) -> Option<Inputs<'_>> {
        match &self.choice {
            Choice::Merge { inputs, .. } => Some((&self.partition, inputs)),
            Choice::Drop { .. } | Choice::Move { .. } => None,
        }
    }

    /// The level above the bottom that this merge fills with one run and nothing else. Only such merges share segments: a
    /// shared segment is cut at partition bounds, and its parts reach up to them.
    fn gathers(&self) -> Option<usize> {
        let Choice::Merge { inputs, to } = &self.choice else { return None };
        let mut others = self.partition.levels.levels.get(*to).into_iter().flatten();
        let alone = others.all(|part| inputs.contains(&(*to, part.segment.id)));
        (*to < pick::BOTTOM && alone).then_some(*to)
    }

    /// Stored bytes of the parts to merge.
    fn bytes(&self) -> u64 {
        let Some((partition, inputs)) = self.inputs() else { return 0 };
        partition.levels.chosen(inputs).map(|(_, part)| part.bytes).sum()
    }
}
