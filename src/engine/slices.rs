//! How long background work keeps the thread at a time.
//!
//! Each poll of what runs in the background is one slice: no call of a client is answered before it is over. So work that may
//! be long asks now and then whether its slice is over, and yields.

use crate::env::Env;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;

/// A slice of long work is to end after this time. What it has begun it still ends: a block is written as a whole.
const SLICE_US: u64 = 4_000;

/// How long slices take.
pub(super) struct Slices {
    env: Rc<dyn Env>,
    /// When the last one began.
    started: Cell<u64>,
    /// The longest so far, in us.
    longest: Cell<u64>,
}

impl Slices {
    pub(super) fn new(env: Rc<dyn Env>) -> Self {
        Self { env, started: Cell::new(0), longest: Cell::new(0) }
    }

    pub(super) fn longest_us(&self) -> u64 {
        self.longest.get()
    }

    /// Whether background work that is just running should yield.
    pub(super) fn is_over(&self) -> bool {
        self.env.ticks_us().saturating_sub(self.started.get()) >= SLICE_US
    }

    /// Notes how long `work` keeps the thread at a time.
    pub(super) fn measured<T>(self: Rc<Self>, mut work: Pin<Box<dyn Future<Output = T>>>) -> impl Future<Output = T> {
        poll_fn(move |context| {
            let started = self.env.ticks_us();
            self.started.set(started);
            let polled = work.as_mut().poll(context);
            let took = self.env.ticks_us().saturating_sub(started);
            self.longest.set(self.longest.get().max(took));
            polled
        })
    }
}
