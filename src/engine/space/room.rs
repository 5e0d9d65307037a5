//! Room for deletions on a full disk.
//!
//! A deletion is stored before it frees any space, and a browser counts a transaction's writes before its deletions. So
//! on a full disk only a transaction of nothing but deletions works. The storage holds a reserve: records of noise, which
//! no browser can compress. Work that frees space (deletions of rows and tables, flushes, compactions, taking the lead)
//! deletes the reserve when the disk is full, and tries again. From then on the room belongs to such work: writes that
//! add rows are refused until the reserve is whole again. Filling it is tried in the background, with growing pauses,
//! after space was freed, and for each commit that adds. The last part of the reserve is for commits only: a flush or a
//! compaction that needs too much must not block deletions.
//!
//! The reserve lies in segments that no leader ever writes. Two more segments have one record each, the size of the
//! reserve. One is stored last and deleted first: it says that the reserve is whole. The other is a mark that stays. It
//! tells the next opening that a missing reserve was deleted, so its room must stay free. Libraries that do not know
//! these segments take them for orphans and delete them.

use super::Space;
use super::reserve::{Attempt, FIRST_GIVEN, Holding, LAST, MAIN, MARK, WHOLE, last_bytes};
use crate::engine::base::pauses::Pauses;
use crate::engine::store::pending::Group;
use crate::error::{Code, Error, Result};
use crate::storage::{BlockId, Durability, LogNumber, STAGE_BYTES, SegmentId};
use bytes::Bytes;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::task::Poll;

/// How often the storage is asked for the room of what was deleted, until a commit succeeds.
const SQUEEZES: u32 = 8;

/// How often of these for records to stage. The rest stays for commits.
const SQUEEZES_TO_STAGE: u32 = SQUEEZES / 2;

/// A store that is written without a pause gets its reserve after so many of the first pauses.
const BUSY_PAUSES: u32 = 4;

impl Space {
    /// Makes room for a commit that was refused. It may use the reserve's room if the disk
    /// was full, and no write of it adds rows, and some free space. If the whole reserve was given and the disk is still
    /// full, the storage keeps what was deleted. Returns whether there may be room now.
    pub(crate) async fn makes_room_for(
        self: &Rc<Self>,
        group: Option<&Rc<Group>>,
        error: &Error,
        began: Attempt,
    ) -> bool {
        // Where the meter's own writes find no room, the deletions behind them would fail with them.
        let frees = |group: &Rc<Group>| group.frees() || !group.adds() && self.store.line.pending.borrow().frees_next();
        if error.code() != Code::QuotaExceeded {
            return false;
        }
        if self.second_gives_up(began) {
            return true;
        }
        if !group.is_none_or(frees) {
            return false;
        }
        self.release_reserve(began.releases, true).await || self.squeeze(SQUEEZES).await
    }

    /// Has the second cache give its room back, if there is one. Returns whether there may be room now.
    fn second_gives_up(&self, began: Attempt) -> bool {
        let given = &self.reserve.second_given;
        given.set(given.get() || self.store.cache.second.get().is_some_and(|second| second.give_up()));
        given.get() && !began.second_given
    }

    /// The beginning of an attempt to store something.
    pub(crate) fn attempt(&self) -> Attempt {
        Attempt { releases: self.reserve.releases(), second_given: self.reserve.second_given.get() }
    }

    /// Makes room for records to stage, as for a commit: a part of the reserve stays for those.
    pub(crate) async fn makes_room_to_stage(self: &Rc<Self>, began: Attempt) -> bool {
        self.second_gives_up(began)
            || self.release_reserve(began.releases, false).await
            || self.squeeze(SQUEEZES_TO_STAGE).await
    }

    /// Has the storage give back what it keeps without need, unless it was asked so often. Returns whether there may be room now.
    async fn squeeze(&self, most: u32) -> bool {
        let squeezes = self.reserve.squeezes.get();
        if squeezes >= most || self.store.check_lead().await.is_err() || !self.runtime.storage.squeeze().await {
            return false;
        }
        self.reserve.squeezes.set(squeezes + 1);
        true
    }

    /// Deletes a part of the reserve, for work that began after so many `releases` and found the disk full. Only commits
    /// get the last part. Returns whether there may be room now.
    pub(crate) async fn release_reserve(self: &Rc<Self>, releases: u64, to_commit: bool) -> bool {
        let reserve = &self.reserve;
        let mine = reserve.releases.get() == releases;
        // A task that fills the reserve stops at this.
        reserve.releases.set(reserve.releases.get() + u64::from(mine));
        let _turn = reserve.turns.wait_for(&[]).await;
        if !mine {
            return reserve.is_out();
        }
        let last = last_bytes(self.runtime.options.reserve_bytes) as u64;
        let (segments, left) = match reserve.bytes() {
            0 if reserve.held.get() != Holding::Unknown => return false,
            bytes if bytes == 0 || bytes > last => (&FIRST_GIVEN[..], bytes.min(last)),
            _ if to_commit => (&[LAST][..], 0),
            _ => return false,
        };
        // The reserve may be the next leader's by now.
        if self.store.check_lead().await.is_err() {
            return false;
        }
        let given = self.runtime.storage.delete_segments(segments).await;
        match &given {
            Ok(()) => reserve.set(Holding::Out, left),
            Err(error) => {
                log::warn!("the reserve could not be given back: {error}");
                reserve.held.set(Holding::Unknown);
                reserve.is_checked.set(false);
            }
        }
        self.keep_reserve();
        given.is_ok()
    }

