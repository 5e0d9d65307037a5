//! Reading and writing the small pieces every format is made of: varints, lengths, fixed integers.
//!
//! [`Reader`] never trusts its bytes: every step is bounded, and what does not fit is a [`Damage`].

use crate::model::ValueRef;
use integer_encoding::VarInt;

/// What is wrong with some bytes. The layer that knows where they came from names the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct Damage {
    /// What was expected and not found.
    pub what: &'static str,
    /// Where.
    pub at: usize,
}

/// The result of decoding.
pub type Decoded<T> = Result<T, Damage>;

/// Walks over bytes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    #[must_use]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The damage «`what` was expected here».
    #[must_use]
    pub fn damage(&self, what: &'static str) -> Damage {
        Damage { what, at: self.at }
    }

    fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next `length` bytes.
    pub fn take(&mut self, length: usize, what: &'static str) -> Decoded<&'a [u8]> {
        let taken = self.rest().get(..length).ok_or_else(|| self.damage(what))?;
        self.at += length;
        Ok(taken)
    }

    /// One byte.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Decoded<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.damage(what))?;
        self.at += 1;
        Ok(byte)
    }

    /// A fixed little-endian integer.
    pub fn u32(&mut self, what: &'static str) -> Decoded<u32> {
        let bytes = self.take(4, what)?;
        bytes.try_into().map(u32::from_le_bytes).map_err(|_| self.damage(what))
    }

    /// A fixed little-endian integer.
    pub fn u64(&mut self, what: &'static str) -> Decoded<u64> {
        let bytes = self.take(8, what)?;
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| self.damage(what))
    }

    /// An unsigned varint.
    #[inline]
    pub fn uv(&mut self, what: &'static str) -> Decoded<u64> {
        // Nearly every varint of a row is one byte long.
        match self.bytes.get(self.at) {
            Some(&byte) if byte < 0x80 => {
                self.at += 1;
                Ok(u64::from(byte))
            }
            _ => {
                let (value, length) = u64::decode_var(self.rest()).ok_or_else(|| self.damage(what))?;
                self.at += length;
                Ok(value)
            }
        }
    }

    /// A signed varint.
    #[inline]
    pub fn sv(&mut self, what: &'static str) -> Decoded<i64> {
        let value = self.uv(what)?;
        Ok((value >> 1).cast_signed() ^ -((value & 1).cast_signed()))
    }

    /// An unsigned varint that fits a `u32`.
    pub fn uv32(&mut self, what: &'static str) -> Decoded<u32> {
        let value = self.uv(what)?;
        u32::try_from(value).map_err(|_| self.damage(what))
    }

    /// Bytes behind their length.
    #[inline]
    pub fn bytes(&mut self, what: &'static str) -> Decoded<&'a [u8]> {
        let length = self.uv(what)?;
        let length = usize::try_from(length).map_err(|_| self.damage(what))?;
        self.take(length, what)
    }

    /// Text behind its length.
    #[inline]
    pub fn str(&mut self, what: &'static str) -> Decoded<&'a str> {
        let bytes = self.bytes(what)?;
        std::str::from_utf8(bytes).map_err(|_| self.damage(what))
    }
}

/// Appends an unsigned varint.
#[inline]
pub fn put_uv(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a signed varint.
#[inline]
pub fn put_sv(value: i64, out: &mut Vec<u8>) {
    put_uv(((value << 1) ^ (value >> 63)).cast_unsigned(), out);
}

/// Appends bytes behind their length.
#[inline]
pub fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_uv(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// The tags of values in fragments.
mod tag {
    pub(super) const INTEGER: u8 = 2;
    pub(super) const DOUBLE: u8 = 3;
    pub(super) const FALSE: u8 = 4;
    pub(super) const TRUE: u8 = 5;
    pub(super) const STRING: u8 = 6;
    pub(super) const BINARY: u8 = 7;
}

/// The tag that stands before a value.
#[inline]
pub(super) fn value_tag(value: ValueRef<'_>) -> u8 {
    match value {
        ValueRef::Integer(_) => tag::INTEGER,
        ValueRef::Double(_) => tag::DOUBLE,
        ValueRef::Boolean(false) => tag::FALSE,
        ValueRef::Boolean(true) => tag::TRUE,
        ValueRef::String(_) => tag::STRING,
        ValueRef::Binary(_) => tag::BINARY,
    }
}

/// Appends a value without its tag.
#[inline]
pub(super) fn put_value(value: ValueRef<'_>, out: &mut Vec<u8>) {
    match value {
        ValueRef::Integer(v) => put_sv(v, out),
        ValueRef::Double(v) => out.extend_from_slice(&v.to_le_bytes()),
        ValueRef::Boolean(_) => {}
        ValueRef::String(v) => put_bytes(v.as_bytes(), out),
        ValueRef::Binary(v) => put_bytes(v, out),
    }
}

/// Reads the value that `tag` announced.
#[inline]
pub(super) fn value<'a>(reader: &mut Reader<'a>, tag: u8) -> Decoded<ValueRef<'a>> {
    Ok(match tag {
        tag::INTEGER => ValueRef::Integer(reader.sv("an integer")?),
        tag::DOUBLE => ValueRef::Double(f64::from_bits(reader.u64("a double")?)),
        tag::FALSE => ValueRef::Boolean(false),
        tag::TRUE => ValueRef::Boolean(true),
        tag::STRING => ValueRef::String(reader.str("a string")?),
        tag::BINARY => ValueRef::Binary(reader.bytes("a binary")?),
        _ => return Err(reader.damage("the tag of a value")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_survive(unsigned in any::<u64>(), signed in any::<i64>()) {
            let mut out = Vec::new();
            put_uv(unsigned, &mut out);
            put_sv(signed, &mut out);
            let mut reader = Reader::new(&out);
            prop_assert_eq!(reader.uv("u"), Ok(unsigned));
            prop_assert_eq!(reader.sv("s"), Ok(signed));
            prop_assert!(reader.is_empty());
        }
    }

    #[test]
    fn what_does_not_fit_is_damage() {
        assert_eq!(Reader::new(&[5, 1]).bytes("b"), Err(Damage { what: "b", at: 1 }));
        assert_eq!(Reader::new(&[0xff; 11]).uv("v"), Err(Damage { what: "v", at: 0 }));
        assert_eq!(Reader::new(&[1, 0xff]).str("s").map_err(|d| d.what), Err("s"));
    }
}
