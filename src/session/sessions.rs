//! All sessions of an instance: their shared state, and the order in which they start held frames.

use super::activity::{Activity, ActivityReport};
use super::budget::Budget;
use super::{Session, Shared};
use crate::env::Env;
use crate::error::{Error, Result};
use crate::model::limits;
use crate::tablestore::Instance;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// Started requests may take this much memory, about, however small a memtable is.
const LEAST_STARTED: usize = 4 << 20;

/// The sessions of an instance.
pub struct Sessions(Rc<Common>);

/// The shared state of all sessions.
pub(super) struct Common {
    pub(super) instance: Rc<Instance>,
    pub(super) env: Rc<dyn Env>,
    pub(super) activity: RefCell<Activity>,
    /// The memory, about, of started and unanswered requests: up to the size of a memtable, at least [`LEAST_STARTED`].
    pub(super) started: Budget,
    /// Held frames and bytes.
    pub(super) frames: Budget,
    pub(super) bytes: Budget,
    /// Sessions that are not done, by the numbers of their clients.
    open: RefCell<Vec<(u64, Weak<Shared>)>>,
    /// Sessions that hold frames. The first one starts the next frame.
    line: RefCell<Vec<Rc<Shared>>>,
}

impl Sessions {
    /// No session yet.
    pub fn new(instance: Rc<Instance>, env: Rc<dyn Env>) -> Self {
        let most = instance.memtable_bytes().max(LEAST_STARTED);
        Self(Rc::new(Common {
            activity: RefCell::new(Activity::new(env.ticks_us(), instance.units_used())),
            instance,
            env,
            started: Budget::new(most),
            frames: Budget::new(limits::HELD_FRAMES),
            bytes: Budget::new(limits::HELD_MEMTABLES.saturating_mul(most)),
            open: RefCell::default(),
            line: RefCell::default(),
        }))
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

impl Common {
    /// The number of sessions that are not done.
    pub(super) fn count(&self) -> usize {
        self.open.borrow().len()
    }

    /// Forgets a session that is done. Returns whether it was known.
    pub(super) fn forget(&self, session: &Rc<Shared>) -> bool {
        let mut open = self.open.borrow_mut();
        let place = open.iter().position(|(_, other)| std::ptr::eq(other.as_ptr(), Rc::as_ptr(session)));
        place.map(|place| open.remove(place)).is_some()
    }

    /// A session has held its first frame.
    pub(super) fn queue(&self, session: &Rc<Shared>) {
        self.line.borrow_mut().push(Rc::clone(session));
    }

    /// A session holds no frame any more.
    pub(super) fn leave_line(&self, session: &Rc<Shared>) {
        self.line.borrow_mut().retain(|other| !Rc::ptr_eq(other, session));
    }

    /// Starts held frames where there is room, after a request of this session has ended.
    pub(super) fn start_next(&self, session: &Rc<Shared>) {
        // Several start at once, so that they share a commit.
        if self.line.borrow().is_empty() || !self.started.is_half_free(session.started.get(), self.count()) {
            return;
        }
        self.start_held(&|| self.started.is_free());
        // The session has its share, even if the others have taken everything.
        while session.held_frames.get() > 0 && session.loading.get().is_none() && session.has_room() {
            if !session.start_first() {
                self.leave_line(session);
            }
        }
    }

    /// Starts held frames while `goes_on` is true: one of each session, in turn.
    pub(super) fn start_held(&self, goes_on: &dyn Fn() -> bool) {
        while goes_on() {
            // Few sessions hold frames at a time.
            let session = match &mut *self.line.borrow_mut() {
                line if line.is_empty() => break,
                line => line.remove(0),
            };
            if session.start_first() {
                self.line.borrow_mut().push(session);
            }
        }
    }
}
