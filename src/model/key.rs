//! Primary keys and their order-preserving bytes (T3, D1).
//!
//! Encoded keys compare, byte by byte, like their rows: column by column, integers by number, strings and binaries by
//! byte. A bound's `INF_MIN` sorts before every value of its column, and `INF_MAX` after. Each column is
//!
//! ```text
//! INF_MIN  01
//! Integer  02, then 8 bytes big-endian with the sign bit flipped
//! String   03, then the bytes with 00 written as 00 FF, then 00 01
//! Binary   04, likewise
//! INF_MAX  FE
//! ```
//!
//! A schema fixes a column's type, so the tags of two values never decide their order; only those of bounds do.

use super::ValueRef;
use super::tags::key::BINARY;

pub(super) use super::tags::key::{INF_MAX, INF_MIN, INTEGER, STRING};

const ESCAPE: u8 = 0xFF;
const END: u8 = 0x01;

/// The most columns of a key: those of an index have up to four of their own, and four of the base table.
pub const MAX_KEY_COLUMNS: usize = 8;

/// The type of a primary key column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// A 64-bit signed integer.
    Integer,
    /// UTF-8 text of at most 1024 bytes.
    String,
    /// At most 1024 bytes.
    Binary,
}

/// The value of a primary key column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyValue {
    /// See [`KeyType::Integer`].
    Integer(i64),
    /// See [`KeyType::String`].
    String(String),
    /// See [`KeyType::Binary`].
    Binary(Vec<u8>),
}

/// One column of an end of a key range (R3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyBound {
    /// Before every value.
    InfMin,
    /// This value.
    Value(KeyValue),
    /// After every value.
    InfMax,
}

impl KeyValue {
    /// A copy of a value of a key; `None` for one of another type.
    #[must_use]
    pub fn of(value: ValueRef<'_>) -> Option<Self> {
        match value {
            ValueRef::Integer(value) => Some(Self::Integer(value)),
            ValueRef::String(text) => Some(Self::String(text.to_owned())),
            ValueRef::Binary(bytes) => Some(Self::Binary(bytes.to_vec())),
            _ => None,
        }
    }

    /// The value's type.
    #[must_use]
    pub fn key_type(&self) -> KeyType {
        match self {
            Self::Integer(_) => KeyType::Integer,
            Self::String(_) => KeyType::String,
            Self::Binary(_) => KeyType::Binary,
        }
    }

    /// The value as an attribute value.
    #[must_use]
    pub fn as_value(&self) -> ValueRef<'_> {
        match self {
            Self::Integer(v) => ValueRef::Integer(*v),
            Self::String(v) => ValueRef::String(v),
            Self::Binary(v) => ValueRef::Binary(v),
        }
    }
}

fn push_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    for &byte in bytes {
        out.push(byte);
        if byte == 0 {
            out.push(ESCAPE);
        }
    }
    out.extend_from_slice(&[0, END]);
}

fn push_value(value: &KeyValue, out: &mut Vec<u8>) {
    encode_value(value.as_value(), out);
}

/// Appends the bytes of a key column. Values of other types than a key has have no bytes.
pub fn encode_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Integer(v) => {
            out.push(INTEGER);
            out.extend_from_slice(&(v ^ i64::MIN).to_be_bytes());
        }
        ValueRef::String(v) => push_bytes(STRING, v.as_bytes(), out),
        ValueRef::Binary(v) => push_bytes(BINARY, v, out),
        _ => debug_assert!(false, "the schema lets no such value through"),
    }
}

/// Appends the bytes of a whole primary key to `out`.
pub fn encode_key(values: &[KeyValue], out: &mut Vec<u8>) {
    for value in values {
        push_value(value, out);
    }
}

/// Appends the bytes of an end of a range to `out`.
pub fn encode_bound(columns: &[KeyBound], out: &mut Vec<u8>) {
    for column in columns {
        match column {
            KeyBound::InfMin => out.push(INF_MIN),
            KeyBound::Value(value) => push_value(value, out),
            KeyBound::InfMax => out.push(INF_MAX),
        }
    }
}

/// The part of an encoded key that is its first column, the partition key (P2). `None` if the bytes are no key.
#[must_use]
pub fn partition_prefix(key: &[u8]) -> Option<&[u8]> {
    let length = column_length(key)?;
    key.get(..length)
}

pub(super) fn column_length(key: &[u8]) -> Option<usize> {
    match *key.first()? {
        INTEGER => (key.len() >= 9).then_some(9),
        STRING | BINARY => {
            let mut at = 1;
            loop {
                at += key.get(at..)?.iter().position(|&byte| byte == 0)?;
                match *key.get(at + 1)? {
                    ESCAPE => at += 2,
                    END => return Some(at + 2),
                    _ => return None,
                }
            }
        }
        _ => None,
    }
}

