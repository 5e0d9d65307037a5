//! Converts errors for JavaScript. The package makes a `TabStoreError` of them.

use super::admin::Answer;
use crate::env::LocalFuture;
use crate::error::{Error, Result};
use js_sys::Promise;
use std::future::Future;
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::future_to_promise;

/// An error as JavaScript sees it.
pub(super) fn to_js(error: &Error) -> JsValue {
    Answer::error(error).to_js()
}

/// A promise of the result of `work`. All promises are made here, so that their code is compiled once.
pub(super) fn promise(work: impl Future<Output = Result<JsValue>> + 'static) -> Promise {
    let work: LocalFuture<Result<JsValue>> = Box::pin(work);
    future_to_promise(async move { work.await.map_err(|error| to_js(&error)) })
}
