//! Sessions: each takes the requests of one client and returns the responses.
//!
//! A session knows bytes and its client. [`tablestore`](crate::tablestore) interprets the requests. Each request
//! becomes a future that is polled once, immediately, in the order of the frame. That fixes the order in which requests
//! on one row take effect. [`Session::submit`] itself returns the responses that are ready then (reads from memory,
//! refusals). The rest runs in the background. Responses that become ready together leave in one frame.
//!
//! A request in progress takes many times the memory of its bytes. So when started requests take too much, new frames
//! are held as they are, and started in order as others end. The number of held frames is bounded too. Requests of
//! further frames are refused, to be tried again.
//!
//! A request may need code that is not loaded yet: a filter [`Module::Rules`], rows by the thousand [`Module::Loads`], transactions
//! and doors their own. Then the session holds it and all later ones, so that they take effect in order, and loads the code.
//!
//! An instance has any number of [`Sessions`]. They share these bounds, and each has its own share ([`budget`]).
//! Sessions that hold frames start them in turn.
//!
//! Ending a session does not end others. Its started requests are finished and answered; its held ones fail with
//! `Closed`. Then its open transactions are aborted, and loaded rows that it did not ask to store are dropped.

mod activity;
mod budget;
pub mod codec;
pub mod inspect;
mod job;
mod latencies;
mod sessions;

use crate::engine::Origin;
use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::modules::Module;
use crate::tablestore::{Instance, Loader};
pub use activity::{ActivityReport, OperationActivity};
use codec::{Damage, Dictionary, Frame, PageWriter, ResponseWriter};
use job::{Job, Step};
use sessions::Common;
pub use sessions::Sessions;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Page writers that are kept for the next reads.
const SPARE_PAGES: usize = 4;
/// A larger buffer is freed after use.
const SPARE_BYTES: usize = 64 << 10;

/// The memory of a started request, about: this much, and this many times its bytes.
const REQUEST_BYTES: usize = 512;
const TIMES_BYTES: usize = 4;

/// Rows by the thousand do without their module so many times as long as they waited for it in vain.
const PATIENCE: u64 = 10;

/// One client of an instance.
pub struct Session(Rc<Shared>);

struct Shared {
    common: Rc<Common>,
    instance: Rc<Instance>,
    env: Rc<dyn Env>,
    client: u64,
    deliver: Box<dyn Fn(Vec<u8>)>,
    outbox: RefCell<ResponseWriter>,
    /// Whether the running `submit` or a task will take the outbox.
    collecting: Cell<bool>,
    pages: RefCell<Vec<PageWriter>>,
    dictionary: RefCell<Dictionary>,
    /// The buffer of the last frame that was answered at once, for the next one.
    spare: Cell<Vec<u8>>,
    /// Loaders by number, with rows that the client has put and not yet asked to store.
    loaders: RefCell<Vec<(u64, Rc<Loader>)>>,
    /// The memory, about, of its started and unanswered requests.
    started: Cell<usize>,
    /// Frames that were not started, with their time of arrival.
    held: RefCell<VecDeque<(Rc<Frame>, u64)>>,
    /// The number of held frames, and their bytes.
    held_frames: Cell<usize>,
    held_bytes: Cell<usize>,
    /// The number of frames that were held and are started now, or refused.
    released: Cell<u64>,
    ended: Cell<bool>,
    /// The module that held frames wait for, while it is being loaded. The session is not in the line of those that hold frames.
    loading: Cell<Option<Module>>,
    /// The module that could not be loaded, and why, while the requests that need it are refused or do without it.
    missing: RefCell<Option<(Module, Error)>>,
    /// Until this time (us) rows by the thousand do without [`Module::Loads`]: it could not be loaded.
    without_loads: Cell<u64>,
    /// Waiters for the start of some held frames, or for the end of the session.
    waiting: RefCell<Vec<Waker>>,
}

impl Session {
    /// Starts all requests of a frame. Returns the frame of those responses that are ready at once, if there are any.
    ///
    /// # Errors
    /// `OTSParameterInvalid` when the bytes are no frame, at once even if the frame has to wait. Requests before the
    /// damage are done and answered. Those after it are not started and get no answer.
    pub fn submit(&self, frame: Vec<u8>) -> Result<Option<Vec<u8>>> {
        self.submit_at(frame, self.0.env.ticks_us())
    }

