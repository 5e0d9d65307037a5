//! The log of a storage in files beside it: a write costs a write to a file, and no transaction.
//!
//! The storage keeps blocks, manifests and the [`Fence`]; a [`Journal`] in a pair of files keeps log records. A commit with
//! nothing but log records goes to the files. Any other commit goes to the storage, and its log records follow in the files.
//! So the files have the whole log behind the last leader's first record, and the storage has some records of it too. An
//! opening reads both.
//!
//! A log that is in the storage alone stays there at first, because an opening must not wait for files. They are opened after
//! the first record. The next record goes to both, and the fence names the files with it.
//!
//! # Who may write
//! A write to a file checks nothing. So the leader writes, and then looks at its clock. If its fence was last seen in place
//! more than [`PROOF_US`] ago, it looks at it again before it acknowledges. Who takes over raises the fence first. Then it
//! opens the files of the last leader. It can only do so once that one has ended, so it goes on with these files. If the last
//! leader is frozen, it keeps its files open. Then the next one waits until nothing can be acknowledged any more behind the
//! old fence ([`PATIENCE_US`]), looks at the files as they are, and has its log in a new pair. The frozen one may write on when
//! it wakes: it finds the fence raised, and nobody reads what it wrote. A thread that cannot open files moves the log to the
//! storage in the same way.
//!
//! # A loss of power
//! Records in the storage never overtake those in the files: the files are flushed before each commit to the storage that has
//! any. The files forget trimmed records with the commit that trims them, so that one is strict. Whoever finds a record in the
//! storage alone, or cannot append one, makes its next commit there, and strict. So what is left ends with some record, and
//! none before it is missing.
//!
//! # The way back
//! A close moves the log to the storage, unless it is long, because flushes failed. As long as the note of the fence is not
//! empty, versions of this library that know no fence refuse the store.

mod leader;
mod takeover;

use super::folder::{File, SharedFolder};
use super::journal::Failure;
use super::{TURN_BYTES, frame, there_was_more};
use crate::collections::turns::Turns;
use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::storage::{
    BlockId, Boxed, Commit, Durability, Fence, FencedStorage, Loaded, LogNumber, LogStart, SegmentId, Storage, closed,
    fenced,
};
use bytes::Bytes;
use futures_util::future::select;
use leader::{InStorage, Lead, Leader, NextFiles, Note, Seen, Way, merged};
use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

/// After so long since the fence was last seen in place, a leader looks at it before it acknowledges a write.
const PROOF_US: u64 = 250_000;
/// So long after the fence was raised, the leader before has acknowledged its last write.
const PATIENCE_US: u64 = 330_000;
/// The first pause between two attempts to open files that somebody has, ms. Each pause is twice as long as the one before.
const FIRST_PAUSE: u32 = 4;
/// How often to try again when another leader takes over at the same time.
const ATTEMPTS: u32 = 8;
/// So many calls tell how fast a file is.
const CALLS: u64 = 16;
/// If a call takes longer on average, the log is faster in the storage. In a private window of Chromium a call takes 120 to 600 us,
/// because another process has the file, and a write twice that. In Firefox it takes 45 us, in other workers of Chromium 1 us.
const SLOW_US: u64 = 70;
/// A close waits so long for files that are being opened.
const OPENING_MS: u32 = 1000;
/// The pair of files that is used unless a frozen leader has it.
const USUAL: u64 = 1;
/// The file for what may be lost.
const SCRATCH: &str = "scratch";
/// A close moves at most so many records to the storage.
const MOVED: usize = 2000;

/// A handle to a storage with its log in files. Its clones are further handles, each with its own open or closed state. The
/// storage is closed with the last one.
pub struct LogInFiles<S, D: SharedFolder> {
    shared: Rc<Shared<S, D>>,
    closed: Cell<bool>,
}

/// Fails if another client has the instance. It is asked before the fence is raised.
pub type Check = Rc<dyn Fn() -> LocalFuture<Result<()>>>;

/// What all handles share.
struct Shared<S, D: SharedFolder> {
    storage: S,
    folder: D,
    env: Rc<dyn Env>,
    /// Fails if another client has the instance.
    check: Check,
    turn_bytes: u64,
    lead: RefCell<Lead<D::File>>,
    /// Held by a commit.
    turn: Turns,
    /// Held while the next files are opened.
    opening: Turns,
    /// The open handles.
    handles: Cell<usize>,
    /// The file for what may be lost was removed on a full disk.
    scratch_removed: Cell<bool>,
    /// Whether an opening has read the log. Later loads find out what became of a commit.
    was_loaded: Cell<bool>,
    /// Why nobody knows any more what the files have.
    broken: RefCell<Option<Error>>,
}