    /// Starts the background task that makes the reserve whole, however long that takes. The first writes do not wait for
    /// it.
    pub(crate) fn keep_reserve(self: &Rc<Self>) {
        if self.reserve.at_work.replace(true) {
            return;
        }
        let me = Rc::downgrade(self);
        // Without the lead the error is due at once.
        let mut pause = if self.store.leadership.is_due() { 0 } else { Pauses::RESERVE.next_ms(None) };
        self.runtime.spawn_aside(Box::pin(async move {
            let (mut busy, mut seen) = (0, LogNumber::default());
            loop {
                if let Some(space) = me.upgrade() {
                    seen = space.store.line.next_log();
                    *space.reserve.pause.borrow_mut() = Some(space.runtime.env.sleep(pause));
                }
                pass(&me).await;
                let Some(space) = me.upgrade() else { return };
                let Some(_engine) = space.runtime.engine() else { return };
                if space.store.line.next_log() != seen && busy < BUSY_PAUSES {
                    busy += 1;
                    continue;
                }
                if space.fill_reserve().await.is_ok() || space.store.check_alive().is_err() {
                    space.reserve.at_work.set(false);
                    return;
                }
                pause = Pauses::RESERVE.next_ms(Some(pause));
            }
        }));
    }

    /// A store that fills memtables may fill its disk before a pause in writing. It gets its reserve now, beside its
    /// writes.
    pub(crate) fn begin_reserve(self: &Rc<Self>) {
        if matches!(self.reserve.held.get(), Holding::Unknown | Holding::Never) {
            let space = Rc::clone(self);
            self.runtime.spawn(Box::pin(async move {
                if let Err(error) = space.fill_reserve().await {
                    log::warn!("the reserve is not whole: {error}");
                }
            }));
        }
    }

    /// Makes the reserve whole. Takes the lead first, if there was no room for that before.
    ///
    /// # Errors
    /// `QuotaExceeded` if there is no room for it.
    pub(crate) async fn fill_reserve(self: &Rc<Self>) -> Result<()> {
        let reserve = &self.reserve;
        let _turn = reserve.turns.wait_for(&[]).await;
        self.store.check_alive()?;
        let began = self.attempt();
        let mut filled = self.fill().await;
        if is_full(&filled) && self.second_gives_up(began) {
            filled = self.fill().await;
        }
        let error = match filled {
            Err(error) if error.code() == Code::QuotaExceeded => error,
            Err(error) => return Err(error),
            Ok(()) => {
                reserve.held.set(Holding::Whole);
                reserve.told.set(None);
                reserve.squeezes.set(0);
                return Ok(());
            }
        };
        reserve.held.set(Holding::Out);
        let unled = self.store.leadership.is_due();
        let can = match unled {
            true => "this store can only be read",
            false => "rows and tables can be read and deleted, and nothing can be added",
        };
        let (stored, wanted) = (reserve.bytes(), self.runtime.options.reserve_bytes);
        let hint = format!("The reserve for deletions (the option 'reserveBytes') has {stored} of {wanted} bytes.");
        let error = Error::new(Code::QuotaExceeded, format!("{}; until there is room again, {can}", error.message()));
        let error = error.with_hint(hint);
        if reserve.told.replace(Some(unled)) != Some(unled) {
            self.runtime.health.tell(None, error.clone());
        }
        Err(error)
    }

    async fn fill(self: &Rc<Self>) -> Result<()> {
        let (reserve, wanted) = (&self.reserve, self.runtime.options.reserve_bytes);
        if reserve.held.get() == Holding::Unknown {
            self.find_reserve(&self.runtime.storage.list_segments().await?);
        }
        self.lead().await?;
        if wanted == 0 {
            return Ok(());
        }
        let size = Bytes::copy_from_slice(&(wanted as u64).to_le_bytes());
        if !reserve.is_checked.get() {
            self.check_reserve(&size).await?;
        }
        if reserve.held.get() == Holding::Whole {
            return Ok(());
        }
        // A leader that was replaced must not take the room of the next one.
        self.store.check_lead().await?;
        let releases = reserve.releases();
        if !reserve.is_marked.get() {
            self.stage_reserve(MARK, 0, size.clone(), releases).await?;
            reserve.is_marked.set(true);
        }
        let last = last_bytes(wanted);
        loop {
            let done = reserve.bytes() as usize;
            let (segment, place, len) = match done.checked_sub(last) {
                None => (LAST, 0, last),
                Some(done) => (MAIN, done / STAGE_BYTES, (wanted - last - done).min(STAGE_BYTES)),
            };
            if len == 0 {
                return self.stage_reserve(WHOLE, 0, size, releases).await;
            }
            // Noise does not compress.
            let mut noise = vec![0; len];
            self.runtime.env.fill_random(&mut noise);
            self.stage_reserve(segment, place as u32, noise.into(), releases).await?;
            reserve.bytes.set(if segment == LAST { last } else { done + len } as u64);
            self.runtime.env.yield_now().await;
        }
    }