    /// The same for a frame that came at `now`, in microseconds of [`Env::ticks_us`]: the caller may have read the clock already.
    ///
    /// # Errors
    /// As [`Session::submit`].
    pub fn submit_at(&self, frame: Vec<u8>, now: u64) -> Result<Option<Vec<u8>>> {
        let shared = &self.0;
        let (rules, mut before) = (shared.instance.limits().names, shared.dictionary.borrow_mut());
        let frame = Rc::new(Frame::parse_like(frame, rules, &mut before)?);
        drop(before);
        let waits = shared.has_to_wait();
        let announced = shared.collecting.replace(true);
        let end = if waits { shared.hold(&frame, now) } else { shared.start_all(&frame, now) };
        shared.collecting.set(announced);
        if let Err(damage) = end {
            shared.collect();
            return Err(Error::from(damage));
        }
        if let Ok(frame) = Rc::try_unwrap(frame) {
            let bytes = frame.into_bytes();
            if bytes.capacity() <= SPARE_BYTES {
                shared.spare.set(bytes);
            }
        }
        // This takes the responses of a waiting task too. The task will find nothing.
        let ready = shared.outbox.borrow_mut().take();
        if ready.is_empty() {
            return Ok(None);
        }
        shared.leave();
        Ok(Some(ready))
    }
}

impl Session {
    /// Resolves when every request that arrived before this call is started. Later ones do not prolong that.
    ///
    /// # Errors
    /// `Closed` when the session has ended.
    pub fn started(&self) -> impl Future<Output = Result<()>> + 'static {
        let shared = Rc::clone(&self.0);
        let earlier = shared.released.get() + shared.held_frames.get() as u64;
        async move {
            shared.wait_until(move |shared| shared.released.get() >= earlier).await;
            if shared.ended.get() { Err(ended()) } else { Ok(()) }
        }
    }

    /// Ends the session. Resolves when every request is answered and the instance holds nothing of the session any more.
    pub fn close(&self) -> impl Future<Output = ()> + 'static {
        self.0.end();
        self.0.wait_until(|shared| shared.is_done() && !shared.collecting.get())
    }

    /// A buffer for a frame of this many bytes.
    pub fn buffer(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.0.spare.take();
        if buffer.capacity() > SPARE_BYTES {
            buffer = Vec::new();
        }
        buffer.resize(bytes, 0);
        buffer
    }

    /// Takes back a frame of responses that has been read. The next one is written there.
    pub fn reuse(&self, frame: Vec<u8>) {
        if (1..=SPARE_BYTES).contains(&frame.capacity()) {
            self.0.outbox.borrow_mut().reuse(frame);
        }
    }
}

/// A call of a client that comes by no frame, and changes something: while it is there, its session is not done.
pub struct OtherCall(Rc<Shared>);

impl OtherCall {
    /// Where it comes from.
    pub fn origin(&self, request: u64) -> Origin {
        Origin { client: self.0.client, request }
    }
}

impl Drop for OtherCall {
    fn drop(&mut self) {
        self.0.landed(REQUEST_BYTES);
    }
}

impl Session {
    /// Begins such a call.
    pub fn other_call(&self) -> OtherCall {
        self.0.common.started.take(&self.0.started, REQUEST_BYTES);
        OtherCall(Rc::clone(&self.0))
    }
}

/// A dropped session has ended.
impl Drop for Session {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The answer of a session that has ended.
fn ended() -> Error {
    Error::new(Code::Closed, "the session is closed")
}

impl Shared {
    fn new(common: Rc<Common>, client: u64, deliver: Box<dyn Fn(Vec<u8>)>) -> Rc<Self> {
        Rc::new(Self {
            instance: Rc::clone(&common.instance),
            env: Rc::clone(&common.env),
            common,
            client,
            deliver,
            outbox: RefCell::default(),
            collecting: Cell::new(false),
            pages: RefCell::default(),
            dictionary: RefCell::default(),
            spare: Cell::default(),
            loaders: RefCell::default(),
            started: Cell::new(0),
            held: RefCell::default(),
            held_frames: Cell::new(0),
            held_bytes: Cell::new(0),
            released: Cell::new(0),
            ended: Cell::new(false),
            loading: Cell::new(None),
            missing: RefCell::default(),
            without_loads: Cell::new(0),
            waiting: RefCell::default(),
        })
    }

