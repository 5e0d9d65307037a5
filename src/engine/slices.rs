//! How long background work keeps the thread at a time.
//!
//! Each poll of what runs in the background is one slice: no call of a client is answered before it is over.

use super::Engine;
use std::future::{Future, poll_fn};
use std::pin::Pin;

impl<S> Engine<S> {
    /// Notes how long `work` keeps the thread at a time.
    pub(super) fn measured<'a, T>(
        &self,
        mut work: Pin<Box<dyn Future<Output = T> + 'a>>,
    ) -> impl Future<Output = T> + use<'a, T, S> {
        let me = self.me.clone();
        poll_fn(move |context| {
            let Some(engine) = me.upgrade() else { return work.as_mut().poll(context) };
            let started = engine.env.ticks_us();
            let polled = work.as_mut().poll(context);
            let took = engine.env.ticks_us() - started;
            engine.longest_slice_us.set(engine.longest_slice_us.get().max(took));
            polled
        })
    }
}
