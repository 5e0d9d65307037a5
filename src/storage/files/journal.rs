//! The journal: two files that are used in turn, and hold every commit.
//!
//! A file begins with a frame of the whole state, and goes on with one frame for each commit. When the file has grown, the
//! state goes to the start of the other file, which takes the commits from then on. So a file is never deleted, and the
//! newer one of the two is complete by itself.
//!
//! ```text
//! frame   checksum u64 · checksum of the frame before u64 · generation u64 · flushed u64 · length u32
//!         · kind u8: 1 state, 2 commit, 3 mark, 4 end · 3 zeros · body
//! ```
//!
//! The generation grows with each turn. The checksum is the xxh3-64 of all that follows it, seeded with the place of the
//! frame. A frame that was torn, or is left from an earlier turn, or does not follow the one before, ends the journal.
//!
//! Flushed is the end of what the device had when the frame was written. So if a whole frame lies behind such an end and
//! says that the device had more, a commit is damaged, and not torn: that is reported. A mark has no body, and says only
//! this; a close writes one.
//!
//! A close also writes an end to the start of the other file, which nobody needs: flushed is the end of this file there, and the
//! checksum before is that of its last frame. So a file that ends earlier was cut, and not torn. The end stays true while commits
//! follow, and the next turn overwrites it.
//!
//! A turn is flushed before anything else is written: its file has to survive a loss of power before the other one is
//! overwritten. Then the older file is marked as outdated. So damage at the start of the newer file is reported, and does
//! not bring the older state back.

use super::folder::{File, Image, read_exactly, read_whole, write_all};
use crate::error::{Error, Result};
use crate::format::record::sum_with;
use crate::format::wire::Reader;

/// The bytes of a frame before its body, and of the checksum at their start.
pub(super) const HEAD: usize = 40;
const SUM: usize = 8;
/// The bytes of the first file after the first turn: an empty state has two counts.
const FIRST: u64 = HEAD as u64 + 2;

/// The bytes that a file keeps. Chromium wants room for so many whenever a file grows.
const KEPT: u64 = 1 << 20;
/// The place of the generation in a frame.
const GENERATION: usize = 16;
/// The place of the body's length.
const LENGTH: usize = 32;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The whole state.
    State = 1,
    /// A commit.
    Commit = 2,
    /// How much is flushed.
    Mark = 3,
    /// How far the other file went when it was closed.
    End = 4,
}

/// A frame that was read.
struct Frame<'f> {
    before: u64,
    generation: u64,
    flushed: u64,
    kind: Kind,
    body: &'f [u8],
    sum: u64,
}

/// The journal of an open storage.
pub(super) struct Journal<F> {
    files: [F; 2],
    /// The file that takes commits.
    current: usize,
    /// This file as it was opened, until something is written: an opening reads it in one call, and not frame by frame.
    image: Option<Image>,
    generation: u64,
    /// The checksum of the last frame.
    last: u64,
    /// The end of the first frame, and of the last one.
    state_end: u64,
    end: u64,
    /// Whether a frame was written since the last flush.
    dirty: bool,
    /// The end that was flushed last, and the one that the last frame tells.
    flushed: u64,
    told: u64,
    /// What a salvage could not read, and no gap between the commits tells.
    lost: Option<Error>,
}

