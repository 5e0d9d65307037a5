//! A storage in files: every commit in a [`journal`], every segment in a [file of its own](segment), in one folder.
//!
//! It works on any [`Folder`]: the files of a platform, or those of a simulated [`device`] for tests. One storage uses a
//! folder at a time; its owner sees to that.
//!
//! A relaxed commit is one write: the operating system has it, so it survives the death of the process. After a loss of
//! power the storage is as after one of its commits. For that, the blocks that a manifest names are flushed before its
//! commit, and the journal is flushed before a segment is deleted. A strict commit is flushed before it resolves.
//!
//! When a flush fails, nobody knows what the device has. The storage takes no call any more, and the next opening reads what
//! is there.
//!
//! All of it is a gate of [`Module::Files`](crate::modules::Module::Files).

mod beside;
pub mod device;
mod folder;
mod journal;
mod segment;
mod state;

pub use beside::{Check, LogInFiles};
pub use folder::{File, Folder, SharedFolder};
pub(crate) use folder::{read_exactly, write_all};

use super::{BlockId, Commit, Durability, Loaded, LogNumber, LogStart, SegmentId, Storage, check_stage, closed};
use crate::collections::sort::sort_by;
use crate::collections::turns::{Turn, Turns};
use crate::error::{Code, Error, Result};
use bytes::Bytes;
use journal::{Failure, HEAD, Journal, Kind};
use segment::SegmentFile;
use state::{Change, LogPlace, State};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The files of the journal.
const JOURNAL: [&str; 2] = ["journal-0", "journal-1"];
/// The file of a segment has this name, and the segment's number in hexadecimal digits.
const SEGMENT: &str = "segment-";

/// On a full device a turn begins for so many bytes of commits.
const WORTH_A_TURN: u64 = 64 << 10;

/// A turn of the journal begins when its commits have so many bytes, and as many as its state. With a small state and a small last
/// commit a file stays below 4 MiB: Chromium reserves the next power of two for a file that is open.
const TURN_BYTES: u64 = 15 << 18;

/// So many files of segments are open at most, beside those that are not flushed. A scan reads all runs in turn: where there are
/// more, it opens a file for nearly every block. Lives that all end early leave some fifty runs. A large segment's file takes 64 KiB
/// of memory.
const OPEN_FILES: usize = 128;

/// A handle to a storage in files. Its clones are further handles to the same storage, each with its own open or closed
/// state.
pub struct FileStorage<D: Folder> {
    store: Rc<Store<D>>,
    closed: Cell<bool>,
}

/// An open storage.
struct Store<D: Folder> {
    folder: D,
    turn_bytes: u64,
    /// Whether it is only read.
    salvages: bool,
    journal: RefCell<Journal<D::File>>,
    state: RefCell<State>,
    segments: RefCell<Segments<D::File>>,
    /// Turns for the file of a segment, to open or delete it: a file is opened once at a time.
    turns: Turns,
    /// Why nobody knows any more what the device has.
    broken: RefCell<Option<Error>>,
}

/// The segments that have files.
struct Segments<F> {
    /// Ascending.
    known: Vec<SegmentId>,
    /// The open files, the one used last at the end.
    open: Vec<(SegmentId, Rc<RefCell<SegmentFile<F>>>)>,
    /// Whether files were created since names were flushed.
    are_new: bool,
}

/// A commit or a state in the making, with room for the head of its frame.
fn frame() -> Vec<u8> {
    vec![0; HEAD]
}

/// Takes a frame of the journal, whose body lies at `start`, into its state. Returns the segments that it drops.
fn replay(state: &mut State, kind: Kind, start: u64, body: &[u8]) -> Result<Vec<SegmentId>> {
    match kind {
        Kind::State => *state = State::decode(body, start)?,
        Kind::Mark | Kind::End => {}
        Kind::Commit => {
            let mut change = Change::decode(body, start)?;
            let dropped = std::mem::take(&mut change.drop_segments);
            state.apply(change);
            return Ok(dropped);
        }
    }
    Ok(Vec::new())
}

/// The records of a log from a number on.
///
/// # Errors
/// Errors of the files.
fn records(journal: &Journal<impl File>, state: &State, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
    let read = |place: &LogPlace| Ok((place.number, journal.read(place.at, place.length as usize)?.into()));
    state.log_from(from).iter().map(read).collect()
}

/// A record behind a log that is damaged: it tells that there was more.
fn there_was_more(log: &[(LogNumber, Bytes)], from: LogNumber) -> (LogNumber, Bytes) {
    (log.last().map_or(from, |(number, _)| LogNumber(number.0 + 1)), Bytes::new())
}

