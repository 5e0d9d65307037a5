//! The frame of the service's messages: protobuf of its second version, field by field.
//!
//! Requests are read in place: their texts and rows stay in the request's bytes. Who needs a field asks for it by its number. The messages of stored formats
//! (`format/message.rs`) copy, have no field above 15 and omit what is empty. The service's clients need some empty fields.

use crate::format::wire::{Decoded, Reader, put_bytes, put_uv};

const VARINT: u64 = 0;
const EIGHT_BYTES: u64 = 1;
const BYTES: u64 = 2;
const FOUR_BYTES: u64 = 5;

/// Numbers of fields that are known: one more than the greatest that a message here has.
const KNOWN: usize = 16;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    /// Of a number, a flag or an enumeration.
    Number(u64),
    /// Of a text, bytes or another message.
    Bytes(&'a [u8]),
    /// Of a type that no field of the service has.
    Other,
}

/// The fields of a message that is sound.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    message: &'a [u8],
    /// The last value of each number: of several, that one counts.
    last: [Option<Value<'a>>; KNOWN],
}

fn wrong<T>() -> Decoded<T> {
    Err(Reader::new(&[]).damage("a field has another type"))
}

/// The next field: its number and its value; `None` behind the last one.
fn next<'a>(reader: &mut Reader<'a>) -> Decoded<Option<(usize, Value<'a>)>> {
    if reader.is_empty() {
        return Ok(None);
    }
    let head = reader.uv32()?;
    let value = match u64::from(head & 7) {
        VARINT => Value::Number(reader.uv()?),
        BYTES => Value::Bytes(reader.bytes()?),
        EIGHT_BYTES => reader.take(8).map(|_| Value::Other)?,
        FOUR_BYTES => reader.take(4).map(|_| Value::Other)?,
        _ => return Err(reader.damage("a field has an unknown type")),
    };
    if head < 8 {
        return Err(reader.damage("a field has no number"));
    }
    Ok(Some((head as usize >> 3, value)))
}

impl<'a> Fields<'a> {
    /// Reads a message.
    ///
    /// # Errors
    /// Bytes that are no protobuf, groups included.
    #[inline(never)]
    pub(super) fn read(message: &'a [u8]) -> Decoded<Self> {
        let (mut reader, mut last) = (Reader::new(message), [None; KNOWN]);
        while let Some((number, value)) = next(&mut reader)? {
            if let Some(last) = last.get_mut(number) {
                *last = Some(value);
            }
        }
        Ok(Self { message, last })
    }

    fn last(&self, number: usize) -> Option<Value<'a>> {
        self.last.get(number).copied().flatten()
    }

    /// The bytes of a field, or the message in it, if it is there.
    ///
    /// # Errors
    /// A number.
    #[inline(never)]
    pub(super) fn bytes(&self, number: usize) -> Decoded<Option<&'a [u8]>> {
        match self.last(number) {
            None => Ok(None),
            Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
            Some(_) => wrong(),
        }
    }

    /// The text of a field, if it is there.
    ///
    /// # Errors
    /// A number, or bytes that are not UTF-8.
    #[inline(never)]
    pub(super) fn text(&self, number: usize) -> Decoded<Option<&'a str>> {
        self.bytes(number)?.map(text).transpose()
    }

    /// The number of a field, of 64 bits, if it is there.
    ///
    /// # Errors
    /// Bytes.
    #[inline(never)]
    pub(super) fn number(&self, number: usize) -> Decoded<Option<i64>> {
        match self.last(number) {
            None => Ok(None),
            Some(Value::Number(value)) => Ok(Some(value.cast_signed())),
            Some(_) => wrong(),
        }
    }

    /// The same of 32 bits. As in protobuf, the upper bits of a larger one are lost.
    ///
    /// # Errors
    /// Bytes.
    pub(super) fn short(&self, number: usize) -> Decoded<Option<i64>> {
        Ok(self.number(number)?.map(|value| i64::from(value as i32)))
    }

    /// A flag, if it is there.
    ///
    /// # Errors
    /// Bytes.
    pub(super) fn flag(&self, number: usize) -> Decoded<Option<bool>> {
        Ok(self.number(number)?.map(|value| value != 0))
    }

    /// The bytes of each field of this number.
    ///
    /// # Errors
    /// A number among them.
    #[inline(never)]
    pub(super) fn all(&self, number: usize) -> Decoded<Vec<&'a [u8]>> {
        let (mut reader, mut all) = (Reader::new(self.message), Vec::new());
        while let Some((other, value)) = next(&mut reader)? {
            match value {
                Value::Bytes(bytes) if other == number => all.push(bytes),
                _ if other == number => return wrong(),
                _ => {}
            }
        }
        Ok(all)
    }

    /// The texts of each field of this number.
    ///
    /// # Errors
    /// A number among them, or bytes that are not UTF-8.
    #[inline(never)]
    pub(super) fn texts(&self, number: usize) -> Decoded<Vec<&'a str>> {
        self.all(number)?.into_iter().map(text).collect()
    }
}

fn text(bytes: &[u8]) -> Decoded<&str> {
    std::str::from_utf8(bytes).or_else(|_| wrong())
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

    #[test]
    fn fields_come_as_they_are_written_empty_and_negative_ones_too() {
        let mut message = Message::default();
        message.number(1, -1).bytes(2, b"").text(17, "é").text(15, "é").message(3, |inner| {
            inner.number(1, 0);
        });
        let written =
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x00\x8a\x01\x02\xc3\xa9\x7a\x02\xc3\xa9\x1a\x02\x08\x00";
        assert_eq!(message.0, written);
        let fields = Fields::read(written).expect("sound");
        assert_eq!((fields.number(1), fields.short(1), fields.flag(1)), (Ok(Some(-1)), Ok(Some(-1)), Ok(Some(true))));
        assert_eq!((fields.bytes(2), fields.text(15)), (Ok(Some(&b""[..])), Ok(Some("é"))));
        assert_eq!((fields.bytes(3), fields.bytes(4)), (Ok(Some(&[8, 0][..])), Ok(None)));
        assert_eq!((fields.text(17), fields.texts(17)), (Ok(None), Ok(vec!["é"])), "a greater number is only listed");
    }

    #[test]
    fn the_last_of_several_counts_and_all_can_be_listed() {
        let fields =
            Fields::read(&[0x0a, 1, b'a', 0x10, 1, 0x0a, 1, b'b', 0x10, 0x80, 0x80, 0x80, 0x80, 0x10]).expect("sound");
        assert_eq!((fields.text(1), fields.texts(1)), (Ok(Some("b")), Ok(vec!["a", "b"])));
        assert_eq!((fields.number(2), fields.short(2)), (Ok(Some(1 << 32)), Ok(Some(0))));
        assert!(fields.all(2).is_err() && fields.text(2).is_err() && fields.number(1).is_err());
        assert!(Fields::read(&[0x0a, 1, 0xff]).expect("sound").text(1).is_err());
    }

    #[test]
    fn damage_is_no_message_and_fixed_fields_are_skipped() {
        assert!(Fields::read(&[0x0d, 1, 2, 3, 4, 0x11, 1, 2, 3, 4, 5, 6, 7, 8]).is_ok());
        for wrong in [&[8][..], &[0x12, 2, 0], &[0x0b], &[0x0c], &[0x0f], &[0x0d, 1], &[0, 1], &[0xff; 11]] {
            assert!(Fields::read(wrong).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_fields_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = Fields::read(&bytes).map(|fields| fields.all(1).map(|all| all.len()));
        }
    }
}
