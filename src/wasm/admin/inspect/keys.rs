//! Keys and values, of bounded length. Integers are bigints: the package makes numbers of them where the caller wants that.

use crate::model::{KeyValue, Value};
use crate::tablestore::KeyPlace;
use crate::wasm::admin::answers::{Answer, Members};

/// The most characters of a text, and bytes of a binary value, that are told.
const MOST: usize = 128;

/// The first part of a text, and whether that is not all.
fn text(text: &str) -> (&str, bool) {
    match text.char_indices().nth(MOST) {
        Some((end, _)) => (text.get(..end).unwrap_or(text), true),
        None => (text, false),
    }
}

fn bytes(bytes: &[u8]) -> (&[u8], bool) {
    (bytes.get(..MOST).unwrap_or(bytes), bytes.len() > MOST)
}

/// A key: `KeyPlace` of the package.
pub(super) fn key(place: &KeyPlace) -> Answer<'_> {
    let mut shortened = false;
    let values = place.values.iter().map(|value| match value {
        KeyValue::Integer(value) => Answer::BigInt(*value),
        KeyValue::String(value) => {
            let (value, cut) = text(value);
            shortened |= cut;
            value.into()
        }
        KeyValue::Binary(value) => {
            let (value, cut) = bytes(value);
            shortened |= cut;
            Answer::Bytes(value)
        }
    });
    let values = Answer::List(values.collect());
    Members::default().and("values", values).and("isBefore", place.is_before).and("isShortened", shortened).end()
}

/// A value of a column, and whether it is cut.
pub(super) fn value(value: &Value) -> (Answer<'_>, bool) {
    match value {
        Value::Integer(value) => (Answer::BigInt(*value), false),
        Value::Double(value) => (Answer::Number(*value), false),
        Value::Boolean(value) => (Answer::Flag(*value), false),
        Value::String(value) => {
            let (value, cut) = text(value);
            (value.into(), cut)
        }
        Value::Binary(value) => {
            let (value, cut) = bytes(value);
            (Answer::Bytes(value), cut)
        }
    }
}