    /// Stores a record of the reserve, unless its deletion was asked for.
    async fn stage_reserve(&self, segment: SegmentId, block: u32, record: Bytes, releases: u64) -> Result<()> {
        let _turn = self.staging.wait_for(&[]).await;
        if self.reserve.releases() != releases {
            return Err(Error::new(Code::QuotaExceeded, "the origin's storage is full"));
        }
        self.runtime.storage.stage(segment, vec![(block, record)], Durability::Relaxed).await
    }

    /// Finds the reserve among the stored segments. Returns its segments.
    pub(crate) fn find_reserve(&self, stored: &[SegmentId]) -> &'static [SegmentId] {
        let (reserve, wanted) = (&self.reserve, self.runtime.options.reserve_bytes);
        if wanted == 0 {
            return &[];
        }
        let (is_whole, is_marked) = (stored.contains(&WHOLE), stored.contains(&MARK));
        reserve.is_marked.set(is_marked);
        if !reserve.is_checked.get() {
            let bytes = match is_whole {
                true => wanted,
                false if stored.contains(&LAST) => last_bytes(wanted),
                false => 0,
            };
            reserve.bytes.set(bytes as u64);
        }
        if reserve.held.get() == Holding::Unknown {
            reserve.held.set(if is_whole {
                Holding::Whole
            } else if is_marked {
                Holding::Out
            } else {
                Holding::Never
            });
        }
        &[MAIN, WHOLE, LAST, MARK]
    }

    /// Compares the size of the stored reserve with the wanted one. A reserve of another size, or a part of one, is
    /// deleted.
    async fn check_reserve(&self, size: &Bytes) -> Result<()> {
        let reserve = &self.reserve;
        let sizes =
            self.runtime.storage.get_blocks(&[WHOLE, MARK].map(|segment| BlockId { segment, block: 0 })).await?;
        let mut alike = sizes.iter().map(|stored| stored.as_ref() == Some(size));
        let (whole, marked) = (alike.next() == Some(true), alike.next() == Some(true));
        reserve.is_marked.set(marked);
        if whole {
            reserve.set(Holding::Whole, self.runtime.options.reserve_bytes as u64);
        } else {
            self.runtime.storage.delete_segments(&FIRST_GIVEN).await?;
            if !marked {
                self.runtime.storage.delete_segments(&[LAST]).await?;
            }
            let last = last_bytes(self.runtime.options.reserve_bytes) as u64;
            reserve.bytes.set(if marked { reserve.bytes().min(last) } else { 0 });
            if reserve.held.get() == Holding::Whole {
                reserve.held.set(Holding::Out);
            }
        }
        reserve.is_checked.set(true);
        Ok(())
    }

    /// Takes the lead, if there was no room for that at the opening.
    ///
    /// # Errors
    /// As for [`Store::lead`](crate::engine::store::Store::lead).
    pub(crate) async fn lead(self: &Rc<Self>) -> Result<()> {
        if self.store.lead().await? {
            self.collect_orphans();
        }
        Ok(())
    }

    /// The extra work before some commits: take the lead if it is due, and fill the reserve before rows are added.
    pub(crate) async fn make_room(self: &Rc<Self>, group: Option<&Rc<Group>>) -> Result<()> {
        if self.reserve.is_out() && group.is_some_and(|group| group.adds()) {
            return self.fill_reserve().await;
        }
        loop {
            let began = self.attempt();
            let Err(error) = self.lead().await else { return Ok(()) };
            if !self.makes_room_for(group, &error, began).await {
                return Err(error);
            }
        }
    }
}

fn is_full(filled: &Result<()>) -> bool {
    filled.as_ref().is_err_and(|error| error.code() == Code::QuotaExceeded)
}

/// Resolves when the pause is over; never, if the engine ends before.
async fn pass(me: &Weak<Space>) {
    poll_fn(|context| {
        let Some(space) = me.upgrade() else { return Poll::Ready(()) };
        let mut pause = space.reserve.pause.borrow_mut();
        pause.as_mut().map_or(Poll::Pending, |pause| pause.as_mut().poll(context))
    })
    .await;
}
