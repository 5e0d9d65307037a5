//! Background work by hand: pause it, do one piece, go on. For lessons, in stores that nobody depends on.

use super::Inspector;
use super::events::{WorkEvent, WorkPart, inputs_of};
use crate::engine::background::compaction::{Change, Compactor, Work as Job, do_next_work};
use crate::engine::background::flush::Flusher;
use crate::engine::base::wiring::News;
use crate::engine::versions::partition::PartitionId;
use crate::engine::work::CompactionReason;
use crate::error::{Error, Result};
use crate::model::TreeId;
use std::rc::Rc;

/// The piece of work that comes next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DueWork {
    /// The oldest frozen memtable, of so many bytes, becomes segments.
    Flush {
        /// Its memory.
        bytes: u64,
    },
    /// Parts are merged.
    Compaction {
        /// Their tree.
        tree: TreeId,
        /// Why.
        reason: CompactionReason,
        /// The parts.
        inputs: Vec<WorkPart>,
        /// The level of the outputs; `None` if the parts are dropped unread.
        to: Option<u64>,
    },
    /// A partition is cut.
    Split {
        /// Its tree.
        tree: TreeId,
        /// The partition.
        partition: PartitionId,
    },
    /// A partition and the next one become one.
    Merge {
        /// Their tree.
        tree: TreeId,
        /// The first of them.
        partition: PartitionId,
    },
}

impl Inspector<'_> {
    fn check_pausable(self) -> Result<()> {
        if self.store.runtime.options.pausable {
            return self.store.check_alive();
        }
        let text = "Background work can be paused in an instance in memory only.";
        Err(Error::parameter(text).with_hint("Open a sandbox: open(name, { storage: \"memory\" })."))
    }

    /// Holds background work, and waits for what is under way. A flush or a compaction that somebody asks for is done. So is a flush
    /// that writes wait for, because three memtables are full. The code of compaction is loaded first: a pause that could tell nothing
    /// of the next piece of work would be refused after it had begun.
    ///
    /// # Errors
    /// `OTSParameterInvalid` without the option `pausable`; `Unavailable` without the code of compaction; errors of an engine that has
    /// ended. Then nothing is paused.
    pub async fn pause_work(self) -> Result<()> {
        self.check_pausable()?;
        self.compactor.load_compaction().await?;
        self.store.check_alive()?;
        self.compactor.house.is_paused.set(true);
        self.work_events(u64::MAX)?;
        while self.compactor.house.flushes.is_running.get() || self.compactor.house.compactions.is_running.get() {
            self.store.work_ended().wait().await;
            self.store.check_alive()?;
        }
        Ok(())
    }

    /// Lets background work go on.
    ///
    /// # Errors
    /// As for [`Inspector::pause_work`].
    pub fn resume_work(self) -> Result<()> {
        self.check_pausable()?;
        self.compactor.house.is_paused.set(false);
        self.store.must_search.set(true);
        self.store.runtime.tell(News::WorkDue);
        Ok(())
    }

    /// Whether background work is paused.
    #[must_use]
    pub fn is_work_paused(self) -> bool {
        self.compactor.house.is_paused.get()
    }

    /// Does the next piece of work. Returns what was done: nothing if nothing is due.
    ///
    /// # Errors
    /// As for [`Inspector::pause_work`]; `OTSParameterInvalid` if work is not paused; errors of the storage.
    pub async fn step_work(self) -> Result<Vec<Rc<WorkEvent>>> {
        self.check_pausable()?;
        if !self.compactor.house.is_paused.get() {
            return Err(Error::parameter("Background work is not paused: pause it, then step."));
        }
        let before = self.work_events(u64::MAX)?.position;
        let work = step(Rc::clone(self.flusher), Rc::clone(self.compactor));
        self.store.runtime.apart(Box::pin(work)).await?;
        Ok(self.work_events(before)?.events)
    }

    /// The next piece of work. Loads the code of compaction, which knows it.
    ///
    /// # Errors
    /// As for [`Inspector::pause_work`].
    pub async fn due_work(self) -> Result<Option<DueWork>> {
        self.check_pausable()?;
        if let Some(memtable) = self.store.view.borrow().frozen.front() {
            return Ok(Some(DueWork::Flush { bytes: memtable.bytes() as u64 }));
        }
        self.compactor.load_compaction().await?;
        Ok(match self.compactor.next_work() {
            Some(Job::Change(change)) => {
                let (tree, partition) = change.place();
                Some(match change {
                    Change::Split(..) => DueWork::Split { tree, partition },
                    Change::Merge(..) => DueWork::Merge { tree, partition },
                })
            }
            Some(Job::Job(job)) => {
                let (reason, inputs, to) = job.describe(&self.store.runtime.options.shape);
                let inputs = inputs_of(job.tree, &inputs);
                Some(DueWork::Compaction { tree: job.tree, reason, inputs, to: to.map(|to| to as u64) })
            }
            Some(Job::All) | None => None,
        })
    }
}

/// Does the piece of work that is due.
async fn step(flusher: Rc<Flusher>, compactor: Rc<Compactor>) -> Result<()> {
    while compactor.house.flushes.is_running.get() {
        compactor.store.work_ended().wait().await;
        compactor.store.check_alive()?;
    }
    if !compactor.store.view.borrow().frozen.is_empty() {
        compactor.house.flushes.is_running.set(true);
        let flushed = flusher.flush_oldest().await;
        compactor.house.flushes.is_running.set(false);
        compactor.store.tell_work_ended();
        return flushed.map(drop).inspect_err(|error| flusher.flush_failed(error));
    }
    let _hold = compactor.hold_compaction().await?;
    do_next_work(&compactor).await.map(drop)
}
