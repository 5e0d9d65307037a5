//! Making things durable: one commit in flight, each an atomic change of the storage.
//!
//! A commit carries the writes of one group, or edits of the version, or both. It always takes the next log number, so a
//! leader that was replaced meanwhile fails, whatever it commits (see `recover.rs`). Writes enter the memtable when their
//! commit completes. If a commit fails, every pending write fails with it, because an earlier write may have decided a
//! later one.

use crate::engine::base::latch::Latch;
use crate::engine::base::runtime::Runtime;
use crate::engine::base::wiring::News;
use crate::engine::space::Space;
use crate::engine::store::Store;
use crate::engine::store::apply::StoredCommit;
use crate::engine::store::pending::{self, Group, PendingEdit};
use crate::engine::versions::version::Edit;
use crate::error::{Code, Error, Result};
use crate::format::log::{self, LogHead};
use crate::format::record::{self, Place};
use crate::storage::{Commit, SegmentId};
use std::rc::Rc;

/// Makes writes and edits durable.
pub(crate) struct Commits {
    runtime: Rc<Runtime>,
    store: Rc<Store>,
    space: Rc<Space>,
}

impl Commits {
    pub(crate) fn new(store: &Rc<Store>, space: &Rc<Space>) -> Self {
        Self { runtime: Rc::clone(&store.runtime), store: Rc::clone(store), space: Rc::clone(space) }
    }

    /// Changes the version; resolves when the change is durable.
    pub(crate) async fn commit_edit(self: &Rc<Self>, edit: Edit) -> Result<()> {
        if let Err(error) = self.store.ready().await {
            self.store.view.borrow_mut().doubt(&edit);
            return Err(error);
        }
        let done = Rc::new(Latch::default());
        self.store.line.pending.borrow_mut().edits.push(PendingEdit { edit, done: Rc::clone(&done) });
        self.kick();
        done.wait().await
    }

    /// Commits an edit that names new segments. If it was not stored, their space is freed: at once, or when the outcome
    /// is known.
    pub(crate) async fn commit_staged(self: &Rc<Self>, edit: Edit) -> Result<()> {
        let staged: Vec<SegmentId> = edit.add.iter().map(|(_, _, part)| part.segment.id).collect();
        let committed = self.commit_edit(edit).await;
        if committed.as_ref().is_err_and(|error| error.code() == Code::QuotaExceeded) {
            self.space.discard(&staged).await;
        }
        committed
    }

    /// Makes sure that the commit loop runs.
    pub(crate) fn kick(self: &Rc<Self>) {
        if self.store.line.is_running.replace(true) {
            return;
        }
        let commits = Rc::clone(self);
        self.runtime.spawn(Box::pin(async move { commits.run().await }));
    }

    async fn run(self: Rc<Self>) {
        // The disk had no room for both, so edits now go without writes.
        let mut apart = false;
        loop {
            let (group, edits) = {
                // Bounds memory, and the log that an opening replays.
                let held_up = !self.runtime.is_read_only() && self.store.holds_writes_up();
                let mut pending = self.store.line.pending.borrow_mut();
                // A load comes after the writes accepted before it.
                let is_due = |edit: &PendingEdit, next: Option<u64>| {
                    edit.edit.loaded.is_none_or(|own| next.is_none_or(|next| own < next))
                };
                let next = pending.first_waiting();
                let waits = held_up || apart && pending.edits.iter().any(|edit| is_due(edit, next));
                let group = if waits { None } else { pending.pop() };
                let next = pending.first_waiting();
                let (due, later) = std::mem::take(&mut pending.edits).into_iter().partition(|edit| is_due(edit, next));
                pending.edits = later;
                (group, due)
            };
            if group.is_none() && edits.is_empty() {
                break;
            }
            let outcome = match self.store.check_alive() {
                Ok(()) => self.commit_once(group.as_ref(), &edits).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => {
                    if let Some(group) = group {
                        // What was given back has helped. It may help again.
                        self.space.reserve.squeezes.set(0);
                        group.done.set(Ok(()));
                    }
                    for edit in edits {
                        edit.done.set(Ok(()));
                    }
                    self.runtime.tell(News::Committed);
                }
                Err(error) if error.code() == Code::QuotaExceeded && group.is_some() && !edits.is_empty() => {
                    apart = true;
                    self.commit_failed(Vec::new(), &error);
                    self.store.line.pending.borrow_mut().edits.splice(0..0, edits);
                }
                Err(error) => {
                    self.commit_failed(edits, &error);
                    if error.code() == Code::QuotaExceeded {
                        self.runtime.tell(News::DiskFull);
                    }
                }
            }
        }
        self.store.line.is_running.set(false);
        self.runtime.tell(News::NothingToCommit);
    }

