//! Slices: how long background work keeps the thread at a time.
//!
//! Each poll of a background task is one slice: no client call gets an answer before it ends. So long work checks now and
//! then whether its slice is over, and yields.

use super::wiring::Wiring;
use crate::env::{Env, LocalFuture};
use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;

/// The target time of a slice. Work ends a step that it has begun: a block is written as a whole.
const SLICE_US: u64 = 4_000;

/// The measured times of slices.
pub(crate) struct Slices {
    env: Rc<dyn Env>,
    /// The start of the last slice.
    started: Cell<u64>,
    /// The longest so far, in us.
    longest: Cell<u64>,
}

impl Slices {
    pub(crate) fn new(env: Rc<dyn Env>) -> Self {
        Self { env, started: Cell::new(0), longest: Cell::new(0) }
    }

    pub(crate) fn longest_us(&self) -> u64 {
        self.longest.get()
    }

    /// Whether the running background work should yield.
    pub(crate) fn is_over(&self) -> bool {
        self.env.ticks_us().saturating_sub(self.started.get()) >= SLICE_US
    }

    /// Measures the slices of `work`. Until it ends, `owner` lives.
    pub(crate) fn measured(
        self: Rc<Self>,
        mut work: LocalFuture<()>,
        owner: Option<Rc<dyn Wiring>>,
    ) -> impl Future<Output = ()> {
        poll_fn(move |context| {
            let _owner = &owner;
            let started = self.env.ticks_us();
            self.started.set(started);
            let polled = work.as_mut().poll(context);
            let took = self.env.ticks_us().saturating_sub(started);
            self.longest.set(self.longest.get().max(took));
            polled
        })
    }
}
