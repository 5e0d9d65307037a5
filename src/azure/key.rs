//! The keys of rows: an entity's partition key and row key, in the order of the service.
//!
//! The service orders texts by UTF-16 units (K8). UTF-8 differs where a character beyond U+FFFF meets one of U+E000 to
//! U+FFFF. So a key is stored in CESU-8: each UTF-16 unit of such a pair is written as three bytes of its own. Its bytes
//! order as the units do. It is no UTF-8, so both key columns are Binary.

use crate::model::{ValueRef, encode_value};
use std::borrow::Cow;

/// The names of the two key columns.
pub(super) const KEY: [&str; 2] = ["PartitionKey", "RowKey"];

/// UTF-16 units of a partition key, and of a row key (K4: the service's documents allow 512 or 1,024; this is the laxer one).
///
/// Else: `PropertyValueTooLarge`.
pub const KEY_UNITS: usize = 1024;

/// Appends the encoded key column of a text.
pub fn encode_text(text: &str, out: &mut Vec<u8>) {
    let bytes = if text.bytes().all(|byte| byte < 0xF0) {
        Cow::Borrowed(text.as_bytes())
    } else {
        let mut bytes = Vec::with_capacity(text.len() * 3 / 2);
        for character in text.chars() {
            let mut units = [0; 2];
            match character.encode_utf16(&mut units) {
                [high, low] => [*high, *low].into_iter().for_each(|unit| push_unit(unit, &mut bytes)),
                _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        Cow::Owned(bytes)
    };
    encode_value(ValueRef::Binary(&bytes), out);
}

/// The encoded key of an entity.
#[must_use]
pub fn encode(partition_key: &str, row_key: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(partition_key.len() + row_key.len() + 6);
    encode_text(partition_key, &mut key);
    encode_text(row_key, &mut key);
    key
}

/// The partition key and the row key of an encoded key. `None` if the bytes are damaged. A query decodes the keys of all rows
/// that it visits, so nothing is copied: no key has a zero (K5), and the first one ends a column.
#[must_use]
pub fn decode(key: &[u8]) -> Option<[Cow<'_, str>; 2]> {
    let (partition_key, rest) = decode_column(key)?;
    let (row_key, rest) = decode_column(rest)?;
    rest.is_empty().then_some([partition_key, row_key])
}

/// The text of the first column, and what follows it.
fn decode_column(key: &[u8]) -> Option<(Cow<'_, str>, &[u8])> {
    let (_tag, column) = key.split_first()?;
    let (text, rest) = column.split_at(column.iter().position(|&byte| byte == 0)?);
    Some((decode_text(text)?, rest.strip_prefix(&[0, 1])?))
}

/// The text of a stored key column. `None` if the bytes are damaged.
#[must_use]
fn decode_text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(Cow::Borrowed(text));
    }
    let (mut text, mut rest) = (String::with_capacity(bytes.len()), bytes);
    while let Some(at) = rest.iter().position(|&byte| byte == 0xED) {
        let (before, pair) = rest.split_at(at);
        text.push_str(std::str::from_utf8(before).ok()?);
        match pair {
            [0xED, 0x80..0xA0, _, ..] => {
                text.push_str(std::str::from_utf8(pair.get(..3)?).ok()?);
                rest = pair.get(3..)?;
            }
            [0xED, a @ 0xA0..0xB0, b @ 0x80..0xC0, 0xED, c @ 0xB0..0xC0, d @ 0x80..0xC0, ..] => {
                let unit = |high: u8, low: u8| 0xD000 | u16::from(high & 0x3F) << 6 | u16::from(low & 0x3F);
                let character = char::decode_utf16([unit(*a, *b), unit(*c, *d)]).next()?.ok()?;
                text.push(character);
                rest = pair.get(6..)?;
            }
            _ => return None,
        }
    }
    text.push_str(std::str::from_utf8(rest).ok()?);
    Some(Cow::Owned(text))
}

/// A unit of a surrogate pair.
fn push_unit(unit: u16, out: &mut Vec<u8>) {
    let low = |shift: u16| 0x80 | (unit >> shift & 0x3F) as u8;
    out.extend_from_slice(&[0xED, low(6), low(0)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Texts that keys may have.
    fn keys() -> impl Strategy<Value = (String, String)> {
        ("[^\0]*", "[^\0]*")
    }

    proptest! {
        /// Keys order as their UTF-16 units do, partition key first, and come back unchanged.
        #[test]
        fn azure_k8_keys_order_by_utf16_units(a in keys(), b in keys()) {
            let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            let order = (units(&a.0), units(&a.1)).cmp(&(units(&b.0), units(&b.1)));
            let key = encode(&a.0, &a.1);
            prop_assert_eq!(key.cmp(&encode(&b.0, &b.1)), order);
            prop_assert_eq!(decode(&key), Some([a.0.into(), a.1.into()]));
            for end in 0..key.len() {
                prop_assert_eq!(decode(&key[..end]), None);
            }
        }
    }

    #[test]
    fn azure_k8_a_pair_of_surrogates_sorts_before_u_e000() {
        assert!(encode("\u{1F600}", "") < encode("\u{E000}", ""));
        assert!(encode("\u{D7FF}", "") < encode("\u{1F600}", ""));
        assert_eq!(decode_text(&[0xED, 0xA0, 0x80]), None, "half a pair is damage");
        assert_eq!(decode_text(b"a\xFF"), None);
    }
}
