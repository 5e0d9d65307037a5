//! Readiness: whether the engine works and knows the stored state.
//!
//! A failed commit may have taken effect, and another engine may have taken the lead. A look at the log behind the last
//! known record answers both.

use super::Store;
use super::raw_record::RawRecord;
use crate::engine::versions::manifest::{self, StoredVersion};
use crate::env::Env;
use crate::error::{Code, Error, Result};
use crate::format::log::{self, LogHead};
use crate::format::record::{self, Place};
use crate::storage::{AnyStorage, Commit, Durability, Loaded, LogNumber};
use std::rc::Rc;

/// Whether the log, from a record on, has one of another leader than that of the epoch. A commit of this one may be in flight.
pub(crate) async fn another_behind(storage: &AnyStorage, from: LogNumber, epoch: u64) -> Result<bool> {
    for (number, stored) in storage.read_log(from).await? {
        if !RawRecord::open(number, &stored)?.is_of(epoch)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The commit that takes the lead. No two are alike.
pub(crate) fn lead_record(env: &dyn Env, number: LogNumber, head: LogHead, durability: Durability) -> Commit {
    let mut nonce = [0; log::NONCE_BYTES];
    env.fill_random(&mut nonce);
    let payload = log::encode_leadership(head, nonce);
    Commit {
        log: vec![(number, record::seal_as(Place::Log(number), log::PLAIN_VERSION, &payload))],
        durability,
        ..Commit::default()
    }
}

impl Store {
    /// Whether the engine works and knows the stored state.
    pub(crate) fn is_ready(&self) -> bool {
        self.line.is_alive() && self.line.is_certain() && !self.is_overtaken()
    }

    /// Whether the storage has a log record of another engine, as far as it knows.
    fn is_overtaken(&self) -> bool {
        self.line.is_overtaken_by(self.runtime.storage.newest_log())
    }

    /// Checks that the engine works. If the outcome of a commit is unknown, waits until it is known: nothing is read,
    /// decided or committed before. Returns at once in all other cases.
    pub(crate) async fn ready(self: &Rc<Self>) -> Result<()> {
        loop {
            self.line.check_alive()?;
            if self.is_overtaken() {
                self.line.set_certain(false);
            }
            if self.line.is_certain() {
                return Ok(());
            }
            let (finding, others) = self.line.finding();
            // The first caller may go away, and others wait for the answer too.
            if !others {
                let store = Rc::clone(self);
                self.runtime.spawn(Box::pin(async move {
                    let outcome = store.find_out().await;
                    store.line.found(&outcome);
                }));
            }
            finding.wait().await?;
        }
    }

    async fn find_out(&self) -> Result<()> {
        let number = self.line.next_log();
        let Loaded { manifests, log } = match self.runtime.storage.load(&|_| Ok(number)).await {
            Err(error) if error.code() == Code::Fenced => return Err(self.end_replaced()),
            loaded => loaded?,
        };
        for (number, stored) in log {
            let logged = RawRecord::open(number, &stored)?;
            if !logged.is_of(self.leadership.epoch())? {
                return Err(self.end_replaced());
            }
            self.replay(&logged)?;
        }
        let newest = self.view.borrow().manifests.newest;
        if manifests.first().is_some_and(|(id, _)| *id > newest) {
            let known = self.view.borrow().version.segments();
            let StoredVersion { manifests, version, .. } = manifest::open(&manifests, known)?;
            // Its loads are visible now. No write is pending: each has failed, or was in the log and has been replayed.
            self.view.borrow_mut().show(version.next_seqno.saturating_sub(1));
            self.adopt(manifests, version, Vec::new());
        }
        self.line.set_certain(true);
        // Now, before a later version drops segments of this one: readers may hold them.
        self.view.borrow_mut().settle();
        Ok(())
    }

    /// Ends the engine because another one leads.
    fn end_replaced(&self) -> Error {
        let error = Error::new(Code::Fenced, "another tab has taken over the instance");
        self.stop(error.clone());
        error
    }

    /// Checks whether another engine leads.
    pub(crate) async fn check_lead(&self) -> Result<()> {
        if another_behind(&self.runtime.storage, self.line.next_log(), self.leadership.epoch()).await? {
            return Err(self.end_replaced());
        }
        Ok(())
    }

    /// Takes the lead, if there was no room for that at the opening. Returns whether it did. The engine knows the log as of then: if another
    /// engine has written since, the record's number is taken.
    ///
    /// # Errors
    /// `QuotaExceeded` if there is still no room; any other error ends the engine.
    pub(crate) async fn lead(&self) -> Result<bool> {
        if !self.leadership.is_due() {
            return Ok(false);
        }
        let _turn = self.leadership.turns.wait_for(&[]).await;
        self.check_alive()?;
        if !self.leadership.is_due() {
            return Ok(false);
        }
        let number = self.line.next_log();
        let head = LogHead { epoch: self.leadership.epoch(), clock: self.runtime.clock.to_store() };
        let stored = self
            .runtime
            .storage
            .commit(lead_record(&*self.runtime.env, number, head, self.runtime.options.durability))
            .await;
        match stored {
            Ok(()) => {}
            Err(error) if error.code() == Code::QuotaExceeded => return Err(error),
            Err(error) => {
                self.stop(error.clone());
                return Err(error);
            }
        }
        self.leadership.take(number);
        self.add_record(number, 0, 0, 0);
        Box::pin(self.check_lead()).await?;
        Ok(true)
    }
}
