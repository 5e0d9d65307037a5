//! The frames of a session: started when they come, or held, or refused.

use super::codec::{Damage, Frame};
use super::common::Member;
use super::job::{Job, Step};
use super::shared::Shared;
use crate::env::LocalFuture;
use crate::modules::Module;
use std::rc::Rc;
use std::task::{Context, Waker};

/// The memory of a started request, about: this much, and this many times its bytes.
pub(super) const REQUEST_BYTES: usize = 512;
const TIMES_BYTES: usize = 4;

/// Rows by the thousand do without their module so many times as long as they waited for it in vain.
const PATIENCE: u64 = 10;

impl Shared {
    /// Whether a frame that comes now is held.
    pub(super) fn has_to_wait(&self) -> bool {
        self.held_frames.get() > 0 || !self.has_room() || self.ended.get()
    }

    fn has_room(&self) -> bool {
        self.common.started.has_room(self.started.get(), 1, self.common.count())
    }

    /// Holds a frame that came at `came`, or refuses its requests if too much is held. Fails if the frame is damaged:
    /// once it is started, no caller is there to get the error.
    pub(super) fn hold(self: &Rc<Self>, frame: &Rc<Frame>, came: u64) -> Result<(), Damage> {
        let (common, bytes) = (&self.common, frame.bytes().len());
        let sessions = common.count();
        if self.ended.get() {
            return self.poll_all(frame, came, Step::End).1;
        }
        if !common.frames.has_room(self.held_frames.get(), 1, sessions)
            || !common.bytes.has_room(self.held_bytes.get(), bytes, sessions)
        {
            return self.poll_all(frame, came, Step::Refuse).1;
        }
        let end = self.poll_all(frame, came, Step::Check).1;
        frame.rewind();
        if self.held_frames.get() == 0 {
            common.queue(self);
        }
        self.count_held(bytes);
        self.held.borrow_mut().push_back((Rc::clone(frame), came));
        end
    }

    fn count_held(&self, bytes: usize) {
        self.common.frames.take(&self.held_frames, 1);
        self.common.bytes.take(&self.held_bytes, bytes);
    }

    /// Holds the rest of a frame, before all held frames, until the code that it needs is loaded. Fails if it is damaged.
    #[cold]
    fn hold_for(self: &Rc<Self>, module: Module, frame: &Rc<Frame>, came: u64) -> Result<(), Damage> {
        let at = frame.at();
        let end = self.poll_all(frame, came, Step::Check).1;
        frame.go_to(at);
        self.count_held(frame.bytes().len());
        self.held.borrow_mut().push_front((Rc::clone(frame), came));
        self.common.leave_line(self);
        let shared = Rc::clone(self);
        self.env.spawn(Box::pin(async move {
            let asked = shared.env.ticks_us();
            let failed = shared.env.load(module).await.err();
            if failed.is_some() && module == Module::Loads {
                // A server that hangs must not hold the session again and again.
                let now = shared.env.ticks_us();
                shared.without_loads.set(now + PATIENCE * (now - asked));
            }
            *shared.missing.borrow_mut() = failed.map(|error| (module, error));
            shared.loading.set(None);
            if shared.held_frames.get() > 0 {
                shared.common.queue(&shared);
            }
            shared.common.start_next(&shared);
            shared.missing.take();
        }));
        end
    }

    /// Takes the oldest held frame.
    fn release(&self) -> Option<(Rc<Frame>, u64)> {
        let (frame, came) = self.held.borrow_mut().pop_front()?;
        self.common.frames.give_back(&self.held_frames, 1);
        self.common.bytes.give_back(&self.held_bytes, frame.bytes().len());
        self.released.set(self.released.get() + 1);
        Some((frame, came))
    }

    /// Refuses all requests from now on, held ones included.
    pub(super) fn end(self: &Rc<Self>) {
        if self.ended.replace(true) {
            return;
        }
        self.common.leave_line(self);
        while let Some((frame, came)) = self.release() {
            let _ = self.poll_all(&frame, came, Step::End);
        }
        self.settle();
    }

    /// Starts the requests of a frame that came at `came`. Fails if the frame is damaged.
    pub(super) fn start_all(self: &Rc<Self>, frame: &Rc<Frame>, came: u64) -> Result<(), Damage> {
        let (pending, mut end) = self.poll_all(frame, came, Step::Start);
        if let Some(module) = self.loading.get() {
            end = self.hold_for(module, frame, came);
        }
        if !pending.is_empty() {
            let bytes = REQUEST_BYTES + TIMES_BYTES * frame.bytes().len() / pending.len();
            self.common.started.take(&self.started, bytes * pending.len());
            for request in pending {
                let shared = Rc::clone(self);
                self.env.spawn(Box::pin(async move {
                    request.await;
                    shared.landed(bytes);
                }));
            }
        }
        end
    }

    /// A request is answered.
    pub(super) fn landed(self: &Rc<Self>, bytes: usize) {
        self.common.started.give_back(&self.started, bytes);
        self.settle();
        self.common.start_next(self);
    }

    /// Polls each request once. Returns the unfinished ones, and the damage that ended the frame early.
    fn poll_all(
        self: &Rc<Self>,
        frame: &Rc<Frame>,
        started: u64,
        step: Step,
    ) -> (Vec<LocalFuture<()>>, Result<(), Damage>) {
        let mut pending = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let at = frame.at();
            let head = match frame.next_request() {
                Ok(Some(head)) => head,
                Ok(None) => return (pending, Ok(())),
                Err(damage) => return (pending, Err(damage)),
            };
            let job = Job { shared: Rc::clone(self), frame: Rc::clone(frame), head, started, step };
            let Some(mut future) = job.start() else {
                return (pending, Err(Damage { what: "a request has an unknown operation", at: frame.at() }));
            };
            // The first poll reads the request. Only then is the start of the next one known.
            if future.as_mut().poll(&mut context).is_pending() {
                pending.push(future);
            }
            if step == Step::Start && self.loading.get().is_some() {
                frame.go_to(at);
                return (pending, Ok(()));
            }
        }
    }
}

impl Member for Shared {
    fn started_bytes(&self) -> usize {
        self.started.get()
    }

    fn can_start(&self) -> bool {
        self.held_frames.get() > 0 && self.loading.get().is_none() && self.has_room()
    }

    fn start_first(self: &Rc<Self>) -> bool {
        if let Some((frame, came)) = self.release() {
            // Damage was reported when the frame came.
            let _ = self.start_all(&frame, came);
            if self.loading.get().is_some() {
                // The rest of it is held again.
                self.released.set(self.released.get() - 1);
            }
            self.wake();
        }
        self.held_frames.get() > 0 && self.loading.get().is_none()
    }
}
