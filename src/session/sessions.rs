//! All sessions of an instance.

use super::Session;
use super::activity::ActivityReport;
use super::common::Common;
use super::shared::Shared;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::tablestore::Instance;
use std::rc::Rc;

/// The sessions of an instance.
pub struct Sessions(Rc<Common<Shared>>);

impl Sessions {
    /// No session yet.
    pub fn new(instance: Rc<Instance>, env: Rc<dyn Env>) -> Self {
        Self(Rc::new(Common::new(instance, env)))
    }

    /// Opens a session of the client with this number, which log records carry. `deliver` gets the frames of responses
    /// that are not ready at once.
    ///
    /// # Errors
    /// `OTSParameterInvalid` when the client has a session.
    pub fn open(&self, client: u64, deliver: impl Fn(Vec<u8>) + 'static) -> Result<Session> {
        let mut open = self.0.open.borrow_mut();
        if open.iter().any(|(other, _)| *other == client) {
            return Err(Error::parameter(format!("The client {client} has a session already.")));
        }
        let shared = Shared::new(Rc::clone(&self.0), client, Box::new(deliver));
        open.push((client, Rc::downgrade(&shared)));
        Ok(Session(shared))
    }

    /// The activity of all sessions, ended ones included (I5).
    pub fn activity(&self) -> ActivityReport {
        self.0.activity.borrow().report(self.0.env.ticks_us())
    }

    /// The sessions that are open: one for each handle, in all tabs.
    pub fn count(&self) -> usize {
        self.0.count()
    }

    /// Starts every request that has arrived, whatever memory it takes.
    pub fn start_held(&self) {
        self.0.start_held(&|| true);
    }

    /// Ends all sessions.
    pub fn end(&self) {
        let open = self.0.open.borrow().iter().filter_map(|(_, session)| session.upgrade()).collect::<Vec<_>>();
        open.iter().for_each(Shared::end);
    }
}
