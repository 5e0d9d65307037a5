//! Interprets the browsers' errors of IndexedDB.
//!
//! The same trouble has different names in different browsers and moments, so this file reads all of them. A full
//! origin must be told from a lost connection, and a lost connection from a fenced writer.

use crate::error::{Code, Error};
use crate::storage::fenced;
use wasm_bindgen::{JsCast as _, JsValue};

/// A part of Chromium's message. As bytes, because the standard library's text search weighs 3 KB.
const FULL: &[u8] = b"full disk";

/// The reason why a call of IndexedDB failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The connection is unusable. A new one may work.
    Lost(String),
    /// A new connection does not help.
    Final(Error),
}

impl Trouble {
    /// Interprets `thrown`: an exception, or the error of a request, of a transaction or of an opening.
    pub(super) fn of(thrown: &JsValue) -> Self {
        let (name, message) = words(thrown);
        let told = format!("{name}: {message}");
        match name.as_str() {
            // Chromium and WebKit set it on the transaction, Firefox on the request. Older Firefoxes have their own name.
            "QuotaExceededError" | "NS_ERROR_DOM_INDEXEDDB_QUOTA_ERR" | "NS_ERROR_FILE_NO_DEVICE_SPACE" => full(&told),
            // Only `add` can break a constraint.
            "ConstraintError" => Self::Final(fenced("its record is there already")),
            "VersionError" => Self::Final(Error::new(
                Code::Unavailable,
                "the database was made by a newer version of this program: update it",
            )),
            // Chromium: `Encountered full disk while opening backing store`.
            "UnknownError" if message.as_bytes().windows(FULL.len()).any(|part| part == FULL) => full(&told),
            // Chromium: `The database connection is closing`; WebKit: `Connection to Indexed Database server lost`;
            // Firefox throws InvalidStateError once after the quota is exceeded, and works again in a later task.
            "InvalidStateError" | "AbortError" | "UnknownError" | "TimeoutError" | "" => Self::Lost(told),
            "SecurityError" => Self::Final(Error::new(
                Code::Unavailable,
                format!("this page may not use IndexedDB, perhaps because of the browser's settings ({told})"),
            )),
            _ => Self::Final(Error::new(Code::Unavailable, format!("IndexedDB failed: {told}"))),
        }
    }

    /// The error for a caller, without another attempt.
    pub(super) fn into_error(self, what: &str) -> Error {
        match self {
            Self::Lost(told) => {
                Error::new(Code::Unavailable, format!("IndexedDB lost its connection while {what} ({told})"))
            }
            Self::Final(error) => error,
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl From<JsValue> for Trouble {
    fn from(thrown: JsValue) -> Self {
        Self::of(&thrown)
    }
}

impl From<indexed_db_futures::error::Error> for Trouble {
    fn from(error: indexed_db_futures::error::Error) -> Self {
        use indexed_db_futures::error::Error as E;
        match error {
            E::DomException(exception) => Self::of(&JsValue::from(exception)),
            E::Unknown(thrown) => Self::of(&JsValue::from(thrown)),
            // The end of a transaction, for which the crate kept no reason.
            E::MissingData(_) => Self::Lost("the transaction was aborted".to_owned()),
            // Its `Display` is not used: it alone weighs 20 KB, most of it for printing doubles.
            E::Serialisation(_) => Self::Final(Error::corrupt("a stored record", "its value is of no known kind")),
        }
    }
}

impl From<indexed_db_futures::error::OpenDbError> for Trouble {
    fn from(error: indexed_db_futures::error::OpenDbError) -> Self {
        use indexed_db_futures::error::OpenDbError as E;
        match error {
            E::Base(error) => error.into(),
            E::UnsupportedEnvironment | E::NullFactory => {
                let error = Error::new(Code::Unavailable, "there is no IndexedDB here");
                Self::Final(
                    error.with_hint(
                        "Open with storage: \"memory\" where data that is gone after closing will do. In Node and Deno, storage: \"files\" and a path keep it.",
                    ),
                )
            }
            // The crate gives this error for each opening that throws at once. Our version is never zero.
            E::VersionZero => Self::Final(Error::new(
                Code::Unavailable,
                "this page may not use IndexedDB: the browser refuses to open a database, as some do in private windows",
            )),
        }
    }
}

fn full(told: &str) -> Trouble {
    Trouble::Final(Error::new(Code::QuotaExceeded, format!("the origin's storage is full ({told})")))
}

/// The name and the message of an exception of any class. Chromium's `QuotaExceededError` is a class of its own now.
fn words(thrown: &JsValue) -> (String, String) {
    if let Some(exception) = thrown.dyn_ref::<web_sys::DomException>() {
        return (exception.name(), exception.message());
    }
    let read = |field: &str| js_sys::Reflect::get(thrown, &field.into()).ok().and_then(|value| value.as_string());
    let message = read("message").or_else(|| thrown.as_string()).unwrap_or_default();
    (read("name").unwrap_or_default(), message)
}
