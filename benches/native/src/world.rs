//! The world of a native engine: one thread, tasks in the order in which they become ready, and how long each ran at a time.

use crate::thread_time;
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tabstore::env::{Env, LocalFuture};
use tabstore::error::Result;
use tabstore::modules::Module;

/// A world. Clones are the same one.
#[derive(Clone)]
pub struct World(Rc<Inner>);

struct Inner {
    now: Cell<i64>,
    random: RefCell<crate::rows::Random>,
    next: Cell<u64>,
    tasks: RefCell<HashMap<u64, LocalFuture<()>>>,
    ready: Arc<Ready>,
    /// The CPU time of all spawned tasks, and the longest slice of one of them.
    background: Cell<Duration>,
    longest: Cell<Duration>,
}

#[derive(Default)]
struct Ready(Mutex<VecDeque<u64>>);

struct TaskWaker(u64, Arc<Ready>);

impl Ready {
    fn push(&self, task: u64) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !queue.contains(&task) {
            queue.push_back(task);
        }
    }

    fn take(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.1.push(self.0);
    }
}

/// The future that runs in the foreground counts as this task.
const MAIN: u64 = 0;

impl Default for World {
    fn default() -> Self {
        Self(Rc::new(Inner {
            now: Cell::new(1_700_000_000_000),
            random: RefCell::new(crate::rows::Random::new(1)),
            next: Cell::new(1),
            tasks: RefCell::default(),
            ready: Arc::default(),
            background: Cell::default(),
            longest: Cell::default(),
        }))
    }
}

impl World {
    fn waker(&self, task: u64) -> Waker {
        Waker::from(Arc::new(TaskWaker(task, Arc::clone(&self.0.ready))))
    }

    fn poll(&self, id: u64) {
        let Some(mut task) = self.0.tasks.borrow_mut().remove(&id) else { return };
        let waker = self.waker(id);
        let started = thread_time();
        let polled = task.as_mut().poll(&mut Context::from_waker(&waker));
        let took = thread_time() - started;
        self.0.background.set(self.0.background.get() + took);
        self.0.longest.set(self.0.longest.get().max(took));
        if polled.is_pending() {
            self.0.tasks.borrow_mut().insert(id, task);
        }
    }

    /// Runs `future` and all spawned tasks until `future` is done.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let waker = self.waker(MAIN);
        self.0.ready.push(MAIN);
        loop {
            match self.0.ready.take() {
                Some(MAIN) => {
                    if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                        return done;
                    }
                }
                Some(task) => self.poll(task),
                None => panic!("deadlock"),
            }
        }
    }

    /// Runs everything until nothing can go on: flush and compaction are done.
    pub fn settle(&self) {
        while let Some(task) = self.0.ready.take() {
            self.poll(task);
        }
    }

    /// The CPU time of spawned tasks since the last call, and the longest slice of one of them.
    pub fn take_background(&self) -> (Duration, Duration) {
        (self.0.background.take(), self.0.longest.take())
    }

    /// Moves the clock.
    pub fn advance(&self, ms: i64) {
        self.0.now.set(self.0.now.get() + ms);
    }
}

impl Env for World {
    fn now_ms(&self) -> i64 {
        self.0.now.get()
    }

    fn ticks_us(&self) -> u64 {
        thread_time().as_micros() as u64
    }

    fn fill_random(&self, out: &mut [u8]) {
        out.fill_with(|| self.0.random.borrow_mut().draw() as u8);
    }

    fn spawn(&self, task: LocalFuture<()>) {
        let id = self.0.next.replace(self.0.next.get() + 1);
        self.0.tasks.borrow_mut().insert(id, task);
        self.0.ready.push(id);
    }

    fn yield_now(&self) -> LocalFuture<()> {
        let mut yielded = false;
        Box::pin(std::future::poll_fn(move |context| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }))
    }

    fn has(&self, _: Module) -> bool {
        true
    }

    fn load(&self, _: Module) -> LocalFuture<Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Nothing is quiet here.
    fn sleep(&self, _: u32) -> LocalFuture<()> {
        Box::pin(std::future::pending())
    }
}
