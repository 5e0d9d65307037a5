//! What each component of the engine runs on.

use super::clock::Clock;
use super::counters::Counters;
use super::health::Health;
use super::latch::Latch;
use super::missing::read_only;
use super::options::Options;
use super::slices::Slices;
use super::wiring::{News, Wiring};
use crate::env::{Env, LocalFuture};
use crate::error::Result;
use crate::storage::AnyStorage;
use std::rc::{Rc, Weak};

/// The storage, the environment and the options of an engine, its clocks, and what it counts and reports.
pub(crate) struct Runtime {
    pub(crate) storage: AnyStorage,
    pub(crate) env: Rc<dyn Env>,
    pub(crate) options: Options,
    pub(crate) clock: Clock,
    pub(crate) health: Health,
    pub(crate) counters: Counters,
    pub(crate) slices: Rc<Slices>,
    engine: Weak<dyn Wiring>,
}

impl Runtime {
    /// `stored` is the clock that the store recorded last, ms.
    pub(crate) fn new(
        storage: AnyStorage,
        env: Rc<dyn Env>,
        options: Options,
        stored: i64,
        engine: Weak<dyn Wiring>,
    ) -> Self {
        Self {
            storage,
            clock: Clock::new(Rc::clone(&env), options.clock, stored),
            health: Health::default(),
            counters: Counters::default(),
            slices: Rc::new(Slices::new(Rc::clone(&env))),
            env,
            options,
            engine,
        }
    }

    /// The engine, unless nobody has it any more.
    pub(crate) fn engine(&self) -> Option<Rc<dyn Wiring>> {
        self.engine.upgrade()
    }

    /// Runs `task` in the background, some time after this call returns. The engine lives until it ends. If nobody has the
    /// engine any more, nothing runs.
    pub(crate) fn spawn(&self, task: LocalFuture<()>) {
        if let Some(engine) = self.engine() {
            self.env.spawn(Box::pin(Rc::clone(&self.slices).measured(task, Some(engine))));
        }
    }

    /// Runs work that must not stop half way when its caller goes away.
    pub(crate) async fn apart(&self, work: LocalFuture<Result<()>>) -> Result<()> {
        let done = Rc::new(Latch::default());
        let told = Rc::clone(&done);
        self.spawn(Box::pin(async move { told.set(work.await) }));
        done.wait().await
    }

    /// Runs `task` in the background. It does not keep the engine alive.
    pub(crate) fn spawn_aside(&self, task: LocalFuture<()>) {
        self.env.spawn(Box::pin(Rc::clone(&self.slices).measured(task, None)));
    }

    /// Tells those above a component, unless nobody has the engine any more.
    pub(crate) fn tell(&self, news: News) {
        if let Some(engine) = self.engine() {
            engine.act_on(news);
        }
    }

    /// Whether the store was opened with `salvage`.
    pub(crate) fn is_read_only(&self) -> bool {
        self.options.salvage
    }

    /// Checks that the store was not opened with `salvage`.
    ///
    /// # Errors
    /// `ReadOnly`.
    pub(crate) fn check_writable(&self) -> Result<()> {
        if self.is_read_only() { Err(read_only()) } else { Ok(()) }
    }

    /// The instant (ms) for expiry in the background. Soon after the clock has jumped forward nothing is expired.
    pub(crate) fn expiry_ms(&self) -> i64 {
        self.clock.expiry_ms(&self.health)
    }
}
