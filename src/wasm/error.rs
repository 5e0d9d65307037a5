//! Errors on their way to JavaScript, where the package makes a `TabStoreError` of them.

use super::convert::object;
use crate::error::Error;
use wasm_bindgen::JsValue;

/// `{ code, status, retryable, message }`.
pub(super) fn to_js(error: &Error) -> JsValue {
    let fields = [
        ("code", JsValue::from_str(error.code().as_str())),
        ("status", JsValue::from(error.code().status())),
        ("retryable", JsValue::from(error.retryable())),
        ("message", JsValue::from_str(error.message())),
    ];
    object(&fields).into()
}
