//! One transaction, from its requests to its end.
//!
//! A writing transaction issues all its requests at once, and awaits only its own end: awaiting anything else would
//! commit half of it. Every browser completes a transaction when all its requests have succeeded, and aborts it otherwise.
//!
//! The browser hears from the page when a transaction has no more requests. A page that is frozen before never tells it, and
//! blocks all other pages for a minute. So Chromium is told by `commit()` together with the requests. Elsewhere the code
//! never calls it: with pending requests, Firefox then completes a transaction even if one of its requests failed.

use super::connection::Listener;
use super::error::Trouble;
use super::turn::{Turn, is_browser};
use crate::error::Error;
use std::cell::{Cell, RefCell};
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

    /// web-sys deprecates its own, because it cannot fail there.
    #[wasm_bindgen(extends = IdbTransaction)]
    type Issued;

    #[wasm_bindgen(catch, method, structural, js_class = "IDBTransaction")]
    fn commit(this: &Issued) -> Result<(), JsValue>;
}

thread_local! {
    static PROGRESS: Cell<u32> = const { Cell::new(0) };
}

/// A number that grows when a transaction or a request of this thread ends.
pub(in crate::wasm) fn progress() -> u32 {
    PROGRESS.get()
}

/// A running transaction and its listeners.
struct Running {
    transaction: IdbTransaction,
    end: Rc<RefCell<End>>,
    /// Signals the awaited event: the transaction's completion, or a request's answer.
    on_success: Listener,
    on_error: Listener,
    on_abort: Listener,
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
        PROGRESS.set(PROGRESS.get().wrapping_add(1));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Running {
    async fn begin(database: &IdbDatabase, stores: &[&str], mode: &str, options: &JsValue) -> Result<Self, Trouble> {
        let turn = Turn::come().await;
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
            let end = Rc::clone(&end);
            Listener::new(move |event: Event| {
                let transaction = event.target().and_then(|target| target.dyn_into::<IdbTransaction>().ok());
                let error = transaction.and_then(|transaction| transaction.error());
                let mut end = end.borrow_mut();
                end.blame(|| Trouble::of(&error.map_or(JsValue::NULL, JsValue::from)));
                end.reach();
            })
        };
        let names: js_sys::Array = stores.iter().map(|name| JsValue::from_str(name)).collect();
        let database: &Connection = database.unchecked_ref();
        // The last step: a page that is frozen between here and the commit blocks the others.
        let transaction = database.transaction(&names, mode, options)?;
        turn.begin(&transaction);
        Ok(Self { transaction, end, on_success, on_error, on_abort })
    }

    /// Listens to its end. No event comes before the code returns to the browser.
    fn listen(&self) {
        self.transaction.set_onerror(Some(self.on_error.as_ref().unchecked_ref()));
        self.transaction.set_onabort(Some(self.on_abort.as_ref().unchecked_ref()));
    }

    fn store(&self, name: &str) -> Result<IdbObjectStore, Trouble> {
        Ok(self.transaction.object_store(name)?)
    }

    /// Tells the browser that there are no more requests.
    fn commit(&self) {
        if is_browser("Chrome/") {
            // It fails only when the transaction is already over.
            let _ = self.transaction.unchecked_ref::<Issued>().commit();
        }
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
    pub(super) async fn begin(database: &IdbDatabase, stores: &[&str]) -> Result<Self, Trouble> {
        let running = Running::begin(database, stores, "readonly", &JsValue::UNDEFINED).await?;
        running.listen();
        Ok(Self { running })
    }

    /// One of the transaction's stores.
    pub(super) fn store(&self, name: &str) -> Result<IdbObjectStore, Trouble> {
        self.running.store(name)
    }

    /// All requests are issued.
    pub(super) fn commit(&self) {
        self.running.commit();
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
    pub(super) async fn begin(database: &IdbDatabase, stores: &[&str], options: &JsValue) -> Result<Self, Trouble> {
        Ok(Self { running: Running::begin(database, stores, "readwrite", options).await?, guards: Vec::new() })
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
        // A guard may still abort it.
        if self.guards.is_empty() {
            self.running.commit();
        }
        let Running { transaction, on_success, .. } = &self.running;
        transaction.set_oncomplete(Some(on_success.as_ref().unchecked_ref()));
        self.running.listen();
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