impl<F: File> Journal<F> {
    /// Reads the journal in these files. `replay` gets each body, and its place in the file. Without one, `replay` is not
    /// called, and the first turn begins. A salvage leaves damaged commits out.
    ///
    /// # Errors
    /// `Corrupt` if there are files and none of them is whole, or if commits are damaged that the device had; errors of the
    /// files and of `replay`.
    pub(super) fn open(
        files: [F; 2],
        salvages: bool,
        mut replay: impl FnMut(Kind, u64, &[u8]) -> Result<()>,
    ) -> Result<Self> {
        let mut lost = None;
        let (current, generation, start) = match newest_state(&files)? {
            Some((current, generation)) => (current, generation, 0),
            // The first turn may have been cut off, when nothing else was written yet.
            None if files[0].length()? <= FIRST && files[1].length()? == 0 => return Ok(Self::unbegun(files, 1, 0)),
            None => {
                let error = Error::corrupt("the journal", "neither of its files begins with a state");
                let Some(found) = newest_commits(&files)?.filter(|_| salvages) else { return Err(error) };
                lost = Some(error);
                found
            }
        };
        let noted = noted_end(&files[1 - current], generation)?;
        let image = read_whole(&files[current])?;
        let of_generation = |frame: &Frame<'_>| frame.generation == generation;
        let changed = || Error::corrupt("the journal", "its first state has changed while it was read");
        let mut frame = frame_at(&image.0, start).filter(of_generation).ok_or_else(changed)?;
        let (mut end, mut state_end) = (start, 0);
        let mut is_whole = noted.is_none();
        let last = loop {
            replay(frame.kind, (end + HEAD) as u64, frame.body)?;
            end += HEAD + frame.body.len();
            is_whole |= noted == Some((end as u64, frame.sum));
            if state_end == 0 {
                state_end = end as u64;
            }
            let next = frame_at(&image.0, end).filter(of_generation);
            if let Some(next) = next.filter(|next| next.before == frame.sum) {
                frame = next;
                continue;
            }
            match find_later(&image.0, end, generation) {
                None => break frame.sum,
                Some((at, next)) if salvages => (end, frame) = (at, next),
                Some((at, _)) => {
                    let damage = format_args!("commits from byte {end} to {at} are not what was stored");
                    return Err(Error::corrupt("the journal", damage));
                }
            }
        };
        if !is_whole {
            let damage = format_args!("it was closed with more than the {end} bytes that are there");
            let error = Error::corrupt("the journal", damage);
            if !salvages {
                return Err(error);
            }
            lost.get_or_insert(error);
        }
        let end = end as u64;
        // The process that wrote it may have died before it was flushed.
        let image = Some(image);
        Ok(Self { files, current, image, generation, last, state_end, end, dirty: true, flushed: 0, told: 0, lost })
    }

    /// A journal without a state in files whose content nobody needs, however damaged it is. Its first turn replaces that.
    ///
    /// # Errors
    /// Errors of the files.
    pub(super) fn renew(files: [F; 2]) -> Result<Self> {
        let newest = newest_state(&files)?;
        if newest.is_none() {
            files.iter().try_for_each(|file| file.set_length(0))?;
        }
        let (current, generation) = newest.unwrap_or((1, 0));
        Ok(Self::unbegun(files, current, generation))
    }

    /// A journal before its first turn.
    fn unbegun(files: [F; 2], current: usize, generation: u64) -> Self {
        Self {
            files,
            current,
            image: None,
            generation,
            last: 0,
            state_end: 0,
            end: 0,
            dirty: false,
            flushed: 0,
            told: 0,
            lost: None,
        }
    }

    /// What a salvage could not read, if no gap between the commits tells.
    pub(super) fn lost(&self) -> Option<&Error> {
        self.lost.as_ref()
    }

    /// Whether it has no state yet.
    pub(super) fn is_new(&self) -> bool {
        self.generation == 0
    }

    /// Whether the first file takes commits.
    #[cfg(test)]
    pub(super) fn is_in_first(&self) -> bool {
        self.current == 0
    }

    /// The bytes of all commits behind the state, and of the state.
    pub(super) fn weights(&self) -> (u64, u64) {
        (self.end - self.state_end, self.state_end)
    }

    /// Appends a commit. Returns the place of its body in the file. The frame needs [`HEAD`] free bytes before the body.
    ///
    /// # Errors
    /// Errors of the file. Nothing of the commit is stored then, unless [`Failure::doubtful`].
    pub(super) fn append(&mut self, frame: &mut [u8]) -> Result<u64, Failure> {
        self.put(frame, Kind::Commit)
    }

    /// Says how much is flushed, unless the last frame says it.
    ///
    /// # Errors
    /// As for [`Journal::append`].
    pub(super) fn mark(&mut self) -> Result<(), Failure> {
        if self.told < self.flushed { self.put(&mut [0; HEAD], Kind::Mark).map(drop) } else { Ok(()) }
    }

    fn put(&mut self, frame: &mut [u8], kind: Kind) -> Result<u64, Failure> {
        let sum = seal(frame, self.end, kind, [self.last, self.generation, self.flushed]);
        let file = &self.files[self.current];
        if let Err(error) = write_all(file, self.end, frame) {
            // A part of it lies behind the end now.
            let doubtful = file.set_length(self.end).is_err();
            return Err(Failure { error, doubtful });
        }
        let body = self.end + HEAD as u64;
        self.image = None;
        self.end += frame.len() as u64;
        self.last = sum;
        self.dirty = true;
        self.told = self.flushed;
        Ok(body)
    }

