//! A session of an engine, for JavaScript: request frames, response frames, and administration.

use super::admin::Arguments;
use super::env::ticks_us;
use super::error::{promise, to_js};
use super::opened::Opened;
use crate::error::Error;
use crate::session;
use crate::session::codec::contract::admin::Administration;
use js_sys::Promise;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// One client of an open instance.
///
/// Frames pass by one buffer in each direction, which JavaScript finds in the memory. The generated glue would make a
/// new buffer for each list of bytes, which costs as much as reading a row.
#[wasm_bindgen]
pub struct Session {
    opened: Rc<Opened>,
    session: session::Session,
    /// The request frame.
    room: Cell<Vec<u8>>,
    /// The last responses.
    answer: RefCell<Vec<u8>>,
    failure: Cell<Option<Error>>,
}

impl Session {
    pub(super) fn new(opened: Rc<Opened>, session: session::Session) -> Self {
        Self { opened, session, room: Cell::default(), answer: RefCell::default(), failure: Cell::default() }
    }
}

#[wasm_bindgen]
impl Session {
    /// Makes room for a request frame of this many bytes. Returns its address.
    pub fn room(&self, bytes: usize) -> *mut u8 {
        let mut room = self.session.buffer(bytes);
        let at = room.as_mut_ptr();
        self.room.set(room);
        at
    }

    /// Starts the requests of the frame in the room, which came at `now` (ms since the page began). Returns the length of the
    /// frame of those responses that are ready at once, or 0 if there are none. On failure it returns -1, and
    /// [`Session::failure`] gives the error.
    pub fn run(&self, now: f64) -> i32 {
        match self.session.submit_at(self.room.take(), ticks_us(now)) {
            Ok(ready) => {
                let ready = ready.unwrap_or_default();
                let length = i32::try_from(ready.len()).unwrap_or(i32::MAX);
                self.session.reuse(self.answer.replace(ready));
                length
            }
            Err(error) => {
                self.failure.set(Some(error));
                -1
            }
        }
    }

    /// The address of the responses of [`Session::run`], until it runs again.
    pub fn answer(&self) -> *const u8 {
        self.answer.borrow().as_ptr()
    }

    /// The error of [`Session::run`]: `OTSParameterInvalid` when the bytes are no frame.
    pub fn failure(&self) -> JsValue {
        self.failure.take().map_or(JsValue::UNDEFINED, |error| to_js(&error))
    }

    /// Runs the administrative operation with this number, after the earlier requests of this session. Returns a promise of its
    /// answer. With a number of a `request` it is a change that is done once, whichever engine the client has asked before.
    ///
    /// # Errors
    /// `OTSParameterInvalid` for an unknown operation, and those of the operation.
    pub fn call(&self, op: u8, arguments: JsValue, request: Option<f64>) -> Promise {
        // The promise keeps the instance, so this object can be freed meanwhile.
        let opened = Rc::clone(&self.opened);
        let started = self.session.started();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the package gives a safe integer")]
        let change = request.map(|request| (self.session.other_call(), request as u64));
        promise(async move {
            started.await?;
            let unknown = || Error::parameter(format!("There is no operation {op}."));
            let op = Administration::of(op).ok_or_else(unknown)?;
            let origin = change.as_ref().map(|(call, request)| call.origin(*request));
            opened.call(op, &Arguments::new(arguments), origin).await
        })
    }

    /// Ends the session. Started requests are finished and answered, others are refused with `Closed`. Returns a promise, which
    /// resolves when the instance holds nothing of the session any more. Freeing the session ends it too.
    pub fn close(&self) -> Promise {
        let closed = self.session.close();
        promise(async move {
            closed.await;
            Ok(JsValue::UNDEFINED)
        })
    }
}
