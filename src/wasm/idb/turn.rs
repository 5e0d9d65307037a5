//! Transactions of one thread, one after another in WebKit.
//!
//! When a worker or a page of WebKit ends with several transactions on their way, reads or writes, WebKit may keep one of
//! them for ever. No tab writes any more then, until the browser ends. A single transaction is undone.

use js_sys::{Function, Promise};
use std::cell::Cell;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{IdbDatabase, IdbTransaction};

#[wasm_bindgen]
extern "C" {
    /// Searches the name of the browser.
    #[wasm_bindgen(js_namespace = ["navigator", "userAgent"], js_name = includes)]
    pub(super) fn is_browser(name: &str) -> bool;
}

thread_local! {
    /// The end of the last turn that somebody has, or waits for.
    static LAST: Cell<Option<Promise>> = const { Cell::new(None) };
    /// The transaction that has the turn, or had it last.
    static CURRENT: Cell<Option<IdbTransaction>> = const { Cell::new(None) };
}

/// The turn of a transaction that has not begun. It ends when it is dropped.
pub(super) struct Turn {
    end: Option<Function>,
    before: Option<Promise>,
}

impl Turn {
    /// Waits until all earlier transactions of this thread have ended. Other browsers run them side by side: nothing waits
    /// there.
    pub(super) async fn come() -> Self {
        if is_browser("Chrome/") || !is_browser("AppleWebKit/") {
            return Self { end: None, before: None };
        }
        let mut end = None;
        let ended = Promise::new(&mut |resolve, _| end = Some(resolve));
        let turn = Self { end, before: LAST.replace(Some(ended)) };
        if let Some(before) = &turn.before {
            // Nothing rejects it.
            let _ = JsFuture::from(before.clone()).await;
        }
        turn
    }

    /// Makes it last until the browser tells of the transaction's end.
    pub(super) fn begin(mut self, transaction: &IdbTransaction) {
        let Some(end) = self.end.take() else { return };
        for event in ["complete", "abort"] {
            // It cannot fail: the event exists.
            let _ = transaction.add_event_listener_with_callback(event, &end);
        }
        CURRENT.set(Some(transaction.clone()));
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(end) = self.end.take() else { return };
        // One that has not come yet ends with the one before. The call cannot fail.
        let before = self.before.take().map_or(JsValue::UNDEFINED, JsValue::from);
        let _ = end.call1(&JsValue::UNDEFINED, &before);
    }
}

/// Aborts the transaction of a connection that has the turn. A page in WebKit's back/forward cache keeps its transactions,
/// and all other tabs wait for them.
pub(super) fn abort(connection: &IdbDatabase) {
    let Some(transaction) = CURRENT.take() else { return };
    if transaction.db() == *connection {
        // It fails only when the transaction is already over.
        let _ = transaction.abort();
    } else {
        CURRENT.set(Some(transaction));
    }
}