    fn wait_until(self: &Rc<Self>, done: impl Fn(&Self) -> bool + 'static) -> impl Future<Output = ()> + 'static {
        let shared = Rc::clone(self);
        poll_fn(move |context| {
            if done(&shared) {
                return Poll::Ready(());
            }
            shared.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
    }

    fn wake(&self) {
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Whether a frame that comes now is held.
    fn has_to_wait(&self) -> bool {
        self.held_frames.get() > 0 || !self.has_room() || self.ended.get()
    }

    fn has_room(&self) -> bool {
        self.common.started.has_room(self.started.get(), 1, self.common.count())
    }

    /// Holds a frame that came at `came`, or refuses its requests if too much is held. Fails if the frame is damaged:
    /// once it is started, no caller is there to get the error.
    fn hold(self: &Rc<Self>, frame: &Rc<Frame>, came: u64) -> Result<(), Damage> {
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

    /// Starts the oldest held frame. Returns whether others are held.
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

    /// Refuses all requests from now on, held ones included.
    fn end(self: &Rc<Self>) {
        if self.ended.replace(true) {
            return;
        }
        self.common.leave_line(self);
        while let Some((frame, came)) = self.release() {
            let _ = self.poll_all(&frame, came, Step::End);
        }
        self.settle();
    }

    /// Whether the session has ended and no request is in progress.
    fn is_done(&self) -> bool {
        self.ended.get() && self.started.get() == 0
    }

    /// Drops the session's loads and transactions once it is done.
    fn settle(self: &Rc<Self>) {
        if self.is_done() && self.common.forget(self) {
            self.loaders.take();
            self.instance.end_transactions_of(self.client);
        }
        if self.ended.get() {
            self.wake();
        }
    }

    /// Starts the requests of a frame that came at `came`. Fails if the frame is damaged.
    fn start_all(self: &Rc<Self>, frame: &Rc<Frame>, came: u64) -> Result<(), Damage> {
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
    fn landed(self: &Rc<Self>, bytes: usize) {
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

    /// Puts a response into the outbox, and makes sure that it is taken.
    fn respond(self: &Rc<Self>, write: impl FnOnce(&mut ResponseWriter)) {
        write(&mut self.outbox.borrow_mut());
        if !self.collecting.get() {
            self.collect();
        }
    }

    /// Delivers the outbox after all tasks that are ready now have run.
    fn collect(self: &Rc<Self>) {
        if self.collecting.replace(true) {
            return;
        }
        let shared = Rc::clone(self);
        self.env.spawn(Box::pin(async move {
            shared.collecting.set(false);
            let frame = shared.outbox.borrow_mut().take();
            if !frame.is_empty() {
                shared.leave();
                (shared.deliver)(frame);
            }
            shared.settle();
        }));
    }

    /// Responses leave.
    fn leave(&self) {
        self.common.activity.borrow_mut().left(self.env.ticks_us(), self.instance.units_used());
    }

    /// The client's loader with this number.
    fn loader(&self, number: u64) -> Rc<Loader> {
        let mut loaders = self.loaders.borrow_mut();
        loaders.retain(|(_, loader)| !loader.is_empty());
        if let Some((_, loader)) = loaders.iter().find(|(known, _)| *known == number) {
            return Rc::clone(loader);
        }
        let loader = Rc::<Loader>::default();
        loaders.push((number, Rc::clone(&loader)));
        loader
    }

    fn page(&self) -> PageWriter {
        self.pages.borrow_mut().pop().unwrap_or_default()
    }

    fn spare(&self, mut page: PageWriter) {
        page.clear();
        let mut pages = self.pages.borrow_mut();
        // One page with large buffers is enough. The others are for reads at the same time.
        if pages.is_empty() || (pages.len() < SPARE_PAGES && page.kept() <= SPARE_BYTES) {
            pages.push(page);
        }
    }
}
