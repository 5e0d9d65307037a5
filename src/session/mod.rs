//! Sessions: one client's requests in, its responses out.
//!
//! A session knows bytes and who is calling, and leaves all meaning to [`tablestore`](crate::tablestore). Each request
//! becomes a future that is polled once, immediately, in the order of the frame: that fixes the order in which requests
//! on one row take effect. What is ready then (reads from memory, refusals) is answered by [`Session::submit`] itself;
//! the rest goes on in the background, and its responses leave together, once for each time that something finished.
//!
//! A request on its way takes many times the memory of its bytes. So when those that were started take too much, the frames
//! that come are held as they are, and started in their order as others end. How many are held is bounded too; the requests
//! of further ones are refused, to be tried again.

mod activity;
pub mod codec;

use crate::engine::Origin;
use crate::env::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::model::limits;
use crate::storage::Storage;
use crate::tablestore::{Instance, Loader};
use activity::Activity;
pub use activity::{ActivityReport, OperationActivity};
use codec::contract::{self, op};
use codec::fields::{Field, List, Row, Text, Unsigned};
use codec::values::{PutRows, StartLocalTransaction};
use codec::{Damage, Dictionary, Frame, PageWriter, RequestHead, ResponseWriter};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Page writers that are kept for the next reads.
const SPARE_PAGES: usize = 4;
/// A buffer larger than this is let go after use.
const SPARE_BYTES: usize = 64 << 10;

/// Requests are started until they take this, bytes, about, however small a memtable is.
const LEAST_STARTED: usize = 4 << 20;
/// What one takes beside what it brings, about, and how many times that.
const REQUEST_BYTES: usize = 512;
const TIMES_BYTES: usize = 4;

/// One client of an instance.
pub struct Session<S: Storage>(Rc<Shared<S>>);

struct Shared<S: Storage> {
    instance: Rc<Instance<S>>,
    env: Rc<dyn Env>,
    client: u64,
    deliver: Box<dyn Fn(Vec<u8>)>,
    outbox: RefCell<ResponseWriter>,
    /// Whether somebody will take what is in the outbox: the running `submit`, or a task.
    collecting: Cell<bool>,
    pages: RefCell<Vec<PageWriter>>,
    dictionary: RefCell<Dictionary>,
    /// The bytes of the last frame that was done at once, for the next one.
    spare: Cell<Vec<u8>>,
    activity: RefCell<Activity>,
    /// By number: rows that the client has put and not asked for.
    loaders: RefCell<Vec<(u64, Rc<Loader<S>>)>>,
    /// What requests that were started and not answered may take, about: as much as a memtable, or
    /// [`LEAST_STARTED`]. More are held as they came.
    most_started: usize,
    /// What they take.
    started_bytes: Cell<usize>,
    /// Frames that were not started, with the time at which they came.
    held: RefCell<VecDeque<(Rc<Frame>, u64)>>,
    /// Their bytes.
    held_bytes: Cell<usize>,
    /// Those who wait for none to be held.
    waiting: RefCell<Vec<Waker>>,
}

impl<S: Storage> Session<S> {
    /// A session of the client with that number. `deliver` gets the frames of responses that are not ready at once.
    pub fn new(instance: Rc<Instance<S>>, env: Rc<dyn Env>, client: u64, deliver: impl Fn(Vec<u8>) + 'static) -> Self {
        let activity = RefCell::new(Activity::new(env.ticks_us(), instance.units_used()));
        Self(Rc::new(Shared {
            activity,
            most_started: instance.memtable_bytes().max(LEAST_STARTED),
            instance,
            env,
            client,
            deliver: Box::new(deliver),
            outbox: RefCell::default(),
            collecting: Cell::new(false),
            pages: RefCell::default(),
            dictionary: RefCell::default(),
            spare: Cell::default(),
            loaders: RefCell::default(),
            started_bytes: Cell::new(0),
            held: RefCell::default(),
            held_bytes: Cell::new(0),
            waiting: RefCell::default(),
        }))
    }

    /// What the session does (I5).
    pub fn activity(&self) -> ActivityReport {
        self.0.activity.borrow().report(self.0.env.ticks_us())
    }

