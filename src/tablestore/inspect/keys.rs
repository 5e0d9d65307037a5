//! Keys of the engine as tools show them.

use crate::engine::boundary_behind;
use crate::model::{KeyValue, decode_key};

/// A key, or a place between two keys where a segment was cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPlace {
    /// The values of the key columns, in their order. A boundary has the first one only; the beginning of a tree none.
    pub values: Vec<KeyValue>,
    /// Whether this is the place just before the key, where a segment ends that was cut.
    pub is_before: bool,
}

impl KeyPlace {
    /// Reads an encoded key, without its tree. Bytes that are none give an empty place.
    #[must_use]
    pub fn of(encoded: &[u8]) -> Self {
        if let Some(values) = decode_key(encoded) {
            return Self { values, is_before: false };
        }
        let boundary = boundary_behind(encoded).and_then(|key| decode_key(&key)).filter(|key| !key.is_empty());
        Self { is_before: boundary.is_some(), values: boundary.unwrap_or_default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::encode_key;

    #[test]
    fn a_place_is_a_key_or_a_boundary() {
        let mut key = Vec::new();
        encode_key(&[KeyValue::Integer(7), KeyValue::String("a\0b".into())], &mut key);
        let values = vec![KeyValue::Integer(7), KeyValue::String("a\0b".into())];
        assert_eq!(KeyPlace::of(&key), KeyPlace { values, is_before: false });
        let mut boundary = Vec::new();
        encode_key(&[KeyValue::String("m".into())], &mut boundary);
        let values = vec![KeyValue::String("m".into())];
        assert_eq!(KeyPlace::of(&boundary), KeyPlace { values: values.clone(), is_before: false });
        // The end of a cut part: the boundary less one, then FF.
        *boundary.last_mut().expect("bytes") -= 1;
        boundary.push(0xFF);
        assert_eq!(KeyPlace::of(&boundary), KeyPlace { values, is_before: true });
        for nothing in [&[][..], &[7, 7], &[0xFF]] {
            assert_eq!(KeyPlace::of(nothing), KeyPlace { values: Vec::new(), is_before: false }, "{nothing:?}");
        }
    }
}