    /// Cuts the file off behind the end: whole frames may lie there, which a mark like an earlier one would lead to.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn cut_off(&mut self) -> Result<()> {
        let file = &self.files[self.current];
        if file.length()? > self.end { file.set_length(self.end) } else { Ok(()) }
    }

    /// Waits until the device has all commits.
    ///
    /// # Errors
    /// Errors of the file: nobody knows what the device has then.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.dirty {
            self.files[self.current].flush()?;
            self.dirty = false;
            self.flushed = self.end;
        }
        Ok(())
    }

    /// Waits until the device has all commits, and notes how far they go.
    ///
    /// # Errors
    /// As for [`Journal::flush`].
    pub(super) fn close(&mut self) -> Result<()> {
        self.flush()?;
        if self.state_end > 0 {
            let mut note = [0; HEAD];
            seal(&mut note, 0, Kind::End, [self.last, self.generation, self.end]);
            let other = &self.files[1 - self.current];
            // Without it, only a cut would not be noticed.
            let _ = write_all(other, 0, &note).and_then(|()| other.flush());
        }
        Ok(())
    }

    /// Begins a turn with this state, flushed. The frame needs [`HEAD`] free bytes before the body.
    ///
    /// # Errors
    /// Errors of the files. The journal goes on as before then, unless [`Failure::doubtful`].
    pub(super) fn turn(&mut self, frame: &mut [u8]) -> Result<(), Failure> {
        let (other, generation) = (1 - self.current, self.generation + 1);
        let sum = seal(frame, 0, Kind::State, [0, generation, 0]);
        let file = &self.files[other];
        let written = write_all(file, 0, frame).and_then(|()| file.flush());
        if let Err(error) = written {
            // If it is whole all the same, it wins against commits that follow in the current file.
            let doubtful = file.set_length(0).and_then(|()| file.flush()).is_err();
            return Err(Failure { error, doubtful });
        }
        let older = std::mem::replace(&mut self.current, other);
        self.image = None;
        self.generation = generation;
        self.last = sum;
        self.end = frame.len() as u64;
        self.state_end = self.end;
        self.dirty = false;
        (self.flushed, self.told) = (self.end, 0);
        if generation > 1 {
            // If this fails, the older file only stays readable.
            let _ = write_all(&self.files[older], 0, &[0; HEAD]);
        }
        Ok(())
    }

    /// Cuts off what the files have from earlier turns, but for their first bytes: a turn and the commits after it go there, also
    /// when no file can grow. Returns whether that gives room back.
    pub(super) fn give_back(&self) -> bool {
        let cut = |file: &F, end: u64| file.length().is_ok_and(|length| length > end) && file.set_length(end).is_ok();
        let (older, newer) = (&self.files[1 - self.current], &self.files[self.current]);
        !self.is_new() && (cut(older, KEPT) | cut(newer, self.end.max(KEPT)))
    }

    /// Reads bytes of the current file.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn read(&self, at: u64, length: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        match &self.image {
            Some(image) => read_exactly(image, at, &mut bytes)?,
            None => read_exactly(&self.files[self.current], at, &mut bytes)?,
        }
        Ok(bytes)
    }
}

/// Why a commit was not appended.
pub(super) struct Failure {
    /// The error of the file.
    pub(super) error: Error,
    /// Whether the next opening may find the commit all the same.
    pub(super) doubtful: bool,
}

/// Fills the head of a frame in that goes to this place. `told` is the checksum of the frame before, the generation and the
/// flushed end. Returns the checksum.
fn seal(frame: &mut [u8], at: u64, kind: Kind, told: [u64; 3]) -> u64 {
    let length = frame.len().saturating_sub(HEAD) as u32;
    let Some((sum, rest)) = frame.split_at_mut_checked(SUM) else { return 0 };
    let head = told.into_iter().flat_map(u64::to_le_bytes).chain(length.to_le_bytes()).chain([kind as u8]);
    rest.iter_mut().zip(head).for_each(|(place, byte)| *place = byte);
    let own = sum_with(at, &[rest]);
    sum.copy_from_slice(&own.to_le_bytes());
    own
}