    fn commit_failed(&self, edits: Vec<PendingEdit>, error: &Error) {
        self.store.line.count_failure();
        self.store.images.clear();
        match error.code() {
            // Another leader took over: all state of this engine is outdated.
            Code::Fenced | Code::InternalServerError => {
                self.store.line.end_overtaken(error.clone());
                self.store.cache.close_second();
            }
            // Nothing was stored.
            Code::QuotaExceeded | Code::ReadOnly => {}
            // It may have been stored all the same.
            _ => {
                self.store.line.set_certain(false);
                let mut view = self.store.view.borrow_mut();
                edits.iter().for_each(|edit| view.doubt(&edit.edit));
            }
        }
        let groups = self.store.line.pending.borrow_mut().fail_all();
        pending::fail(groups, error);
        for edit in edits {
            edit.done.set(Err(error.clone()));
        }
    }

    async fn commit_once(&self, group: Option<&Rc<Group>>, edits: &[PendingEdit]) -> Result<()> {
        self.store.ready().await?;
        self.runtime.check_writable()?;
        if self.space.reserve.is_out() || self.store.leadership.is_due() {
            Box::pin(self.space.make_room(group)).await?;
        }
        let stored = loop {
            let ((commit, stored), began) = (self.prepare(group, edits)?, self.space.attempt());
            let second = self.store.cache.second.get();
            if let Some(second) = second {
                second.expect(&commit, stored.version.as_ref().map(|(_, version)| version));
            }
            let Err(error) = self.runtime.storage.commit(commit).await else {
                if let Some(second) = second {
                    second.settle();
                }
                break stored;
            };
            if !Box::pin(self.space.makes_room_for(group, &error, began)).await {
                return Err(error);
            }
        };
        if self.space.reserve.is_due() {
            self.space.keep_reserve();
        }
        self.store.take_over(stored)
    }

    /// A commit, and what becomes of the store once it is stored.
    fn prepare<'c>(
        &self,
        group: Option<&'c Rc<Group>>,
        edits: &'c [PendingEdit],
    ) -> Result<(Commit, StoredCommit<'c>)> {
        let number = self.store.line.next_log();
        let head = LogHead { epoch: self.store.leadership.epoch(), clock: self.runtime.clock.to_store() };
        let payload = match group {
            Some(group) => group.batch().encode(head, self.store.line.last_stamp()),
            None => log::encode_checkpoint(head),
        };
        let version = group.map_or(log::PLAIN_VERSION, |group| group.batch().version());
        let logged = record::seal_as(Place::Log(number), version, &payload);
        let mut stored =
            StoredCommit { number, logged: logged.len() as u64, version: None, added: Vec::new(), group, edits };
        let log = vec![(number, logged)];
        let mut commit = Commit { log, durability: self.runtime.options.durability, ..Commit::default() };
        if edits.is_empty() {
            return Ok((commit, stored));
        }
        let mut view = self.store.view.borrow_mut();
        let mut version = (*view.version).clone();
        let mut applied = Vec::with_capacity(edits.len());
        for pending in edits {
            // A tree that was dropped during its flush or compaction stays dropped.
            let mut edit = pending.edit.clone();
            stored.added.extend(edit.add.iter().map(|(_, _, part)| Rc::clone(&part.segment)));
            edit.add.retain(|(tree, ..)| !view.dropped_trees.contains(*tree));
            edit.split = edit.split.filter(|split| !view.dropped_trees.contains(split.tree));
            edit.merge = edit.merge.filter(|(tree, _)| !view.dropped_trees.contains(*tree));
            edit.drop_trees.iter().for_each(|tree| view.dropped_trees.insert(*tree));
            version = version.apply(&edit)?;
            applied.push(edit);
        }
        let (manifests, record) = view.manifests.next(&version, &applied, head, self.store.line.last_stamp());
        commit.manifest = Some((manifests.newest, record));
        commit.first_manifest = manifests.first();
        let done = view.log.iter().map(|(number, _)| *number).filter(|number| *number < version.log_start);
        commit.trim_log = done.filter(|number| !self.store.leadership.has_record(*number)).collect();
        stored.version = Some((manifests, version));
        Ok((commit, stored))
    }
}