fn file_name(id: SegmentId) -> String {
    format!("{SEGMENT}{:x}", id.0)
}

impl<F: File> Segments<F> {
    /// The open file of a segment, moved to the end of the list.
    fn take_open(&mut self, id: SegmentId) -> Option<Rc<RefCell<SegmentFile<F>>>> {
        let place = self.open.iter().rposition(|(other, _)| *other == id)?;
        let found = self.open.remove(place);
        let file = Rc::clone(&found.1);
        self.open.push(found);
        Some(file)
    }

    fn add_open(&mut self, id: SegmentId, file: SegmentFile<F>) -> Rc<RefCell<SegmentFile<F>>> {
        if self.open.len() >= OPEN_FILES
            && let Some(place) = self.open.iter().position(|(_, file)| !file.borrow().dirty)
        {
            self.open.remove(place);
        }
        let file = Rc::new(RefCell::new(file));
        self.open.push((id, Rc::clone(&file)));
        file
    }

    fn close(&mut self, id: SegmentId) {
        self.open.retain(|(other, _)| *other != id);
    }
}

impl<D: Folder> FileStorage<D> {
    /// Opens the storage in a folder, or makes a new one.
    ///
    /// # Errors
    /// `Corrupt` if the journal is damaged; errors of the folder.
    pub async fn open(folder: D) -> Result<Self> {
        Self::open_with(folder, TURN_BYTES, false).await
    }

    /// Opens it for a salvage: damaged commits are left out, and nothing is deleted.
    ///
    /// # Errors
    /// `Corrupt` if not even a state is whole; errors of the folder.
    pub async fn salvage(folder: D) -> Result<Self> {
        Self::open_with(folder, TURN_BYTES, true).await
    }

    /// The same, with turns of the journal at so many bytes.
    ///
    /// # Errors
    /// As for [`FileStorage::open`] and [`FileStorage::salvage`].
    pub async fn open_with(folder: D, turn_bytes: u64, salvages: bool) -> Result<Self> {
        let files = [folder.open(JOURNAL[0]).await?, folder.open(JOURNAL[1]).await?];
        let (mut state, mut dropped) = (State::default(), Vec::new());
        let journal = Journal::open(files, salvages, |kind, start, body| {
            dropped.extend(replay(&mut state, kind, start, body)?);
            Ok(())
        })?;
        let mut known: Vec<SegmentId> = Vec::new();
        for name in folder.list().await? {
            let number = name.strip_prefix(SEGMENT).and_then(|number| u64::from_str_radix(number, 16).ok());
            known.extend(number.map(SegmentId));
        }
        sort_by(&mut known, SegmentId::cmp);
        let store = Store {
            folder,
            turn_bytes,
            salvages,
            journal: RefCell::new(journal),
            state: RefCell::new(state),
            segments: RefCell::new(Segments { known, open: Vec::new(), are_new: true }),
            turns: Turns::default(),
            broken: RefCell::default(),
        };
        if store.journal.borrow().is_new() {
            store.turn()?;
        } else {
            if !salvages {
                store.journal.borrow_mut().cut_off()?;
            }
            // What readers see from now on must not be lost with the power later.
            store.flush_journal()?;
            store.flush_names()?;
        }
        if !salvages {
            // The process may have died between a commit and its deletions.
            store.remove(&dropped).await?;
        }
        Ok(Self { store: Rc::new(store), closed: Cell::new(false) })
    }

    fn store(&self) -> Result<&Store<D>> {
        if self.closed.get() {
            return Err(closed());
        }
        match &*self.store.broken.borrow() {
            Some(error) => Err(error.clone()),
            None => Ok(&self.store),
        }
    }
}

impl<D: Folder> Clone for FileStorage<D> {
    /// Another handle to the same storage. It is open, even if this one is closed.
    fn clone(&self) -> Self {
        Self { store: Rc::clone(&self.store), closed: Cell::new(false) }
    }
}

impl<D: Folder> Store<D> {
    /// Ends the storage: nobody knows any more what the device has.
    fn break_off(&self, error: Error) -> Error {
        let told = format!("the files cannot be trusted any more, open the instance again: {error}");
        self.broken.replace(Some(Error::new(Code::Unavailable, told)));
        error
    }

    fn failed(&self, Failure { error, doubtful }: Failure) -> Error {
        if doubtful { self.break_off(error) } else { error }
    }

    /// Gives a flush that failed back as an end of the storage.
    fn flushed(&self, flushed: Result<()>) -> Result<()> {
        flushed.map_err(|error| self.break_off(error))
    }

