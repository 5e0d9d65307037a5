//! One transaction, from its requests to its end.
//!
//! A writing one issues all its requests at once, and awaits nothing but its own end: a foreign await would commit half
//! of it. `commit()` is never called: Firefox, where requests are pending, then completes a transaction one of
//! whose requests failed. Left alone, a transaction completes when all its requests succeeded, and aborts otherwise, in
//! every browser.

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
    /// web-sys keeps the third argument behind an unstable flag.
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

/// A transaction that runs, and what listens to it.
struct Running {
    transaction: IdbTransaction,
    end: Rc<RefCell<End>>,
    /// Tells that what is awaited is there: the transaction's completion, or a request's answer.
    on_success: Listener,
    /// Held until they are taken off.
    _on_error: Listener,
    _on_abort: Listener,
}

/// What a transaction has come to, and who waits for it.
#[derive(Default)]
struct End {
    /// The first thing that went wrong. What follows are its consequences, and Firefox's last word after running out of
    /// quota is a mere `AbortError`.
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
                // When a transaction aborts, each request still open says `AbortError`: an effect, not the cause.
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

    /// Waits for what `on_success` listens to, or for the transaction's abortion.
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

/// Takes the listeners off before they are freed, also when nobody waits for the end any more.
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

    /// Waits for what `request` finds. All requests that were made before it are done then, too: a transaction carries
    /// them out in order.
    pub(super) async fn answer(&self, request: &IdbRequest) -> Result<JsValue, Trouble> {
        request.set_onsuccess(Some(self.running.on_success.as_ref().unchecked_ref()));
        let _listening = Listening(request);
        self.running.reach().await?;
        Ok(request.result()?)
    }
}

/// Takes the listener off a request.
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

    /// Gives the whole transaction up if `judge` finds a fault in what `request` found. Costs no trip of its own.
    pub(super) fn guard(&mut self, request: &IdbRequest, judge: impl FnOnce(JsValue) -> Result<(), Error> + 'static) {
        let Running { transaction, end, .. } = &self.running;
        let (end, transaction, looked) = (Rc::clone(end), transaction.clone(), request.clone());
        let mut judge = Some(judge);
        let guard = Listener::new(move |_: Event| {
            let Some(judge) = judge.take() else { return };
            if let Err(error) = looked.result().map_or(Ok(()), judge) {
                end.borrow_mut().blame(|| Trouble::Final(error));
                // It can only fail where the transaction is over already.
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

    /// Gives the transaction up, because a request could not even be issued.
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
