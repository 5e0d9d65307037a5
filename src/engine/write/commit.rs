//! Making things durable: one commit in flight, each an atomic change of the storage.
//!
//! A commit carries the writes of one group, or edits of the version, or both. It always takes the next log number, so a
//! leader that was replaced meanwhile fails, whatever it commits (see `recover.rs`). Writes enter the memtable when their
//! commit completes. If a commit fails, every pending write fails with it, because an earlier write may have decided a
//! later one.

use crate::engine::Engine;
use crate::engine::base::latch::Latch;
use crate::engine::memory::memtable::Record;
use crate::engine::rows::keys::full_key;
use crate::engine::store::pending::{self, Group, PendingEdit};
use crate::engine::store::raw_record::RawRecord;
use crate::engine::versions::manifest::Manifests;
use crate::engine::versions::part::Segment;
use crate::engine::versions::version::{Edit, Version};
use crate::error::{Code, Error, Result};
use crate::format::fragment::Fragment;
use crate::format::log::{self, LogHead};
use crate::format::record::{self, Place};
use crate::storage::{Commit, LogNumber};
use std::rc::Rc;

/// A commit, and the state after it is stored.
struct PreparedCommit {
    commit: Commit,
    /// The version and its manifests, if the version changes.
    version: Option<(Manifests, Version)>,
    /// The log number that the commit takes.
    number: LogNumber,
    /// Segments that the edits add. The version may lack some: their trees may be gone meanwhile, or dropped by this very
    /// commit.
    added: Vec<Rc<Segment>>,
}

/// From this size on a log record is not copied at replay: the memtable takes it over.
const TAKEN_BYTES: usize = 16 << 10;

impl Engine {
    /// Changes the version; resolves when the change is durable.
    pub(in crate::engine) async fn commit_edit(&self, edit: Edit) -> Result<()> {
        if let Err(error) = self.ready().await {
            self.view.borrow_mut().doubt(&edit);
            return Err(error);
        }
        let done = Rc::new(Latch::default());
        self.line.pending.borrow_mut().edits.push(PendingEdit { edit, done: Rc::clone(&done) });
        self.kick();
        done.wait().await
    }

    /// Makes sure that the commit loop runs.
    pub(in crate::engine) fn kick(&self) {
        if self.line.is_running.replace(true) {
            return;
        }
        if let Some(engine) = self.me.upgrade() {
            self.runtime.spawn(Box::pin(async move { engine.run_commits().await }));
        }
    }

