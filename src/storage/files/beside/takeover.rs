//! Taking the lead: from a leader that has ended, one that is frozen, or nobody.

use super::leader::{InStorage, Lead, Leader, LogImage, NextFiles, Note, Seen, lost, open_log};
use super::{ATTEMPTS, CALLS, FIRST_PAUSE, PATIENCE_US, SCRATCH, SLOW_US, Shared, USUAL};
use crate::error::{Code, Error, Result};
use crate::storage::files::folder::{File as _, Image, SharedFolder};
use crate::storage::files::journal::Journal;
use crate::storage::files::state::State;
use crate::storage::files::{frame, records};
use crate::storage::{Commit, Durability, Fence, FencedStorage, LogNumber, fenced};
use bytes::Bytes;
use std::rc::Rc;

impl<S: FencedStorage, D: SharedFolder> Shared<S, D> {
    /// Takes the lead.
    pub(super) async fn lead(self: &Rc<Self>) -> Result<()> {
        for _ in 0..ATTEMPTS {
            // Whoever has lost its lock meanwhile must not raise the fence of the next leader.
            (self.check)().await?;
            let old = self.storage.fence().await?;
            let taken = match Note::of(&old)? {
                None => {
                    let files = if self.folder.can_open() { NextFiles::Wanted } else { NextFiles::None };
                    Ok(Lead::Storage(InStorage::new(old.number, files)))
                }
                Some(note) => self.follow(&old, note).await,
            };
            match taken {
                Err(error) if error.code() == Code::Fenced => {}
                taken => {
                    self.lead.replace(taken?);
                    return Ok(());
                }
            }
        }
        Err(fenced("other tabs keep taking over the log"))
    }

    /// Opens the files in which the log of this leader goes on. An opening does not wait for that.
    pub(super) fn open_next_files(self: &Rc<Self>, number: u64) {
        let shared = Rc::downgrade(self);
        self.env.spawn(Box::pin(async move {
            let Some(shared) = shared.upgrade() else { return };
            let _opening = shared.opening.wait_for(&[]).await;
            if !matches!(&*shared.lead.borrow(), Lead::Storage(InStorage { files: NextFiles::Opening, .. })) {
                return;
            }
            let old = Fence { number, note: Bytes::new() };
            let begun = shared.begin(&old, State::default(), &[]).await;
            if let Lead::Storage(lead) = &mut *shared.lead.borrow_mut() {
                lead.files = match begun {
                    Ok(leader) => NextFiles::Ready(leader),
                    // Files may be slow here, and a full disk has no room for them. The storage has a reserve.
                    Err(error) => {
                        log::info!("the log stays in the storage: {error}");
                        NextFiles::None
                    }
                };
            }
        }));
    }

    /// Begins a pair of files with these records.
    pub(super) async fn begin(
        &self,
        old: &Fence,
        mut state: State,
        log: &[(LogNumber, Bytes)],
    ) -> Result<Box<Leader<D::File>>> {
        let before_us = self.env.ticks_us();
        let (note, files) = self.free_pair().await?;
        // Whoever leads now may have named these files, ended, and left what was acknowledged there. Nobody can name them from
        // now on.
        let fence = self.storage.fence().await?;
        if fence != *old {
            drop(files);
            self.forget(note).await;
            return Err(fenced(format_args!("the fence is at {}", fence.number)));
        }
        if self.is_slow(&files[0])? {
            return Err(Error::new(Code::Unavailable, "files are slow here"));
        }
        let mut journal = Journal::renew(files)?;
        let mut frame = frame();
        let places = state.encode(&mut frame, |place| {
            let found = log.binary_search_by_key(&place.number, |(number, _)| *number).ok();
            found.and_then(|found| log.get(found)).map(|(_, bytes)| bytes.to_vec()).ok_or_else(lost)
        })?;
        state.log = places;
        journal.turn(&mut frame).map_err(|failure| failure.error)?;
        self.folder.flush_names()?;
        let next = Fence { number: old.number + 1, note: note.encode() };
        Ok(Box::new(Leader { next: Some(next), ..Leader::new(journal, state, note, old.number, before_us) }))
    }

