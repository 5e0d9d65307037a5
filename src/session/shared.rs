//! What the requests of a session share: its client, its outbox, and the state of its frames.

use super::codec::{Dictionary, Frame, PageWriter, ResponseWriter};
use super::common::Common;
use crate::env::Env;
use crate::error::{Code, Error};
use crate::modules::Module;
use crate::tablestore::{Instance, Loader};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Page writers that are kept for the next reads.
const SPARE_PAGES: usize = 4;
/// A larger buffer is freed after use.
pub(super) const SPARE_BYTES: usize = 64 << 10;

/// A session, as its requests see it.
pub(super) struct Shared {
    pub(super) common: Rc<Common<Self>>,
    pub(super) instance: Rc<Instance>,
    pub(super) env: Rc<dyn Env>,
    pub(super) client: u64,
    deliver: Box<dyn Fn(Vec<u8>)>,
    pub(super) outbox: RefCell<ResponseWriter>,
    /// Whether the running `submit` or a task will take the outbox.
    pub(super) collecting: Cell<bool>,
    pages: RefCell<Vec<PageWriter>>,
    pub(super) dictionary: RefCell<Dictionary>,
    /// The buffer of the last frame that was answered at once, for the next one.
    pub(super) spare: Cell<Vec<u8>>,
    /// Loaders by number, with rows that the client has put and not yet asked to store.
    loaders: RefCell<Vec<(u64, Rc<Loader>)>>,
    /// The memory, about, of its started and unanswered requests.
    pub(super) started: Cell<usize>,
    /// Frames that were not started, with their time of arrival.
    pub(super) held: RefCell<VecDeque<(Rc<Frame>, u64)>>,
    /// The number of held frames, and their bytes.
    pub(super) held_frames: Cell<usize>,
    pub(super) held_bytes: Cell<usize>,
    /// The number of frames that were held and are started now, or refused.
    pub(super) released: Cell<u64>,
    pub(super) ended: Cell<bool>,
    /// The module that held frames wait for, while it is being loaded. The session is not in the line of those that hold frames.
    pub(super) loading: Cell<Option<Module>>,
    /// The module that could not be loaded, and why, while the requests that need it are refused or do without it.
    pub(super) missing: RefCell<Option<(Module, Error)>>,
    /// Until this time (us) rows by the thousand do without [`Module::Loads`]: it could not be loaded.
    pub(super) without_loads: Cell<u64>,
    /// Waiters for the start of some held frames, or for the end of the session.
    waiting: RefCell<Vec<Waker>>,
}

/// The answer of a session that has ended.
pub(super) fn ended() -> Error {
    Error::new(Code::Closed, "the session is closed")
}

impl Shared {
    pub(super) fn new(common: Rc<Common<Self>>, client: u64, deliver: Box<dyn Fn(Vec<u8>)>) -> Rc<Self> {
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

    pub(super) fn wait_until(
        self: &Rc<Self>,
        done: impl Fn(&Self) -> bool + 'static,
    ) -> impl Future<Output = ()> + 'static {
        let shared = Rc::clone(self);
        poll_fn(move |context| {
            if done(&shared) {
                return Poll::Ready(());
            }
            shared.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
    }

    pub(super) fn wake(&self) {
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Whether the session has ended and no request is in progress.
    pub(super) fn is_done(&self) -> bool {
        self.ended.get() && self.started.get() == 0
    }

    /// Drops the session's loads and transactions once it is done.
    pub(super) fn settle(self: &Rc<Self>) {
        if self.is_done() && self.common.forget(self) {
            self.loaders.take();
            self.instance.end_transactions_of(self.client);
        }
        if self.ended.get() {
            self.wake();
        }
    }

    /// Puts a response into the outbox, and makes sure that it is taken.
    pub(super) fn respond(self: &Rc<Self>, write: impl FnOnce(&mut ResponseWriter)) {
        write(&mut self.outbox.borrow_mut());
        if !self.collecting.get() {
            self.collect();
        }
    }

    /// Delivers the outbox after all tasks that are ready now have run.
    pub(super) fn collect(self: &Rc<Self>) {
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
    pub(super) fn leave(&self) {
        self.common.activity.borrow_mut().left(self.env.ticks_us(), self.instance.units_used());
    }

    /// The client's loader with this number.
    pub(super) fn loader(&self, number: u64) -> Rc<Loader> {
        let mut loaders = self.loaders.borrow_mut();
        loaders.retain(|(_, loader)| !loader.is_empty());
        if let Some((_, loader)) = loaders.iter().find(|(known, _)| *known == number) {
            return Rc::clone(loader);
        }
        let loader = Rc::<Loader>::default();
        loaders.push((number, Rc::clone(&loader)));
        loader
    }

    pub(super) fn page(&self) -> PageWriter {
        self.pages.borrow_mut().pop().unwrap_or_default()
    }

    pub(super) fn spare(&self, mut page: PageWriter) {
        page.clear();
        let mut pages = self.pages.borrow_mut();
        // One page with large buffers is enough. The others are for reads at the same time.
        if pages.is_empty() || (pages.len() < SPARE_PAGES && page.kept() <= SPARE_BYTES) {
            pages.push(page);
        }
    }
}
