//! A leader, and what it has of the log.

use crate::error::{Error, Result};
use crate::format::wire::{Reader, put_uv};
use crate::storage::files::folder::File;
use crate::storage::files::journal::{Failure, HEAD, Journal};
use crate::storage::files::state::{Change, State};
use crate::storage::files::{frame, records, replay};
use crate::storage::{Commit, Fence, LogNumber};
use bytes::Bytes;
use std::mem;

/// Where the log is: the note of a [`Fence`].
///
/// ```text
/// pair of files (varint) · 1 if its leader has closed them, otherwise 0
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) pair: u64,
    pub(super) is_closed: bool,
}

impl Note {
    pub(super) fn encode(self) -> Bytes {
        let mut out = Vec::new();
        put_uv(self.pair, &mut out);
        out.push(u8::from(self.is_closed));
        out.into()
    }

    /// The note of a fence; `None` if the log is in the storage.
    pub(super) fn of(fence: &Fence) -> Result<Option<Self>> {
        if fence.note.is_empty() {
            return Ok(None);
        }
        let mut reader = Reader::new(&fence.note);
        let mut read = || Ok(Self { pair: reader.uv()?, is_closed: reader.u8()? != 0 });
        read().map(Some).map_err(|damage: crate::format::wire::Damage| Error::corrupt("the fence", damage))
    }

    /// The names of its files.
    pub(super) fn names(self) -> [String; 2] {
        [0, 1].map(|place| format!("{:x}-{place}", self.pair))
    }
}

/// How far the lead is taken.
pub(super) enum Lead<F> {
    /// Not yet: the files were only looked at.
    None(Seen),
    /// The log is in these files.
    Files(Box<Leader<F>>),
    /// The log is in the storage.
    Storage(InStorage<F>),
}

/// A leader whose log is in the storage.
pub(super) struct InStorage<F> {
    /// The number of the fence.
    pub(super) number: u64,
    /// Whether its first commit is done, which depends on the fence. Log numbers keep others out then.
    pub(super) has_committed: bool,
    pub(super) stored: Stored,
    /// The files in which the log goes on.
    pub(super) files: NextFiles<F>,
}

/// Log records that the storage has, as far as they were read or written.
#[derive(Default)]
pub(super) struct Stored(Vec<LogNumber>);

impl Stored {
    pub(super) fn has(&self, number: LogNumber) -> bool {
        self.0.contains(&number)
    }

    /// A commit has stored and trimmed these.
    pub(super) fn change(&mut self, logged: impl IntoIterator<Item = LogNumber>, trimmed: &[LogNumber]) {
        if !trimmed.is_empty() {
            self.0.retain(|number| !trimmed.contains(number));
        }
        self.0.extend(logged);
    }

    /// From a number on, these were read.
    pub(super) fn set_from(&mut self, from: LogNumber, numbers: Vec<LogNumber>) {
        self.0.retain(|number| *number < from);
        self.0.extend(numbers);
    }
}

/// How far the files are in which a log goes on that is in the storage.
pub(super) enum NextFiles<F> {
    /// There are none.
    None,
    /// They are opened after the first record.
    Wanted,
    /// They are being opened.
    Opening,
    /// The next record goes there.
    Ready(Box<Leader<F>>),
}

impl<F> InStorage<F> {
    pub(super) fn new(number: u64, files: NextFiles<F>) -> Self {
        Self { number, has_committed: false, stored: Stored::default(), files }
    }

    /// Notes which records were stored and trimmed, if that is needed later.
    pub(super) fn note(&mut self, logged: Vec<LogNumber>, trimmed: &[LogNumber]) {
        if matches!(self.files, NextFiles::None) {
            return;
        }
        self.stored.change(logged, trimmed);
    }

    /// Whether the caller has to open files now.
    pub(super) fn opens_files(&mut self, has_record: bool) -> bool {
        let opens = has_record && matches!(self.files, NextFiles::Wanted);
        if opens {
            self.files = NextFiles::Opening;
        }
        opens
    }

