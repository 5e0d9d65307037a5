//! A simulated world for tests. Its clock moves and its tasks run only on command, in an order that a seed fixes.

use super::{Env, LocalFuture};
use crate::error::{Code, Error, Result};
use crate::modules::Module;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// What part of what tests do at random is done: one of so many, by `TABSTORE_SHARE`.
pub fn share() -> u64 {
    std::env::var("TABSTORE_SHARE").ok().and_then(|share| share.parse().ok()).unwrap_or(1)
}

/// A simulated world. Clones are the same world.
#[derive(Clone)]
pub struct SimEnv(Rc<World>);

struct World {
    now: Cell<i64>,
    ticks: Cell<u64>,
    /// The time that passes from one reading of the ticks to the next.
    took: Cell<u64>,
    random: Cell<u64>,
    shuffle: bool,
    next_task: Cell<u64>,
    tasks: RefCell<FxHashMap<u64, LocalFuture<()>>>,
    /// Sleeping tasks, and the tick at which each wakes.
    sleeping: RefCell<Vec<(u64, Waker)>>,
    ready: Arc<Ready>,
    /// The modules of the code that are not there, and whether they can be loaded.
    missing: RefCell<Vec<Module>>,
    offline: Cell<bool>,
    hangs: Cell<u32>,
}

/// The tasks that can continue.
#[derive(Default)]
struct Ready(Mutex<VecDeque<u64>>);

impl Ready {
    fn push(&self, task: u64) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !queue.contains(&task) {
            queue.push_back(task);
        }
    }

    fn take(&self, choose: impl FnOnce(usize) -> usize) -> Option<u64> {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = choose(queue.len());
        queue.remove(at)
    }
}

struct TaskWaker {
    task: u64,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.ready.push(self.task);
    }
}

/// The future of [`SimEnv::run`] counts as this task.
const MAIN: u64 = 0;

impl SimEnv {
    /// A world whose clock shows `now` (ms) and whose tasks run in the order in which they become ready.
    #[must_use]
    pub fn new(now: i64) -> Self {
        Self::make(now, 1, false)
    }

    /// A world whose tasks run in an order that `seed` fixes.
    #[must_use]
    pub fn shuffled(now: i64, seed: u64) -> Self {
        Self::make(now, seed, true)
    }

    fn make(now: i64, seed: u64, shuffle: bool) -> Self {
        Self(Rc::new(World {
            now: Cell::new(now),
            ticks: Cell::new(0),
            took: Cell::new(0),
            random: Cell::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            shuffle,
            next_task: Cell::new(MAIN + 1),
            tasks: RefCell::default(),
            sleeping: RefCell::default(),
            ready: Arc::default(),
            missing: RefCell::default(),
            offline: Cell::new(false),
            hangs: Cell::new(0),
        }))
    }

    /// Modules of the code are not there, until somebody loads them.
    pub fn leave_out(&self, modules: &[Module]) {
        self.0.missing.replace(modules.to_vec());
    }

    /// From now on, modules can be loaded or not.
    pub fn set_offline(&self, offline: bool) {
        self.0.offline.set(offline);
    }

    /// Lets loading of code take so long (ms) before it fails, while it is offline.
    pub fn set_hanging(&self, ms: u32) {
        self.0.hangs.set(ms);
    }

    /// Sets the clock (ms).
    pub fn set_now(&self, now: i64) {
        self.0.now.set(now);
    }

    /// Moves the clock by `ms`. If it goes forward, this time has passed, and sleeping tasks wake.
    pub fn advance(&self, ms: i64) {
        self.0.now.set(self.0.now.get() + ms);
        self.pass(u64::try_from(ms).unwrap_or(0));
    }

    /// Lets `ms` pass while the device's clock stands still.
    pub fn pass(&self, ms: u64) {
        let now = self.0.ticks.get() + ms * 1000;
        self.0.ticks.set(now);
        self.0.sleeping.borrow_mut().retain(|(until, waker)| {
            if *until <= now {
                waker.wake_by_ref();
            }
            *until > now
        });
    }

    /// Makes work take time: this many microseconds pass from one reading of the ticks to the next.
    pub fn take_us(&self, us: u64) {
        self.0.took.set(us);
    }

    /// The next number of the world's random sequence.
    pub fn random(&self) -> u64 {
        // xorshift64*: good enough to vary tests, and the same everywhere.
        let mut x = self.0.random.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.random.set(x);
        x.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn take_ready(&self) -> Option<u64> {
        self.0.ready.take(|count| if self.0.shuffle && count > 0 { self.random() as usize % count } else { 0 })
    }

    fn poll_task(&self, task: u64) {
        let Some(mut future) = self.0.tasks.borrow_mut().remove(&task) else { return };
        let waker = self.waker(task);
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.0.tasks.borrow_mut().insert(task, future);
        }
    }

    fn waker(&self, task: u64) -> Waker {
        Waker::from(Arc::new(TaskWaker { task, ready: Arc::clone(&self.0.ready) }))
    }