    /// Starts all requests of a frame; gives the frame of those responses that are ready at once, if there are any.
    ///
    /// # Errors
    /// `OTSParameterInvalid` when the bytes are no frame, told at once even if the frame has to wait. Requests before the
    /// damage are done and answered, those after it are not started and get no answer.
    pub fn submit(&self, frame: Vec<u8>) -> Result<Option<Vec<u8>>> {
        let shared = &self.0;
        let (rules, mut before) = (shared.instance.limits().names, shared.dictionary.borrow_mut());
        let frame = Rc::new(Frame::parse_like(frame, rules, &mut before)?);
        drop(before);
        let now = shared.env.ticks_us();
        let waits = shared.started_bytes.get() >= shared.most_started || !shared.held.borrow().is_empty();
        let announced = shared.collecting.replace(true);
        let end = if waits { shared.hold(&frame, now) } else { shared.start_all(&frame, now) };
        shared.collecting.set(announced);
        if let Err(damage) = end {
            shared.collect();
            return Err(Error::from(damage));
        }
        if let Ok(frame) = Rc::try_unwrap(frame) {
            shared.spare.set(frame.into_bytes());
        }
        // This takes what a task was to deliver too; the task will find nothing.
        let ready = shared.outbox.borrow_mut().take();
        if ready.is_empty() {
            return Ok(None);
        }
        shared.leave();
        Ok(Some(ready))
    }
}

impl<S: Storage> Session<S> {
    /// Starts every request that came so far, whatever it takes.
    pub fn start_held(&self) {
        self.0.start_held(usize::MAX);
    }

