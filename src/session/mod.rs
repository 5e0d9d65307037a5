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
//!
//! [`Module::Rules`]: crate::modules::Module::Rules
//! [`Module::Loads`]: crate::modules::Module::Loads

mod activity;
mod budget;
pub mod codec;
mod common;
mod frames;
pub mod inspect;
mod job;
mod latencies;
mod sessions;
mod shared;

use crate::engine::Origin;
use crate::error::{Error, Result};
pub use activity::{ActivityReport, OperationActivity};
use codec::Frame;
use frames::REQUEST_BYTES;
pub use sessions::Sessions;
use shared::{SPARE_BYTES, Shared, ended};
use std::rc::Rc;

/// One client of an instance.
pub struct Session(Rc<Shared>);

impl Session {
    /// Starts all requests of a frame. Returns the frame of those responses that are ready at once, if there are any.
    ///
    /// # Errors
    /// `OTSParameterInvalid` when the bytes are no frame, at once even if the frame has to wait. Requests before the
    /// damage are done and answered. Those after it are not started and get no answer.
    pub fn submit(&self, frame: Vec<u8>) -> Result<Option<Vec<u8>>> {
        self.submit_at(frame, self.0.env.ticks_us())
    }

    /// The same for a frame that came at `now`, in microseconds of [`Env::ticks_us`](crate::env::Env::ticks_us): the caller may have read the clock already.
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
