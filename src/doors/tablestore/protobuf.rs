//! The frame of the service's messages: protobuf of its second version, field by field.
//!
//! Requests are read in place: their texts and rows stay in the request's bytes. The messages of stored formats
//! (`format/message.rs`) copy, have no field above 15 and omit what is empty. The service's clients need some empty fields.

use crate::format::wire::{Decoded, Reader, put_bytes, put_uv};

const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const BYTES: u64 = 2;
const FOUR_BYTES: u64 = 5;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// Of a number, a flag or an enumeration.
    Number(u64),
    /// Of a text, bytes or another message.
    Bytes(&'a [u8]),
    /// Of a type that no field of the service has.
    Other,
}

/// The fields of a message, in their order.
pub(super) struct Fields<'a>(Reader<'a>);

impl<'a> Fields<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self(Reader::new(message))
    }

    /// The next field: its number and its value; `None` behind the last one.
    ///
    /// # Errors
    /// Bytes that are no protobuf, groups included.
    pub(super) fn next_field(&mut self) -> Decoded<Option<(u64, Value<'a>)>> {
        let reader = &mut self.0;
        if reader.is_empty() {
            return Ok(None);
        }
        let head = reader.uv()?;
        let value = match head & 7 {
            VARINT => Value::Number(reader.uv()?),
            BYTES => Value::Bytes(reader.bytes()?),
            EIGHT_BYTES => reader.take(8).map(|_| Value::Other)?,
            FOUR_BYTES => reader.take(4).map(|_| Value::Other)?,
            _ => return Err(reader.damage("a field has an unknown type")),
        };
        if head < 8 {
            return Err(reader.damage("a field has no number"));
        }
        Ok(Some((head >> 3, value)))
    }

    fn wrong<T>() -> Decoded<T> {
        Err(Reader::new(&[]).damage("a field has another type"))
    }
}

impl<'a> Value<'a> {
    /// The bytes of a message, or bytes.
    ///
    /// # Errors
    /// A number.
    pub(super) fn bytes(self) -> Decoded<&'a [u8]> {
        if let Self::Bytes(bytes) = self { Ok(bytes) } else { Fields::wrong() }
    }

    /// A text.
    ///
    /// # Errors
    /// A number, or bytes that are not UTF-8.
    pub(super) fn text(self) -> Decoded<&'a str> {
        std::str::from_utf8(self.bytes()?).or_else(|_| Fields::wrong())
    }

    /// A number of 64 bits.
    ///
    /// # Errors
    /// Bytes.
    pub(super) fn number(self) -> Decoded<i64> {
        if let Self::Number(number) = self { Ok(number.cast_signed()) } else { Fields::wrong() }
    }

    /// A number of 32 bits. As in protobuf, the upper bits of a larger one are lost.
    ///
    /// # Errors
    /// Bytes.
    pub(super) fn short(self) -> Decoded<i64> {
        Ok(i64::from(self.number()? as i32))
    }

    /// A flag.
    ///
    /// # Errors
    /// Bytes.
    pub(super) fn flag(self) -> Decoded<bool> {
        Ok(self.number()? != 0)
    }
}

/// A message that is being written.
#[derive(Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    /// Adds a number, a flag or an enumeration.
    pub(super) fn number(&mut self, field: u64, value: i64) -> &mut Self {
        put_uv(field << 3 | VARINT, &mut self.0);
        put_uv(value.cast_unsigned(), &mut self.0);
        self
    }

    /// Adds bytes.
    pub(super) fn bytes(&mut self, field: u64, value: &[u8]) -> &mut Self {
        put_uv(field << 3 | BYTES, &mut self.0);
        put_bytes(value, &mut self.0);
        self
    }

    /// Adds a text.
    pub(super) fn text(&mut self, field: u64, value: &str) -> &mut Self {
        self.bytes(field, value.as_bytes())
    }

    /// Adds a message.
    pub(super) fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(field, &inner.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(message: &[u8]) -> Decoded<Vec<(u64, Value<'_>)>> {
        let (mut fields, mut all) = (Fields::new(message), Vec::new());
        while let Some(field) = fields.next_field()? {
            all.push(field);
        }
        Ok(all)
    }

    #[test]
    fn fields_come_as_they_are_written_empty_and_negative_ones_too() {
        let mut message = Message::default();
        message.number(1, -1).bytes(2, b"").text(17, "é").message(3, |inner| {
            inner.number(1, 0);
        });
        let written = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x00\x8a\x01\x02\xc3\xa9\x1a\x02\x08\x00";
        assert_eq!(message.0, written);
        let fields = all(written).expect("sound");
        let expected = [
            (1, Value::Number(u64::MAX)),
            (2, Value::Bytes(b"")),
            (17, Value::Bytes("é".as_bytes())),
            (3, Value::Bytes(&[8, 0])),
        ];
        assert_eq!(fields, expected);
        assert_eq!((fields[0].1.number(), fields[0].1.short(), fields[0].1.flag()), (Ok(-1), Ok(-1), Ok(true)));
        assert_eq!(fields[2].1.text(), Ok("é"));
    }

    #[test]
    fn damage_is_no_message_and_fixed_fields_are_skipped() {
        assert_eq!(all(&[0x0d, 1, 2, 3, 4, 0x11, 1, 2, 3, 4, 5, 6, 7, 8]).map(|all| all.len()), Ok(2));
        for wrong in [&[8][..], &[0x12, 2, 0], &[0x0b], &[0x0c], &[0x0f], &[0x0d, 1], &[0, 1], &[0xff; 11]] {
            assert!(all(wrong).is_err(), "{wrong:?}");
        }
        assert!(
            Value::Number(1).text().is_err() && Value::Bytes(b"").number().is_err() && Value::Other.bytes().is_err()
        );
        assert!(Value::Bytes(&[0xff]).text().is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_fields_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = all(&bytes);
        }
    }
}