    /// Moves the state to the other file of the journal.
    fn turn(&self) -> Result<()> {
        let (mut journal, mut state) = (self.journal.borrow_mut(), self.state.borrow_mut());
        let mut frame = frame();
        let places = state.encode(&mut frame, |place| journal.read(place.at, place.length as usize))?;
        journal.turn(&mut frame).map_err(|failure| self.failed(failure))?;
        state.log = places;
        drop((journal, state));
        self.flush_names()
    }

    /// Waits until the device has the names of all files.
    fn flush_names(&self) -> Result<()> {
        if self.segments.borrow().are_new {
            self.flushed(self.folder.flush_names())?;
            self.segments.borrow_mut().are_new = false;
        }
        Ok(())
    }

    /// Begins a turn if the journal has grown. Without room for it, the journal grows on.
    fn turn_if_due(&self) -> Result<()> {
        let (commits, state) = self.journal.borrow().weights();
        if commits < self.turn_bytes.max(state) {
            return Ok(());
        }
        match self.turn() {
            Err(error) if self.broken.borrow().is_some() => Err(error),
            Err(error) => {
                log::warn!("the journal goes on in the same file: {error}");
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Gives back what the journal keeps without need. First a turn makes the bytes of the older file free for commits: no file has to
    /// grow then, for which Chromium wants a mebibyte. If there is not much to move, that file is cut off.
    fn squeeze(&self) -> bool {
        let (commits, state) = self.journal.borrow().weights();
        let live = self.state.borrow().bytes();
        let dead = (commits + state).saturating_sub(live);
        (dead > live.max(WORTH_A_TURN) && self.turn().is_ok()) || self.journal.borrow().give_back()
    }

    /// Waits until the device has all segments. Closes those that were written, for which Chromium reserves up to twice their bytes.
    fn flush_segments(&self) -> Result<()> {
        let files = std::mem::take(&mut self.segments.borrow_mut().open);
        let (written, others) = files.into_iter().partition::<Vec<_>, _>(|(_, file)| file.borrow().is_written);
        self.segments.borrow_mut().open = others;
        for (_, file) in written {
            self.flushed(file.borrow_mut().flush())?;
        }
        self.flush_names()
    }

    fn commit(&self, commit: &Commit) -> Result<()> {
        self.state.borrow().check(commit)?;
        if commit.manifest.is_some() {
            self.flush_segments()?;
        }
        self.turn_if_due()?;
        let mut frame = frame();
        Change::encode(commit, &mut frame);
        let start = self.append(&mut frame)?;
        let change = Change::decode(frame.get(HEAD..).unwrap_or_default(), start)?;
        self.state.borrow_mut().apply(change);
        if commit.durability == Durability::Strict {
            self.flush_journal()?;
        }
        Ok(())
    }

    /// Appends a commit. A journal that cannot grow first gives back what it keeps without need.
    fn append(&self, frame: &mut [u8]) -> Result<u64> {
        loop {
            let appended = self.journal.borrow_mut().append(frame);
            match appended {
                Err(failure) if failure.error.code() == Code::QuotaExceeded && !failure.doubtful && self.squeeze() => {}
                appended => return appended.map_err(|failure| self.failed(failure)),
            }
        }
    }

    fn flush_journal(&self) -> Result<()> {
        let flushed = self.journal.borrow_mut().flush();
        self.flushed(flushed)
    }

    fn close_journal(&self) -> Result<()> {
        if self.salvages {
            return Ok(());
        }
        let closed = self.journal.borrow_mut().close();
        self.flushed(closed)
    }

    /// Says how much is flushed. Without room for that, the next commit says it.
    fn mark(&self) -> Result<()> {
        if self.salvages {
            return Ok(());
        }
        match self.journal.borrow_mut().mark() {
            Err(failure) if failure.doubtful => Err(self.failed(failure)),
            _ => Ok(()),
        }
    }

    async fn turn_of(&self, id: SegmentId) -> Turn {
        self.turns.wait_for(&id.0.to_be_bytes()).await
    }

    /// The file of a segment, which is opened if it is not.
    async fn file(&self, id: SegmentId, creates: bool) -> Result<Option<Rc<RefCell<SegmentFile<D::File>>>>> {
        if let Some(file) = self.segments.borrow_mut().take_open(id) {
            return Ok(Some(file));
        }
        let _turn = self.turn_of(id).await;
        let is_known = {
            let mut segments = self.segments.borrow_mut();
            if let Some(file) = segments.take_open(id) {
                return Ok(Some(file));
            }
            segments.known.binary_search(&id)
        };
        if is_known.is_err() && !creates {
            return Ok(None);
        }
        let file = SegmentFile::open(self.folder.open(&file_name(id)).await?, id)?;
        let mut segments = self.segments.borrow_mut();
        if let Err(place) = segments.known.binary_search(&id) {
            segments.known.insert(place, id);
            segments.are_new = true;
        }
        Ok(Some(segments.add_open(id, file)))
    }

    /// Deletes the files of segments.
    async fn remove(&self, segments: &[SegmentId]) -> Result<()> {
        if segments.is_empty() {
            return Ok(());
        }
        // A manifest that the device has may name them, until it has the next one.
        self.flush_journal()?;
        // If that commit is damaged later, an opening must not take an older manifest.
        self.mark()?;
        for id in segments {
            let _turn = self.turn_of(*id).await;
            if self.segments.borrow().known.binary_search(id).is_ok() {
                self.segments.borrow_mut().close(*id);
                self.folder.remove(&file_name(*id)).await?;
                self.segments.borrow_mut().known.retain(|other| other != id);
            }
        }
        Ok(())
    }

    fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        records(&self.journal.borrow(), &self.state.borrow(), from)
    }
}

crate::boxed_storage!(FileStorage<D> where D: Folder);

impl<D: Folder> Storage for FileStorage<D> {
    async fn load(&self, from: &LogStart<'_>) -> Result<Loaded> {
        let store = self.store()?;
        let manifests: Vec<_> = store.state.borrow().manifests.iter().rev().cloned().collect();
        let from = from(&manifests)?;
        let mut log = store.read_log(from)?;
        if let Some(error) = store.journal.borrow().lost() {
            log::warn!("a salvage goes on without a part of the journal: {error}");
            log.push(there_was_more(&log, from));
        }
        Ok(Loaded { manifests, log })
    }

    async fn read_log(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        self.store()?.read_log(from)
    }

    fn newest_log(&self) -> Option<LogNumber> {
        self.store.state.borrow().log.last().map(|place| place.number)
    }

    async fn get_blocks(&self, blocks: &[BlockId]) -> Result<Vec<Option<Bytes>>> {
        let store = self.store()?;
        let mut found = Vec::with_capacity(blocks.len());
        for id in blocks {
            let file = store.file(id.segment, false).await?;
            found.push(file.map_or(Ok(None), |file| file.borrow().read(id.block))?);
        }
        Ok(found)
    }

    async fn stage(&self, segment: SegmentId, blocks: Vec<(u32, Bytes)>, durability: Durability) -> Result<()> {
        check_stage(&blocks)?;
        let store = self.store()?;
        let Some(file) = store.file(segment, true).await? else { return Ok(()) };
        // The wait may have ended the storage.
        self.store()?;
        file.borrow_mut().store(&blocks)?;
        if durability == Durability::Strict {
            store.flushed(file.borrow_mut().flush())?;
        }
        Ok(())
    }

    async fn commit(&self, commit: Commit) -> Result<()> {
        let store = self.store()?;
        store.commit(&commit)?;
        if let Err(error) = store.remove(&commit.drop_segments).await {
            log::warn!("dropped segments could not be deleted: {error}");
        }
        Ok(())
    }

    async fn list_segments(&self) -> Result<Vec<SegmentId>> {
        let segments = self.store()?.segments.borrow();
        // A file may have been created for blocks that did not fit. The next opening lists it, and it is deleted.
        let is_empty = |id| segments.open.iter().any(|(other, file)| *other == id && file.borrow().is_empty());
        Ok(segments.known.iter().copied().filter(|id| !is_empty(*id)).collect())
    }

    async fn delete_segments(&self, segments: &[SegmentId]) -> Result<()> {
        self.store()?.remove(segments).await
    }

    async fn squeeze(&self) -> bool {
        self.store().is_ok_and(Store::squeeze)
    }

    fn has_log_in_files(&self) -> bool {
        true
    }

    async fn close(&self) {
        if self.closed.replace(true) {
            return;
        }
        if self.store.broken.borrow().is_none() {
            let store = &self.store;
            let flushed = store.flush_segments().and_then(|()| store.close_journal()).and_then(|()| store.mark());
            if let Err(error) = flushed {
                log::warn!("the files could not be flushed at the end: {error}");
            }
        }
    }
}

impl<D: Folder> Drop for Store<D> {
    fn drop(&mut self) {
        self.folder.release();
    }
}

#[cfg(test)]
mod tests;
