//! The engine, for JavaScript: an open instance, which gives sessions to its clients.

use super::Session;
use super::admin::{Arguments, OpenOptions};
use super::error::{promise, to_js};
use super::idb;
use super::opened::Opened;
use js_sys::{Function, Promise, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// A clock function that moves by no more than this between two frames just runs. Held requests then take effect at the
/// time of their start, as with the device's clock.
const RUNS_MS: u64 = 1000;

/// An open instance. Each of its clients has a [`Session`].
#[wasm_bindgen]
pub struct Engine(Rc<Opened>);

#[wasm_bindgen]
impl Engine {
    /// Opens an instance. `granted` is a promise of `{ held }`. `held` tells whether the caller has the instance's lock, also
    /// later. The engine writes nothing of the instance before. `existed` is asked for a promise of whether an instance that
    /// is missing has existed. `folder` opens the folder of an instance in files. `on_end` gets the error that ends the engine
    /// when the data is deleted while open. `on_trouble` gets each trouble that does not end it, and `null` when it is over.
    ///
    /// # Errors
    /// `{ code, status, retryable, message, hint }`: a wrong name or option, `OTSObjectNotExist`, `OTSQuotaExhausted`,
    /// `Unavailable`, `QuotaExceeded`, `Corrupt`; `Busy` without the lock.
    pub fn open(
        options: JsValue,
        granted: Promise,
        existed: Function,
        folder: Function,
        on_end: Function,
        on_trouble: Function,
    ) -> Promise {
        promise(async move {
            let options: OpenOptions = Arguments::new(options).read()?;
            let opened = Rc::new(Opened::new(options, granted, &existed, &folder, on_end).await?);
            opened.instance.on_trouble(move |error| {
                drop(on_trouble.call1(&JsValue::UNDEFINED, &error.map_or(JsValue::NULL, to_js)));
            });
            Ok(Self(opened).into())
        })
    }

    /// Opens a session of the client with this number, which must be unique. `on_responses` gets the frames of
    /// responses that [`Session::run`] did not return.
    ///
    /// # Errors
    /// `OTSParameterInvalid` when the client has a session.
    pub fn session(&self, client: f64, on_responses: Function) -> Result<Session, JsValue> {
        let deliver = move |frame: Vec<u8>| {
            // An error of the client's code must not end the engine's task.
            let _ = on_responses.call1(&JsValue::UNDEFINED, &Uint8Array::from(&frame[..]));
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the package gives a safe integer")]
        let session = self.0.sessions.open(client as u64, deliver);
        session.map(|session| Session::new(Rc::clone(&self.0), session)).map_err(|error| to_js(&error))
    }

    /// Ends all sessions and closes the instance. Returns a promise.
    pub fn close(&self) -> Promise {
        let opened = Rc::clone(&self.0);
        opened.sessions.end();
        promise(async move {
            opened.instance.close().await;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Stores nothing more, and waits for nothing: another engine may have the instance.
    pub fn cut(&self) {
        if let Some(storage) = &self.0.storage {
            storage.cut();
        }
    }

    /// Moves an injected clock at once, before the next request. The package calls it with the time of a clock function
    /// before each frame.
    ///
    /// # Errors
    /// `OTSParameterInvalid` when the instance was opened without one.
    #[wasm_bindgen(js_name = setClock)]
    pub fn set_clock(&self, now: f64) -> Result<(), JsValue> {
        #[expect(clippy::cast_possible_truncation, reason = "the package gives a safe integer")]
        self.0.set_clock(now as i64, RUNS_MS).map_err(|error| to_js(&error))
    }

    /// Whether this opening was the instance's first one, as far as its row in the list of instances tells. It is time for
    /// other witnesses then.
    #[wasm_bindgen(js_name = isFirst)]
    pub fn is_first(&self) -> bool {
        self.0.is_first
    }

    /// The WebAssembly memory.
    pub fn memory(&self) -> JsValue {
        wasm_bindgen::memory()
    }
}

/// A number that grows whenever the storage of this thread has answered. If it stays while calls wait, the storage hangs.
#[wasm_bindgen]
#[must_use]
pub fn progress() -> u32 {
    idb::progress()
}

/// Shows panics in the console by their message. Otherwise the browser shows only `unreachable`.
#[wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}
