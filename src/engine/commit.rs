//! Making things durable: one commit in flight, each an atomic change of the storage.
//!
//! A commit carries the writes of one group, or edits of the version, or both; it always takes the next log number, so
//! that a leader who was replaced meanwhile fails, whatever it commits (see `recover.rs`). Writes enter the memtable
//! when their commit completes. If it fails, every write that is pending fails with it, because a later one may have
//! been decided by an earlier one.

use super::contents::RawRecord;
use super::keys::full_key;
use super::latch::Latch;
use super::manifest::{self, Manifests, Opened};
use super::memtable::{Memtable, Record};
use super::part::Segment;
use super::pending::{self, Group, PendingEdit};
use super::version::{Edit, Followed, Version};
use super::{Engine, State};
use crate::error::{Code, Error, Result};
use crate::format::fragment::Fragment;
use crate::format::log::{self, LogHead};
use crate::format::record::{self, Place};
use crate::storage::{BlockId, Commit, Loaded, LogNumber, SegmentId, Storage};
use std::rc::Rc;

/// A commit, and what is so once it is stored.
struct Prepared {
    commit: Commit,
    /// The version and its manifests, if the version changes.
    version: Option<(Manifests, Version)>,
    /// The log number that the commit takes.
    number: LogNumber,
    /// Segments that were to be added: the version may have no part of those that were written for trees that are gone
    /// meanwhile, or that this very commit drops.
    added: Vec<Rc<Segment>>,
}

/// A log record this large is not copied when it is replayed: the memtable takes it over.
const TAKEN_BYTES: usize = 16 << 10;

/// So many segments are deleted by one transaction of the storage. Each is some hundred records, and commits wait for it.
const DELETED_AT_ONCE: usize = 4;

impl<S: Storage> Engine<S> {
    /// Changes the version; resolves when the change is durable.
    pub(super) async fn commit_edit(&self, edit: Edit) -> Result<()> {
        if let Err(error) = self.ready().await {
            self.state.borrow_mut().doubt(&edit);
            return Err(error);
        }
        let done = Rc::new(Latch::default());
        self.state.borrow_mut().edits.push(PendingEdit { edit, done: Rc::clone(&done) });
        self.kick();
        done.wait().await
    }

    /// Sees to it that commits run.
    pub(super) fn kick(&self) {
        if self.committing.replace(true) {
            return;
        }
        if let Some(engine) = self.me.upgrade() {
            self.spawn(Box::pin(async move { engine.run_commits().await }));
        }
    }