    async fn run_commits(self: Rc<Self>) {
        // The disk had no room for both, so edits now go without writes.
        let mut apart = false;
        loop {
            let (group, edits) = {
                // Bounds memory, and the log that an opening replays.
                let held_up = !self.runtime.is_read_only() && self.holds_writes_up();
                let mut pending = self.line.pending.borrow_mut();
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
            let outcome = match self.check_alive() {
                Ok(()) => self.commit_once(group.as_ref(), &edits).await,
                Err(error) => Err(error),
            };
            match outcome {
                Ok(()) => {
                    if let Some(group) = group {
                        // What was given back has helped. It may help again.
                        self.reserve.squeezes.set(0);
                        group.done.set(Ok(()));
                    }
                    for edit in edits {
                        edit.done.set(Ok(()));
                    }
                    self.drop_soon();
                    self.start_background();
                    self.tick();
                }
                Err(error) if error.code() == Code::QuotaExceeded && group.is_some() && !edits.is_empty() => {
                    apart = true;
                    self.commit_failed(Vec::new(), &error);
                    self.line.pending.borrow_mut().edits.splice(0..0, edits);
                }
                Err(error) => {
                    self.commit_failed(edits, &error);
                    if error.code() == Code::QuotaExceeded {
                        self.shorten_log();
                    }
                }
            }
        }
        self.line.is_running.set(false);
        self.flush_when_quiet();
        if self.waits_for_flush() {
            // A failed flush is tried again, now that writes need it.
            self.start_background();
        }
    }

    fn commit_failed(&self, edits: Vec<PendingEdit>, error: &Error) {
        self.line.count_failure();
        self.images.clear();
        match error.code() {
            // Another leader took over: all state of this engine is outdated.
            Code::Fenced | Code::InternalServerError => self.line.end_overtaken(error.clone()),
            // Nothing was stored.
            Code::QuotaExceeded | Code::ReadOnly => {}
            // It may have been stored all the same.
            _ => {
                self.line.set_certain(false);
                let mut view = self.view.borrow_mut();
                edits.iter().for_each(|edit| view.doubt(&edit.edit));
            }
        }
        let groups = self.line.pending.borrow_mut().fail_all();
        pending::fail(groups, error);
        for edit in edits {
            edit.done.set(Err(error.clone()));
        }
    }

    async fn commit_once(&self, group: Option<&Rc<Group>>, edits: &[PendingEdit]) -> Result<()> {
        self.ready().await?;
        self.runtime.check_writable()?;
        if self.reserve.is_out() || self.leadership.is_due() {
            Box::pin(self.make_room(group)).await?;
        }
        let (PreparedCommit { version, number, added, .. }, logged) = loop {
            let (mut prepared, releases) = (self.prepare(group, edits)?, self.reserve.releases());
            let commit = std::mem::take(&mut prepared.commit);
            let logged: u64 = commit.log.iter().map(|(_, record)| record.len() as u64).sum();
            let Err(error) = self.runtime.storage.commit(commit).await else { break (prepared, logged) };
            if !Box::pin(self.makes_room_for(group, &error, releases)).await {
                return Err(error);
            }
        };
        if self.reserve.is_due() {
            self.keep_reserve();
        }

        let (bytes, writes) = group.map_or((0, 0), |group| (group.batch().len() as u64, group.batch().count()));
        self.add_record(number, logged, bytes, writes);
        if let Some((manifests, version)) = version {
            self.adopt(manifests, version, added);
        }
        if let Some(group) = group {
            self.apply(group)?;
        }
        self.freeze_if_full();
        if let Some(loaded) = edits.iter().filter_map(|edit| edit.edit.loaded).max() {
            self.view.borrow_mut().show(loaded);
            self.watches.forget();
        }
        if !self.arrivals.is_empty() {
            let of_group = |tree| group.is_some_and(|group| group.has(tree));
            let loaded = |tree| {
                let loads = edits.iter().filter(|edit| edit.edit.loaded.is_some());
                loads.flat_map(|edit| &edit.edit.add).any(|(other, ..)| *other == tree)
            };
            self.arrivals.tell(|tree| of_group(tree) || loaded(tree));
        }
        Ok(())
    }

    fn prepare(&self, group: Option<&Rc<Group>>, edits: &[PendingEdit]) -> Result<PreparedCommit> {
        let number = self.line.next_log();
        let head = LogHead { epoch: self.leadership.epoch(), clock: self.runtime.clock.to_store() };
        let payload = match group {
            Some(group) => group.batch().encode(head, self.line.last_stamp()),
            None => log::encode_checkpoint(head),
        };
        let version = group.map_or(log::PLAIN_VERSION, |group| group.batch().version());
        let mut commit = Commit {
            log: vec![(number, record::seal_as(Place::Log(number), version, &payload))],
            durability: self.runtime.options.durability,
            ..Commit::default()
        };
        if edits.is_empty() {
            return Ok(PreparedCommit { commit, version: None, number, added: Vec::new() });
        }
        let mut view = self.view.borrow_mut();
        let mut version = (*view.version).clone();
        let (mut applied, mut added) = (Vec::with_capacity(edits.len()), Vec::new());
        for pending in edits {
            // A tree that was dropped during its flush or compaction stays dropped.
            let mut edit = pending.edit.clone();
            added.extend(edit.add.iter().map(|(_, _, part)| Rc::clone(&part.segment)));
            edit.add.retain(|(tree, ..)| !view.dropped_trees.contains(*tree));
            edit.split = edit.split.filter(|split| !view.dropped_trees.contains(split.tree));
            edit.merge = edit.merge.filter(|(tree, _)| !view.dropped_trees.contains(*tree));
            edit.drop_trees.iter().for_each(|tree| view.dropped_trees.insert(*tree));
            version = version.apply(&edit)?;
            applied.push(edit);
        }
        let (manifests, stored) = view.manifests.next(&version, &applied, head, self.line.last_stamp());
        commit.manifest = Some((manifests.newest, stored));
        commit.first_manifest = manifests.first();
        let done = view.log.iter().map(|(number, _)| *number).filter(|number| *number < version.log_start);
        commit.trim_log = done.filter(|number| !self.leadership.has_record(*number)).collect();
        Ok(PreparedCommit { commit, version: Some((manifests, version)), number, added })
    }

    /// Puts the writes of a stored group into the memtable.
    fn apply(&self, group: &Rc<Group>) -> Result<()> {
        let (mut pending, mut view) = (self.line.pending.borrow_mut(), self.view.borrow_mut());
        let batch = group.batch();
        let mut writes = batch.writes();
        let broken = |_| Error::internal("a pending write cannot be read");
        let adopted = view.memtable.adopt(batch.names());
        let mut full = Vec::new();
        while let Some(write) = writes.next_write().map_err(broken)? {
            full.clear();
            full.extend_from_slice(&write.tree.0.to_be_bytes());
            full.extend_from_slice(write.key);
            self.traffic.count(&full);
            self.watches.note(write.seqno, &full);
            let key = pending.settle(group, &full).unwrap_or_else(|| full.clone().into());
            let fragment = Fragment::decode(write.fragment, batch.base_stamp(), batch.names()).map_err(broken)?;
            let slot = view.memtable.insert(key, write.seqno, fragment, adopted, &self.holds).map_err(broken)?;
            if let Some(place) = write.note.record
                && !view.dropped_trees.contains(place.tree)
            {
                view.memtable.record_later(place, write.key, slot);
            }
        }
        view.show(writes.next_seqno() - 1);
        pending.forget_group(group);
        self.runtime.counters.commits.add(1);
        self.runtime.counters.writes.add(batch.count());
        Ok(())
    }

    /// Adopts a log record found in the storage: its number is used, and its writes enter the memtable.
    pub(in crate::engine) fn replay(&self, logged: &RawRecord) -> Result<()> {
        let batch = logged.decode()?.batch;
        let writes = batch.as_ref().map_or(0, |batch| batch.writes.left());
        self.add_record(logged.number, logged.stored, logged.payload.len() as u64, writes);
        let Some(mut batch) = batch else { return Ok(()) };
        self.watches.forget();
        self.line.raise_stamp(batch.last_stamp);
        let broken = |damage| Error::corrupt(Place::Log(logged.number), damage);
        let view = self.view.borrow();
        let memtable = &view.memtable;
        let taken = (logged.payload.len() >= TAKEN_BYTES).then(|| {
            let (payload, names) = (logged.payload.clone(), batch.names.clone());
            memtable.take(Record { payload, base_stamp: batch.base_stamp, names })
        });
        // The record's checksum vouches for its cells.
        let adopted = taken.is_none() && memtable.adopt(&batch.names);
        while let Some(write) = batch.writes.next_write().map_err(broken)? {
            let fragment = Fragment::decode(write.fragment, batch.base_stamp, &batch.names).map_err(broken)?;
            let slot = if let Some(chunk) = taken {
                memtable.insert_taken(&write, fragment.head(), chunk, &self.holds)
            } else {
                let key = full_key(write.tree, write.key);
                memtable.insert(key, write.seqno, fragment, adopted, &self.holds).map_err(broken)?
            };
            if let Some(place) = write.note.record {
                memtable.record_later(place, write.key, slot);
            }
        }
        drop(view);
        let last = batch.writes.next_seqno().saturating_sub(1);
        self.view.borrow_mut().show(last);
        self.line.pending.borrow_mut().skip_to(last);
        self.freeze_if_full();
        Ok(())
    }

    /// Counts a stored log record: its bytes, compressed and raw, and its writes.
    pub(in crate::engine) fn add_record(&self, number: LogNumber, stored: u64, bytes: u64, writes: u64) {
        self.line.skip_log_to(LogNumber(number.0 + 1));
        self.view.borrow_mut().add_record(number, self.runtime.storage.has_log_in_files(), stored, bytes, writes);
    }

    /// Makes a stored version the current one. `added` are the segments of its edits.
    pub(in crate::engine) fn adopt(&self, manifests: Manifests, version: Version, added: Vec<Rc<Segment>>) {
        self.view.borrow_mut().adopt(manifests, version, added);
        self.house.compactions.must_search.set(true);
        self.images.clear();
    }
}