/// Which of the files has the newer state, and its generation. `None` if neither begins with a whole state.
fn newest_state(files: &[impl File; 2]) -> Result<Option<(usize, u64)>> {
    let mut newest: Option<(usize, u64)> = None;
    for (place, file) in files.iter().enumerate() {
        let bytes = read_first(file)?;
        let first = frame_at(&bytes, 0).filter(|frame| frame.kind == Kind::State);
        if let Some(frame) = first
            && newest.is_none_or(|(_, other)| other < frame.generation)
        {
            newest = Some((place, frame.generation));
        }
    }
    Ok(newest)
}

/// The file with the newest commits, their generation, and the place of the first of them. For files whose state is damaged.
fn newest_commits(files: &[impl File; 2]) -> Result<Option<(usize, u64, usize)>> {
    let mut newest: Option<(usize, u64, usize)> = None;
    for (place, file) in files.iter().enumerate() {
        let Image(bytes) = read_whole(file)?;
        for at in 0..bytes.len().saturating_sub(HEAD - 1) {
            // The zeros behind the kind tell most places from a frame.
            if bytes.get(at + HEAD - 3..at + HEAD) != Some(&[0; 3]) {
                continue;
            }
            let frame = frame_at(&bytes, at).filter(|frame| matches!(frame.kind, Kind::Commit | Kind::State));
            if let Some(frame) = frame
                && newest.is_none_or(|(_, generation, _)| generation < frame.generation)
            {
                newest = Some((place, frame.generation, at));
            }
        }
    }
    Ok(newest)
}

/// The end of the file of this generation, and the checksum of its last frame, as the other file notes them.
fn noted_end(other: &impl File, generation: u64) -> Result<Option<(u64, u64)>> {
    let bytes = read_first(other)?;
    let note = frame_at(&bytes, 0).filter(|frame| frame.kind == Kind::End && frame.generation == generation);
    Ok(note.map(|frame| (frame.flushed, frame.before)))
}

/// The bytes of the frame at the start of a file, if it has one.
fn read_first(file: &impl File) -> Result<Vec<u8>> {
    let length = file.length()?;
    let mut bytes = vec![0; HEAD.min(length as usize)];
    read_exactly(file, 0, &mut bytes)?;
    let body = bytes.get(LENGTH..).and_then(|bytes| bytes.first_chunk()).map_or(0, |bytes| u32::from_le_bytes(*bytes));
    if HEAD as u64 + u64::from(body) <= length {
        bytes.resize(HEAD + body as usize, 0);
        read_exactly(file, HEAD as u64, bytes.get_mut(HEAD..).unwrap_or_default())?;
    }
    Ok(bytes)
}

/// The whole frame at a place of a file, if there is one.
fn frame_at(file: &[u8], at: usize) -> Option<Frame<'_>> {
    let mut reader = Reader::new(file.get(at..)?);
    let mut number = || reader.u64().ok();
    let (sum, before, generation, flushed) = (number()?, number()?, number()?, number()?);
    let length = reader.u32().ok()? as usize;
    let kind = match reader.u8().ok()? {
        1 => Kind::State,
        2 => Kind::Commit,
        3 => Kind::Mark,
        4 => Kind::End,
        _ => return None,
    };
    let body = at.checked_add(HEAD)?;
    let end = body.checked_add(length)?;
    if sum_with(at as u64, &[file.get(at + SUM..end)?]) != sum {
        return None;
    }
    Some(Frame { before, generation, flushed, kind, body: file.get(body..end)?, sum })
}

/// The first whole frame of this generation behind an end, if one there says that the device had more than that end.
fn find_later(file: &[u8], end: usize, generation: u64) -> Option<(usize, Frame<'_>)> {
    let start = end + 1;
    let mut first = None;
    // Behind the end lie megabytes of earlier turns, so places are compared as numbers.
    for (place, number) in file.get(start + GENERATION..)?.windows(size_of::<u64>()).enumerate() {
        if number.first_chunk().is_none_or(|number| u64::from_le_bytes(*number) != generation) {
            continue;
        }
        let at = start + place;
        let frame = frame_at(file, at).filter(|frame| frame.generation == generation);
        let Some(frame) = frame else { continue };
        let proves = frame.flushed > end as u64;
        first.get_or_insert((at, frame));
        if proves {
            return first;
        }
    }
    None
}
