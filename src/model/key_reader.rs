//! Key values that borrow their bytes, for rows on their way out: no allocation a row.

use super::ValueRef;
use super::key::{self, MAX_KEY_COLUMNS, column_length, encode_value};
use crate::collections::few::Few;
use std::ops::{Deref, Range};

/// The values of a primary key, in the schema's order.
#[derive(Clone, Debug)]
pub struct KeyRefs<'a>(Few<ValueRef<'a>>);

impl<'a> KeyRefs<'a> {
    /// Adds a value.
    #[inline(always)]
    pub(super) fn push(&mut self, value: ValueRef<'a>) {
        self.0.push(value);
    }

    /// Appends the key's order-preserving bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| encode_value(*value, out));
    }

    /// The bytes that units count for the values.
    #[must_use]
    pub fn metered_bytes(&self) -> usize {
        self.iter().map(|value| value.metered_bytes()).sum()
    }
}

impl Default for KeyRefs<'_> {
    fn default() -> Self {
        Self(Few::new(ValueRef::Integer(0)))
    }
}

impl<'a> Deref for KeyRefs<'a> {
    type Target = [ValueRef<'a>];

    fn deref(&self) -> &[ValueRef<'a>] {
        &self.0
    }
}

/// Reads encoded keys one after another into one buffer.
#[derive(Debug, Default)]
pub struct KeyReader {
    bytes: Vec<u8>,
}

impl KeyReader {
    /// The values of an encoded key. `None` if the bytes are no key: they come from storage, so nothing is assumed.
    pub fn read(&mut self, encoded: &[u8]) -> Option<KeyRefs<'_>> {
        self.bytes.clear();
        let mut columns: [(u8, Range<usize>); MAX_KEY_COLUMNS] = std::array::from_fn(|_| (0, 0..0));
        let mut count = 0;
        let mut rest = encoded;
        while !rest.is_empty() {
            let (column, after) = rest.split_at_checked(column_length(rest)?)?;
            let (&tag, body) = column.split_first()?;
            let start = self.bytes.len();
            if tag == key::INTEGER {
                self.bytes.extend_from_slice(body);
            } else {
                self.unescape(body.get(..body.len().checked_sub(2)?)?);
            }
            *columns.get_mut(count)? = (tag, start..self.bytes.len());
            count += 1;
            rest = after;
        }
        let mut key = KeyRefs::default();
        for (tag, range) in columns.into_iter().take(count) {
            let bytes = self.bytes.get(range)?;
            key.push(match tag {
                key::INTEGER => ValueRef::Integer(i64::from_be_bytes(bytes.try_into().ok()?) ^ i64::MIN),
                key::STRING => ValueRef::String(std::str::from_utf8(bytes).ok()?),
                _ => ValueRef::Binary(bytes),
            });
        }
        Some(key)
    }

    /// Each zero byte is followed by one that only escapes it.
    fn unescape(&mut self, mut body: &[u8]) {
        while let Some(zero) = body.iter().position(|&byte| byte == 0) {
            let (copied, rest) = body.split_at(zero + 1);
            self.bytes.extend_from_slice(copied);
            body = rest.get(1..).unwrap_or_default();
        }
        self.bytes.extend_from_slice(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{KeyValue, decode_key, encode_key};
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = KeyValue> {
        prop_oneof![
            any::<i64>().prop_map(KeyValue::Integer),
            "[a\\x00\\x01é]{0,6}".prop_map(KeyValue::String),
            proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255)], 0..6).prop_map(KeyValue::Binary),
        ]
    }

    proptest! {
        #[test]
        fn t3_a_key_is_read_as_it_was_encoded(values in proptest::collection::vec(value(), 1..=4)) {
            let mut bytes = Vec::new();
            encode_key(&values, &mut bytes);
            let mut reader = KeyReader::default();
            let read = reader.read(&bytes).expect("a key");
            let expected = values.iter().map(KeyValue::as_value).collect::<Vec<_>>();
            prop_assert_eq!(&read[..], &expected[..]);
            let mut again = Vec::new();
            read.encode(&mut again);
            prop_assert_eq!(again, bytes);
        }

        #[test]
        fn reading_garbage_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut reader = KeyReader::default();
            if let Some(read) = reader.read(&bytes) {
                prop_assert_eq!(read.len(), decode_key(&bytes).expect("a key for both").len());
            }
        }
    }
}