    /// The leader in files that goes on with this commit, if they are ready and it has a record.
    pub(super) fn next_leader(&mut self, commit: &Commit) -> Option<Box<Leader<F>>> {
        if commit.log.is_empty() || !matches!(self.files, NextFiles::Ready(_)) {
            return None;
        }
        let NextFiles::Ready(mut leader) = mem::replace(&mut self.files, NextFiles::None) else { return None };
        leader.stored = mem::take(&mut self.stored);
        Some(leader)
    }
}

/// What the files had when they were looked at.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) log: Vec<(LogNumber, Bytes)>,
    /// Why there may be more.
    pub(super) lost: Option<Error>,
    /// Whether it is for reading only, so that damage takes only what is damaged.
    pub(super) is_salvage: bool,
}

/// The way of a commit.
pub(super) enum Way {
    /// The log is in the storage. If there is a number, the commit depends on the fence.
    Storage(Option<u64>),
    /// It is in the files already.
    Files,
    /// It goes to the storage, behind the fence with this number, and sets the fence to the next one. Its log records follow in
    /// the files.
    Both { number: u64, next: Option<Fence> },
}

/// The leader whose log is in files.
pub(super) struct Leader<F> {
    pub(super) journal: Journal<F>,
    pub(super) state: State,
    pub(super) note: Note,
    /// The number of the fence.
    pub(super) number: u64,
    /// The fence that its next commit with a record has to set.
    pub(super) next: Option<Fence>,
    pub(super) stored: Stored,
    /// Whether the storage has a record that the files do not have. A loss of power may take it as long as no later commit to
    /// the storage was strict.
    pub(super) owes: bool,
    /// Whether the device has the fence that names these files.
    pub(super) is_firm: bool,
    /// When the fence was last known to be in place, in ticks of [`Env`].
    pub(super) proven_us: u64,
}

/// The log in files that somebody else may have open.
pub(super) struct LogImage {
    pub(super) state: State,
    pub(super) log: Vec<(LogNumber, Bytes)>,
    /// What a salvage could not read, and no gap between the records tells.
    pub(super) lost: Option<Error>,
}

/// The error of files that are not there.
pub(super) fn lost() -> Error {
    Error::corrupt("the log", "its files are missing or empty")
}

/// Records of two ascending lists. Of two with the same number, that of `first` stays.
pub(super) fn merged(first: Vec<(LogNumber, Bytes)>, second: Vec<(LogNumber, Bytes)>) -> Vec<(LogNumber, Bytes)> {
    let mut all = Vec::with_capacity(first.len() + second.len());
    let mut second = second.into_iter().peekable();
    for record in first {
        while let Some(before) = second.next_if(|(number, _)| *number < record.0) {
            all.push(before);
        }
        second.next_if(|(number, _)| *number == record.0);
        all.push(record);
    }
    all.extend(second);
    all
}

/// The log in the files of a pair, which have one.
///
/// # Errors
/// `Corrupt` if they have none, or if it is damaged; errors of the files.
pub(super) fn open_log<F: File>(files: [F; 2], salvages: bool) -> Result<(Journal<F>, State)> {
    let mut state = State::default();
    let journal = Journal::open(files, salvages, |kind, start, body| replay(&mut state, kind, start, body).map(drop))?;
    if journal.is_new() { Err(lost()) } else { Ok((journal, state)) }
}

impl<F: File> Leader<F> {
    /// A leader that goes on behind the fence with this number.
    pub(super) fn new(journal: Journal<F>, state: State, note: Note, number: u64, proven_us: u64) -> Self {
        Self {
            journal,
            state,
            note,
            number,
            next: None,
            stored: Stored::default(),
            owes: false,
            is_firm: false,
            proven_us,
        }
    }

    pub(super) fn records(&self, from: LogNumber) -> Result<Vec<(LogNumber, Bytes)>> {
        records(&self.journal, &self.state, from)
    }

    /// Appends a commit.
    pub(super) fn append(&mut self, commit: &Commit) -> Result<(), Failure> {
        let mut frame = frame();
        Change::encode(commit, &mut frame);
        let start = self.journal.append(&mut frame)?;
        let change = Change::decode(frame.get(HEAD..).unwrap_or_default(), start);
        self.state.apply(change.map_err(|error| Failure { error, doubtful: true })?);
        Ok(())
    }
}
