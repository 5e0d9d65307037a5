//! One transaction, from its requests to its end.
//!
//! A writing transaction issues all its requests at once, and awaits only its own end: awaiting anything else would
//! commit half of it. The code never calls `commit()`: with pending requests, Firefox then completes a transaction even
//! if one of its requests failed. Without it, every browser completes a transaction when all its requests have
//! succeeded, and aborts it otherwise.

use super::Listener;
use super::error::Trouble;
use crate::error::Error;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use wasm_bindgen::prelude::*;
use web_sys::{Event, IdbDatabase, IdbObjectStore, IdbRequest, IdbTransaction};

#[wasm_bindgen]
extern "C" {
    /// web-sys has the third argument only behind an unstable flag.
    #[wasm_bindgen(extends = IdbDatabase)]
    type Connection;

    #[wasm_bindgen(catch, method, structural, js_class = "IDBDatabase", js_name = transaction)]
    fn transaction(
        this: &Connection,
        stores: &JsValue,
        mode: &str,
        options: &JsValue,
    ) -> Result<IdbTransaction, JsValue>;
}

/// A running transaction and its listeners.
struct Running {
    transaction: IdbTransaction,
    end: Rc<RefCell<End>>,
    /// Signals the awaited event: the transaction's completion, or a request's answer.
    on_success: Listener,
    /// Held until they are removed.
    _on_error: Listener,
    _on_abort: Listener,
}

/// The state of a transaction, and its waiter.
#[derive(Default)]
struct End {
    /// The first trouble. Later errors are its consequences: Firefox's last one after the quota is exceeded is a mere
    /// `AbortError`.
    trouble: Option<Trouble>,
    reached: bool,
    waker: Option<Waker>,
}

impl End {
    fn blame(&mut self, trouble: impl FnOnce() -> Trouble) {
        if self.trouble.is_none() {
            self.trouble = Some(trouble());
        }
    }

    fn reach(&mut self) {
        self.reached = true;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Running {
    fn begin(database: &IdbDatabase, stores: &[&str], mode: &str, options: &JsValue) -> Result<Self, Trouble> {
        let names: js_sys::Array = stores.iter().map(|name| JsValue::from_str(name)).collect();
        let database: &Connection = database.unchecked_ref();
        let transaction = database.transaction(&names, mode, options)?;
        let end = Rc::<RefCell<End>>::default();
        let on_success = {
            let end = Rc::clone(&end);
            Listener::new(move |_| end.borrow_mut().reach())
        };
        let on_error = {
            let end = Rc::clone(&end);
            Listener::new(move |event: Event| {
                let request = event.target().and_then(|target| target.dyn_into::<IdbRequest>().ok());
                // When a transaction aborts, each open request reports `AbortError`. That is an effect and not the cause.
                if let Some(Ok(Some(error))) = request.map(|request| request.error())
                    && error.name() != "AbortError"
                {
                    end.borrow_mut().blame(|| Trouble::of(&error));
                }
            })
        };
        let on_abort = {
            let (end, transaction) = (Rc::clone(&end), transaction.clone());
            Listener::new(move |_| {
                let mut end = end.borrow_mut();
                end.blame(|| Trouble::of(&transaction.error().map_or(JsValue::NULL, JsValue::from)));
                end.reach();
            })
        };
        transaction.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        transaction.set_onabort(Some(on_abort.as_ref().unchecked_ref()));
        Ok(Self { transaction, end, on_success, _on_error: on_error, _on_abort: on_abort })
    }

    fn store(&self, name: &str) -> Result<IdbObjectStore, Trouble> {
        Ok(self.transaction.object_store(name)?)
    }

    /// Waits for the event of `on_success`, or for the transaction's abortion.
    async fn reach(&self) -> Result<(), Trouble> {
        poll_fn(|context| {
            let mut end = self.end.borrow_mut();
            if std::mem::take(&mut end.reached) {
                return Poll::Ready(end.trouble.take().map_or(Ok(()), Err));
            }
            end.waker = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// Removes the listeners before they are freed, also if the end is no longer awaited.
impl Drop for Running {
    fn drop(&mut self) {
        self.transaction.set_oncomplete(None);
        self.transaction.set_onerror(None);
        self.transaction.set_onabort(None);
    }
}

/// A readonly transaction.
pub(super) struct Read {
    running: Running,
}

impl Read {
    /// Begins a transaction on `stores`.
    pub(super) fn begin(database: &IdbDatabase, stores: &[&str]) -> Result<Self, Trouble> {
        Ok(Self { running: Running::begin(database, stores, "readonly", &JsValue::UNDEFINED)? })
    }

    /// One of the transaction's stores.
    pub(super) fn store(&self, name: &str) -> Result<IdbObjectStore, Trouble> {
        self.running.store(name)
    }

    /// Waits for the answer of `request`. All earlier requests are done then too, because a transaction runs them in
    /// order.
    pub(super) async fn answer(&self, request: &IdbRequest) -> Result<JsValue, Trouble> {
        request.set_onsuccess(Some(self.running.on_success.as_ref().unchecked_ref()));
        let _listening = Listening(request);
        self.running.reach().await?;
        Ok(request.result()?)
    }
}

/// Removes the listener of a request.
struct Listening<'a>(&'a IdbRequest);

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.set_onsuccess(None);
    }
}

/// A readwrite transaction whose requests are being issued.
pub(super) struct Write {
    running: Running,
    guards: Vec<(IdbRequest, Listener)>,
}

impl Write {
    /// Begins a transaction on `stores`; `options` are those of `IDBDatabase.transaction`.
    pub(super) fn begin(database: &IdbDatabase, stores: &[&str], options: &JsValue) -> Result<Self, Trouble> {
        Ok(Self { running: Running::begin(database, stores, "readwrite", options)?, guards: Vec::new() })
    }

    /// One of the transaction's stores.
    pub(super) fn store(&self, name: &str) -> Result<IdbObjectStore, Trouble> {
        self.running.store(name)
    }

    /// Aborts the whole transaction if `judge` finds a fault in the answer of `request`. This needs no extra round trip.
    pub(super) fn guard(&mut self, request: &IdbRequest, judge: impl FnOnce(JsValue) -> Result<(), Error> + 'static) {
        let Running { transaction, end, .. } = &self.running;
        let (end, transaction, looked) = (Rc::clone(end), transaction.clone(), request.clone());
        let mut judge = Some(judge);
        let guard = Listener::new(move |_: Event| {
            let Some(judge) = judge.take() else { return };
            if let Err(error) = looked.result().map_or(Ok(()), judge) {
                end.borrow_mut().blame(|| Trouble::Final(error));
                // It fails only when the transaction is already over.
                let _ = transaction.abort();
            }
        });
        request.set_onsuccess(Some(guard.as_ref().unchecked_ref()));
        self.guards.push((request.clone(), guard));
    }

    /// Waits until everything is stored, or nothing.
    pub(super) async fn finish(self) -> Result<(), Trouble> {
        let Running { transaction, on_success, .. } = &self.running;
        transaction.set_oncomplete(Some(on_success.as_ref().unchecked_ref()));
        self.running.reach().await
    }

    /// Aborts the transaction, because a request could not be issued.
    pub(super) fn abandon(self) {
        let _ = self.running.transaction.abort();
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        for (request, _) in &self.guards {
            request.set_onsuccess(None);
        }
    }
}