    /// Runs `future` and the world's tasks until `future` is done.
    ///
    /// # Panics
    /// If no task can continue and `future` is not done: a deadlock.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        self.0.ready.push(MAIN);
        let waker = self.waker(MAIN);
        loop {
            match self.take_ready() {
                Some(MAIN) => {
                    if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                        return result;
                    }
                }
                Some(task) => self.poll_task(task),
                None => panic!("deadlock: nothing can go on"),
            }
        }
    }

    /// Runs the world's tasks until none can continue.
    pub fn run_until_idle(&self) {
        while let Some(task) = self.take_ready() {
            self.poll_task(task);
        }
    }

    /// Stops everything in the world for ever, at its current point.
    pub fn crash(&self) {
        let stopped = std::mem::take(&mut *self.0.tasks.borrow_mut());
        drop(stopped);
        self.0.sleeping.take();
        while self.take_ready().is_some() {}
    }
}

impl Env for SimEnv {
    fn now_ms(&self) -> i64 {
        self.0.now.get()
    }

    fn ticks_us(&self) -> u64 {
        self.0.ticks.replace(self.0.ticks.get() + self.0.took.get())
    }

    fn fill_random(&self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let bytes = self.random().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }

    fn spawn(&self, task: LocalFuture<()>) {
        let id = self.0.next_task.get();
        self.0.next_task.set(id + 1);
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

    fn sleep(&self, ms: u32) -> LocalFuture<()> {
        let (world, until) = (Rc::downgrade(&self.0), self.0.ticks.get() + u64::from(ms) * 1000);
        Box::pin(std::future::poll_fn(move |context| {
            let Some(world) = world.upgrade() else { return Poll::Ready(()) };
            if world.ticks.get() >= until {
                return Poll::Ready(());
            }
            world.sleeping.borrow_mut().push((until, context.waker().clone()));
            Poll::Pending
        }))
    }

    fn has(&self, module: Module) -> bool {
        !self.0.missing.borrow().contains(&module)
    }

    fn load(&self, module: Module) -> LocalFuture<Result<()>> {
        let world = self.clone();
        Box::pin(async move {
            if world.has(module) {
                return Ok(());
            }
            world.yield_now().await;
            if world.0.offline.get() {
                if world.0.hangs.get() > 0 {
                    world.sleep(world.0.hangs.get()).await;
                }
                return Err(Error::new(
                    Code::Unavailable,
                    format!("the module '{}' could not be loaded", module.name()),
                ));
            }
            world.0.missing.borrow_mut().retain(|other| *other != module);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_of(env: &SimEnv) -> Vec<u32> {
        let order = Rc::new(RefCell::new(Vec::new()));
        for name in 0..20 {
            let (order, world) = (Rc::clone(&order), env.clone());
            env.spawn(Box::pin(async move {
                world.yield_now().await;
                order.borrow_mut().push(name);
            }));
        }
        env.run_until_idle();
        order.take()
    }

    #[test]
    fn one_seed_gives_one_order() {
        assert_eq!(order_of(&SimEnv::new(0)), (0..20).collect::<Vec<_>>());
        let shuffled = order_of(&SimEnv::shuffled(0, 7));
        assert_eq!(shuffled, order_of(&SimEnv::shuffled(0, 7)));
        assert_ne!(shuffled, order_of(&SimEnv::shuffled(0, 8)));
    }

    #[test]
    fn who_sleeps_wakes_when_so_much_time_has_passed() {
        let env = SimEnv::new(0);
        let (woken, world) = (Rc::new(Cell::new(false)), env.clone());
        let seen = Rc::clone(&woken);
        env.spawn(Box::pin(async move {
            world.sleep(1000).await;
            seen.set(true);
        }));
        for (ms, awake) in [(0, false), (999, false), (1, true)] {
            env.advance(ms);
            env.run_until_idle();
            assert_eq!(woken.get(), awake, "{ms} ms later");
        }
    }

    #[test]
    fn a_crash_stops_everything() {
        let env = SimEnv::new(0);
        let (reached, held) = (Rc::new(Cell::new(0)), Rc::new(()));
        let task = |holds: Rc<()>| {
            let (seen, world) = (Rc::clone(&reached), env.clone());
            async move {
                let _holds = holds;
                seen.set(seen.get() + 1);
                world.yield_now().await;
                world.yield_now().await;
                seen.set(seen.get() + 100);
            }
        };
        env.spawn(Box::pin(task(Rc::clone(&held))));
        env.spawn(Box::pin(task(Rc::clone(&held))));
        env.run(env.yield_now());
        assert_eq!(reached.get(), 2, "both have begun");
        env.crash();
        assert_eq!(Rc::strong_count(&held), 1, "what they held is given back");
        env.run_until_idle();
        assert_eq!(reached.get(), 2, "neither has gone on");
        env.spawn(Box::pin(task(held)));
        env.run_until_idle();
        assert_eq!(reached.get(), 103, "what is started later runs");
    }
}