impl<S: FencedStorage, D: SharedFolder> LogInFiles<S, D> {
    /// Takes over the log of `storage`, and keeps it in files of `folder` where these can be opened. With a full disk it only
    /// looks at them, and takes over with the next commit.
    ///
    /// # Errors
    /// Errors of the storage and of the folder. Those of damaged files are reported by the first [`Storage::load`].
    pub async fn open(storage: S, folder: D, env: Rc<dyn Env>, check: Check) -> Result<Self> {
        Self::open_with(storage, folder, env, check, TURN_BYTES).await
    }

    /// The same, with turns of the journal at so many bytes.
    ///
    /// # Errors
    /// As for [`LogInFiles::open`].
    pub async fn open_with(storage: S, folder: D, env: Rc<dyn Env>, check: Check, turn_bytes: u64) -> Result<Self> {
        let this = Self::new(storage, folder, env, check, turn_bytes);
        this.shared.lead_or_look().await?;
        Ok(this)
    }

    /// Opens it for a salvage: nothing is changed, and damaged records are left out.
    ///
    /// # Errors
    /// Errors of the storage and of the folder.
    pub async fn salvage(storage: S, folder: D, env: Rc<dyn Env>) -> Result<Self> {
        // A salvage takes no lead.
        let check: Check = Rc::new(|| Box::pin(async { Ok(()) }));
        let this = Self::new(storage, folder, env, check, TURN_BYTES);
        let seen = this.shared.look(true).await?;
        this.shared.lead.replace(Lead::None(seen));
        Ok(this)
    }

    fn new(storage: S, folder: D, env: Rc<dyn Env>, check: Check, turn_bytes: u64) -> Self {
        let shared = Shared {
            storage,
            folder,
            env,
            check,
            turn_bytes,
            lead: RefCell::new(Lead::None(Seen::default())),
            turn: Turns::default(),
            opening: Turns::default(),
            handles: Cell::new(1),
            scratch_removed: Cell::new(false),
            was_loaded: Cell::new(false),
            broken: RefCell::default(),
        };
        Self { shared: Rc::new(shared), closed: Cell::new(false) }
    }

    /// What does not depend on the files.
    fn storage(&self) -> Result<&S> {
        if self.closed.get() { Err(closed()) } else { Ok(&self.shared.storage) }
    }

    fn shared(&self) -> Result<&Rc<Shared<S, D>>> {
        self.storage()?;
        match &*self.shared.broken.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(&self.shared),
        }
    }
}

impl<S, D: SharedFolder> Clone for LogInFiles<S, D> {
    /// Another handle to the same storage. It is open, even if this one is closed.
    fn clone(&self) -> Self {
        self.shared.handles.set(self.shared.handles.get() + 1);
        Self { shared: Rc::clone(&self.shared), closed: Cell::new(false) }
    }
}

/// The error after a record was appended: it may be stored, although the cause is one of those that store nothing.
fn undecided(error: Error) -> Error {
    if error.code() == Code::QuotaExceeded { Error::new(Code::Unavailable, error.to_string()) } else { error }
}

impl<S: FencedStorage, D: SharedFolder> Shared<S, D> {
    /// Ends the storage: nobody knows any more what the files have.
    fn break_off(&self, error: Error) -> Error {
        let told = format!("the files of the log cannot be trusted any more, open the instance again: {error}");
        self.broken.replace(Some(Error::new(Code::Unavailable, told)));
        error
    }

    fn failed(&self, Failure { error, doubtful }: Failure) -> Error {
        if doubtful { self.break_off(error) } else { error }
    }

    /// Takes the lead with a commit, because there was no room for that before.
    async fn lead_late(self: &Rc<Self>) -> Result<()> {
        let last = match &*self.lead.borrow() {
            Lead::None(Seen { is_salvage: true, .. }) => {
                return Err(Error::new(Code::ReadOnly, "opened for a salvage"));
            }
            Lead::None(Seen { lost: Some(error), .. }) => return Err(error.clone()),
            Lead::None(seen) => seen.log.last().map(|(number, _)| *number),
            _ => return Ok(()),
        };
        self.lead().await?;
        let now = match &*self.lead.borrow() {
            Lead::Files(leader) => leader.state.log.last().map(|place| place.number),
            _ => last,
        };
        if now == last { Ok(()) } else { Err(self.break_off(fenced("the log has grown since it was read"))) }
    }

