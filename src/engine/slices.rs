//! How long background work keeps the thread at a time.
//!
//! Each poll of what runs in the background is one slice: no call of a client is answered before it is over. So work that may
//! be long asks now and then whether its slice is over, and yields.

use super::Engine;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;

/// A slice of long work is to end after this time. What it has begun it still ends: a block is written as a whole.
const SLICE_US: u64 = 4_000;

/// How long slices take.
#[derive(Debug, Default)]
pub(super) struct Slices {
    /// When the last one began.
    started: Cell<u64>,
    /// The longest so far, in us.
    longest: Cell<u64>,
}

impl Slices {
    pub(super) fn longest_us(&self) -> u64 {
        self.longest.get()
    }
}

impl<S> Engine<S> {
    /// Whether background work that is just running should yield.
    pub(super) fn slice_is_over(&self) -> bool {
        self.env.ticks_us().saturating_sub(self.slices.started.get()) >= SLICE_US
    }

    /// Notes how long `work` keeps the thread at a time.
    pub(super) fn measured<'a, T>(
        &self,
        mut work: Pin<Box<dyn Future<Output = T> + 'a>>,
    ) -> impl Future<Output = T> + use<'a, T, S> {
        let me = self.me.clone();
        poll_fn(move |context| {
            let Some(engine) = me.upgrade() else { return work.as_mut().poll(context) };
            let slices = &engine.slices;
            let started = engine.env.ticks_us();
            slices.started.set(started);
            let polled = work.as_mut().poll(context);
            let took = engine.env.ticks_us().saturating_sub(started);
            slices.longest.set(slices.longest.get().max(took));
            polled
        })
    }
}
