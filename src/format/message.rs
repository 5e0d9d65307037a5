//! Messages of tagged fields in protobuf's form, for the manifest and the catalog. A later version may add fields without
//! breaking old databases.
//!
//! A message lists its fields ([`Message::field`]), and one encoder and one decoder walk over all messages: code derived
//! for each (prost) weighed 4 KB more. As in proto3, a field with its type's default is not stored unless it is optional.
//! Repeated numbers are stored packed, and unknown fields are skipped. No message here has groups.

use super::wire::{Decoded, Reader, put_bytes, put_uv};

/// The greatest tag of a field: tags up to it take one byte.
const LAST: u32 = 15;
/// The greatest depth of messages in messages; deeper ones are damage.
const DEPTH: u32 = 16;

const WRONG: &str = "a field of a message is of another type";

// The types on the wire.
const VARINT: u32 = 0;
const EIGHT_BYTES: u32 = 1;
const BYTES: u32 = 2;
const FOUR_BYTES: u32 = 5;

/// A field of a message, to be read or written.
pub enum Field<'a> {
    /// `uint32`.
    U32(&'a mut u32),
    /// `uint64`.
    U64(&'a mut u64),
    /// `optional uint64`.
    MaybeU64(&'a mut Option<u64>),
    /// `sint64`.
    I64(&'a mut i64),
    /// `optional sint64`.
    MaybeI64(&'a mut Option<i64>),
    /// `bool`.
    Bool(&'a mut bool),
    /// `bytes`.
    Bytes(&'a mut Vec<u8>),
    /// `string`.
    Text(&'a mut String),
    /// `repeated uint32`.
    Numbers(&'a mut Vec<u32>),
    /// `repeated string`.
    Texts(&'a mut Vec<String>),
    /// Another message: `optional` or `repeated`.
    Messages(&'a mut dyn Messages),
}

/// A structure that is stored as tagged fields.
pub trait Message {
    /// The field with this tag, 1 to 15, if the message has it.
    fn field(&mut self, tag: u32) -> Option<Field<'_>>;
}

/// Messages in a message.
pub trait Messages {
    /// The message at this place, from 0.
    fn get(&mut self, at: usize) -> Option<&mut dyn Message>;
    /// The message for the next bytes; an optional one is always the same.
    fn next(&mut self) -> &mut dyn Message;
}

impl<T: Message + Default> Messages for Vec<T> {
    fn get(&mut self, at: usize) -> Option<&mut dyn Message> {
        self.get_mut(at).map(|message| message as &mut dyn Message)
    }

    fn next(&mut self) -> &mut dyn Message {
        self.push_mut(T::default())
    }
}

impl<T: Message + Default> Messages for Option<T> {
    fn get(&mut self, at: usize) -> Option<&mut dyn Message> {
        self.as_mut().filter(|_| at == 0).map(|message| message as &mut dyn Message)
    }

    fn next(&mut self) -> &mut dyn Message {
        self.get_or_insert_default()
    }
}

/// The bytes of a message, which stays unchanged.
#[must_use]
pub fn encode(message: &mut dyn Message) -> Vec<u8> {
    let mut out = Vec::new();
    for tag in 1..=LAST {
        match message.field(tag) {
            None | Some(Field::MaybeI64(None) | Field::MaybeU64(None)) => {}
            Some(Field::U32(value)) => put_number(tag, u64::from(*value), &mut out),
            Some(Field::U64(value)) => put_number(tag, *value, &mut out),
            Some(Field::I64(value)) => put_number(tag, zigzag(*value), &mut out),
            Some(Field::Bool(value)) => put_number(tag, u64::from(*value), &mut out),
            Some(Field::MaybeI64(&mut Some(value))) => put_even_0(tag, zigzag(value), &mut out),
            Some(Field::MaybeU64(&mut Some(value))) => put_even_0(tag, value, &mut out),
            Some(Field::Bytes(value)) => put_unless_empty(tag, value, &mut out),
            Some(Field::Text(value)) => put_unless_empty(tag, value.as_bytes(), &mut out),
            Some(Field::Numbers(values)) => {
                let mut packed = Vec::new();
                for value in values {
                    put_uv(u64::from(*value), &mut packed);
                }
                put_unless_empty(tag, &packed, &mut out);
            }
            Some(Field::Texts(values)) => {
                for value in values {
                    put_head(tag, BYTES, &mut out);
                    put_bytes(value.as_bytes(), &mut out);
                }
            }
            Some(Field::Messages(messages)) => {
                for at in 0.. {
                    let Some(message) = messages.get(at) else { break };
                    put_head(tag, BYTES, &mut out);
                    put_bytes(&encode(message), &mut out);
                }
            }
        }
    }
    out
}

fn put_head(tag: u32, kind: u32, out: &mut Vec<u8>) {
    put_uv(u64::from(tag << 3 | kind), out);
}

fn put_number(tag: u32, value: u64, out: &mut Vec<u8>) {
    if value != 0 {
        put_even_0(tag, value, out);
    }
}

fn put_even_0(tag: u32, value: u64, out: &mut Vec<u8>) {
    put_head(tag, VARINT, out);
    put_uv(value, out);
}

fn put_unless_empty(tag: u32, value: &[u8], out: &mut Vec<u8>) {
    if !value.is_empty() {
        put_head(tag, BYTES, out);
        put_bytes(value, out);
    }
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Reads a message from all of `bytes`.
///
/// # Errors
/// Damage: the bytes are no protobuf, or their types differ from the message's fields.
pub fn decode<T: Message + Default>(bytes: &[u8]) -> Decoded<T> {
    let mut message = T::default();
    take(&mut message, &mut Reader::new(bytes), DEPTH)?;
    Ok(message)
}

fn take(message: &mut dyn Message, reader: &mut Reader<'_>, depth: u32) -> Decoded<()> {
    while !reader.is_empty() {
        let head = reader.uv32()?;
        match (message.field(head >> 3), head & 7) {
            // As in protobuf: a number that is too large loses its upper bits.
            (Some(Field::U32(to)), VARINT) => *to = reader.uv()? as u32,
            (Some(Field::U64(to)), VARINT) => *to = reader.uv()?,
            (Some(Field::MaybeU64(to)), VARINT) => *to = Some(reader.uv()?),
            (Some(Field::I64(to)), VARINT) => *to = reader.sv()?,
            (Some(Field::MaybeI64(to)), VARINT) => *to = Some(reader.sv()?),
            (Some(Field::Bool(to)), VARINT) => *to = reader.uv()? != 0,
            (Some(Field::Bytes(to)), BYTES) => *to = reader.bytes()?.to_vec(),
            (Some(Field::Text(to)), BYTES) => *to = reader.str()?.to_owned(),
            (Some(Field::Texts(to)), BYTES) => to.push(reader.str()?.to_owned()),
            (Some(Field::Numbers(to)), VARINT) => to.push(reader.uv()? as u32),
            (Some(Field::Numbers(to)), BYTES) => {
                let mut packed = Reader::new(reader.bytes()?);
                while !packed.is_empty() {
                    to.push(packed.uv()? as u32);
                }
            }
            (Some(Field::Messages(to)), BYTES) => {
                let depth = depth.checked_sub(1).ok_or(reader.damage(WRONG))?;
                take(to.next(), &mut Reader::new(reader.bytes()?), depth)?;
            }
            (None, VARINT) => drop(reader.uv()?),
            (None, EIGHT_BYTES) => drop(reader.take(8)?),
            (None, BYTES) => drop(reader.bytes()?),
            (None, FOUR_BYTES) => drop(reader.take(4)?),
            _ => return Err(reader.damage(WRONG)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct All {
        short: u32,
        long: u64,
        signed: i64,
        flag: bool,
        bytes: Vec<u8>,
        text: String,
        maybe: Option<i64>,
        maybe_long: Option<u64>,
        numbers: Vec<u32>,
        texts: Vec<String>,
        one: Option<Box<All>>,
        many: Vec<All>,
    }

    impl Message for Box<All> {
        fn field(&mut self, tag: u32) -> Option<Field<'_>> {
            (**self).field(tag)
        }
    }

    impl Message for All {
        fn field(&mut self, tag: u32) -> Option<Field<'_>> {
            Some(match tag {
                1 => Field::U32(&mut self.short),
                2 => Field::U64(&mut self.long),
                3 => Field::I64(&mut self.signed),
                4 => Field::Bool(&mut self.flag),
                5 => Field::Bytes(&mut self.bytes),
                6 => Field::Text(&mut self.text),
                8 => Field::MaybeI64(&mut self.maybe),
                9 => Field::MaybeU64(&mut self.maybe_long),
                10 => Field::Numbers(&mut self.numbers),
                11 => Field::Texts(&mut self.texts),
                12 => Field::Messages(&mut self.one),
                15 => Field::Messages(&mut self.many),
                _ => return None,
            })
        }
    }

    /// The bytes that prost 0.14 wrote for the same messages.
    #[test]
    fn golden_bytes_are_protobuf() {
        assert_eq!(encode(&mut All::default()), [0; 0]);
        let inner = All { text: "é".into(), ..All::default() };
        let mut all = All {
            short: 300,
            long: 1 << 63,
            signed: -3,
            flag: true,
            bytes: vec![0, 255],
            text: "ab".into(),
            maybe: Some(0),
            maybe_long: Some(0),
            numbers: vec![1, 200],
            texts: vec![String::new(), "c".into()],
            one: Some(Box::new(inner.clone())),
            many: vec![All::default(), inner],
        };
        let stored = [
            8, 172, 2, 16, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1, 24, 5, 32, 1, 42, 2, 0, 255, 50, 2, 97, 98,
            64, 0, 72, 0, 82, 3, 1, 200, 1, 90, 0, 90, 1, 99, 98, 4, 50, 2, 195, 169, 122, 0, 122, 4, 50, 2, 195, 169,
        ];
        assert_eq!(encode(&mut all), stored);
        assert_eq!(decode(&stored), Ok(all));
    }

    #[test]
    fn unknown_fields_are_skipped_and_wrong_ones_are_damage() {
        let unknown = [56, 1, 57, 1, 2, 3, 4, 5, 6, 7, 8, 58, 1, 0, 61, 1, 2, 3, 4, 128, 1, 9, 8, 7];
        assert_eq!(decode(&unknown), Ok(All { short: 7, ..All::default() }));
        assert_eq!(decode(&[80, 5, 82, 1, 6]), Ok(All { numbers: vec![5, 6], ..All::default() }), "packed or not");
        for wrong in
            [&[9, 0, 0, 0, 0, 0, 0, 0, 0][..], &[40, 1], &[59], &[60], &[62, 0], &[8], &[50, 1, 255], &[98, 2, 8]]
        {
            assert!(decode::<All>(wrong).is_err(), "{wrong:?}");
        }
        let mut deep = Vec::new();
        for _ in 0..20 {
            let inner = std::mem::take(&mut deep);
            put_unless_empty(15, &[&inner[..], &[32, 0]].concat(), &mut deep);
        }
        assert!(decode::<All>(&deep).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_damage(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(mut all) = decode::<All>(&bytes) {
                prop_assert_eq!(decode(&encode(&mut all)), Ok(all));
            }
        }
    }
}