    /// Looks at the fence, if it was not seen in place lately, or if its storage may be gone.
    async fn prove(&self) -> Result<()> {
        let now_us = self.env.ticks_us();
        let is_connected = self.storage.is_connected();
        let is_due = |leader: &Leader<_>| !is_connected || now_us.saturating_sub(leader.proven_us) > PROOF_US;
        let number = match &*self.lead.borrow() {
            Lead::Files(leader) if is_due(leader) => leader.number,
            _ => return Ok(()),
        };
        self.storage.fence().await?.check(number)?;
        if let Lead::Files(leader) = &mut *self.lead.borrow_mut() {
            leader.proven_us = now_us;
        }
        Ok(())
    }

    async fn commit(self: &Rc<Self>, mut commit: Commit) -> Result<()> {
        self.lead_late().await?;
        let (number, next) = match self.begin_commit(&mut commit)? {
            Way::Storage(number) => return self.commit_to_storage(commit, number).await,
            Way::Files => return self.prove().await.map_err(undecided),
            Way::Both { number, next } => (number, next),
        };
        let is_strict = commit.durability == Durability::Strict;
        let logged = Commit { log: commit.log.clone(), trim_log: commit.trim_log.clone(), ..Commit::default() };
        let before_us = self.env.ticks_us();
        self.storage.commit_behind(commit, number, next.as_ref()).await?;
        let mut lead = self.lead.borrow_mut();
        let Lead::Files(leader) = &mut *lead else { return Ok(()) };
        leader.proven_us = before_us;
        leader.stored.change(logged.log.iter().map(|(number, _)| *number), &logged.trim_log);
        if let Some(next) = next {
            leader.number = next.number;
            leader.next = None;
        }
        leader.owes &= !is_strict;
        leader.is_firm |= is_strict && leader.next.is_none();
        // It is stored. Without it here, an opening finds it in the storage.
        match leader.append(&logged) {
            Err(Failure { error, doubtful: true }) => drop(self.break_off(error)),
            Err(_) => {
                leader.owes = true;
                leader.state.trim(logged.trim_log);
            }
            // What a turn drops must not come back with the power.
            _ if is_strict => self.turn_if_due(leader),
            _ => {}
        }
        Ok(())
    }

    /// Makes a commit of a leader whose log is in the storage.
    async fn commit_to_storage(self: &Rc<Self>, commit: Commit, number: Option<u64>) -> Result<()> {
        let trimmed = commit.trim_log.clone();
        let logged: Vec<_> = commit.log.iter().map(|(number, _)| *number).collect();
        match number {
            Some(number) => self.storage.commit_behind(commit, number, None).await?,
            None => self.storage.commit(commit).await?,
        }
        let has_record = !logged.is_empty();
        let opens = match &mut *self.lead.borrow_mut() {
            Lead::Storage(lead) => {
                lead.has_committed = true;
                lead.note(logged, &trimmed);
                lead.opens_files(has_record).then_some(lead.number)
            }
            _ => None,
        };
        if let Some(number) = opens {
            self.open_next_files(number);
        }
        Ok(())
    }

    /// Makes a commit in the files if it belongs there alone, and prepares any other for the storage.
    fn begin_commit(&self, commit: &mut Commit) -> Result<Way> {
        let mut lead = self.lead.borrow_mut();
        if let Lead::Storage(now) = &mut *lead
            && let Some(leader) = now.next_leader(commit)
        {
            *lead = Lead::Files(leader);
        }
        let leader = match &mut *lead {
            Lead::Files(leader) => leader,
            Lead::Storage(now) => return Ok(Way::Storage((!now.has_committed).then_some(now.number))),
            Lead::None(_) => return Ok(Way::Storage(None)),
        };
        leader.state.check(commit)?;
        if let Some((number, _)) = commit.log.iter().find(|(number, _)| leader.stored.has(*number)) {
            return Err(fenced(format_args!("log record {} is there", number.0)));
        }
        let is_log = commit.manifest.is_none() && commit.drop_segments.is_empty() && commit.trim_log.is_empty();
        // Files that no fence names after a loss of power are not read.
        let is_log = is_log && (leader.is_firm || commit.durability == Durability::Relaxed);
        if is_log && leader.next.is_none() && !leader.owes && !commit.log.is_empty() {
            leader.append(commit).map_err(|failure| self.failed(failure))?;
            if commit.durability == Durability::Strict {
                leader.journal.flush().map_err(|error| undecided(self.break_off(error)))?;
            }
            return Ok(Way::Files);
        }
        if commit.manifest.is_some() || !commit.log.is_empty() {
            leader.journal.flush().map_err(|error| self.break_off(error))?;
        }
        // The files forget trimmed records now. After a loss of power the storage must not need them again. And later records,
        // which are flushed on their own, must not be left without this manifest.
        if leader.owes || commit.manifest.is_some() || !commit.trim_log.is_empty() || self.is_turn_due(leader) {
            commit.durability = Durability::Strict;
        }
        // Only the number of a record keeps out a leader whose log is in the storage.
        let next = leader.next.clone().filter(|_| !commit.log.is_empty());
        Ok(Way::Both { number: leader.number, next })
    }

