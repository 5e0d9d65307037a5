//! The shared state of the sessions of an instance, and the order in which they start held frames.

use super::activity::Activity;
use super::budget::Budget;
use crate::env::Env;
use crate::model::limits;
use crate::tablestore::Instance;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// Started requests may take this much memory, about, however small a memtable is.
const LEAST_STARTED: usize = 4 << 20;

/// One of the sessions.
pub(super) trait Member {
    /// The memory, about, of its started and unanswered requests.
    fn started_bytes(&self) -> usize;

    /// Whether it holds a frame that it can start now, by its own share.
    fn can_start(&self) -> bool;

    /// Starts its oldest held frame. Returns whether it holds others.
    fn start_first(self: &Rc<Self>) -> bool;
}

/// The shared state of all sessions.
pub(super) struct Common<S> {
    pub(super) instance: Rc<Instance>,
    pub(super) env: Rc<dyn Env>,
    pub(super) activity: RefCell<Activity>,
    /// The memory, about, of started and unanswered requests: up to the size of a memtable, at least [`LEAST_STARTED`].
    pub(super) started: Budget,
    /// Held frames and bytes.
    pub(super) frames: Budget,
    pub(super) bytes: Budget,
    /// Sessions that are not done, by the numbers of their clients.
    pub(super) open: RefCell<Vec<(u64, Weak<S>)>>,
    /// Sessions that hold frames. The first one starts the next frame.
    line: RefCell<Vec<Rc<S>>>,
}

impl<S: Member> Common<S> {
    /// No session yet.
    pub(super) fn new(instance: Rc<Instance>, env: Rc<dyn Env>) -> Self {
        let most = instance.memtable_bytes().max(LEAST_STARTED);
        Self {
            activity: RefCell::new(Activity::new(env.ticks_us(), instance.units_used())),
            instance,
            env,
            started: Budget::new(most),
            frames: Budget::new(limits::HELD_FRAMES),
            bytes: Budget::new(limits::HELD_MEMTABLES.saturating_mul(most)),
            open: RefCell::default(),
            line: RefCell::default(),
        }
    }

    /// The number of sessions that are not done.
    pub(super) fn count(&self) -> usize {
        self.open.borrow().len()
    }

    /// Forgets a session that is done. Returns whether it was known.
    pub(super) fn forget(&self, session: &Rc<S>) -> bool {
        let mut open = self.open.borrow_mut();
        let place = open.iter().position(|(_, other)| std::ptr::eq(other.as_ptr(), Rc::as_ptr(session)));
        place.map(|place| open.remove(place)).is_some()
    }

    /// A session has held its first frame.
    pub(super) fn queue(&self, session: &Rc<S>) {
        self.line.borrow_mut().push(Rc::clone(session));
    }

    /// A session holds no frame any more.
    pub(super) fn leave_line(&self, session: &Rc<S>) {
        self.line.borrow_mut().retain(|other| !Rc::ptr_eq(other, session));
    }

    /// Starts held frames where there is room, after a request of this session has ended.
    pub(super) fn start_next(&self, session: &Rc<S>) {
        // Several start at once, so that they share a commit.
        if self.line.borrow().is_empty() || !self.started.is_half_free(session.started_bytes(), self.count()) {
            return;
        }
        self.start_held(&|| self.started.is_free());
        // The session has its share, even if the others have taken everything.
        while session.can_start() {
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