/// The bytes that units count for the values of an encoded key. `None` if the bytes are no key.
#[must_use]
#[inline(always)]
pub fn key_bytes(key: &[u8]) -> Option<usize> {
    // Most keys are one number.
    match key {
        [INTEGER, value @ ..] if value.len() == size_of::<i64>() => Some(value.len()),
        _ => bytes_of_columns(key),
    }
}

fn bytes_of_columns(mut key: &[u8]) -> Option<usize> {
    let mut bytes = 0;
    while !key.is_empty() {
        let (column, rest) = key.split_at_checked(column_length(key)?)?;
        bytes += match column {
            [INTEGER, value @ ..] => value.len(),
            // The tag, two bytes at the end, and one that escapes each zero.
            _ => column.len() - 2 - column.iter().filter(|&&byte| byte == 0).count(),
        };
        key = rest;
    }
    Some(bytes)
}

/// The values of an encoded key. `None` if the bytes are no key: they come from storage, so nothing is assumed.
#[must_use]
pub fn decode_key(mut key: &[u8]) -> Option<Vec<KeyValue>> {
    let mut values = Vec::with_capacity(4);
    while !key.is_empty() {
        let (column, rest) = key.split_at_checked(column_length(key)?)?;
        let (&tag, body) = column.split_first()?;
        values.push(match tag {
            INTEGER => KeyValue::Integer(i64::from_be_bytes(body.try_into().ok()?) ^ i64::MIN),
            STRING => KeyValue::String(String::from_utf8(unescape(body)?).ok()?),
            _ => KeyValue::Binary(unescape(body)?),
        });
        key = rest;
    }
    Some(values)
}

fn unescape(body: &[u8]) -> Option<Vec<u8>> {
    let body = body.get(..body.len().checked_sub(2)?)?;
    let mut out = Vec::with_capacity(body.len());
    let mut bytes = body.iter();
    while let Some(&byte) = bytes.next() {
        out.push(byte);
        if byte == 0 {
            bytes.next()?;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = KeyValue> {
        prop_oneof![
            any::<i64>().prop_map(KeyValue::Integer),
            "[a\\x00\\x01\u{7f}é]{0,6}".prop_map(KeyValue::String),
            proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..6)
                .prop_map(KeyValue::Binary),
        ]
    }

    /// Two keys of one schema, of one to four columns.
    fn two_keys() -> impl Strategy<Value = (Vec<KeyValue>, Vec<KeyValue>)> {
        let two = prop_oneof![
            (any::<i64>(), any::<i64>()).prop_map(|(a, b)| (KeyValue::Integer(a), KeyValue::Integer(b))),
            ("[a\\x00\\x01é]{0,4}", "[a\\x00\\x01é]{0,4}")
                .prop_map(|(a, b)| (KeyValue::String(a), KeyValue::String(b))),
            (proptest::collection::vec(0u8..3, 0..4), proptest::collection::vec(253u8.., 0..4))
                .prop_map(|(a, b)| (KeyValue::Binary(a), KeyValue::Binary(b))),
        ];
        proptest::collection::vec(two, 1..=4).prop_map(|columns| columns.into_iter().unzip())
    }

    fn encoded(values: &[KeyValue]) -> Vec<u8> {
        let mut out = Vec::new();
        encode_key(values, &mut out);
        out
    }

    proptest! {
        #[test]
        fn t3_keys_survive_encoding(values in proptest::collection::vec(value(), 1..=4)) {
            prop_assert_eq!(decode_key(&encoded(&values)), Some(values));
        }

        #[test]
        fn c1_the_bytes_of_a_key_are_those_of_its_values(values in proptest::collection::vec(value(), 1..=4)) {
            let bytes = values.iter().map(|value| value.as_value().metered_bytes()).sum::<usize>();
            prop_assert_eq!(key_bytes(&encoded(&values)), Some(bytes));
        }

        #[test]
        fn d1_encoded_keys_sort_as_their_values((a, b) in two_keys()) {
            prop_assert_eq!(encoded(&a).cmp(&encoded(&b)), a.cmp(&b));
        }

        #[test]
        fn r3_infinities_enclose_every_value(v in value(), tail in value()) {
            let key = encoded(&[v, tail]);
            let (mut low, mut high) = (Vec::new(), Vec::new());
            encode_bound(&[KeyBound::InfMin, KeyBound::InfMin], &mut low);
            encode_bound(&[KeyBound::InfMax, KeyBound::InfMin], &mut high);
            prop_assert!(low < key && key < high);
        }

        #[test]
        fn decoding_garbage_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Some(values) = decode_key(&bytes) {
                prop_assert_eq!(encoded(&values), bytes);
            }
        }
    }

    #[test]
    fn p2_partition_prefix_is_the_first_column() {
        let key = encoded(&[KeyValue::String("a\0b".into()), KeyValue::Integer(7)]);
        assert_eq!(partition_prefix(&key), Some(&encoded(&[KeyValue::String("a\0b".into())])[..]));
        assert_eq!(partition_prefix(b"\x03abc"), None);
    }
}