    fn is_turn_due(&self, leader: &Leader<D::File>) -> bool {
        let (commits, state) = leader.journal.weights();
        commits >= self.turn_bytes.max(state)
    }

    /// Begins a turn if the journal has grown. Without room for it, the journal grows on.
    fn turn_if_due(&self, leader: &mut Leader<D::File>) {
        if !self.is_turn_due(leader) {
            return;
        }
        let mut frame = frame();
        let Leader { journal, state, .. } = leader;
        let places = state.encode(&mut frame, |place| journal.read(place.at, place.length as usize));
        let turned = places.map_err(|error| Failure { error, doubtful: false }).and_then(|places| {
            journal.turn(&mut frame)?;
            state.log = places;
            Ok(())
        });
        match turned {
            Err(Failure { error, doubtful: true }) => drop(self.break_off(error)),
            Err(Failure { error, .. }) => log::warn!("the log goes on in the same file: {error}"),
            Ok(()) => {}
        }
    }

    /// Finds out whether this leader still leads, after a commit whose outcome nobody knows. Files that cannot be trusted are
    /// read again. A leader without a commit follows another one that came in between; it says whether it has.
    async fn verify(self: &Rc<Self>) -> Result<bool> {
        let known = match &*self.lead.borrow() {
            Lead::Files(leader) => Some((leader.number, leader.next.clone())),
            _ => None,
        };
        if let Some((number, next)) = known {
            let fence = self.storage.fence().await?;
            if next.as_ref() == Some(&fence) {
                if let Lead::Files(leader) = &mut *self.lead.borrow_mut() {
                    leader.number = fence.number;
                    leader.next = None;
                }
            } else {
                fence.check(number)?;
            }
        }
        let unproven = match &*self.lead.borrow() {
            Lead::Storage(InStorage { number, has_committed: false, .. }) => Some(*number),
            _ => None,
        };
        let follows = match unproven {
            Some(number) => self.storage.fence().await?.number != number,
            None => false,
        };
        if follows {
            self.lead_or_look().await?;
        }
        if self.broken.borrow().is_some() {
            // This closes the files.
            self.lead.replace(Lead::None(Seen::default()));
            self.lead().await?;
            self.broken.replace(None);
        }
        Ok(follows)
    }

    /// The records in files from a number on.
    fn records(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        match &*self.lead.borrow() {
            Lead::Files(leader) => leader.records(from),
            Lead::None(Seen { lost: Some(error), is_salvage: false, .. }) => Err(error.clone()),
            Lead::None(seen) => Ok(seen.log.iter().filter(|(number, _)| *number >= from).cloned().collect()),
            Lead::Storage(_) => Ok(Vec::new()),
        }
    }

    /// Adds the records in files to those of the storage from a number on.
    fn with_files(&self, stored: Vec<(LogNumber, Bytes)>, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        let numbers: Vec<LogNumber> = stored.iter().map(|(number, _)| *number).collect();
        let mut log = merged(stored, self.records(from)?);
        match &mut *self.lead.borrow_mut() {
            Lead::Files(leader) => {
                // The last leader may have ended before they came into the files.
                let is_alone = |number: &LogNumber| {
                    leader.state.log_from(*number).first().is_none_or(|place| place.number != *number)
                };
                leader.owes |= leader.next.is_none() && numbers.iter().any(is_alone);
                leader.stored.set_from(from, numbers);
            }
            Lead::Storage(now) if !matches!(now.files, NextFiles::None) => {
                now.stored.set_from(from, numbers);
            }
            Lead::None(Seen { lost: Some(error), .. }) => {
                log::warn!("a salvage goes on without the files of the log: {error}");
                log.push(there_was_more(&log, from));
            }
            _ => {}
        }
        Ok(log)
    }