    /// Waits until every request that came so far was started.
    pub async fn started(&self) {
        poll_fn(|context| {
            if self.0.held.borrow().is_empty() {
                return Poll::Ready(());
            }
            self.0.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// A buffer for a frame of so many bytes.
    pub fn buffer(&self, bytes: usize) -> Vec<u8> {
        let mut buffer = self.0.spare.take();
        if buffer.capacity() > SPARE_BYTES {
            buffer = Vec::new();
        }
        buffer.resize(bytes, 0);
        buffer
    }

    /// Takes a frame of responses back whose reader is done with it: the next one will be written there.
    pub fn reuse(&self, frame: Vec<u8>) {
        if (1..=SPARE_BYTES).contains(&frame.capacity()) {
            self.0.outbox.borrow_mut().reuse(frame);
        }
    }
}

impl<S: Storage> Shared<S> {
    /// Starts frames that are held, until those that were started take `most`.
    fn start_held(self: &Rc<Self>, most: usize) {
        while self.started_bytes.get() < most {
            let Some((frame, came)) = self.held.borrow_mut().pop_front() else { break };
            self.held_bytes.set(self.held_bytes.get().saturating_sub(frame.bytes().len()));
            // Damage was told when the frame came.
            let _ = self.start_all(&frame, came);
        }
        if self.held.borrow().is_empty() {
            self.waiting.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Holds a frame that came at `came`, or refuses its requests if too much is held. Fails where the frame is damaged: once
    /// it is started, nobody is there to be told.
    fn hold(self: &Rc<Self>, frame: &Rc<Frame>, came: u64) -> Result<(), Damage> {
        let bytes = self.held_bytes.get().saturating_add(frame.bytes().len());
        let most = limits::HELD_MEMTABLES.saturating_mul(self.most_started);
        if self.held.borrow().len() >= limits::HELD_FRAMES || bytes > most {
            return self.poll_all(frame, came, Step::Refuse).1;
        }
        let end = self.poll_all(frame, came, Step::Check).1;
        frame.rewind();
        self.held_bytes.set(bytes);
        self.held.borrow_mut().push_back((Rc::clone(frame), came));
        end
    }

    /// Starts the requests of a frame that came at `came`. Fails where the frame is damaged.
    fn start_all(self: &Rc<Self>, frame: &Rc<Frame>, came: u64) -> Result<(), Damage> {
        let (pending, end) = self.poll_all(frame, came, Step::Start);
        if !pending.is_empty() {
            let bytes = REQUEST_BYTES + TIMES_BYTES * frame.bytes().len() / pending.len();
            self.started_bytes.set(self.started_bytes.get() + bytes * pending.len());
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
        let left = self.started_bytes.get().saturating_sub(bytes);
        self.started_bytes.set(left);
        // Not one by one: those that are started together are stored together.
        if left <= self.most_started / 2 && !self.held.borrow().is_empty() {
            self.start_held(self.most_started);
        }
    }

    /// Polls each request once. Gives those that are not done, and the damage that ended the frame early.
    fn poll_all(
        self: &Rc<Self>,
        frame: &Rc<Frame>,
        started: u64,
        step: Step,
    ) -> (Vec<LocalFuture<()>>, Result<(), Damage>) {
        let mut pending = Vec::new();
        let mut context = Context::from_waker(Waker::noop());
        loop {
            let head = match frame.next_request() {
                Ok(Some(head)) => head,
                Ok(None) => return (pending, Ok(())),
                Err(damage) => return (pending, Err(damage)),
            };
            let job = Job { shared: Rc::clone(self), frame: Rc::clone(frame), head, started, step };
            let mut future: LocalFuture<()> = match head.op {
                op::PUT_ROW | op::UPDATE_ROW | op::DELETE_ROW => Box::pin(job.row_write()),
                op::GET_ROW => Box::pin(job.get_row()),
                op::BATCH_GET_ROW => Box::pin(job.batch_get()),
                op::GET_RANGE => Box::pin(job.get_range()),
                op::BATCH_WRITE_ROW | op::BATCH_WRITE_ROW_ATOMIC => Box::pin(job.batch_write()),
                op::PUT_ROWS => Box::pin(job.put_rows()),
                op::STORE_ROWS => Box::pin(job.store_rows()),
                op::START_LOCAL_TRANSACTION..=op::ABORT_TRANSACTION => Box::pin(job.transact()),
                _ => return (pending, Err(Damage { what: "a request has an unknown operation", at: frame.at() })),
            };
            // The first poll reads the request: only then it is known where the next begins.
            if future.as_mut().poll(&mut context).is_pending() {
                pending.push(future);
            }
        }
    }

    /// Puts a response into the outbox, and sees to it that somebody takes it.
    fn respond(self: &Rc<Self>, write: impl FnOnce(&mut ResponseWriter)) {
        write(&mut self.outbox.borrow_mut());
        if !self.collecting.get() {
            self.collect();
        }
    }

    /// Delivers the outbox after everything that is ready to run now has run.
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
        }));
    }

    /// Responses leave.
    fn leave(&self) {
        self.activity.borrow_mut().left(self.env.ticks_us(), self.instance.units_used());
    }

    /// The client's loader of that number.
    fn loader(&self, number: u64) -> Rc<Loader<S>> {
        let mut loaders = self.loaders.borrow_mut();
        loaders.retain(|(_, loader)| !loader.is_empty());
        if let Some((_, loader)) = loaders.iter().find(|(known, _)| *known == number) {
            return Rc::clone(loader);
        }
        let loader = Rc::<Loader<S>>::default();
        loaders.push((number, Rc::clone(&loader)));
        loader
    }

    fn page(&self) -> PageWriter {
        self.pages.borrow_mut().pop().unwrap_or_default()
    }

    fn spare(&self, mut page: PageWriter) {
        let mut pages = self.pages.borrow_mut();
        if pages.len() < SPARE_PAGES {
            page.clear();
            pages.push(page);
        }
    }
}

/// What is done with requests once they are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Start,
    /// Nothing: they are only to be found whole.
    Check,
    Refuse,
}

/// One request on its way.
struct Job<S: Storage> {
    shared: Rc<Shared<S>>,
    frame: Rc<Frame>,
    head: RequestHead,
    /// When its frame came.
    started: u64,
    step: Step,
}

impl<S: Storage> Job<S> {
    /// Reads the request. `None` when there is nothing to do: it was refused, or the frame is damaged.
    fn read<F: Field>(&self) -> Option<F::Value<'_>> {
        let request = self.frame.payload::<F>(&self.head)?;
        if self.step != Step::Start {
            self.pass();
            return None;
        }
        request.map_err(|refusal| self.refuse(&refusal)).ok()
    }

    /// Goes past a request that is not started now.
    #[cold]
    fn pass(&self) {
        if self.step == Step::Refuse {
            let hint = "Too many requests wait to be started. Wait for answers before you send more.";
            self.refuse(&Error::new(Code::ServerBusy, "Server is busy.").with_hint(hint));
        }
    }

    fn refuse(&self, error: &Error) {
        self.shared.activity.borrow_mut().answered(self.head.op, self.started, true);
        self.shared.respond(|outbox| outbox.error(self.head.id, error));
    }

    fn answer(&self, write: impl FnOnce(&mut ResponseWriter)) {
        self.answer_after(false, write);
    }