    /// Whether the calls of a file are slow.
    fn is_slow(&self, file: &D::File) -> Result<bool> {
        // A busy machine may stop one round.
        for _ in 0..2 {
            let before_us = self.env.ticks_us();
            for _ in 0..CALLS {
                file.length()?;
            }
            if self.env.ticks_us().saturating_sub(before_us) <= CALLS * SLOW_US {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A pair of files that no other leader has: that of earlier leaders, so that files are made once; or a new one, while a
    /// frozen leader has that.
    pub(super) async fn free_pair(&self) -> Result<(Note, [D::File; 2])> {
        let usual = Note { pair: USUAL, is_closed: false };
        if let Some(files) = self.open_files(usual).await? {
            return Ok((usual, files));
        }
        let mut random = [0; 8];
        self.env.fill_random(&mut random);
        let other = Note { pair: u64::from_le_bytes(random) | USUAL << 1, ..usual };
        let files = self.open_files(other).await?;
        files
            .map(|files| (other, files))
            .ok_or_else(|| Error::new(Code::Busy, "the files of the log are open elsewhere"))
    }

    /// Takes over the log of another leader.
    pub(super) async fn follow(self: &Rc<Self>, old: &Fence, note: Note) -> Result<Lead<D::File>> {
        // Listed before the fence is raised: later leaders make pairs with other names.
        let names = if note.pair == USUAL { Vec::new() } else { self.folder.list().await.unwrap_or_default() };
        let raised = Fence { number: old.number + 1, note: old.note.clone() };
        let before_us = self.env.ticks_us();
        self.storage.commit_behind(Commit::default(), old.number, Some(&raised)).await?;
        let raised_us = self.env.ticks_us();
        let waited = || self.env.ticks_us().saturating_sub(raised_us) >= PATIENCE_US;
        let mut pause = FIRST_PAUSE;
        while self.folder.can_open() {
            if let Some(files) = self.open_files(note).await? {
                let (mut journal, state) = open_log(files, false)?;
                journal.cut_off()?;
                // What readers see from now on must not be lost with the power later.
                journal.flush()?;
                self.forget_others(note, names);
                let now_open = Note { is_closed: false, ..note };
                let next = note.is_closed.then(|| Fence { number: raised.number, note: now_open.encode() });
                let leader = Leader::new(journal, state, now_open, raised.number, before_us);
                return Ok(Lead::Files(Box::new(Leader { next, ..leader })));
            }
            if waited() {
                break;
            }
            self.env.sleep(pause).await;
            (self.check)().await?;
            pause = (pause * 2).min(100);
        }
        while !note.is_closed && !waited() {
            self.env.sleep(100).await;
        }
        let LogImage { state, log, .. } = self.image(note, false).await?;
        if self.folder.can_open()
            && let Ok(mut leader) = self.begin(&raised, state, &log).await
        {
            if let Some(next) = leader.next.take() {
                // What readers see from now on must not be lost with the power later.
                let strict = Commit { durability: Durability::Strict, ..Commit::default() };
                self.storage.commit_behind(strict, raised.number, Some(&next)).await?;
                leader.number = next.number;
                leader.is_firm = true;
            }
            self.forget_others(leader.note, names);
            return Ok(Lead::Files(leader));
        }
        self.give_to_storage(raised.number, log).await?;
        Ok(Lead::Storage(InStorage::new(raised.number, NextFiles::None)))
    }

    /// Opens the files of a pair; `None` while another leader has them.
    pub(super) async fn open_files(&self, note: Note) -> Result<Option<[D::File; 2]>> {
        let [first, second] = note.names();
        let busy = |error: Error| if error.code() == Code::Busy { Ok(None) } else { Err(error) };
        let first = match self.folder.open(&first).await {
            Ok(file) => file,
            Err(error) => return busy(error),
        };
        match self.folder.open(&second).await {
            Ok(second) => Ok(Some([first, second])),
            Err(error) => busy(error),
        }
    }

    /// What the files of a pair have, without opening them.
    pub(super) async fn image(&self, note: Note, salvages: bool) -> Result<LogImage> {
        let files = self.peek(note).await?.map(Image);
        let (journal, state) = open_log(files, salvages)?;
        let log = records(&journal, &state, LogNumber(0))?;
        Ok(LogImage { state, log, lost: journal.lost().cloned() })
    }

    /// The bytes of a pair at one instant. Its leader may be alive, and write its last record or begin its last turn.
    pub(super) async fn peek(&self, note: Note) -> Result<[Vec<u8>; 2]> {
        let [first, second] = note.names();
        for _ in 0..ATTEMPTS {
            let before = self.folder.peek(&first).await;
            let other = self.folder.peek(&second).await;
            let after = self.folder.peek(&first).await;
            match (before, other, after) {
                (Ok(before), Ok(other), Ok(after)) if before == after => {
                    return Ok([before.unwrap_or_default(), other.unwrap_or_default()]);
                }
                (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) if error.code() != Code::Busy => {
                    return Err(error);
                }
                _ => {}
            }
        }
        Err(Error::new(Code::Busy, "another tab goes on writing the log"))
    }

    /// Looks at the log, and changes nothing.
    pub(super) async fn look(&self, salvages: bool) -> Result<Seen> {
        let Some(note) = Note::of(&self.storage.fence().await?)? else {
            return Ok(Seen { is_salvage: salvages, ..Seen::default() });
        };
        match self.image(note, salvages).await {
            Ok(LogImage { log, lost, .. }) => Ok(Seen { log, lost, is_salvage: salvages }),
            Err(error) if error.code() == Code::Corrupt => {
                Ok(Seen { log: Vec::new(), lost: Some(error), is_salvage: salvages })
            }
            Err(error) => Err(error),
        }
    }

    /// Moves records from files to the storage, for the leader with this number.
    pub(super) async fn give_to_storage(&self, number: u64, mut log: Vec<(LogNumber, Bytes)>) -> Result<()> {
        let from = log.first().map_or(LogNumber(u64::MAX >> 12), |(number, _)| *number);
        let stored = self.storage.read_log(from).await?;
        log.retain(|(number, _)| stored.binary_search_by_key(number, |(other, _)| *other).is_err());
        let commit = Commit { log, durability: Durability::Strict, ..Commit::default() };
        self.storage.commit_behind(commit, number, Some(&Fence { number, note: Bytes::new() })).await
    }

    /// Deletes the files of a pair that is named nowhere. The usual pair stays.
    pub(super) async fn forget(&self, note: Note) {
        if note.pair != USUAL {
            for name in note.names() {
                // Its folder may be gone.
                let _ = self.folder.remove(&name).await;
            }
        }
    }

    /// Takes the lead. With a full disk, or damaged files, it only looks at the log.
    pub(super) async fn lead_or_look(self: &Rc<Self>) -> Result<()> {
        let seen = match self.lead().await {
            Err(error) if error.code() == Code::QuotaExceeded => self.look(false).await?,
            Err(error) if error.code() == Code::Corrupt => Seen { lost: Some(error), ..Seen::default() },
            taken => return taken,
        };
        self.lead.replace(Lead::None(seen));
        Ok(())
    }

    /// Deletes the files of other pairs, among those that were there before. The usual pair stays.
    pub(super) fn forget_others(self: &Rc<Self>, note: Note, mut names: Vec<String>) {
        let usual = Note { pair: USUAL, ..note }.names();
        names.retain(|name| name != SCRATCH && !note.names().contains(name) && !usual.contains(name));
        let shared = Rc::downgrade(self);
        self.env.spawn(Box::pin(async move {
            for name in names {
                if let Some(shared) = shared.upgrade() {
                    // A frozen leader may have it open.
                    let _ = shared.folder.remove(&name).await;
                }
            }
        }));
    }
}
