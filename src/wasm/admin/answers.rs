//! Answers to JavaScript, as plain objects.
//!
//! One type holds all answers, so serde's code exists once.

use crate::error::Error;
use crate::model::KeyValue;
use serde::{Serialize, Serializer};
use wasm_bindgen::JsValue;

/// A missing value is `null`, a map an object, a 64-bit integer a bigint.
const PLAIN: serde_wasm_bindgen::Serializer = serde_wasm_bindgen::Serializer::new()
    .serialize_missing_as_null(true)
    .serialize_maps_as_objects(true)
    .serialize_large_number_types_as_bigints(true);

/// A plain value.
pub(in crate::wasm) enum Answer<'a> {
    Null,
    Flag(bool),
    Number(f64),
    BigInt(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
    List(Vec<Self>),
    /// Members by their names.
    Object(Vec<(&'a str, Self)>),
}

/// The members of an object under construction.
#[derive(Default)]
pub(in crate::wasm) struct Members<'a>(Vec<(&'a str, Answer<'a>)>);

impl<'a> Members<'a> {
    /// Adds a member.
    #[must_use]
    pub(in crate::wasm) fn and(mut self, name: &'a str, value: impl Into<Answer<'a>>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// The object with these members.
    pub(in crate::wasm) fn end(self) -> Answer<'a> {
        Answer::Object(self.0)
    }
}

impl<'a> Answer<'a> {
    /// A list of such values.
    pub(in crate::wasm) fn list<T>(items: &'a [T], one: impl Fn(&'a T) -> Self) -> Self {
        Self::List(items.iter().map(one).collect())
    }

    pub(in crate::wasm) fn texts(texts: &'a [String]) -> Self {
        Self::list(texts, |text| Self::Text(text))
    }

    /// An amount of reads and one of writes.
    pub(super) fn pair(read: impl Into<Self>, write: impl Into<Self>) -> Self {
        Members::default().and("read", read).and("write", write).end()
    }

    /// An error, `ErrorRecord` of the package.
    pub(in crate::wasm) fn error(error: &'a Error) -> Self {
        let members = Members::default()
            .and("code", error.code().as_str())
            .and("status", u32::from(error.code().status()))
            .and("retryable", error.retryable())
            .and("message", error.message());
        match error.hint() {
            Some(hint) => members.and("hint", hint).end(),
            None => members.end(),
        }
    }

    /// The value of a key column. An integer that is not safe is a bigint.
    pub(super) fn key(value: &'a KeyValue) -> Self {
        match value {
            KeyValue::Integer(value) if value.unsigned_abs() < 1 << 53 => (*value).into(),
            KeyValue::Integer(value) => Self::BigInt(*value),
            KeyValue::String(value) => Self::Text(value),
            KeyValue::Binary(value) => Self::Bytes(value),
        }
    }

    /// The value as JavaScript sees it.
    pub(in crate::wasm) fn to_js(&self) -> JsValue {
        // The serializer refuses no plain value.
        self.serialize(&PLAIN).unwrap_or_default()
    }
}

impl Serialize for Answer<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => to.serialize_none(),
            Self::Flag(flag) => to.serialize_bool(*flag),
            Self::Number(number) => to.serialize_f64(*number),
            Self::BigInt(integer) => to.serialize_i64(*integer),
            Self::Text(text) => to.serialize_str(text),
            Self::Bytes(bytes) => to.serialize_bytes(bytes),
            Self::List(items) => to.collect_seq(items),
            Self::Object(members) => to.collect_map(members.iter().map(|(name, value)| (name, value))),
        }
    }
}

impl<'a> From<&'a str> for Answer<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Answer<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<f64> for Answer<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Answer<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

/// The nearest double. It is exact for every real time and count.
macro_rules! nearest {
    ($($integer:ident)*) => {
        $(impl From<$integer> for Answer<'_> {
            #[expect(clippy::cast_precision_loss, reason = "as far as numbers of JavaScript go")]
            fn from(number: $integer) -> Self {
                Self::Number(number as f64)
            }
        })*
    };
}

nearest!(i64 u64);

impl<'a, T: Into<Self>> From<Option<T>> for Answer<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
