//! Errors on their way to JavaScript, where the package makes a `TabStoreError` of them.

use super::convert::{object, set};
use crate::env::LocalFuture;
use crate::error::{Error, Result};
use js_sys::Promise;
use std::future::Future;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::future_to_promise;

/// `{ code, status, retryable, message }`, and `hint` if there is one.
pub(super) fn to_js(error: &Error) -> JsValue {
    let fields = [
        ("code", JsValue::from_str(error.code().as_str())),
        ("status", JsValue::from(error.code().status())),
        ("retryable", JsValue::from(error.retryable())),
        ("message", JsValue::from_str(error.message())),
    ];
    let object = object(&fields);
    if let Some(hint) = error.hint() {
        set(&object, "hint", &JsValue::from_str(hint));
    }
    object.into()
}

/// A promise of what `work` gives. All go through here, so that what a promise needs is compiled once.
pub(super) fn promise(work: impl Future<Output = Result<JsValue>> + 'static) -> Promise {
    let work: LocalFuture<Result<JsValue>> = Box::pin(work);
    future_to_promise(async move { work.await.map_err(|error| to_js(&error)) })
}