    /// The same, of a request that counts as failed or not (I5).
    fn answer_after(&self, failed: bool, write: impl FnOnce(&mut ResponseWriter)) {
        self.shared.activity.borrow_mut().answered(self.head.op, self.started, failed);
        self.shared.respond(write);
    }

    /// The id of the transaction that the request is part of.
    fn transaction(&self) -> Option<&str> {
        self.frame.transaction(&self.head)
    }

    fn origin(&self) -> Option<Origin> {
        Some(Origin { client: self.shared.client, request: self.head.id })
    }

    async fn row_write(self) {
        let Some(write) = self.read::<contract::RowWrite>() else { return };
        match self.shared.instance.write_row_in(self.transaction(), &write, self.origin()).await {
            Ok(written) => self.answer(|outbox| outbox.written(self.head.id, &written)),
            Err(failure) => self.refuse(&failure.error),
        }
    }

    async fn batch_write(self) {
        let Some(writes) = self.read::<List<Row>>() else { return };
        let (instance, origin) = (&self.shared.instance, self.origin());
        let done = match self.head.op {
            op::BATCH_WRITE_ROW => instance.batch_write_rows(self.transaction(), writes, origin).await,
            _ => instance.batch_write_row_atomic(&writes, origin).await,
        };
        match done {
            Ok(rows) => self.answer(|outbox| outbox.batch_written(self.head.id, &rows)),
            Err(failure) => self.refuse(&failure.error),
        }
    }

    async fn put_rows(self) {
        let Some(PutRows { loader, rows }) = self.read::<contract::PutRows>() else { return };
        let loader = self.shared.loader(loader);
        let rows = self.shared.instance.put_rows(&loader, rows, self.origin()).await;
        self.answer(|outbox| outbox.rows_put(self.head.id, &rows));
    }

    async fn store_rows(self) {
        let Some(loader) = self.read::<Unsigned>() else { return };
        let stored = self.shared.instance.store_rows(&self.shared.loader(loader)).await;
        self.answer_after(!stored.failed.is_empty(), |outbox| outbox.rows_stored(self.head.id, &stored));
    }

    async fn get_row(self) {
        let Some(request) = self.read::<contract::GetRow>() else { return };
        let mut page = self.shared.page();
        match self.shared.instance.get_row_in(self.transaction(), &request, &mut page).await {
            Ok(found) => self.answer(|outbox| outbox.found(self.head.id, found, &page)),
            Err(failure) => self.refuse(&failure.error),
        }
        self.shared.spare(page);
    }

    async fn batch_get(self) {
        let Some(tables) = self.read::<List<contract::TableRead>>() else { return };
        let mut pages = tables.iter().map(|_| self.shared.page()).collect::<Vec<_>>();
        match self.shared.instance.batch_get_row(&tables, &mut pages).await {
            Ok(results) => self.answer(|outbox| outbox.batch_found(self.head.id, &results, &pages)),
            Err(failure) => self.refuse(&failure.error),
        }
        pages.into_iter().for_each(|page| self.shared.spare(page));
    }

    async fn get_range(self) {
        let Some(request) = self.read::<contract::GetRange>() else { return };
        let mut page = self.shared.page();
        match self.shared.instance.get_range_in(self.transaction(), &request, &mut page).await {
            Ok(range) => self.answer(|outbox| outbox.range(self.head.id, &range, &page)),
            Err(failure) => self.refuse(&failure.error),
        }
        self.shared.spare(page);
    }

    /// Starts, commits or aborts a transaction.
    async fn transact(self) {
        let instance = &self.shared.instance;
        let done = if self.head.op == op::START_LOCAL_TRANSACTION {
            let Some(StartLocalTransaction { table, key }) = self.read::<contract::StartLocalTransaction>() else {
                return;
            };
            instance.start_local_transaction(table, &key).map(|started| (started.consumed, Some(started.id)))
        } else {
            let Some(id) = self.read::<Text>() else { return };
            let ended = match self.head.op {
                op::COMMIT_TRANSACTION => instance.commit_transaction(id, self.origin()).await,
                _ => instance.abort_transaction(id),
            };
            ended.map(|consumed| (consumed, None))
        };
        match done {
            Ok((consumed, id)) => self.answer(|out| out.transacted(self.head.id, consumed, id.as_deref())),
            Err(failure) => self.refuse(&failure.error),
        }
    }
}