    async fn run_commits(self: Rc<Self>) {
        // Edits go without writes now: there was no room for both.
        let mut apart = false;
        loop {
            let (group, edits) = {
                // Memory stays bounded, and what an opening has to replay.
                let held_up = !self.is_read_only() && self.holds_writes_up();
                let mut state = self.state.borrow_mut();
                // What is loaded comes after the writes that were accepted before.
                let is_due = |edit: &PendingEdit, next: Option<u64>| {
                    edit.edit.loaded.is_none_or(|own| next.is_none_or(|next| own < next))
                };
                let next = state.pending.first_waiting();
                let waits = held_up || apart && state.edits.iter().any(|edit| is_due(edit, next));
                let group = if waits { None } else { state.pending.pop() };
                let next = state.pending.first_waiting();
                let (edits, later) = std::mem::take(&mut state.edits).into_iter().partition(|edit| is_due(edit, next));
                state.edits = later;
                (group, edits)
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
                    self.state.borrow_mut().edits.splice(0..0, edits);
                }
                Err(error) => self.commit_failed(edits, &error),
            }
        }
        self.committing.set(false);
        self.flush_when_quiet();
        if self.waits_for_flush() {
            // If the flush failed before, it is tried again now that somebody needs it.
            self.start_background();
        }
    }

    fn commit_failed(&self, edits: Vec<PendingEdit>, error: &Error) {
        let groups = {
            let mut state = self.state.borrow_mut();
            self.failures.set(self.failures.get() + 1);
            self.images.clear();
            match error.code() {
                // Somebody else leads: nothing that this engine holds is current any more.
                Code::Fenced | Code::InternalServerError => state.dead = Some(error.clone()),
                // Nothing was stored.
                Code::QuotaExceeded | Code::ReadOnly => {}
                // It may have been stored all the same.
                _ => {
                    state.uncertain = true;
                    edits.iter().for_each(|edit| state.doubt(&edit.edit));
                }
            }
            state.pending.fail_all()
        };
        pending::fail(groups, error);
        for edit in edits {
            edit.done.set(Err(error.clone()));
        }
    }

    async fn commit_once(&self, group: Option<&Rc<Group>>, edits: &[PendingEdit]) -> Result<()> {
        self.ready().await?;
        self.check_writable()?;
        if self.reserve.is_out() || self.leadership.is_due() {
            Box::pin(self.make_room(group)).await?;
        }
        let (Prepared { version, number, added, .. }, logged) = loop {
            let (mut prepared, releases) = (self.prepare(group, edits)?, self.reserve.releases());
            let commit = std::mem::take(&mut prepared.commit);
            let logged: u64 = commit.log.iter().map(|(_, record)| record.len() as u64).sum();
            let Err(error) = self.storage.commit(commit).await else { break (prepared, logged) };
            let full = error.code() == Code::QuotaExceeded && Self::may_take_reserve(group);
            if !full || !Box::pin(self.release_reserve(releases, true)).await {
                return Err(error);
            }
        };
        if self.reserve.is_due() {
            self.keep_reserve();
        }

        let mut state = self.state.borrow_mut();
        state.next_log = LogNumber(number.0 + 1);
        state.log.push_back((number, logged));
        if let Some((manifests, version)) = version {
            state.adopt(manifests, version);
            self.house.compacting.is_due.set(true);
            self.images.clear();
            // A part that only changed its level was obsolete already.
            for segment in added.into_iter().filter(|segment| segment.is_new()) {
                if !state.obsolete.iter().any(|other| other.id == segment.id) {
                    state.obsolete.push(segment);
                }
            }
        }
        drop(state);
        let (bytes, writes) = group.map_or((0, 0), |group| (group.batch().len() as u64, group.batch().count()));
        self.state.borrow().lengthen_log(logged, bytes, writes);
        if let Some(group) = group {
            self.apply(group)?;
        }
        self.freeze_if_full(&mut self.state.borrow_mut());
        if let Some(loaded) = edits.iter().filter_map(|edit| edit.edit.loaded).max() {
            let mut state = self.state.borrow_mut();
            state.visible_seqno = state.visible_seqno.max(loaded);
        }
        Ok(())
    }

    fn prepare(&self, group: Option<&Rc<Group>>, edits: &[PendingEdit]) -> Result<Prepared> {
        let mut state = self.state.borrow_mut();
        let number = state.next_log;
        let head = LogHead { epoch: self.leadership.epoch(), clock: self.clock.to_store() };
        let payload = match group {
            Some(group) => group.batch().encode(head, self.last_stamp.get()),
            None => log::encode_checkpoint(head),
        };
        let mut commit = Commit {
            log: vec![(number, record::seal(Place::Log(number), &payload))],
            durability: self.options.durability,
            ..Commit::default()
        };
        if edits.is_empty() {
            return Ok(Prepared { commit, version: None, number, added: Vec::new() });
        }
        let mut version = (*state.version).clone();
        let (mut applied, mut added) = (Vec::with_capacity(edits.len()), Vec::new());
        for pending in edits {
            // A tree that was dropped while a flush or a compaction of it ran does not come back.
            let mut edit = pending.edit.clone();
            added.extend(edit.add.iter().map(|(_, _, part)| Rc::clone(&part.segment)));
            edit.add.retain(|(tree, ..)| !state.dropped_trees.contains(*tree));
            edit.split = edit.split.filter(|split| !state.dropped_trees.contains(split.tree));
            edit.merge = edit.merge.filter(|(tree, _)| !state.dropped_trees.contains(*tree));
            edit.drop_trees.iter().for_each(|tree| state.dropped_trees.insert(*tree));
            version = version.apply(&edit)?;
            applied.push(edit);
        }
        let (manifests, stored) = state.manifests.next(&version, &applied, head, self.last_stamp.get());
        commit.manifest = Some((manifests.newest, stored));
        commit.first_manifest = manifests.first();
        let done = state.log.iter().map(|(number, _)| *number).filter(|number| *number < version.log_start);
        commit.trim_log = done.filter(|number| !self.leadership.has_record(*number)).collect();
        Ok(Prepared { commit, version: Some((manifests, version)), number, added })
    }

    /// The writes of a group that is stored enter the memtable.
    fn apply(&self, group: &Rc<Group>) -> Result<()> {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        let batch = group.batch();
        let mut writes = batch.writes();
        let broken = |_| Error::internal("a pending write cannot be read");
        let adopted = state.memtable.adopt(batch.names());
        let mut full = Vec::new();
        while let Some(write) = writes.next_write().map_err(broken)? {
            full.clear();
            full.extend_from_slice(&write.tree.0.to_be_bytes());
            full.extend_from_slice(write.key);
            self.load.count(&full);
            let key = state.pending.settle(group, &full).unwrap_or_else(|| full.clone().into());
            let fragment = Fragment::decode(write.fragment, batch.base_stamp(), batch.names()).map_err(broken)?;
            state.memtable.insert(key, write.seqno, fragment, adopted, &self.holds).map_err(broken)?;
        }
        state.visible_seqno = writes.next_seqno() - 1;
        state.pending.forget_group(group);
        state.counters.commits += 1;
        state.counters.writes += batch.count();
        Ok(())
    }

    /// Takes over a log record that was found in the storage: its number is used, its writes enter the memtable.
    pub(super) fn replay(&self, state: &mut State, logged: &RawRecord) -> Result<()> {
        state.next_log = LogNumber(logged.number.0 + 1);
        state.log.push_back((logged.number, logged.stored));
        let batch = logged.decode()?.batch;
        let writes = batch.as_ref().map_or(0, |batch| batch.writes.left());
        state.lengthen_log(logged.stored, logged.payload.len() as u64, writes);
        let Some(mut batch) = batch else { return Ok(()) };
        self.last_stamp.set(self.last_stamp.get().max(batch.last_stamp));
        let broken = |damage| Error::corrupt(Place::Log(logged.number), damage);
        let memtable = &state.memtable;
        let taken = (logged.payload.len() >= TAKEN_BYTES).then(|| {
            let (payload, names) = (logged.payload.clone(), batch.names.clone());
            memtable.take(Record { payload, base_stamp: batch.base_stamp, names })
        });
        // The record's checksum vouches for its cells.
        let adopted = taken.is_none() && memtable.adopt(&batch.names);
        while let Some(write) = batch.writes.next_write().map_err(broken)? {
            let fragment = Fragment::decode(write.fragment, batch.base_stamp, &batch.names).map_err(broken)?;
            if let Some(chunk) = taken {
                memtable.insert_taken(&write, fragment.head(), chunk, &self.holds);
            } else {
                let key = full_key(write.tree, write.key);
                memtable.insert(key, write.seqno, fragment, adopted, &self.holds).map_err(broken)?;
            }
        }
        let last = batch.writes.next_seqno().saturating_sub(1);
        state.visible_seqno = state.visible_seqno.max(last);
        state.pending.skip_to(last);
        self.freeze_if_full(state);
        Ok(())
    }

    pub(super) fn freeze_if_full(&self, state: &mut State) {
        if state.memtable.bytes() >= self.options.memtable_bytes || state.has_long_log() {
            self.freeze(state);
        }
    }

    /// Starts a new memtable; the old one waits to be flushed.
    pub(super) fn freeze(&self, state: &mut State) {
        state.settle_retentions();
        let fresh = Rc::new(Memtable::new(state.next_log, self.clock.now_ms()));
        state.frozen.push_back(std::mem::replace(&mut state.memtable, fresh));
    }

    /// Whether the engine works and knows what is stored.
    pub(super) fn is_ready(&self) -> bool {
        let state = self.state.borrow();
        state.dead.is_none() && !state.uncertain && !self.is_overtaken(&state)
    }

    /// Whether there is a log record that this engine did not write, as far as the storage knows.
    fn is_overtaken(&self, state: &State) -> bool {
        self.storage.newest_log().is_some_and(|newest| newest >= state.next_log) && !self.committing.get()
    }

    /// Whether the engine works. After a failure that left open whether a commit took effect, waits until that is known:
    /// nothing is read, decided or committed before. Returns at once in all other cases.
    pub(super) async fn ready(&self) -> Result<()> {
        loop {
            let (finding, others) = {
                let mut state = self.state.borrow_mut();
                if let Some(error) = &state.dead {
                    return Err(error.clone());
                }
                state.uncertain |= self.is_overtaken(&state);
                if !state.uncertain {
                    return Ok(());
                }
                let others = state.finding.is_some();
                (Rc::clone(state.finding.get_or_insert_default()), others)
            };
            // Whoever asked first may go away: others wait for the answer too.
            if let (false, Some(engine)) = (others, self.me.upgrade()) {
                self.spawn(Box::pin(async move {
                    let outcome = engine.find_out().await;
                    let finding = engine.state.borrow_mut().finding.take();
                    finding.into_iter().for_each(|finding| finding.set(outcome.clone()));
                }));
            }
            finding.wait().await?;
        }
    }

    async fn find_out(&self) -> Result<()> {
        let number = self.state.borrow().next_log;
        let Loaded { manifests, log } = self.storage.load(&|_| Ok(number)).await?;
        let mut state = self.state.borrow_mut();
        for (number, stored) in log {
            let logged = RawRecord::open(number, &stored)?;
            if !logged.is_of(self.leadership.epoch())? {
                drop(state);
                return Err(self.end_replaced());
            }
            self.replay(&mut state, &logged)?;
        }
        if manifests.first().is_some_and(|(id, _)| *id > state.manifests.newest) {
            let Opened { manifests, version, .. } = manifest::open(&manifests, state.version.segments())?;
            // What it has loaded is seen. Nothing is pending: it has failed, or is in the log and was replayed.
            state.visible_seqno = state.visible_seqno.max(version.next_seqno.saturating_sub(1));
            state.adopt(manifests, version);
            self.house.compacting.is_due.set(true);
            self.images.clear();
        }
        state.uncertain = false;
        // Now, before a later version gives up what this one names: readers may hold on to that.
        let live = state.version.segments();
        state.doubtful.retain(|id| !live.contains_key(id));
        Ok(())
    }

    /// Ends the engine, for another one leads.
    fn end_replaced(&self) -> Error {
        let error = Error::new(Code::Fenced, "another tab has taken over the instance");
        self.stop(error.clone());
        error
    }

    /// Looks whether another engine leads.
    pub(super) async fn check_lead(&self) -> Result<()> {
        let next = self.state.borrow().next_log;
        for (number, stored) in self.storage.read_log(next).await? {
            // A commit of this engine may be on its way.
            if !RawRecord::open(number, &stored)?.is_of(self.leadership.epoch())? {
                return Err(self.end_replaced());
            }
        }
        Ok(())
    }

    /// Sees to it that the space of obsolete segments is given back, also of those that a reader held on to when they became
    /// obsolete. No commit waits for that.
    fn drop_soon(&self) {
        let free = {
            let state = self.state.borrow();
            let doubtful = !state.doubtful.is_empty() && !state.uncertain;
            doubtful || state.obsolete.iter().any(|segment| Rc::strong_count(segment) == 1)
        };
        if let (true, Some(engine)) = (free, self.me.upgrade()) {
            self.spawn(Box::pin(async move { engine.drop_unreferenced().await }));
        }
    }

    /// Gives the space of obsolete segments back, once nobody reads them, and of what was staged and never named.
    pub(super) async fn drop_unreferenced(&self) {
        let (gone, unnamed) = {
            let mut state = self.state.borrow_mut();
            let all = std::mem::take(&mut state.obsolete);
            let (gone, kept) = all.into_iter().partition(|segment| Rc::strong_count(segment) == 1);
            state.obsolete = kept;
            let gone: Vec<Rc<Segment>> = gone;
            (gone, state.take_unnamed())
        };
        if gone.is_empty() && unnamed.is_empty() {
            return;
        }
        for segment in &gone {
            for block in 0..=segment.blocks {
                self.cache.remove(BlockId { segment: segment.id, block });
            }
        }
        let ids: Vec<SegmentId> = gone.iter().map(|segment| segment.id).chain(unnamed.iter().copied()).collect();
        if let Err(error) = self.delete_segments(&ids).await {
            // They are not in the manifest: the next commit tries again, and so does the next opening.
            ::log::warn!("obsolete segments could not be deleted: {error}");
            let mut state = self.state.borrow_mut();
            state.obsolete.extend(gone);
            state.doubtful.extend(unnamed);
        } else {
            Box::pin(self.use_room()).await;
        }
    }

    /// Deletes segments that nobody reads, a few at a time: commits and whoever stages blocks come in between.
    pub(super) async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        for piece in segments.chunks(DELETED_AT_ONCE) {
            let turn = self.house.staging.take(&[]);
            turn.come().await;
            self.storage.delete_segments(piece).await?;
        }
        Ok(())
    }
}

impl State {
    /// Remembers what was staged for an edit that failed.
    fn doubt(&mut self, edit: &Edit) {
        let live = self.version.segments();
        let staged = edit.add.iter().map(|(_, _, part)| part.segment.id);
        self.doubtful.extend(staged.filter(|id| !live.contains_key(id)));
    }

    /// What was staged for commits that failed and, as is known by now, were not stored.
    fn take_unnamed(&mut self) -> Vec<SegmentId> {
        if self.uncertain { Vec::new() } else { std::mem::take(&mut self.doubtful) }
    }

    /// A version that is stored becomes the current one.
    fn adopt(&mut self, manifests: Manifests, version: Version) {
        let Followed { unused, left_over } = version.follow(&self.version);
        self.obsolete.extend(unused);
        self.left_over += u64::from(left_over);
        while self.log.front().is_some_and(|(number, _)| *number < version.log_start) {
            self.log.pop_front();
        }
        self.version = Rc::new(version);
        self.manifests = manifests;
    }
}