    /// Moves the log to the storage, or says that it is closed.
    async fn leave(&self) {
        let mut leader = match self.lead.replace(Lead::None(Seen::default())) {
            Lead::Files(leader) => leader,
            Lead::Storage(InStorage { files: NextFiles::Ready(leader), .. }) => {
                let note = leader.note;
                drop(leader);
                return self.forget(note).await;
            }
            _ => return,
        };
        let (number, note) = (leader.number, leader.note);
        // No fence names its files yet.
        let is_unknown = leader.next.as_ref().is_some_and(|next| next.number > number);
        let is_short = leader.state.log.len() <= MOVED;
        let is_moved = !is_unknown
            && is_short
            && match leader.records(LogNumber(0)) {
                Ok(log) => self.give_to_storage(number, log).await.is_ok(),
                Err(_) => false,
            };
        if !is_unknown && !is_moved && leader.journal.close().is_ok() {
            let closed = Fence { number, note: Note { is_closed: true, ..note }.encode() };
            let _ = self.storage.commit_behind(Commit::default(), number, Some(&closed)).await;
        }
        // This closes the files.
        drop(leader);
        // If it is not known whether the fence names them, they stay.
        if is_moved {
            self.forget(note).await;
        }
    }
}

crate::boxed_storage!(LogInFiles<S, D> where S: FencedStorage, D: SharedFolder);

impl<S: FencedStorage, D: SharedFolder> Storage for LogInFiles<S, D> {
    async fn load(&self, from: &LogStart<'_>) -> Result<Loaded> {
        if self.closed.get() {
            return Err(closed());
        }
        let shared = &self.shared;
        let mut is_opening = !shared.was_loaded.replace(true);
        if !is_opening {
            let _turn = shared.turn.wait_for(&[]).await;
            is_opening = shared.verify().await?;
        }
        let shared = self.shared()?;
        let start = Cell::new(LogNumber(0));
        let begins = |manifests: &[_]| {
            start.set(from(manifests)?);
            Ok(start.get())
        };
        let Loaded { manifests, log } = shared.storage.load(&begins).await?;
        if let Lead::Files(leader) = &mut *shared.lead.borrow_mut()
            && is_opening
        {
            // The trimming of earlier ones may not have come into the files.
            leader.state.log.retain(|place| place.number >= start.get());
        }
        Ok(Loaded { manifests, log: shared.with_files(log, start.get())? })
    }

    async fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        if self.closed.get() {
            return Err(closed());
        }
        let shared = &self.shared;
        let turn = shared.turn.wait_for(&[]).await;
        shared.verify().await?;
        drop(turn);
        let shared = self.shared()?;
        let stored = shared.storage.read_log(from).await?;
        shared.with_files(stored, from)
    }

    async fn get_blocks(&self, blocks: &[BlockId]) -> Result<Vec<Option<Bytes>>> {
        self.storage()?.get_blocks(blocks).await
    }

    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>, durability: Durability) -> Result<()> {
        self.shared()?.storage.stage(segment, blocks, durability).await
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        let shared = self.shared()?;
        let _turn = shared.turn.wait_for(&[]).await;
        // The wait may have ended the storage.
        self.shared()?.commit(commit).await
    }

    async fn list_segments(&self) -> Result<Vec<SegmentId>> {
        self.storage()?.list_segments().await
    }

    async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        self.shared()?.storage.delete_segments(segments).await
    }

    async fn squeeze(&self) -> bool {
        let Shared { storage, folder, scratch_removed, .. } = &*self.shared;
        // Nobody has it open here: it would have given its room back.
        if !scratch_removed.replace(true) && folder.remove(SCRATCH).await.is_ok() {
            return true;
        }
        storage.squeeze().await
    }

    fn scratch(&self) -> Option<Boxed<'_, Option<Box<dyn File>>>> {
        let folder = &self.shared.folder;
        if self.closed.get() || !folder.can_open() {
            return None;
        }
        // Another tab may still have it open.
        Some(Box::pin(async { folder.open(SCRATCH).await.ok().map(|file| Box::new(file) as _) }))
    }

    fn has_log_in_files(&self) -> bool {
        matches!(&*self.shared.lead.borrow(), Lead::Files(_))
    }

    async fn close(&self) {
        if self.closed.replace(true) {
            return;
        }
        let shared = &self.shared;
        shared.handles.set(shared.handles.get() - 1);
        if shared.handles.get() > 0 {
            return;
        }
        let _turn = shared.turn.wait_for(&[]).await;
        if shared.broken.borrow().is_none() {
            shared.leave().await;
        }
        // Who opens files now gives them back. A browser that never answers must not hold up the close.
        select(pin!(shared.opening.wait_for(&[])), shared.env.sleep(OPENING_MS)).await;
        shared.storage.close().await;
        shared.folder.release();
    }
}

#[cfg(test)]
mod tests;
